"""Hooks for records in lists that are changed in place (`lanewise.autograph.lists.records`).

A list of Python's holds the records themselves. One of which the data decide the length has arrays
of what they hold: a record is made of these, changed, and put back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanewise.autograph.calls import fn
from lanewise.autograph.instances import NAME, Opening, objects_of, opened
from lanewise.autograph.lists.hooks import TRACED, counted, entry_of, with_entry
from lanewise.autograph.subscripts import getitem, setattr, setitem
from lanewise.errors import ControlFlowError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.attributes import held_by
from lanewise.trace.journal import Journal
from lanewise.trace.lending import lent_of
from lanewise.trace.regions import Watched, all_born
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import state


def _size(items: Any) -> Any:
    return items.length if type(items) in TRACED else len(items)


def index_in(items: Any, key: Any) -> Any:
    """Where ``items[key]`` is in a list, counted from the front."""
    return counted(key, _size(items), "list index out of range")


def places(items: Any) -> Any:
    """Where the elements of a list are that a loop goes through."""
    return fn(range)(_size(items))


def with_part(items: Any, key: Any, part: Any, value: Any) -> Any:
    """``items[key][part] = value``; returns the list."""
    record = _own(items, key)
    setitem(record, part, value)
    return _put_back(items, key, record)


def with_attribute(items: Any, key: Any, name: str, value: Any) -> Any:
    """``items[key].name = value``; returns the list."""
    record = _own(items, key)
    setattr(record, name, value)
    return _put_back(items, key, record)


def with_call(items: Any, key: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """``items[key].name(...)``, of which the result is of no interest; returns the list."""
    record = _own(items, key)
    method = fn(getattr(record, name))
    if type(items) not in TRACED:
        method(*args, **kwargs)
        return items
    _, changed, _ = _changed_by(lambda: method(*args, **kwargs))
    objects = objects_of(record, Opening(items.element.classes))
    parts = [record, *[list(held_by(x).values()) for x in objects]]
    known = {id(x) for x in (*objects, *tree.containers(parts))}
    if not known.issuperset(changed):
        raise ControlFlowError(
            f"a method of an element of a list whose length the data decide{at(here())} changes "
            "what is not the element's own, which may keep it as another object. Make the change "
            "where the method is called"
        )
    return _put_back(items, key, record)


def new(function: Any) -> Any:
    """What is called for a record that is put in a list: it is noted if others may have it."""
    if not isinstance(state.trace, Watched):
        return function

    def make(*args: Any, **kwargs: Any) -> Any:
        made, changed, there = _changed_by(lambda: fn(function)(*args, **kwargs))
        if changed or id(made) not in there:
            lent_of(made, NAME).is_elsewhere = True
        return made

    return make


def _changed_by(call: Callable[[], Any]) -> tuple[Any, list[int], dict[int, Any]]:
    """Return what a call gives, the ids of what it changes that was there, and what it makes."""
    assert state.trace is not None
    journal = Journal(state.trace)
    try:
        result = call()
    finally:
        journal.close()
    return result, [id(slot.owner) for slot, _ in journal.changes.values()], journal.born


def _own(items: Any, key: Any) -> Any:
    """Return a record that may be changed: that of a list of Python's, or one of what it holds."""
    if type(items) not in TRACED:
        return getitem(items, key)
    record = entry_of(items, key)
    if type(record) is Tensor:
        return record
    leaves, structure = tree.flatten(opened(record, Opening(items.element.classes)))
    return all_born(tree.unflatten(structure, leaves))


def _put_back(items: Any, key: Any, record: Any) -> Any:
    is_kept = type(items) not in TRACED or type(record) is Tensor
    return items if is_kept else with_entry(items, key, record)
