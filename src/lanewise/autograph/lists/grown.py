"""Lists of which the data say how long they are, as lists of the graph.

Only lists of which all uses are known become such (`lanewise.autograph.lists.uses`). A list stays
Python's until branches or iterations leave it longer or shorter than others. Then its elements lie
in arenas (`lanewise.ops.lists`), one for each number of an element, and it is the entries in these:
integers, which branches and loops hand on like any others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from lanewise.autograph.state import Kind, kind_of, union_of, values_of
from lanewise.ops.lists import (
    INTP,
    list_append,
    list_arena,
    list_array,
    list_cut,
    list_length,
    list_of,
    list_read,
)
from lanewise.trace import tree
from lanewise.trace.mixed import CODE, note_mixed
from lanewise.trace.regions import Region, resumed
from lanewise.trace.sizes import size_of
from lanewise.trace.slots import ContainerSlot, Slot
from lanewise.trace.tensor import Tensor, as_tensor, emit, weak
from lanewise.trace.trace import Trace, require_trace, state


class Element(NamedTuple):
    """What all elements of a list are: a tree of numbers of these kinds."""

    structure: Any
    kinds: tuple[Kind, ...]

    def __str__(self) -> str:
        return str(self.kinds[0]) if len(self.kinds) == 1 else f"{len(self.kinds)} numbers"

    @property
    def types(self) -> list[tuple[np.dtype, tuple[Any, ...]]]:
        """The dtype and shape of each number, and of the code of one of which the class varies."""
        found = []
        for kind in self.kinds:
            found += [(kind.dtype, kind.shape), *([(CODE, ())] if kind.mixed else [])]
        return found

    def joined(self, other: Element | None) -> Element | None:
        """Return what elements are that are this or another; None where they have no like form."""
        if other is None or other.structure != self.structure:
            return None
        pairs = list(zip(self.kinds, other.kinds, strict=True))
        if any([a.shape != b.shape for a, b in pairs]):
            return None
        return Element(self.structure, tuple([union_of(a, b) for a, b in pairs]))

    def whole(self, numbers: Sequence[Tensor]) -> list[Tensor]:
        """Return the leaves of an element, or of all, of the numbers of `types`."""
        left, leaves = iter(numbers), []
        for kind in self.kinds:
            leaf = next(left)
            leaves.append(leaf if kind.weak is None else weak(leaf, kind.weak))
            if kind.mixed is not None:
                note_mixed(leaves[-1], kind.mixed, next(left))
        return leaves


class Store:
    """Where lists lie that take each other's place: an arena for each number of an element.

    Of those of a queue elements are taken off in front as well.
    """

    __slots__ = ("arenas", "element", "is_queue")

    def __init__(self, element: Element, is_queue: bool = False) -> None:
        trace = require_trace("a list")
        self.element, self.is_queue = element, is_queue
        self.arenas = [
            Tensor(trace, trace.record(list_arena, (), {"name": trace.new_name("list")})[0])
            for _ in element.types
        ]


class Grown:
    """A list whose length is data: its entries in the arenas of a store.

    Of a queue's elements there the first `start` were taken off.
    """

    __slots__ = ("entries", "start", "store")

    def __init__(self, store: Store, parts: Sequence[Any]) -> None:
        count = len(store.arenas)
        self.store, self.entries = store, tuple(parts[:count])
        self.start = parts[count] if store.is_queue else None

    @property
    def parts(self) -> tuple[Any, ...]:
        """What a branch or a loop hands on."""
        return self.entries if self.start is None else (*self.entries, self.start)

    def _of(self, entries: Sequence[Tensor]) -> Grown:
        return Grown(self.store, entries if self.start is None else (*entries, self.start))

    @property
    def _end(self) -> Tensor:
        return weak(emit(list_length, self.store.arenas[0], self.entries[0]), int)

    @property
    def length(self) -> Any:
        """How many elements there are."""
        return self._end if self.start is None else self._end - self.start

    def at(self, place: Any) -> Any:
        """Return the element at a place that surely is one."""
        place = place if self.start is None else place + self.start
        element = self.store.element
        numbers = [
            emit(list_read, arena, entry, as_tensor(place), dtype=dtype, shape=shape)
            for arena, entry, (dtype, shape) in self._lists()
        ]
        return tree.unflatten(element.structure, element.whole(numbers))

    def with_last(self, value: Any) -> Grown:
        """Return the list with an element more, which is one of the store's."""
        leaves, trace = tree.flatten(value)[0], require_trace("a list")
        numbers = [
            Tensor(trace, number)
            for leaf, kind in zip(leaves, self.store.element.kinds, strict=True)
            for number in values_of(leaf, kind)
        ]
        pairs = zip(self.store.arenas, self.entries, numbers, strict=True)
        return self._of([emit(list_append, *each) for each in pairs])

    def without_last(self, one: Any) -> Grown:
        """Return the list without its last element; `one` is 1, of lists that have elements."""
        size = as_tensor(self._end - one)
        pairs = zip(self.store.arenas, self.entries, strict=True)
        return self._of([emit(list_cut, *each, size) for each in pairs])

    def without_first(self, one: Any) -> Grown:
        """Return the list without its first element; `one` is 1, of lists that have elements."""
        if self.start is None:  # branches and loops then hand on how many there are
            return as_grown(self, Store(self.store.element, is_queue=True)).without_first(one)
        return Grown(self.store, (*self.entries, self.start + one))

    @property
    def columns(self) -> list[Tensor]:
        """The numbers of all elements, an array for each of the store's types."""
        rows: Any = size_of(as_tensor(self._end), None, "a list")
        found = [
            emit(list_array, arena, entry, dtype=dtype, shape=(rows, *shape))
            for arena, entry, (dtype, shape) in self._lists()
        ]
        start: Any = self.start
        return found if start is None else [as_tensor(column[start:]) for column in found]

    def _lists(self) -> Any:
        return zip(self.store.arenas, self.entries, self.store.element.types, strict=True)


optree.register_pytree_node(
    Grown,  # ty: ignore[invalid-argument-type]
    lambda grown: (grown.parts, grown.store, None),
    Grown,  # ty: ignore[invalid-argument-type]
    namespace=tree.NAMESPACE,
)


def element_of(value: Any) -> Element | None:
    """Return what a value is as an element; None if no array can hold such."""
    leaves, structure = tree.flatten(value)
    kinds = [kind_of(leaf) for leaf in leaves]
    if tree.containers(value):  # somebody may change it
        return None
    if not kinds or any([kind is None or kind.shape for kind in kinds]):
        return None
    return Element(structure, tuple(kinds))  # ty: ignore[invalid-argument-type]


def _element_of_all(lists: Sequence[Any]) -> Element | None:
    """Return what the elements of lists are; None if they have no like form."""
    found: list[Element | None] = [each.store.element for each in lists if type(each) is Grown]
    found += [element_of(item) for each in lists if type(each) is list for item in each]
    result = found[0] if found else None
    for other in found[1:]:
        result = None if result is None else result.joined(other)
    return result


def as_grown(items: Any, store: Store) -> Grown:
    """Return a list in a store, whose elements are like its."""
    trace = require_trace("a list")
    if type(items) is Grown and items.store is store:
        return items
    if type(items) is Grown:
        columns = _converted(items.columns, items.store.element, store.element)
    elif not items:
        zero = Tensor(trace, trace.scalar(0, INTP))
        return Grown(store, [zero] * len(store.arenas) + [0] * store.is_queue)
    else:
        rows = [tree.flatten(item)[0] for item in items]
        numbers = [
            [x for leaf, kind in zip(row, store.element.kinds, strict=True)
             for x in values_of(leaf, kind)]
            for row in rows
        ]  # fmt: skip
        columns = [
            as_tensor(np.stack([Tensor(trace, x) for x in column]))
            for column in zip(*numbers, strict=True)
        ]
    pairs = zip(store.arenas, columns, strict=True)
    entries = [emit(list_of, arena, column, lead=0) for arena, column in pairs]
    return Grown(store, entries + [0] * store.is_queue)


def _converted(columns: Sequence[Tensor], old: Element, new: Element) -> list[Tensor]:
    """Return the numbers of all elements as those of others, which hold them too."""
    left, found = iter(columns), []
    for before, after in zip(old.kinds, new.kinds, strict=True):
        data: Any = next(left)
        found.append(as_tensor(data.astype(after.dtype)))
        codes = next(left) if before.mixed else None
        if after.mixed is not None:
            places = np.array([after.mixed.index(each) for each in before.classes], CODE)
            codes = np.zeros_like(data, dtype=CODE) if codes is None else codes
            found.append(as_tensor(as_tensor(places)[codes]))
    return found


def alike(ends: Sequence[Any], traces: Sequence[Trace], always: bool = False) -> list[Any] | None:
    """Return what branches or turns leave in a variable, all lists as such; None for others.

    That is so where they are of different lengths, or `always`, and only known uses are made of
    them.
    """
    kinds = {type(end) for end in ends}
    stores = {id(end.store): end.store for end in ends if type(end) is Grown}
    if not kinds <= {list, Grown}:
        return None
    if list not in kinds and len(stores) == 1 and _is_known_around(*stores.values(), traces):
        return None
    lists = [end for end in ends if type(end) is list]
    if not stores and (len({len(end) for end in lists}) == 1 or not all(map(is_own, lists))):
        return None
    element = _element_of_all(ends)
    if element is None:
        return None
    is_queue = any([each.is_queue for each in stores.values()])
    fitting = [x for x in stores.values() if x.element == element and x.is_queue == is_queue]
    store = fitting[0] if fitting else None
    if store is None or not _is_known_around(store, traces):
        around = traces[-1].parent
        assert around is not None
        # Branches around it are joined with others, which then need not copy it.
        while isinstance(around, Region) and not around.is_turn and around.parent is not None:
            around = around.parent
        with resumed(around):
            store = Store(element, is_queue)
    found = []
    for end, trace in zip(ends, traces, strict=True):
        with resumed(trace):
            found.append(as_grown(end, store))
    return found


def _is_known_around(store: Store, traces: Sequence[Trace]) -> bool:
    """Whether a store was made outside of regions."""
    home = store.arenas[0]._trace
    around = traces[-1].parent
    while around is not None and around is not home:
        around = around.parent
    return around is home


# --- which lists may become such ------------------------------------------------------------------


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


def list_of_slot(slot: Slot) -> list[Any] | None:
    """Return the list of which a slot is all that it holds, if only known uses are made of it."""
    return slot.owner if isinstance(slot, ContainerSlot) and is_own(slot.owner) else None
