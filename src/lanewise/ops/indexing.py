"""Reading and writing elements at indices that are data."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ir.graph import Value
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.creation import iota
from lanewise.ops.elementwise import aligned
from lanewise.ops.movement import align, repeat_unmapped, reshape, transpose
from lanewise.ops.registry import Batch, op, sample
from lanewise.ops.shapes import broadcast_shapes, rank_of, shape_of


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


@op
class gather:
    """NumPy's integer-array indexing of consecutive axes, from `axis` on.

    The index arrays broadcast to a shape that takes the place of the axes that they index.
    Indices count from the end when negative, and raise `IndexError` when out of range.
    """

    def type(x, *indices, axis: int):
        return array_type(x.dtype, _gathered_shape(x, indices, axis))

    def numpy(x, *indices, axis):
        return x[_key(axis, indices)]

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
        x = k.addressable(x)
        indices = [k.ready(index) for index in indices]
        rank = len(types[0].shape) - x.ndim + len(indices)
        parts = [aligned(index, rank) for index in indices]
        sizes = x.shape[axis : axis + len(indices)]

        def at(*i):
            own = i[axis : axis + rank]
            found = [k.place(p(*own), size) for p, size in zip(parts, sizes, strict=True)]
            return x.at(*i[:axis], *found, *i[axis + rank :])

        return k.lazy(x.dtype, types[0].shape, at, (x, *indices), fails=True)

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
    result: np.ndarray,
    values: np.ndarray,
    *indices: np.ndarray,
    axis: int,
    fn: np.ufunc | None,
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


@op
class scatter:
    """A copy of x with `values` written (``fn`` None) or combined by a ufunc at the indices.

    Indices as for `gather`; `values` has the shape that gathering there gives. Where an index
    repeats, the last value written stays, and combining counts every one (``ufunc.at``).
    """

    def type(x, values, *indices, axis: int, fn: np.ufunc | None):
        shape = _gathered_shape(x, indices, axis)
        if values.shape != shape:
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
        indices = [k.ready(index) for index in indices]
        rank = values.ndim - x.ndim + len(indices)
        parts = [aligned(index, rank) for index in indices]
        sizes = x.shape[axis : axis + len(indices)]

        def place(i):
            own = i[axis : axis + rank]
            found = [k.place(p(*own), size) for p, size in zip(parts, sizes, strict=True)]
            return [*i[:axis], *found, *i[axis + rank :]], None

        return k.updated(x, values, values.shape, place, fn=fn, of=indices)

    samples = (
        sample((4, 3), (2, 3), np.array([1, -1]), axis=0, fn=None),
        sample((4, 3), (4, 2), np.array([1, 1]), axis=1, fn=np.add),
        sample((4, 3), (2,), np.array([1, 1]), np.array(2), axis=0, fn=np.maximum),
    )


@op
class take_along_axis:
    """Elements of x at `indices` along one axis, example axes matching one by one."""

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

    samples = (
        sample((3, 4), np.array([[0, -1], [2, 2], [1, 3]]), axis=1),
        sample((3, 4), np.array([[0, 1, 2, 0]]), axis=0),
    )
