"""Rows of any length, sorted in kernels: NumPy says how."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from codegen.test_sorting import COUNT, assert_native, mapped, numbers
from lanewise.codegen.algorithms.long_rows import columns_of
from lanewise.codegen.errors import CannotCompile
from lanewise.runtime import dispatch
from support.backends import backend, watched

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()
LENGTHS = [33, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 5000]


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns(dtype):
    """Places go with keys of at most 32 bits in one integer."""
    size = np.dtype(dtype).itemsize
    assert columns_of(np.dtype(dtype), False).kinds == (("i64",) if size == 8 else ("i32",))
    places = columns_of(np.dtype(dtype), True)
    assert places.kinds == (("i64", "i64") if size == 8 else ("i64",))


def test_complex_numbers_have_none():
    with pytest.raises(CannotCompile, match="sorted by NumPy"):
        columns_of(np.dtype(complex), False)


def ordered(x):
    return np.sort(x), np.argsort(x, kind="stable"), np.sort(x, kind="stable")


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    assert_native(ordered, numbers(dtype, (COUNT, 300)), primitives="sort argsort")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("length", LENGTHS)
def test_lengths(dtype, length):
    assert_native(ordered, numbers(dtype, (3, length)), primitives="sort argsort")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [40, 129, 2000])
def test_partitions(dtype, length):
    x = numbers(dtype, (COUNT, length))
    kth = (0, 7, length // 2, -1)

    def parts(x):
        return np.partition(x, kth), np.argpartition(x, kth)

    (values, places), seen = mapped(parts, x)
    assert {"partition", "argpartition"} <= seen.primitives
    want = np.sort(x)
    for found in (values, np.take_along_axis(x, places, -1)):
        np.testing.assert_array_equal(found[:, kth], want[:, kth])
        np.testing.assert_array_equal(np.sort(found), want)
        for at in kth[1:-1]:
            # NaN sorts last, and is not greater than anything.
            assert not (found[:, :at] > found[:, at : at + 1]).any()
            assert not (found[:, at:] < found[:, at : at + 1]).any()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes(axis):
    x = numbers("f4", (5, 70, 40, 66))
    assert_native(
        lambda x: (np.sort(x, axis), np.argsort(x, axis, kind="stable")),
        x,
        primitives="sort argsort",
    )


def test_rows_that_lie_apart():
    x = numbers("f8", (COUNT, 500))[:, ::3]
    assert_native(lambda x: np.sort(x[::-1][1:]), x, primitives="sort")


@pytest.mark.parametrize("length", [50, 200])
def test_in_loops(length):
    """Lanes that make different numbers of turns have rows of their own."""

    def again(x, n):
        for _ in range(n):
            x = np.sort(x) - x[::-1] * 0.5
        return x, np.argsort(x, kind="stable")

    x = numbers("f4", (COUNT, length))
    x[~np.isfinite(x)] = 7
    assert_native(again, x, np.arange(COUNT) % 4, primitives="sort")


@pytest.mark.parametrize("length", [60, 400])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u8"])
def test_lengths_that_are_data(length, dtype):
    def prefix(x, n):
        part = x[:n]
        order = np.argsort(part, kind="stable")
        return np.sort(part).sum(), np.median(part.astype(float)), part[order].sum()

    x = numbers(dtype, (COUNT, length))
    if np.dtype(dtype).kind == "f":
        x[~np.isfinite(x)] = 3
    else:
        x %= 1000
    n = np.arange(COUNT) * length // (COUNT - 1)
    n[0] = 1
    assert_native(prefix, x, n, primitives="sort argsort partition", rtol=1e-6)


def test_segments_of_a_long_array():
    rng = np.random.default_rng(5)
    values = rng.normal(size=100_000)
    start = rng.integers(0, 99_000, 300)
    stop = start + rng.integers(0, 1000, 300)

    def middle(start, stop):
        return np.median(values[start:stop]), np.sort(values[start:stop])[:1].sum()

    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        want = np.array([np.median(values[a:b]) for a, b in zip(start, stop, strict=True)])
    dispatch._cache.clear()
    with watched() as seen:
        found, _ = lw.vmap(middle)(start, stop)
    np.testing.assert_array_equal(found, want)
    assert "partition" in seen.primitives


@pytest.mark.parametrize("length", [0, 1, 2, 33, 1000, 40_000])
def test_any_size(length):
    f = lw.function(
        lambda x: (np.sort(x), np.argsort(x, kind="stable"), np.unique(x)),
        input_signature=[lw.TensorSpec(["n"])],
    )
    x = numbers("f8", length)
    with backend("native"):
        for found, want in zip(f(x), (*ordered(x)[:2], np.unique(x)), strict=True):
            np.testing.assert_array_equal(found, want)


def test_derivatives_of_partitions_follow_their_elements():
    x = np.random.default_rng(3).normal(size=1000)
    weights = np.arange(1000.0)

    def loss(x):
        return (np.partition(x, 300) ** 2 * (np.partition(x, 300) > 0)).sum() + weights[0]

    np.testing.assert_allclose(lw.grad(loss)(x), np.where(x > 0, 2 * x, 0))
