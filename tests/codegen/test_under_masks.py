"""Totals and writes of what masks choose, taken of whole arrays in kernels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.passes import masks
from support.backends import backend

RNG = np.random.default_rng(5)
ROWS = np.round(RNG.normal(size=(9, 13)), 1)
ROWS[3], ROWS[4], ROWS[6], ROWS[5, 2] = -1, np.abs(ROWS[4]) + 1, -0.0, np.nan


def written(x):
    x = x.copy()
    x[x > 0] *= 2
    x[x < -1] = np.abs(x[x < -1])
    return x


def written_through_a_mask(x):
    x, m = x.copy(), x > 0
    x[m] += np.sqrt(x[m])
    x[~m] = -1
    return x


USES = {
    "sum": lambda x: x[x > 0].sum(),
    "sum of zeros": lambda x: x[x <= 0].sum(),
    "of none": lambda x: x[x > 99].sum() + x[x > 99].prod(),
    "mean": lambda x: (x[x > 0] * 2 + 1).mean(),
    "std": lambda x: x[x > 0].std(),
    "root": lambda x: np.sqrt(x[x > 0]).sum(),
    "logarithm": lambda x: np.log(x[x > 0]).sum(),
    "inverse": lambda x: (1 / x[x != 0]).sum(),
    "product": lambda x: x[x > 0].prod(),
    "any": lambda x: (x[x > 0] > 1).any(),
    "all": lambda x: (x[x > 0] > 0.3).all(),
    "number": lambda x: len(x[x > 0]),
    "integers": lambda x: (x.astype(int)[x > 0] * 3).sum(),
    "divided": lambda x: (7 // x.astype(int)[x >= 1]).sum(),
    "single": lambda x: x[x > 0].astype(np.float32).sum(),
    "as integers": lambda x: x[x > 0].astype(np.int8).sum(),
    "choice": lambda x: np.where(x[x > 0] > 1, x[x > 0], 5.0).sum(),
    "centred": lambda x: (x[x > 0] - x[x > 0].mean() / 2).sum(),
    "table": lambda x: np.outer(x, x)[x > 0].sum(),
    "columns": lambda x: np.outer(x, x)[:, x > 0].sum(axis=1),
    "rows times": lambda x: (x[x > 0][:, None] * np.arange(3)).sum(axis=0),
    "places": lambda x: (np.flatnonzero(x > 0) * 2 + 1).sum(),
    "at places": lambda x: (np.flatnonzero(x > 0) * x[x > 0]).sum(),
    "two masks": lambda x: x[(x > 0) & (x < 1)].size + x[x > 1].sum(),
    "written": written,
    "written through a mask": written_through_a_mask,
}
EXTREMES = {
    "max": lambda x: x[x > 0].max(),
    "between": lambda x: x[x > 0].max() - x[x > 0].min(),
    "integers": lambda x: x.astype(int)[x > 0].max(),
    "truth": lambda x: (x[x > 0] > 1).max(),
}


def assert_alike(func, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = np.stack([func(row) for row in rows])
    with backend("native"):
        for got in (lw.vmap(func)(rows), np.stack([lw.function(func)(row) for row in rows])):
            np.testing.assert_allclose(got, want, rtol=1e-6 if want.dtype.itemsize == 4 else 1e-12)
            assert got.dtype == want.dtype
            if want.dtype.kind == "f":
                zeros = want == 0
                np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("name", USES)
def test_totals(name, dtype):
    assert_alike(USES[name], ROWS.astype(dtype))


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name):
    some = ROWS[[0, 1, 2, 4, 5, 7, 8]] if name != "integers" else ROWS[[0, 1, 2, 4, 7, 8]]
    assert_alike(EXTREMES[name], some)
    with pytest.raises(ValueError, match="zero-size array") as plain:
        EXTREMES[name](ROWS[3])
    with backend("native"), pytest.raises(ValueError, match="zero-size array") as found:
        lw.vmap(EXTREMES[name])(ROWS)
    assert str(found.value).startswith(str(plain.value))


def test_they_are_found(monkeypatch):
    seen = []
    whole = masks._Part.whole
    monkeypatch.setattr(masks._Part, "whole", lambda part: seen.append(part) or whole(part))
    with backend("native"):
        lw.vmap(lambda x: (x[x > 0.125] * 3).mean())(ROWS)
        assert seen
        seen.clear()
        lw.vmap(lambda x: np.sort(x[x > 0.125]).sum())(ROWS)
        assert not seen
