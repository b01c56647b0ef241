"""``np.unique`` with first indices, inverse and counts, whose length does not escape."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import DataDependentShapeError
from support.oracle import assert_maps

ROWS = np.array([[3, 1, 3, 2, 1, 3], [5, 5, 5, 5, 5, 5], [0, 1, 2, 3, 4, 5], [2, -1, 2, -1, 7, 0]])


def entropy(x):
    _, counts = np.unique(x, return_counts=True)
    p = counts / counts.sum()
    return -(p * np.log(p)).sum()


def mode(x):
    values, counts = np.unique(x, return_counts=True)
    return values[np.argmax(counts)]


def firsts(x):
    values, index = np.unique(x, return_index=True)
    return (values * index).sum(), index[-1], np.sort(index)[0]


def everything(x):
    values, index, inverse, counts = np.unique(x, True, True, True)
    return values[inverse], counts[inverse], index.max(), counts.max(), values.size


def most_frequent_in_a_loop(x):
    values, counts = np.unique(x, return_counts=True)
    best = 0
    for v, c in zip(values, counts):  # noqa: B905
        if c > 1:
            best = best + v * c
    return best


USES = {
    "the greatest count": lambda x: np.unique(x, return_counts=True)[1].max(),
    "entropy": entropy,
    "mode": mode,
    "first indices": firsts,
    "inverse": lambda x: np.unique(x, return_inverse=True)[1],
    "inverse of a matrix": lambda x: np.unique(x.reshape(2, 3), return_inverse=True)[1],
    "everything": everything,
    "a loop": most_frequent_in_a_loop,
    "values seen once": lambda x: (np.unique(x, return_counts=True)[1] == 1).sum(),
}


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("dtype", [int, float])
def test_it_is_followed(name, dtype):
    rows = ROWS.astype(dtype)
    assert_maps(USES[name], rows, rtol=1e-12)
    want, got = USES[name](rows[0]), lw.function(USES[name])(rows[0])
    for a, b in zip(np.atleast_1d(*_parts(got)), np.atleast_1d(*_parts(want)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def _parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("equal_nan", [True, False])
def test_nans_are_counted_as_numpy_counts_them(equal_nan):
    rows = np.array([[np.nan, 1.0, np.nan, 1.0], [2.0, np.nan, 0.0, 1.0]])

    def count(x):
        values, counts = np.unique(x, return_counts=True, equal_nan=equal_nan)
        return counts.max(), counts.size, np.nansum(values)

    assert_maps(count, rows)


def test_a_length_that_escapes_is_refused():
    with pytest.raises(DataDependentShapeError, match=r"np\.bincount"):
        lw.vmap(lambda x: np.unique(x, return_counts=True)[1])(ROWS)
    with pytest.raises(DataDependentShapeError, match=r"np\.unique of rows of 70 elements"):
        lw.vmap(lambda x: np.unique(np.ones((2, 70)) * x[0], axis=0).sum())(ROWS)


@pytest.mark.parametrize("axis", [0, 1, -1, 2])
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.bool_, np.complex64])
def test_unique_rows(axis, dtype):
    xs = np.random.default_rng(3).integers(0, 2, (5, 6, 2, 3)).astype(dtype)
    if dtype == np.float64:
        xs[1, :, 0] = np.nan

    def func(x):
        values, index, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True, axis=axis
        )
        again = np.take(values, inverse.ravel(), axis=axis)
        weights = np.arange(1, values.shape[axis] + 1)
        total = np.moveaxis(np.nan_to_num(values), axis, -1) @ weights.astype(dtype)
        return again, index.sum(), inverse, counts @ weights, total, len(weights)

    assert_maps(func, xs)
    assert_maps(lambda x: np.unique(x, axis=axis).shape[axis], xs)
    assert_maps(lambda x: np.nansum(np.unique(x[0, 0], axis=-1)), xs)


def test_axes_that_are_not_there():
    with pytest.raises(np.exceptions.AxisError):
        lw.vmap(lambda x: np.unique(x, axis=1).size)(ROWS)
