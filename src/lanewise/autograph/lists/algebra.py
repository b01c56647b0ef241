"""What is made of two dicts or sets of which the keys of one at least are data.

As in `lanewise.autograph.lists.keyed`, it is done by loops over lists of their keys, which are
converted. A dict or set that holds no such list yet becomes one that does, or is copied first where
it stays as it is.
"""

from __future__ import annotations

import builtins
import collections
import functools
from collections.abc import Callable
from types import GeneratorType
from typing import Any

from lanewise.autograph.calls import ROWS, fn
from lanewise.autograph.cursors import Cursor
from lanewise.autograph.lists import keyed
from lanewise.autograph.lists.keyed import _add, _item_or, _place, _put
from lanewise.autograph.lists.loops import written
from lanewise.autograph.sequences import Items
from lanewise.autograph.values import negated
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.contents import Entries, concerns, enter, entries_of, fill, holds, is_keyed
from lanewise.trace.lending import Unknown
from lanewise.trace.regions import born
from lanewise.trace.scratch import is_traced

# --- as loops -------------------------------------------------------------------------------------


def _within(keys: Any, others: Any, is_wanted: Any) -> Any:
    """Return the keys that are among others, or those that are not."""
    return [key for key in keys if (_place(others, key) < len(others)) == is_wanted]


def _hold(keys: Any, found: Any) -> None:
    keys.clear()
    for key in found:
        keys.append(key)


def _add_all(keys: Any, others: Any) -> None:
    for key in others:
        _add(keys, key)


def _keep(keys: Any, others: Any) -> None:
    _hold(keys, _within(keys, others, True))


def _drop(keys: Any, others: Any) -> None:
    _hold(keys, _within(keys, others, False))


def _toggle(keys: Any, others: Any) -> None:
    new = _within(others, keys, False)
    _drop(keys, others)
    _add_all(keys, new)


def _are_among(keys: Any, others: Any) -> Any:
    return all(_place(others, key) < len(others) for key in keys)


def _are_not_among(keys: Any, others: Any) -> Any:
    return all(_place(others, key) == len(others) for key in keys)


def _have_equal_values(keys: Any, values: Any, others: Any, their_values: Any) -> Any:
    for i in range(len(keys)):
        place = _place(others, keys[i])
        if place == len(others) or values[i] != their_values[place]:
            return False
    return True


def _put_all(keys: Any, values: Any, others: Any, their_values: Any) -> None:
    for i in range(len(others)):
        _put(keys, values, others[i], their_values[i])


def _count_all(keys: Any, values: Any, others: Any) -> None:
    for key in others:
        _put(keys, values, key, _item_or(keys, values, key, 0) + 1)


def _count_more(keys: Any, values: Any, others: Any, counts: Any) -> None:
    for i in range(len(others)):
        _put(keys, values, others[i], _item_or(keys, values, others[i], 0) + counts[i])


def _put_pairs(keys: Any, values: Any, pairs: Any) -> None:
    for key, value in pairs:
        _put(keys, values, key, value)


for _loop in (
    _within, _hold, _add_all, _keep, _drop, _toggle, _are_among, _are_not_among,
    _have_equal_values, _put_all, _put_pairs, _count_all, _count_more,
):  # fmt: skip
    written(_loop)


# --- sets -----------------------------------------------------------------------------------------


def _elements(x: Any) -> Any:
    """Return the elements of a set or of anything that goes through some, as a list."""
    if is_keyed(x):
        return entries_of(x).keys
    return x if holds(x) else born(list(x))


def _keys(owner: Any) -> Any:
    """Return the list of the keys of a dict or set that a method changes."""
    if keyed.become(owner) is None:
        raise UnsupportedError(
            f"a {type(owner).__name__} that was made outside of the function is given keys that "
            f"are data{at(here())}. Make a copy of it in the function"
        )
    return entries_of(owner).keys


def _updating(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that changes a set by others."""

    def update(owner: Any, *others: Any) -> None:
        for other in others:
            fn(change)(_keys(owner), _elements(other))

    return update


def _making(update: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that changes a copy of a set, and returns it."""

    def make(owner: Any, *others: Any) -> Any:
        made = keyed.copied(owner) if is_keyed(owner) else born(set(owner))
        update(made, *others)
        return made

    return make


_CHANGES = {
    "update": _updating(_add_all),
    "intersection_update": _updating(_keep),
    "difference_update": _updating(_drop),
    "symmetric_difference_update": _updating(_toggle),
}
#: Of sets of which the keys of one at least are data.
OF_SETS: dict[str, Callable[..., Any]] = {
    **_CHANGES,
    "union": _making(_CHANGES["update"]),
    "intersection": _making(_CHANGES["intersection_update"]),
    "difference": _making(_CHANGES["difference_update"]),
    "symmetric_difference": _making(_CHANGES["symmetric_difference_update"]),
    "issubset": lambda one, other: fn(_are_among)(_elements(one), _elements(other)),
    "issuperset": lambda one, other: fn(_are_among)(_elements(other), _elements(one)),
    "isdisjoint": lambda one, other: fn(_are_not_among)(_elements(one), _elements(other)),
}


# --- dicts ----------------------------------------------------------------------------------------


def _entries(x: Any) -> tuple[Any, Any]:
    """Return the keys and the values of a dict, as lists."""
    return entries_of(x).lists if is_keyed(x) else (born(list(x)), born(list(x.values())))


def _update(owner: Any, *others: Any, **named: Any) -> None:
    """``owner.update(other)``, of a dict, or of pairs; or of what a `Counter` counts."""
    if named:
        keyed._refuse("a dict is updated by names")
    counts = isinstance(owner, collections.Counter)
    for other in others:
        _keys(owner)
        lists = entries_of(owner).lists
        if isinstance(other, dict):
            fn(_count_more if counts else _put_all)(*lists, *_entries(other))
        elif counts:
            fn(_count_all)(*lists, _elements(other))
        else:
            fn(_put_pairs)(*lists, other)


def united(*parts: tuple[Any, ...]) -> Any:
    """Return a dict of keys and values, and of other dicts: of tuples of two, and of one."""
    made = born({})
    for part in parts:
        _update(made, part[0] if len(part) == 1 else [part])
    return made


OF_DICTS: dict[str, Callable[..., Any]] = {"update": _update}


# --- operators ------------------------------------------------------------------------------------

_UPDATES = {
    "|": "update", "&": "intersection_update", "-": "difference_update",
    "^": "symmetric_difference_update",
}  # fmt: skip


def _changed(owner: Any, symbol: str, other: Any) -> bool:
    """Whether a dict or set was changed by ``owner |= other`` and the like, if there is such."""
    are_sets = isinstance(owner, set) and isinstance(other, (set, frozenset))
    are_dicts = isinstance(owner, dict) and isinstance(other, dict) and symbol == "|"
    if not (are_sets or are_dicts) or isinstance(owner, collections.Counter):
        return False
    method(owner, _UPDATES[symbol], (other,), {})
    return True


def binary(symbol: str, left: Any, right: Any) -> Any:
    """``left | right`` and the like, of which one at least is a dict or set whose keys are data."""
    if type(left) in (dict, set, frozenset):
        kind = dict if isinstance(left, dict) else set
        made = keyed.copied(left) if is_keyed(left) else born(kind(left))
        if _changed(made, symbol, right):
            return made
    keyed._refuse(f"{type(left).__name__} {symbol} {type(right).__name__}")


def augmented(owner: Any, symbol: str, other: Any) -> Any:
    """Carry out ``owner |= other`` and the like; return that by which nothing is changed then."""
    if not _changed(owner, symbol, other):
        keyed._refuse(f"{type(owner).__name__} {symbol}= {type(other).__name__}")
    return owner if symbol == "&" else type(other)()


_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<=": OF_SETS["issubset"],
    ">=": OF_SETS["issuperset"],
    "<": lambda one, other: _is_smaller(one, other) & OF_SETS["issubset"](one, other),
    ">": lambda one, other: _is_smaller(other, one) & OF_SETS["issuperset"](one, other),
}


def _count(x: Any) -> Any:
    return fn(len)(_elements(x))


def _is_smaller(one: Any, other: Any) -> Any:
    return _count(one) < _count(other)


def equal(one: Any, other: Any) -> Any:
    """``one == other``, of which one at least is a dict or set whose keys are data."""
    are_dicts = isinstance(one, dict)
    if are_dicts != isinstance(other, dict) or not isinstance(other, (dict, set, frozenset)):
        return False
    same = _count(one) == _count(other)
    if are_dicts:
        return same & fn(_have_equal_values)(*_entries(one), *_entries(other))
    return same & OF_SETS["issubset"](one, other)


def compare(symbol: str, one: Any, other: Any) -> Any:
    """``one <= other`` and the like."""
    if symbol in ("==", "!="):
        return equal(one, other) if symbol == "==" else negated(equal(one, other))
    if not (isinstance(one, (set, frozenset)) and isinstance(other, (set, frozenset))):
        keyed._refuse(f"{type(one).__name__} {symbol} {type(other).__name__}")
    return _COMPARED[symbol](one, other)


# --- methods --------------------------------------------------------------------------------------


def method(owner: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """Carry out a method of a dict or set that is given others."""
    return (OF_SETS if isinstance(owner, set) else OF_DICTS)[name](owner, *args, **kwargs)


def is_of_two(owner: Any, name: str) -> bool:
    """Whether a method of a dict or set is given others."""
    return name in (OF_SETS if isinstance(owner, set) else OF_DICTS)


def is_given_data(owner: Any, name: str, args: Any) -> bool:
    """Whether such a method is given keys that are data, or others whose keys are."""
    if not is_of_two(owner, name):
        return False
    return is_keyed(owner) or any([_has_data(owner, x) for x in args])


def _has_data(owner: Any, x: Any) -> bool:
    """Whether there are keys in it that are data."""
    if concerns(x) or isinstance(x, Items):
        return True
    if isinstance(x, dict):
        return is_traced(list(x))
    if isinstance(owner, dict) and not isinstance(owner, collections.Counter):
        if not isinstance(x, (list, tuple)):
            return False
        return is_traced([pair[0] for pair in x if isinstance(pair, (list, tuple)) and pair])
    return is_traced(x)


# --- classes --------------------------------------------------------------------------------------

#: What goes through something else, once.
_ITERATORS = (Cursor, zip, map, filter, enumerate, GeneratorType)


def _follow(cls: Any) -> None:
    """Have a class be made of elements that are data, or of pairs whose first ones are."""
    before = ROWS.get(cls, cls)

    def make(*args: Any, **kwargs: Any) -> Any:
        args = tuple([fn(list)(x) if isinstance(x, _ITERATORS) else x for x in args])
        if len(args) != 1 or kwargs or not _has_data(cls(), args[0]):
            return before(*args, **kwargs)
        made = born(cls())
        method(made, "update", args, {})
        return made

    ROWS[cls] = make


#: The classes of which that is so.
MAKING = (builtins.set, builtins.dict, collections.Counter, collections.OrderedDict)
for _class in MAKING:
    _follow(_class)


def _from_keys(cls: Any, keys: Any, value: Any = None) -> Any:
    """``dict.fromkeys(keys)``."""
    keys = fn(list)(keys) if isinstance(keys, _ITERATORS) else keys
    if not _has_data(set(), keys):
        return born(cls.fromkeys(keys, value))
    made = born(cls())
    if value is not None:
        fn(_fill)(made, keys, value)
        return made
    found, values = born([]), born([])
    fn(_add_all)(found, _elements(keys))
    fill(values, Unknown("a dict", are_none=True))
    enter(made, Entries(found, values))
    return made


for _class in (dict, collections.OrderedDict):
    ROWS[_class.fromkeys] = functools.partial(_from_keys, _class)


def _fill(entries: Any, keys: Any, value: Any) -> None:
    for key in keys:
        entries[key] = value


written(_fill)
