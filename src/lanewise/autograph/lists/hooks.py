"""Hooks for lists that may be arrays: what converted code does for ``path.append(v)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import optree

from lanewise.autograph.calls import fn
from lanewise.autograph.lists.grown import Element, Grown, Store, as_grown, element_of, owned
from lanewise.autograph.sequences import Items
from lanewise.autograph.state import Kind
from lanewise.autograph.subscripts import getitem
from lanewise.autograph.tables import in_range
from lanewise.autograph.values import ensure, require, traced
from lanewise.errors import ControlFlowError, UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.mixed import CODE, Class, is_mixed, note_mixed, union
from lanewise.trace.sizes import number_of
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, as_tensor, read, weak
from lanewise.trace.trace import require_trace


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
    # What is left depends on it, so it is seen to though nobody uses the element.
    one = ensure(1, size > 0, IndexError("pop from empty list"))
    value = items.at(one - 1 if place == 0 else size - one)
    return items.without_first(one) if place == 0 else items.without_last(one), value


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

    def at(self, place: Any) -> Any:
        """Return the element at a place that surely is one."""
        leaves = self.element.whole([column[place] for column in self.columns])
        return tree.unflatten(self.element.structure, leaves)


def count_of(items: Any) -> Any:
    """``items`` as a condition: there are more elements than none."""
    return total_of(len, items)


def _numbers(items: Any, use: str) -> tuple[list[Tensor], Kind]:
    """Return the numbers of a list of numbers, with their codes, and of what kind they are."""
    element = items.store.element if type(items) is Grown else items.element
    if not optree.treespec_is_leaf(element.structure):
        raise UnsupportedError(
            f"{use} of a list of tuples whose length is data{at(here())}. Keep a list for each of "
            "their numbers"
        )
    (kind,) = element.kinds
    dtypes = {each.dtype for each in kind.classes}
    if len(dtypes) > 1 and not dtypes.issubset(_WIDE):
        raise UnsupportedError(
            f"{use} of a list whose length is data, of {' and '.join(map(str, dtypes))}{at(here())}"
            ": what they are together would be data. Append numbers of one dtype, float(x)"
        )
    return items.columns, kind


#: The dtypes that Python's numbers have: what they give together loses nothing by the others.
_WIDE = frozenset(map(np.dtype, (bool, int, float, complex)))


def _classed(
    value: Any, columns: Sequence[Any], kind: Kind, rule: Callable[[Sequence[Class]], Class]
) -> Any:
    """Return a value of the class that a rule gives for the classes that a list's elements have."""
    classes = kind.classes
    has_any = [(columns[1] == i).any() for i in range(len(classes))] if kind.mixed else [
        number_of(columns[0].shape[0]) > 0
    ]  # fmt: skip
    present = sum([has * (1 << i) for i, has in enumerate(has_any)])
    table = [
        rule([each for i, each in enumerate(classes) if bits >> i & 1])
        for bits in range(1 << len(classes))
    ]
    found = union(table)
    dtype = np.result_type(*[each.dtype for each in found])
    result = Tensor(require_trace("a list"), read(as_tensor(value.astype(dtype))))
    weaks = [each.weak for each in found if each.weak is not None]
    if len(weaks) == len(found):
        result = weak(result, max(weaks, key=(bool, int, float, complex).index))
    return note_mixed(result, found, as_tensor(np.array([*map(found.index, table)], CODE))[present])


def _class_of_array(classes: Sequence[Class]) -> Class:
    return Class(np.result_type(*[each.dtype for each in classes] or [float]))


def _class_of_sum(classes: Sequence[Class]) -> Class:
    kinds = [int, *[each.weak for each in classes if each.weak is not None]]
    kind = max(kinds, key=(bool, int, float, complex).index)
    dtypes = [each.dtype for each in classes if each.weak is None]
    return Class(np.result_type(*dtypes, kind(0))) if dtypes else Class(WEAK_DTYPES[kind], kind)


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
    columns, kind = _numbers(items, "np.array()")
    numbers: Any = columns[0]
    if has_dtype or {each.dtype for each in kind.classes} == {np.dtype(float)}:
        return numbers
    if kind.mixed:
        return _classed(numbers, columns, kind, _class_of_array)
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
    columns, kind = _numbers(items, f"{name}()")
    numbers: Any = columns[0]
    if function is not sum:
        problem = ValueError(f"{name}() arg is an empty sequence")
        found = fn(function)(ensure(numbers, items.length > 0, problem))
        if kind.mixed:  # of the class of the first that is so
            return items.at((numbers == found).argmax())
        return found if kind.weak is None else weak(found, kind.weak)
    numbers = numbers.astype(int) if numbers.dtype == bool else numbers
    found = fn(sum)(numbers)
    if {each.weak for each in kind.classes} <= {bool, int}:
        size = np.abs(numbers.astype(float)).sum()
        problem = OverflowError("sum() of more than 63 bits while it is traced")
        found = ensure(found, size < 2.0**62, problem)
    return _classed(found, columns, kind, _class_of_sum)


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
