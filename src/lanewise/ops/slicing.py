"""Slices whose ends are data, of a length that is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.errors import CutOffError
from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.graph import Value
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.checks import checked
from lanewise.ops.creation import dimension, iota, number
from lanewise.ops.derivatives import is_linear, linear
from lanewise.ops.elementwise import aligned, elementwise
from lanewise.ops.facts import Held, Kind
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import broadcasting, repeat_unmapped, reshape
from lanewise.ops.registry import Batch, op, sample
from lanewise.ops.shapes import broadcast_shapes, shape_of

_INTP = np.dtype(np.intp)


@op
class slice_bound:
    """Where a bound of a slice lies on an axis of `size` elements.

    Negative bounds count from the end, and what lies beyond an end is that end: 0 and `size`, or
    going backward the places before the first and at the last element, -1 and ``size - 1``.
    """

    held, conditions = Held.NUMBERS, ""
    any_size = True
    may_fail = False

    def type(bound, size, *, backward: bool):
        if bound.dtype.kind not in "iu" or size.dtype != _INTP:
            raise TypeError(f"a bound of a slice is an integer, not {bound}")
        return array_type(_INTP, broadcast_shapes(bound.shape, size.shape))

    def numpy(bound, size, *, backward):
        if bound.dtype.kind == "u":  # may be too large for a signed integer
            bound = np.minimum(bound, size.astype(np.uint64))
        bound = bound.astype(_INTP)
        bound = bound + (bound < 0) * size
        return np.minimum(np.maximum(bound, -backward), size - backward)

    batch = broadcasting

    def lanes(k, types, bound, size, *, backward):
        b, s = (aligned(x, len(types[0].shape)) for x in (bound, size))
        clipped = k.views.slice_bound
        return k.lazy(
            _INTP, types[0].shape, lambda *i: clipped(b(*i), s(*i), backward), (bound, size)
        )

    samples = (
        sample(np.array([0, 2, 5, 9, -1, -5, -9]), np.array(5), backward=False),
        sample(np.array([[0], [-6], [7]], np.int8), np.array([5, 0]), backward=True),
        sample(np.array([3, 2**63 + 4], np.uint64), np.array(4), backward=False),
    )


@op
class take_slice:
    """``x[start:stop:step]`` along one axis, where that is `length` elements.

    In an example where it is another number, as when the slice is cut off at an end of the axis,
    it raises `CutOffError`.
    """

    kind, held = Kind.LOOKUP, Held.NOWHERE
    any_size = True
    repeats = False

    def step(params, count):
        return "window", params["axis"], params["step"], params["length"]

    def type(x, start, stop, *, axis: int, step: int, length: DimLike):
        return array_type(x.dtype, _sliced_shape(x, start, stop, axis, length))

    def numpy(x, start, stop, *, axis, step, length):
        result = x[_key(start, stop, step, axis)]
        _check_length(result.shape[axis], length, x.shape[axis])
        return result

    def batch(b: Batch, x, start, stop, *, axis, step, length):
        if not any(b.mapped[1:]):
            return take_slice(x, start, stop, axis=axis + 1, step=step, length=length)
        size = shape_of(x)[axis + b.mapped[0]]
        ends = repeat_unmapped(Batch(b.size, b.mapped[1:]), start, stop)
        at = _places(*ends, size, step, length)
        mapped = (b.mapped[0], True)
        return gather.batch(Batch(b.size, mapped), x, at, axis=axis)  # ty: ignore[not-callable]

    def lanes(k, types, x, start, stop, *, axis, step, length):
        x, path = k.addressable(x), (("window", axis, step, length),)
        place = k.views.place_of_view(x.shape, path, [start.at(), stop.at()])
        return k.view(x, types[0].shape, lambda *i: place(i))

    jvp = linear(0)

    def transposed(d, ct, x, start, stop, *, axis, step, length):
        d.is_masked = True
        params = {"axis": axis, "step": step, "length": length}
        return d.emit(put_slice, d.zeros(x), ct, start, stop, **params), None, None

    samples = (
        sample((5, 2), np.array(1), np.array(4), axis=0, step=1, length=3),
        sample((2, 6), np.array(-1), np.array(-5), axis=1, step=-2, length=2),
        sample((3,), np.array(3, np.uint8), np.array(9), axis=0, step=1, length=0),
    )


def slice_into(
    result: np.ndarray,
    values: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    *,
    axis: int,
    step: int,
    length: DimLike,
) -> None:
    """Write `values` into a slice of an array, in place; see `put_slice`."""
    part = result[_key(start, stop, step, axis)]
    _check_length(part.shape[axis], length, result.shape[axis])
    part[...] = values


@op
class put_slice:
    """A copy of x in which `values` are what ``x[start:stop:step]`` along one axis holds."""

    kind, takes, into, reads_at_data = Kind.UPDATE, take_slice, slice_into, (0,)
    any_size = True
    repeats = False

    def type(x, values, start, stop, *, axis: int, step: int, length: DimLike):
        shape = _sliced_shape(x, start, stop, axis, length)
        if values.shape != shape:
            raise ValueError(
                f"could not broadcast input array from shape {values.shape} into shape {shape}"
            )
        return x

    def numpy(x, values, start, stop, *, axis, step, length):
        result = np.array(x)
        slice_into(result, values, start, stop, axis=axis, step=step, length=length)
        return result

    def batch(b: Batch, x, values, start, stop, *, axis, step, length):
        x, values = repeat_unmapped(Batch(b.size, b.mapped[:2]), x, values)
        if not any(b.mapped[2:]):
            return put_slice(x, values, start, stop, axis=axis + 1, step=step, length=length)
        ends = repeat_unmapped(Batch(b.size, b.mapped[2:]), start, stop)
        at = _places(*ends, shape_of(x)[axis + 1], step, length)
        every = Batch(b.size, (True,) * 3)
        return scatter.batch(every, x, values, at, axis=axis, fn=None)  # ty: ignore[not-callable]

    def lanes(k, types, x, values, start, stop, *, axis, step, length):
        ends, path = [start.at(), stop.at()], (("window", axis, step, length),)
        return k.updates.written(x, values, k.views.place_of_view(x.shape, path, ends))

    jvp = linear(0, 1)

    def transposed(d, ct, x, values, start, stop, *, axis, step, length):
        params = {"axis": axis, "step": step, "length": length}
        part = d.emit(take_slice, ct, start, stop, **params) if is_linear(values) else None
        if is_linear(x):
            d.is_masked = True
            ct = d.emit(put_slice, ct, d.zeros(values), start, stop, **params)
        return ct if is_linear(x) else None, part, None, None

    samples = (
        sample((5, 2), (3, 2), np.array(1), np.array(4), axis=0, step=1, length=3),
        sample((2, 6), (2, 2), np.array(-1), np.array(-5), axis=1, step=-2, length=2),
    )


def _sliced_shape(
    x: ArrayType, start: ArrayType, stop: ArrayType, axis: int, length: DimLike
) -> Any:
    if start.ndim or stop.ndim or start.dtype.kind not in "iu" or stop.dtype.kind not in "iu":
        raise TypeError(f"the ends of a slice are integers, not {start} and {stop}")
    return (*x.shape[:axis], length, *x.shape[axis + 1 :])


def _key(start: Any, stop: Any, step: int, axis: int) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(start, stop, step))


def cut_off_message(length: DimLike, size: DimLike) -> str:
    """Return what is said of a slice of so many elements that is cut off."""
    return (
        f"a slice of {length} elements between traced ends does not lie within its axis of {size}: "
        "what NumPy leaves of it has a length that depends on the data. Keep both ends within, or "
        f"say where it is cut off, a[i:np.minimum(j, {size})], and reduce it then"
    )


def _check_length(found: int, length: DimLike, size: int) -> None:
    if found != length:
        raise CutOffError(cut_off_message(length, size))


def _places(start: Value, stop: Value, size: DimLike, step: int, length: DimLike) -> Value:
    """Return the places that the slice of each example names, checked to be `length` of them."""
    add, multiply = elementwise(np.add), elementwise(np.multiply)
    backward = step < 0
    extent = _number(size)
    first = slice_bound(start, extent, backward=backward)
    last = slice_bound(stop, extent, backward=backward)
    # As many as range(first, last, step) has, which is no less than zero.
    span = elementwise(np.subtract)(*((first, last) if backward else (last, first)))
    rounded = elementwise(np.floor_divide)(add(span, _number(abs(step) - 1)), _number(abs(step)))
    found = elementwise(np.maximum)(rounded, _number(0))
    ok = elementwise(np.equal)(found, _number(length))
    first = checked(first, ok, error="CutOffError", message=cut_off_message(length, size))
    offsets = multiply(iota(length=length, dtype=_INTP), _number(step))
    return add(reshape(first, shape=(*shape_of(first), 1)), offsets)


def _number(value: DimLike) -> Value:
    return dimension(size=value) if isinstance(value, Dim) else number(value)
