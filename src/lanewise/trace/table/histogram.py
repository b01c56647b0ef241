"""Counting: bincount, digitize, histograms in one and more dimensions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lanewise.errors import CutOffError, DataDependentShapeError, at
from lanewise.ir.dims import Dim, DimLike, Shape, product
from lanewise.ir.location import here
from lanewise.ops.elementwise import where
from lanewise.ops.indexing import scatter
from lanewise.trace.sizes import size_of
from lanewise.trace.table.checks import checked, must_be_row, must_cast, of_shape, required, static
from lanewise.trace.table.registry import implements
from lanewise.trace.table.sorting import array
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.trace import ROOM, state
from lanewise.trace.views import as_stored


def _counts(places: Any, values: Any, length: int, dtype: Any) -> Tensor:
    """Return for each of `length` places the sum of the values there."""
    values = as_tensor(values).astype(dtype)
    zeros = np.zeros_like(as_tensor(np.zeros((), dtype)), shape=(length,))
    return emit(scatter, zeros, values, places, axis=0, fn=np.add)


# --- bincount and digitize ----------------------------------------------------------------------


def _ones(shape: Shape, dtype: Any) -> Tensor:
    """Return ones, of which there is only one in memory."""
    return np.broadcast_to(as_tensor(np.ones((), dtype)), shape)


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    x = array(x)
    length: Any = _least_length(minlength)
    must_be_row(x)
    must_cast(x.dtype, np.uint64 if x.dtype.kind == "u" else np.intp)
    if weights is not None:
        weights = array(weights)
        must_cast(weights.dtype, float)
        must_be_row(weights)
        problem = ValueError("The weights and list don't have the same length.")
        weights = of_shape(weights, x.shape, problem)
    if x.dtype.kind == "i":
        x = checked(x, x >= 0, ValueError("'list' argument must have no negative elements"))
    if not isinstance(x, Tensor):  # the greatest element is known
        length = max(length, int(x.max()) + 1) if x.size else length
    elif isinstance(x.size, Dim) or x.size:
        x, length = _lengths(x, length)
    places = x.astype(np.intp)
    if weights is not None:
        return _counts(places, weights, length, float)
    return _counts(places, _ones(x.shape, np.intp), length, np.intp)


def _least_length(minlength: Any) -> int:
    instead = "the length of the result would depend on the data. Write the greatest that there is"
    static(np.bincount, "lengths minlength", minlength, instead, shape_is_data=True)
    if minlength is None:
        raise TypeError("use 0 instead of None for minlength")
    length = operator.index(minlength)
    if length < 0:
        raise ValueError("'minlength' must not be negative")
    return length


def _lengths(x: Tensor, least: int) -> tuple[Tensor, DimLike]:
    """Return x, checked to lie within counts of a length, and that length.

    A length that is given is taken for the length of the result, until that is found to be wrong.
    """
    most = 2 if x.dtype.kind == "b" else int(np.iinfo(x.dtype).max) + 1
    if most <= least:
        return x, least
    is_guess = bool(least) and not state.room
    bound = least if is_guess else max(least, min(most, ROOM[state.room]))
    if bound < most:
        too_great = CutOffError(_TOO_GREAT.format(bound, least))
        if is_guess:  # who asks for the length alone uses no element
            required(np.all(x < bound), too_great)
        x = checked(x, x < bound, too_great)
    if is_guess:
        return x, bound
    count = np.maximum(np.max(x.astype(np.intp), initial=-1) + 1, least)
    instead = "Give minlength=, one more than the greatest value there is"
    return x, size_of(count, bound, "np.bincount(x)", instead)


_TOO_GREAT = (
    "np.bincount met a value of {} or more with minlength={}: the length of its result depends on "
    "the data. Give a larger minlength=, or clip the values"
)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    x, bins = array(x), array(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    must_cast(bins.dtype, float)
    must_be_row(bins)
    rises = np.logical_not(np.any(bins[:-1] > bins[1:]))
    falls = np.logical_not(np.any(bins[:-1] < bins[1:]))
    monotonic = ValueError("bins must be monotonically increasing or decreasing")
    bins = checked(bins, np.logical_or(rises, falls), monotonic)
    side = "left" if right else "right"
    if not isinstance(rises, Tensor):
        return np.searchsorted(bins, x, side=side) if rises else _from_above(bins, x, side)
    return emit(where, rises, np.searchsorted(bins, x, side=side), _from_above(bins, x, side))


def _from_above(bins: Any, x: Any, side: str) -> Any:
    return bins.shape[0] - np.searchsorted(bins[::-1], x, side=side)


# --- histogram ----------------------------------------------------------------------------------


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    x, weights = _flat(a, weights)
    return _bin_edges(x, bins, range, weights)[0]


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    x, weights = _flat(a, weights)
    edges, ends = _bin_edges(x, bins, range, weights)
    if ends is not None and (weights is None or np.can_cast(weights.dtype, complex)):
        result = _in_equal_bins(x, weights, edges, *ends, has_all=range is None)
    elif weights is None:
        result = _in_given_bins(x, edges)
    else:
        result = _by_running_sum(x, weights, edges)
    if density:
        return result / np.diff(edges).astype(float) / np.sum(result), edges
    return result, edges


def _flat(a: Any, weights: Any) -> tuple[Any, Any]:
    """Return the values and the weights in a row."""
    x = array(a)
    if x.dtype.kind == "b":
        x = x.astype(np.uint8)
    if weights is not None:
        weights = array(weights)
        problem = ValueError("weights should have the same shape as a.")
        weights = np.ravel(of_shape(weights, x.shape, problem))
    return np.ravel(x), weights


def _bin_edges(x: Any, bins: Any, range: Any, weights: Any) -> tuple[Any, tuple[Any, Any] | None]:
    """Return the edges of the bins, and the outer ends if the bins are of equal width."""
    if isinstance(bins, str):
        np.histogram_bin_edges(np.zeros(0), bins, weights=None if weights is None else np.zeros(0))
        raise DataDependentShapeError(
            f"np.histogram with bins={bins!r}{at(here())} is not followed: the number of bins "
            "depends on the data. Give bins= as a number, or as edges"
        )
    if np.ndim(bins) == 0:
        number = _bin_count(bins, "`bins` must be an integer, a string, or an array", "`bins`")
        first, last = _outer_ends(x, range)
        dtype = np.result_type(
            *[e.dtype if hasattr(e, "dtype") else e for e in (first, last)], x.dtype
        )
        dtype = np.result_type(dtype, float) if dtype.kind in "iu" else dtype
        edges = np.linspace(first, last, number + 1, dtype=dtype)
        too_many = ValueError(
            f"Too many bins for data range. Cannot create {number} finite-sized bins."
        )
        return checked(edges, np.logical_not(edges[:-1] >= edges[1:]), too_many), (first, last)
    bins = array(bins)
    if bins.ndim != 1:
        raise ValueError("`bins` must be 1d, when an array")
    falling = ValueError("`bins` must increase monotonically, when an array")
    return checked(bins, np.logical_not(bins[:-1] > bins[1:]), falling), None


def _bin_count(bins: Any, problem: str, name: str) -> int:
    static(np.histogram, "numbers of bins", bins, "give a number", shape_is_data=True)
    try:
        number = operator.index(bins)
    except TypeError as error:
        raise TypeError(problem) from error
    if number < 1:
        raise ValueError(f"{name} must be positive, when an integer")
    return number


def _outer_ends(x: Any, range: Any) -> tuple[Any, Any]:
    """Return the ends of the range, or of the data; apart where they are one."""
    kind = "autodetected"
    if range is not None:
        kind = "supplied"
        first, last = range
        if isinstance(first, Tensor) or isinstance(last, Tensor):
            dtype = x.dtype if x.dtype.kind == "f" else np.dtype(float)
            first, last = as_stored(first, dtype), as_stored(last, dtype)
        order = ValueError("max must be larger than min in range parameter.")
        first = checked(first, np.logical_not(first > last), order)
    elif x.size == 0:
        return 0, 1
    else:
        first, last = np.min(x), np.max(x)
    finite = np.logical_and(np.isfinite(first), np.isfinite(last))
    first = checked(first, finite, ValueError(f"{kind} range is not finite"))
    is_one = first == last
    if not isinstance(is_one, Tensor):
        return (first - 0.5, last + 0.5) if is_one else (first, last)
    below, above = np.subtract(first, 0.5), np.add(last, 0.5)
    return (
        emit(where, is_one, below, first.astype(below.dtype)),
        emit(where, is_one, above, last.astype(above.dtype)),
    )


def _width(first: Any, last: Any) -> Any:
    """Return the distance of the ends, of integers as an unsigned one, which can hold it."""
    if isinstance(first, Tensor):
        return np.subtract(last, first)
    dtype = np.result_type(last, first)
    if dtype.kind != "i":
        return np.subtract(last, first, dtype=dtype)
    ends = np.asarray(last, dtype), np.asarray(first, dtype)
    return np.subtract(*ends, casting="unsafe", dtype=np.dtype(f"u{dtype.itemsize}"))


def _in_equal_bins(
    x: Any, weights: Any, edges: Any, first: Any, last: Any, has_all: bool
) -> Tensor:
    """Count in bins of equal width: compute the bin, and then correct it at the very edges."""
    number = edges.shape[0] - 1
    inside = _ones(x.shape, bool) if has_all else np.logical_and(x >= first, x <= last)
    x, edges = as_tensor(x).astype(edges.dtype), as_tensor(edges)
    place = np.subtract(x, first) / _width(first, last) * number
    place = emit(where, inside, place, as_stored(0, place.dtype)).astype(np.intp)
    place = np.minimum(place, number - 1)
    # As edges rise, at most one of the two holds.
    above = np.logical_and(x >= edges[place + 1], place != number - 1)
    place = np.maximum(place - (x < edges[place]), 0) + above
    if weights is None:
        return _counts(place, inside, number, np.intp)
    values = emit(where, inside, weights, as_stored(0, weights.dtype))
    dtype = complex if weights.dtype.kind == "c" else float
    return _counts(place, values, number, dtype).astype(weights.dtype)


def _in_given_bins(x: Any, edges: Any) -> Any:
    """Count between given edges; the last bin has its right edge too."""
    number = edges.shape[0] - 1
    if number < 1:
        return np.zeros(0, np.intp)
    inside = np.logical_and(x >= edges[0], x <= edges[-1])
    place = np.searchsorted(edges, x, side="right") - 1
    return _counts(np.maximum(np.minimum(place, number - 1), 0), inside, number, np.intp)


def _by_running_sum(x: Any, weights: Any, edges: Any) -> Any:
    """Sum weights between given edges as differences of their running sum, as NumPy does."""
    if weights.dtype.kind == "b":
        raise TypeError("weights that are truth values cannot be summed; convert them to integers")
    order = np.argsort(as_tensor(x))
    x, weights = as_tensor(x)[order], as_tensor(weights)[order]
    running = np.concatenate([np.zeros(1, weights.dtype), np.cumsum(weights)])
    begins = np.searchsorted(x, edges[:-1], side="left")
    place = np.concatenate([begins, np.searchsorted(x, edges[-1:], side="right")])
    return np.diff(running[place].astype(weights.dtype))


# --- more dimensions ----------------------------------------------------------------------------


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if isinstance(sample, (list, tuple)) or sample.ndim != 2:
        rows = array(sample)
        sample = np.reshape(rows, (1,) * (2 - rows.ndim) + rows.shape).T
    dims = sample.shape[1]
    if not isinstance(bins, (list, tuple)) and np.ndim(bins) == 0:
        bins = [bins] * dims
    elif len(bins) != dims:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if range is None:
        range = (None,) * dims
    elif len(range) != dims:
        raise ValueError("range argument must have one entry per dimension")
    edges, places, sizes = [], np.zeros((), np.intp), []
    for i, (own, ends) in enumerate(zip(bins, range, strict=True)):
        column = sample[:, i]
        edges.append(_edges_of(i, column, own, ends))
        place = np.searchsorted(edges[i], column, side="right")
        place = place - (column == edges[i][-1])  # the last bin has its right edge too
        sizes.append(edges[i].shape[0] + 1)
        places = places * sizes[i] + place
    count = product(sizes)
    if weights is None:
        result = _counts(places, _ones(places.shape, float), count, float)
    else:
        weights = array(weights)
        must_cast(weights.dtype, float)
        result = _counts(places, weights, count, float)
    result = np.reshape(result, tuple(sizes))[(slice(1, -1),) * dims]
    if density:
        total = np.sum(result)
        for i, own in enumerate(edges):
            shape = tuple(sizes[i] - 2 if j == i else 1 for j, _ in enumerate(sizes))
            result = result / np.reshape(np.diff(own), shape)
        result = result / total
    return result, edges


def _edges_of(i: int, column: Any, bins: Any, range: Any) -> Any:
    """Return the edges of the bins along one dimension."""
    if np.ndim(bins) == 0:
        if not isinstance(bins, Tensor) and bins < 1:
            raise ValueError(f"`bins[{i}]` must be positive, when an integer")
        first, last = _outer_ends(column, range)
        number = _bin_count(bins, f"`bins[{i}]` must be an integer, when a scalar", f"`bins[{i}]`")
        return np.linspace(first, last, number + 1)
    bins = array(bins)
    if bins.ndim != 1:
        raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
    falling = ValueError(f"`bins[{i}]` must be monotonically increasing, when an array")
    return checked(bins, np.logical_not(bins[:-1] > bins[1:]), falling)


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    x, y = array(x), array(y)
    y = of_shape(y, (x.shape[0], *y.shape[1:]), ValueError("x and y must have the same length."))
    if (isinstance(bins, (list, tuple)) or np.ndim(bins)) and len(bins) not in (1, 2):
        bins = [array(bins)] * 2
    result, edges = histogramdd([x, y], bins, range, density, weights)
    return result, edges[0], edges[1]
