"""Lists within what branches and turns leave, of which the data say how many elements they have.

Such a list stays one of Python's, in a dict, an attribute or another list, and holds a list of the
graph: what a branch or a turn leaves is put in the form that it has in the others.
"""

from __future__ import annotations

import collections
import copy
from collections.abc import Sequence
from typing import Any

from lanewise.autograph.lists.columns import Columns, Element, columns_of
from lanewise.autograph.lists.grown import (
    Grown,
    alike,
    element_of_all,
    growing,
    held,
    in_form_of,
    known_length,
    left_in,
    pieces_of,
    whole,
)
from lanewise.autograph.lists.hooks import listed
from lanewise.autograph.lists.rows import Row, common_form, nested_of, nesting
from lanewise.autograph.state import Kind, kind_among
from lanewise.ir.dims import Dim
from lanewise.trace import tree
from lanewise.trace.contents import (
    LISTS,
    Contents,
    Entries,
    Heap,
    Nested,
    chosen_by,
    contents_of,
    enter,
    fill,
    holds,
    is_keyed,
    is_nested,
)
from lanewise.trace.lending import Unknown
from lanewise.trace.regions import born, note_container, resumed
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, as_tensor
from lanewise.trace.trace import Trace, state

#: Classes of dicts and sets whose keys may be data.
KINDS = frozenset(
    (dict, set, collections.defaultdict, collections.Counter, collections.OrderedDict)
)


def has_held(value: Any) -> bool:
    """Whether there are lists in a value that hold as many elements as the data say."""
    if not state.has_contents:
        return False
    return any(map(_is_held, tree.flatten(value, _is_held)[0]))


def _is_held(x: Any) -> bool:
    if type(x) in (Entries, Nested) or is_keyed(x) or is_nested(x):
        return True
    return type(x) is not Row and chosen_by(x) is x and holds(x)


def _keyed_alike(ends: Sequence[Any], are_contents: bool) -> Sequence[Any]:
    """Return what branches or turns leave, dicts and sets as such whose keys are data if some are.

    Those of different keys have to be, too. They are all that one holds where `are_contents` says;
    of sets nothing else is.
    """
    kind = next((each for each in map(_form_of, ends) if each is not None), None)
    if kind is None and _have_other_keys(ends):
        kind = Entries if are_contents else dict
    found = ends if kind is None else [_in_form(end, kind) for end in ends]
    return ends if any([each is None for each in found]) else found


def _form_of(value: Any) -> Any:
    """Return as what is handed on whose keys are data: all that it holds, a dict, or None."""
    if type(value) is Entries:
        return Entries
    if not is_keyed(value):
        return None
    held = contents_of(value)
    if type(held) is Unknown:
        held.refuse()
    return dict if isinstance(value, dict) else None


def _in_form(value: Any, kind: Any) -> Any:
    """Return a dict, or all that a dict or set holds, in such a form; None if that cannot be."""
    if is_keyed(value) if kind is dict else type(value) is kind:
        return value
    if type(value) not in KINDS or (kind is dict and type(value) is set):
        return None
    if not all(map(may_be_key, value)):
        return None
    values = list(value.values()) if isinstance(value, dict) else []
    entries = Entries(growing(list(value)), growing(values))
    if kind is Entries:
        state.has_contents = True
        return entries
    made = born(copy.copy(value))
    enter(made, entries)
    return made


def may_be_key(key: Any) -> bool:
    """Whether a key is a number, a text or an object, or a tuple of such."""
    kinds = map(kind_among, key if type(key) is tuple and key else (key,))
    return all([kind is not None and not kind.shape for kind in kinds])


def _have_other_keys(ends: Sequence[Any]) -> bool:
    """Whether they are dicts or sets of other keys, or dicts with these in another order."""
    kind = dict if isinstance(ends[0], dict) else set
    if not all([isinstance(end, kind) for end in ends]):
        return False
    keys = [list(end) if kind is dict else set(end) for end in ends]
    return any([each != keys[0] for each in keys])


def _nested_alike(ends: Sequence[Any], traces: Sequence[Trace], are_contents: bool) -> Any:
    """Return what branches or turns leave, lists of lists of other lengths as such; or None."""
    is_nested_already = [type(end) is Nested or is_nested(end) for end in ends]
    form = common_form(ends)
    if form is None or not (any(is_nested_already) or element_of_all(ends) is None):
        return None
    if all(is_nested_already):
        return ends
    if not any(is_nested_already) and _hold_the_same(ends):
        return None
    found = []
    for end, trace in zip(ends, traces, strict=True):
        with resumed(trace):
            found.append(nested_of(left_in(end, trace), form, end))
    # They are of the graph at once: how long they are, no code of the user's asks.
    rows = [
        [each.items, *[x for heap in each.heaps for x in (heap.heads, heap.cells)]]
        for each in found
    ]
    for lists in zip(*rows, strict=True):
        for own, each in zip(
            lists, alike(lists, traces, False, are_held=True) or lists, strict=True
        ):
            if own is not each:
                fill(own, each)
    return found if are_contents else [nesting(each) for each in found]


def _hold_the_same(ends: Sequence[Any]) -> bool:
    """Whether lists hold the same objects, which are places of their own."""
    rows = [end for end in ends if type(end) is list]
    is_one = len(rows) == len(ends) and len({len(row) for row in rows}) == 1
    return is_one and all([x is y for row in rows[1:] for x, y in zip(row, rows[0], strict=True)])


def _count(items: Any) -> int:
    return len(items) if type(items) in LISTS else -1


def _fits(first: Any, items: Any) -> bool:
    """Whether a list can lie where another one does, which holds a traced one."""
    own = pieces_of(first)
    if len(own) > 1 or type(own[0]) is not Grown:
        return False
    pieces, store = pieces_of(items), own[0].store
    is_queue = any([type(x) is Grown and x.store.is_queue for x in pieces])
    return store.is_queue >= is_queue and element_of_all([*own, *pieces]) == store.element


def held_alike(
    ends: Sequence[Any],
    traces: Sequence[Trace],
    always: bool = False,
    are_contents: bool = False,
) -> Any:
    """Return what branches or turns leave, with lists in it that hold as many as the data say.

    Those are lists which some leave longer than others, and those of dicts and sets of which some
    have other keys; None if there are none. `are_contents` says that they are all that one holds,
    the rest what it does for `alike`.
    """
    first = ends[0]
    if all([end is first for end in ends]):
        return None
    if any([type(end) in KINDS or type(end) is Entries for end in ends]):
        keyed = _keyed_alike(ends, are_contents)
        count = 1 if always else len(ends)
        is_changed = any([keyed[i] is not ends[i] for i in range(count)])
        found = _children_alike(keyed, traces, always)
        return keyed if found is None and is_changed else found
    if any([type(end) is Row or chosen_by(end) is not end for end in ends]):
        return None
    are_lists = all([type(end) in (*LISTS, Columns, Grown, Nested) for end in ends])
    if are_lists and (nested := _nested_alike(ends, traces, are_contents)) is not None:
        if nested is ends:
            return _children_alike(ends, traces, always)
        return nested
    if are_lists and are_contents:
        return None
    if are_lists and (any(map(holds, ends)) or len({*map(_count, ends)}) > 1):
        if always and _fits(*ends):
            return None  # turns put theirs in the form of the first
        found = alike(ends, traces, always, are_held=True)
        if found is None and any(map(holds, ends)):  # those that are traced lie alike
            found = ends if Grown in map(type, ends) or Columns in map(type, ends) else None
            return None if found is None else [x if type(x) in LISTS else held(x) for x in ends]
        if found is not None:
            return [held(each) for each in found]
    return _children_alike(ends, traces, always)


def _children_alike(ends: Sequence[Any], traces: Sequence[Trace], always: bool) -> Any:
    children = [tree.children_of(end) for end in ends]
    keys = (children[0] or {}).keys()
    if not keys or any([each is None or each.keys() != keys for each in children]):
        return None
    columns = {key: [each[key] for each in children if each is not None] for key in keys}
    changed = {key: held_alike(column, traces, always) for key, column in columns.items()}
    if all([column is None for column in changed.values()]):
        return None
    return [
        tree.with_children(end, {key: (changed[key] or columns[key])[i] for key in keys})
        for i, end in enumerate(ends)
    ]


def in_held_form_of(entry: Any, value: Any) -> Any:
    """Return what a turn leaves in the form in which a loop hands it on, of `held_alike`."""
    if type(entry) is Row or chosen_by(entry) is not entry:
        return value
    if holds(entry):
        if type(value) not in (*LISTS, Columns, Grown):
            return value
        made = in_form_of(whole(entry), whole(value), True)
        return held(made) if type(made) in (Columns, Grown) else value
    if (is_nested(entry) or type(entry) is Nested) and type(value) is list:
        form = entry.form if type(entry) is Nested else entry[0].form
        nested = nested_of(value, form, value)
        value = nested if type(entry) is Nested else nesting(nested)
    form = _form_of(entry)
    if form is not None and value is not entry:
        made = _in_form(value, form)
        value = value if made is None else made
    own, children = tree.children_of(entry), tree.children_of(value)
    if not own or children is None or own.keys() != children.keys() or value is entry:
        return value
    found = {key: in_held_form_of(own[key], each) for key, each in children.items()}
    if all([found[key] is each for key, each in children.items()]):
        return value
    return tree.with_children(value, found)


# --- one by one again -----------------------------------------------------------------------------


def unbox(*values: Any) -> None:
    """Have lists hold their elements one by one again, for code that may change or keep them.

    Lists of lists then hold lists that are those on the heap. Where the data say how many there
    are, they refuse.
    """
    for owner in values:
        if is_nested(owner):
            nested: Nested = owner[0]
            if nested.form is not True or known_length(nested.items) is None:
                nested.refuse()
            elements = [_row_on(nested.heaps[0], place) for place in listed(whole(nested.items))]
        elif holds(owner):
            elements = listed(whole(owner))
        else:
            continue
        note_container(owner)
        fill(owner, elements)


def _row_on(heap: Heap, place: Any) -> list[Any]:
    """Return a list that is one on a heap."""
    made = born([])
    fill(made, Row(heap, place))
    return made


def spread_out(args: Sequence[Any]) -> list[Any]:
    """Return arguments of a call, ``*items`` of lists of known length one by one."""
    found = []
    for each in args:
        if type(each) is not Contents:
            found.append(each)
        elif known_length([each]) is None:
            each.refuse()
        else:
            found += listed(each.items)
    return found


def numbers_of_array(x: Tensor) -> Any:
    """Return ``x.tolist()``, also of an array of which the data say how long it is."""
    if x.ndim != 1 or not isinstance(x.shape[0], Dim):
        return x.tolist()
    weak_kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[x.dtype.kind]
    numbers = as_tensor(x.astype(WEAK_DTYPES[weak_kind]))  # a copy
    kind = Kind(numbers.dtype, (), weak_kind)
    return held(Columns(Element(tree.flatten(0)[1], (kind,)), [numbers]))


def part_at(items: list[Any], key: slice) -> Any:
    """Return ``items[key]`` of a list of Python's and a slice at data; None of other elements."""
    element = element_of_all([items])
    if element is None:
        return None
    return held(columns_of(items, element).part(key))
