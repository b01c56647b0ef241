"""The oracle of mapping with control flow: `oracle`, where examples may give different dtypes.

An example that takes one branch may give Python's 0, another NumPy's int32: the loop's stack is
int64, while a map, which gives all examples one dtype, lets the Python number give way (NEP 50).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

import lanewise as lw
from support.oracle import TOLERANCE, assert_maps, example


def assert_follows(
    func: Callable[..., Any], *args: Any, in_dims: Any = 0, rtol: float | None = None
) -> None:
    """Assert `assert_maps`; of the dtype only its kind, where examples differ in it."""
    dims = (in_dims,) * len(args) if isinstance(in_dims, int) else tuple(in_dims)
    size = next(np.shape(a)[d] for a, d in zip(args, dims, strict=True) if d is not None)
    with np.errstate(all="ignore"):
        rows = [optree.tree_leaves(func(*example(args, dims, i))) for i in range(size)]
    columns = [[np.asarray(x) for x in column] for column in zip(*rows, strict=True)]
    if all(len({x.dtype for x in column}) == 1 for column in columns):
        assert_maps(func, *args, in_dims=in_dims, rtol=rtol)
        return
    with np.errstate(all="ignore"):
        got = optree.tree_leaves(lw.vmap(func, dims)(*args))
    assert len(got) == len(columns)
    for g, column in zip(got, columns, strict=True):
        want = np.stack(column)
        assert g.shape == want.shape and g.dtype.kind == want.dtype.kind
        if want.dtype.kind in "fc":
            tolerance = max([TOLERANCE.get(x.dtype.char, 0.0) for x in [g, *column]])
            scale = float(np.abs(want[np.isfinite(want)]).max(initial=0.0))
            np.testing.assert_allclose(g, want, rtol=tolerance, atol=tolerance * scale)
        else:
            np.testing.assert_array_equal(g, want)
