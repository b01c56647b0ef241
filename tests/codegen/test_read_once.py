"""What an operation reads once, or twice at one place: it needs no memory of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lanewise as lw
from lanewise.codegen.kernel_cache import KERNELS

RNG = np.random.default_rng(16)


def scratch(function, *arguments) -> int:
    """Return the most memory that a kernel takes; the results must be NumPy's."""
    KERNELS.clear()
    found = lw.function(function, experimental_compile=True)(*arguments)
    np.testing.assert_allclose(found, function(*arguments), rtol=1e-12)
    return max(kernel.scratch for kernel in KERNELS.values() if kernel)


def count(x):
    """How often each number is there: indices that are cast, and ones that are one number."""
    return np.bincount(x, minlength=256)


def nearest(x, means):
    """The nearest of some means, in a loop that moves these: each difference is squared."""
    for _ in range(3):
        difference = x.reshape(-1, 1) - means
        squared = difference * difference
        means = means + squared.sum(axis=0) * 1e-6
    return means


def test_counting():
    x = RNG.integers(0, 256, 100_000).astype(np.uint8)
    assert scratch(count, x) < 2 * 256 * 8


def test_squares():
    x, means = RNG.normal(size=5_000), RNG.normal(size=16)
    assert scratch(nearest, x, means) < x.nbytes


@pytest.mark.parametrize("shape", [(5_000,), (50, 100)])
def test_places_that_are_computed(shape):
    x, table = RNG.normal(size=shape), RNG.normal(size=64)
    assert scratch(lambda x: table[np.abs(x * 20).astype(int) % 63 + 1], x) < x.nbytes


def tables(x, table):
    """An example does little, and is not in a lane: bytes at places that are data."""
    return table[x]


@pytest.mark.parametrize("size", [0, 1, 1_023, 1_024, 1_025, 5_000])
def test_short_examples_one_after_the_other(size):
    x, table = RNG.integers(0, 256, size).astype(np.uint8), RNG.integers(0, 9, 256).astype(np.uint8)
    found = lw.function(tables, experimental_compile=True)(x, table)
    np.testing.assert_array_equal(found, table[x])


def test_short_examples_that_fail():
    x, table = np.zeros(5_000, np.uint8), np.arange(200, dtype=np.uint8)
    x[4_321] = 250
    with pytest.raises(IndexError, match="250"):
        lw.function(tables, experimental_compile=True)(x, table)


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.int64, np.int32, np.uint8]))
def test_places_that_are_read_off_what_is_written(seed, dtype):
    x = np.random.default_rng(seed).integers(0, 100, 300).astype(dtype)

    def write(x):
        x = x.copy()
        np.add.at(x, x.astype(np.int64) + 1, 1)
        x[x.astype(np.int64) // 2] = x
        return x

    np.testing.assert_array_equal(lw.function(write, experimental_compile=True)(x), write(x))
