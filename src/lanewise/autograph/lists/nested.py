"""What is done with lists of lists of lengths that are data: ``groups[-1].append(x)``.

What they hold (`lanewise.autograph.lists.rows`) are lists of numbers and of elements, which grow
as any do. So it is done by loops over these, which are written in Python and converted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.autograph import subscripts
from lanewise.autograph.calls import fn
from lanewise.autograph.lists.grown import held, known_length, whole
from lanewise.autograph.lists.hooks import counted, listed
from lanewise.autograph.lists.loops import written
from lanewise.autograph.lists.rows import Row, element_at, nesting, numbers_of, refuse
from lanewise.autograph.sequences import Items
from lanewise.autograph.tables import Table
from lanewise.autograph.values import require, traced
from lanewise.trace.contents import Heap, Nested, holds
from lanewise.trace.regions import born, note_container
from lanewise.trace.trace import require_trace

# --- as loops -------------------------------------------------------------------------------------


def _enter(heads: Any, cells: Any, row: Any) -> Any:
    """Put a list on a heap; return its place."""
    heads.append(_laid(cells, row))
    return len(heads) - 1


def _laid(cells: Any, row: Any) -> Any:
    """Put some elements behind all others; return where they begin, how many, and for how many.

    There is no room for more.
    """
    start = len(cells)
    for item in row:
        cells.append(item)
    size = len(cells) - start
    return start, size, size


def _replace(heads: Any, cells: Any, place: Any, row: Any) -> None:
    heads[place] = _laid(cells, row)


def _elements(heads: Any, cells: Any, place: Any) -> Any:
    start, size, _ = heads[place]
    found = []  # no array, so that it has a derivative
    for i in range(size):
        found.append(cells[start + i])
    return found


def _append(heads: Any, cells: Any, place: Any, value: Any) -> None:
    start, size, room = heads[place]
    if size == room:  # it moves, with as much room again
        room = 2 * size + 2
        begin = len(cells)
        for i in range(room):
            cells.append(cells[start + i] if i < size else value)
        start = begin
    else:
        cells[start + size] = value
    heads[place] = (start, size + 1, room)


def _pop(heads: Any, cells: Any, place: Any) -> Any:
    start, size, room = heads[place]
    if size == 0:
        raise IndexError("pop from empty list")
    heads[place] = (start, size - 1, room)
    return cells[start + size - 1]


def _enter_all(nested: Any, rows: Any) -> None:
    for row in rows:
        nested.items.append(numbers_of(nested, row, {}))


def _extend(owner: Any, rows: Any) -> None:
    for row in rows:
        owner.append(row)


def _order(owner: Any, size: Any, key: Any, reverse: Any) -> Any:
    return sorted(range(size), key=lambda i: key(owner[i]), reverse=reverse)


def _in_order(items: Any, order: Any) -> Any:
    return [items[i] for i in order]


for _loop in (
    _enter, _laid, _replace, _elements, _append, _pop, _enter_all, _extend, _order, _in_order,
):  # fmt: skip
    written(_loop)


# --- one of the lists -----------------------------------------------------------------------------


def _head(heads: list[Any], place: Any) -> Any:
    """Return where a list begins, how many elements it has, and for how many there is room."""
    if holds(heads):
        return whole(heads).at(place)
    return heads[place] if traced(place) is None else Table(heads).at(place, is_place=True)


def _cell(heads: list[Any], place: Any, key: Any, message: str) -> Any:
    """Return where an element lies."""
    start, size, _ = _head(heads, place)
    return start + counted(key, size, message)


def _item(heads: list[Any], cells: list[Any], place: Any, key: Any) -> Any:
    cell = _cell(heads, place, key, "list index out of range")
    return whole(cells).at(cell) if holds(cells) else subscripts.getitem(cells, cell)


def _put(heads: list[Any], cells: list[Any], place: Any, key: Any, value: Any) -> None:
    cell = _cell(heads, place, key, "list assignment index out of range")
    subscripts.setitem(cells, cell, value)


def _size(heads: list[Any], place: Any) -> Any:
    return _head(heads, place)[1]


#: By name, what is done where the element lies, and with how many arguments.
_OF_ONE: dict[str, tuple[Callable[..., Any], int]] = {
    "append": (_append, 1),
    "pop": (_pop, 0),
    "__getitem__": (_item, 1),
    "__setitem__": (_put, 2),
    "__len__": (_size, 0),
}
_LOOKING = frozenset(("copy", "count", "index", "__contains__", "__getitem__", "__len__"))


def enter(heap: Heap, row: Any) -> Any:
    """Put a list on a heap; return its place."""
    heads, cells = heap.heads, heap.cells
    size, start = known_length(row), known_length(cells)
    if size is None or start is None or holds(heads):
        return fn(_enter)(heads, cells, row)
    for items in (heads, cells):
        note_container(items)
    heads.append((start, size, size))
    cells.extend(row)
    return len(heads) - 1


def enter_all(nested: Nested, rows: Any) -> None:
    """Put in elements that nobody else has, of a list whose length is data."""
    fn(_enter_all)(nested, rows)


def replace(row: Row, items: Any) -> None:
    """Have one of the lists hold other elements."""
    fn(_replace)(row.heap.heads, row.heap.cells, row.place, items)


def elements(row: Row) -> list[Any]:
    """Return a list of the elements of one, as they are now."""
    heads, cells = row.heap.heads, row.heap.cells
    start, size, _ = _head(heads, row.place)
    if type(size) is not int:
        return fn(_elements)(heads, cells, row.place)
    if holds(cells):
        return held(whole(cells).part(slice(start, start + size)))
    return born([subscripts.getitem(cells, start + i) for i in range(size)])


def length_of(row: Row) -> Any:
    """``len(row)``."""
    return _size(row.heap.heads, row.place)


def entry_of(row: Row, key: Any) -> Any:
    """``row[key]``."""
    if isinstance(key, slice):
        return subscripts.getitem(elements(row), key)
    return method_of_one(row, "__getitem__", (key,), {})


def method_of_one(row: Row, name: str, args: Any, kwargs: Any) -> Any:
    """Carry out a method of one of the lists."""
    parts = row.heap.heads, row.heap.cells, row.place
    if name not in _LOOKING and id(row.heap.heads) in require_trace("a list").lent:
        # Whoever has the list under another name learns of it by this.
        note_container(row.heap.heads)
    if name in _OF_ONE and len(args) == _OF_ONE[name][1]:
        return fn(_OF_ONE[name][0])(*parts, *args)
    items = elements(row)
    found = fn(getattr(items, name))(*args, **kwargs)
    if name not in _LOOKING:
        replace(row, items)
    return found


# --- the list of them -----------------------------------------------------------------------------


def getitem(owner: Any, key: Any) -> Any:
    """``owner[key]``."""
    nested = owner[0]
    if not isinstance(key, slice):  # what is done with the list depends on it, whoever uses that
        inside = np.logical_and(key >= -(size := size_of(owner)), key < size)
        problem = IndexError("list index out of range")
        require(bool(inside) if traced(inside) is None else inside, problem)
    found = subscripts.getitem(nested.items, key)
    return _sharing(nested, found) if isinstance(key, slice) else element_at(nested, found)


def setitem(owner: Any, key: Any, value: Any) -> None:
    """``owner[key] = value``."""
    if isinstance(key, slice):
        refuse("a slice of it")
    subscripts.setitem(owner[0].items, key, numbers_of(owner[0], value))


def delitem(owner: Any, key: Any) -> None:
    """``del owner[key]``."""
    subscripts.delitem(owner[0].items, key)


def _sharing(nested: Nested, items: list[Any]) -> list[Any]:
    """Return another list of the same lists."""
    return nesting(Nested(nested.form, items, nested.heaps))


def size_of(owner: Any) -> Any:
    """``len(owner)``."""
    return fn(len)(owner[0].items)


def known(owner: Any) -> list[Any] | None:
    """Return its lists, with their elements as they are now; None if the data say how many."""
    nested = owner[0]
    if nested.form is not True or known_length(nested.items) is None:
        return None
    numbers = listed(whole(nested.items))
    heads = [_head(nested.heaps[0].heads, place) for place in numbers]
    if any([type(size) is not int for _, size, _ in heads]):
        return None
    rows = [elements(Row(nested.heaps[0], place)) for place in numbers]
    return born([listed(whole(row)) for row in rows])


def sequence(owner: Any) -> Any:
    """Return what a loop over it goes through."""
    return Cells(owner) if type(owner) is Row else _Elements(owner)


class Cells(Items):
    """The elements of one of the lists, as they are when each is its turn."""

    __slots__ = ("owner", "row")
    stands_for = "list"

    def __init__(self, row: Row) -> None:
        #: What tells that it is longer or shorter.
        self.owner = row.heap.heads
        self.row = row

    @property
    def length(self) -> Any:  # ty: ignore[incompatible-property-override]
        """The present length."""
        return length_of(self.row)

    def at(self, position: Any) -> Any:
        heap = self.row.heap
        cell = _head(heap.heads, self.row.place)[0] + position
        return (
            whole(heap.cells).at(cell)
            if holds(heap.cells)
            else subscripts.getitem(heap.cells, cell)
        )


class _Elements(Items):
    """The elements of a list of lists, as they are when each is its turn."""

    __slots__ = ("_list", "owner")
    stands_for = "list"

    def __init__(self, items: Any) -> None:
        self._list = items
        #: What tells that it is longer or shorter.
        self.owner = items[0].items

    @property
    def length(self) -> Any:  # ty: ignore[incompatible-property-override]
        """The present length."""
        return size_of(self._list)

    def at(self, position: Any) -> Any:
        nested = self._list[0]
        return element_at(nested, subscripts.getitem(nested.items, position))


def sorted_(owner: Any, key: Any = None, reverse: Any = False) -> Any:
    """``sorted(owner, key=)``."""
    if key is None:
        refuse("sorted() without a key")
    order = fn(_order)(owner, size_of(owner), key, reverse)
    return _sharing(owner[0], fn(_in_order)(owner[0].items, order))


def _sort(owner: Any, **options: Any) -> None:
    items = sorted_(owner, **options)[0].items
    own = owner[0].items
    fn(own.clear)()
    fn(own.extend)(items)


def method(owner: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Carry out a method."""
    nested = owner[0]
    own = getattr(nested.items, name, None)
    if name in ("append", "insert"):
        *places, value = args
        return fn(own)(*places, numbers_of(nested, value))
    if name in ("clear", "reverse"):
        return fn(own)()
    if name == "pop":
        return element_at(nested, fn(own)(*args))
    if name == "extend":
        return fn(_extend)(owner, *args)
    if name in _METHODS:
        return _METHODS[name](owner, *args, **kwargs)
    refuse(f".{name}()")


_METHODS: dict[str, Callable[..., Any]] = {
    "copy": lambda owner: subscripts.getitem(owner, slice(None)),
    "sort": _sort,
    "__getitem__": getitem,
    "__setitem__": setitem,
    "__delitem__": delitem,
    "__len__": size_of,
}
