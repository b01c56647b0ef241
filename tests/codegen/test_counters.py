"""What is known of the counters of loops that data end: no check of them is written."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import counters
from support.everywhere import assert_like_the_loop

N = np.array([0, 1, 3, 7])


def rows_of_each(x, n):
    total = 0.0
    for k in range(n):
        total = total + x[k] * x[k + 1]
    return total


def tails(x, n):
    total, steps = 0.0, 0
    for k in range(n, 8):
        total = total * 0.5 + x[k - n]
        steps += 1
    return total, steps


def by_twos(x, n):
    k, total = 0, 0.0
    while k < n:
        total, k = total + x[k], k + 2
    return total, k


def downwards(x, n):
    total = 0.0
    for k in range(n, -1, -1):
        total = total * 0.5 + x[k]
    return total


X = np.random.default_rng(1).normal(size=(4, 9))


@pytest.mark.parametrize("func", [rows_of_each, tails, by_twos, downwards])
def test_like_the_loop(func):
    assert_like_the_loop(func, X, N)


def test_indices_beyond_the_end_are_still_seen():
    with pytest.raises(IndexError):
        lw.vmap(rows_of_each)(X, np.array([0, 1, 9, 3]))


def test_what_is_added_to_a_counter_is_not_checked(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    with contextlib.redirect_stdout(io.StringIO()):
        (known,) = lw.explain(lw.vmap(rows_of_each), X, N).kernels
        monkeypatch.setattr(counters, "_counts", lambda *given: False)
        (unknown,) = lw.explain(lw.vmap(lambda x, n: rows_of_each(x, n) + 1), X, N).kernels
    assert known.ir.count("label %failed") < unknown.ir.count("label %failed")
