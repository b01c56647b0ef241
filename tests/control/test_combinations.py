"""``itertools`` on lists of which the data say how long they are: products, pairs, and so on."""

from __future__ import annotations

import itertools
from itertools import combinations, permutations, product, zip_longest

import numpy as np
import pytest

from support.everywhere import Programs, assert_like_the_loop

X = np.random.default_rng(4).normal(size=(10, 6)).round(2)
X[0] = -1.0
PROGRAMS = Programs()


@PROGRAMS.note(X)
def closest_pair(x):
    points = [v for v in x if v > 0]
    return min((abs(a - b) for a, b in combinations(points, 2)), default=-1.0)


@PROGRAMS.note(X)
def each_with_each(x):
    up, down = [v for v in x if v > 0], [v for v in x if v <= 0]
    best = 0.0
    for a, b in product(up, down):
        best = max(best, a - b)
    return best, sum(1 for _ in product(up, repeat=2)), sum(a * b for a, b in product(up, (1, 2)))


@PROGRAMS.note(X)
def of_dicts(x):
    counts = {}
    for v in np.round(x):
        counts[v] = counts.get(v, 0) + 1
    terms = {}
    for (a, m), (b, n) in product(counts.items(), counts.items()):
        terms[a + b] = terms.get(a + b, 0) + m * n
    return max(terms.values()), len(terms), sum(k * v for k, v in terms.items())


@PROGRAMS.note(X)
def triples(x):
    points, n, last = [v for v in x if v > -0.5], 0, (0.0, 0.0, 0.0)
    for a, b, c in itertools.combinations(points, 3):
        if a < b < c:
            n += 1
            last = (a, b, c)
    return n, last


@PROGRAMS.note(X)
def with_itself(x):
    points = [v for v in x if v > 0]
    return sum(a * b for a, b in itertools.combinations_with_replacement(points, 2))


@PROGRAMS.note(X)
def in_any_order(x):
    points, best = [v for v in x if v > 0], -9.0
    for a, b in permutations(points, 2):
        best = max(best, a - 2 * b)
    return best


@PROGRAMS.note(X)
def side_by_side(x):
    up, down = [v for v in x if v > 0], [v for v in x if v <= 0]
    s = 0.0
    for a, b in zip_longest(up, down, fillvalue=0.5):
        s = s * 0.9 + a * b
    return s, sum(1 for _ in zip_longest(up, [1, 2]))


@PROGRAMS.note(X)
def next_to_each(x):
    up = [v for v in x if v > 0]
    return sum(-v if v < w else v for v, w in zip_longest(up, up[1:], fillvalue=0))


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)
