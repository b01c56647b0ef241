"""Arrays of which the data say how long they are: as lists, and in lists, picked by data."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError
from support.everywhere import assert_like_the_loop

RNG = np.random.default_rng(11)
POINTS = RNG.normal(size=(5, 12, 2))
X = RNG.normal(size=(6, 15))


def near(points, radius):
    distances = ((points[:, None] - points[None]) ** 2).sum(2)
    return [np.flatnonzero(row < radius) for row in distances]


def reached(points):
    neighbours = near(points, 1.0)
    seen, stack, count = np.zeros(len(points), bool), [0], 0
    seen[0] = True
    while stack:
        i = stack.pop()
        count += 1
        for j in neighbours[i]:
            if not seen[j]:
                seen[j] = True
                stack.append(int(j))
    return count, seen


def hops(points):
    neighbours = near(points, 0.8)
    steps = np.full(len(points), -1)
    steps[0] = 0
    queue = [0]
    while queue:
        i = queue.pop(0)
        new = neighbours[i][steps[neighbours[i]] < 0]
        steps[new] = steps[i] + 1
        queue.extend(new.tolist())
    return steps


def largest_group(points):
    neighbours = near(points, 1.0)
    groups = [points[each] for each in neighbours]
    k = int(np.argmax([len(each) for each in groups]))
    return groups[k].mean(axis=0), len(groups[k]), groups[-1 - k].sum(), neighbours[k].dtype == int


@pytest.mark.parametrize("func", [reached, hops, largest_group], ids=lambda func: func.__name__)
def test_arrays_in_a_list_are_picked(func):
    assert_like_the_loop(func, POINTS)


def test_an_index_out_of_range_is_an_error():
    def func(points, i):
        return len(near(points, 1.0)[i])

    assert_like_the_loop(func, POINTS, np.array([0, -1, 11, -12, 5]))
    with pytest.raises(IndexError):
        lw.vmap(func)(POINTS, np.array([0, -1, 12, -12, 5]))


def test_an_array_that_may_be_another_is_not_written_to():
    def func(points, i):
        neighbours = near(points, 1.0)
        neighbours[i][0] = 3
        return neighbours[0].sum()

    with pytest.raises(ControlFlowError, match="another array"):
        lw.vmap(func)(POINTS, np.arange(5))


def as_a_list(x):
    above, below = x[x > 0].tolist(), np.flatnonzero(x < 0).tolist()
    for v in above:
        if v > 1:
            below.append(int(v))
    ordered = sorted(above)
    first = above[0] if above else -1.0
    return len(above), 0.0 + sum(above), sum(below), first, ordered[-1:] == above


def of_other_dtypes(x):
    single = x[x > 0].astype(np.float32).tolist()
    tests, parts = (x[x < 0] > -1).tolist(), x[x < 0.5].astype(complex).tolist()
    small = x[x > -1].astype(np.int8).tolist()
    return 0.0 + sum(single), sum(tests), 0j + sum(parts), sum(small) * 3, single[:1] == [0.5]


@pytest.mark.parametrize("func", [as_a_list, of_other_dtypes], ids=lambda func: func.__name__)
def test_tolist(func):
    assert_like_the_loop(func, X)
    assert_like_the_loop(func, -np.abs(X[:2]))  # none of some
