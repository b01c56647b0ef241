"""Sorting, partitioning, membership, and what picks elements by a condition."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim
from lanewise.ops.searching import searchsorted as searchsorted_op
from lanewise.ops.shapes import normalize_axis
from lanewise.ops.sorting import argpartition as argpartition_op
from lanewise.ops.sorting import argsort as argsort_op
from lanewise.ops.sorting import partition as partition_op
from lanewise.ops.sorting import sort as sort_op
from lanewise.trace.table.checks import checked, of_shape, static
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, emit


def array(x: Any) -> Any:
    """Return x as a tensor where it holds one, as a plain array otherwise."""
    return x if isinstance(x, Tensor) else as_tensor(x) if contains_tensor(x) else np.asanyarray(x)


# --- sorting ------------------------------------------------------------------------------------


def _along(a: Any, axis: int | None) -> tuple[Tensor, int]:
    """Return what to sort along which axis: the flat array where axis is None."""
    x = as_tensor(a)
    if axis is None:
        return np.reshape(x, -1), 0
    return x, normalize_axis(operator.index(axis), x.ndim)


def _kind(kind: Any, order: Any, stable: Any) -> str | None:
    """Return the kind of sort that is asked for, or raise what NumPy raises."""
    np.argsort(np.empty(1), kind=kind, order=order, stable=stable)
    return "stable" if stable else kind


@implements(np.sort)
def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Tensor:
    x, axis = _along(a, axis)
    return emit(sort_op, x, axis=axis, kind=_kind(kind, order, stable))


@implements(np.argsort)
def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Tensor:
    x, axis = _along(_at_least_1d(a), axis)
    return emit(argsort_op, x, axis=axis, kind=_kind(kind, order, stable))


def _at_least_1d(a: Any) -> Tensor:
    x = as_tensor(a)
    return np.reshape(x, 1) if x.ndim == 0 else x


@implements(np.sort_complex)
def sort_complex(a: Any) -> Tensor:
    x = np.sort(as_tensor(a))
    if x.dtype.kind == "c":
        return x
    return x.astype("F" if x.dtype.char in "bhBH" else "G" if x.dtype.char == "g" else "D")


def _places(kth: Any, kind: str, order: Any) -> tuple[int, ...]:
    """Return where partitioning is asked for as a tuple of ints."""
    static(np.partition, "places kth", kth, "sort instead, and take the elements with np.take")
    np.partition(np.zeros(0), kth, kind=kind, order=order)  # raises for what can be none
    return tuple(int(k) for k in np.ravel(kth))


@implements(np.partition)
def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    x, axis = _along(a, axis)
    return emit(partition_op, x, kth=_places(kth, kind, order), axis=axis)


@implements(np.argpartition)
def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    x, axis = _along(_at_least_1d(a), axis)
    return emit(argpartition_op, x, kth=_places(kth, kind, order), axis=axis)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    keys = [array(key) for key in keys]
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    problem = ValueError("all keys need to be the same shape")
    keys = [of_shape(key, keys[0].shape, problem) for key in keys]
    if keys[0].ndim == 0:
        return np.zeros((), np.intp)
    axis = normalize_axis(axis, keys[0].ndim)
    # A stable sort by each key in turn leaves the last one in command, the others breaking ties.
    result = np.argsort(keys[0], axis, kind="stable")
    for key in keys[1:]:
        order = np.argsort(np.take_along_axis(key, result, axis), axis, kind="stable")
        result = np.take_along_axis(result, order, axis)
    return result


# --- searching ----------------------------------------------------------------------------------


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    table = array(a)
    if sorter is not None:
        table = _by_sorter(table, array(sorter))
    if side not in ("left", "right"):
        raise ValueError(f"search side must be one of 'left' or 'right' (got {side!r})")
    return emit(searchsorted_op, table, v, side=side)


def _by_sorter(table: Any, sorter: Any) -> Any:
    if table.ndim != 1:
        raise ValueError("object too deep for desired array")
    if sorter.dtype.kind not in "iu":
        raise TypeError("sorter must only contain integers")
    if sorter.ndim != 1:
        raise TypeError("could not parse sorter argument")
    sorter = of_shape(sorter, table.shape, ValueError("sorter.size must equal a.size"))
    inside = np.logical_and(sorter >= 0, sorter < table.shape[0])
    sorter = checked(sorter, inside, ValueError("Sorter index out of range."))
    return as_tensor(table)[sorter]


#: So many elements are compared one by one rather than searched for.
_FEW = 16


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: str | None = None,
) -> Any:  # fmt: skip
    x, tests = array(element), np.ravel(array(test_elements))
    np.isin(np.zeros(1, x.dtype), np.zeros(1, tests.dtype), kind=kind)  # raises for another kind
    size = tests.shape[0]
    if isinstance(size, Dim):
        ordered = np.sort(tests)
        places = [np.searchsorted(ordered, x, side) for side in ("left", "right")]
        found = np.logical_and(places[0] < places[1], x == x)  # NaN is no member
        return np.logical_not(found) if invert else found
    if size == 0:
        return np.full(x.shape, bool(invert))
    if size <= _FEW:
        found = x == tests[0]
        for i in range(1, size):
            found = np.logical_or(found, x == tests[i])
    else:
        ordered = np.sort(tests)
        place = np.minimum(np.searchsorted(ordered, x), size - 1)
        found = as_tensor(ordered)[place] == x  # (np.take of a plain array does not dispatch)
    return np.logical_not(found) if invert else found


# --- by a condition -----------------------------------------------------------------------------


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    condition = array(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return np.take(array(a), np.flatnonzero(condition), axis=axis, out=out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return np.ravel(array(arr))[np.ravel(array(condition)).astype(bool)]
