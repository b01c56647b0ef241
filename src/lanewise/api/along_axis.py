"""``np.apply_along_axis`` on tensors: a map of the user's function over rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lanewise.api.vmap import vmap
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor


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
