"""Arrays in lists and dicts at an index that is data: written to, that shows in both."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(3).normal(size=(4, 60))
K = np.array([0, 2, 1, -1])
PROGRAMS = []


def program(func):
    """Note a function that is compared with the loop."""
    PROGRAMS.append(func)
    return func


def three(x):
    return [x[:3].copy(), x[3:6].copy(), np.zeros(3)]


@program
def written_in_place(x, k):
    rows = three(x)
    rows[k][1] = 7.0
    return rows[0], rows[1], rows[2], rows[k]


@program
def added_to(x, k):
    rows = three(x)
    row = rows[k]
    row += x[0]
    rows[k] *= 2
    return np.array(rows), row


@program
def read_after_a_write(x, k):
    rows = three(x)
    row = rows[k]
    rows[1][0] = 9.0
    return row, rows[k] + row


@program
def one_array_twice(x, k):
    a, b = x[:3].copy(), x[3:6].copy()
    rows = [a, b, a]
    rows[k][0] = 5.0
    return a, b, np.array(rows)


@program
def of_a_tuple_and_a_dict(x, k):
    rows = three(x)
    pair, named = tuple(rows), {0: rows[0], 1: rows[1], 2: rows[2], -1: np.ones(3)}
    pair[k][2] = x[5]
    named[k][0] = x[6]
    return np.array(rows), named[-1]


@program
def in_a_branch(x, k):
    rows = three(x)
    if x[0] > 0:
        rows[k][1] += 1.0
    return np.array(rows)


@program
def in_a_loop_over_many(x, k):
    rows = [np.zeros(3) for _ in range(30)]
    for i in range(30):
        rows[i][k] = x[i]
        rows[(i * 7) % 30][0] += 1.0
    return np.array(rows)


@program
def each_another_size(x, k):
    rows = [np.zeros(i + 1) for i in range(20)]
    for i in range(20):
        rows[i][i] = x[i]
    return np.concatenate(rows)


@program
def many_only_read(x, k):
    rows = [x[i : i + 3] for i in range(40)]
    total = 0.0
    for i in range(40):
        total += rows[(i * 3 + k) % 40].sum()
    return total


@pytest.mark.parametrize("func", PROGRAMS)
def test_is_like_the_loop(func):
    assert_like_the_loop(func, X, K)


def test_one_of_many_is_not_written_to():
    def func(x, k):
        rows = [x[i : i + 3].copy() for i in range(3)] * 5
        rows[k][0] = 1.0
        return np.array(rows)

    with pytest.raises(ControlFlowError, match=r"element of a list is written to \(.*a copy"):
        lw.vmap(func)(X, K)
