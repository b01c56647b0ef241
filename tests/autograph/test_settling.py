"""Loops whose variables settle after some turns are recorded from then on."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import lanewise as lw


def bashforth(y, ts):
    history = []
    for t in ts:
        history.append(t - y)
        if len(history) < 4:
            y = y + 0.02 * history[-1]
        else:
            f3, f2, f1, f0 = history[-4:]
            y = y + 0.02 / 24 * (55 * f0 - 59 * f1 + 37 * f2 - 9 * f3)
            history = history[-4:]
    return y


def popped(y, ts):
    history = []
    for t in ts:
        history.append(t - y)
        if len(history) > 2:
            history.pop(0)
        y = y + 0.1 * (1.5 * history[-1] - 0.5 * history[0])
    return y


def queue(y, ts):
    history = deque(maxlen=3)
    for t in ts:
        history.append(t - y)
        y = y + 0.1 * sum(history)
    return y


@pytest.mark.parametrize("function", [bashforth, popped, queue])
def test_histories_that_fill(function) -> None:
    y, ts = np.linspace(0, 1, 3), np.random.default_rng(0).random((3, 200))
    expected = np.stack([function(a, b) for a, b in zip(y, ts, strict=True)])
    np.testing.assert_array_equal(lw.vmap(function)(y, ts), expected)
    if function is popped:
        assert str(lw.explain(lw.vmap(function), y, ts)).count("multiply") < 40


@pytest.mark.parametrize("count", [4, 5, 16, 20, 40])
def test_any_number_of_turns(count) -> None:
    ts = np.random.default_rng(1).random(count)
    for function in (bashforth, popped, queue):
        np.testing.assert_array_equal(lw.function(function)(0.5, ts), function(0.5, ts))
