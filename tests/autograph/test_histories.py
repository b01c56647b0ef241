"""What was seen of a loop when it was recorded before: nests are recorded few times."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.turns import Turns
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(3).normal(size=(5, 12, 12))


def paths(x):
    n = len(x)
    d = [[abs(x[i][j]) for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return sum(d[0])


def changed_in_some_turns(x):
    a, b, c = [0.0] * 12, [0.0] * 12, np.zeros(12)
    for i in range(12):
        for j in range(12):
            one = a if i % 2 else b
            for k in range(12):
                if x[i, j] > x[j, k]:
                    one[k] += x[i, k]
                elif i == 7:
                    c[j] = one[k]
    return sum(a), sum(b), c.sum()


def made_in_each_turn(x):
    total, kept = 0.0, [0.0] * 12
    for i in range(12):
        row = [0.0] * 12
        for j in range(12):
            for k in range(12):
                row[(j * k) % 12] += x[i, k]
                if x[j, k] > 1:
                    kept[k] = row[j]
        total += max(row)
        if x[i, 0] > 0:
            kept = row
    return total, sum(kept)


def several_at_one_line(x):
    tables = [[0.0] * 12 for _ in range(3)]
    for i in range(12):
        for table in tables:
            table[:] = [v + (x[i, j] if x[i, j] > 0 else table[i]) for j, v in enumerate(table)]
    return [sum(table) for table in tables]


@pytest.mark.parametrize(
    "func", [paths, changed_in_some_turns, made_in_each_turn, several_at_one_line],
    ids=lambda func: func.__name__,
)  # fmt: skip
def test_like_the_loop(func):
    assert_like_the_loop(func, X)


def test_the_loops_of_a_nest_are_recorded_few_times(monkeypatch):
    times, begin = [], Turns.begin
    monkeypatch.setattr(Turns, "begin", lambda self, *args: times.append(1) or begin(self, *args))
    lw.function(lw.vmap(paths)).get_concrete_function(X)
    assert 3 < len(times) < 24
