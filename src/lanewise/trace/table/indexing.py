"""Elements chosen and written by index: take, put, choose, diagonals, triangles, multi-indices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, dim_max, product
from lanewise.ir.location import here
from lanewise.ir.types import NUMPY
from lanewise.ops.indexing import take_along_axis as take_along_axis_op
from lanewise.ops.movement import cast
from lanewise.ops.movement import diagonal as diagonal_op
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.sizes import has_sizes, shape_from
from lanewise.trace.table.checks import checked, deprecated, must_cast
from lanewise.trace.table.creation import array_like, converted, number_or_array, promoted
from lanewise.trace.table.manipulation import numbered
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import TABLE, Tensor, as_tensor, contains_tensor, emit
from lanewise.trace.views import as_stored, flat_view, read_only_view, store, transpose_view


def _target(function: Any, a: Any) -> Tensor:
    """Return what a function writes to, which must be a tensor."""
    if not isinstance(a, Tensor):
        raise UnsupportedError(
            f"np.{function.__name__} writes to an array that is not traced{at(here())}. Make it "
            "with np.zeros_like(t, shape=...) first, or np.array(a, like=t)"
        )
    return a


def _moded(index: Any, size: int, mode: str) -> Any:
    """Return flat indices brought into range as ``mode`` says; "raise" leaves them as they are."""
    if mode == "raise":
        return index
    if mode == "wrap":
        return index % size
    if mode == "clip":
        return np.clip(index, 0, size - 1)
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def _integers(index: Any, casting: str = "same_kind") -> Any:
    """Return an index argument as integers: bools count, floats do only in lists, as in NumPy."""
    given = array_like(index)
    if isinstance(index, (np.ndarray, np.generic, Tensor)):
        must_cast(given.dtype, np.intp, casting)
    return given if given.dtype.kind in "iu" else np.astype(given, np.intp)


# --- take and put -------------------------------------------------------------------------------


@implements(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    x, index = as_tensor(a), _integers(indices)
    if axis is None or not x.ndim:
        if axis is not None:
            normalize_axis(axis, 1)
        x, axis = np.reshape(x, -1), 0
    axis = normalize_axis(axis, x.ndim)
    size = x.shape[axis]
    if size == 0 and index.size:
        shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
        if 0 not in shape:
            raise IndexError("cannot do a non-empty take from an empty axes.")
        if mode == "raise" and 0 not in x.shape[:axis]:  # else NumPy does not look at an index
            raise IndexError(f"indices are out of bounds for axis {axis} with size 0")
        result = np.empty_like(x, shape=shape)
    else:
        result = x[(*(slice(None),) * axis, _moded(index, size, mode))]
    if index.ndim == 0 and isinstance(result, Tensor):
        result = result.copy()  # never a view
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError("output array does not match result of ndarray.take")
    if NUMPY >= (2, 5):
        if not np.can_cast(result.dtype, out.dtype, "same_kind"):
            deprecated(
                "Implicit casting of output to a different kind is deprecated. In a future "
                "version, this will result in an error. (Deprecated NumPy 2.5)"
            )
    else:
        must_cast(out.dtype, result.dtype)  # this way round, in NumPy too
    store(out, result)
    return out


def _as_written(values: Any, dtype: np.dtype) -> Any:
    """Return what is to be written to elements of `dtype`; Python numbers must fit into it."""
    if isinstance(values, Tensor) or contains_tensor(values):
        return as_stored(values, dtype)
    if isinstance(values, (np.ndarray, np.generic)):
        return values
    return np.array(values, dtype)


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    a = _target(np.put, a)
    index = np.reshape(_integers(ind), -1)
    values = np.reshape(_as_written(v, a.dtype), -1)
    if not index.size or not values.size:
        return
    if not a.size:
        raise IndexError("cannot replace elements of an empty array")
    flat_view(a)[_moded(index, a.size, mode)] = np.resize(values, index.size)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    x, index, axis = _along_axis(arr, indices, axis)
    return emit(take_along_axis_op, x, index, axis=axis)


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    x, index, axis = _along_axis(_target(np.put_along_axis, arr), indices, axis)
    key = np.indices(x.shape, sparse=True) if x.ndim else ()
    x[(*key[:axis], index, *key[axis + 1 :])] = values


def _along_axis(arr: Any, indices: Any, axis: int | None) -> tuple[Tensor, Any, int]:
    x, index = as_tensor(arr), array_like(indices)
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        x, axis = flat_view(x), 0
    axis = normalize_axis(axis, x.ndim)
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if x.ndim != index.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    for i, (own, other) in enumerate(zip(x.shape, index.shape, strict=True)):
        if i != axis and own != other and 1 not in (own, other):
            raise IndexError(
                "shape mismatch: indexing arrays could not be broadcast together with shapes "
                f"{x.shape} {index.shape}"
            )
    size = x.shape[axis]
    known = index if isinstance(index, np.ndarray) else np.zeros(0, np.intp)
    if ((known < -size) | (known >= size)).any():
        raise IndexError(f"an index is out of bounds for axis {axis} with size {size}")
    return x, index, axis


# --- choices ------------------------------------------------------------------------------------


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    index = _integers(a, "safe")
    arrays = [number_or_array(choice) for choice in choices]
    count = len(arrays)
    shape = np.broadcast_shapes(index.shape, *map(np.shape, arrays))
    index = _moded(index, count, mode)
    if mode == "raise":
        fits = (index >= 0) & (index < count)
        index = checked(index, fits, ValueError("invalid entry in choice array"))
    dtype = promoted(*arrays)
    table = np.stack([np.broadcast_to(converted(x, dtype), shape) for x in arrays])
    index = np.broadcast_to(as_tensor(index), shape)
    result = emit(take_along_axis_op, table, index[None], axis=0)[0]
    if out is None:
        return result
    if out.shape != shape:
        raise ValueError("output array does not match result of np.choose")
    store(out, result)
    return out


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions = [array_like(c) for c in condlist]
    # Raises for conditions that are none, or not as many as choices.
    np.select([np.zeros(1, c.dtype) for c in conditions], [0] * len(choicelist))
    choices = [number_or_array(c) for c in choicelist]
    default = number_or_array(default)
    dtype = promoted(*choices, default)
    shape = np.broadcast_shapes(*[np.shape(x) for x in (*conditions, *choices, default)])
    result = np.broadcast_to(converted(default, dtype), shape).copy()
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        result = np.where(condition, converted(choice, dtype), result)
    return result


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """As NumPy's, for functions that go element by element where the condition is data.

    A function sees all of x then, not only the elements for which its condition holds.
    """
    x = as_tensor(x)
    is_listed = isinstance(condlist, (list, tuple)) or np.ndim(condlist) > 0
    if not is_listed or (not np.ndim(condlist[0]) and x.ndim):
        condlist = [condlist]
    conditions = [np.astype(array_like(c), bool, copy=False) for c in condlist]
    if len(conditions) == len(funclist) - 1:
        otherwise = conditions[0]
        for condition in conditions[1:]:
            otherwise = otherwise | condition
        conditions.append(~otherwise)
    elif len(conditions) != len(funclist):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    result = np.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result[condition] = function
        elif not isinstance(condition, Tensor):
            chosen = x[condition]
            if chosen.size:
                result[condition] = function(chosen, *args, **kw)
        else:
            full = np.broadcast_to(condition, x.shape) if not condition.ndim else condition
            if full.shape != x.shape:
                raise IndexError("boolean index did not match indexed array")
            values = np.broadcast_to(converted(function(x, *args, **kw), x.dtype), x.shape)
            result = np.where(full, values, result)
    return result


@implements(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    a, mask = _target(np.putmask, a), array_like(mask)
    values = _as_written(values, a.dtype)
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if values.size and a.size:
        full = np.reshape(np.resize(converted(values, a.dtype), a.size), a.shape)
        store(a, np.where(np.reshape(mask, a.shape), full, a))


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    arr = _target(np.place, arr)
    mask = np.reshape(np.astype(array_like(mask), bool), -1)
    values = np.reshape(_as_written(vals, arr.dtype), -1)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    if not values.size:
        problem = ValueError("Cannot insert from an empty array!")
        store(arr, checked(arr, ~np.any(mask), problem))
        return
    rank = np.cumsum(mask) - 1  # how many elements were chosen before this one
    chosen = np.take(converted(values, arr.dtype), np.maximum(rank, 0) % values.size)
    store(arr, np.reshape(np.where(mask, chosen, np.reshape(arr, -1)), arr.shape))


# --- diagonals and triangles --------------------------------------------------------------------


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    x = as_tensor(a)
    np.diagonal(numbered(x.ndim), offset, axis1, axis2)  # raises for axes that have none
    first, second = axis1 % x.ndim, axis2 % x.ndim
    rest = [axis for axis in range(x.ndim) if axis not in (first, second)]
    turned = transpose_view(x, (*rest, first, second))
    return read_only_view(turned, diagonal_op, offset=operator.index(offset))


@implements(np.trace)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Tensor:
    x = as_tensor(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    k = operator.index(k)
    size = x.shape[0] + abs(k)
    if isinstance(size, Dim):
        row = np.pad(x, (0, k) if k > 0 else (-k, 0))
        on_it = TABLE[np.eye](size, k=k, dtype=bool)
        return np.where(on_it, row[:, None], np.zeros((), x.dtype))
    result = np.zeros_like(x, shape=(size, size))
    start = k if k >= 0 else -k * size
    flat_view(result[: size - k if k > 0 else size])[start :: size + 1] = x
    return result


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Tensor:
    return diag(np.ravel(as_tensor(v)), k)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    a = _target(np.fill_diagonal, a)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    end = None
    if a.ndim == 2:
        step = a.shape[1] + 1
        end = None if wrap else a.shape[1] * a.shape[1]
    elif len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    else:
        step = 1 + sum(a.shape[0] ** i for i in range(1, a.ndim))
    val = _as_written(val, a.dtype)
    if has_sizes(a.shape) and a.ndim == 2 and not wrap and not np.ndim(val):
        store(a, np.where(TABLE[np.eye](*a.shape, dtype=bool), val, a))
        return
    places = flat_view(a)[:end:step]
    values = np.reshape(array_like(val), -1)
    if places.size and values.size:
        places[...] = np.resize(values, places.size)


def _triangle(m: Any, k: int, lower: bool) -> Tensor:
    x = as_tensor(m)
    if not x.ndim:
        raise TypeError("tri() missing 1 required positional argument: 'N'")
    rows, columns = x.shape[-2:] if x.ndim > 1 else (x.shape[0], x.shape[0])
    tri = TABLE[np.tri] if any([isinstance(n, Dim) for n in (rows, columns)]) else np.tri
    mask = tri(rows, columns, k if lower else k - 1, bool)
    return np.where(mask if lower else ~mask, x, np.zeros((), x.dtype))


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Tensor:
    return _triangle(m, operator.index(k), lower=True)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Tensor:
    return _triangle(m, operator.index(k), lower=False)


# --- multi-indices ------------------------------------------------------------------------------


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    result = []
    for axis, index in enumerate(args):
        index = array_like(index)
        if not isinstance(index, Tensor) and not index.size:
            index = index.astype(np.intp)
        if index.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if index.dtype.kind == "b":
            (index,) = np.nonzero(index)
        shape = (*(1,) * axis, index.size, *(1,) * (len(args) - axis - 1))
        result.append(np.reshape(index, shape))
    return tuple(result)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    dims = shape_from(shape)
    index = _only_integers(indices)
    size = product(dims)
    problem = ValueError(f"index is out of bounds for array with size {size}")
    index = checked(
        emit(cast, index, dtype=np.dtype(np.intp)), (index >= 0) & (index < size), problem
    )
    parts = []
    for dim in dims if order == "F" else dims[::-1]:
        parts.append(index % dim_max(dim, 1))
        index = index // dim_max(dim, 1)
    return tuple(parts if order == "F" else parts[::-1])


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    sizes = shape_from(dims)
    parts = [_only_integers(part) for part in multi_index]
    if len(parts) != len(sizes):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    result: Any = 0
    stride = 1
    pairs = list(zip(parts, sizes, modes, strict=True))
    for part, size, one_mode in pairs if order == "F" else pairs[::-1]:
        part = _moded(np.astype(part, np.intp, copy=False), size, one_mode)
        if one_mode == "raise":
            problem = ValueError("invalid entry in coordinates array")
            part = checked(part, (part >= 0) & (part < size), problem)
        result = result + part * stride
        stride *= size
    return result


def _only_integers(index: Any) -> Tensor:
    index = as_tensor(index)
    if index.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    return index


@implements(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    value = x = as_tensor(a)
    for axis in axes if np.ndim(axes) else (axes,):
        axis = x.ndim + axis if axis < 0 else axis
        result = func(value, axis)
        if result.ndim != value.ndim:
            result = np.expand_dims(result, axis)
        if result.ndim != value.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value
