"""Lists of which the data say how long they are, as lists of the graph.

Only lists of which all uses are known become such (`lanewise.autograph.lists.uses`). A list stays
Python's until branches or iterations leave it longer or shorter than others. Then its elements lie
in arenas (`lanewise.ops.lists`), one for each number of an element, and it is the entries in these:
integers, which branches and loops hand on like any others.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import zip_longest
from typing import Any

import numpy as np
import optree

from lanewise.autograph.aliases import REPEATS, Shared, arrays_in, as_left, freeze, settle, watch
from lanewise.autograph.describe import STANDING
from lanewise.autograph.instances import is_new, new_classes, objects_as_left
from lanewise.autograph.lists.columns import (
    OF_ARRAYS,
    OF_LISTS,
    Columns,
    Element,
    Holder,
    chained,
    columns_of,
    element_of,
    put_in,
)
from lanewise.autograph.state import Kind
from lanewise.autograph.tables import Picked
from lanewise.errors import ControlFlowError, UnsupportedError, at
from lanewise.ir.location import here
from lanewise.ops.lists import (
    INTP,
    list_append,
    list_arena,
    list_array,
    list_cut,
    list_length,
    list_of,
    list_read,
    list_write,
)
from lanewise.trace import tree
from lanewise.trace.contents import LISTS, Chosen, Contents, chosen_by, fill, holds, is_nested
from lanewise.trace.journal import made_in, since_made, taken_back
from lanewise.trace.lending import Unknown, lend
from lanewise.trace.regions import Region, born, is_made_here, note_container, resumed
from lanewise.trace.sizes import size_of
from lanewise.trace.slots import ContainerSlot, Slot
from lanewise.trace.tensor import Tensor, as_tensor, emit, weak
from lanewise.trace.trace import Trace, require_trace, state

#: The dtypes that Python's numbers have: what they give together loses nothing by the others.
WIDE = frozenset(map(np.dtype, (bool, int, float, complex)))


class Store:
    """Where lists lie that take each other's place: an arena for each number of an element.

    Of those of a queue elements are taken off in front as well.
    """

    __slots__ = ("_queue", "arenas", "element", "is_queue")

    def __init__(self, element: Element, is_queue: bool = False, arenas: Any = None) -> None:
        trace = require_trace("a list")
        self.element, self.is_queue = element, is_queue
        self._queue: Store | None = None
        self.arenas = arenas or [
            Tensor(trace, trace.record(list_arena, (), {"name": trace.new_name("list")})[0])
            for _ in element.types
        ]

    @property
    def queue(self) -> Store:
        """The same, of which elements are taken off in front as well."""
        if self._queue is None:
            self._queue = Store(self.element, True, self.arenas)
        return self._queue


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
    def element(self) -> Element:
        """What all elements are."""
        return self.store.element

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
        numbers = [
            emit(list_read, arena, entry, as_tensor(place), dtype=dtype, shape=shape)
            for arena, entry, (dtype, shape) in self._lists()
        ]
        found = self.element.made(numbers)
        _guard(arrays_in(found))
        return found

    def with_last(self, value: Any) -> Grown:
        """Return the list with an element more, which is one of the store's."""
        numbers = self.element.numbers(_kept(value))
        pairs = zip(self.store.arenas, self.entries, numbers, strict=True)
        return self._of([emit(list_append, *each) for each in pairs])

    def with_one(self, place: Any, value: Any) -> Grown:
        """Return the list with another element at a place that surely is one."""
        place = place if self.start is None else place + self.start
        numbers = self.element.numbers(_kept(value))
        triples = zip(self.store.arenas, self.entries, numbers, strict=True)
        return self._of([
            emit(list_write, arena, entry, as_tensor(place), number)
            for arena, entry, number in triples
        ])  # fmt: skip

    @property
    def has_surely(self) -> bool:
        """Whether it is known to have elements."""
        return False

    def part(self, key: slice) -> Columns:
        """Return the list of some of the elements."""
        return self.as_columns().part(key)

    def as_columns(self) -> Columns:
        """Return the list as arrays."""
        columns = self.columns
        if self.element.has_arrays:
            _guard(columns)
        return Columns(self.element, columns)

    def without_last(self, one: Any) -> Grown:
        """Return the list without its last element; `one` is 1, of lists that have elements."""
        size = as_tensor(self._end - one)
        pairs = zip(self.store.arenas, self.entries, strict=True)
        return self._of([emit(list_cut, *each, size) for each in pairs])

    def without_first(self, one: Any) -> Grown:
        """Return the list without its first element; `one` is 1, of lists that have elements."""
        if self.start is None:  # branches and loops then hand on how many there are
            return as_grown(self, self.store.queue).without_first(one)
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


def _guard(arrays: Sequence[Tensor]) -> None:
    """Have nobody write to elements of a list that are arrays: each is what others may be."""
    for array in arrays:
        watch(array, Shared(OF_ARRAYS, must_not=REPEATS))


def _kept(value: Any) -> Any:
    """Return an element of which the list keeps what it holds: nothing may write to it."""
    value = put_in(value)
    freeze(arrays_in(value), OF_ARRAYS)
    return value


optree.register_pytree_node(
    Grown,  # ty: ignore[invalid-argument-type]
    lambda grown: (grown.parts, grown.store, None),
    Grown,  # ty: ignore[invalid-argument-type]
    namespace=tree.NAMESPACE,
)


def element_of_all(
    lists: Sequence[Any], by_value: bool = False, traces: Sequence[Trace] = ()
) -> Element | None:
    """Return what the elements of lists, each in its trace, are; None if they have no like form.

    `by_value` is as in `element_of`.
    """
    found: list[Element | None] = [x.element for x in lists if type(x) in (Grown, Columns)]
    classes = _new_classes_in(lists)
    for each, trace in zip_longest(lists, traces):
        with resumed(trace or require_trace("a list")):
            own = each if type(each) in LISTS else ()
            found += [element_of(settle(x), classes, by_value) for x in own]
    holders = {holder_of(each) for each in lists}
    result = found[0] if found and len(holders) == 1 else None
    for other in found[1:]:
        result = None if result is None else result.joined(other)
    return None if result is None else result._replace(holder=holders.pop())


def _new_classes_in(lists: Sequence[Any]) -> frozenset[type]:
    """Return the classes of objects that lists keep as what they hold: some are new in a branch."""
    items = [x for each in lists if type(each) in LISTS for x in each]
    known = [each.element.classes for each in lists if type(each) in (Grown, Columns)]
    return new_classes(items, which=is_new).union(*known)


def holder_of(items: Any) -> Holder:
    """Return what a list is in plain Python."""
    if type(items) in LISTS:
        return Holder(type(items), getattr(items, "maxlen", None))
    return items.element.holder


def as_grown(items: Any, store: Store) -> Grown:
    """Return a list in a store, whose elements are like its."""
    trace = require_trace("a list")
    if type(items) is Grown and items.store is store:
        return items
    if type(items) is Grown and items.store.arenas is store.arenas and items.start is None:
        return Grown(store, (*items.entries, 0))
    if type(items) is Columns and items.element.has_arrays:
        freeze(items.arrays, OF_ARRAYS)
    if type(items) in (Grown, Columns):
        columns = items.element.converted(items.columns, store.element)
    elif not items:
        zero = Tensor(trace, trace.scalar(0, INTP))
        return Grown(store, [zero] * len(store.arenas) + [0] * store.is_queue)
    else:
        columns = columns_of([_kept(item) for item in items], store.element).columns
    pairs = zip(store.arenas, columns, strict=True)
    entries = [emit(list_of, arena, column, lead=0) for arena, column in pairs]
    return Grown(store, entries + [0] * store.is_queue)


def alike(
    ends: Sequence[Any], traces: Sequence[Trace], always: bool = False, are_held: bool = False
) -> list[Any] | None:
    """Return what branches or turns leave in a variable, all lists as such; None for others.

    Lists of different lengths, or `always`, become lists of the graph, and those of one length
    arrays where some are. Only known uses are made of them, or they are what one list holds.
    """
    if not all([type(end) in (*LISTS, Columns, Grown) for end in ends]):
        return None
    if any([is_nested(end) or chosen_by(end) is not end for end in ends]):
        return None
    if any(map(holds, ends)):
        if not are_held and not all([is_own(end) for end in ends if type(end) in LISTS]):
            return None
        found = []
        for end, trace in zip(ends, traces, strict=True):
            with resumed(trace):
                found.append(whole(end))
        ends = found
    kinds = {type(end) for end in ends}
    stores = {id(end.store): end.store for end in ends if type(end) is Grown}
    if not kinds <= {*LISTS, Columns, Grown}:
        return None
    if kinds == {Grown} and len(stores) == 1 and _is_known_around(*stores.values(), traces):
        return None
    are_many = len({_size(end) for end in ends if type(end) is not Grown}) > 1
    is_long = bool(stores) or are_many or (always and kinds <= {*LISTS})
    if not is_long and Columns not in kinds:
        return None
    if not are_held and not all([is_own(end) for end in ends if type(end) in LISTS]):
        return None
    given, classes = ends, _new_classes_in(ends)
    ends = [left_in(end, trace, classes) for end, trace in zip(ends, traces, strict=True)]
    element = element_of_all(ends, is_long, traces)
    if element is None or (is_long and not element.has_sizes):
        return None
    for end, before, trace in zip(ends, given, traces, strict=True):
        if end is not before:
            with resumed(trace):  # those that were there, too
                lend(tree.containers([*end, *before])[1:], OF_LISTS)
    if not is_long and all([type(end) is Columns and end.element == element for end in ends]):
        return None
    if not is_long:
        found = []
        for end, trace in zip(ends, traces, strict=True):
            with resumed(trace):
                found.append(columns_of(end, element))
        return found
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


def left_in(items: Any, trace: Trace, classes: frozenset[type] = frozenset()) -> Any:
    """Return a list whose elements a region has left, with these as they were then.

    So are objects of some classes among them.
    """
    if type(items) not in LISTS or not isinstance(trace, Region) or not trace.left:
        return items
    return objects_as_left(as_left(items, trace, trace.left, (), {}), trace, classes)


def held(items: Any) -> Any:
    """Return a list of Python's that holds what a traced one does; Python's own as it is."""
    state.has_contents = True
    return items if type(items) in LISTS else born(items.element.holder.made([Contents(items)]))


def side_by_side(owner: Any) -> bool:
    """Have a list of Python's of known length hold its elements as arrays; whether it does."""
    if type(owner) is not list or holds(owner) or not is_made_here(owner):
        return False
    home, changes = made_in([owner]) or (None, [])
    states = [owner] if not changes else [changes[0].before, *[x.after for x in changes]]
    elements: list[Any] = [element_of_all([each]) for each in states]
    if any([not _is_table(*pair) for pair in zip(states, elements, strict=True)]):
        return False
    with taken_back(changes):
        with since_made(home) if home is not None else nullcontext():
            if home is None:
                note_container(owner)
            fill(owner, columns_of(states[0], elements[0]))
        for change, items, element in zip(changes, states[1:], elements[1:], strict=True):
            with since_made(change.trace, change.journal):
                note_container(owner)
                fill(owner, columns_of(items, element))
    return True


def _is_table(items: Any, element: Element | None) -> bool:
    """Whether what a list holds can be arrays: of numbers, or tuples of such."""
    if type(items) is Columns:
        return not items.element.has_arrays
    is_list = type(items) is list and not holds(items)
    are_numbers = element is not None and not element.has_arrays and not element.classes
    return is_list and are_numbers and not any(map(tree.containers, items))


def pieces_of(items: Any) -> list[Any]:
    """Return the traced lists of which a list consists, and lists of its other elements."""
    if type(items) not in LISTS or not holds(items):
        return [items]
    if (row := chosen_by(items)) is not items:
        return [whole(row)]
    pieces: list[Any] = []
    rest: list[Any] = []
    for each in items:
        if type(each) is Contents:
            pieces += [rest, each.items] if rest else [each.items]
            rest = []
        else:
            rest.append(each)
    pieces += [rest] if rest else []
    for piece in pieces:
        if type(piece) is Unknown:
            piece.refuse()
        if isinstance(piece, Chosen):  # another list than that was made of it, by Python itself
            Unknown("an element of a list of lists").refuse()
    return pieces


def known_length(items: Any) -> int | None:
    """Return how many elements one of Python's lists has; None if the data say that."""
    if type(items) not in LISTS or chosen_by(items) is not items:
        return None
    size = 0
    for each in items:
        if type(each) is not Contents:
            size += 1
            continue
        length = each.items.length if type(each.items) is Columns else None
        if type(length) is not int:
            return None
        size += length
    return size


def whole(items: Any) -> Any:
    """Return a list of Python's that holds traced ones among its elements as one traced list."""
    if not holds(items):
        return items
    if isinstance(items, Picked):
        return _picked([whole(each) for each in items.lists], items.place)
    if isinstance(items, Chosen):
        found = whole(*items.lists)
        element = element_of_all([found]) if type(found) is list else None
        return found if element is None else columns_of(found, element)
    element = element_of_all(parts := pieces_of(items))
    if element is None:
        raise ControlFlowError(
            f"lists of which the data say how long they are are joined{at(here())} with others, "
            "and their elements have no like form: they must be numbers or arrays of one shape, or "
            "tuples of as many"
        )
    if len(parts) == 1:
        return parts[0]
    pieces = [each.as_columns() if type(each) is Grown else each for each in parts]
    return chained([columns_of(each, element) for each in pieces])


def _picked(lists: Sequence[Any], index: Any) -> Columns:
    """Return the one of several lists that an index picks: a part of all of their elements."""
    element = element_of_all(lists)
    if element is None:
        raise UnsupportedError(
            f"a list of lists is indexed by a traced value{at(here())}, but these have different "
            "lengths and elements that are no numbers, or of several forms. Use arrays"
        )
    pieces = [each.as_columns() if type(each) is Grown else each for each in lists]
    if all([type(each) in LISTS for each in pieces]):
        sizes: Any = np.array([len(each) for each in pieces])
        flat = columns_of([item for each in pieces for item in each], element)
    else:
        columns = [columns_of(each, element) for each in pieces]
        sizes = np.stack([as_tensor(each.length) for each in columns])
        flat = chained(columns)
    stops: Any = np.cumsum(sizes)
    stop: Any = as_tensor(stops)[index]
    size: Any = as_tensor(sizes)[index]
    return flat.part(slice(stop - size, stop))


def as_stepping(before: int, items: list[Any]) -> tuple[Any, Any]:
    """Return a list as it was when it had so many elements, and as it is: as arrays if it grew.

    Both are lists of Python's where that cannot be, or where NumPy's dtype of all of the elements
    depends on how many there are.
    """
    element = None if before >= len(items) else element_of_all([items])
    if element is None or any(map(_is_narrow, element.kinds)):
        return items, items
    return (now := columns_of(items, element)).part(slice(before)), now


def _is_narrow(kind: Kind) -> bool:
    dtypes = {each.dtype for each in kind.classes}
    return len(dtypes) > 1 and not dtypes <= WIDE


def in_form_of(entry: Any, items: Any, is_held: bool = False) -> Any:
    """Return a list as a loop hands it on that began with one; anything else as it is.

    Only known uses are made of the list, or it is what one list holds.
    """
    if type(items) in LISTS and not (is_held or is_own(items)):
        return items
    if type(entry) is Grown and type(items) in (*LISTS, Columns, Grown):
        items = whole(items)
        is_empty = type(items) in LISTS and not items
        element = None if is_empty else element_of_all([items], by_value=True)
        is_like = is_empty or entry.element.joined(element) is not None
        return as_grown(items, entry.store) if is_like else items
    if type(entry) is Columns and type(items) is Columns:
        # What the loop began with may be too narrow for what a turn adds.
        holds_all = entry.element.joined(items.element) == entry.element
        return items.as_elements(entry.element) if holds_all else items
    return items


def is_like(items: Any, others: Any) -> bool:
    """Whether lists lie alike, so that one may take the place of the other."""
    if type(items) is not type(others):
        return False
    if type(items) is Grown:
        return items.store is others.store
    return type(items) is Columns and items.element == others.element


def has_as_many(items: Any, now: Columns) -> bool:
    """Whether a list is one of arrays, too, or has as many elements as such."""
    return type(items) is Columns or (type(items) is list and len(items) == _size(now))


def _size(items: Any) -> Any:
    return len(items) if type(items) in LISTS else items.arrays[0].shape[0]


def _is_known_around(store: Store, traces: Sequence[Trace]) -> bool:
    """Whether a store was made outside of regions."""
    home = store.arenas[0]._trace
    around = traces[-1].parent
    while around is not None and around is not home:
        around = around.parent
    return around is home


# --- which lists may become such ------------------------------------------------------------------


def _root() -> Trace | None:
    """Return the trace of the function that is traced."""
    trace = state.trace
    while isinstance(trace, Region) and trace.parent is not None:
        trace = trace.parent
    return trace


def _own_lists() -> dict[int, list[Any]]:
    """Return the lists of the function that is traced of which all uses are known, by their ids."""
    trace = _root()
    return {} if trace is None else trace.own_lists


def growing(items: list[Any], sources: Sequence[Any] = ()) -> list[Any]:
    """Return a new list, which loops hand on as one of the graph even if they could unroll it.

    When it changes, so may `sources`: lists that are in it by what they held.
    """
    trace = _root()
    if trace is not None:
        trace.growing_lists[id(items)] = items, sources
    return born(items)


def with_sources(containers: Sequence[Any]) -> list[Any]:
    """Return containers, and the lists that are in them by what these held."""
    trace = _root()
    known = {} if trace is None else trace.growing_lists
    return [x for each in containers for x in (each, *known.get(id(each), (each, ()))[1])]


def is_growing(slot: Slot) -> bool:
    """Whether a slot is what such a list holds."""
    trace = _root()
    is_container = trace is not None and isinstance(slot, ContainerSlot)
    return is_container and id(slot.owner) in trace.growing_lists


def is_own(items: Any) -> bool:
    """Whether only known uses are made of a list."""
    return id(items) in _own_lists()


def owned(items: Any) -> Any:
    """Return a list, of which is noted that only known uses are made of it."""
    if type(items) in LISTS:
        _own_lists()[id(items)] = items
    return items


def disowned(items: list[Any]) -> list[Any]:
    """Return a list, of which is noted that anything may be done with it."""
    _own_lists().pop(id(items), None)
    return items


def is_held(slot: Slot) -> bool:
    """Whether what a slot holds is that of a list that was made in what is traced."""
    is_list = isinstance(slot, ContainerSlot) and type(slot.owner) in LISTS
    return is_list and is_made_here(slot.owner)


def list_of_slot(slot: Slot) -> list[Any] | None:
    """Return the list of which a slot is all that it holds, if only known uses are made of it."""
    return slot.owner if isinstance(slot, ContainerSlot) and is_own(slot.owner) else None


STANDING[Grown] = STANDING[Columns] = "a list whose length is data"
