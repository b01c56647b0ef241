"""Places and values of which the data say how many there are: nonzero elements, unique values."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.errors import DataDependentShapeError, UnsupportedError, at
from lanewise.ir.dims import Dim, product
from lanewise.ir.location import here
from lanewise.ops.searching import flatnonzero as places_op
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.ends import axis_places
from lanewise.trace.origins import INSTEAD
from lanewise.trace.sizes import counted, number_of
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, emit

#: Rows of so many elements at most are told apart by a sort of each column.
MOST_COLUMNS = 64
_MARK = (
    "Sort with np.sort(x); np.diff(np.sort(x)) != 0 marks where another value begins, and "
    "np.bincount(x, minlength=n) counts integers"
)


def _places(holds: Any, what: str = "np.nonzero(x)", instead: str = INSTEAD) -> Tensor:
    """Return the places where a mask of one axis holds."""
    return emit(places_op, holds, length=counted(holds, what, instead))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return _places(np.reshape(as_tensor(a), -1).astype(bool))


@implements(np.nonzero)
def nonzero(a: Any) -> Any:
    x = as_tensor(a)
    if not x.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(a)")
    places = flatnonzero(x)
    return (places,) if x.ndim == 1 else np.unravel_index(places, x.shape)


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    x = as_tensor(a)
    if x.ndim:
        return np.stack(nonzero(x), axis=1)
    return np.argwhere(np.reshape(x, 1))[:, :0]


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    x = as_tensor(filt)
    if x.ndim != 1 or axis not in (None, 0, -1):
        raise UnsupportedError(f"np.trim_zeros of several axes is not followed{at(here())}")
    ways = trim.lower()
    if ways not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    places = flatnonzero(x)
    first = np.min(places, initial=number_of(x.size)) if "f" in ways else 0
    last = np.max(places, initial=-1) + 1 if "b" in ways else number_of(x.size)
    return x[first:last]


# --- unique values, and sets of them --------------------------------------------------------------


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    whole = as_tensor(ar)
    axis = None if axis is None else normalize_axis(axis, whole.ndim)
    if axis is None or whole.ndim == 1:
        x, shape = np.ravel(whole), whole.shape
    else:
        x = np.moveaxis(whole, axis, 0)
        shape = x.shape[:1]
    wanted = (return_index, return_inverse, return_counts)
    order = None if x.ndim == 1 and not any(wanted) else _order(x)
    ordered = np.sort(x) if order is None else x[order]
    begins = _begins(ordered, equal_nan)
    places = _places(begins, "np.unique(x)", _MARK)
    values = ordered[places]
    values = values if axis is None else np.moveaxis(values, 0, axis)
    if order is None or not any(wanted):
        return values
    rank = np.cumsum(begins, dtype=np.intp) - 1  # of each element's value among the unique ones
    inverse = np.zeros_like(rank)
    inverse[order] = rank
    size = np.reshape(as_tensor(number_of(x.shape[0])), (1,)).astype(np.intp)
    ends = np.concatenate([places[1:], size])[: places.shape[0]]
    parts = order[places], np.reshape(inverse, shape), ends - places
    return values, *[part for part, is_in in zip(parts, wanted, strict=True) if is_in]


def _order(x: Tensor) -> Any:
    """Return which of an array's elements, or rows, is the least, and so on."""
    if x.ndim == 1:
        return np.argsort(x, stable=True)
    columns = product(x.shape[1:])
    if isinstance(columns, Dim) or not 0 < columns <= MOST_COLUMNS:
        raise DataDependentShapeError(
            f"np.unique of rows of {columns} elements is not followed{at(here())}, but of 1 to "
            f"{MOST_COLUMNS}. {_MARK}"
        )
    rows = np.reshape(x, (x.shape[0], columns))
    return np.lexsort(tuple([rows[:, i] for i in reversed(range(columns))]))


def _begins(data: Tensor, equal_nan: bool) -> Any:
    """Return where in sorted data another value begins, or another row."""
    before, behind = data[:-1], data[1:]
    differs, first = before != behind, np.ones_like(data[:1], dtype=bool)
    if data.ndim > 1:
        of_rows = tuple(range(1, data.ndim))
        differs, first = np.any(differs, axis=of_rows), np.all(first, axis=of_rows)
    elif equal_nan and data.dtype.kind in "fc":
        differs = np.logical_and(differs, ~np.logical_and(np.isnan(before), np.isnan(behind)))
    # One more than there are differences, of no elements none.
    return np.concatenate([first, differs])


def _array_api_form(function: Any, *wanted: bool) -> None:
    """Enter a function of the array API standard that gives unique values and more, by name."""
    kind = type(function(np.zeros(1)))

    @implements(function)
    def call(x: Any) -> Any:
        return kind(*unique(x, *wanted, equal_nan=False))


_array_api_form(np.unique_all, True, True, True)
_array_api_form(np.unique_inverse, False, True)
_array_api_form(np.unique_counts, False, False, True)


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    return unique(x, equal_nan=False)


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return np.unique(np.concatenate([np.ravel(as_tensor(ar1)), np.ravel(as_tensor(ar2))]))


@implements(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    first, second = np.ravel(as_tensor(ar1)), np.ravel(as_tensor(ar2))
    own = axis_places(first.size), axis_places(second.size)
    if not assume_unique:
        first, *own_first = np.unique(first, return_index=True)
        second, *own_second = np.unique(second, return_index=True)
        own = own_first[0], own_second[0]
    joined = np.concatenate([first, second])
    order = np.argsort(joined, kind="stable")
    ordered = joined[order]
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not return_indices:
        return ordered[twice]
    places = order[twice], order[twice + 1] - number_of(first.size)
    return ordered[twice], *[as_tensor(a)[b] for a, b in zip(own, places, strict=True)]


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    parts = [np.ravel(as_tensor(x)) for x in (ar1, ar2)]
    ordered = np.sort(np.concatenate(parts if assume_unique else [np.unique(x) for x in parts]))
    differs = ordered[1:] != ordered[:-1]
    edge = np.ones_like(ordered[:1], dtype=bool)
    return ordered[np.concatenate([edge, differs]) & np.concatenate([differs, edge])]


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first = np.ravel(as_tensor(ar1))
    first = first if assume_unique else np.unique(first)
    return first[np.isin(first, ar2, invert=True)]
