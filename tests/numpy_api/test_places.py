"""Nonzero elements and unique values, of which the data say how many there are."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.trace.table import TABLE, places
from support.oracle import assert_maps

RNG = np.random.default_rng(11)
ROWS = RNG.integers(-2, 3, size=(5, 8))
GRIDS = RNG.integers(-1, 2, size=(4, 3, 5))

USES = {
    "flatnonzero": lambda x: (np.flatnonzero(x).sum(), len(np.flatnonzero(x))),
    "nonzero": lambda x: x[np.nonzero(x > 0)].sum(),
    "where": lambda x: (np.where(x > 0)[0] * x[np.where(x > 0)]).sum(),
    "of none": lambda x: np.flatnonzero(x > 100).size,
    "of all": lambda x: np.flatnonzero(x < 100).sum(),
    "unique": lambda x: (np.unique(x).sum(), np.unique(x).size),
    "counts": lambda x: (np.unique(x, return_counts=True)[1] ** 2).sum(),
    "all of it": lambda x: [
        (part * 1.5).sum() for part in np.unique(x, return_index=True, return_inverse=True,
                                                 return_counts=True)],
    "inverse": lambda x: np.unique(x, return_inverse=True)[1],
    "rebuilt": lambda x: (lambda v, i: v[i])(*np.unique(x, return_inverse=True)),
    "of a part": lambda x: np.unique(x[x > 0]).sum(),
    "of values": lambda x: np.unique_counts(x).counts.max(),
    "argwhere": lambda x: (np.argwhere(x > 0).sum(), np.argwhere(x).shape[1]),
    "compress": lambda x: np.compress(x > 0, x).sum(),
    "compress a part": lambda x: np.compress(x[:3] > 0, x).sum(),
    "union": lambda x: np.union1d(x, x[:3] * 2).sum(),
    "intersection": lambda x: np.intersect1d(x, x[:3] * 2).sum(),
    "intersection of unique": lambda x: np.intersect1d(np.unique(x), np.arange(3), True).sum(),
    "where they meet": lambda x: [p.sum() for p in np.intersect1d(x, x[::-2],
                                                                  return_indices=True)],
    "either": lambda x: np.setxor1d(x, x[:3] * 2).sum(),
    "difference": lambda x: np.setdiff1d(x, x[:3] * 2).sum(),
    "members": lambda x: (np.isin(x, x[x > 0]).sum(), np.isin(x, x[x > 9], invert=True).sum()),
    "trimmed": lambda x: (np.trim_zeros(x).sum(), np.trim_zeros(x, "f").size,
                          np.trim_zeros(x, "b").size),
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
def test_rows(name):
    assert_maps(USES[name], ROWS)
    assert_maps(USES[name], ROWS * 0.5)
    assert_maps(USES[name], ROWS.astype(np.uint8))
    for row in ROWS:
        for got, want in zip(np.atleast_1d(lw.function(USES[name])(row)),
                             np.atleast_1d(USES[name](row)), strict=True):  # fmt: skip
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", USES)
def test_parts_of_rows(name):
    def func(x):
        return USES[name](x[x > -2])

    if name not in ("inverse", "rebuilt"):  # as long as the part
        assert_maps(func, ROWS)
    for row in ROWS[:3]:
        for got, want in zip(np.atleast_1d(lw.function(func)(row)), np.atleast_1d(func(row)),
                             strict=True):  # fmt: skip
            np.testing.assert_array_equal(got, want)


def test_grids():
    assert_maps(lambda m: [p.sum() for p in np.nonzero(m)], GRIDS)
    assert_maps(lambda m: m[np.nonzero(m > 0)].sum(), GRIDS)
    assert_maps(lambda m: m[m > 0].sum() + m[m[:, 0] > 0].sum() + m[:, m[0] > 0].sum(), GRIDS)
    assert_maps(lambda m: np.unique(m).sum(), GRIDS)
    assert_maps(lambda m: np.unique(m, return_inverse=True)[1], GRIDS)


def test_no_elements():
    empty = np.zeros((3, 0))
    assert_maps(lambda x: (np.flatnonzero(x).size, np.unique(x).size), empty)
    assert_maps(lambda x: np.unique(x, return_counts=True)[1].sum(), empty)


def test_not_a_number():
    x = np.array([[np.nan, 1.0, np.nan, 1.0], [2.0, np.nan, -0.0, 0.0]])
    assert_maps(lambda x: (np.unique(x).size, np.unique(x, equal_nan=False).size), x)
    assert_maps(lambda x: np.flatnonzero(x).sum(), x)


def test_what_numpy_refuses():
    with pytest.raises(ValueError, match="0d"):
        lw.vmap(lambda x: np.nonzero(x)[0].size)(np.arange(3.0))
    assert TABLE[np.flatnonzero] is places.flatnonzero
