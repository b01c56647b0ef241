"""Maps that NumPy's functions are on tensors: ``np.apply_along_axis``, and ``reduceat`` by data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lanewise.api.vmap import vmap
from lanewise.autograph.values import require
from lanewise.ops.creation import iota
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.ufunc_methods import RUNS


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    x: Any = as_tensor(arr)
    axis = normalize_axis(axis, x.ndim)
    rows = np.moveaxis(x, axis, -1)
    lead = rows.shape[:-1]
    count = math.prod(lead)
    if not count:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")

    def one_row(row: Tensor) -> Tensor:
        return as_tensor(func1d(row, *args, **kwargs))

    results = vmap(one_row, randomness="different")(np.reshape(rows, (count, rows.shape[-1])))
    own = results.ndim - 1
    results = np.reshape(results, (*lead, *results.shape[1:]))
    own_axes = tuple(range(len(lead), len(lead) + own))
    return np.moveaxis(results, own_axes, tuple(range(axis, axis + own)))


def _runs_of_data(
    ufunc: np.ufunc, x: Any, starts: Any, axis: int, dtype: np.dtype | None
) -> Tensor:
    """``ufunc.reduceat(x, starts, axis, dtype)``: a map over the runs, of which each has a length.

    A run ends where the next one begins; one that does not begin before that is an element.
    """
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        np.add.reduceat(np.zeros(1), np.zeros((1,) * starts.ndim, starts.dtype))  # raises
    rows, size, count = np.moveaxis(x, axis, 0), x.shape[axis], starts.shape[0]
    inside = np.logical_and(starts >= 0, starts < size).all()
    require(inside, IndexError(f"index out-of-bounds in {ufunc.__name__}.reduceat"))
    places: Any = emit(iota, length=count, dtype=np.dtype(int)) + 1
    ends = np.where(places < count, starts[np.minimum(places, count - 1)], size)

    def run(start: Any, end: Any) -> Any:
        return ufunc.reduce(rows[start : np.maximum(end, start + 1)], axis=0, dtype=dtype)

    return as_tensor(np.moveaxis(vmap(run)(starts, ends), 0, axis))


RUNS.append(_runs_of_data)
