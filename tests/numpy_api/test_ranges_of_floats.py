"""`np.arange` between floats that are data: the numbers that NumPy gives, to the bit."""

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import assert_like_the_loop

rng = np.random.default_rng(0)
FIRST = rng.normal(size=24)
LAST = FIRST + rng.uniform(-1, 5, 24)
FIRST[:6], LAST[:6] = 0.0, [0.0, -0.0, 1.0, 0.3, 0.1 + 0.2, 5e-324]


def by_tenths(a, b):
    return np.arange(a, b, 0.1)


def to_the_end(a, b):
    return np.arange(b)


def from_an_integer(a, b):
    return np.arange(1, b, 0.25)


def downwards(a, b):
    return np.arange(b, a, -0.3)


def by_ones(a, b):
    return np.arange(a, b)


def single(a, b):
    return np.arange(a, b, 0.5, dtype=np.float32)


@pytest.mark.parametrize("f", [by_tenths, to_the_end, from_an_integer, downwards, by_ones, single])
def test_it_gives_what_numpy_gives(f):
    traced = lw.function(f)
    for a, b in zip(FIRST, LAST, strict=True):
        expected, found = f(a, b), traced(a, b)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_loops_go_over_it():
    def integral(a, b):
        total, count = 0.0, 0
        for t in np.arange(a, b, 0.25):
            total += np.sin(t)
            count += 1
        return total, count

    assert_like_the_loop(integral, FIRST, LAST)


@pytest.mark.parametrize("last", [np.nan, np.inf, 1e300])
def test_ranges_without_a_length_raise_as_numpy_does(last):
    with pytest.raises(ValueError) as plain:
        by_tenths(np.float64(0), np.float64(last))
    with pytest.raises(ValueError, match=str(plain.value)):
        lw.function(by_tenths)(np.float64(0), np.float64(last))


def test_its_derivative():
    slope = lw.grad(lambda a: (np.arange(a, 2.0, 0.3) ** 2).sum())(0.5)
    np.testing.assert_allclose(slope, 2 * np.arange(0.5, 2.0, 0.3).sum())
