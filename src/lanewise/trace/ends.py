"""Ends of slices that are data: where they lie on an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import DimLike
from lanewise.ir.location import here
from lanewise.ops.creation import iota
from lanewise.ops.slicing import slice_bound
from lanewise.trace.mixed import NO_INDEX, as_integer
from lanewise.trace.tensor import Tensor, as_tensor, emit, read
from lanewise.trace.trace import require_trace

INTP = np.dtype(np.intp)
#: What Python says of a bound of a slice that is no integer.
NO_BOUND = "slice indices must be integers or None or have an __index__ method"


def plain(index: Any) -> Any:
    """Return an integer as a tensor that stands for a NumPy scalar, not for a Python number."""
    tensor = as_tensor(as_integer(index, IndexError(NO_INDEX)))
    if tensor.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return Tensor(require_trace("an index"), read(tensor))


def _iota(length: DimLike) -> Any:
    return emit(iota, length=length, dtype=INTP)


def axis_places(bound: DimLike) -> Any:
    """Return the places of an axis."""
    return np.arange(bound) if isinstance(bound, int) else _iota(bound)


def step_of(entry: slice) -> int:
    """Return the step of a slice, which must not be data."""
    if isinstance(entry.step, Tensor):
        raise UnsupportedError(
            f"a slice with a step that is data{at(here())}: write a[start:stop] with the places "
            "that count chosen by a mask, (np.arange(len(a)) - start) % step == 0"
        )
    step = 1 if entry.step is None else int(entry.step.__index__())
    if step == 0:
        raise ValueError("slice step cannot be zero")
    return step


def ends(entry: slice, size: Any, step: int) -> tuple[Any, Any]:
    """Return start and stop of a slice as they lie on an axis, whose size may be data too."""
    backward = step < 0

    def end(bound: Any, default: Any) -> Any:
        if bound is None:
            return default
        check_bound(bound)
        if not isinstance(bound, Tensor) and not isinstance(size, Tensor):
            bound = bound.__index__()
            return min(max(bound + size if bound < 0 else bound, -backward), size - backward)
        if isinstance(bound, Tensor) and bound._weak is bool:
            bound = bound.astype(INTP)
        bound = plain(bound) if isinstance(bound, Tensor) else number(bound.__index__())
        last = size if isinstance(size, Tensor) else number(size)
        return emit(slice_bound, bound, last, backward=backward)

    if backward:
        return end(entry.start, size - 1), end(entry.stop, -1)
    return end(entry.start, 0), end(entry.stop, size)


def check_bound(bound: Any) -> None:
    """Raise what NumPy raises for a bound of a slice that is no integer."""
    if isinstance(bound, Tensor):
        if bound.dtype.kind not in "iu" and bound._weak is not bool:
            raise TypeError(NO_BOUND)
        if bound.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
    elif not hasattr(type(bound), "__index__") or isinstance(bound, np.bool_):
        raise TypeError(NO_BOUND)


def number(value: Any, dtype: np.dtype = INTP) -> Tensor:
    """Return a number in a dtype, written into the graph."""
    trace = require_trace("a number")
    return Tensor(trace, trace.scalar(value, dtype))
