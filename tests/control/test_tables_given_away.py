"""Lists that are arrays while they are traced, given to functions of Python's and of libraries."""

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
import random

import numpy as np
import pytest

from support.everywhere import Programs, assert_like_the_loop

A = np.random.default_rng(5).normal(size=(6, 12))
A[2], A[3] = -1.0, 2.0

PROGRAMS = Programs()
program = PROGRAMS.note


def at(v, n):
    return int(abs(v) * 10) % n


def row(x):
    dp = [0.0] * 12
    for k in range(12):
        dp[at(x[k], 12)] += x[k]
    return dp


def tab(x):
    d = [[0.0] * 5 for _ in range(4)]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
    return d


@program(A)
def sum_from(x):
    return sum(row(x), 1.5), max(row(x), default=0.0)


@program(A)
def hyp(x):
    return math.hypot(*row(x)), math.dist(row(x), [1.0] * 12)


@program(A)
def accum(x):
    return list(itertools.accumulate(row(x)))


@program(A)
def getter(x):
    return operator.itemgetter(3, 5)(row(x))


@program(A)
def chain(x):
    return sum(itertools.chain(row(x), row(-x))), sum(itertools.islice(row(x), 4))


@program(A)
def pairs(x):
    return sum(a * b for a, b in itertools.pairwise(row(x))), sum(
        a * b for a, b in zip(row(x), row(x)[1:], strict=False)
    )


@program(A)
def transposed(x):
    return [list(c) for c in zip(*tab(x), strict=True)], list(map(list, zip(*tab(x), strict=True)))


@program(A)
def sorted_rows(x):
    d = tab(x)
    return sorted(d, key=lambda r: r[0])[0], max(d, key=sum), min(d, key=lambda r: r[1])


@program(A)
def reduced(x):
    return (
        functools.reduce(lambda a, b: a * 0.5 + b, row(x)),
        any(v > 1 for v in row(x)),
        all(row(x)),
    )


@program(A)
def tuples(x):
    return tuple(row(x)), list(reversed(row(x))), tuple(map(tuple, tab(x)))


@program(A)
def shuffled(x):
    dp = row(x)
    r = random.Random(3)
    r.shuffle(dp)
    return dp


@program(A)
def nshuffled(x):
    d = tab(x)
    r = random.Random(3)
    r.shuffle(d)
    return d


@program(A)
def npn(x):
    d = tab(x)
    np.random.default_rng(3).shuffle(d)
    return np.array(d)


@program(A)
def choices(x):
    dp = row(x)
    return random.Random(1).sample(dp, 3), random.Random(2).choice(dp)


@program(A)
def counts(x):
    dp = [0] * 12
    for k in range(12):
        dp[at(x[k], 12)] += 1
    return max(collections.Counter(dp).values()), len(set(dp))


@program(A)
def shuffled_in_between(x):
    dp, d = row(x), tab(x)
    other, first = dp, d[0]
    random.Random(3).shuffle(dp)
    random.Random(4).shuffle(d)
    for k in range(12):
        dp[at(x[k], 12)] += 1.0
        d[at(x[k], 4)][k % 5] -= 1.0
    first[0] = 8.0
    return dp, d, other[2], first


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)
