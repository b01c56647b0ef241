"""``np.pad``, every mode: blocks set before and behind the elements, one axis after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim
from lanewise.ir.location import here
from lanewise.ops.creation import iota
from lanewise.ops.movement import pad as pad_op
from lanewise.trace.sizes import has_sizes, known_sizes, number_of
from lanewise.trace.table.checks import required, static
from lanewise.trace.table.creation import array_like, converted
from lanewise.trace.table.manipulation import broadcast_to
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, emit

Pair = tuple[Any, Any]
#: Returns the blocks before and behind x along an axis, for the two widths.
Blocks = Callable[[Tensor, int, tuple[int, int]], tuple[Any, Any]]


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Tensor:
    x = as_tensor(array)
    pad_width = known_sizes(pad_width)
    static(np.pad, "widths", pad_width, "the shape of the result would depend on the data",
           shape_is_data=True)  # fmt: skip
    if isinstance(pad_width, dict):
        by_axis: list[Any] = [(0, 0)] * x.ndim
        for axis, width in pad_width.items():
            by_axis[axis] = (width, width) if isinstance(width, int) else width
        pad_width = by_axis
    if has_sizes(pad_width):
        if mode not in ("constant", "empty"):
            raise UnsupportedError(
                f"np.pad by a size that is not known{at(here())}, in mode {mode!r}: only the modes "
                "'constant' and 'empty' are followed"
            )
        widths = _sized_widths(pad_width, x.ndim)
        return _with_constants(x, widths, kwargs.get("constant_values", 0))
    given = np.asarray(pad_width)
    if given.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    widths = [tuple(map(int, pair)) for pair in _lengths(given, x.ndim)]
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    np.pad(np.ones(1), 0, mode, **dict.fromkeys(kwargs, 1))  # raises for another mode, or keyword
    if mode == "empty":
        return _constant(x, widths, 0)
    if mode == "constant":
        return _with_constants(x, widths, kwargs.get("constant_values", 0))
    if x.size == 0:
        for axis, pair in enumerate(widths):
            if x.shape[axis] == 0 and any(pair):
                raise ValueError(
                    f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
                )
        return _constant(x, widths, 0)
    if mode == "linear_ramp":
        ends = _pairs(kwargs.get("end_values", 0), x.ndim)
        return _by_axis(x, widths, [_ramp(end) for end in ends])
    if mode in _STATISTICS:
        lengths = kwargs.get("stat_length")
        pairs = [(None, None)] * x.ndim if lengths is None else _lengths(lengths, x.ndim)
        return _by_axis(x, widths, [_statistic(_STATISTICS[mode], pair) for pair in pairs])
    if kwargs.get("reflect_type", "even") == "odd":
        return _by_axis(x, widths, [_odd_reflection(mode == "symmetric")] * x.ndim)
    for axis, pair in enumerate(widths):
        if any(pair):  # elements of x, in the order in which NumPy lays out their numbers
            x = np.take(x, _places(x.shape[axis], pair, mode), axis)
    return x if x is not array else x.copy()


def _sized_widths(widths: Any, ndim: int) -> list[Any]:
    """Return a pair of widths for each axis, as NumPy broadcasts what it is given."""
    if not isinstance(widths, (list, tuple)):
        return [(widths, widths)] * ndim
    rows = [row if isinstance(row, (list, tuple)) else (row,) for row in widths]
    if all([len(row) == 1 for row in rows]) and not isinstance(widths[0], (list, tuple)):
        rows = [tuple(widths)]
    pairs = [(row[0], row[-1]) for row in rows]
    if len(pairs) not in (1, ndim) or any([len(row) > 2 for row in rows]):
        raise ValueError(f"pad widths {widths} do not fit an array of {ndim} dimensions")
    return pairs * ndim if len(pairs) == 1 else pairs


def _places(size: Any, pair: tuple[int, int], mode: str) -> Any:
    """Return for each place of an axis after padding the one that its element is from."""
    if not isinstance(size, Dim):
        return np.pad(np.arange(size), pair, mode)  # type: ignore[call-overload]
    n = number_of(size)
    required(n > 0, ValueError("can't extend an empty axis using modes other than 'constant'"))
    places = emit(iota, length=size + sum(pair), dtype=np.dtype(np.intp)) - pair[0]
    if mode == "edge":
        return np.minimum(np.maximum(places, 0), n - 1)
    if mode == "wrap":
        return places % n
    period = 2 * n if mode == "symmetric" else np.maximum(2 * n - 2, 1)
    places = places % period
    return np.where(places < n, places, period - places - (mode == "symmetric"))


def _pairs(values: Any, ndim: int) -> list[Pair]:
    """Return a pair for each axis: one for all, or one each; of a single number, it twice."""
    pairs = array_like(values)
    wide = np.broadcast_to(pairs, (ndim, 2))
    if not isinstance(pairs, Tensor):
        return [tuple(pair) for pair in wide.tolist()]
    return [(wide[axis, 0], wide[axis, 1]) for axis in range(ndim)]


def _lengths(values: Any, ndim: int) -> list[Pair]:
    static(np.pad, "lengths", values, "they are needed to make the result", shape_is_data=True)
    lengths = np.round(np.asarray(values)).astype(np.intp)
    if (lengths < 0).any():
        raise ValueError("index can't contain negative values")
    return _pairs(lengths, ndim)


def _constant(x: Tensor, widths: Any, value: Any) -> Tensor:
    return emit(pad_op, x, _written(value, x.dtype), widths=tuple(map(tuple, widths)))


def _written(value: Any, dtype: np.dtype) -> Tensor:
    """Return a constant as an element: NumPy has made a scalar of its own of a Python number."""
    value = value.copy() if type(value) is Tensor else value
    return converted(value, dtype, set_alone=True)


def _with_constants(x: Tensor, widths: list[Any], values: Any) -> Tensor:
    pairs = _pairs(values, x.ndim)
    if not contains_tensor(pairs) and len(set(map(str, sum(pairs, ())))) == 1:
        return _constant(x, widths, np.asarray(pairs[0][0]).astype(x.dtype)
                         if isinstance(values, np.ndarray) else pairs[0][0])  # fmt: skip

    def constants(pair: Pair) -> Blocks:
        return lambda x, axis, widths: tuple([_written(value, x.dtype) for value in pair])

    return _by_axis(x, widths, [constants(pair) for pair in pairs])


def _by_axis(x: Tensor, widths: list[Any], blocks: list[Blocks]) -> Tensor:
    """Extend one axis after the other; each takes in what the axes before it were extended by."""
    for axis, (pair, make) in enumerate(zip(widths, blocks, strict=True)):
        made = make(x, axis, pair)  # also where the widths are 0: it may raise
        before, behind = (
            [_wide(block, x, axis, width)] if width else []
            for block, width in zip(made, pair, strict=True)
        )
        x = np.concatenate([*before, x, *behind], axis) if before or behind else x.copy()
    return x


def _wide(block: Any, x: Tensor, axis: int, width: int) -> Tensor:
    """Return a block in the dtype of x, broadcast to its shape but for the width along an axis."""
    shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
    return broadcast_to(np.astype(as_tensor(block), x.dtype, copy=False), shape)


def _slab(x: Tensor, axis: int, *bounds: int | None) -> Tensor:
    return x[(*(slice(None),) * axis, slice(*bounds))]


def _ramp(ends: Pair) -> Blocks:
    def blocks(x: Tensor, axis: int, widths: tuple[int, int]) -> Any:
        edges = _slab(x, axis, 0, 1), _slab(x, axis, -1, None)
        left, right = (
            np.linspace(
                end, np.squeeze(edge, axis), width, endpoint=False, dtype=x.dtype, axis=axis
            )
            for end, edge, width in zip(ends, edges, widths, strict=True)
        )
        return left, np.flip(right, axis)

    return blocks


_STATISTICS: dict[Any, Any] = {
    "maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median
}  # fmt: skip


def _statistic(function: Any, lengths: Pair) -> Blocks:
    def blocks(x: Tensor, axis: int, widths: tuple[int, int]) -> Any:
        size = x.shape[axis]
        left, right = (size if n is None or n > size else n for n in lengths)
        if 0 in (left, right) and function in (np.max, np.min):
            raise ValueError("stat_length of 0 yields no value for padding")

        def value(part: Tensor) -> Any:
            result = function(part, axis=axis, keepdims=True)
            return np.round(result) if x.dtype.kind in "iu" else result

        first = value(_slab(x, axis, 0, left))
        if left == right == size:
            return first, first
        return first, value(_slab(x, axis, size - right, size))

    return blocks


def _odd_reflection(has_edge: bool) -> Blocks:
    """Return what reflects at the edge point, ``2 * edge - x``, as often as the width takes."""

    def blocks(x: Tensor, axis: int, widths: tuple[int, int]) -> Any:
        size = period = x.shape[axis]
        if size == 1:  # as in NumPy, which repeats a single element instead
            return x, x
        whole, missing = x, list(widths)
        while any(missing):
            length = whole.shape[axis]
            if has_edge:
                length = length // period * period
            else:
                length = (length - 1) // (period - 1) * (period - 1)
            skipped = 0 if has_edge else 1
            parts = [whole]
            counts = [min(length, n) for n in missing]
            if counts[0]:
                near = _slab(whole, axis, skipped, skipped + counts[0])
                parts.insert(0, 2 * _slab(whole, axis, 0, 1) - np.flip(near, axis))
                whole = np.concatenate(parts, axis)
                parts = [whole]
            if counts[1]:
                end = whole.shape[axis] - skipped
                near = _slab(whole, axis, end - counts[1], end)
                parts.append(2 * _slab(whole, axis, -1, None) - np.flip(near, axis))
                whole = np.concatenate(parts, axis)
            missing = [n - count for n, count in zip(missing, counts, strict=True)]
        left, _ = widths
        return _slab(whole, axis, 0, left), _slab(whole, axis, left + size, None)

    return blocks


def _by_function(x: Tensor, widths: list[Any], function: Any, kwargs: dict[str, Any]) -> Tensor:
    """Let the user's function fill the borders of every row along every axis, in place."""
    padded = _constant(x, widths, 0)
    for axis in range(padded.ndim):
        rows = np.moveaxis(padded, axis, -1)
        for index in np.ndindex(*rows.shape[:-1]):
            function(rows[(*index, ...)], widths[axis], axis, kwargs)
    return padded
