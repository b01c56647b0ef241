"""Shapes and axes: reshape, transpose, join, split, repeat, broadcast."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, differ, product
from lanewise.ir.location import here
from lanewise.ops.creation import iota
from lanewise.ops.movement import broadcast_to as broadcast_to_op
from lanewise.ops.movement import cast
from lanewise.ops.movement import concatenate as concatenate_op
from lanewise.ops.shapes import broadcast_shapes, may_agree, normalize_axis
from lanewise.trace.sizes import number_of, shape_from
from lanewise.trace.table.checks import check_device, checked, must_cast, required
from lanewise.trace.table.creation import array_like, as_copied, converted
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, emit, known_size
from lanewise.trace.views import (
    layout_of,
    read_only_view,
    reshape_shares_memory,
    reshape_view,
    reshaped_view,
    slice_view,
    store,
    transpose_view,
)


def new_shape(size: Any, shape: Any) -> tuple[Any, ...]:
    """Return the shape that ``reshape`` is asked for, with -1 worked out."""
    dims = shape_from(shape)
    unknown = [i for i, d in enumerate(dims) if d == -1]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if not unknown:
        return dims
    known = product(d for d in dims if d != -1)
    is_sized = isinstance(known, Dim) or isinstance(size, Dim)  # NumPy finds out whether it fits
    if known == 0 or (not is_sized and size % known != 0):
        text = str(dims).replace(" ", "")
        raise ValueError(f"cannot reshape array of size {size} into shape {text}")
    if isinstance(known, Dim):
        text = str(dims).replace(" ", "")
        problem = ValueError(f"cannot reshape array of size {size} into shape {text}")
        required(number_of(known) != 0, problem)  # NumPy does not guess where there are no elements
    return tuple(size // known if d == -1 else d for d in dims)


@implements(np.reshape)
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tensor:
    x = as_tensor(a)
    dims = new_shape(x.size, shape)
    if order != "C":
        np.reshape(np.zeros(0), 0, order=order)  # raises for another order
    is_fortran = order == "F"
    if order == "A" and x._view is not None:
        is_fortran = bool(layout_of(x).flags.fnc)
    if is_fortran:
        x, dims = transpose_view(x, tuple(range(x.ndim))[::-1]), dims[::-1]
    if copy is False and not reshape_shares_memory(x, dims):
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    result = reshape_view(x.copy() if copy else x, dims)
    return transpose_view(result, tuple(range(len(dims)))[::-1]) if is_fortran else result


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Tensor:
    x = as_tensor(a)
    if order == "K" and x._view is not None:  # in the order in which the elements lie in memory
        strides = [-abs(stride) for stride in layout_of(x).strides]
        x = transpose_view(x, tuple(sorted(range(x.ndim), key=strides.__getitem__)))
    elif order in ("C", "F", "A") and x._view is not None:
        flags = layout_of(x).flags
        order = "F" if order == "F" or (order == "A" and flags.fnc) else "C"
        if not (flags.c_contiguous if order == "C" else flags.f_contiguous):
            x = x.copy()  # also where `reshape` would give a view
    return reshape(x, -1, "C" if order == "K" else order)


@lru_cache(maxsize=64)
def numbered(ndim: int) -> np.ndarray:
    """Return an array of one element of which the strides are the numbers of the axes."""
    one = np.zeros(1, np.int8)
    return np.lib.stride_tricks.as_strided(one, (1,) * ndim, range(ndim), writeable=False)


def _reordered(function: Any, a: Any, *given: Any) -> Tensor:
    """Return what one of NumPy's functions gives that put axes in another order: it tells which."""
    x = as_tensor(a)
    return transpose_view(x, function(numbered(x.ndim), *given).strides)


@implements(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Tensor:
    return _reordered(np.transpose, a, axes)


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Tensor:
    return _reordered(np.matrix_transpose, x)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    return _reordered(np.swapaxes, a, axis1, axis2)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    return _reordered(np.moveaxis, a, source, destination)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    return _reordered(np.rollaxis, a, axis, start)


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Tensor:
    x = as_tensor(a)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = normalize_axis_tuple(given, x.ndim + len(given))
    dims = iter(x.shape)
    shape = tuple(1 if i in axes else next(dims) for i in range(x.ndim + len(axes)))
    return reshaped_view(x, shape)


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Tensor:
    x = as_tensor(a)
    if axis is None:
        for dim in x.shape:
            if isinstance(dim, Dim) and not differ(dim, 1):
                raise UnsupportedError(
                    f"np.squeeze drops an axis where its size is 1, and {dim} is not known while "
                    f"tracing{at(here())}: say which axes to drop, np.squeeze(x, axis=0)"
                )
        axes = tuple(i for i, dim in enumerate(x.shape) if dim == 1)
    else:
        # Unlike functions that NumPy writes in Python, this one takes no other sequences.
        given = axis if isinstance(axis, tuple) else operator.index(axis)
        axes = normalize_axis_tuple(given, x.ndim)
        if any(differ(x.shape[i], 1) for i in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshaped_view(x, tuple(dim for i, dim in enumerate(x.shape) if i not in axes))


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Tensor:
    dims = shape_from(shape)
    if any(isinstance(d, int) and d < 0 for d in dims):
        raise ValueError("all elements of broadcast shape must be non-negative")
    return read_only_view(as_tensor(array), broadcast_to_op, shape=dims)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [array_like(x) for x in args]
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return tuple([x if x.shape == shape else np.broadcast_to(x, shape) for x in arrays])


def has_data_rows(arrays: Any) -> bool:
    """Whether arrays to be joined are the rows of one of which the data say how many it has."""
    return type(arrays) is Tensor and bool(arrays.ndim) and isinstance(arrays.shape[0], Dim)


def with_inner_rank(rows: Any, ndim: int) -> Any:
    """Return rows with axes of size 1 before their own until they have `ndim`."""
    missing = max(ndim + 1 - rows.ndim, 0)
    return rows[(slice(None), *(None,) * missing)]


def _merged(rows: Any, axis: int | None) -> Tensor:
    """Return rows behind each other along one of their axes; None flattens them before."""
    count = as_tensor(number_of(rows.shape[0]))
    rows = checked(rows, count > 0, ValueError("need at least one array to concatenate"))
    if axis is None:
        return ravel(rows)
    if rows.ndim < 2:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, rows.ndim - 1)
    moved = np.moveaxis(rows, 0, axis)
    return np.reshape(moved, (*moved.shape[:axis], -1, *moved.shape[axis + 2 :]))  # type: ignore[return-value]


@implements(np.concatenate)
def concatenate(
    arrays: Sequence[Any], /, axis: int | None = 0, out: Any = None, *, dtype: Any = None,
    casting: str = "same_kind",
) -> Tensor:  # fmt: skip
    if has_data_rows(arrays):
        tensors, result = (), _merged(arrays, axis)
    else:
        tensors = [as_tensor(a) for a in arrays]
        if not tensors:
            raise ValueError("need at least one array to concatenate")
        if axis is None:
            tensors, axis = [ravel(t) for t in tensors], 0
        if any(t.ndim == 0 for t in tensors):
            raise ValueError("zero-dimensional arrays cannot be concatenated")
        axis = normalize_axis(axis, tensors[0].ndim)
        result = emit(concatenate_op, *tensors, axis=axis)
    if dtype is not None and result.dtype != np.dtype(dtype):
        must_cast(result.dtype, dtype, casting)
        result = emit(cast, result, dtype=np.dtype(dtype))
    if out is None:
        return result
    if out.ndim != result.ndim:
        raise ValueError("Output array has wrong dimensionality")
    if any([np.shares_memory(out, t) for t in tensors]):  # written one after the other
        _write_each(out, tensors, axis, result, casting)
    else:
        store(out, result, casting)
    return out


def _write_each(
    out: Any, tensors: Sequence[Tensor], axis: int, result: Tensor, casting: str
) -> None:
    if out.shape != result.shape:
        raise ValueError("Output array is the wrong shape")
    start = 0
    for t in tensors:
        stop = start + known_size(t.shape[axis], "the size of an array")
        store(np.moveaxis(out, axis, 0)[start:stop], np.moveaxis(t, axis, 0), casting)
        start = stop


@implements(np.stack)
def stack(
    arrays: Sequence[Any], axis: int = 0, out: Any = None, *, dtype: Any = None,
    casting: str = "same_kind",
) -> Tensor:  # fmt: skip
    if has_data_rows(arrays):
        rows: Any = arrays
        count = as_tensor(number_of(rows.shape[0]))
        rows = checked(rows, count > 0, ValueError("need at least one array to stack"))
        axis = normalize_axis(axis, rows.ndim)
        rows = expand_dims(rows, axis + 1)
        return concatenate(rows, axis=axis, out=out, dtype=dtype, casting=casting)
    tensors = [as_tensor(a) for a in arrays]
    if not tensors:
        raise ValueError("need at least one array to stack")
    if not all([may_agree(t.shape, tensors[0].shape) for t in tensors]):
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis(axis, tensors[0].ndim + 1)
    expanded = [expand_dims(t, axis) for t in tensors]
    return concatenate(expanded, axis=axis, out=out, dtype=dtype, casting=casting)


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Tensor:
    x = as_tensor(m)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    index = tuple((d - 1, -1, -1) if i in axes else None for i, d in enumerate(x.shape))
    return slice_view(x, index)


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    check_device(device)
    x = as_tensor(x)
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc":
        instead = "Convert what the function returns"
        if dtype.kind in "mM":
            instead = "Count days or seconds as integers, and make dates of what is returned"
        raise UnsupportedError(
            f"x.astype({str(dtype)!r}) is not followed{at(here())}: Lanewise computes with bools, "
            f"integers, floats and complex numbers. {instead}"
        )
    if x.dtype == dtype:
        return x.copy() if copy else x
    return emit(cast, x, dtype=dtype)


def _flipped(axis: int) -> Any:
    def function(m: Any) -> Tensor:
        if as_tensor(m).ndim <= axis:
            raise ValueError(f"Input must be >= {axis + 1}-d.")
        return flip(m, axis)

    return function


fliplr = implements(np.fliplr)(_flipped(1))
flipud = implements(np.flipud)(_flipped(0))


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    x = as_tensor(m)
    np.rot90(numbered(x.ndim), k, axes)  # raises for axes that it does not turn
    first, second = (axis % x.ndim for axis in axes)
    turns = operator.index(k) % 4
    if turns == 0:
        return x[:]
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """As NumPy's; a shift may be data."""
    x = as_tensor(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    axes = [normalize_axis(operator.index(i), x.ndim) for i in np.atleast_1d(axis)]
    shifts = array_like(shift)
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    count = np.broadcast_shapes(shifts.shape, (len(axes),))[0]
    shifts = np.broadcast_to(shifts, (count,))
    for place, number in zip(axes * (count if len(axes) == 1 else 1), shifts, strict=True):
        size = x.shape[place]
        if isinstance(size, Dim):
            count = np.maximum(number_of(size), 1)
            order = emit(iota, length=size, dtype=np.dtype(np.intp)) - number
            x = np.take(x, order % count, place)
        elif isinstance(number, Tensor):
            order = (np.arange(size) - np.astype(number, np.intp, copy=False)) % max(size, 1)
            x = np.take(x, order, place)
        elif size and (offset := int(number) % size):
            whole = (slice(None),) * place
            parts = [x[(*whole, slice(-offset, None))], x[(*whole, slice(None, -offset))]]
            x = concatenate(parts, place)
    return x if x is not a else x.copy()


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Tensor):
        raise UnsupportedError(
            f"np.copyto writes to an array that is not traced{at(here())}. Make it with "
            "np.zeros_like(t, shape=...) first"
        )
    number = src = as_copied(src)
    if type(number) in (int, float, complex):  # let NumPy convert the number, or refuse to
        src = np.empty((), dst.dtype)
        np.copyto(src, number, casting)  # type: ignore[arg-type]
    else:
        must_cast(array_like(src).dtype, dst.dtype, casting)
    if where is True:
        store(dst, src)
        return
    values = broadcast_to(converted(src, dst.dtype), dst.shape)
    store(dst, np.where(broadcast_to(where, dst.shape), values, dst))
