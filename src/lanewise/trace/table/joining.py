"""Arrays put together and taken apart: stacks, blocks, splits, insertions, repetition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, DimLike, differ, dim_min
from lanewise.ir.location import here
from lanewise.ops.creation import iota
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.sizes import defined_sizes, has_sizes, known_sizes, number_of, shape_from
from lanewise.trace.table.checks import checked, required, static
from lanewise.trace.table.creation import array_like, converted
from lanewise.trace.table.manipulation import (
    broadcast_to,
    concatenate,
    has_data_rows,
    with_inner_rank,
)
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, emit


def with_rank(x: Any, ndim: int) -> Any:
    """Return x with axes of size 1 before its own until it has `ndim`: ``np.array(ndmin=)``."""
    return np.reshape(x, (*(1,) * (ndim - x.ndim), *x.shape)) if x.ndim < ndim else x


# --- stacking -----------------------------------------------------------------------------------


def _raised(x: Any) -> Any:
    """Return x with three axes: those of an image and its colours."""
    x = with_rank(x, 2)
    return x[:, :, None] if x.ndim == 2 else x


def _at_least(raised: Callable[[Any], Any]) -> Any:
    """Return the function that gives arrays more axes, and one array alone."""

    def function(*arys: Any) -> Any:
        results = tuple([raised(array_like(x)) for x in arys])
        return results[0] if len(results) == 1 else results

    return function


atleast_1d = implements(np.atleast_1d)(_at_least(lambda x: with_rank(x, 1)))
atleast_2d = implements(np.atleast_2d)(_at_least(lambda x: with_rank(x, 2)))
atleast_3d = implements(np.atleast_3d)(_at_least(_raised))


@implements(np.hstack)
def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    if has_data_rows(tup):
        rows = with_inner_rank(tup, 1)
        return concatenate(rows, int(rows.ndim > 2), dtype=dtype, casting=casting)
    arrays = [with_rank(array_like(x), 1) for x in tup]
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return concatenate(arrays, axis, dtype=dtype, casting=casting)


@implements(np.vstack)
def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    if has_data_rows(tup):
        return concatenate(with_inner_rank(tup, 2), dtype=dtype, casting=casting)
    arrays = [with_rank(array_like(x), 2) for x in tup]
    return concatenate(arrays, 0, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Sequence[Any]) -> Tensor:
    if has_data_rows(tup):
        rows = with_inner_rank(tup, 2)
        return concatenate(rows[..., None] if rows.ndim == 3 else rows, 2)
    return np.concatenate([atleast_3d(x) for x in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Tensor:
    if has_data_rows(tup):
        rows: Any = tup
        return concatenate(rows[(..., *(None,) * max(3 - rows.ndim, 0))], 1)
    arrays = [array_like(x) for x in tup]
    return np.concatenate([with_rank(x, 2).T if x.ndim < 2 else x for x in arrays], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    if axis is None:
        return np.concatenate([np.ravel(array_like(arr)), np.ravel(array_like(values))])
    return np.concatenate([array_like(arr), array_like(values)], axis)


@implements(np.block)
def block(arrays: Any) -> Tensor:
    depth, rank = _block_depth(arrays)
    if not depth:
        return as_tensor(arrays).copy()
    rank = max(rank, depth)

    def assemble(part: Any, level: int) -> Any:
        if level == depth:
            return with_rank(array_like(part), rank)
        return np.concatenate([assemble(p, level + 1) for p in part], level - depth)

    return assemble(arrays, 0)


def _block_depth(part: Any) -> tuple[int, int]:
    """Return how deep lists are nested, the same everywhere, and the greatest rank in them."""
    if isinstance(part, tuple):
        raise TypeError(
            "arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not "
            "allow implicit conversion from tuple to ndarray."
        )
    if not isinstance(part, list):
        return 0, array_like(part).ndim
    if not part:
        raise ValueError("List at arrays cannot be empty")
    depths, ranks = zip(*map(_block_depth, part), strict=True)
    if len(set(depths)) > 1:
        raise ValueError(f"List depths are mismatched: {sorted(set(depths))}")
    return depths[0] + 1, max(ranks)


# --- splitting ----------------------------------------------------------------------------------


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    indices = indices_or_sections
    is_list = isinstance(indices, (list, tuple))
    if not is_list and (not np.ndim(indices) or has_sizes(np.shape(indices))):
        static(np.array_split, "a number of sections, and a number of indices,", indices,
               "how many arrays it gives would depend on the data. Use a loop over slices x[i:j]",
               shape_is_data=True)  # fmt: skip
    x = as_tensor(ary)
    axis = normalize_axis(axis, x.ndim)
    size = x.shape[axis]
    if contains_tensor(indices):
        points = [0, *indices, size]
    elif is_list or np.ndim(indices):
        points = [0, *known_sizes(list(indices)), size]
    else:
        sections = int(indices)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = size // sections, size % sections
        points = [i * each + dim_min(i, extra) for i in range(sections + 1)]
    before = (slice(None),) * axis
    return [x[(*before, slice(a, b))] for a, b in pairwise(points)]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    if not contains_tensor(indices_or_sections) and not np.ndim(indices_or_sections):
        x = as_tensor(ary)
        left = x.shape[normalize_axis(axis, x.ndim)] % indices_or_sections
        problem = ValueError("array split does not result in an equal division")
        required(True if left == 0 else number_of(left) == 0, problem)
    return array_split(ary, indices_or_sections, axis)


def _split_along(axis: int, least: int, name: str) -> Any:
    """Return the function that splits along an axis, of arrays of so many axes at least."""

    def function(ary: Any, indices_or_sections: Any) -> list[Any]:
        ndim = as_tensor(ary).ndim
        if ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, min(axis, ndim - 1))

    return function


hsplit = implements(np.hsplit)(_split_along(1, 1, "hsplit"))
vsplit = implements(np.vsplit)(_split_along(0, 2, "vsplit"))
dsplit = implements(np.dsplit)(_split_along(2, 3, "dsplit"))


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    x = as_tensor(x)
    if not x.ndim:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(np.moveaxis(x, axis, 0))


# --- inserting and deleting ---------------------------------------------------------------------


def _along(x: Any, axis: int | None) -> tuple[Tensor, int]:
    x = as_tensor(x)
    return (np.ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim))


def _position(obj: Tensor, size: int, axis: int) -> Tensor:
    """Return a traced position in ``range(size)``, non-negative; what is beyond raises."""
    if obj.ndim or obj.dtype.kind not in "iu":
        static(
            np.insert,
            "positions",
            obj,
            "only a single integer may be. Compute the order of the elements, and use np.take",
            shape_is_data=obj.dtype.kind == "b",
        )
    fits = (obj >= -size) & (obj < size)
    problem = IndexError(f"the position is out of bounds for axis {axis} with size {size}")
    obj = checked(obj, fits, problem)
    return np.where(obj < 0, obj + size, obj)


def _around(function: Any, x: Tensor, place: Any, axis: int, count: Any) -> tuple[Any, Any]:
    """Return what is before a place on an axis of unknown size, and what is not."""
    place = known_sizes(place)
    if type(place) is not int and not isinstance(place, Dim):
        raise UnsupportedError(
            f"np.{function.__name__} along an axis of unknown size at {place!r}{at(here())}: one "
            "place may be given, as an int. Concatenate the parts otherwise"
        )
    size, index = x.shape[axis], number_of(place)
    fits = np.logical_and(index >= -number_of(size), index < number_of(count))
    required(fits, IndexError(f"index {place} is out of bounds for axis {axis}"))
    whole = (slice(None),) * axis
    return x[(*whole, slice(None, place))], x[(*whole, slice(place, None))]


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    x, axis = _along(arr, axis)
    size = x.shape[axis]
    if isinstance(size, Dim):
        before, behind = _around(np.delete, x, obj, axis, size)
        return np.concatenate([before, behind[(*(slice(None),) * axis, slice(1, None))]], axis)
    if not contains_tensor(obj):
        return np.take(x, np.delete(np.arange(size), obj), axis)
    places = as_tensor(obj)
    if places.ndim:
        return np.compress(_left(places, size), x, axis)
    kept = np.arange(max(size - 1, 0))
    return np.take(x, kept + (kept >= _position(places, size, axis)), axis)


def _left(places: Tensor, size: int) -> Any:
    """Return which of so many elements are left where those at some places are deleted."""
    if places.dtype.kind == "b":
        if places.shape != (size,):
            raise ValueError(
                "boolean array argument obj to delete must be one-dimensional and match the axis "
                f"length of {size}"
            )
        return np.logical_not(places)
    left = as_tensor(np.ones(size, bool))
    left[np.ravel(places)] = False
    return left


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    x, axis = _along(arr, axis)
    size = x.shape[axis]
    new = with_rank(converted(values, x.dtype), x.ndim)
    if isinstance(size, Dim):
        before, behind = _around(np.insert, x, obj, axis, size + 1)
        new = np.moveaxis(new, 0, axis)
        new = broadcast_to(new, (*x.shape[:axis], new.shape[axis], *x.shape[axis + 1 :]))
        return np.concatenate([before, new, behind], axis)
    if contains_tensor(obj):
        obj = as_tensor(obj)
        # NumPy's own bounds: from -size to size, where size is behind the last.
        at_place = np.where(obj < 0, obj + size, obj)
        new = np.moveaxis(new, 0, axis)
        order = np.arange(size + new.shape[axis])
        at_place = _position(
            checked(
                at_place,
                obj >= -size,
                IndexError(f"the position is out of bounds for axis {axis} with size {size}"),
            ),
            size + 1,
            axis,
        )
        count = new.shape[axis]
        is_new = (order >= at_place) & (order < at_place + count)
        source = np.where(is_new, order - at_place + size, order - (order >= at_place) * count)
    else:
        positions = np.arange(size)[obj] if isinstance(obj, slice) else np.asarray(obj)
        if positions.dtype == bool:
            positions = np.flatnonzero(positions) if positions.ndim == 1 else positions
        if positions.size == 1 and positions.ndim < 2:
            new = np.moveaxis(new, 0, axis) if positions.ndim == 0 else new
            count = new.shape[axis]
            source = np.insert(np.arange(size), int(positions.item()), size + np.arange(count))
        else:
            count = positions.size
            source = np.insert(np.arange(size), obj, size + np.arange(count))
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return np.take(np.concatenate([x, broadcast_to(new, shape)], axis), source, axis)


# --- repeating ----------------------------------------------------------------------------------


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    repeats = as_tensor(repeats) if contains_tensor(repeats) else repeats
    if isinstance(repeats, Tensor) and repeats.shape == (1,):
        repeats = repeats[0]
    repeats = defined_sizes(repeats, "np.repeat(x, n)")
    x, axis = _along(a, axis) if axis is None or np.ndim(a) else (np.ravel(as_tensor(a)), 0)
    if isinstance(repeats, Dim):
        return _repeated(x, repeats, axis)
    if isinstance(repeats, Tensor):
        return _repeated_each(x, repeats, axis)
    counts = np.asarray(repeats)
    if isinstance(repeats, (np.ndarray, np.generic)) and counts.dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {counts.dtype!r} to dtype('int64')")
    counts = counts.astype(np.intp)
    if counts.size != 1 or counts.ndim > 1:
        return np.take(x, np.repeat(np.arange(x.shape[axis]), counts), axis)
    count = int(counts.item())
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    return _repeated(x, count, axis)


def _repeated_each(x: Tensor, counts: Any, axis: int) -> Tensor:
    """Return the elements along an axis, each as often as the data say."""
    if counts.dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {counts.dtype!r} to dtype('int64')")
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    if differ(counts.shape[0], x.shape[axis]):
        raise ValueError(
            f"operands could not be broadcast together with shape ({x.shape[axis]},) {counts.shape}"
        )
    problem = ValueError("repeats may not contain negative values.")
    counts: Any = counts.astype(np.intp)
    counts = checked(counts, (counts >= 0).all(), problem)
    total = defined_sizes(np.sum(counts), "np.repeat(x, counts)")
    places: Any = emit(iota, length=total, dtype=np.dtype(np.intp))
    order: Any = np.searchsorted(np.cumsum(counts), places, side="right")
    return np.take(x, order, axis)


def _repeated(x: Tensor, count: DimLike, axis: int) -> Tensor:
    """Return each element along an axis so many times."""
    before, size, behind = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    wide = broadcast_to(np.expand_dims(x, axis + 1), (*before, size, count, *behind))
    return np.reshape(wide, (*before, size * count, *behind)).copy()


@implements(np.tile)
def tile(A: Any, reps: Any) -> Tensor:  # noqa: N803
    reps = defined_sizes(reps, "np.tile(x, n)")
    static(np.tile, "counts", reps, "the shape of the result would depend on the data",
           shape_is_data=True)  # fmt: skip
    counts = shape_from(reps)
    x = as_tensor(A)
    x = with_rank(x, len(counts))
    counts = (1,) * (x.ndim - len(counts)) + counts
    if all(count == 1 for count in counts):
        return x.copy()
    if any([isinstance(count, int) and count < 0 for count in counts]):
        raise ValueError("negative dimensions are not allowed")
    apart = [n for size in x.shape for n in (1, size)]
    wide = [n for count, size in zip(counts, x.shape, strict=True) for n in (count, size)]
    shape = tuple(count * size for count, size in zip(counts, x.shape, strict=True))
    return np.reshape(broadcast_to(np.reshape(x, tuple(apart)), tuple(wide)), shape).copy()


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Tensor:
    """The elements in a row, repeated as often as they must be to fill the new shape."""
    static(np.resize, "shapes", new_shape, "they are needed to make the result", shape_is_data=True)
    shape = tuple(new_shape) if np.ndim(new_shape) else (int(new_shape),)
    size = 1
    for dim in shape:
        size *= dim
        if dim < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
    x = np.ravel(as_tensor(a))
    if not size or not x.size:
        return np.zeros_like(x, shape=shape)
    return np.reshape(tile(x, -(-size // x.size))[:size], shape).copy()
