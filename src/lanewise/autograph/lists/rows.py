"""Lists of lists of lengths that are data, as what they hold: places in heaps of lists.

Where branches leave a list whose elements are lists of other lengths, it holds `Nested`
(`lanewise.trace.contents`): the lists lie on a heap, as chains of cells, so that each grows by
itself and none is moved. What is read of it are `Row`, which stand for one of them, whoever has
them. What is done with both is in `lanewise.autograph.lists.nested`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, NoReturn

import optree

from lanewise.autograph.lists.grown import growing
from lanewise.autograph.state import STANDING
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.contents import (
    ON_CONTENTS,
    Chosen,
    Contents,
    Heap,
    Nested,
    chosen_by,
    fill,
    holds,
    is_nested,
)
from lanewise.trace.lending import Unknown
from lanewise.trace.regions import born, is_made_here, note_container, twins
from lanewise.trace.trace import state


class Row(Sequence, Chosen):
    """One of the lists on a heap: what is read and written is it, whoever has it."""

    __slots__ = ("heap", "place")
    __hash__ = None  # type: ignore[assignment]
    is_holding = True

    def __init__(self, heap: Heap, place: Any) -> None:
        state.has_contents = True
        self.heap, self.place = heap, place

    @property
    def lists(self) -> Sequence[list[Any]]:
        """Its elements, as they are now."""
        return [self.copy()]

    def copy(self) -> list[Any]:
        """Return a list of its elements, as they are now."""
        return ON_CONTENTS["elements"](self)

    def __len__(self) -> int:
        Contents(self).refuse()

    def __getitem__(self, key: Any) -> Any:
        return ON_CONTENTS["getitem"](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        ON_CONTENTS["setitem"](self, key, value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        return partial(ON_CONTENTS["method"], self, name)


optree.register_pytree_node(
    Row,
    lambda row: ((row.place,), row.heap, None),
    lambda heap, children: Row(heap, *children),
    namespace=tree.NAMESPACE,
)
STANDING[Row] = "a list of a list of lists"


def form_of(value: Any) -> Any:
    """Return what an element is: True a list, False anything else, or a tuple of such."""
    if type(value) in (list, Row):
        return True
    if type(value) is tuple:
        found = tuple(map(form_of, value))
        return found if any(found) else False
    return False


def forms_of(items: Any) -> list[Any]:
    """Return the forms of the elements of a list, or of what one holds."""
    if is_nested(items):
        items = items[0]
    if type(items) is Nested:
        return [items.form]
    if type(items) is list and not holds(items):
        return [*map(form_of, items)]
    element = getattr(items, "element", None)
    if element is None:
        return [False]
    return [form_of(tree.unflatten(element.structure, list(element.kinds)))]


def common_form(lists: Sequence[Any]) -> Any:
    """Return what the elements of lists are that have lists in them; None if they differ."""
    found = [form for each in lists for form in forms_of(each)]
    return found[0] if found and found[0] and all([x == found[0] for x in found]) else None


def nested_of(items: Any, form: Any, is_new: bool = True) -> Nested:
    """Return what a list holds in such a form; `is_new` if nobody else has what is in it."""
    if type(items) is Nested:
        return items
    if is_nested(items):
        return items[0]
    state.has_contents = True
    made = Nested(form, growing([]), [Heap(growing([]), growing([])) for _ in _lists_of(form)])
    if type(items) is not list:
        ON_CONTENTS["enter_all"](made, born([Contents(items)]))
        return made
    rows = tree.containers(items)[1:]
    known = {id(row) for row in rows}
    if any([id(twin) in known for row in rows for twin in twins(row)]):
        refuse("a list that may be another one of the same, as the data decide")
    entered: dict[int, Any] = {}
    for item in items:
        made.items.append(numbers_of(made, item, entered if is_new else None))
    for heap in made.heaps if is_new else ():
        growing(heap.heads, rows)
    return made


def nest(items: list[Any], value: Any) -> bool:
    """Have a list that is given an element with lists hold such; whether it does."""
    form = common_form([items, [value]])
    if form is None or not is_made_here(items):
        return False
    made = nested_of(items.copy(), form, False)
    note_container(items)
    fill(items, made)
    return True


def unknown_of(ends: Sequence[Any]) -> Unknown | None:
    """Return what a list holds where branches or turns leave that unknown; None where known.

    So it is where it is one of a list of lists for some of them only, which others then may change.
    """
    for end in ends:
        if type(end) is Unknown:
            return end
    are_rows = [type(end) is Row for end in ends]
    return Unknown("an element of a list of lists") if any(are_rows) > all(are_rows) else None


def nesting(nested: Nested) -> list[Any]:
    """Return a list that holds such."""
    state.has_contents = True
    return born([nested])


def _lists_of(form: Any) -> list[None]:
    if form is True:
        return [None]
    return [x for part in form or () for x in _lists_of(part)]


def numbers_of(nested: Nested, value: Any, known: dict[int, Any] | None = None) -> Any:
    """Return an element with places for its lists, which are put on the heaps.

    Whoever has one of them changes what is there from then on. Where nobody is to change them any
    more, `known` has the places of those that were put there, by their ids.
    """
    places = count()

    def entered(form: Any, x: Any) -> Any:
        if form is True:
            return _entered(nested.heaps[next(places)], x, known)
        return tuple(map(entered, form, x)) if form else x

    if form_of(value) != nested.form:
        refuse("another element than its others")
    return entered(nested.form, value)


def _entered(heap: Heap, row: Any, known: dict[int, Any] | None) -> Any:
    own, row = row, chosen_by(row)
    if type(row) is Row:
        if row.heap is not heap:
            refuse("a list of another list")
        return row.place
    if not is_made_here(row):
        refuse("a list that was made outside of the function")
    if known is not None and id(row) in known:
        return known[id(row)]
    place = ON_CONTENTS["enter"](heap, row)
    if known is None:
        note_container(own)
        fill(own, Row(heap, place))
    else:
        known[id(row)] = place
    return place


def element_at(nested: Nested, numbers: Any) -> Any:
    """Return an element of places."""
    heaps = iter(nested.heaps)

    def made(form: Any, x: Any) -> Any:
        if form is True:
            return Row(next(heaps), x)
        return tuple(map(made, form, x)) if form else x

    return made(nested.form, numbers)


def refuse(what: str) -> NoReturn:
    """Raise for what is not followed."""
    raise UnsupportedError(
        f"{what}{at(here())}, of a list of lists whose lengths are data. What can be done with it: "
        "append, extend, insert, pop, sort with a key, index, slice, len, max, min and sorted with "
        "a key, and a for loop"
    )
