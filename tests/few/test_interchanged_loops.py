"""Loops over large arrays whose elements need each other nowhere: each runs all iterations."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.ops.control import scan
from lanewise.ops.regions import map_
from lanewise.passes.pipeline import EXAMPLE
from support.backends import backend

RNG = np.random.default_rng(11)
X = RNG.normal(size=20_000)
M = RNG.normal(size=(160, 128))
PROGRAMS = []


def program(*arguments):
    """Note a function that is compared with itself, on copies of these arguments."""

    def enter(func):
        PROGRAMS.append(pytest.param(func, arguments, id=func.__name__))
        return func

    return enter


@program(X)
def logistic_growth(x):
    for _ in range(30):
        x = x + 0.01 * x * (1 - x)
    return x


@program(X.astype(np.float32))
def of_single_precision(x):
    for _ in range(30):
        x = np.sqrt(np.abs(x) + 1) * np.float32(0.7)
    return x


@program((RNG.integers(-50, 50, 20_000)).astype(np.int32))
def of_integers(x):
    for i in range(30):
        x = (x * 3 + i) % 101
    return x


@program(0.3 * M + 0.2j * M.T.reshape(160, 128), 0.3 * M)
def under_a_mask_of_two_dimensions(z, c):
    count = np.zeros(z.shape, np.int64)
    for n in range(25):
        inside = np.abs(z) < 2
        count[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    return z, count


@program(M)
def of_rows(x):
    for _ in range(25):
        x = x + 0.1 * (x - x.max(axis=1, keepdims=True))
    return x


@program(X, 0.01)
def with_a_number_that_is_handed_on(x, t):
    for _ in range(25):
        x = x + t * np.sin(x)
        t = t * 0.9 + 0.001
    return x, t


@program(X, RNG.normal(size=(30, 20_000)), RNG.normal(size=30))
def of_rows_that_it_goes_through(x, forces, weights):
    for i in range(len(forces)):
        x = 0.9 * x + forces[i] * weights[i]
    return x


@program(X, RNG.normal(size=7))
def reads_a_table(x, table):
    for i in range(25):
        x = x * 0.5 + table[i % 7]
    return x


@program(M, 12)
def nested_loops(x, n):
    for i in range(n):
        for j in range(5):
            x = np.where(x > 0, x * 0.9 - 0.01 * j, x + 0.1 * i)
    return x


@program(X)
def neighbours_stay_in_the_loop(x):
    for _ in range(25):
        x = 0.5 * x + 0.5 * np.roll(x, 1)
    return x


@program(X)
def a_total_stays_in_the_loop(x):
    for _ in range(25):
        x = x - 0.1 * x.max()
    return x


@program(X)
def what_is_before_it_and_behind(x):
    y = np.exp(-np.abs(x))
    for _ in range(25):
        x, y = x + 0.1 * y, y - 0.1 * x
    return (x * y).sum() / len(x)


@program(X[::-1])
def two_arrays_change_places(x):
    y = x * 2
    for _ in range(25):
        x, y = y, 0.5 * x + 1
    return x, y


@pytest.mark.parametrize("name", ["interpret", "native"])
@pytest.mark.parametrize(("func", "arguments"), PROGRAMS)
def test_like_plain_python(func, arguments, name):
    def given():
        return [np.copy(x) if isinstance(x, np.ndarray) else x for x in arguments]

    want = func(*given())
    with backend(name):
        got = lw.function(func)(*given())
    want, got = (x if isinstance(x, tuple) else (x,) for x in (want, got))
    for one, other in zip(want, got, strict=True):
        dtype = np.asarray(one).dtype
        assert np.asarray(other).dtype == dtype
        np.testing.assert_allclose(other, one, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize(
    ("func", "is_within"), [(logistic_growth, True), (neighbours_stay_in_the_loop, False)]
)
def test_the_loop_is_in_the_kernel(func, is_within, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    body = lw.function(func).get_concrete_function(X).graph
    maps = [op for op in EXAMPLE(body, fastmath=False).operations if op.primitive is map_]
    loops = [any([inner.primitive is scan for inner in op.regions[0].operations]) for op in maps]
    assert any(loops) is is_within


def test_what_raises_is_the_first_iteration_that_does(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")

    def func(x, steps):
        with np.errstate(divide="raise"):
            for i in range(20):
                x = x / steps[i]
        return x

    steps = np.ones(20)
    np.testing.assert_array_equal(lw.function(func)(X, steps), X)
    steps[7] = 0
    with pytest.raises(FloatingPointError, match="divide by zero"):
        lw.function(func)(X, steps)
