"""Dicts and sets whose keys are data: two lists, of the keys and of the values, that grow.

``counts[v] = counts.get(v, 0) + 1`` of a number of the data: which keys there are differs from
example to example. Such a dict or set stays the object that it is, whoever has it, and holds
`Entries` (`lanewise.trace.contents`). What is done with it is done with its two lists, by functions
that are written as loops and converted: a key is looked for among all, in the order in which they
came.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from lanewise.autograph.calls import fn
from lanewise.autograph.lists.grown import growing
from lanewise.autograph.lists.held import KINDS, may_be_key
from lanewise.autograph.lists.loops import written
from lanewise.autograph.values import require, traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.contents import Entries, enter, entries_of, is_keyed
from lanewise.trace.regions import born, is_made_here, note_container
from lanewise.trace.scratch import is_traced


def _refuse(what: str) -> NoReturn:
    raise UnsupportedError(
        f"{what}{at(here())}, of which the data say what keys there are. What can be done with it: "
        "look up, assign, in, get, pop, setdefault, del, len, keys, values, items, and for a set "
        "add, remove, discard, in, len, min, max and sorted"
    )


# --- as loops -------------------------------------------------------------------------------------


def _place(keys: Any, key: Any) -> Any:
    """Return where a key is, or how many there are."""
    place = 0
    for own in keys:
        if own == key:
            break
        place += 1
    return place


def _has(keys: Any, key: Any) -> Any:
    return _place(keys, key) < len(keys)


def _item(keys: Any, values: Any, key: Any) -> Any:
    place = _place(keys, key)
    if place == len(keys):
        raise KeyError(key)
    return values[place]


def _item_or(keys: Any, values: Any, key: Any, default: Any) -> Any:
    place = _place(keys, key)
    if place < len(keys):
        return values[place]
    return default


def _put(keys: Any, values: Any, key: Any, value: Any) -> None:
    place = _place(keys, key)
    if place < len(keys):
        values[place] = value
    else:
        keys.append(key)
        values.append(value)


def _made(keys: Any, values: Any, key: Any, value: Any) -> Any:
    """Return the value of a key, which is entered with one if it is not there."""
    place = _place(keys, key)
    if place == len(keys):
        keys.append(key)
        values.append(value)
    return values[place]


def _delete(keys: Any, values: Any, key: Any) -> None:
    place = _place(keys, key)
    if place == len(keys):
        raise KeyError(key)
    del keys[place]
    del values[place]


def _take(keys: Any, values: Any, key: Any) -> Any:
    place = _place(keys, key)
    if place == len(keys):
        raise KeyError(key)
    found = values[place]
    del keys[place]
    del values[place]
    return found


def _take_or(keys: Any, values: Any, key: Any, default: Any) -> Any:
    place = _place(keys, key)
    if place < len(keys):
        found = values[place]
        del keys[place]
        del values[place]
        return found
    return default


def _take_last(keys: Any, values: Any, last: Any) -> Any:
    if not keys:
        raise KeyError("dictionary is empty")
    place = len(keys) - 1 if last else 0
    found = keys[place], values[place]
    del keys[place]
    del values[place]
    return found


def _move(keys: Any, values: Any, key: Any, last: Any) -> None:
    value = _take(keys, values, key)
    place = len(keys) if last else 0
    keys.insert(place, key)
    values.insert(place, value)


def _add(keys: Any, key: Any) -> None:
    if _place(keys, key) == len(keys):
        keys.append(key)


def _remove(keys: Any, key: Any) -> None:
    place = _place(keys, key)
    if place == len(keys):
        raise KeyError(key)
    del keys[place]


def _discard(keys: Any, key: Any) -> None:
    place = _place(keys, key)
    if place < len(keys):
        del keys[place]


def _items(keys: Any, values: Any) -> Any:
    return [(keys[i], values[i]) for i in range(len(keys))]


def _commonest(keys: Any, values: Any) -> Any:
    """Return the first key with the largest count, and that, if there is one."""
    best = 0
    for i in range(1, len(keys)):
        if values[i] > values[best]:
            best = i
    return [(keys[i], values[i]) for i in range(best, min(best + 1, len(keys)))]


def _most_common(keys: Any, values: Any, n: Any) -> Any:
    order = sorted(range(len(keys)), key=lambda i: values[i], reverse=True)
    return [(keys[i], values[i]) for i in order[:n]]


for _loop in (
    _place, _has, _item, _item_or, _put, _made, _delete, _take, _take_or, _add, _remove, _discard,
    _items, _commonest, _most_common, _take_last, _move,
):  # fmt: skip
    written(_loop)


def _checked(key: Any) -> Any:
    """Return a key; raise at run time for one of which nobody knows if it is another one."""
    if not may_be_key(key):
        hash(key)  # raises for an array
        _refuse("a key that is no number, and no tuple of numbers, is looked up")
    for part in key if type(key) is tuple else (key,):
        tensor = traced(part)
        if tensor is not None and tensor.dtype.kind in "fc":
            message = "NaN is a key of a dict or set: it equals no other one but the same object"
            require(np.logical_not(np.isnan(tensor)), ValueError(message))
    return key


# --- objects --------------------------------------------------------------------------------------


def become(owner: Any) -> Entries | None:
    """Have a dict or set hold lists of its keys and values; None if it cannot."""
    if is_keyed(owner):
        return entries_of(owner)
    if type(owner) not in KINDS:
        return None
    keys = list(owner)
    if not is_made_here(owner) or not all([may_be_key(key) for key in keys]):
        return None
    values = list(owner.values()) if isinstance(owner, dict) else []
    note_container(owner)
    entries = Entries(growing(keys), growing(values))
    enter(owner, entries)
    return entries


def _default_of(owner: Any) -> Callable[[], Any] | None:
    """Return what makes the value of a key that is looked up and not there."""
    if isinstance(owner, collections.defaultdict):
        return owner.default_factory
    return None


def getitem(owner: Any, key: Any) -> Any:
    """``owner[key]``."""
    keys, values = entries_of(owner).lists
    key = _checked(key)
    if isinstance(owner, collections.Counter):
        return fn(_item_or)(keys, values, key, 0)
    make = _default_of(owner)
    if make is None:
        return fn(_item)(keys, values, key)
    return fn(_made)(keys, values, key, fn(make)())


def setitem(owner: Any, key: Any, value: Any) -> None:
    """``owner[key] = value``."""
    fn(_put)(*entries_of(owner).lists, _checked(key), value)


def delitem(owner: Any, key: Any) -> None:
    """``del owner[key]``."""
    fn(_delete)(*entries_of(owner).lists, _checked(key))


def contains(owner: Any, key: Any) -> Any:
    """``key in owner``."""
    return fn(_has)(entries_of(owner).keys, _checked(key))


def sequence(owner: Any) -> Any:
    """Return the list of what a loop over it goes through."""
    if isinstance(owner, set):
        _refuse("a loop goes through a set, whose order is Python's own")
    return _copied(entries_of(owner).keys)


def _copied(items: list[Any]) -> Any:
    return fn(list)(items)


def copied(owner: Any, kind: Any = None) -> Any:
    """Return a copy of a dict or set, or a dict or set of the same keys."""
    keys, values = map(_copied, entries_of(owner).lists)
    given = () if kind or _default_of(owner) is None else (_default_of(owner),)
    made = born((kind or type(owner))(*given))
    enter(made, Entries(keys, values))
    return made


def _pop(owner: Any, key: Any, *default: Any) -> Any:
    lists, key = entries_of(owner).lists, _checked(key)
    return fn(_take_or)(*lists, key, *default) if default else fn(_take)(*lists, key)


def _clear(owner: Any) -> None:
    for items in entries_of(owner).lists:
        fn(items.clear)()


def _get(owner: Any, key: Any, default: Any = None) -> Any:
    return fn(_item_or)(*entries_of(owner).lists, _checked(key), default)


def _set_default(owner: Any, key: Any, default: Any = None) -> Any:
    return fn(_made)(*entries_of(owner).lists, _checked(key), default)


def _pop_item(owner: Any, last: Any = True) -> Any:
    return fn(_take_last)(*entries_of(owner).lists, last)


def _move_to_end(owner: Any, key: Any, last: Any = True) -> None:
    fn(_move)(*entries_of(owner).lists, _checked(key), last)


_OF_DICTS: dict[str, Callable[..., Any]] = {
    "get": _get,
    "pop": _pop,
    "popitem": _pop_item,
    "move_to_end": _move_to_end,
    "setdefault": _set_default,
    "keys": sequence,
    "values": lambda owner: _copied(entries_of(owner).values),
    "items": lambda owner: fn(_items)(*entries_of(owner).lists),
    "most_common": lambda owner, n=None: (
        fn(_commonest)(*entries_of(owner).lists)
        if type(n) is int and n == 1
        else fn(_most_common)(*entries_of(owner).lists, n)
    ),
    "total": lambda owner: fn(sum)(entries_of(owner).values),
    "__getitem__": getitem,
    "__setitem__": setitem,
    "__delitem__": delitem,
}
_OF_SETS: dict[str, Callable[..., Any]] = {
    "add": lambda owner, key: fn(_add)(entries_of(owner).keys, _checked(key)),
    "remove": lambda owner, key: fn(_remove)(entries_of(owner).keys, _checked(key)),
    "discard": lambda owner, key: fn(_discard)(entries_of(owner).keys, _checked(key)),
}
_OF_BOTH: dict[str, Callable[..., Any]] = {
    "clear": _clear,
    "copy": copied,
    "__contains__": contains,
    "__len__": lambda owner: fn(len)(entries_of(owner).keys),
}


def method(owner: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """Carry out a method."""
    found = {**(_OF_SETS if isinstance(owner, set) else _OF_DICTS), **_OF_BOTH}.get(name)
    if found is None or not hasattr(owner, name):
        _refuse(f".{name}() of a {type(owner).__name__}")
    return found(owner, *args, **kwargs)


#: What a set may be given to, since it does not depend on the order of the elements.
_OF_ANY_ORDER = frozenset((len, min, max, sorted, any, all, bool))


def given(function: Any, x: Any) -> Any:
    """Return what a function is given in the place of a dict or set: its keys."""
    if not is_keyed(x):
        return x
    if isinstance(x, set) and function not in _OF_ANY_ORDER:
        _refuse(f"{getattr(function, '__name__', 'a function')}() is given a set")
    return entries_of(x).keys


def changed_by(owner: Any, name: str, key: Any) -> bool:
    """Whether a method of a dict or set that holds no such yet is given a key that is data."""
    known = _OF_SETS if isinstance(owner, set) else _OF_DICTS
    return name in known and is_traced(key) and may_be_key(key) and become(owner) is not None
