"""``try`` around what loops' counters index: handlers that no iteration needs are not recorded."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(3).normal(size=(3, 40))


def ratio(steps, i, s):
    """An index that surely is one, and a handler that gives a number of another class."""
    try:
        d = 1 / steps[i]
    except IndexError:
        d = np.nan
    return s * 0.5 + d


def in_a_loop(x):
    steps, s = np.array([2.0] * len(x)), 0.0
    for i in range(len(x)):
        s = ratio(steps, i, s) + x[i]
    return s


def in_two_loops_with_a_break(x):
    steps, s = np.array([2.0] * len(x)), 0.0
    for i in range(len(x)):
        for j in range(3):
            s = ratio(steps, i, s) + j * x[i]
            if s > 5:
                break
    return s


def backwards(x):
    steps, s = np.array([2.0] * len(x)), 0.0
    for i in range(len(x) - 1, -1, -1):
        s = ratio(steps, i, s) + x[i]
    return s


def from_the_end(x):
    steps, s = np.array([2.0] * len(x)), 0.0
    for i in range(1, len(x)):
        s = ratio(steps, -i, s) + x[i - 1]
    return s


def in_a_while_loop(x):
    steps, s, i = np.array([2.0] * len(x)), 0.0, 0
    while i < len(x):
        s = ratio(steps, i, s) + x[i]
        i += 1
    return s


def of_two_indices(x):
    steps, s = np.full((len(x), len(x)), 2.0), 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            try:
                d = steps[i, j] + steps[i][j]
            except IndexError:
                d = 1
            s = s * 0.5 + x[i] * d
    return s


RECORDED = [
    in_a_loop, in_two_loops_with_a_break, backwards, from_the_end, in_a_while_loop, of_two_indices,
]  # fmt: skip

# --- others, of which some iterations raise -------------------------------------------------------


def beyond_the_end(x):
    steps, s = np.array([2.0] * len(x)), 0.0
    for i in range(len(x)):
        s = ratio(steps, i + 1, s) + x[i]
    return s


def of_a_shorter_one(x):
    steps, s = np.array([2.0] * 30), 0.0
    for i in range(len(x)):
        s = ratio(steps, i, s) + x[i]
        if np.isnan(s):
            s = 0.0
    return s


def before_the_first(x):
    steps, s = np.array([2.0] * 30), 0.0
    for i in range(len(x)):
        s = ratio(steps, -i, s) + x[i]
        if np.isnan(s):
            s = 1.0
    return s


def by_data(x):
    steps, s = np.array([2.0] * 30), 0.0
    for i in range(len(x)):
        s = ratio(steps, i + int(x[i] > 1) * 30, s) + x[i]
        if np.isnan(s):
            s = 1.0
    return s


@pytest.mark.parametrize(
    "func", [*RECORDED, beyond_the_end, of_a_shorter_one, before_the_first, by_data]
)
def test_like_the_loop(func, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    assert_like_the_loop(func, X)


def operations(f, x):
    return len(lw.function(f).get_concrete_function(x).graph.operations)


@pytest.mark.parametrize("func", RECORDED)
def test_it_is_recorded_once_however_long_it_is(func):
    assert operations(func, np.concatenate([X[0]] * 3)) == operations(func, X[0]) < 40
