"""Reductions over generators and lists: folded or native, they give what Python gives."""

# What is converted here is written for what it tests, not to be read.
# ruff: noqa: E731, SIM, UP031

from __future__ import annotations

import math

import numpy as np
import pytest

from support import plain_hooks
from support.comparing import define, same

pytestmark = pytest.mark.any_backend


@pytest.fixture(params=[False, True], ids=["native", "folded"])
def folding(request, monkeypatch):
    monkeypatch.setattr(plain_hooks, "FOLDING", request.param)


def sums(row, n):
    total = sum(x * n for x in row if x > 1)
    started = sum((x for x in row), 100)
    by_keyword = sum([x + 1 for x in row], start=0.5)
    return total, started, by_keyword, len([x for x in row if x]), sum(row)


def extremes(row, rows):
    return (
        min(x for x in row),
        max([-x for x in row]),
        min((x for x in row if x > 100), default=None),
        max((x for x in row), key=lambda x: -x, default=3),
        max(len(r) for r in rows if r),
    )


def empty(row):
    return max(x for x in row if x > 100)


def truths(row, log):
    return (
        any(log.append(x) or x > 1 for x in row),
        all(log.append(x) or x > 1 for x in row),
        any([log.append(x) or x > 1 for x in row]),
        all([log.append(x) or x > 1 for x in row if x]),
        any(x for x in []),
        all(x for x in []),
        any(x for x in row if x > 100) or all(not x for x in row),
    )


def nested(rows, k):
    a = sum(x for row in rows if row for x in row if x != k)
    b = sum(sum(x * k for x in row) for row in rows)
    c = [sum(x + y for x in row) for row in rows for y in row]
    d = max(min(abs(x - y) for y in row) + k for row in rows for x in row)
    e = any(all(x > k for x in row) for row in rows)
    return a, b, c, d, e


def in_other_places(row, rows):
    f = lambda v, *w: sum(v * x for x in row) + sum(y for y in w)
    k = 0
    while sum(x for x in row if x > k) > 3:
        k += 1
    if k > 5:
        r = 1
    elif max(x for x in row) > 2:
        r = 2
    else:
        r = 3
    g = {x: max(x * y for y in row) for x in row}
    h = [x for x in row if any(x == y + 1 for y in row)]
    i = [x for x in range(sum(len(r) for r in rows))]
    j = (lambda n: [n * sum(n + x for x in row) for _ in row])(2)
    return f(2, 3, 4), k, r, g, h, i, j


def modules(row):
    return (
        math.fsum(x / 10 for x in row),
        math.prod(x for x in row),
        np.sum([x * 2 for x in row]),
        np.mean([x for x in row if x]),
        np.max([x for x in row]),
        np.any([x > 2 for x in row]),
        np.prod([[x, x + 1] for x in row], axis=0),
    )


def other_functions(row, sum=None):
    return sum(x for x in row), len([x for x in row])


def errors(row):
    return sum(1 / x for x in row)


def wrong_types(row):
    return sum(x for x in row)


def not_iterable(n):
    return sum(x for x in n)


def bound_names(row):
    x = "outer"
    total = sum(x for x in row)
    found = sum((last := y) for y in row)
    return x, total, found, last


def targets(pairs):
    return sum(a * b for a, (b, *_) in pairs), [max(k for k in p[1]) for p in pairs]


CASES = [
    (sums, ([1, 2, 3], 2), ([], 1), ([0.1] * 10, 3)),
    (extremes, ([1, 5, 2], [[1], [], [1, 2]])),
    (empty, ([1],)),
    (truths, ([1, 2, 0], []), ([2, 2], []), ([0], [])),
    (nested, ([[1, 2], [3], [5, 6]], 2), ([[3]], 3)),
    (in_other_places, ([1, 2, 3], [[1], [2, 3]])),
    (modules, ([1, 2, 3],), ([0.5, 4.0],)),
    (other_functions, ([1, 2], list), ([1, 2], sum), ([1, 2], None)),
    (errors, ([1, 0],), ([1, 2],)),
    (wrong_types, (["a"],)),
    (not_iterable, (3,)),
    (bound_names, ([1, 2],)),
    (targets, ([(1, (2, 3)), (4, (5,))],)),
]


@pytest.mark.usefixtures("folding")
@pytest.mark.parametrize(("func", "args"), [(case[0], args) for case in CASES for args in case[1:]])
def test_same_as_native(func, args):
    same(func, *args)


def test_generators_stay_lazy():
    """What a function of the user's does with its generator is up to it."""
    func = define(
        """
def f(log, any):
    log.append(next(any(log.append(x) or x for x in [1, 2, 3])))
    log.append("end")
""",
    )
    same(func, [], iter)
