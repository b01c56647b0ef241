"""Reading and writing elements at indices that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError
from lanewise.ir.dims import Dim, product
from lanewise.ir.graph import Value
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.creation import iota
from lanewise.ops.derivatives import is_linear, linear
from lanewise.ops.elementwise import aligned
from lanewise.ops.facts import Held, Kind
from lanewise.ops.movement import align, repeat_unmapped, reshape, transpose
from lanewise.ops.registry import Batch, op, sample
from lanewise.ops.shapes import broadcast_shapes, may_agree, rank_of, shape_of


def _gathered_shape(x: ArrayType, indices: tuple[ArrayType, ...], axis: int) -> Any:
    for index in indices:
        if index.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
    at = broadcast_shapes(*[index.shape for index in indices])
    return (*x.shape[:axis], *at, *x.shape[axis + len(indices) :])


def _key(axis: int, indices: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, *indices)


def _batch_indices(b: Batch, indices: tuple[Value, ...]) -> tuple[Value, ...]:
    """Align the indices' own axes, and put the number of the example before them."""
    aligned = align(Batch(b.size, b.mapped[-len(indices) :]), *indices)
    rank = max(map(rank_of, aligned))
    own = iota(length=b.size, dtype=np.dtype(np.intp))
    return (reshape(own, shape=(b.size, *(1,) * (rank - 1))), *aligned)


def _move_axis(value: Value, source: int, count: int, destination: int) -> Value:
    """Move `count` axes from `source` to `destination`, the others keeping their order."""
    rest = [axis for axis in range(rank_of(value)) if not source <= axis < source + count]
    axes = (*rest[:destination], *range(source, source + count), *rest[destination:])
    return value if axes == tuple(range(len(axes))) else transpose(value, axes=axes)


def _in_range(index: Any, axis: int, size: Any) -> tuple[Any, IndexError]:
    """Return whether all of an index is in range, and what NumPy raises if not."""
    inside = (index >= -size) & (index < size)
    first, length = index, product(np.shape(index))
    if np.shape(index) and (isinstance(length, Dim) or length):
        numbers, are_inside = np.reshape(index, (-1,)), np.reshape(inside, (-1,))
        if isinstance(length, Dim):  # there may be none
            numbers, are_inside = np.append(numbers, 0), np.append(are_inside, True)
        first = numbers[np.argmin(are_inside)]
    message = f"index {first} is out of bounds for axis {axis} with size {size}"
    return np.all(inside), IndexError(message)


@op
class gather:
    """NumPy's integer-array indexing of consecutive axes, from `axis` on.

    The index arrays broadcast to a shape that takes the place of the axes that they index.
    Indices count from the end when negative, and raise `IndexError` when out of range.
    """

    kind, indices, held = Kind.LOOKUP, 1, Held.NOWHERE
    recompute = 2
    along_rows = any_size = True

    def step(params, count):
        return "place", params["axis"], count

    def allocates(op):  # with nothing but numbers for indices it is a view
        return any(value.type.shape for value in op.operands[1:])

    def type(x, *indices, axis: int):
        return array_type(x.dtype, _gathered_shape(x, indices, axis))

    def numpy(x, *indices, axis):
        return x[_key(axis, indices)]

    def raises(x, *indices, axis):
        for position, index in enumerate(indices, axis):
            yield _in_range(index, position, x.shape[position])

    def batch(b: Batch, x, *indices, axis):
        if not any(b.mapped[1:]):
            return gather(x, *indices, axis=axis + 1)
        if not b.mapped[0]:
            result = gather(x, *align(Batch(b.size, b.mapped[1:]), *indices), axis=axis)
            return _move_axis(result, axis, 1, 0)
        x = _move_axis(x, axis + 1, len(indices), 1)
        indices = _batch_indices(b, indices)
        result = gather(x, *indices, axis=0)  # batch, index axes, axes before, axes behind
        at = max(map(rank_of, indices)) - 1
        return _move_axis(result, 1, at, 1 + axis)

    def lanes(k, types, x, *indices, axis):
        x, shape = k.addressable(x), types[0].shape
        rank = len(shape) - x.ndim + len(indices)
        is_each = rank == len(shape)  # of an element each: none is needed again
        indices = [k.fusion.found_once(i, shape) if is_each else k.ready(i) for i in indices]
        parts = [aligned(index, rank) for index in indices]
        sizes = x.shape[axis : axis + len(indices)]
        if not rank:  # a view, as of one place it is known at once
            places = [k.place(p(), size) for p, size in zip(parts, sizes, strict=True)]
            return k.view(x, shape, lambda *i: [*i[:axis], *places, *i[axis:]])

        def at(*i):
            own = i[axis : axis + rank]
            found = [k.place(p(*own), size) for p, size in zip(parts, sizes, strict=True)]
            return x.at(*i[:axis], *found, *i[axis + rank :])

        return k.lazy(x.dtype, shape, at, (x, *indices), fails=True)

    jvp = linear(0)

    def transposed(d, ct, x, *indices, axis):
        d.is_masked = True
        zero = d.zeros(x)
        return [d.emit(scatter, zero, ct, *indices, axis=axis, fn=np.add), *[None] * len(indices)]

    samples = (
        sample((4, 3), np.array([[0, -1], [2, 2]]), axis=0),
        sample((4, 3), np.array([0, 1]), np.array([[2], [1]]), axis=0),
        sample((2, 4, 3), np.array(2), axis=1),
        sample((3,), np.array([], int), axis=0),
    )


def _combine_at_all_axes(
    fn: np.ufunc, result: np.ndarray, values: np.ndarray, indices: tuple[np.ndarray, ...]
) -> None:
    """``fn.at`` through indices into the flat array, for which NumPy is several times faster."""
    try:
        flat = np.ravel_multi_index(indices, result.shape)
    except ValueError:  # an index is negative, or out of range and raises IndexError now
        fn.at(result, indices, values)
    else:
        fn.at(result.reshape(-1), np.ravel(flat), np.ravel(values))


def scatter_into(
    result: np.ndarray, values: np.ndarray, *indices: np.ndarray, axis: int, fn: np.ufunc | None
) -> None:
    """Write or combine `values` into an array at the indices, in place; see `scatter`."""
    if fn is None:
        result[_key(axis, indices)] = values
    elif fn.nin == 1:  # the values say only where
        fn.at(result, _key(axis, indices))
    elif (
        axis == 0
        and len(indices) == result.ndim
        and values.dtype == result.dtype
        and result.flags.c_contiguous
    ):
        _combine_at_all_axes(fn, result, values, indices)
    else:
        fn.at(result, _key(axis, indices), values)


def _written(k: Any, axis: int, indices: Sequence[Any], writes: Sequence[tuple[Any, ...]]) -> Any:
    """Write arrays' values at the same indices in a kernel; return the arrays."""
    targets = [target for target, *_ in writes]
    x, values, _ = writes[0]
    indices = [k.fusion.read_once(index, values.shape, targets) for index in indices]
    rank = values.ndim - x.ndim + len(indices)
    parts = [aligned(index, rank) for index in indices]
    sizes = x.shape[axis : axis + len(indices)]

    def place(i: Sequence[Any]) -> list[Any]:
        own = i[axis : axis + rank]
        found = [k.place(p(*own), size) for p, size in zip(parts, sizes, strict=True)]
        return [*i[:axis], *found, *i[axis + rank :]]

    return k.updates.together(writes, place, of=indices)


@op
class scatter:
    """A copy of x with `values` written (``fn`` None) or combined by a ufunc at the indices.

    Indices as for `gather`; `values` has the shape that gathering there gives. Where an index
    repeats, the last value written stays, and combining counts every one (``ufunc.at``).
    """

    kind, takes, into, reads_at_data = Kind.UPDATE, gather, scatter_into, (0,)
    indices = 2
    any_size = True

    def space(op):
        x, values, *indices = op.operands
        return values.type.shape, (x.type.shape, *indices, op.params["axis"])

    def type(x, values, *indices, axis: int, fn: np.ufunc | None):
        shape = _gathered_shape(x, indices, axis)
        if not may_agree(values.shape, shape):
            raise ValueError(
                f"shape mismatch: value array of shape {values.shape} could not be broadcast to "
                f"indexing result of shape {shape}"
            )
        return x

    def numpy(x, values, *indices, axis, fn):
        result = np.array(x, order="C")  # a copy, also of a NumPy scalar
        scatter_into(result, values, *indices, axis=axis, fn=fn)
        return result

    def batch(b: Batch, x, values, *indices, axis, fn):
        x, values = repeat_unmapped(Batch(b.size, b.mapped[:2]), x, values)
        if not any(b.mapped[2:]):
            return scatter(x, values, *indices, axis=axis + 1, fn=fn)
        at = rank_of(values) - rank_of(x) + len(indices)  # rank of the broadcast indices
        x = _move_axis(x, axis + 1, len(indices), 1)
        values = _move_axis(values, axis + 1, at, 1)
        result = scatter(x, values, *_batch_indices(b, indices), axis=0, fn=fn)
        return _move_axis(result, 1, len(indices), 1 + axis)

    def lanes(k, types, x, values, *indices, axis, fn):
        return _written(k, axis, indices, [(x, values, fn)])[0]

    def together(k, types, xs, params):
        writes = [(*x[:2], given["fn"]) for x, given in zip(xs, params, strict=True)]
        return _written(k, params[0]["axis"], xs[0][2:], writes)

    def jvp(d, tangents, y, x, values, *indices, axis, fn):
        t, u = (
            d.zeros(v) if moved is None else moved
            for v, moved in zip((x, values), tangents, strict=False)
        )
        if fn is None or fn is np.add:
            return d.emit(scatter, t, u, *indices, axis=axis, fn=fn)
        if fn is np.subtract:
            return d.emit(scatter, t, -u, *indices, axis=axis, fn=np.add)
        if fn in (np.maximum, np.minimum):  # those that are equal share
            one, zero = np.ones((), np.intp), np.zeros((), t.dtype)
            first = x == y
            found = values == d.emit(gather, y, *indices, axis=axis)
            count = d.emit(scatter, first * one, found * one, *indices, axis=axis, fn=np.add)
            t, u = np.where(first, t, zero), np.where(found, u, zero)
            part = d.emit(scatter, t, u, *indices, axis=axis, fn=np.add)
            return part / count.astype(y.real.dtype)
        if fn in (np.multiply, np.divide):
            every = d.emit(scatter, np.ones_like(x), values, *indices, axis=axis, fn=fn)
            if fn is np.divide:
                slope = -d.emit(gather, y, *indices, axis=axis) / values
            else:
                others = _product_of_others(d, x, values, indices, axis)
                slope = d.emit(gather, x, *indices, axis=axis) * others
            return d.emit(scatter, t * every, u * slope, *indices, axis=axis, fn=np.add)
        raise UnsupportedError(f"the derivative of np.{fn.__name__}.at is not known")

    def transposed(d, ct, x, values, *indices, axis, fn):
        part = d.emit(gather, ct, *indices, axis=axis) if is_linear(values) else None
        if fn is not None:
            return [ct if is_linear(x) else None, part, *[None] * len(indices)]
        if part is not None and any(index.shape for index in indices):
            # Of several values written to one place only the last one stays.
            number = np.reshape(
                d.emit(iota, length=values.size, dtype=np.dtype(np.intp)), values.shape
            )
            last = d.emit(scatter, np.zeros_like(ct, np.intp), number, *indices, axis=axis, fn=None)
            stays = d.emit(gather, last, *indices, axis=axis) == number
            part = np.where(stays, part, np.zeros((), part.dtype))
            d.is_masked = True
        if is_linear(x):
            d.is_masked = True
            ct = d.emit(scatter, ct, d.zeros(values), *indices, axis=axis, fn=None)
        return [ct if is_linear(x) else None, part, *[None] * len(indices)]

    samples = (
        sample((4, 3), (2, 3), np.array([1, -1]), axis=0, fn=None),
        sample((4, 3), (4, 2), np.array([1, 1]), axis=1, fn=np.add),
        sample((4, 3), (2,), np.array([1, 1]), np.array(2), axis=0, fn=np.maximum),
    )


def _product_of_others(d: Any, x: Any, values: Any, indices: Any, axis: int) -> Any:
    """Return for each value the product of all others that are meant for the same place.

    Without division, as values may be zero: values are sorted by their places, and products of what
    stands before and behind are collected over distances that double.
    """
    count = values.size
    number = np.reshape(d.emit(iota, length=x.size, dtype=np.dtype(np.intp)), x.shape)
    place = np.reshape(d.emit(gather, number, *indices, axis=axis), (count,))
    order = np.argsort(place, kind="stable")
    place, own = place[order], np.reshape(values, (count,))[order]
    one = np.ones((), values.dtype)
    if count < 2:
        return np.ones_like(values)
    near = place[1:] == place[:-1]
    before = np.concatenate([one[None], np.where(near, own[:-1], one)])
    behind = np.concatenate([np.where(near, own[1:], one), one[None]])
    reach = 1
    while reach < count:
        near = place[reach:] == place[:-reach]
        start, end = np.where(near, before[:-reach], one), np.where(near, behind[reach:], one)
        before = np.concatenate([before[:reach], before[reach:] * start])
        behind = np.concatenate([behind[:-reach] * end, behind[-reach:]])
        reach *= 2
    found = (before * behind)[np.argsort(order)]
    return np.reshape(found, values.shape)


@op
class take_along_axis:
    """Elements of x at `indices` along one axis, example axes matching one by one."""

    kind = Kind.LOOKUP
    allocates = any_size = True

    def type(x, indices, *, axis: int):
        if indices.dtype.kind not in "iu":
            raise IndexError("`indices` must be an integer array")
        if x.ndim != indices.ndim:
            raise ValueError("`indices` and `arr` must have the same number of dimensions")
        rest = broadcast_shapes(
            (*x.shape[:axis], *x.shape[axis + 1 :]),
            (*indices.shape[:axis], *indices.shape[axis + 1 :]),
        )
        return array_type(x.dtype, (*rest[:axis], indices.shape[axis], *rest[axis:]))

    def numpy(x, indices, *, axis):
        return np.take_along_axis(x, indices, axis)

    def raises(x, indices, *, axis):
        yield _in_range(indices, axis, x.shape[axis])

    def batch(b: Batch, x, indices, *, axis):
        x, indices = (
            v if mapped else reshape(v, shape=(1, *shape_of(v)))
            for v, mapped in zip((x, indices), b.mapped, strict=True)
        )
        return take_along_axis(x, indices, axis=axis + 1)

    def lanes(k, types, x, indices, *, axis):
        x, indices = k.addressable(x), k.ready(indices)
        index = aligned(indices, indices.ndim)
        rows = aligned(k.lazy(x.dtype, (*x.shape[:axis], 0, *x.shape[axis + 1 :]), x.at), x.ndim)

        def at(*i):
            return rows(*i[:axis], k.place(index(*i), x.shape[axis]), *i[axis + 1 :])

        return k.lazy(x.dtype, types[0].shape, at, (x, indices), fails=True)

    jvp = linear(0)

    def transposed(d, ct, x, indices, *, axis):
        places = []
        for other in range(x.ndim):
            shape = [1] * x.ndim
            shape[other] = -1
            i = d.emit(iota, length=ct.shape[other], dtype=np.dtype(np.intp))
            own = np.reshape(i if x.shape[other] != 1 else np.zeros_like(i), shape)
            places.append(indices if other == axis else own)
        d.is_masked = True
        return d.emit(scatter, d.zeros(x), ct, *places, axis=0, fn=np.add), None

    samples = (
        sample((3, 4), np.array([[0, -1], [2, 2], [1, 3]]), axis=1),
        sample((3, 4), np.array([[0, 1, 2, 0]]), axis=0),
    )
