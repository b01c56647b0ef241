"""Indices whose ends or masks are data: slices and parts whose size is counted when they are made.

Each entry of an index takes one axis, or as many as a mask has. A slice between traced ends is a
view of a size that is data; a mask is replaced by the places where it holds. What is left is an
index as others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.errors import CutOffError, at
from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ops.checks import check, checked
from lanewise.ops.searching import flatnonzero
from lanewise.ops.slicing import cut_off_message, put_slice, take_slice
from lanewise.trace import indexing
from lanewise.trace.ends import NO_BOUND, check_bound, ends, plain, step_of
from lanewise.trace.mixed import as_integer
from lanewise.trace.provenance import cut_off, distance, made_of
from lanewise.trace.sizes import counted, number_of, same_sizes, size_of
from lanewise.trace.tensor import (
    ITERATED,
    Tensor,
    as_tensor,
    contains_tensor,
    emit,
    read,
    stack_nested,
)
from lanewise.trace.trace import Trace, require_trace, state
from lanewise.trace.views import as_stored, reshaped_view, store, view, writable

_ALL = slice(None)


def getitem(x: Tensor, key: Any) -> Any:
    """Return ``x[key]`` for an index with ends or masks that are data."""
    viewed, entries, _ = _known(x, key)
    return indexing.getitem(viewed, tuple(entries))


def setitem(x: Tensor, key: Any, values: Any, fn: np.ufunc | None = None) -> None:
    """Carry out ``x[key] = values`` for an index with ends or masks that are data."""
    x = writable(x)
    viewed, entries, masks = _known(x, key)
    if fn is None and len(masks) == 1 and np.ndim(values) == 0:
        ((axis, mask),) = masks.items()  # what is chosen gets one number: no place need be known
        if all([_is_whole(entry) for i, entry in enumerate(entries) if i != axis]):
            value = as_stored(values, x.dtype, set_alone=True)
            own = np.reshape(mask, (-1, *(1,) * (viewed.ndim - 1 - axis)))
            store(viewed, np.where(own, value, viewed))
            return
    indexing.setitem(viewed, tuple(entries), values, fn)


# --- taking an index apart ------------------------------------------------------------------------


def _entries(ndim: int, key: Any) -> list[Any]:
    """Return the parts of an index, ``...`` expanded, lists as arrays."""
    entries = list(key) if isinstance(key, tuple) else [key]
    for i, entry in enumerate(entries):
        if isinstance(entry, (list, tuple)):
            array = stack_nested(entry) if contains_tensor(entry) else np.asarray(entry)
            entries[i] = array if np.size(array) else np.asarray(entry, np.intp)
        elif isinstance(entry, (bool, np.bool_)):
            entries[i] = np.asarray(entry)
    used = sum(map(_axes_of, entries))
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    ellipses = [i for i, entry in enumerate(entries) if entry is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    rest = [_ALL] * (ndim - used)
    if not ellipses:
        return entries + rest
    return [*entries[: ellipses[0]], *rest, *entries[ellipses[0] + 1 :]]


def _axes_of(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if _is_mask(entry) else 1


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, (Tensor, np.ndarray)) and entry.dtype.kind == "b"


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and entry == _ALL


def _known(x: Tensor, key: Any) -> tuple[Tensor, list[Any], dict[int, Any]]:
    """Return a view of x, and an index of it without ends or masks that are data.

    The masks are those of the index, by the position of the places that stand for each.
    """
    entries: list[Any] = []
    masks: dict[int, Any] = {}
    axis = 0  # of the view
    for entry in _entries(x.ndim, key):
        if isinstance(entry, slice):
            x, entry = _sliced(x, entry, axis)
        elif _is_mask(entry):
            x, mask = _beside(x, entry, axis)
            masks[len(entries)] = mask
            length = counted(mask, "x[mask]")
            entry = emit(flatnonzero, mask, length=length)
        entries.append(entry)
        axis += entry is not None
    return x, entries, masks


# --- slices ---------------------------------------------------------------------------------------


def _sliced(x: Tensor, entry: slice, axis: int) -> tuple[Tensor, slice]:
    """Slice one axis between ends that are data; return the view, and what is left to index."""
    entry = slice(*[as_integer(end, TypeError(NO_BOUND)) for end in (entry.start, entry.stop)],
                  entry.step)  # fmt: skip
    if Tensor not in map(type, (entry.start, entry.stop, entry.step)):
        return x, entry
    size = x.shape[axis]
    step = step_of(entry)
    length = _static_length(entry, step)
    if (
        length is not None
        and not state.room
        and (isinstance(size, Dim) or length <= size)  # a longer one is always cut off
        and not (type(size) is int and cut_off(entry.start, entry.stop, step, size, length))
    ):
        return _slice_view(x, entry.start, entry.stop, step, axis, length), _ALL
    elements = number_of(size)
    start, stop = ends(entry, elements, step)
    most = size if abs(step) == 1 else (size + (abs(step) - 1)) // abs(step)
    length = size_of(_count(start, stop, step), most, _text(entry))
    first = (0 if step > 0 else elements - 1) if entry.start is None else entry.start
    last = (elements if step > 0 else -1 - elements) if entry.stop is None else entry.stop
    return _slice_view(x, first, last, step, axis, length), _ALL


def _count(start: Any, stop: Any, step: int) -> Any:
    """Return how many elements lie between ends on an axis."""
    if step == 1 and not isinstance(start, Tensor) and start == 0:
        return as_tensor(stop)
    low, high = (start, stop) if step > 0 else (stop, start)
    span = high - low
    if abs(step) > 1:
        span = (span + (abs(step) - 1)) // abs(step)
    return np.maximum(span, 0)


def _text(entry: slice) -> str:
    """Return how a slice is written, for messages."""
    parts = ["n" if isinstance(b, Tensor) else "" if b is None else str(b)
             for b in (entry.start, entry.stop, entry.step)]  # fmt: skip
    if isinstance(entry.start, Tensor) and isinstance(entry.stop, Tensor):
        parts[:2] = "i", "j"
    return f"a[{':'.join(parts if parts[2] else parts[:2])}]"


def _static_length(entry: slice, step: int) -> int | None:
    """Return how many elements a slice has whose ends are at a known distance, else None."""
    if entry.start is None or entry.stop is None:
        return None
    for bound in (entry.start, entry.stop):
        check_bound(bound)
    if not (isinstance(entry.start, Tensor) and isinstance(entry.stop, Tensor)):
        return None
    apart = distance(entry.start, entry.stop)
    return None if apart is None else len(range(0, apart, step))


@dataclass(frozen=True)
class _CutOff:
    """Makes the error of a slice that is cut off."""

    length: int
    size: Any

    def __call__(self) -> CutOffError:
        return CutOffError(cut_off_message(self.length, self.size))


def require_whole(x: Tensor) -> None:
    """Record, of an array whose size is asked for, that no slice it was made of is cut off.

    Who takes its elements finds that out anyway.
    """
    if not _root(x._trace).guesses:
        return
    for node, op in made_of(x, take_slice):
        axis, step, length = (op.params[name] for name in ("axis", "step", "length"))
        if isinstance(length, Dim):
            continue
        base, *bounds = op.operands
        size = base.type.shape[axis]
        slice_ = slice(*[Tensor(node.trace, end) for end in bounds], step)
        is_whole = _count(*ends(slice_, number_of(size), step), step) == length
        require_trace("a slice").record(check, (read(is_whole),), {"make": _CutOff(length, size)})


ITERATED.append(require_whole)


def _root(trace: Trace) -> Trace:
    while trace.parent is not None:
        trace = trace.parent
    return trace


def _slice_view(x: Tensor, start: Any, stop: Any, step: int, axis: int, length: DimLike) -> Tensor:
    """Return the view of a slice that has so many elements between ends that are data."""
    params = {"axis": axis, "step": step, "length": length}
    start, stop = plain(start), plain(stop)
    if not isinstance(length, Dim):
        _root(require_trace("a slice")).guesses = True

    def write(*operands: Value) -> Value:
        return require_trace("a view").record(put_slice, operands, params)[0]

    return view(x, take_slice, write, start, stop, **params)


# --- masks ----------------------------------------------------------------------------------------


def _beside(x: Tensor, mask: Any, axis: int) -> tuple[Tensor, Any]:
    """Return a view in which the axes that a mask is for are one, and the mask as a row."""
    count = mask.ndim
    shape = x.shape[axis : axis + count]
    mask = as_tensor(mask)
    agree = same_sizes(mask.shape, shape)
    if agree is False:
        raise IndexError(
            f"boolean index did not match indexed array: the mask has shape {mask.shape}, the "
            f"array {x.shape}"
        )
    if agree is not True:
        message = f"boolean index did not match indexed array: another length{at(here())}"
        mask = emit(checked, mask, agree, error="IndexError", message=message)
    if count != 1:  # a truth value chooses all of a new axis, or nothing
        mask = np.reshape(mask, -1)
        x = reshaped_view(x, (*x.shape[:axis], mask.size, *x.shape[axis + count :]))
    return x, mask


indexing.DATA_SHAPED.append(indexing.DataShaped(getitem, setitem))
