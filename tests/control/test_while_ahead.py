"""`while` loops of which numbers of Python's are computed ahead: recorded once, and right."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(3).normal(size=(3, 60))


def time_steps(x):
    t, y, dt = 0.0, x[0], 0.01
    while t < 0.8:
        y = y + dt * np.sin(y + t)
        t += dt
    return y, t


def a_branch_of_data(x):
    t, y, n = 0.0, x[0], 0
    while t <= 0.6:
        y = y * 1.01 + t
        t = t + 0.01
        if y > 1:
            y, n = y - 1, n + 1
    return y, n, t


def swapped(x):
    a, b, y = 1.0, 0.0, x[1]
    while a > 1e-3:
        a, b, y = a * 0.9, b + a, y * 0.5 + b
    return y, a, b


def halved(x):
    n, y = 2**60 + 12345, 0.0
    while n > 0:
        y = y * 0.5 + x[0] * (n % 2)
        n //= 2
    return y, n


def chain(x):
    n, y, turns = 97, 1.0, 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        y = 0.9 * y + x[2]
        turns += 1
    return y, n, turns


def a_last_step(x):
    t, y = 0.0, x[0]
    while t < 1.0:
        dt = min(0.03, 1.0 - t)
        y = y + dt * np.cos(y)
        t += dt
    return y, t


def appended(x):
    t, y, ts, ys = 0.0, x[0], [], []
    while t < 0.5:
        y = y - 0.01 * y
        t += 0.01
        ts.append(t)
        ys.append(y)
    return np.array(ts), np.array(ys), ys[-1]


def nested(x):
    t, total = 0.0, 0.0
    while t < 3.0:
        s, y = 0.0, x[0]
        while s < t:
            y, s = y * 0.9 + s, s + 0.1
        total, t = total + y, t + 0.1
    return total


def left_early(x):
    t, y = 0.0, abs(x[0])
    while t < 0.9:
        y = y * 1.02
        if y > 0.7:
            break
        t += 0.01
    return y, t


def used_as_a_number(x):
    t, y = 0.0, 0.0
    while t < 0.55:
        y = y + x[round(t * 100)]
        t += 0.01
    return y


def more_than_arithmetic(x):
    t, y = 0.0, x[0]
    while t < 0.5:
        y = y * 0.9
        t = float(np.round(t + 0.011, 3))
    return y, t


def never(x):
    t, y = 2.0, x[0]
    while t < 1.0:
        y, t = y + undefined, t + 0.1  # noqa: F821
    return y, t


def assigned_within(x):
    t, q, n, y = 0.0, 0.0, 0, x[0]
    while t < 1.0:
        (t, q), n = (t + 0.05, q + 1), n + 1
        y = y * 0.5 + q
    return y, n


RECORDED = [time_steps, a_branch_of_data, swapped, halved, chain, a_last_step, appended, nested]
OTHERS = [assigned_within, left_early, used_as_a_number, more_than_arithmetic, never]


@pytest.mark.parametrize("func", [*RECORDED, *OTHERS])
def test_it_is_like_the_loop(func):
    assert_like_the_loop(func, X)


@pytest.mark.parametrize("func", RECORDED)
def test_it_is_recorded_once(func):
    assert len(lw.function(func).get_concrete_function(X[0]).graph.operations) < 100


def test_derivatives():
    found = lw.grad(lambda x: time_steps(x)[0])(X[0])
    step = 1e-6 * np.eye(60)[0]
    wanted = (time_steps(X[0] + step)[0] - time_steps(X[0] - step)[0]) / 2e-6
    np.testing.assert_allclose(found[0], wanted, rtol=1e-6)


def test_a_loop_that_fails_ahead_fails_as_it_does():
    def func(x):
        n, y = 6, x[0]
        while 10 // n > 0:
            y, n = y * 2.0, n - 1
        return y

    with pytest.raises(ZeroDivisionError):
        lw.function(func)(X[0])


def test_a_loop_that_the_data_end():
    def func(x):
        t, y = 0.0, x[0]
        while t < 1.0:
            y, t = y * 0.5, t * 1.0 + 0.25
            t = min(t, 0.5)
            if y == 0:
                break
        return y, t

    assert lw.function(func)(X[0]) == func(X[0])
