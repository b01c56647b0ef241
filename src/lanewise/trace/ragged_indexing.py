"""Indices whose ends or masks are data: slices of a static length, and arrays of one that is data.

Each entry of an index takes one axis, so they are carried out one after the other: those that NumPy
calls basic first, which give a view, then one array (a mask, or integers of a length that is data).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.errors import CutOffError, DataDependentShapeError, UnsupportedError, at
from lanewise.ir.dims import Dim
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ops.checks import check
from lanewise.ops.indexing import gather
from lanewise.ops.movement import transpose
from lanewise.ops.slicing import cut_off_message, put_slice, take_slice
from lanewise.trace import indexing
from lanewise.trace.extents import (
    NO_BOUND,
    Chosen,
    Extent,
    Span,
    axis_places,
    check_bound,
    choose,
    ends,
    plain,
    step_of,
)
from lanewise.trace.mixed import as_integer
from lanewise.trace.provenance import cut_off, distance, made_of
from lanewise.trace.ragged import Ragged, assign, filled, pack, ragged
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
from lanewise.trace.views import (
    as_stored,
    reshaped_view,
    store,
    transpose_view,
    view,
    writable,
)

_ALL = slice(None)


class Target:
    """What an index takes of an array: a view of it that its basic entries give, and an array.

    Attributes
    ----------
    data, basic
        What the view is taken of, and the basic index that does.
    extents
        Of the view.
    chosen
        The mask or the integers that index one axis of the view, or None.
    axis
        That axis; afterwards its place is taken by the axes of the array.
    first
        Whether the array's axes go first then, as NumPy has it where it stands apart from others.
    """

    def __init__(self) -> None:
        self.data: Any = None
        self.basic: list[Any] = []
        self.extents: list[Extent | None] = []
        self.chosen: Any = None
        self.axis = 0
        self.first = False

    def view(self) -> Tensor:
        """Return the view: the data itself where the index takes all of it."""
        if all(_is_whole(entry) for entry in self.basic):
            return self.data
        return indexing.getitem(self.data, tuple(self.basic))


def getitem(x: Tensor | Ragged, key: Any) -> Any:
    """Return ``x[key]`` for an index, or an x, with a length that is data."""
    target = _resolve(x, key)
    if target.chosen is None:
        return ragged(target.view(), target.extents)
    if _is_mask(target.chosen):
        result = _by_mask(target)
        return Ragged(result.data.copy(), result.extents)
    return _by_integers(target)


def setitem(x: Tensor | Ragged, key: Any, values: Any, fn: np.ufunc | None = None) -> None:
    """Carry out ``x[key] = values`` for an index, or an x, with a length that is data."""
    if fn is not None:
        raise DataDependentShapeError(
            f"np.{fn.__name__}.at with an index whose length is data is not followed{at(here())}. "
            "Write x[...] = np.where(mask, ..., x) with a mask of x's shape"
        )
    target = _resolve(writable(x) if isinstance(x, Tensor) else x, key)
    if target.chosen is not None and not _is_mask(target.chosen):
        _scatter(target, values)
    elif target.chosen is not None:
        assign(_by_mask(target), values)
    elif any(target.extents):
        if not isinstance(values, Ragged):
            values = as_stored(values, x.dtype, set_alone=True)
        assign(Ragged(target.view(), tuple(target.extents)), values)
    elif target.data.ndim == len(target.extents) and target.view() is target.data:
        store(target.data, values, set_alone=True)
    else:
        indexing.setitem(target.data, tuple(target.basic), values)


# --- taking an index apart ------------------------------------------------------------------------


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, (Tensor, Ragged, np.ndarray)) and entry.dtype.kind == "b"


def _is_array(entry: Any) -> bool:
    """Whether an entry indexes as an array: a mask, or integers with axes of their own."""
    return isinstance(entry, Ragged) or _is_mask(entry) or bool(getattr(entry, "ndim", 0))


def _entries(ndim: int, key: Any) -> list[Any]:
    """Return the parts of an index, ``...`` expanded, lists as arrays."""
    entries = list(key) if isinstance(key, tuple) else [key]
    for i, entry in enumerate(entries):
        if isinstance(entry, (list, tuple)):
            array = stack_nested(entry) if contains_tensor(entry) else np.asarray(entry)
            entries[i] = array if np.size(array) else np.asarray(entry, np.intp)
        elif isinstance(entry, (bool, np.bool_)):
            entries[i] = np.asarray(entry)
    used = sum(_axes_of(entry) for entry in entries)
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


def _resolve(x: Tensor | Ragged, key: Any) -> Target:
    """Carry out the basic entries of an index, and find the array in it."""
    data = x.data if isinstance(x, Ragged) else x
    extents = x.extents if isinstance(x, Ragged) else (None,) * x.ndim
    entries = _entries(data.ndim, key)
    arrays = [i for i, entry in enumerate(entries) if _is_array(entry)]
    if len(arrays) > 1:
        raise DataDependentShapeError(
            f"an index of two arrays, one of a length that is data, is not followed{at(here())}. "
            "Index in two steps, or use np.where(mask, ..., ...) with a mask of the whole shape"
        )
    target = Target()
    basic, kept = target.basic, target.extents
    axis = 0  # of the data; entries are carried out in order
    for entry in entries:
        if entry is None:
            basic.append(None)
            kept.append(None)
            continue
        if _is_array(entry):
            target.chosen, target.axis = entry, len(kept)
            count = entry.ndim if _is_mask(entry) else 1
            if not count:  # a single truth value: it chooses all of a new axis, or nothing
                basic.append(None)
                kept.append(None)
            basic += [_ALL] * count
            kept += extents[axis : axis + count]
            axis += count
            continue
        extent = extents[axis]
        if isinstance(entry, slice):
            data, entry, extent = _sliced(data, entry, extent, axis)
            kept.append(extent)
        elif extent is not None:
            entry = extent.place_of(entry, axis)
        basic.append(entry)
        axis += 1
    target.data = data
    if target.chosen is not None:
        others = [i for i, e in enumerate(entries) if e is not None and not isinstance(e, slice)]
        target.first = others[-1] - others[0] >= len(others)
    return target


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and entry == _ALL


def _sliced(data: Tensor, entry: slice, extent: Extent | None, axis: int) -> Any:
    """Slice one axis; return the data, what is left to index it with, and the axis's extent."""
    entry = slice(*[as_integer(x, TypeError(NO_BOUND)) for x in (entry.start, entry.stop)],
                  entry.step)  # fmt: skip
    bounds = (entry.start, entry.stop, entry.step)
    if all(bound is None for bound in bounds):
        return data, _ALL, extent
    if extent is None and not any(isinstance(bound, Tensor) for bound in bounds):
        return data, entry, None
    size = data.shape[axis]
    if isinstance(size, Dim):
        raise UnsupportedError(
            f"a slice between traced ends of an axis of {size} elements{at(here())}: its size must "
            "be known while tracing"
        )
    step = step_of(entry)
    if extent is None:
        length = _static_length(entry, step)
        if (
            length is not None
            and not state.room
            and length <= size  # a longer one is always cut off
            and not cut_off(entry.start, entry.stop, step, size, length)
        ):
            return _slice_view(data, entry, step, axis, length), _ALL, None
        start, stop = ends(entry, size, step)
        return data, _ALL, Span(size, start, stop, step, what=_text(entry))
    if isinstance(extent, Chosen):
        data, extent = _front_view(data, extent, axis)
    assert isinstance(extent, Span)
    return data, _ALL, extent.sliced(entry)


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
        base, *bounds = op.operands
        size = base.type.shape[axis]
        start, stop = ends(slice(*[Tensor(node.trace, end) for end in bounds], step), size, step)
        is_whole = Span(size, start, stop, step, what="a slice").count() == length
        require_trace("a slice").record(check, (read(is_whole),), {"make": _CutOff(length, size)})


ITERATED.append(require_whole)


def _root(trace: Trace) -> Trace:
    while trace.parent is not None:
        trace = trace.parent
    return trace


def _slice_view(x: Tensor, entry: slice, step: int, axis: int, length: int) -> Tensor:
    """Return the view of a slice of static length between ends that are data."""
    params = {"axis": axis, "step": step, "length": length}
    start, stop = plain(entry.start), plain(entry.stop)
    _root(require_trace("a slice")).guesses = True

    def write(*operands: Value) -> Value:
        return require_trace("a view").record(put_slice, operands, params)[0]

    return view(x, take_slice, write, start, stop, **params)


def _front_view(data: Tensor, extent: Chosen, axis: int) -> tuple[Tensor, Span]:
    """Return a view of the data with the elements moved to the front along one axis."""
    moved = view(data, gather, indexing.put_back(axis), extent.order(), axis=axis)
    return moved, Span(extent.bound, 0, extent.count(), what=extent.what, place=extent.place)


# --- masks ----------------------------------------------------------------------------------------


def _by_mask(target: Target) -> Ragged:
    """Return what a mask chooses of one axis, or of several that it makes one, as a view."""
    mask, axis, data = target.chosen, target.axis, target.view()
    extents = list(target.extents)
    count = max(mask.ndim, 1)
    shape = data.shape[axis : axis + count]
    own = extents[axis]
    if isinstance(mask, Ragged) or own is not None or any(extents[axis : axis + count]):
        if count > 1:
            raise DataDependentShapeError(
                f"a mask of several axes, some of a length that is data{at(here())}. Use "
                "np.where(mask, x, fill), or a reduction with where=mask, on the whole array"
            )
        data, mask = _masks_combined(data, mask, own, axis)
    else:
        if mask.ndim and mask.shape != shape:
            raise IndexError(
                f"boolean index did not match indexed array: the mask has shape {mask.shape}, the "
                f"array {data.shape}"
            )
        mask = as_tensor(mask)
        if mask.ndim != 1:
            mask = mask.reshape(-1)
            if data.shape[axis : axis + count] != mask.shape:
                data = reshaped_view(data, (*data.shape[:axis], mask.shape[0],
                                            *data.shape[axis + count :]))  # fmt: skip
    extents[axis : axis + count] = [Chosen(mask)]
    if target.first and axis:
        order = (axis, *[a for a in range(data.ndim) if a != axis])
        data, extents = transpose_view(data, order), [extents[a] for a in order]
    return Ragged(data, tuple(extents))


def _masks_combined(data: Tensor, mask: Any, own: Any, axis: int) -> tuple[Tensor, Tensor]:
    """Return data with a mask of all of it, where a mask is for elements of an extent only."""
    if not isinstance(mask, Ragged) or own is None or not mask.extents[0].agrees(own):
        raise DataDependentShapeError(
            f"x[mask] with a mask of another length than x, both data or one of them,{at(here())} "
            "is not followed. Make the mask of the array that it is for: r = a[:n]; r[r > 0]; or "
            "use np.where(mask, x, fill) on the whole array"
        )
    chosen = np.logical_and(own.mask(), mask.data)
    if not own.ascending:
        # The elements go backward along the axis: so does a view that shows them in order.
        flip = tuple([slice(None, None, -1) if a == axis else _ALL for a in range(data.ndim)])
        data, chosen = indexing.getitem(data, flip), chosen[::-1]
    return data, chosen


# --- integers of a length that is data ------------------------------------------------------------


def _by_integers(target: Target) -> Any:
    """Return the elements at integers of a length that is data, or of an axis of such a length."""
    places, extents = _places(target)
    data = emit(gather, target.view(), places, axis=target.axis)
    rest = target.extents[: target.axis], target.extents[target.axis + 1 :]
    result = [*rest[0], *extents, *rest[1]]
    if target.first and target.axis:
        own = range(target.axis, target.axis + len(extents))
        order = (*own, *[a for a in range(data.ndim) if a not in own])
        data, result = emit(transpose, data, axes=order), [result[a] for a in order]
    return ragged(data, result)


def _places(target: Target) -> tuple[Tensor, list[Extent | None]]:
    """Return where in the view's axis the integers point to, and what extents they have."""
    index, own = target.chosen, target.extents[target.axis]
    if index.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if isinstance(index, Ragged):
        places, extents = filled(index, 0), list(index.extents)
    else:
        places, extents = as_tensor(index), [None] * index.ndim
    if own is not None:
        if isinstance(index, Ragged):
            # Padding of an array of no elements must not be out of bounds of another of none.
            raise DataDependentShapeError(
                f"an index and an array that both have a length that is data{at(here())} are not "
                "followed together. Index the whole array, and choose by np.where(mask, x, fill)"
            )
        places = own.place_of(places, target.axis)
    return places, extents


def _scatter(target: Target, values: Any) -> None:
    """Carry out ``x[i] = v`` for integers of a length that is data, or an axis of such a length."""
    index = target.chosen
    others = any(extent for a, extent in enumerate(target.extents) if a != target.axis)
    if not isinstance(index, Ragged) and not others:
        places, _ = _places(target)
        indexing.setitem(target.view(), (*(_ALL,) * target.axis, places), values)
        return
    if not isinstance(index, Ragged) or index.ndim != 1 or target.axis or any(target.extents):
        raise DataDependentShapeError(
            f"writing to integers along one axis, where another has a length that is data,"
            f"{at(here())} is not followed. Use np.where(mask, v, x) on the whole array"
        )
    _scatter_rows(target.view(), pack(index), values)


def _scatter_rows(data: Tensor, index: Ragged, values: Any) -> None:
    """Write rows at integers of a length that is data, the last one winning where they repeat."""
    extent = index.extents[0]
    assert extent is not None
    if not extent.bound or not data.shape[0]:
        return
    # Values laid out like the integers; behind the last of them it is written again and again.
    rows: Any = np.zeros_like(data, shape=(extent.bound, *data.shape[1:]))
    own = Ragged(rows, (extent, *(None,) * (data.ndim - 1)))
    assign(own, values)
    last = np.maximum(np.minimum(extent.count(), extent.bound) - 1, 0)
    number = axis_places(extent.bound)
    order = np.minimum(as_tensor(number), last)
    places, new = index.data[order], own.data[order]
    places = choose(extent.is_any(), places, 0, places.dtype)
    # Of no integers at all, the first element stays what it is.
    new = choose(extent.is_any(), new, data[0], data.dtype)
    indexing.setitem(data, places, new)


indexing.DATA_SHAPED.append(indexing.DataShaped(Ragged, getitem, setitem))
