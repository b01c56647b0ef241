"""Programs composed at random that bind names to views under nested control flow, and then write.

A program is a tree of lines over arrays of three numbers; names, entries of a list and of a dict,
an attribute and a nonlocal variable are bound to them and to views of them, written to and read.
"""

from __future__ import annotations

import itertools
import linecache
import random
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

_COUNT = itertools.count()

#: What stands before a program: helpers, which are converted like the program itself.
PRELUDE = """
def same(x):
    return x

def maybe_copy(x, k):
    if k > 1:
        return x
    return x.copy()

def longer(x, y, k):
    if k > 1:
        if x[0] > y[0]:
            return x
    return y

def write(x, k):
    if k > 0:
        x[k % 3] = k

def increase(x):
    x += 1

def f(a, m, b):
    z = np.zeros(3)
    t = 0.0
    n = a
    L = [z, m[1]]
    D = {"k": a}
    O = Namespace(x=m[0])
    def bind(x):
        nonlocal n
        n = x
"""

NAMES = ["u", "v", "w"]
PLACES = ["L[0]", "L[1]", "D['k']", "O.x", "n"]
ARRAYS = ["a", "z", "m[0]", "m[1]", "m[b % 2]"]


class Lines:
    """Composes one program."""

    def __init__(self, rng: random.Random, depth: int = 3) -> None:
        self.rng = rng
        self.depth = depth
        self.loops: list[str] = []
        self.count = 0

    def program(self) -> list[Any]:
        start = [f"{name} = {self.rng.choice(ARRAYS)}" for name in NAMES]
        body = [line for _ in range(self.rng.randint(2, 4)) for line in self.block(self.depth)]
        return [*start, *body]

    def array(self) -> str:
        """Return what denotes an array without making one."""
        return self.rng.choice([*NAMES, *NAMES, *PLACES, *ARRAYS])

    def number(self) -> str:
        return self.rng.choice(["b", "1.0", "t % 5", "a[1]", "2.0", *self.loops])

    def test(self) -> str:
        rng = self.rng
        found = [f"b > {rng.randint(0, 3)}", f"b % 2 == {rng.randint(0, 1)}", "a[0] > 1", "t > 3"]
        found += [f"b != {k}" for k in self.loops]
        return rng.choice(found)

    def value(self, depth: int = 2) -> str:
        """Return an expression whose value is an array, mostly one that there is already."""
        rng, x = self.rng, self.array()
        choices = [x, x, f"{x}[:]", f"{x}[::-1]", f"{x}.copy()", "np.zeros(3)", f"same({x})"]
        choices += [f"maybe_copy({x}, b)", f"longer({x}, {self.array()}, b)", f"{x} + 1.0"]
        choices += [f"m[({k}) % 2]" for k in self.loops]
        choices += [f"np.array([{self.number()}, 1.0, 2.0])"] if rng.random() < 0.3 else []
        if depth and rng.random() < 0.25:
            parts = self.value(depth - 1), self.test(), self.value(depth - 1)
            return "({} if {} else {})".format(*parts)
        return rng.choice(choices)

    def writing(self) -> str:
        rng, k = self.rng, self.number()
        x = rng.choice([*NAMES, *NAMES, *NAMES, *PLACES, *ARRAYS[:4]])
        i = rng.choice(["0", "1", "-1", "b % 3"])
        choices = [f"{x}[{i}] = {k}", f"{x}[{i}] += 1", f"{x}[:2] = {k}", f"{x} += 1"]
        choices += [f"np.copyto({x}, {k})", f"np.add({x}, 1, out={x})", f"{x}.fill({k})"]
        choices += [f"np.add.at({x}, [0, 0], {k})", f"write({x}, b)", f"increase({x})"]
        choices += [f"{x}.sort()", f"{x}[1:][0] = {k}", f"{x}[:] = {self.array()}"]
        return rng.choice(choices)

    def simple(self) -> str:
        rng = self.rng
        match rng.randint(0, 9):
            case 0 | 1 | 2 | 3:
                return f"{rng.choice(NAMES)} = {self.value()}"
            case 4:
                place = rng.choice(PLACES)
                value = self.value()
                return f"bind({value})" if place == "n" else f"{place} = {value}"
            case 5 | 6 | 7:
                return self.writing()
            case _:
                return f"t = t / 2 + {self.array()}[{rng.choice(['0', '1', '-1', 'b % 3'])}]"

    def block(self, depth: int) -> list[Any]:
        rng = self.rng
        if not depth or rng.random() < 0.4:
            return [self.simple()]
        match rng.randint(0, 9):
            case 0 | 1 | 2 | 3:
                first = f"if {self.test()}:", self.lines(depth - 1)
                return [first, ("else:", self.lines(depth - 1))] if rng.random() < 0.4 else [first]
            case 4 | 5:
                return self.loop("for", depth)
            case 6:
                return self.loop("while", depth)
            case 7:
                row = f"r{self.count}"
                self.count += 1
                body = self.lines(depth - 1)
                line = rng.choice([f"{rng.choice(NAMES)} = {row}", f"{row}[0] += 1", self.simple()])
                return [(f"for {row} in m:", [*body, line])]
            case 8:
                cases = [(f"case {k}:", self.lines(depth - 1)) for k in ("0", "1", "_")]
                return [("match b % 3:", cases)]
            case _:
                return [self.simple(), self.simple()]

    def loop(self, kind: str, depth: int) -> list[Any]:
        rng, k = self.rng, f"k{self.count}"
        self.count += 1
        before = [f"{k} = 0"] if kind == "while" else []
        self.loops.append(k)
        body = self.lines(depth - 1)
        if rng.random() < 0.3:
            body.insert(
                rng.randint(0, len(body)), (f"if {self.test()}:", [*self.lines(0), "break"])
            )
        self.loops.pop()
        if kind == "while":
            bound = rng.choice(["b", "3", "b + 1"])
            loop = f"while {k} < {bound}:", [f"{k} += 1", *body]
        else:
            loop = f"for {k} in range({rng.choice(['2', '3', '20', 'b'])}):", body
        rest = [("else:", self.lines(0))] if rng.random() < 0.15 else []
        return [*before, loop, *rest]

    def lines(self, depth: int) -> list[Any]:
        return [line for _ in range(self.rng.randint(1, 3)) for line in self.block(depth)]


def text(lines: list[Any]) -> str:
    """Return the text of a tree of lines."""
    rows = []
    for line in lines:
        if isinstance(line, str):
            rows.append(line)
        else:
            head, body = line
            rows += [head, textwrap.indent(text(body), "    ")]
    return "\n".join(rows)


def compose(rng: random.Random, depth: int = 3) -> tuple[list[Any], str]:
    """Return a program's lines, and what it returns: the sum of all that was asked for."""
    lines = Lines(rng, depth).program()
    asked = rng.sample([*NAMES, *PLACES, *ARRAYS[:4]], rng.randint(1, 4))
    return lines, "return np.array([t, " + ", ".join(f"{x} @ WEIGHTS" for x in asked) + "])"


def source(lines: list[Any], last: str) -> str:
    return PRELUDE + textwrap.indent("\n".join([text(lines), last]), "    ") + "\n"


def function(program: str) -> Callable[..., Any]:
    """Return the function, of a file that only `linecache` knows, so that it is converted."""
    name = f"<random aliases {next(_COUNT)}>"
    linecache.cache[name] = (len(program), None, program.splitlines(True), name)
    scope: dict[str, Any] = {
        "np": np,
        "Namespace": SimpleNamespace,
        "WEIGHTS": np.array([1.0, 10.0, 100.0]),
    }
    exec(compile(program, name, "exec"), scope)
    return scope["f"]
