"""Sorting and searching in kernels, and functions of Python numbers: NumPy and Python say how."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.algorithms.networks import merge_exchange, pairs
from lanewise.runtime import dispatch
from support import oracle
from support.backends import watched

RNG = np.random.default_rng(15)
COUNT = 19
DTYPES = ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


def mapped(func, *args):
    dispatch._cache.clear()  # a graph that ran before is not compiled again
    with watched() as seen:
        got = lw.vmap(func)(*args)
    return got, seen


def assert_native(func, *args, primitives, rtol=0.0):
    got, seen = mapped(func, *args)
    want = oracle.loop(func, args, (0,) * len(args))
    if rtol:
        oracle.assert_same(got, want, rtol)
    else:
        got, want = [x if isinstance(x, (tuple, list)) else [x] for x in (got, want)]
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype
            np.testing.assert_array_equal(g, w)
    assert set(primitives.split()) <= seen.primitives
    assert not seen.cautious


def numbers(dtype, shape):
    """Return numbers of which many are equal, and some are no numbers, or the largest there are."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    if dtype.kind in "iu":
        few = RNG.integers(0, 5, shape)
        info = np.iinfo(dtype.name)
        odd = RNG.choice(np.array([info.min, info.max, info.max - 1], dtype), shape)
        return np.where(RNG.random(shape) < 0.3, odd, few.astype(dtype))
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, 5e-8, -3.0])
    if dtype.kind == "f":
        return RNG.choice(special, shape).astype(dtype)
    found = np.empty(shape, dtype)
    found.real, found.imag = RNG.choice(special, shape), RNG.choice(special[::2], shape)
    return found


def test_networks_sort():
    """By the 0-1 principle, a network that sorts all rows of zeros and ones sorts all rows."""
    for size in range(14):
        rows = np.arange(1 << size)[:, None] >> np.arange(size) & 1
        for one in merge_exchange(size):
            for i, j in pairs(size, *one):
                assert j == i + one[2]
                rows[:, i], rows[:, j] = rows[:, [i, j]].min(1), rows[:, [i, j]].max(1)
        assert (np.diff(rows, axis=1) >= 0).all()


#: One of each kind.
KINDS = ["?", "i4", "u2", "f8", "c8"]
#: Networks that are written out, and loops over them; the largest of which there are few.
DTYPES_OF_SIZES = [*[(d, 5) for d in DTYPES], *[(d, 17) for d in KINDS], ("f4", 64), ("c16", 64)]


@pytest.mark.parametrize(("dtype", "size"), DTYPES_OF_SIZES)
def test_dtypes(dtype, size):
    x = numbers(dtype, (COUNT, size))
    assert_native(
        lambda x: (np.sort(x), np.argsort(x, kind="stable")), x, primitives="sort argsort"
    )


@pytest.mark.parametrize("size", [0, 1, 2, 3, 6, 9, 16, 31, 32, 33, 63])
def test_sizes(size):
    x = numbers("f8", (COUNT, size))
    assert_native(
        lambda x: (np.sort(x), np.argsort(x, kind="stable")), x, primitives="sort argsort"
    )


def test_longer_rows_of_complex_numbers_are_left_to_numpy():
    x = numbers("c16", (COUNT, 65))
    got, seen = mapped(np.sort, x)
    np.testing.assert_array_equal(got, np.sort(x))
    assert "sort" not in seen.primitives


def test_zeros_keep_their_signs():
    x = np.tile([0.0, -0.0, 1.0, -0.0], (COUNT, 1))
    for y in (x, x + 0j):
        got, _ = mapped(np.sort, y)
        assert (np.signbit(got.real).sum(axis=1) == (2 if y is x else 0)).all()


@pytest.mark.parametrize("shape", [(2, 3), (7, 20), (40, 50), (3, 2, 4)])
@pytest.mark.parametrize("axis", [0, 1])
def test_axes(shape, axis):
    x = numbers("i4", (COUNT, *shape))
    assert_native(
        lambda x: (np.sort(x, axis), np.argsort(x, axis, kind="stable")),
        x,
        primitives="sort argsort",
    )


def test_large_arrays_run_in_lanes_themselves():
    x = RNG.normal(size=(3, 1000, 6))
    assert_native(
        lambda x: (np.sort(x), np.sort(x.T, 0)),
        x,
        primitives="sort",
    )


@pytest.mark.parametrize("shape", [(200, 30), (30, 200), (40, 35, 4)])
def test_large_arrays_of_longer_rows(shape):
    axis = int(np.argmin(np.abs(np.array(shape) - 35)))  # the one of 30 to 40
    x = numbers("f8", (3, *shape))
    assert_native(
        lambda x: (np.sort(x, axis), np.argsort(x, axis, kind="stable")),
        x,
        primitives="sort argsort",
    )


@pytest.mark.parametrize("dtype", ["i4", "f8", "c16"])
@pytest.mark.parametrize("size", [7, 40])
def test_partitions(dtype, size):
    x = numbers(dtype, (COUNT, size))

    def parts(x):
        found, places = np.partition(x, (2, 5)), np.argpartition(x, 3)
        return found[[2, 5]], np.sort(found[3:5]), np.take_along_axis(x, places, 0)[3]

    assert_native(parts, x, primitives="partition argpartition")


def test_medians():
    x = RNG.normal(size=(COUNT, 9, 4))
    assert_native(
        lambda x: (np.median(x), np.quantile(x, 0.3, axis=0)),
        x,
        primitives="partition",
        rtol=1e-14,
    )


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "size"), [*[(d, 9) for d in DTYPES], *[(d, 17) for d in KINDS], ("f8", 0), ("c8", 0)]
)
def test_searchsorted(dtype, size, monkeypatch):
    if size == 9:
        monkeypatch.setenv("LANEWISE_LANES", "1")  # one vector in flight
    table, values = np.sort(numbers(dtype, (COUNT, size))), numbers(dtype, (COUNT, 2, 3))

    def found(x, v):
        return np.searchsorted(x, v), np.searchsorted(x, v[0, 0], "right")

    assert_native(found, table, values, primitives="searchsorted")


@pytest.mark.parametrize("size", [1, 2, 15, 16, 40])
def test_searchsorted_sizes(size):
    table, values = np.sort(numbers("f8", (COUNT, size))), numbers("f8", (COUNT, 4))
    assert_native(
        lambda x, v: (np.searchsorted(x, v), np.searchsorted(x, v, "right")),
        table,
        values,
        primitives="searchsorted",
    )


def test_searchsorted_of_two_dtypes():
    table, values = np.sort(RNG.integers(0, 9, (COUNT, 20))), RNG.uniform(0, 9, (COUNT, 4))
    assert_native(np.searchsorted, table, values, primitives="searchsorted")
    assert_native(np.searchsorted, np.sort(values), table, primitives="searchsorted")


@pytest.mark.parametrize("size", [2, 9, 30])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_interp(size, dtype):
    points = np.sort(RNG.normal(size=size))  # a table that is no argument
    heights = RNG.normal(size=size).astype(dtype) * (1 + 2j if dtype == "c16" else 1)
    x = np.array([*RNG.normal(size=6), *points, np.nan, np.inf, -np.inf])

    def both(x):
        return np.interp(x, points, heights), np.interp(x, points, heights, left=-9, right=7)

    assert_native(both, x, primitives="interp")
    if dtype == "f8":
        heights[0] = np.inf
        assert_native(both, x, primitives="interp")
        heights[:2] = -np.inf
        assert_native(both, x, primitives="interp")


def test_interp_in_tables_of_examples():
    points, heights = np.sort(RNG.normal(size=(COUNT, 12))), RNG.normal(size=(COUNT, 12))
    x = np.concatenate([RNG.normal(size=(COUNT, 5)), points[:, :2]], axis=1)
    assert_native(np.interp, x, points, heights, primitives="where")


# --- functions of Python numbers, and others ------------------------------------------------------

WHOLE = np.array([0, 1, 2, 3, 5, 255, 256, 2**52 + 1, 2**62, 2**63 - 1, 12345678901])
SQUARES = [r * r + d for r in (3037000499, 2**31, 94906265, 94906267) for d in (-1, 0, 1)]
REAL = np.array([0.0, -0.0, 1, -1, 5e-324, 1e308, np.finfo(float).max, np.nan, 3.5, 2.5, -7.5])


def by_python(function, *columns):
    return np.array([function(*row) for row in zip(*[c.tolist() for c in columns], strict=True)])


def assert_python(func, *columns):
    got, seen = mapped(func, *columns)
    want = by_python(func, *columns)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got)[got == got], np.signbit(want)[want == want])
    assert "python_call" in seen.primitives and not seen.cautious


def test_integers():
    assert_python(math.isqrt, np.concatenate([WHOLE, SQUARES]))
    assert_python(math.factorial, np.arange(21))


def test_powers_by_a_modulus():
    def power(a, b, m):
        return pow(int(a), int(b), int(m))

    base = np.array([3, 2**62, -7, 5, 0, 0, 1, 10**9 + 6])
    exponent = np.array([200, 5, 3, 0, 0, 4, 9, 2**62])
    assert_python(power, base, exponent, np.array([7, 1000003, 11, 1, 5, 5, 3037000499, 10**9 + 7]))
    large = np.array([2**62 - 57] * 8)  # products have more than 64 bits: Python's turn
    got, seen = mapped(power, base, exponent, large)
    np.testing.assert_array_equal(got, by_python(power, base, exponent, large))
    assert seen.cautious


def test_floats():
    assert_python(math.ulp, np.array([*REAL, np.inf, -np.inf]))
    x = np.array([5.0, -5, 7.5, 2.5, 3.5, -2.5, 1e300, 5e-324, 0.0, -0.0, np.nan, 3, 1, 6, 1e-310])
    y = np.array([3.0, 3, 5, 1, 1, 1, 7, 2, 3, -3, 1, np.inf, np.nan, -4, 3e-311])
    assert_python(math.remainder, x, y)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="math.fma is new in Python 3.13")
def test_fma():
    fma = vars(math)["fma"]
    assert_python(fma, REAL / 2, REAL[::-1] / 4, REAL)


@pytest.mark.parametrize(
    ("func", "bad", "error"),
    [
        (math.isqrt, np.array([4, 5, -1, 3]), ValueError),
        (math.factorial, np.array([4, 5, -1, 3]), ValueError),
        (math.factorial, np.array([4, 5, 21, 3]), OverflowError),
        (lambda x: math.remainder(x, 2.0), np.array([1.0, 2, np.inf, 3]), ValueError),
        (lambda x: math.remainder(1.0, x), np.array([1.0, 2, 0.0, 3]), ValueError),
    ],
)
def test_errors(func, bad, error):
    with pytest.raises(error) as caught:
        mapped(func, bad)
    assert "example 2" in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize("fn", [np.add, np.maximum, np.logical_or, np.subtract])
@pytest.mark.parametrize("size", [6, 50])
def test_reductions_of_runs(fn, size):
    x = RNG.normal(size=(COUNT, 3, size))
    assert_native(
        lambda x: (fn.reduceat(x, [0, 4, 2, 5, 5], axis=1), fn.reduceat(x, [1, 0, 2], axis=0)),
        x,
        primitives="reduceat",
        rtol=1e-14,
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_bessel(dtype):
    x = np.concatenate([np.linspace(-11, 11, 101), [8, -8, 0, 1e-8]]).astype(dtype)
    assert_native(np.i0, x, primitives="i0", rtol=4 * np.finfo(np.i0(x).dtype).eps)


def test_bessel_of_large_numbers():
    x = np.array([50.0, 300, 700, 720, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        assert_native(np.i0, x, primitives="i0", rtol=4e-15)
