"""Random programs of ``try`` statements, loops, branches and helpers against the plain loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lanewise as lw
from support.comparing import define
from support.searching import searching

XS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
KINDS = ("ValueError", "ZeroDivisionError", "IndexError", "KeyError", "ArithmeticError",
         "LookupError", "(KeyError, ValueError)", "Exception")  # fmt: skip
RAISED = ("ValueError", "ZeroDivisionError", "KeyError", "IndexError")

HELPER = """\
def helper(x, a, k):
    a[0] += 1
    if x > k:
        raise ValueError(k)
    a[1] += math.sqrt(x + 1)
    return a[0]
"""


class Programs:
    """Writes a program; what is drawn decides each of its parts."""

    def __init__(self, draw):
        self.draw = draw
        self.count = 0

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def number(self):
        return self.pick("x", "y", "n", "a[2]", "1.5", "-1", "2")

    def simple(self):
        return self.pick(
            "y = y + {}", "n += 1", "a[2] = {}", "y = 1 / int({})", "y += v[int({})]",
            "y = math.sqrt({})", "x = x - 1", "y = helper({}, a, 1)", "a[int({})] = 4.0",
            "y = math.log({}) + 1", "y = [1.0, 2.0][int({})]", "a[1] += y",
        ).format(self.number())  # fmt: skip

    def block(self, depth, loop, indent, handling=False):
        lines = []
        for _ in range(self.draw(st.integers(1, 3))):
            lines += self.statement(depth, loop, indent, handling)
        return lines

    def statement(self, depth, loop, indent, handling):
        pad = "    " * indent
        kind = self.pick("simple", "simple", "try", "try", "if", "for", "while", "jump", "raise")
        if depth == 0 and kind in ("try", "if", "for", "while"):
            kind = "simple"
        if kind == "try":
            return self.attempt(depth, loop, indent)
        if kind == "if":
            lines = [f"{pad}if {self.number()} > {self.pick('0', '1', 'y')}:"]
            lines += self.block(depth - 1, loop, indent + 1, handling)
            if self.draw(st.booleans()):
                lines += [f"{pad}else:", *self.block(depth - 1, loop, indent + 1, handling)]
            return lines
        if kind == "for":
            self.count += 1
            i = f"i{self.count}"
            inside = self.block(depth - 1, True, indent + 1)
            return [f"{pad}for {i} in range({self.pick('2', '3', '20', 'int(n)')}):",
                    f"{pad}    y += {i}", *inside]  # fmt: skip
        if kind == "while":
            self.count += 1
            c = f"c{self.count}"
            inside = self.block(depth - 1, True, indent + 1)
            return [f"{pad}{c} = 0", f"{pad}while {c} < 4 and {self.number()} < 3:",
                    f"{pad}    {c} += 1", *inside]  # fmt: skip
        if kind == "jump":
            jump = self.pick("break", "continue") if loop else "return y"
            return [f"{pad}if {self.number()} > 2:", f"{pad}    {jump}"]
        if kind == "raise":
            again = ["raise"] if handling else []
            what = self.pick(*again, f"raise {self.pick(*RAISED)}({self.number()})")
            return [f"{pad}if {self.number()} > 0:", f"{pad}    {what}"]
        return [pad + self.simple()]

    def attempt(self, depth, loop, indent):
        pad = "    " * indent
        lines = [f"{pad}try:", *self.block(depth - 1, loop, indent + 1)]
        handlers = self.draw(st.integers(0, 2))
        for _ in range(handlers):
            named = self.draw(st.booleans())
            lines.append(f"{pad}except {self.pick(*KINDS)}{' as e' if named else ''}:")
            lines.append(f"{pad}    n += 3")
            lines += self.block(depth - 1, loop, indent + 1, True)
        if handlers and self.draw(st.booleans()):
            lines += [f"{pad}else:", *self.block(depth - 1, loop, indent + 1)]
        if not handlers or self.draw(st.booleans()):
            lines += [f"{pad}finally:", f"{pad}    y = y + 0.5"]
        return lines


@st.composite
def programs(draw):
    made = Programs(draw)
    body = [*made.attempt(2, False, 2), *made.block(1, False, 2)]
    return "\n".join(
        [
            HELPER,
            "def f(x):",
            "    a = np.zeros(3)",
            "    y, n = x * 1.0, 0",
            "    try:",
            *body,
            "    except Exception:",
            "        a[0] += 100",
            "    return y + n + a.sum() * 1000 + x",
        ]
    )


def run(f, xs):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(xs)


@searching(10)
@given(programs())
def test_random_programs(source):
    import math

    f = define(source, math=math, np=np, v=np.arange(3.0))
    expected = run(lambda xs: np.array([f(x) for x in xs], float), XS)
    try:
        found = run(lw.vmap(f), XS)
    except lw.ControlFlowError:
        return  # a variable of another kind, refused by name
    np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=source)
    found = run(lambda xs: lw.vmap(lw.vmap(f))(xs.reshape(2, 3)), XS).reshape(-1)
    np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=source)
