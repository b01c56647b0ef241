"""Loops whose variables are arrays that each turn makes longer, or shorter, by as much."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.control_flow_oracle import assert_follows

RNG = np.random.default_rng(0)


def casteljau(points, t):
    for _ in range(len(points) - 1):
        points = (1 - t) * points[:-1] + t * points[1:]
    return points[0]


def american(price, strike):
    steps = 40
    value = np.maximum(strike - price * 1.02 ** (2 * np.arange(steps + 1) - steps), 0.0)
    for i in range(steps - 1, -1, -1):
        now = price * 1.02 ** (2 * np.arange(i + 1) - i)
        value = np.maximum(0.999 * (0.52 * value[1:] + 0.48 * value[:-1]), strike - now)
    return value[0]


def pascal(x):
    row = np.array([1.0])
    for _ in range(30):
        row = np.concatenate([[1.0], row[:-1] + row[1:] * x, [1.0]])
    return row


def appended(x):
    out = np.zeros(1)
    for k in range(40):
        out = np.append(out, x * k + out[-1])
    return out, out.sum()


def differences(x):
    total = 0.0
    for _ in range(25):
        x = np.diff(x)
        total += x.max()
    return total, x


def eliminated(a):
    logs = 0.0
    for _ in range(len(a) - 2):
        logs += np.log(abs(a[0, 0]))
        a = a[1:, 1:] - np.outer(a[1:, 0], a[0, 1:]) / a[0, 0]
    return a, logs


def tail(x):
    total = 0.0
    for _ in range(25):
        x = x[1:] * 0.5
        x[0] += 1
        total += x.sum()
    return total


def views(x):
    total = 0.0
    for _ in range(25):
        x = x[1:]
        total += x[0] * len(x)
    return total


def two(x):
    y = x[:5]
    for k in range(20):
        y = np.concatenate([y, x[k : k + 1]])
        x = x[:-1] + 0.5
        if y[k] > 0.5:
            x[0] = y[-1]
    return x, y


def while_sized(x):
    n = 0
    while x.shape[0] > 3 and n < 100:
        x = x[1:-1] + x[2:]
        n += 1
    return x, n


def while_long(x):
    while len(x) > 1:
        x = 0.4 * x[1:] + 0.6 * x[:-1]
    return x[0]


X, SQUARES = RNG.normal(size=(5, 60)), RNG.normal(size=(3, 30, 30)) + 30 * np.eye(30)
CASES = [
    (casteljau, (X, RNG.random(5))),
    (american, (RNG.random(5) + 9, RNG.random(5) + 9)),
    (pascal, (RNG.random(4),)),
    (appended, (RNG.random(4),)),
    (differences, (X,)),
    (eliminated, (SQUARES,)),
    (tail, (X,)),
    (views, (X,)),
    (two, (X,)),
    (while_sized, (X,)),
    (while_long, (X,)),
]
IDS = [f.__name__ for f, _ in CASES]


@pytest.mark.parametrize(("func", "batch"), CASES, ids=IDS)
def test_each_turn_has_its_sizes(func, batch):
    assert_follows(func, *batch)


@pytest.mark.parametrize(("func", "batch"), CASES, ids=IDS)
def test_one_example_alone(func, batch):
    one = [np.copy(x[0]) for x in batch]
    got = lw.function(func)(*one)
    for x, y in zip(_leaves(got), _leaves(func(*one)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def _leaves(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("func", [casteljau, differences, tail, views, while_long])
def test_the_graph_does_not_grow_with_the_turns(func):
    """A curve of 60 points has the operations of one of 30."""
    rest = [RNG.random(2)] if func is casteljau else []
    counts = [
        str(lw.explain(lw.vmap(func), RNG.normal(size=(2, n)), *rest)).count("\n") for n in (45, 90)
    ]
    assert abs(counts[1] - counts[0]) < 8


def other_steps(x):
    for k in range(30):
        x = x[k % 2 :] * 0.9
    return x.sum()


def by_twos_then_ones(x):
    for k in range(30):
        x = x[2:] if k < 7 else x[1:]
    return x.sum()


def until_small(x):
    while len(x) > 1 and x[0] < 5:
        x = x[1:] + 1
    return x.sum()


def to_nothing(x):
    total = 0.0
    for _ in range(80):
        x = x[1:]
        total += x.sum()
    return total, len(x)


@pytest.mark.parametrize("func", [other_steps, by_twos_then_ones, until_small, to_nothing])
def test_other_sizes_than_the_first_turn_promised(func):
    assert_follows(func, X)


def test_what_else_holds_the_array_keeps_it():
    def func(x):
        first = x
        for _ in range(20):
            x = x[1:] + 0.0
            x[0] = 7.0
        return first.sum(), x

    assert_follows(func, X)


@pytest.mark.parametrize("func", [casteljau, while_long])
def test_derivatives(func):
    rest = (0.3,) if func is casteljau else ()
    x = RNG.normal(size=30)
    weights = lw.grad(func)(x, *rest)
    step = 1e-6 * np.eye(30)
    expected = [(func(x + h, *rest) - func(x - h, *rest)) / 2e-6 for h in step]
    np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=1e-9)
    batch = RNG.normal(size=(4, 30))
    got = lw.vmap(lw.grad(func), in_dims=(0, *[None for _ in rest]))(batch, *rest)
    np.testing.assert_allclose(got, np.tile(weights, (4, 1)), rtol=1e-12)
