"""Random structured programs on integers: converted, each does what it does natively."""

from __future__ import annotations

import random
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.autograph.convert import convert
from support import plain_hooks
from support.comparing import define, same, same_lines
from support.searching import searching

pytestmark = pytest.mark.any_backend

NAMES = ["a", "b", "c", "d"]


class Manager:
    """A context manager that logs, and swallows one kind of exception."""

    def __init__(self, log, swallow):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return len(self.log)

    def __exit__(self, kind, error, trace):
        self.log.append(f"exit {kind and kind.__name__}")
        return bool(self.swallow and kind and issubclass(kind, ZeroDivisionError))


class Programs:
    """Draws the source of programs."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.choice, self.number = self.random.choice, self.random.randint

    def maybe(self):
        return self.random.random() < 0.5

    def expression(self, depth=2):
        kind = self.number(0, 11 if depth else 1)
        if kind == 0:
            return self.choice(NAMES)
        if kind == 1:
            return str(self.number(-3, 6))
        part = [self.expression(depth - 1) for _ in range(3)]
        return {
            2: f"({part[0]} + {part[1]})",
            3: f"({part[0]} - {part[1]})",
            4: f"({part[0]} % {part[1]})",
            5: f"({part[0]} and {part[1]})",
            6: f"({part[0]} or {part[1]})",
            7: f"({part[0]} if {part[1]} else {part[2]})",
            8: f"({part[0]} < {part[1]} <= {part[2]})",
            9: f"(not {part[0]})",
            10: f"log_({part[0]})",
            11: f"({part[0]} * {part[1]} % 7)",
        }[kind]

    def block(self, depth, in_loop, indent):
        """Return the lines of some statements."""
        return [
            line
            for _ in range(self.number(1, 4))
            for line in self.statement(depth, in_loop, indent)
        ]

    def statement(self, depth, in_loop, indent):
        simple = ["assign", "assign", "augment", "bind", "log", "log", "delete", "assert_"]
        simple += ["return_", "raise_", *(["jump", "jump"] if in_loop else [])]
        nested = ["if_", "if_", "elif_", "for_", "while_", "try_", "with_", "match", "def_"]
        kind = self.choice(simple + nested * 2 if depth else simple)
        return getattr(self, kind)(depth, in_loop, indent, "    " * indent)

    def assign(self, depth, in_loop, indent, pad):
        return [f"{pad}{self.choice(NAMES)} = {self.expression()}"]

    def augment(self, depth, in_loop, indent, pad):
        return [f"{pad}{self.choice(NAMES)} += {self.expression()}"]

    def bind(self, depth, in_loop, indent, pad):
        return [f"{pad}log_(({self.choice(NAMES)} := {self.expression()}), {self.expression()})"]

    def log(self, depth, in_loop, indent, pad):
        return [f"{pad}log_({self.expression()})"]

    def delete(self, depth, in_loop, indent, pad):
        return [f"{pad}del {self.choice(NAMES)}"] if self.number(0, 2) == 0 else [f"{pad}pass"]

    def assert_(self, depth, in_loop, indent, pad):
        return [f"{pad}assert {self.expression()}, log_({self.expression()})"]

    def return_(self, depth, in_loop, indent, pad):
        return [f"{pad}return {self.expression()}" if self.maybe() else f"{pad}return"]

    def raise_(self, depth, in_loop, indent, pad):
        return [f"{pad}raise ValueError({self.expression()})"]

    def jump(self, depth, in_loop, indent, pad):
        return [pad + self.choice(["break", "continue"])]

    def def_(self, depth, in_loop, indent, pad):
        name = self.choice(NAMES)
        first = self.choice([f"nonlocal {name}", f"{name} = 1", "pass"])
        inner = self.block(depth - 1, False, indent + 1)
        return [f"{pad}def inner():", f"{pad}    {first}", *inner, f"{pad}log_(inner())"]

    def orelse(self, depth, in_loop, indent, pad):
        return [f"{pad}else:", *self.block(depth - 1, in_loop, indent + 1)] if self.maybe() else []

    def if_(self, depth, in_loop, indent, pad):
        body = self.block(depth - 1, in_loop, indent + 1)
        orelse = self.orelse(depth, in_loop, indent, pad)
        return [f"{pad}if {self.expression()}:", *body, *orelse]

    def elif_(self, depth, in_loop, indent, pad):
        lines = [f"{pad}if {self.expression()}:", *self.block(depth - 1, in_loop, indent + 1)]
        for _ in range(self.number(1, 4)):
            lines += [f"{pad}elif {self.expression()}:"]
            lines += self.block(depth - 1, in_loop, indent + 1)
        return lines + self.orelse(depth, in_loop, indent, pad)

    def for_(self, depth, in_loop, indent, pad):
        head = f"{pad}for {self.choice(NAMES)} in range({self.number(0, 4)}):"
        body = self.block(depth - 1, True, indent + 1)
        return [head, *body, *self.orelse(depth, in_loop, indent, pad)]

    def while_(self, depth, in_loop, indent, pad):
        name, value = self.choice(NAMES), self.expression()
        head = self.choice([f"tick() and {value}", f"tick() and ({name} := {value})", "True"])
        first = [f"{pad}    if not tick(): break"] if head == "True" else []
        body = self.block(depth - 1, True, indent + 1)
        orelse = self.orelse(depth, in_loop, indent, pad)
        return [f"{pad}while {head}:", *first, *body, *orelse]

    def with_(self, depth, in_loop, indent, pad):
        head = f"{pad}with Manager(log, {self.maybe()}) as {self.choice(NAMES)}:"
        return [head, *self.block(depth - 1, in_loop, indent + 1)]

    def match(self, depth, in_loop, indent, pad):
        name = self.choice(NAMES)
        cases = ["0 | 1", f"{name} if {self.expression()}", "int(b)", "None", "_"]
        lines = [f"{pad}match {self.expression()}:"]
        for case in cases[: self.number(1, 5)]:
            lines += [f"{pad}    case {case}:", *self.block(depth - 1, in_loop, indent + 2)]
        return lines

    def try_(self, depth, in_loop, indent, pad):
        lines = [f"{pad}try:", *self.block(depth - 1, in_loop, indent + 1)]
        caught = self.maybe()
        if caught:
            name = self.choice(NAMES)
            for kind in self.choice([["ZeroDivisionError"], [f"(ValueError, NameError) as {name}"],
                                     [f"ZeroDivisionError as {name}", "Exception"]]):  # fmt: skip
                lines += [f"{pad}except {kind}:", f"{pad}    log_('caught')"]
                lines += self.block(depth - 1, in_loop, indent + 1)
            lines += self.orelse(depth, in_loop, indent, pad)
        if not caught or self.maybe():
            lines += [f"{pad}finally:", f"{pad}    {self.choice(NAMES)} = log_('finally')"]
        return lines


PRELUDE = """
def f(a, b, log):
    c = 1
    ticks = [0]
    def log_(*values):
        log.append(values)
        return values[0]
    def tick():
        ticks[0] += 1
        return ticks[0] < 30
"""


def program(seed):
    """Return a random function, or ``None`` where Python does not take the source."""
    programs = Programs(seed)
    first = PRELUDE + ("    d = 2\n" if programs.maybe() else "")
    source = first + "\n".join([*programs.block(3, False, 1), "    log_(b)"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return define(source, Manager=Manager)
        except SyntaxError:  # a `nonlocal` after a use
            return None


@searching(15)
@given(st.integers(0, 2**32), st.integers(-2, 3), st.integers(-2, 3))
def test_random_programs(seed, a, b):
    func = program(seed)
    if func is None or convert(func, plain_hooks) is func:
        return  # one in a thousand is nested too deeply for Python's limit on blocks
    same(func, a, b, [])
    same_lines(func, a, b, [])
