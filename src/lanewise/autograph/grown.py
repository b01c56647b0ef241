"""Lists of which the data say how long they are, as arrays.

Only lists of which all uses are known become such (`lanewise.autograph.growing`). A list stays
Python's until branches or iterations leave it longer or shorter than others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from lanewise.autograph.state import Kind, kind_of
from lanewise.trace import tree
from lanewise.trace.regions import Region, resumed
from lanewise.trace.sizes import number_of
from lanewise.trace.slots import ContainerSlot, Slot
from lanewise.trace.tensor import Tensor, as_tensor, weak
from lanewise.trace.trace import Trace, state


class Element(NamedTuple):
    """What all elements of a list are: a tree of numbers of these kinds."""

    structure: Any
    kinds: tuple[Kind, ...]

    def __str__(self) -> str:
        return str(self.kinds[0]) if len(self.kinds) == 1 else f"{len(self.kinds)} numbers"


class Grown:
    """A list whose length is data: a column for each number of its elements, equally long."""

    __slots__ = ("columns", "element")

    def __init__(self, columns: Sequence[Tensor], element: Element) -> None:
        self.columns = tuple(columns)
        self.element = element

    @property
    def length(self) -> Any:
        """How many elements there are."""
        return number_of(self.columns[0].shape[0])

    def at(self, place: Any) -> Any:
        """Return the element at a place that surely is one."""
        found = [column[place] for column in self.columns]
        leaves = [
            weak(x, kind.weak) if kind.weak is not None else x
            for x, kind in zip(found, self.element.kinds, strict=True)
        ]
        return tree.unflatten(self.element.structure, leaves)

    def of(self, function: Callable[[Tensor], Any]) -> Grown:
        """Return the list of columns that a function makes of these."""
        return Grown([as_tensor(function(column)) for column in self.columns], self.element)


optree.register_pytree_node(
    Grown,  # ty: ignore[invalid-argument-type]
    lambda grown: (grown.columns, grown.element, None),
    lambda element, columns: Grown(columns, element),  # ty: ignore[invalid-argument-type]
    namespace=tree.NAMESPACE,
)


def element_of(value: Any) -> Element | None:
    """Return what a value is as an element; None if no array can hold such."""
    leaves, structure = tree.flatten(value)
    kinds = [kind_of(leaf) for leaf in leaves]
    if tree.containers(value):  # somebody may change it
        return None
    if not kinds or any([kind is None or kind.shape or kind.mixed is not None for kind in kinds]):
        return None
    return Element(structure, tuple(kinds))  # ty: ignore[invalid-argument-type]


def as_grown(items: Any, like: Sequence[Any]) -> Grown | None:
    """Return a list as arrays, of elements as these lists have; None if they differ in kind."""
    if type(items) is Grown:
        return items
    found: set[Element | None] = {each.element for each in like if type(each) is Grown}
    found |= {element_of(item) for each in like if type(each) is list for item in each}
    if len(found) != 1 or None in found:
        return None
    (element,) = found
    assert element is not None
    rows = [tree.flatten(item)[0] for item in items]
    columns = []
    for position, kind in enumerate(element.kinds):
        numbers = [as_tensor(row[position]) for row in rows]
        column = np.stack(numbers) if numbers else np.zeros(0, kind.dtype)
        columns.append(as_tensor(column))
    return Grown(columns, element)


def alike(ends: Sequence[Any], traces: Sequence[Trace], always: bool = False) -> list[Any] | None:
    """Return what branches or turns leave in a variable, all lists as arrays; None for others.

    That is so where they are of different lengths, or `always`, and only known uses are made of
    them.
    """
    kinds = {type(end) for end in ends}
    if not kinds <= {list, Grown} or kinds == {Grown}:
        return None
    lists = [end for end in ends if type(end) is list]
    if Grown not in kinds and (
        len({len(end) for end in lists}) == 1 or not all(map(is_own, lists))
    ):
        return None
    found = []
    for end, trace in zip(ends, traces, strict=True):
        with resumed(trace):
            found.append(as_grown(end, ends))
    return None if None in found else found


# --- which lists may become arrays ----------------------------------------------------------------


def _own_lists() -> dict[int, list[Any]]:
    """Return the lists of the function that is traced of which all uses are known, by their ids."""
    trace = state.trace
    while isinstance(trace, Region) and trace.parent is not None:
        trace = trace.parent
    return {} if trace is None else trace.own_lists


def is_own(items: Any) -> bool:
    """Whether only known uses are made of a list."""
    return id(items) in _own_lists()


def owned(items: Any) -> Any:
    """Return a list, of which is noted that only known uses are made of it."""
    if type(items) is list:
        _own_lists()[id(items)] = items
    return items


def list_of(slot: Slot) -> list[Any] | None:
    """Return the list of which a slot is all that it holds, if only known uses are made of it."""
    return slot.owner if isinstance(slot, ContainerSlot) and is_own(slot.owner) else None
