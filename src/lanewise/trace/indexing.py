"""NumPy's indexing, read and write: basic, integer arrays, constant masks, None and ``...``.

An index is split into a basic part, which is a view (slices, dropped and new axes), and integer
arrays that index consecutive axes of that view. Reading gathers from the view; writing scatters
into it, and the view hands the result on to its base.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, DimLike, bounds, dim_if_negative, dim_max, dim_min
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.elementwise import loop_dtypes
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import AxisSlice, slice_length
from lanewise.ops.shapes import broadcast_shapes
from lanewise.trace.mixed import NO_INDEX, ONE_DTYPE, as_integer, is_mixed
from lanewise.trace.provenance import note_index
from lanewise.trace.sizes import in_use, key_of_sizes, number_of
from lanewise.trace.tensor import (
    Tensor,
    as_tensor,
    contains_tensor,
    emit,
    lift,
    read,
    stack_nested,
    unwrapped,
)
from lanewise.trace.trace import require_trace, state
from lanewise.trace.views import (
    assign,
    change_by_class,
    fit,
    reshaped_view,
    root_of,
    slice_view,
    store,
    transpose_view,
    view,
    writable,
)


@dataclass
class Plan:
    """An index in two steps: a view by slices, then integer arrays on consecutive axes of it."""

    slices: list[AxisSlice] = field(default_factory=list)
    shape: list[Any] = field(default_factory=list)  # of the view, None: as sliced
    arrays: list[Any] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # axis of the view that each array indexes
    consecutive: bool = True
    is_element: bool = False  # whether every axis has an integer, and there is nothing else


def getitem(x: Tensor, key: Any) -> Tensor:
    """Return ``x[key]``: a view for basic indices, a copy otherwise, as NumPy does."""
    is_one = type(key) in (Tensor, np.ndarray) and key.ndim and x.ndim and key.dtype.kind in "iu"
    if is_one and not is_mixed(key):
        if type(key) is np.ndarray:
            _check_range(key, 0, x.shape[0])
        return emit(gather, x, key, axis=0)  # the usual case: one array of integers
    plan = _basic_plan_of(x._type, key)
    if plan is None:
        key = unwrapped(key)
        key = key_of_sizes(key) if in_use() else key
        if data_shaped(key):
            if x._mixed is not None:
                raise UnsupportedError(
                    "the data choose the dtype of an array, and the length of a part that is taken "
                    f"of it{at(here())}. {ONE_DTYPE}"
                )
            return DATA_SHAPED[0].getitem(x, key)
        plan = _plan(x._type, key)
    viewed = _apply_basic(x, plan)
    if not plan.arrays:
        # An element, all of its indices given, is a scalar: no view in NumPy.
        if plan.is_element:
            return viewed.copy()
        return viewed if viewed.shape else writable(viewed)
    viewed, axis = _bring_together(viewed, plan)
    arrays = [_as_index(array) for array in plan.arrays]
    if plan.is_element or any(array.ndim for array in arrays):
        return emit(gather, viewed, *arrays, axis=axis)
    indices = tuple([as_tensor(array).copy() for array in arrays])
    _may_raise(viewed, indices, axis)
    return view(viewed, gather, put_back(axis), *indices, axis=axis)


def _may_raise(x: Tensor, indices: Sequence[Any], axis: int) -> None:
    """Tell a `try` around of an index that may be out of range."""
    if state.attempt is not None:
        state.attempt.emitted(gather, (x, *indices), {"axis": axis})


def data_shaped(key: Any) -> bool:
    """Whether ends of slices or a mask in an index are data, and perhaps its result's shape."""
    parts = key if type(key) is tuple else (key,)
    return any([_is_data_shaped(part) for part in parts])


def _is_data_shaped(part: Any) -> bool:
    kind = type(part)
    if kind is slice:
        return Tensor in (type(part.start), type(part.stop), type(part.step))
    if kind is Tensor:
        return part.dtype.kind == "b"
    is_list = kind is list and contains_tensor(part)
    return is_list and stack_nested(part).dtype.kind == "b"


class DataShaped(NamedTuple):
    """What carries out indices whose results have a shape that is data."""

    getitem: Callable[[Any, Any], Any]
    setitem: Callable[[Any, Any, Any, Any], None]


#: Filled by `lanewise.trace.data_indexing`.
DATA_SHAPED: list[DataShaped] = []


def _basic_plan_of(type_: ArrayType, key: Any) -> Plan | None:
    """Return the plan of a basic index, looked up: a loop that is unrolled has many. Else None."""
    parts = key if type(key) is tuple else (key,)
    frozen = []
    for part in parts:
        if type(part) is slice:  # not hashable before Python 3.12
            bounds = (part.start, part.stop, part.step)
            if not _PLAIN.issuperset(map(type, bounds)):
                return None
            frozen.append(bounds)
        elif type(part) in _PLAIN or part is Ellipsis:
            frozen.append(part)
        else:
            return None
    return _basic_plan(type_, tuple(frozen))


_PLAIN = frozenset((int, type(None)))


@lru_cache(maxsize=4096)
def _basic_plan(type_: ArrayType, frozen: tuple[Any, ...]) -> Plan:
    """Return the plan of an index in which slices are given as tuples of their bounds."""
    return _plan(type_, tuple(slice(*p) if isinstance(p, tuple) else p for p in frozen))


def put_back(axis: int) -> Callable[..., Value]:
    """Return what writes a view at traced integers back to where it was read."""

    def write(*operands: Value) -> Value:
        return require_trace("a view").record(scatter, operands, {"axis": axis, "fn": None})[0]

    return write


def setitem(x: Tensor, key: Any, values: Any, fn: np.ufunc | None = None) -> None:
    """Carry out ``x[key] = values``, or ``fn.at(x, key, values)`` for a ufunc."""
    if x._mixed is not None:
        return change_by_class(partial(setitem, fn=fn), x, key, values)
    plan = _basic_plan_of(x._type, key)
    if plan is None:
        key = unwrapped(key)
        key = key_of_sizes(key) if in_use() else key
        if data_shaped(key):
            DATA_SHAPED[0].setitem(x, key, values, fn)
            return
        plan = _plan(x._type, key)
    if plan.is_element and x.ndim and fn is None and np.ndim(values):
        if isinstance(values, Tensor) and values.size == 1 and _takes_one(x.dtype):
            return setitem(x, key, np.reshape(values, ()))
        kind = TypeError if x.dtype.kind == "c" else ValueError
        raise kind(f"setting an array element with a sequence{at(here())}")
    viewed = _apply_basic(writable(x), plan)
    if not plan.arrays:
        if fn is None and _has_own_parts(viewed, values):
            for i, part in enumerate(values):
                setitem(viewed, i, part)
        elif fn is None:
            store(viewed, values, set_alone=True)
        else:
            store(viewed, fn(viewed) if fn.nin == 1 else fn(viewed, as_tensor(values)))
        return
    viewed, axis = _bring_together(viewed, plan)
    _may_raise(viewed, [as_tensor(_as_index(array)) for array in plan.arrays], axis)
    indices = tuple([lift(_as_index(array)) for array in plan.arrays])
    (target,) = gather.infer((viewed._type, *(index.type for index in indices)), {"axis": axis})
    is_one = not any([index.type.ndim for index in indices])
    written = fit(values, target, set_alone=is_one) if fn is None else _combined(fn, values, target)
    operands = (read(viewed), written, *indices)
    (result,) = require_trace("x[i] = v").record(scatter, operands, {"axis": axis, "fn": fn})
    assign(viewed, result)


def _has_own_parts(x: Tensor, values: Any) -> bool:
    """Whether values of the shape of x are a list of its views: NumPy writes one after another.

    What may be one view or another has a guard.
    """
    if type(values) not in (list, tuple) or not x.shape or len(values) != x.shape[0]:
        return False
    root, parts, shape = root_of(x), [*values], (len(values),)
    while parts and all([type(part) in (list, tuple) for part in parts]):
        if len(set(map(len, parts))) > 1:
            return False
        shape, parts = (*shape, len(parts[0])), [item for part in parts for item in part]
    return any(
        [
            isinstance(part, Tensor)
            and (*shape, *part.shape) == x.shape
            and (part._guard is not None or (part._view is not None and root_of(part) is root))
            for part in parts
        ]
    )


@lru_cache(maxsize=64)
def _takes_one(dtype: np.dtype) -> bool:
    """Whether this NumPy takes an array of one element for the element (it is deprecated)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            np.zeros(1, dtype)[0] = np.ones(1, dtype)
        except (TypeError, ValueError):
            return False
    return True


def _combined(fn: np.ufunc, values: Any, target: ArrayType) -> Value:
    """Return the values for ``fn.at`` in the dtype they have, Python numbers in their widest."""
    if fn.nin == 1:
        return fit(0, target)  # they say only where
    values = as_tensor(values)
    loop_dtypes(fn, (target.dtype, values.dtype), None)  # raises if there is no loop
    return fit(values, array_type(values.dtype, target.shape))


@dataclass(frozen=True)
class _Truth:
    """``x[True]`` or ``x[False]``: a new axis of one element or of none, taken like an array."""

    index: np.ndarray


class _Nothing:
    """Marks an ellipsis that stands for no axis."""


_KNOWN = (type(None), type(...), slice, np.ndarray, Tensor)


def _entries(x: ArrayType, key: Any) -> list[Any]:
    """Return the index as slices, ints, None, integer arrays and truths, ``...`` expanded."""
    entries = [_entry(part) for part in (key if isinstance(key, tuple) else (key,))]
    used = sum(_axes_indexed(entry) for entry in entries)
    if used > x.ndim:
        raise IndexError(
            f"too many indices for array: array is {x.ndim}-dimensional, but {used} were indexed"
        )
    ellipses = sum(entry is Ellipsis for entry in entries)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    rest = [slice(None)] * (x.ndim - used)
    expanded: list[Any] = []
    axis = 0
    for entry in entries if ellipses else [*entries, *rest]:
        if entry is Ellipsis:
            # An ellipsis that stands for no axis still separates the arrays beside it.
            expanded += rest or [_Nothing]
            axis += len(rest)
            continue
        if isinstance(entry, np.ndarray) and entry.dtype.kind == "b":
            _check_mask(x, entry, axis)
            expanded += entry.nonzero()
        else:
            expanded.append(entry)
        axis += _axes_indexed(entry)
    return expanded


def _entry(entry: Any) -> Any:
    """Return one part of an index as a tensor, an array, a truth, or what it is."""
    if isinstance(entry, (list, tuple)):
        entry = stack_nested(entry) if contains_tensor(entry) else np.asarray(entry)
        if isinstance(entry, np.ndarray) and entry.size == 0:
            entry = entry.astype(np.intp)
    elif not isinstance(entry, _KNOWN) and not hasattr(type(entry), "__index__"):
        entry = np.asarray(entry)
        if entry.dtype.kind not in "biu":
            _integer(entry)  # raises
    is_truth = isinstance(entry, np.ndarray) and entry.dtype.kind == "b" and not entry.ndim
    if is_truth or isinstance(entry, (bool, np.bool_)):
        return _Truth(np.zeros(int(entry), np.intp))
    return entry


def _axes_indexed(entry: Any) -> int:
    if entry is None or entry is Ellipsis or isinstance(entry, _Truth):
        return 0
    return entry.ndim if isinstance(entry, np.ndarray) and entry.dtype.kind == "b" else 1


def _check_mask(x: ArrayType, mask: np.ndarray, axis: int) -> None:
    for offset, size in enumerate(mask.shape):
        # As in NumPy, an axis of no elements fits any.
        if axis + offset < x.ndim and size not in (0, x.shape[axis + offset]):
            raise IndexError(
                "boolean index did not match indexed array along axis "
                f"{axis + offset}; size of axis is {x.shape[axis + offset]} but size of "
                f"corresponding boolean axis is {size}"
            )


_ARRAYS = (Tensor, np.ndarray, _Truth)


def _plan(x: ArrayType, key: Any) -> Plan:
    entries = _entries(x, key)
    with_rank = any(isinstance(e, _Truth) or getattr(e, "ndim", 0) for e in entries)
    plan = Plan()
    plan.is_element = not with_rank
    axis = 0
    last_array = None
    checks = []
    for position, entry in enumerate(entries):
        if entry is None or entry is _Nothing or isinstance(entry, slice):
            plan.is_element = False
        if entry is _Nothing:
            continue
        if entry is None:
            plan.shape.append(1)
            continue
        if isinstance(entry, slice):
            size = x.shape[axis]
            step = _slice(entry, size)
            plan.slices.append(step)
            plan.shape.append(size if step is None else slice_length(step))
        elif with_rank or isinstance(entry, Tensor):
            plan.consecutive &= last_array is None or last_array == position - 1
            last_array = position
            plan.places.append(len(plan.shape))
            if isinstance(entry, _Truth):
                plan.shape.append(1)
                plan.arrays.append(entry.index)
                continue
            if not isinstance(entry, _ARRAYS):
                entry = entry if type(entry) is Dim else np.asarray(_integer(entry))
            if type(entry) is Dim:
                plan.slices.append(None)
                plan.arrays.append(_Place(entry))
                plan.shape.append(x.shape[axis])
                axis += 1
                continue
            entry = as_integer(entry, IndexError(NO_INDEX))
            if entry.dtype.kind not in "iu":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            if isinstance(entry, np.ndarray):
                checks.append((entry, axis, x.shape[axis]))
            plan.slices.append(None)
            plan.arrays.append(entry)
            plan.shape.append(x.shape[axis])
        else:
            size = x.shape[axis]
            place = _known_place(entry, axis, size)
            if place is not None:
                plan.slices.append((place, place + 1, 1))
                axis += 1
                continue
            plan.consecutive &= last_array is None or last_array == position - 1
            last_array = position
            plan.places.append(len(plan.shape))
            plan.slices.append(None)
            plan.arrays.append(_Place(entry if type(entry) is Dim else _integer(entry)))
            plan.shape.append(size)
        axis += 1
    if plan.arrays and 0 not in _broadcast_indices(plan.arrays):
        for check in checks:
            _check_range(*check)
    return plan


def _broadcast_indices(arrays: list[Any]) -> Any:
    try:
        return broadcast_shapes(*[array.shape for array in arrays])
    except ValueError:
        listed = " ".join(str(array.shape).replace(" ", "") for array in arrays)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {listed}"
        ) from None


def _integer(entry: Any) -> Any:
    try:
        return operator.index(entry)
    except TypeError:
        if isinstance(entry, Tensor):
            raise
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
            f"boolean arrays are valid indices, not {type(entry).__name__}{at(here())}"
        ) from None


def _check_range(index: np.ndarray, axis: int, size: Any) -> None:
    if isinstance(size, Dim):
        return  # checked when the graph runs
    bad = (index < -size) | (index >= size)
    if bad.any():
        first = index[bad].flat[0] if index.ndim else index
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {size}")


def _slice(entry: slice, size: Any) -> AxisSlice:
    if entry.start is None and entry.stop is None and entry.step is None:
        return None
    if Dim in map(type, (entry.start, entry.stop, size)):
        return _sized_slice(entry, size)
    for part in (entry.start, entry.stop, entry.step):
        if part is not None:
            operator.index(part)  # a traced bound raises here, and says what to do
    bounds = entry.indices(operator.index(size))
    # Of no elements there is one form: a start before the array would count from its end.
    return bounds if len(range(*bounds)) else (0, 0, 1)


def _sized_slice(entry: slice, size: DimLike) -> AxisSlice:
    """Return a slice of which the ends, or the axis, have sizes that are not known."""
    step = 1 if entry.step is None else operator.index(entry.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def end(bound: Any, default: DimLike) -> DimLike:
        if bound is None:
            return default
        bound = bound if type(bound) is Dim else operator.index(bound)
        return dim_min(dim_max(dim_if_negative(bound, bound + size, bound), low), high)

    start = end(entry.start, low if step > 0 else high)
    stop = end(entry.stop, high if step > 0 else low)
    return None if (start, stop, step) == (0, size, 1) else (start, stop, step)


def _known_place(entry: Any, axis: int, size: DimLike) -> DimLike | None:
    """Return where an index lies, if it surely lies on its axis; None if that is to be seen."""
    index = entry if type(entry) is Dim else _integer(entry)
    if type(index) is int and type(size) is int:
        _check_range(np.asarray(index), axis, size)
        return index + size if index < 0 else index
    least, most = bounds(index)
    if most is not None and most < 0:
        index = index + size
        least, most = bounds(index)
    inside = bounds(size - 1 - index)[0]
    is_inside = least is not None and least >= 0 and inside is not None and inside >= 0
    return index if is_inside else None


@dataclass(frozen=True, eq=False)
class _Place:
    """An index of one place on an axis, which NumPy is to check when the graph runs."""

    index: DimLike
    shape = ()
    ndim = 0


def _as_index(array: Any) -> Any:
    """Return an index of a plan as an operand."""
    if not isinstance(array, _Place):
        if type(array) is Tensor and not array.shape:
            note_index(array)
        return array
    if type(array.index) is Dim:
        return number_of(array.index)
    trace = require_trace("an index")
    return Tensor(trace, trace.scalar(array.index, np.dtype(np.intp)))


def _apply_basic(x: Tensor, plan: Plan) -> Tensor:
    viewed = x
    if not plan.arrays or any(part is not None for part in plan.slices):
        viewed = slice_view(x, tuple(plan.slices))
    if tuple(plan.shape) != viewed.shape:
        viewed = reshaped_view(viewed, tuple(plan.shape))
    return viewed


def _bring_together(viewed: Tensor, plan: Plan) -> tuple[Tensor, int]:
    """Return the view with the indexed axes side by side, and the first of them.

    NumPy puts the index's own axes first when slices stand between the arrays.
    """
    places = plan.places
    rest = [axis for axis in range(viewed.ndim) if axis not in places]
    if plan.consecutive:
        return viewed, places[0]
    axes = (*places, *rest)
    return (viewed if axes == tuple(range(viewed.ndim)) else transpose_view(viewed, axes)), 0
