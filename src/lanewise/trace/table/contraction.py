"""Products of arrays: dot and its relatives, cross and Kronecker products."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from lanewise.ir.types import NUMPY
from lanewise.trace.table.checks import deprecated, of_shape
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor
from lanewise.trace.ufuncs import contract
from lanewise.trace.views import as_out, store


def write_out(out: Any, result: Tensor, casting: str = "same_kind") -> Any:
    """Write a result to ``out=``, which must be a tensor of its shape, and return that."""
    out = as_out(out)
    if out.shape != result.shape:
        raise ValueError(f"output array has shape {out.shape}, the result has {result.shape}")
    store(out, result, casting)
    return out


def flat(a: Any) -> Any:
    """Return the elements in a row."""
    x: Any = as_tensor(a)
    return x if x.ndim == 1 else np.ravel(x)


def tensors(*arrays: Any) -> Any:
    """Return arrays as tensors, or as what type checkers take for arrays."""
    return [as_tensor(array) for array in arrays]


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = tensors(a, b)
    x, y = [t if t._weak is None else t.copy() for t in (x, y)]  # numbers become arrays
    if x.ndim and y.ndim:
        pair = (x.ndim - 1, max(y.ndim - 2, 0))
        result = contract(x, y, np.result_type(x.dtype, y.dtype), [], [pair])
    else:
        result = np.multiply(x, y)
    if out is None:
        return result
    if isinstance(out, Tensor) and (out.dtype, out.ndim) != (result.dtype, result.ndim):
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, "
            "and be a C-Array)"
        )
    return write_out(out, result)


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    x, y = flat(a), flat(b)
    problem = ValueError(f"cannot reshape array of size {y.size} into shape ({x.size},)")
    y = of_shape(y, x.shape, problem)
    return dot(np.conj(x) if x.dtype.kind == "c" else x, y)


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    x, y = tensors(a, b)
    if not x.ndim or not y.ndim:
        return np.multiply(x, y)
    return contract(x, y, np.result_type(x.dtype, y.dtype), [], [(x.ndim - 1, y.ndim - 1)])


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    x, y = flat(a), flat(b)
    result = contract(x, y, np.result_type(x.dtype, y.dtype), [], [])
    return result if out is None else write_out(out, result)


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    x, y = tensors(x1, x2)
    np.linalg.outer(*[np.ones((1,) * v.ndim) for v in (x, y)])  # raises for more dimensions
    return outer(x, y)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return np.matmul(as_tensor(x1), x2)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    vecdot: Any = np.vecdot
    return vecdot(as_tensor(x1), x2, axis=axis)


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    axes_a, axes_b = _paired_axes(axes)
    if len(set(axes_a)) != len(axes_a) or len(set(axes_b)) != len(axes_b):
        raise ValueError("duplicate axes are not allowed in tensordot")
    x, y = tensors(a, b)
    if len(axes_a) != len(axes_b) or any(
        x.shape[i] != y.shape[j] for i, j in zip(axes_a, axes_b, strict=True)
    ):
        raise ValueError("shape-mismatch for sum")
    pairs = [(i % x.ndim, j % y.ndim) for i, j in zip(axes_a, axes_b, strict=True)]
    return contract(x, y, np.result_type(x.dtype, y.dtype), [], pairs)


def _paired_axes(axes: Any) -> list[list[int]]:
    """Return which axes of the first and of the second array `tensordot` sums over."""
    try:
        iter(axes)
    except TypeError:
        return [list(range(-axes, 0)), list(range(axes))]
    first, second = axes
    return [[operator.index(axis) for axis in np.atleast_1d(given)] for given in (first, second)]


@implements(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    x, y = tensors(a, b)
    if not x.ndim or not y.ndim:
        return np.multiply(x, y)
    rank = max(x.ndim, y.ndim)
    rows = (1,) * (rank - x.ndim) + x.shape
    columns = (1,) * (rank - y.ndim) + y.shape
    x = np.reshape(x, tuple(d for dim in rows for d in (dim, 1)))
    y = np.reshape(y, tuple(d for dim in columns for d in (1, dim)))
    return np.reshape(x * y, tuple(m * n for m, n in zip(rows, columns, strict=True)))


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = tensors(a, b)
    if not x.ndim or not y.ndim:
        raise ValueError("At least one array has zero dimension")
    x = np.moveaxis(x, normalize_axis_index(axisa, x.ndim, "axisa"), -1)
    y = np.moveaxis(y, normalize_axis_index(axisb, y.ndim, "axisb"), -1)
    sizes = (x.shape[-1], y.shape[-1])
    if NUMPY >= (2, 5) and sizes != (3, 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{sizes[0]} and {sizes[1]} dimensional instead."
        )
    if not set(sizes) <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if 2 in sizes:
        deprecated(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors "
            "instead. (deprecated in NumPy 2.0)"
        )
    dtype = np.promote_types(x.dtype, y.dtype)
    x, y = x.astype(dtype), y.astype(dtype)
    last = x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    if sizes == (2, 2):
        return last
    # A missing third coordinate is left out, not taken for zero: that would make NaN of infinities.
    if sizes == (2, 3):
        first, second = x[..., 1] * y[..., 2], -(x[..., 0] * y[..., 2])
    elif sizes == (3, 2):
        first, second = -(x[..., 2] * y[..., 1]), x[..., 2] * y[..., 0]
    else:
        first = x[..., 1] * y[..., 2] - x[..., 2] * y[..., 1]
        second = x[..., 2] * y[..., 0] - x[..., 0] * y[..., 2]
    normalize_axis_index(axisc, last.ndim + 1, "axisc")
    return np.stack([first, second, last], axis=axisc)


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x, y = tensors(x1, x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x.shape[axis]} and {y.shape[axis]} dimensional instead."
        )
    return cross(x, y, axis=axis)
