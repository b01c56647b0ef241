"""Converted expressions and assignments do with plain data what they do as they are."""

# What is converted here is written for what it tests, not to be read.
# ruff: noqa: B023, B032, F821, RUF015, SIM201, UP031

from __future__ import annotations

import numpy as np
import pytest

from lanewise.autograph.convert import convert
from support.comparing import HOOKS, same, same_lines

pytestmark = pytest.mark.any_backend


class Noisy:
    """Logs what is done to it."""

    def __init__(self, log, name="noisy", truth=True):
        self.__dict__.update(log=log, name=name, truth=truth)

    def __repr__(self):
        return self.name

    def __bool__(self):
        self.log.append(f"bool {self.name}")
        return self.truth

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.log.append(f"get {self.name}.{name}")
        return Noisy(self.log, f"{self.name}.{name}")

    def __setattr__(self, name, value):
        self.log.append(f"set {self.name}.{name} {value}")

    def __delattr__(self, name):
        self.log.append(f"del {self.name}.{name}")

    def __getitem__(self, key):
        self.log.append(f"get {self.name}[{key}]")
        return Noisy(self.log, f"{self.name}[{key}]")

    def __setitem__(self, key, value):
        self.log.append(f"set {self.name}[{key}] {value}")

    def __delitem__(self, key):
        self.log.append(f"del {self.name}[{key}]")

    def __contains__(self, item):
        self.log.append(f"{item} in {self.name}")
        return self.truth

    def __lt__(self, other):
        self.log.append(f"{self} < {other}")
        return Noisy(self.log, f"({self} < {other})", self.truth)

    def __call__(self, *args, **kwargs):
        self.log.append(f"call {self.name} {args} {kwargs}")
        return Noisy(self.log, f"{self.name}()")

    def __add__(self, other):
        return Noisy(self.log, f"({self} + {other})")

    def __deepcopy__(self, memo):
        return self


def step(log, name, truth=True):
    log.append(name)
    return Noisy(log, name, truth)


# --- expressions ----------------------------------------------------------------------------------


def booleans(log, a, b, c):
    return (
        (step(log, "a", a) and step(log, "b", b)) or step(log, "c", c),
        step(log, "d", a) or (step(log, "e", b) and step(log, "f", c)),
        step(log, "g", a) and step(log, "h", b) and step(log, "i", c),
        not step(log, "j", a),
        not (step(log, "k", a) or step(log, "l", b)),
    )


def conditional(log, a, b):
    return (
        step(log, "x") if step(log, "a", a) else step(log, "y"),
        (1 if step(log, "b", b) else 2) if step(log, "a", a) else 3 if b else 4,
    )


def chains(log, a, b):
    return (
        step(log, "a", a) < step(log, "b", b) < step(log, "c", a),
        0 < a <= b == 1 != 2,
        step(log, "x", a) < step(log, "y") in step(log, "z", b),
    )


def membership(log, a):
    return (
        step(log, "x") in step(log, "y", a),
        step(log, "x") not in step(log, "y", a),
        3 in [1, 2, 3],
        4 not in {1, 2},
        "a" in "abc",
    )


def is_none(x, y=None):
    return x is None, x is not None, y is None, x is y, (x or None) is None


def subscripts(log, x):
    x[step(log, "i")][1:2, ...] = x[step(log, "j"), ::2] + x[1:]
    x[step(log, "i")].a[step(log, "k")] += step(log, "v")
    x.a.b += step(log, "v")
    x.a = x.b = x[0] = step(log, "w")
    x.a, x[step(log, "l")] = step(log, "m"), step(log, "n")
    del x[step(log, "o")], x.p, x[1:2]
    del (x.q, [x[3]])
    x.r: int = step(log, "s")
    x.t: step(log, "never")
    return x[-1]


def slices(row):
    row[1:3] = [row[0]] * 3
    row[::2] = row[1::2]
    row[-1] *= 2
    del row[:1]
    return row[:], row[1:], row[:-1], row[::-1], row[slice(1, 2)]


def swaps(row, i, j):
    row[i], row[j] = row[j], row[i]
    i, row[i] = j, "i"
    (a, *row[0:2]), b = row[:3], row[-1]
    [row[0], c] = a, b
    return row, i, j, a, b, c


def index_and_rebind(row, i):
    row[i], i = 10, 1
    i, row[i] = 0, 20
    return row, i


def unpacking_fails_midway(row, log):
    row[0], (a, b), row[1] = 1, (2,), 3
    return a, b


def starred(log):
    call = step(log, "f")
    return call(*[1, 2], k=3, **{"l": 4}), [*range(2), *"ab"], {**{"a": 1}, "b": 2}


def evaluation_order(log, x):
    step(log, "f").g(step(log, "a"), k=step(log, "b"))[step(log, "i")](
        *(step(log, "c"),), **{"d": step(log, "d")}
    )


def walrus(x):
    if (y := x * 2) > 4 and (z := y + 1):
        return y, z
    return y, (w := y or 3), w


def conditional_walrus(x):
    if x > 0 and (y := x * 2) > 4:
        return y
    elif x == 0 or (y := x + 10) > 8:
        return "other"
    z = (y := -y) if x < -5 else (w := 3)
    return not (x and (v := 4)), y, z, w, v


def walrus_in_comprehension(row):
    found = [last := x for x in row if x and (kept := x)]
    return found, last, kept


def comprehensions(rows, n):
    k = 2
    return (
        [x * k if x else -1 for row in rows for x in row if x < n and not x == 1],
        {x: [y for y in range(x) if y % 2 or y in rows[0]] for x in rows[0]},
        {x and n for row in rows for x in (row or [n])},
        list((x, y) for x in (rows[0] if n else rows[1]) for y in (rows[1] or [0])),
        [x for x in rows if 0 < len(x) < 3 < n],
        [[x for x in row] for row in rows],
        [lambda: x for x in range(3)][0](),
    )


def lazy_generator(log, n):
    made = (step(log, x) and x for x in range(3) if x != n)
    log.append("made")
    return next(made), list(made)


def strings(x, width):
    return (
        f"{x}",
        f"{x!r:>{width}} {x + 1 if x else 'none'}",
        "%d and %s" % (x, width),
        "%s" % x,
        f"{width}%%",
        "plain",
        f"{x=}",
        str(x) + format(width, "3d"),
    )


def printing(x):
    print(x, "and", f"{x}", sep="-", end="!\n")
    print()


def deep_expression(x):
    return [f(x) for f in (lambda v: v and 1, lambda v: v or 2, lambda v: 1 if v else 3)]


def numpy_is_plain(a):
    b = a.copy()
    for i in range(len(b)):
        if b[i] > 1 and b[i] != 3:
            b[i] = -b[i]
    b[b < 0] += 1
    return b.sum(), b, (b > 0).any() and b.max()


def ambiguous_truth(a):
    if a > 1:
        return 1
    return 2


def local_names(x):
    if x:
        y = 1
    for z in range(x):
        if z > 3:
            break
    return sorted(locals())


def annotated(x: int) -> int:
    y: undefined = x
    z: int
    if x:
        z: float = y
    return z


def star_args(a, /, b, *c, d=4, **e):
    while b > 0:
        b -= 1
        a += d
    return a, b, c, d, e


CASES = [
    (booleans, *[([], a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]),
    (conditional, *[([], a, b) for a in (0, 1) for b in (0, 1)]),
    (chains, *[([], a, b) for a in (0, 1) for b in (0, 1)]),
    (membership, ([], 0), ([], 1)),
    (is_none, (None,), (0,), (None, 1)),
    (slices, ([1, 2, 3, 4],), ([1, 2, 3],)),
    (swaps, ([1, 2, 3, 4], 0, 2), ([1, 2], 0, 5)),
    (index_and_rebind, ([1, 2, 3], 0), ([1], 0)),
    (unpacking_fails_midway, ([0, 0], [])),
    (starred, ([],)),
    (walrus, (0,), (1,), (5,)),
    (conditional_walrus, *[(x,) for x in (-20, -7, -1, 0, 1, 5)]),
    (walrus_in_comprehension, ([1, 2, 0],), ([],)),
    (comprehensions, ([[1, 2], [3]], 5), ([[1, 2], [3]], 0), ([[], []], 3)),
    (lazy_generator, ([], 0), ([], 5)),
    (strings, (1, 5), (0, 2), ("a", 3)),
    (printing, (1,)),
    (deep_expression, (0,), (1,)),
    (numpy_is_plain, (np.array([1.0, 2.0, 3.0, 4.0]),)),
    (ambiguous_truth, (np.array([1, 2]),), (np.array([2]),)),
    (local_names, (0,), (6,)),
    (annotated, (0,), (1,)),
    (star_args, (1, 2), (1, 2, 3, 4), (1,)),
]


@pytest.mark.parametrize(("func", "args"), [(case[0], args) for case in CASES for args in case[1:]])
def test_same_as_native(func, args, capsys):
    same(func, *args)
    printed = capsys.readouterr().out
    assert printed == printed[: len(printed) // 3] * 3  # natively, and with both kinds of hooks
    same_lines(func, *args)


@pytest.mark.parametrize("func", [subscripts, evaluation_order])
def test_evaluation_order(func):
    logs = []
    for run in (func, *[convert(func, hooks) for hooks in HOOKS]):
        logs.append([])
        run(logs[-1], Noisy(logs[-1], "x"))
    assert logs[0] == logs[1] == logs[2]
    assert "never" not in logs[0]


def test_keyword_arguments():
    same(star_args, 1, b=3, d=2, z=1)
    same(star_args, 1, 2, d=[])
