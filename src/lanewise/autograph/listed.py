"""Hooks for lists that may be arrays: what converted code does for ``path.append(v)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
import optree

from lanewise.autograph.calls import fn
from lanewise.autograph.grown import Element, Grown, Store, as_grown, element_of, owned
from lanewise.autograph.sequences import Items
from lanewise.autograph.subscripts import getitem
from lanewise.autograph.tables import in_range
from lanewise.autograph.values import choose, ensure, require, traced
from lanewise.errors import ControlFlowError, UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.mixed import is_mixed
from lanewise.trace.sizes import number_of
from lanewise.trace.tensor import Tensor, weak


def appended(items: Any, value: Any) -> Any:
    """``items.append(value)``; returns the list."""
    if type(items) is not Grown:
        fn(items.append)(value)
        return owned(items)
    element = element_of(value)
    joined = items.store.element.joined(element)
    if joined is None:
        raise ControlFlowError(
            f"a list that grows where the data steer holds {items.store.element}, and "
            f"{'something else' if element is None else element} is appended{at(here())}: its "
            "elements must be numbers, or tuples of as many"
        )
    if joined != items.store.element:  # what branches and loops then hand on
        items = as_grown(items, Store(joined, items.store.is_queue))
    return items.with_last(value)


def popped(items: Any, place: int = -1) -> tuple[Any, Any]:
    """``items.pop(place)`` of an end; returns the list, and the element."""
    if type(items) is not Grown:
        value = fn(items.pop)() if place == -1 else fn(items.pop)(place)
        return owned(items), value
    size = items.length
    first = 0 if place == 0 else size - 1
    value = items.at(ensure(first, size > 0, IndexError("pop from empty list")))
    return items.without_first() if place == 0 else items.without_last(), value


def entry_of(items: Any, key: Any) -> Any:
    """``items[key]``."""
    if type(items) is not Grown:
        return getitem(items, key)
    place = traced(key)
    if place is None:
        place = key.__index__()
    elif place.ndim or place.dtype.kind not in "iu" or is_mixed(place):
        raise TypeError("list indices must be integers or slices")
    else:
        place = weak(place, int)
    return items.at(in_range(place, items.length, "list index out of range"))


def part(items: Any, *ends: Any) -> Any:
    """``items[start:stop:step]``."""
    if type(items) is not Grown:
        return getitem(items, slice(*ends))
    return _Numbers(items.store.element, [x[slice(*ends)] for x in items.columns])


class _Numbers(NamedTuple):
    """The elements of a list, or some of them: an array for each of their numbers."""

    element: Element
    columns: list[Tensor]

    @property
    def length(self) -> Any:
        return number_of(self.columns[0].shape[0])


def count_of(items: Any) -> Any:
    """``items`` as a condition: there are more elements than none."""
    return total_of(len, items)


def _numbers(items: Any, use: str) -> tuple[Tensor, type | None]:
    """Return the numbers of a list of numbers, as an array, and what Python numbers they are."""
    element = items.store.element if type(items) is Grown else items.element
    if not optree.treespec_is_leaf(element.structure):
        raise UnsupportedError(
            f"{use} of a list of tuples whose length is data{at(here())}. Keep a list for each of "
            "their numbers"
        )
    (kind,) = element.kinds
    if kind.mixed is not None:
        raise UnsupportedError(
            f"{use} of a list whose length is data, of numbers of several kinds{at(here())}: what "
            "kind it gives would be data. Append numbers of one kind, float(x)"
        )
    return items.columns[0], kind.weak


def _refuse(function: Any) -> NoReturn:
    name = getattr(function, "__name__", "a function")
    raise UnsupportedError(
        f"{name}() of a list whose length is data{at(here())}. Give it np.array(items)"
    )


def array_of(function: Any, items: Any, has_dtype: bool) -> Any:
    """What ``np.array(items)`` takes; of no elements it gives floats."""
    if type(items) not in (Grown, _Numbers):
        return items
    if function not in (np.array, np.asarray):
        _refuse(function)
    numbers, _ = _numbers(items, "np.array()")
    if has_dtype or numbers.dtype == np.dtype(float):
        return numbers
    problem = UnsupportedError(
        f"np.array() of a list whose length is data, and which is empty{at(here())}: that gives "
        "floats, where others have another dtype. Give the dtype, np.array(items, dtype=int)"
    )
    require(items.length > 0, problem)
    return numbers


def total_of(function: Callable[..., Any], items: Any) -> Any:
    """``len(items)``, ``sum(items)``, ``max(items)`` or ``min(items)``."""
    if type(items) not in (Grown, _Numbers):
        return fn(function)(items)
    if function is len:
        return items.length
    if function not in (sum, max, min):
        _refuse(function)
    name = getattr(function, "__name__", "")
    numbers, kind = _numbers(items, f"{name}()")
    if function is sum:
        if kind is bool:
            numbers, kind = numbers.astype(int), int
        found = fn(sum)(numbers)
        if kind is int:
            size = np.abs(numbers.astype(float)).sum()
            problem = OverflowError("sum() of more than 63 bits while it is traced")
            return weak(ensure(found, size < 2.0**62, problem), kind)
        return choose(items.length > 0, found if kind is None else weak(found, kind), 0)
    else:
        problem = ValueError(f"{name}() arg is an empty sequence")
        found = fn(function)(ensure(numbers, items.length > 0, problem))
    return found if kind is None else weak(found, kind)


class _Elements(Items):
    """The elements of a list whose length is data."""

    __slots__ = ("items",)
    stands_for = "list"

    def __init__(self, items: Grown) -> None:
        self.items = items
        super().__init__(items.length)

    def at(self, position: Any) -> Any:
        return self.items.at(position)


def items_of(items: Any) -> Any:
    """What a ``for`` loop over a list goes through."""
    return _Elements(items) if type(items) is Grown else items
