"""Lists within what branches and turns leave, of which the data say how many elements they have.

Such a list stays one of Python's, in a dict, an attribute or another list, and holds a list of the
graph: what a branch or a turn leaves is put in the form that it has in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanewise.autograph.lists.columns import Columns
from lanewise.autograph.lists.grown import (
    Grown,
    alike,
    element_of_all,
    held,
    in_form_of,
    pieces_of,
    whole,
)
from lanewise.trace import tree
from lanewise.trace.contents import LISTS, holds
from lanewise.trace.trace import Trace, state


def has_held(value: Any) -> bool:
    """Whether there are lists in a value that hold as many elements as the data say."""
    return state.has_contents and any(map(holds, tree.flatten(value, holds)[0]))


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


def held_alike(ends: Sequence[Any], traces: Sequence[Trace], always: bool = False) -> Any:
    """Return what branches or turns leave, with lists in it that hold as many as the data say.

    Those are lists which some leave longer than others; None if there are none. The rest says what
    it does for `alike`.
    """
    first = ends[0]
    if all([end is first for end in ends]):
        return None
    are_lists = all([type(end) in (*LISTS, Columns, Grown) for end in ends])
    if are_lists and (any(map(holds, ends)) or len({*map(_count, ends)}) > 1):
        if always and _fits(*ends):
            return None  # turns put theirs in the form of the first
        found = alike(ends, traces, always, are_held=True)
        if found is None and any(map(holds, ends)):  # those that are traced lie alike
            found = ends if Grown in map(type, ends) or Columns in map(type, ends) else None
            return None if found is None else [x if type(x) in LISTS else held(x) for x in ends]
        if found is not None:
            return [held(each) for each in found]
    children = [tree.children_of(end) for end in ends]
    keys = (children[0] or {}).keys()
    if not keys or any([each is None or each.keys() != keys for each in children]):
        return None
    columns = {key: [each[key] for each in children if each is not None] for key in keys}
    changed = {key: held_alike(column, traces, always) for key, column in columns.items()}
    if all([column is None for column in changed.values()]):
        return None
    return [
        tree.with_children(
            end, {key: (changed[key] or columns[key])[i] for key in keys}
        )
        for i, end in enumerate(ends)
    ]  # fmt: skip


def in_held_form_of(entry: Any, value: Any) -> Any:
    """Return what a turn leaves in the form in which a loop hands it on, of `held_alike`."""
    if holds(entry):
        is_list = type(value) in (*LISTS, Columns, Grown)
        return held(in_form_of(whole(entry), whole(value), True)) if is_list else value
    own, children = tree.children_of(entry), tree.children_of(value)
    if not own or children is None or own.keys() != children.keys() or value is entry:
        return value
    found = {key: in_held_form_of(own[key], each) for key, each in children.items()}
    if all([found[key] is each for key, each in children.items()]):
        return value
    return tree.with_children(value, found)
