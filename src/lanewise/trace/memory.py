"""Where an array lies in memory, as a view of the tensor that takes over what the memory holds."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.ops.indexing import gather
from lanewise.ops.movement import slice_
from lanewise.trace.foreign import check_dtype
from lanewise.trace.indexing import getitem, put_back
from lanewise.trace.tensor import Tensor, as_tensor
from lanewise.trace.trace import require_trace
from lanewise.trace.views import (
    bitcast_view,
    flat_view,
    imag_view,
    read_only_view,
    real_view,
    reshaped_view,
    transpose_view,
    view,
)

#: Where an array's dtype lies behind its address: among its own fields, which are part of NumPy's
#: stable ABI, behind the head of an object, which is longer where there is no GIL.
_DTYPE = object.__basicsize__ + 40
#: Where its flags lie, a C int, and those that say that it is contiguous, as C's or Fortran's.
_FLAGS, _CONTIGUOUS = _DTYPE + ctypes.sizeof(ctypes.c_void_p), 0b11


def retype(array: np.ndarray, dtype: np.dtype) -> None:
    """Let an array of numbers read its memory as another dtype, of the same size, from now on.

    NumPy 2.5 deprecates to assign to ``array.dtype``, in favour of views: other arrays. Here it is
    this very object, which others hold, that must not be read as numbers any more.

    Examples
    --------
    >>> x = np.zeros(3)
    >>> retype(x, np.dtype(np.int64))
    >>> x
    array([0, 0, 0])
    """
    before = array.dtype
    if before.hasobject or dtype.hasobject or before.itemsize != dtype.itemsize:
        raise TypeError(f"an array of {before} cannot be read as {dtype}")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the array takes it
    ctypes.c_void_p.from_address(id(array) + _DTYPE).value = id(dtype)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(before))


def forbid_export(array: np.ndarray) -> None:
    """Let an array not lend its memory as a plain row of bytes from now on.

    Whoever asks for no more than bytes is told nothing of the dtype. But such bytes must be
    contiguous, and by its flags the array is not.

    Examples
    --------
    >>> x = np.zeros(3)
    >>> forbid_export(x)
    >>> np.frombuffer(x)
    Traceback (most recent call last):
    ...
    ValueError: ndarray is not C-contiguous
    """
    flags = ctypes.c_int.from_address(id(array) + _FLAGS)
    flags.value &= ~_CONTIGUOUS


class Memory:
    """The memory of an array, its contents captured in the current trace.

    Attributes
    ----------
    tensor
        The contents in the order in which they lie there: every view of the memory is a view of it.
    """

    def __init__(self, array: np.ndarray) -> None:
        check_dtype(array.dtype, "an array that traced values are written to")
        self.dtype = array.dtype
        forward = array[(..., *[slice(None, None, -1 if s < 0 else 1) for s in array.strides])]
        order = np.argsort([-stride for stride in forward.strides], kind="stable")
        rows = forward.transpose(order)
        if not rows.flags.c_contiguous:
            rows = _span(rows)
        elif not rows.ndim:
            rows = rows.reshape(1)  # a tensor without dimensions would be a scalar, not an array
        self._first = _address(rows)
        self._shape = rows.shape
        contents = np.array(rows, order="C", subok=False)
        contents.flags.writeable = False
        trace = require_trace("an array")
        self.tensor = Tensor(trace, trace.capture(contents))

    def show(self, array: np.ndarray) -> Tensor | None:
        """Return the view that shows what `array` shows of the memory; None if there is none."""
        if not array.size:
            return as_tensor(np.empty(array.shape, array.dtype))
        size = self.dtype.itemsize
        first, part = divmod(_address(array) - self._first, size)
        strides = [s if n > 1 else 0 for s, n in zip(array.strides, array.shape, strict=True)]
        if any(stride % size for stride in strides):
            return None
        result = self._elements(first, [stride // size for stride in strides], array.shape)
        if array.dtype != self.dtype:
            if array.dtype.itemsize == size:
                result = bitcast_view(result, array.dtype)
            elif self.dtype.kind == "c" and array.dtype.kind == "f" and array.itemsize * 2 == size:
                result = imag_view(result) if part else real_view(result)
            else:
                return None
        if not array.flags.writeable:
            result = read_only_view(result, slice_, index=(None,) * result.ndim)
        return result

    def _elements(self, first: int, strides: list[int], shape: tuple[int, ...]) -> Tensor:
        """Return the view of whole elements; `first` and `strides` count elements."""
        own = _steps(self._shape)
        if first == 0 and shape == self._shape:
            steps = [step if n > 1 else 0 for step, n in zip(own, shape, strict=True)]
            if steps == strides:
                return self.tensor
        found = _slices(self._shape, own, first, strides, shape)
        if found is None:
            return self._scattered(first, strides, shape)
        key, axes = found
        result = getitem(self.tensor, (*key, ...))
        order = tuple(sorted(axes).index(axis) for axis in axes)
        if order != tuple(range(len(order))):
            result = transpose_view(result, order)
        return result if result.shape == shape else reshaped_view(result, shape)

    def _scattered(self, first: int, strides: list[int], shape: tuple[int, ...]) -> Tensor:
        """Return a view that slices do not give, such as a diagonal: its elements one by one."""
        places = np.full((), first)
        for stride, count in zip(strides, shape, strict=True):
            places = places[..., None] + stride * np.arange(count)
        index = as_tensor(places)
        flat = self.tensor if self.tensor.ndim == 1 else flat_view(self.tensor)
        return view(flat, gather, put_back(0), index, axis=0)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _span(rows: np.ndarray) -> np.ndarray:
    """Return all elements from the first to the last, with those between that are not in `rows`."""
    size = rows.itemsize
    if any(stride % size for stride in rows.strides):
        raise UnsupportedError(
            f"traced values are written to fields of a structured array{at(here())}. Copy the "
            "field first"
        )
    last = sum((n - 1) * (s // size) for n, s in zip(rows.shape, rows.strides, strict=True))
    return np.lib.stride_tricks.as_strided(rows, (last + 1,), (size,))


def _steps(shape: tuple[int, ...]) -> list[int]:
    """Return by how many elements a step along each axis moves."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _slices(
    shape: tuple[int, ...],
    own: list[int],
    first: int,
    strides: Sequence[int],
    counts: Sequence[int],
) -> tuple[list[int | slice], list[int]] | None:
    """Return a basic index, and in which order it leaves the axes, for a layout; None if none does.

    Parameters
    ----------
    shape, own
        The array that is indexed, and by how many elements a step along each of its axes moves.
    first, strides, counts
        Where the layout begins in it, and how it goes on.
    """
    places = [int(place) for place in np.unravel_index(first, shape)]
    key: list[int | slice] = [*places]
    axes: list[int] = []
    for stride, count in zip(strides, counts, strict=True):
        if count == 1:
            continue
        candidates = [a for a, n in enumerate(shape) if n > 1 and own[a] <= abs(stride)]
        if not candidates or candidates[0] in axes or stride % own[candidates[0]]:
            return None
        axis = candidates[0]
        step = stride // own[axis]
        last = places[axis] + step * (count - 1)
        if not 0 <= last < shape[axis]:
            return None
        if step == 1 and count == shape[axis]:
            key[axis] = slice(None)
        else:
            stop = last + (1 if step > 0 else -1)
            key[axis] = slice(places[axis], stop if stop >= 0 else None, step)
        axes.append(axis)
    return key, axes
