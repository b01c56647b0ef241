"""Programs with control flow composed at random, as source text: hypothesis strategies.

Every program ends: loops run over short ranges and arrays, or are bounded by a counter. Variables
keep their kind (Python's or NumPy's int64, float64 and bool, narrow scalars, arrays of one length),
so that what an example gives does not depend on what others did. All arithmetic is exact or rounded
once, so that results must be the loop's to the bit. Names like ``s.x``, ``q[1]`` and ``d["k"]``
are variables that live in objects. What may raise stands behind a test that protects it.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

Draw = Callable[[Any], Any]
Scope = dict[str, str]

#: Kinds: int, float, bool, float32, int8; arrays of floats and of ints with their length; beside
#: these o, a float or None, and k, a pair of an int and a float.
ARGS: Scope = {"n": "i", "m": "i", "x": "f", "y": "f", "p": "b", "h": "s", "t": "t", "v": "v4",
               "w": "w3"}  # fmt: skip
#: Kinds of arrays that programs have: those of the arguments v and w, and others.
SHORT, LONG = ("v4", "w3", "v3"), ("v45", "w41", "v42")
PRELUDE = """\
import math
import numpy as np

class OwnError(Exception):
    pass

class State:
    def __init__(self, x, n):
        self.x = x
        self.n = n

    def step(self, by):
        if by > 2:
            self.n = (self.n + by) % 17
        else:
            self.x += 0.5
        return self.n

def clip(x):
    if x > 50:
        return 50
    return int(x) if x > -50 else -50

"""


class Writer:
    """Writes one function, statement by statement."""

    def __init__(
        self,
        draw: Draw,
        args: Scope,
        results: list[str],
        budget: int,
        vectors: tuple[str, str, str] = SHORT,
    ) -> None:
        self.draw, self.results, self.budget = draw, results, budget
        self.vectors = vectors
        self.args = args
        self.lines: list[str] = []
        self.count = 0
        self.fixed: set[str] = set()  # names not to be bound again: counters, arrays with views
        self.guarded: dict[str, Scope] = {}  # names bound only where a bool is true
        self.helpers: dict[str, tuple[list[str], str, bool]] = {}
        self.is_pure = False  # the condition of a loop, which must change nothing, is being written

    # --- drawing ----------------------------------------------------------------------------------

    def chance(self, one_in: int) -> bool:
        return self.number(0, one_in - 1) == 0

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def names(self, scope: Scope, kind: str) -> list[str]:
        return [name for name, k in scope.items() if k == kind or (len(kind) == 1 and k[0] == kind)]

    # --- expressions ------------------------------------------------------------------------------

    def expr(self, kind: str, scope: Scope, depth: int = 2) -> str:
        return getattr(self, f"_{kind[0]}")(kind, scope, depth)

    def variable(self, kind: str, scope: Scope, otherwise: str) -> str:
        found = self.names(scope, kind)
        return self.pick(*found) if found else otherwise

    def index(self, length: int, scope: Scope) -> str:
        """Return an index that is in bounds."""
        if self.chance(2):
            return str(self.number(-length, length - 1))
        return f"{self.atom('i', scope)} % {length}"

    def atom(self, kind: str, scope: Scope) -> str:
        if kind == "i":
            literal = str(self.number(-3, 6))
        elif kind == "f":
            literal = self.pick("0.5", "-1.0", "2.0", "0.0", "3.25")
        else:
            literal = self.pick("True", "False")
        return literal if self.chance(3) else self.variable(kind, scope, literal)

    def common(self, kind: str, scope: Scope, depth: int) -> str | None:
        """Return what there is of every kind: a conditional expression, a call of a helper."""
        match self.number(0, 7):
            case 0:
                test = self.expr("b", scope, depth - 1)
                one, other = self.expr(kind, scope, depth - 1), self.expr(kind, scope, depth - 1)
                return f"({one} if {test} else {other})"
            case 1:
                found = [
                    name
                    for name, (_, result, pure) in self.helpers.items()
                    if result == kind and (pure or not self.is_pure)
                ]
                if found:
                    name = self.pick(*found)
                    kinds = self.helpers[name][0]
                    return f"{name}({', '.join(self.expr(k, scope, depth - 1) for k in kinds)})"
        return None

    def _i(self, kind: str, scope: Scope, depth: int) -> str:
        if depth <= 0:
            return self.atom("i", scope)
        text = self.common(kind, scope, depth)
        if text:
            return text
        a = self.expr("i", scope, depth - 1)
        b = self.expr("i", scope, depth - 1)
        vector = self.variable("v", scope, "")
        whole = self.variable("w", scope, "")
        choices = [
            self.atom("i", scope), self.atom("i", scope), f"({a} + {b}) % 101", f"{a} - 1",
            f"({a} * {b}) % 53", f"abs({a})", f"min({a}, {b})", f"max({a}, {b}, 1)", f"-({a})",
            f"({a}) // 2", f"clip({self.atom('f', scope)})", f"({a}) % 3",
            f"({a}) + ({self.atom('b', scope)})", f"(({a}) & 7) ^ 2", f"(({a}) % 4) << 1",
            f"({a} // {b} % 31 if {b} else 7)",
            f"sum(j * j % 5 for j in range(({a}) % 6) if j != {b})",
        ]  # fmt: skip
        if vector:
            size = int(scope[vector][1:])
            choices += [
                f"len({vector})", f"np.argmax({vector})",
                f"({vector} > {self.atom('f', scope)}).sum()",
                f"sum(1 for e in {vector} if e < {self.atom('f', scope)})",
                f"clip({vector}[{self.index(size, scope)}])",
            ]  # fmt: skip
        if whole:
            size = int(scope[whole][1:])
            item = f"{whole}[{self.index(size, scope)}]"
            choices += [
                item, item, f"{whole}.sum() % 23", f"{whole}[: ({a}) % {size + 1}].sum() % 19",
                f"max(e % 9 for e in {whole})", f"int({whole}.max()) % 41",
            ]  # fmt: skip
        choices += [f"{pair}[0]" for pair in self.names(scope, "k")]
        if not self.is_pure and self.chance(4):
            for call, state in (("s.step", "s.n"), ("bump", "total")):
                choices += [f"{call}({self.atom('i', scope)})"] * (state in scope)
        return self.pick(*choices)

    def _f(self, kind: str, scope: Scope, depth: int) -> str:
        if depth <= 0:
            return self.atom("f", scope)
        text = self.common(kind, scope, depth)
        if text:
            return text
        a = self.expr("f", scope, depth - 1)
        b = self.expr("f", scope, depth - 1)
        choices = [
            self.atom("f", scope), self.atom("f", scope), f"{a} + {b}", f"{a} - {b}",
            f"0.5 * ({a})", f"abs({a})", f"min({a}, {b})", f"max({a}, {b})", f"-({a})",
            f"float({self.atom('i', scope)})", f"{self.atom('i', scope)} / 4",
            f"(({a}) / ({b}) if {b} != 0 else {a})",
        ]  # fmt: skip
        choices += [f"{pair}[1]" for pair in self.names(scope, "k")]
        choices += [f"({a} if {o} is None else {o})" for o in self.names(scope, "o")]
        if not self.is_pure and self.chance(4):
            choices += [f"note({a})"] * 3
        vector = self.variable("v", scope, "")
        if vector:
            size = int(scope[vector][1:])
            choices += [
                f"{vector}[{self.index(size, scope)}]", f"{vector}[{self.index(size, scope)}]",
                f"{vector}.max()", f"min({vector})", f"max(abs(e) for e in {vector})",
            ]  # fmt: skip
        return self.pick(*choices)

    def _b(self, kind: str, scope: Scope, depth: int) -> str:
        if depth <= 0 or self.chance(5):
            i, j = self.atom("i", scope), self.atom("i", scope)
            return self.pick(self.atom("b", scope), f"{i} > {j}", f"{i} % 2 == 0")
        text = self.common(kind, scope, depth)
        if text:
            return text
        i, j = self.expr("i", scope, depth - 1), self.expr("i", scope, depth - 1)
        f, g = self.expr("f", scope, depth - 1), self.expr("f", scope, depth - 1)
        a, b = self.expr("b", scope, depth - 1), self.expr("b", scope, depth - 1)
        operator = self.pick("<", "<=", ">", "!=", "==")
        choices = [
            f"{f} {operator} {g}", f"{i} {operator} {j}", f"{i} < {self.atom('i', scope)} <= {j}",
            f"({a} and {b})", f"({a} or {b})", f"not {a}", f"({i}) in (1, 2, {j})",
            f"({j} != 0 and ({i}) // ({j}) > 1)", f"{self.atom('i', scope)} {operator} {j}",
            f"bool({i})",
        ]  # fmt: skip
        choices += [f"{o} is not None and {o} > {f}" for o in self.names(scope, "o")]
        vector = self.variable("v", scope, "")
        if vector:
            choices += [
                f"any(e > {self.atom('f', scope)} for e in {vector})",
                f"all(e {operator} {self.atom('f', scope)} for e in {vector})",
                f"({vector} > {self.atom('f', scope)}).any()",
            ]
            k = self.variable("i", scope, "2")
            choices += [f"(0 <= {k} < len({vector}) and {vector}[{k}] > {self.atom('f', scope)})"]
        return self.pick(*choices)

    def _s(self, kind: str, scope: Scope, depth: int) -> str:
        h = self.variable("s", scope, "np.float32(1.5)")
        return self.pick(
            h, f"{h} * 0.5", f"{h} + 1", f"max({h}, np.float32(1.5))", f"-{h}", f"abs({h})"
        )

    def _t(self, kind: str, scope: Scope, depth: int) -> str:
        t = self.variable("t", scope, "np.int8(9)")
        return self.pick(t, f"{t} // 2", f"{t} % 3", f"-{t}", f"{t} & 3", f"{t} ^ 1")

    def _o(self, kind: str, scope: Scope, depth: int) -> str:
        return self.pick("None", self.expr("f", scope, depth - 1), *self.names(scope, "o"))

    def _k(self, kind: str, scope: Scope, depth: int) -> str:
        one = self.expr("i", scope, depth - 1), self.expr("f", scope, depth - 1)
        return self.pick(f"({one[0]}, {one[1]})", *self.names(scope, "k"))

    def _v(self, kind: str, scope: Scope, depth: int) -> str:
        size = int(kind[1:])
        a = self.variable(kind, scope, f"np.ones({size})")
        f = self.atom("f", scope)
        choices = [f"{a} + {f}", f"{a}.copy()", f"np.where({a} > {f}, {a}, {f})",
                   f"{a}[::-1] * 1.0", f"np.full({size}, {f})", f"np.abs({a})",
                   f"np.array([e * 0.5 for e in {a}])",
                   f"np.array([{', '.join([f] * size)}])", f"np.sort({a})"]  # fmt: skip
        return self.pick(*choices)

    def _w(self, kind: str, scope: Scope, depth: int) -> str:
        size = int(kind[1:])
        a = self.variable(kind, scope, f"np.arange({size})")
        choices = [f"({a} + {self.atom('i', scope)}) % 29", f"{a}.copy()", f"np.arange({size})",
                   f"np.zeros({size}, dtype=int)", f"np.maximum({a}, 2)",
                   f"np.array([e % 7 for e in {a}])"]  # fmt: skip
        return self.pick(*choices)

    # --- statements -------------------------------------------------------------------------------

    def write(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def block(self, indent: int, scope: Scope, loop: str, least: int = 1) -> Scope | None:
        """Write a suite; return the names bound after it, None where it never gets there."""
        scope = dict(scope)
        for _ in range(self.number(least, 4)):
            if self.budget <= 0 and self.lines and not self.lines[-1].endswith(":"):
                break
            self.budget -= 1
            if self.statement(indent, scope, loop):
                return None
        if self.lines[-1].endswith(":"):
            self.write(indent, "pass")
        return scope

    def statement(self, indent: int, scope: Scope, loop: str) -> bool:
        """Write a statement, enter what it binds; return whether it always jumps."""
        deep = indent > 4 or self.budget <= 0
        kinds = ["assign", "augment", "assign", "store", "store"]
        if not deep:
            kinds += ["if_", "if_", "if_", "for_", "while_", "match_", "guard", "try_", "walrus"]
        if indent > 1:
            kinds += ["jump", "unpack"]
            if self.chance(3):
                kinds += ["raise_"]
        return bool(getattr(self, self.pick(*kinds))(indent, scope, loop))

    def assign(self, indent: int, scope: Scope, loop: str) -> None:
        v, w, other = self.vectors
        kind = self.pick("i", "f", "b", "i", "f", "s", "t", v, other, w, "o", "k")
        free = [name for name in self.names(scope, kind) if name not in self.fixed]
        text = self.expr(kind, scope)
        if kind in "if" and self.chance(6) and len(free) > 1:
            a, b = self.pick(*free), self.pick(*free)
            self.write(indent, f"{a}, {b} = {b}, {text}" if a != b else f"{a} = {text}")
            return
        name = self.pick(*free) if free and not self.chance(3) else self.new(kind[0])
        self.write(indent, f"{name} = {text}")
        scope[name] = kind

    def augment(self, indent: int, scope: Scope, loop: str) -> None:
        kind = self.pick("i", "f", "f", self.vectors[0])
        free = [
            name for name in self.names(scope, kind) if name not in self.fixed or kind[0] == "v"
        ]
        if not free:
            return self.assign(indent, scope, loop)
        name = self.pick(*free)
        if kind == "i":
            self.write(indent, f"{name} {self.pick('+=', '-=')} {self.expr('i', scope, 1)}")
            self.write(indent, f"{name} %= 67")
        elif kind == "f":
            self.write(indent, f"{name} {self.pick('+=', '-=', '*=')} {self.atom('f', scope)}")
        else:
            self.write(indent, f"{name} {self.pick('+=', '*=')} {self.pick('0.5', '2.0', '-1.0')}")

    def write_target(self, scope: Scope) -> tuple[str, int]:
        found = self.names(scope, self.pick("v", "v", "w")) or self.names(scope, "v")
        name = self.pick(*found)
        return name, int(scope[name][1:])

    def write_item(self, indent: int, scope: Scope) -> None:
        name, size = self.write_target(scope)
        kind = "f" if scope[name][0] == "v" else "i"
        value = self.expr(kind, scope, 1) if kind == "f" else f"({self.expr(kind, scope, 1)}) % 43"
        i, j = self.index(size, scope), self.index(size, scope)
        a, b = sorted((self.number(0, size), self.number(0, size)))
        operator = self.pick("=", "+=", "-=")
        text = self.pick(
            f"{name}[{i}] = {value}", f"{name}[{i}] = {value}", f"{name}[{i}] {operator} {value}",
            f"{name}[{a}:{b}] {operator} {value}", f"{name}[:] = {name}[::-1]",
            f"{name}[{i}], {name}[{j}] = {name}[{j}], {name}[{i}]",
            f"{name}[{name} > {value}] = {self.atom(kind, scope)}",
            f"{name}[: ({self.atom('i', scope)}) % {size + 1}] {operator} {value}",
        )  # fmt: skip
        self.write(indent, text)
        if kind == "i":
            self.write(indent, f"{name} %= 47")

    def view(self, indent: int, scope: Scope) -> None:
        name, size = self.write_target(scope)
        start = self.number(0, size - 1)
        part, length = self.pick((f"[{start}:]", size - start), ("[::-1]", size), ("[...]", size))
        new = self.new("u")
        self.write(indent, f"{new} = {name}{part}")
        scope[new] = f"{scope[name][0]}{length}"
        self.fixed |= {name, new}

    def store(self, indent: int, scope: Scope, loop: str) -> None:
        if not self.names(scope, "v"):
            self.assign(indent, scope, loop)
        elif self.chance(5):
            self.view(indent, scope)
        else:
            self.write_item(indent, scope)

    def if_(self, indent: int, scope: Scope, loop: str) -> bool:
        self.write(indent, f"if {self.expr('b', scope)}:")
        ends = [self.block(indent + 1, scope, loop)]
        while self.chance(4):
            self.write(indent, f"elif {self.expr('b', scope)}:")
            ends.append(self.block(indent + 1, scope, loop))
        if self.chance(2):
            self.write(indent, "else:")
            ends.append(self.block(indent + 1, scope, loop))
        else:
            ends.append(dict(scope))
        return self.join(scope, ends)

    def join(self, scope: Scope, ends: list[Scope | None]) -> bool:
        reached = [end for end in ends if end is not None]
        if not reached:
            return True
        for name, kind in reached[0].items():
            if all(end.get(name) == kind for end in reached):
                scope[name] = kind
        return False

    def match_(self, indent: int, scope: Scope, loop: str) -> bool:
        self.write(indent, f"match {self.expr('i', scope)} % 4:")
        ends = []
        for case in ("0", self.pick("1 | 2", "1", "k if k > 2"), "_"):
            self.write(indent + 1, f"case {case}:")
            ends.append(self.block(indent + 2, scope, loop))
        return self.join(scope, ends)

    def guard(self, indent: int, scope: Scope, loop: str) -> None:
        """Bind names only where a condition holds; use them later under the same one."""
        open_ = [flag for flag in self.guarded if flag in scope]
        if open_ and self.chance(2):
            flag = self.pick(*open_)
            self.write(indent, f"if {flag}:")
            self.block(indent + 1, {**scope, **self.guarded[flag]}, loop)
            return
        flag = self.new("g")
        self.write(indent, f"{flag} = {self.expr('b', scope)}")
        self.write(indent, f"if {flag}:")
        scope[flag] = "b"
        self.fixed.add(flag)
        after = self.block(indent + 1, scope, loop)
        if after is not None:
            self.guarded[flag] = {
                k: v for k, v in after.items() if k not in scope and k[0] not in "vwu"
            }

    def for_(self, indent: int, scope: Scope, loop: str) -> bool:
        inner = dict(scope)
        i = self.new("i")
        vector = self.variable("v", scope, "np.arange(3.0)")
        whole = self.variable("w", scope, "np.arange(3)")
        low, high = self.expr("i", scope, 1), self.expr("i", scope, 1)
        e = self.new("e")
        target, iterable, names = self.pick(
            (i, f"range({self.number(0, 4)})", {i: "i"}),
            (i, f"range(({high}) % 5)", {i: "i"}),
            (i, f"range(({high}) % 5)", {i: "i"}),
            (i, f"range(-2, ({high}) % 6, 2)", {i: "i"}),
            (i, f"range(({low}) % 4, ({high}) % 7)", {i: "i"}),
            (i, f"range(({high}) % 5, -1, -1)", {i: "i"}),
            (i, "range(17)" if not loop else "range(3)", {i: "i"}),
            (i, f"reversed(range(({high}) % 4))", {i: "i"}),
            (e, vector, {e: "f"}),
            (e, whole, {e: "i"}),
            (f"{i}, {e}", f"enumerate({vector})", {i: "i", e: "f"}),
            (f"{i}, {e}", f"zip({whole}, {vector})", {i: "i", e: "f"}),
            (i, f"(1, 4, {self.atom('i', scope)})", {i: "i"}),
            (i, f"range(len({vector}))", {i: "i"}),
        )
        # Arrays that are looped over stay what they are, whatever the body binds.
        self.write(indent, f"for {target} in {iterable}:")
        inner.update(names)
        self.fixed |= set(names)
        self.block(indent + 1, inner, "for")
        return self.otherwise(indent, scope, loop)

    def otherwise(self, indent: int, scope: Scope, loop: str) -> bool:
        if self.chance(4):
            self.write(indent, "else:")
            self.block(indent + 1, scope, loop)
        return False

    def while_(self, indent: int, scope: Scope, loop: str) -> bool:
        c = self.new("c")
        self.fixed.add(c)
        self.write(indent, f"{c} = 0")
        scope[c] = "i"
        most = self.number(1, 6 if not loop else 3)
        if self.chance(3):
            self.write(indent, "while True:")
            self.write(indent + 1, f"{c} += 1")
            self.write(indent + 1, f"if {c} > {most} or {self.expr('b', scope, 1)}:")
            self.write(indent + 2, "break")
        else:
            self.is_pure = True
            self.write(indent, f"while {c} < {most} and {self.expr('b', scope)}:")
            self.is_pure = False
            self.write(indent + 1, f"{c} += 1")
        self.block(indent + 1, scope, "while", least=0)
        return self.otherwise(indent, scope, loop)

    def try_(self, indent: int, scope: Scope, loop: str) -> bool:
        self.write(indent, "try:")
        after = self.block(indent + 1, scope, loop)
        self.write(indent, "finally:")
        self.augment(indent + 1, scope, loop)
        return self.join(scope, [after])

    def walrus(self, indent: int, scope: Scope, loop: str) -> bool:
        name = self.new("i")
        test = f"({name} := {self.expr('i', scope)}) > {self.atom('i', scope)}"
        if self.chance(2):
            test = f"{self.expr('b', scope, 1)} and {test}"
        self.write(indent, f"if {test}:")
        inner = {**scope, name: "i"}
        ends = [self.block(indent + 1, inner, loop), dict(scope)]
        return self.join(scope, ends)

    def unpack(self, indent: int, scope: Scope, loop: str) -> None:
        i, f = self.new("i"), self.new("f")
        self.write(indent, f"{i}, {f} = {self.expr('k', scope)}")
        scope.update({i: "i", f: "f"})

    def raise_(self, indent: int, scope: Scope, loop: str) -> bool:
        error = self.pick("ValueError", "OwnError", "KeyError")
        if self.chance(2):
            self.write(indent, f"assert {self.expr('b', scope)}, 'assertion'")
            return False
        self.write(indent, f"if {self.expr('b', scope)} and {self.atom('b', scope)}:")
        self.write(indent + 1, f"raise {error}(f'raised for {{{self.atom('i', scope)}}}')")
        return False

    def jump(self, indent: int, scope: Scope, loop: str) -> bool:
        kind = self.pick("break", "continue", "return") if loop else "return"
        if kind == "return":
            self.return_(indent, scope)
        else:
            self.write(indent, kind)
        return True

    def return_(self, indent: int, scope: Scope) -> None:
        texts = [self.expr(kind, scope, 1) for kind in self.results]
        self.write(indent, f"return {', '.join(texts)}" + "," * (len(texts) > 1))

    # --- functions --------------------------------------------------------------------------------

    def helper(self, indent: int) -> None:
        """Write a helper function of its own, or a lambda."""
        before = len(self.lines)
        kinds = [self.pick("i", "f") for _ in range(self.number(1, 2))]
        result = self.pick("i", "f", "b")
        name = self.new("f")
        args = {f"{'ab'[k]}{name}": kind for k, kind in enumerate(kinds)}
        inner = type(self)(self.draw, args, [result], self.number(1, 4), self.vectors)
        inner.count = 100 * (1 + len(self.helpers))
        if self.chance(3):
            self.write(indent, f"{name} = lambda {', '.join(args)}: {inner.expr(result, args)}")
        else:
            self.write(indent, f"def {name}({', '.join(args)}):")
            inner.body(indent + 1, args)
            self.lines += inner.lines
        is_pure = not any("note(" in line for line in self.lines[before:])
        self.helpers[name] = (kinds, result, is_pure)

    def body(self, indent: int, scope: Scope) -> None:
        after = scope
        while self.budget > 0 and after is not None:
            after = self.block(indent, after, "")
        if after is not None:
            self.return_(indent, after)

    def function(self) -> str:
        self.write(0, f"def f({', '.join(self.args)}):")
        scope = dict(self.args)
        for _ in range(self.number(0, 2)):
            self.helper(1)
        for use, line, names in (
            (self.chance(4), "s = State(x, n)", {"s.x": "f", "s.n": "i"}),
            (self.chance(4), "q = [n, m, 2]", {"q[0]": "i", "q[1]": "i", "q[-1]": "i"}),
            (self.chance(6), 'd = {"k": y, "c": 0}', {'d["k"]': "f", 'd["c"]': "i"}),
        ):
            if use:
                self.write(1, line)
                scope.update(names)
        if self.chance(4):
            self.lines += [
                "    total = 0",
                "    def bump(by):",
                "        nonlocal total",
                "        if by > 1:",
                "            total = (total + by) % 19",
                "        return total",
            ]
            scope["total"] = "i"
            self.fixed.add("total")
        self.body(1, scope)
        return PRELUDE + "\n".join(self.lines) + "\n"


# --- batches --------------------------------------------------------------------------------------

_COUNT = itertools.count()


@dataclass
class Level:
    """One map: its size, which arguments are mapped, and how many examples at a time."""

    size: int
    in_dims: tuple[int | None, ...]
    chunk: int | None


@dataclass(repr=False)
class Case:
    """A program, its arguments, and the maps over it, innermost first."""

    source: str
    arrays: list[np.ndarray]
    maps: list[Level] = field(default_factory=list)

    def function(self, note: Callable[[Any], Any]) -> Callable[..., Any]:
        """Return the function, of a file that only `linecache` knows; it calls `note`."""
        name = f"<random control flow {next(_COUNT)}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        scope: dict[str, Any] = {"__name__": "random_control_flow_program", "note": note}
        exec(compile(self.source, name, "exec"), scope)
        return scope["f"]

    def __repr__(self) -> str:
        rows = [self.source]
        for name, array in zip(ARGS, self.arrays, strict=True):
            rows.append(" ".join(f"{name} = np.{array!r}".split()))
        rows += [repr(level) for level in self.maps]
        return "\n" + "\n".join(rows)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # what hypothesis prints


def _array(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    match kind[0]:
        case "i":
            return rng.integers(-4, 9, shape)
        case "f":
            return rng.integers(-12, 13, shape) / 4
        case "b":
            return rng.integers(0, 2, shape).astype(bool)
        case "s":
            return (rng.integers(-9, 10, shape) / 2).astype(np.float32)
        case "t":
            return rng.integers(-20, 21, shape).astype(np.int8)
        case "v":
            return rng.integers(-9, 10, (*shape, int(kind[1:]))) / 2
    return rng.integers(0, 12, (*shape, int(kind[1:])))


@st.composite
def cases(draw: Draw, vectors: tuple[str, str, str] = SHORT) -> Case:
    """Draw a program, whose arrays are of these kinds, and a batch for it."""
    v, w, _ = vectors
    kinds = {**ARGS, "v": v, "w": w}
    results = draw(st.sampled_from([["i"], ["f", "i"], ["i", "f", v], ["b", w], ["s", "t", "f"]]))
    budget = draw(st.sampled_from([2, 4, 6, 8, 10, 14, 20]))
    source = Writer(draw, kinds, results, budget, vectors).function()
    sizes = draw(st.sampled_from([[4], [7], [1], [3], [40], [2, 3], [3, 1], [5, 6]]))
    rng = np.random.default_rng(draw(st.integers(0, 50)))
    maps, shapes = [], {name: () for name in ARGS}
    for level, size in enumerate(sizes):
        dims = [None if draw(st.integers(0, 4)) == 0 else 0 for _ in ARGS]
        if level == 0:
            dims[0] = 0
        if not any(d == 0 for d in dims):
            dims[-1] = 0
        maps.append(Level(size, tuple(dims), draw(st.sampled_from([None, None, None, 1, 2, 3]))))
        for name, dim in zip(ARGS, dims, strict=True):
            if dim == 0:
                shapes[name] = (size, *shapes[name])
    # What no map maps is an array all the same: a number would be none of the trace's business.
    arrays = [_array(rng, kind, shapes[name]) for name, kind in kinds.items()]
    return Case(source, [np.asarray(a) for a in arrays], maps)
