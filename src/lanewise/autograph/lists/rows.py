"""Lists of lists of lengths that are data, as what they hold: places in heaps of lists.

Where branches leave a list whose elements are lists of other lengths, or one of them is written
that the data choose, it holds `Nested` (`lanewise.trace.contents`): the lists lie on a heap, the
elements of each side by side. What is read of it are `Row`, which stand for one of them, whoever
has them. What is done with both is in `lanewise.autograph.lists.nested`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import count
from typing import Any, NoReturn

import numpy as np
import optree

from lanewise.autograph.describe import STANDING
from lanewise.autograph.lists.columns import Columns
from lanewise.autograph.lists.grown import growing, known_length, whole
from lanewise.autograph.lists.hooks import counted, listed
from lanewise.autograph.subscripts import getitem
from lanewise.autograph.tables import OneOf
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.contents import (
    ON_CONTENTS,
    Contents,
    Heap,
    Nested,
    chosen_by,
    fill,
    holds,
    is_nested,
)
from lanewise.trace.journal import Change, made_in, since_made, taken_back
from lanewise.trace.lending import Unknown
from lanewise.trace.regions import (
    Watched,
    born,
    is_made_here,
    note_container,
    twins,
)
from lanewise.trace.tensor import as_tensor, weak
from lanewise.trace.trace import state


class Row(OneOf):
    """One of the lists on a heap: what is read and written is it, whoever has it."""

    __slots__ = ("heap", "place")
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


def nested_of(items: Any, form: Any, left: Any = None, heaps: Sequence[Heap] = ()) -> Nested:
    """Return what a list holds in such a form, its lists on some heaps, or on new ones.

    Whoever has a list that is in it has one of those from then on; unless a branch or a turn `left`
    it, with such elements: then it is another list that may be one of those.
    """
    if type(items) is Nested:
        return items
    if is_nested(items):
        return items[0]
    state.has_contents = True
    if not heaps:
        heaps = _heaps_of(items, form) or [Heap(growing([]), growing([])) for _ in _lists_of(form)]
    made = Nested(form, growing([]), heaps)
    if type(items) is not list:
        ON_CONTENTS["enter_all"](made, born([Contents(items)]))
        return made
    rows = tree.containers(items if left is None else left)[1:]
    known = {id(row) for row in rows}
    if any([id(twin) in known for row in rows for twin in twins(row)]):
        refuse("a list that may be another one of the same, as the data decide")
    entered: dict[int, Any] = {}
    for item, own in zip(items, items if left is None else left, strict=True):
        made.items.append(numbers_of(made, item, None if left is None else entered, own))
    for heap in made.heaps:
        if holds(heap.cells):  # rows that are arrays
            fill(heap.cells, whole(heap.cells))
        if left is not None:
            growing(heap.heads, rows)
    return made


def _heaps_of(items: Any, form: Any) -> list[Heap]:
    """Return the heap on which some of the lists of a list are already."""
    rows = [chosen_by(each) for each in items] if form is True and type(items) is list else []
    heaps = {id(row.heap): row.heap for row in rows if type(row) is Row}
    return list(heaps.values()) if len(heaps) == 1 else []


def nest(items: list[Any], value: Any, always: bool = True) -> bool:
    """Have a list that is given an element with lists hold such; whether it does.

    So do those beside it in another list, on the same heaps: the data may choose one of them.
    If not `always`, it does where that is no change, so that nobody has to learn of it.
    """
    form = common_form([items, [value]])
    if form is None or not is_made_here(items):
        return False
    group = [each for each in _beside(items) if common_form([each]) == form]
    found = _made_in(group) if len(group) > 1 else None
    if found is None:
        group, found = [items], _made_in([items])
    if found is None and not always:
        return False
    home, changes = found or (None, [])
    at_home = nullcontext if home is None else partial(since_made, home)
    lists: list[Nested] = []
    with taken_back(changes):
        with at_home():
            for each in group:
                lists.append(nested_of(each.copy(), form, None, lists[0].heaps if lists else ()))
        for change in changes:
            with since_made(change.trace, change.journal):
                _put_again(change)
    with at_home():
        for each, made in zip(group, lists, strict=True):
            if home is None:
                note_container(each)
            fill(each, made)
    return True


def _put_again(change: Change) -> None:
    """Put elements in a list that lies on a heap now, which it was given before."""
    known = change.before if type(change.before) is list else ()
    row = chosen_by(change.container)
    for i, value in enumerate(listed(whole(_listing(change.after)))):
        if i >= len(known) or value is not known[i]:
            row[i] = value


def _listing(items: Any) -> Any:
    """Return a list that holds what one held, which may be arrays."""
    return [Contents(items)] if type(items) is Columns else items


def _made_in(lists: Sequence[list[Any]]) -> tuple[Watched, list[Change]] | None:
    """Return where lists of lists were made, and which elements of these were changed since.

    None if the lists themselves were, or what is on a heap already, or how many elements there are.
    """
    parts = [x for each in lists for x in tree.containers(each)]
    rows = [row for row in map(chosen_by, parts) if type(row) is Row]
    found = made_in([*parts, *[x for row in rows for x in (row.heap.heads, row.heap.cells)]])
    inner = {id(x) for each in lists for x in each if type(x) is list}
    for _, _, row, before, after in () if found is None else found[1]:
        lengths = [known_length(_listing(x)) for x in (before, after)]
        if id(row) not in inner or None in lengths or lengths[0] != lengths[1]:
            return None
    return found


def _beside(items: list[Any]) -> list[list[Any]]:
    """Return the lists in the list of which one is an element, if there is such: itself, too."""
    trace = state.trace
    while isinstance(trace, Watched):
        for each in trace.made():
            if type(each) is list and any([x is items for x in each]):
                found = {id(x): x for x in each if type(x) is list and not is_nested(x)}
                return [x for x in found.values() if not holds(x)]
        trace = trace.parent
    return [items]


def one_of_several(lists: Sequence[list[Any]], index: Any, key: Any) -> Row:
    """Return an element of the one of several lists of lists that an index picks."""
    for each in lists:
        if not is_nested(each):
            nest(each, [])
    found = [each[0] for each in lists if is_nested(each)]
    size = known_length(found[0].items)
    if (
        len(found) < len(lists)
        or any([each.form is not True or each.heaps != found[0].heaps for each in found])
        or any([size is None or known_length(each.items) != size for each in found])
        or isinstance(key, slice)
    ):
        refuse("one of several lists of lists")
    place = counted(key, size, "list index out of range")
    numbers = born([number for each in found for number in listed(whole(each.items))])
    return Row(found[0].heaps[0], getitem(numbers, index * size + place))


def in_table(owner: Any, lists: Sequence[list[Any]], index: Any) -> Row | None:
    """Return the one of a list's lists that an index picks, on a heap; None if they stay apart."""
    return one_of(lists, index) if type(owner) is list and nest(owner, [], False) else None


def one_of(lists: Sequence[Any], index: Any) -> Row | None:
    """Return the one of several lists on a heap that an index picks; None if not all are there."""
    rows = [chosen_by(each) for each in lists]
    if not all([type(row) is Row and row.heap is rows[0].heap for row in rows]):
        return None
    places: Any = np.stack([as_tensor(row.place) for row in rows])
    return Row(rows[0].heap, weak(places[index], int))


def unknown_of(ends: Sequence[Any], are_contents: bool) -> Unknown | None:
    """Return what branches or turns leave unknown; None where it is known.

    So is all that a list holds which is one of a list of lists for some of them only: others then
    may change it.
    """
    for end in ends:
        if type(end) is Unknown:
            return end
    are_rows = [type(end) is Row for end in ends]
    if not are_contents or any(are_rows) is all(are_rows):
        return None
    return Unknown("an element of a list of lists")


def deepcopied(nested: Nested, memo: dict[int, Any]) -> Nested:
    """Return what a list holds whose lists are copied, too."""
    for heap in nested.heaps:
        if id(heap) not in memo:
            memo[id(heap)] = Heap(growing([*heap.heads]), growing([*heap.cells]))
    heaps = [memo[id(heap)] for heap in nested.heaps]
    return Nested(nested.form, growing([*nested.items]), heaps)


def nesting(nested: Nested) -> list[Any]:
    """Return a list that holds such."""
    state.has_contents = True
    return born([nested])


def _lists_of(form: Any) -> list[None]:
    if form is True:
        return [None]
    return [x for part in form or () for x in _lists_of(part)]


def numbers_of(
    nested: Nested, value: Any, known: dict[int, Any] | None = None, original: Any = None
) -> Any:
    """Return an element with places for its lists, which are put on the heaps.

    Whoever has one of them changes what is there from then on. Where nobody is to change them any
    more, `known` has the places of those that were put there, by the ids of which they are those:
    of the lists of an `original`, which this is what is left of.
    """
    places = count()

    def entered(form: Any, x: Any, own: Any) -> Any:
        if form is True:
            return _entered(nested.heaps[next(places)], x, known, own)
        return tuple(map(entered, form, x, own)) if form else x

    if form_of(value) != nested.form:
        refuse("another element than its others")
    return entered(nested.form, value, value if original is None else original)


def _entered(heap: Heap, row: Any, known: dict[int, Any] | None, own: Any) -> Any:
    row = chosen_by(row)
    if type(row) is Row:
        if row.heap is not heap:
            refuse("a list of another list")
        return row.place
    if not is_made_here(row):
        refuse("a list that was made outside of the function")
    if known is not None and id(own) in known:
        return known[id(own)]
    place = ON_CONTENTS["enter"](heap, row)
    if known is None:
        note_container(own)
        fill(own, Row(heap, place))
    else:
        known[id(own)] = place
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
