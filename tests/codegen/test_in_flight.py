"""How many vectors of examples a kernel has in flight: more where each would wait for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.choices import MOST_FLIGHT
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.codegen.processor import machine
from lanewise.runtime import dispatch
from support.backends import backend

X = np.random.default_rng(0).uniform(0.1, 0.9, 100)


def logistic(x):
    for _ in range(50):
        x = 3.9 * x * (1 - x)
    return x


def logistic_beside_constants(x):
    total = x
    for k in range(1, 50):
        total = total * x + 1.0 / k
    return total


def terms(x):
    """Each turn is long, but only a sum waits for the one before."""
    total = 0.0
    for k in range(1, 50):
        total = total + np.exp(-k * x) * np.sin(k * x)
    return total


def root(x):
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if middle * middle > x:
            high = middle
        else:
            low = middle
    return low


def large(x):
    """The loop waits, but each vector more takes another array of the caches."""
    row = np.zeros(100)
    for i in range(99):
        row[i + 1] = 3.9 * row[i] * (1 - row[i]) + x
    return row[99]


def short(x):
    return np.exp(x) + 1


def vectors_of(f: Callable[..., Any], *args: Any) -> int:
    """Return how many vectors of float64 the only kernel of a map has in flight."""
    KERNELS.clear()
    dispatch._cache.clear()
    with backend("native"):
        got = lw.vmap(f)(*args)
    with backend("interpret"):
        np.testing.assert_allclose(got, lw.vmap(f)(*args), rtol=1e-12)
    (found,) = KERNELS.values()
    assert found is not None
    return found.lanes * 64 // machine().register_bits


@pytest.mark.parametrize("f", [logistic, logistic_beside_constants, root])
def test_turns_that_wait_for_each_other_run_beside_others(f):
    assert vectors_of(f, X) == MOST_FLIGHT


@pytest.mark.parametrize("f", [terms, large, short])
def test_two_are_enough_where_none_waits_or_memory_is_short(f):
    assert vectors_of(f, X) == 2


def test_what_lanes_have_in_common_does_not_count_as_work():
    def f(x, a):
        for _ in range(50):
            x = x * np.exp(np.sin(a)) + 1  # of `a` alone: once for all lanes
        return x

    KERNELS.clear()
    dispatch._cache.clear()
    with backend("native"):
        lw.vmap(f, in_dims=(0, None))(X, 0.5)
    found = next(kernel for kernel in KERNELS.values() if kernel is not None and kernel.in_lanes)
    assert found.lanes * 64 // machine().register_bits == MOST_FLIGHT


def rarely_written(x):
    for k in range(6):
        if x[k] > 0:
            x[(7 * k) % len(x)] += x[k]
        else:
            x[k] = 0.5
    return x


def stepwise(x):
    x = x.copy()
    for _ in range(4):
        x[1:-1] += 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2])
    return x


@pytest.mark.parametrize("f", [rarely_written, stepwise])
@pytest.mark.parametrize(("size", "in_lanes"), [(40, True), (9_000, False)])
def test_loops_over_states_that_no_cache_would_hold_for_all_lanes(f, size, in_lanes):
    x = np.random.default_rng(0).normal(size=(19, size))
    KERNELS.clear()
    dispatch._cache.clear()
    with backend("native"):
        got = lw.vmap(f)(x.copy())
    np.testing.assert_allclose(got, np.stack([f(row) for row in x.copy()]), rtol=1e-12)
    kernels = [kernel for kernel in KERNELS.values() if kernel is not None]
    assert kernels and all(kernel.in_lanes == in_lanes for kernel in kernels)
