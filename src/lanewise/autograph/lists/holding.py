"""What is done with lists of Python's that hold elements of which the data say how many there are.

Such a list may be anywhere: an argument, an attribute, in another list. So what converted code
calls asks whether one is concerned, and does what `hooks` and `edits` do for lists of which all
uses are known; what that gives is what the list holds from there on.
"""

from __future__ import annotations

import bisect
import builtins
import copy
import functools
import heapq
import operator
from collections import deque
from collections.abc import Callable, Hashable
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import optree

from lanewise.autograph.calls import ASKING, HOOKS, _construct, fn
from lanewise.autograph.convert import convert, is_converted
from lanewise.autograph.known_calls import is_library
from lanewise.autograph.lists import algebra, edits, hooks, keyed, nested, pulling
from lanewise.autograph.lists.columns import Columns, Holder
from lanewise.autograph.lists.grown import held, known_length, side_by_side, whole
from lanewise.autograph.lists.held import numbers_of_array, part_at, spread_out, unbox
from lanewise.autograph.lists.loops import (
    _bisect_left,
    _bisect_right,
    all_of,
    any_of,
    filtered,
    largest,
    mapped,
    part_put,
    reduced,
    repeat,
    repeated,
    smallest,
    summed,
    times,
)
from lanewise.autograph.lists.returned import as_long_as
from lanewise.autograph.lists.rows import (
    Row,
    common_form,
    deepcopied,
    in_table,
    nest,
    one_of,
    one_of_several,
)
from lanewise.autograph.sequences import Listed
from lanewise.autograph.subscripts import getitem, setitem
from lanewise.autograph.tables import Picked, as_lists
from lanewise.autograph.values import equal
from lanewise.autograph.variants import has_variant, with_each
from lanewise.errors import UnsupportedError, at, function_name
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.contents import (
    LISTS,
    ON_CONTENTS,
    Chosen,
    Contents,
    chosen_by,
    concerns,
    entries_of,
    fill,
    holds,
    is_keyed,
    is_nested,
)
from lanewise.trace.regions import is_made_here, note_container
from lanewise.trace.scratch import is_traced
from lanewise.trace.tensor import as_tensor
from lanewise.trace.trace import state
from lanewise.trace.variants import Variant


def _store(owner: Any, items: Any) -> None:
    """Have a list hold what is left of a change."""
    if (row := chosen_by(owner)) is not owner:
        nested.replace(row, _boxed(items))
        return
    note_container(owner)
    fill(owner, items)


# --- methods --------------------------------------------------------------------------------------


def _sorted(items: Any, **options: Any) -> Any:
    return edits.in_order("sort", items, _each, **options)


def _each(items: Any, function: Any) -> Any:
    """Return the list of what a function gives for each element."""
    return whole(convert(mapped, HOOKS[0])(function, _boxed(items)))


#: What methods leave, and what takes an element out, by their names.
_LEAVING: dict[str, Callable[..., Any]] = {
    "append": hooks.appended,
    "appendleft": hooks.appended_left,
    "clear": lambda items: hooks.again(items, "clear"),
    "extend": edits.added,
    "insert": edits.inserted,
    "remove": edits.removed,
    "reverse": lambda items: hooks.again(items, "reverse"),
    "sort": _sorted,
    "__delitem__": edits.without,
    "__setitem__": hooks.with_entry,
}
_TAKING = {"pop": hooks.popped, "popleft": hooks.popped_left}
_LOOKING: dict[str, Callable[..., Any]] = {
    "copy": held,
    "count": lambda items, value: edits.found(items, "count", value),
    "index": lambda items, value: edits.found(items, "index", value),
    "__contains__": lambda items, value: edits.found(items, "in", value),
    "__getitem__": lambda items, key: entry(items, key),
    "__len__": lambda items: items.length,
}


def _change_if(is_it: Any, items: Any, name: str, args: Any, kwargs: Any) -> None:
    if is_it:
        getattr(items, name)(*args, **kwargs)


def _put_if(is_it: Any, items: Any, key: Any, value: Any) -> None:
    if is_it:
        items[key] = value


def _each_picked(picked: Any, change: Callable[..., Any], *args: Any) -> None:
    """Carry out a change of one of several lists, which the data choose."""
    lists = {id(items): items for items in picked.lists}
    for own in lists.values():
        places = [i for i, items in enumerate(picked.lists) if items is own]
        is_it = functools.reduce(np.logical_or, [picked.place == each for each in places])
        convert(change, HOOKS[0])(is_it, own, *args)


def _method_of_one(picked: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Carry out a method of one of several lists, which the data choose."""
    if type(picked) is Row:
        return nested.method_of_one(picked, name, args, kwargs)
    if name not in _TAKING and name not in _LEAVING:
        return _method(picked, name, args, kwargs)
    if (row := picked.row()) is not None:
        return nested.method_of_one(row, name, args, kwargs)
    found = None
    if name in _TAKING:
        found = getitem(picked, args[0] if args else -1)
    _each_picked(picked, _change_if, name, args, kwargs)
    return found


def _method(owner: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    items = whole(owner)
    args = [whole(x) if name == "extend" else x for x in args]
    if name in _LEAVING:
        _store(owner, _LEAVING[name](items, *args, **kwargs))
        return None
    if name in _TAKING:
        left, found = _TAKING[name](items, *args)
        _store(owner, left)
        return found
    if name in _LOOKING:
        return _LOOKING[name](items, *args)
    raise UnsupportedError(
        f".{name}() of a list whose length is data{at(here())} is not followed. Use append, "
        "insert, pop, remove, sort, index or a for loop"
    )


# --- functions ------------------------------------------------------------------------------------


#: What goes through a list, written as a loop.
_WRITTEN: dict[Any, Callable[..., Any]] = {
    functools.reduce: reduced,
    bisect.bisect_left: _bisect_left,
    bisect.bisect_right: _bisect_right,
    filter: filtered,
    any: any_of,
    all: all_of,
}
#: What does not look at the elements of its arguments.
_PASSING = frozenset((
    isinstance, issubclass, type, id, callable, hasattr, getattr, copy.copy, copy.deepcopy,
    bool, operator.not_, operator.truth, object.__init__,
))  # fmt: skip
#: What knows such lists itself (`lanewise.autograph.lists.heaps`).
_FOLLOWED = frozenset((
    heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop,
    heapq.nlargest, heapq.nsmallest, bisect.insort_left, bisect.insort_right,
))  # fmt: skip
#: What goes through a list as a ``for`` loop does (`lanewise.autograph.sequences`).
_LOOPING = frozenset((enumerate, zip, reversed, iter, map, dict.fromkeys)) | pulling.OF_ANY
#: What does with a list of such lists what it does with any.
_OF_WHOLES = frozenset((len, list, any, all, deque, sorted))
#: Methods of Python's own lists that keep what they are given.
_KEEPING = frozenset(("append", "appendleft", "insert"))
#: What takes one of several objects, too, or hands it on.
_OF_VARIANTS = (_PASSING - {copy.copy, copy.deepcopy, issubclass, callable}) | {
    list, tuple, dict, zip, enumerate, reversed, map, filter, min, max, sorted, any, all, sum,
    operator.eq, operator.ne, operator.is_, operator.is_not, operator.contains, setattr,
    operator.getitem, operator.setitem, print,
}  # fmt: skip
#: What is done with a list of lists as a whole.
_OF_NESTED: dict[Any, Callable[..., Any]] = {
    len: nested.size_of,
    list: lambda owner: nested.getitem(owner, slice(None)),
    builtins.sorted: nested.sorted_,
}
_TOTALS = frozenset((len, sum, max, min))
_EXTREMES: dict[Any, Callable[..., Any]] = {max: largest, min: smallest}


def called(f: Any, made: Any) -> Any:
    """Return what is called in place of a function, which may be given such lists."""
    return partial(_call, f, made)


def _call(f: Any, made: Any, *args: Any, **kwargs: Any) -> Any:
    args = args if _is_followed(made) else pulling.items_given(f, args)
    if not state.has_contents or not isinstance(f, Hashable) or type(f) is Variant:
        return made(*args, **kwargs)
    owner = chosen_by(getattr(f, "__self__", None))
    if type(owner) is Row:
        return nested.method_of_one(owner, f.__name__, args, kwargs)
    if is_nested(owner):
        return nested.method(owner, f.__name__, args, kwargs)
    if holds(owner):
        return _method(owner, f.__name__, args, kwargs)
    if isinstance(owner, (dict, set)) and algebra.is_given_data(owner, f.__name__, args):
        return algebra.method(owner, f.__name__, args, kwargs)
    if is_keyed(owner):
        return keyed.method(owner, f.__name__, args, kwargs)
    if str(getattr(f, "__module__", "")).startswith("lanewise.") or f in _FOLLOWED:
        return made(*args, **kwargs)
    if type(owner) in LISTS and f.__name__ == "extend" and any(map(holds, args)):
        return _method(owner, "extend", args, kwargs)
    given = (*args, *kwargs.values())
    if has_variant(given) and not (f in _OF_VARIANTS or _keeps(f, owner) or _is_followed(made)):
        return with_each(f, args, kwargs)
    if any(map(is_keyed, given)) and (f is copy.copy or not (f in _PASSING or _is_followed(made))):
        if f in (dict, set) and len(args) == 1 and not kwargs and isinstance(args[0], f):
            return keyed.copied(args[0], f)
        if f is copy.copy:
            return keyed.copied(args[0])
        if f in algebra.MAKING:
            return made(*args, **kwargs)
        args = tuple([keyed.given(f, x) for x in args])
        return fn(f)(*args, **{name: keyed.given(f, x) for name, x in kwargs.items()})
    if type(owner) in LISTS and f.__name__ in _KEEPING:
        return made(*args, **kwargs)
    if any(map(is_nested, given)) and f is copy.copy:
        return nested.getitem(args[0], slice(None))
    if f is copy.deepcopy and args and type(row := chosen_by(args[0])) is Row:
        return row.copy()
    if any(map(is_nested, given)) and not (f in _PASSING or _is_followed(made)):
        return _of_nested(f, made, args, kwargs)
    if Contents in map(type, given):
        return _call(f, made, *spread_out(args), **kwargs)
    if isinstance(f, np.ufunc) or str(getattr(f, "__module__", "")).startswith("numpy"):
        args, kwargs = as_lists(args), as_lists(kwargs)
    is_passed = f in _PASSING or f in _LOOPING or f in algebra.MAKING
    if is_passed or not any(map(_holds, given)) or _is_followed(made):
        return made(*args, **kwargs)
    function = f.__name__ if isinstance(f, type(str.upper)) else f
    if isinstance(function, str):
        return _method(args[0], function, args[1:], kwargs)
    if function in _OF_WHOLES and not holds(args[0]):  # of lists that hold such
        return made(*args, **kwargs)
    if function in _EXTREMES and len(args) > 1:
        return convert(_EXTREMES[function], HOOKS[0])(list(args), **kwargs)
    if len(args) == 1 and function in _EXTREMES and (kwargs or not _are_numbers(args[0])):
        default = (kwargs.pop("default"),) if "default" in kwargs else ()
        return convert(_EXTREMES[function], HOOKS[0])(*args, *default, **kwargs)
    if args and type(row := chosen_by(args[0])) is Row:
        if function is len:
            return nested.length_of(row)
        if function is sum:  # it is gone through anyhow, and has a derivative so
            return convert(summed, HOOKS[0])(*args, **kwargs)
    if function in _TOTALS and len(args) == 1 and not kwargs:
        return hooks.total_of(function, whole(args[0]))
    if function in (list, builtins.sorted) and len(args) == 1:
        return _boxed(edits.in_order(function, whole(args[0]), _each, **kwargs))
    if function in _WRITTEN:
        return convert(_WRITTEN[function], HOOKS[0])(*args, **kwargs)
    if function is deque:
        return _as_deque(*args, **kwargs)
    if not hooks.is_seen(f) and all([known_length(x) is not None for x in given if holds(x)]):
        unbox(*given)
        return made(*args, **kwargs)
    has_dtype = "dtype" in kwargs
    args = tuple([_given(f, x, has_dtype) for x in args])
    return made(*args, **{name: _given(f, x, has_dtype) for name, x in kwargs.items()})


def _of_nested(f: Any, made: Any, args: Any, kwargs: Any) -> Any:
    """Return what a function gives that is given a list of lists whose lengths are data."""
    if f in _LOOPING:
        return made(*args, **kwargs)
    owner = args[0] if args and is_nested(args[0]) else None
    if owner is not None and f in _OF_NESTED:
        return _OF_NESTED[f](*args, **kwargs)
    written = {**_WRITTEN, **_EXTREMES}
    if f in written and (f not in _EXTREMES or kwargs):
        default = (kwargs.pop("default"),) if "default" in kwargs else ()
        return convert(written[f], HOOKS[0])(*args, *default, **kwargs)
    if not hooks.is_seen(f):  # it may change what it is given, or keep it
        unbox(*args, *kwargs.values())
        return made(*args, **kwargs)
    args = [_known(x) if is_nested(x) else x for x in args]
    return fn(f)(*args, **{name: _known(x) if is_nested(x) else x for name, x in kwargs.items()})


def _known(owner: Any) -> list[Any]:
    """Return a list of lists as it is now; raise where the data say how many elements there are."""
    found = nested.known(owner)
    return owner[0].refuse() if found is None else found


def _are_numbers(owner: Any) -> bool:
    items = whole(owner)
    return type(items) in LISTS or optree.treespec_is_leaf(items.element.structure)


def _keeps(f: Any, owner: Any) -> bool:
    """Whether a function puts what it is given in an object of its own, or of the caller's."""
    return (isinstance(f, type) and f not in (str, int, float, bool, complex)) or (
        isinstance(owner, (list, dict, set, deque))
    )


def _is_followed(made: Any) -> bool:
    """Whether a function is converted code, or a class of a user's."""
    if isinstance(made, type):
        return not is_library(made.__module__)
    if isinstance(made, partial):
        return made.func in (_construct, _call, _method_of_one) or _is_followed(made.func)
    made = made.__func__ if isinstance(made, MethodType) else made
    if not isinstance(made, FunctionType):
        return False
    is_making = made.__name__ in ("__init__", "__new__") and not is_library(made.__module__)
    return is_making or is_converted(made.__code__) or made.__code__ is ASKING


def _holds(x: Any) -> bool:
    """Whether it is such a list, or a list or tuple of such."""
    return holds(x) or (type(x) in (list, tuple) and any(map(holds, x)))


def _given(function: Any, x: Any, has_dtype: bool) -> Any:
    """Return an argument of a function that is not converted, such lists as it takes them."""
    if not holds(x):
        return type(x)([_given(function, each, has_dtype) for each in x]) if _holds(x) else x
    return hooks.seen(function, whole(x), has_dtype)


def _as_deque(owner: Any, maxlen: Any = None) -> Any:
    if maxlen is not None:
        raise UnsupportedError(
            f"deque(maxlen=) of a list whose length is data{at(here())}. Append to a deque"
        )
    items = whole(owner).as_columns()
    element = items.element._replace(holder=Holder(deque))
    return held(Columns(element, items.arrays))


def _boxed(items: Any) -> Any:
    return held(items) if type(items) in hooks.TRACED else items


# --- syntax ---------------------------------------------------------------------------------------


def entry(items: Any, key: Any) -> Any:
    """``items[key]`` of a traced list."""
    if isinstance(key, slice):
        return _boxed(hooks.part(items, key.start, key.stop, key.step))
    return hooks.entry_of(items, key)


def _set_part(owner: Any, key: slice, values: Any) -> None:
    """Put elements in the place of those of a slice of a list."""
    items = whole(owner)
    size = len(items) if type(items) in LISTS else items.length
    if type(size) is int and not is_traced((key.start, key.stop, key.step)):
        places, values = range(size)[key], fn(list)(values)
        if not concerns(values) and len(values) == len(places):
            for place, value in zip(places, values, strict=True):
                setitem(owner, place, value)
            return
    if key.step is not None or isinstance(owner, Chosen) or type(owner) is not list:
        raise UnsupportedError(
            f"a slice with a step, or of one of several lists, is assigned or deleted{at(here())}, "
            "while data decide how many elements that are. Change element by element"
        )
    part_put(owner, key.start, key.stop, fn(list)(values))


def _setitem(owner: Any, key: Any, value: Any) -> None:
    if is_nested(owner):
        nested.setitem(owner, key, value)
        return
    if is_keyed(owner):
        keyed.setitem(owner, key, value)
        return
    owner = chosen_by(owner)
    if isinstance(key, slice):
        _set_part(owner, key, value)
        return
    if type(owner) is Row:
        nested.method_of_one(owner, "__setitem__", (key, value), {})
        return
    if isinstance(owner, Chosen):
        _each_picked(owner, _put_if, key, value)
        return
    _store(owner, hooks.with_entry(whole(owner), key, value))


def _nest(owner: Any, value: Any) -> bool:
    """Have a list, or the values of a dict, be lists whose lengths are data; whether they are."""
    if isinstance(owner, dict):
        if not is_made_here(owner) or common_form([[*owner.values()], [value]]) is None:
            return False
        entries = keyed.become(owner)
        return entries is not None and nest(entries.values, value)
    return type(owner) is list and nest(owner, value)


def _delitem(owner: Any, key: Any) -> None:
    if is_nested(owner):
        nested.delitem(owner, key)
        return
    if is_keyed(owner):
        keyed.delitem(owner, key)
        return
    if isinstance(owner, Chosen):
        _method_of_one(owner, "pop", key)
        return
    if isinstance(key, slice):
        _set_part(owner, key, ())
        return
    _store(owner, edits.without(whole(owner), key))


def _truth(owner: Any) -> Any:
    if is_nested(owner):
        return as_tensor(nested.size_of(owner) > 0)
    owner = chosen_by(owner)
    if type(owner) is Row:
        return as_tensor(nested.length_of(owner) > 0)
    owner = entries_of(owner).keys if is_keyed(owner) else owner
    if type(owner) in LISTS and not holds(owner):
        return as_tensor(bool(owner))
    return as_tensor(whole(owner).length > 0)


def _returned(result: Any, function: Any) -> Any:
    """Return what a function returns; raise for a list in it whose length is data."""
    leaves, structure = tree.flatten(result := as_lists(result), concerns)
    if any(map(is_nested, leaves)):
        leaves = [_known(leaf) if is_nested(leaf) else leaf for leaf in leaves]
        result = tree.unflatten(structure, leaves)
    if any(map(is_keyed, leaves)):
        raise UnsupportedError(
            f"{function_name(function)} returns a dict or set whose keys are data: no array holds "
            "that. Return what is asked of it, such as how many entries it has, or the value of one"
        )
    if not any(map(holds, leaves)):
        return result
    lists = {id(leaf): whole(leaf) for leaf in leaves if holds(leaf)}
    if not all([type(x) is list or type(x.length) is int for x in lists.values()]):
        owners = [leaf for leaf in leaves if type(leaf) in LISTS]
        place = next((x.place for each in owners for x in each if type(x) is Contents), None)
        state.asked_for_lengths = True
        raise UnsupportedError(
            f"{function_name(function)} returns a list whose length is data{at(place)}: an array "
            "has one length for all examples. Return what is asked of it, such as its length or "
            "its sum, or an array that is long enough, and how much of it is in use"
        )
    found = [hooks.listed(lists[id(leaf)]) if holds(leaf) else leaf for leaf in leaves]
    return tree.unflatten(structure, found)


def _listed(function: Any, items: Any, **options: Any) -> Any:
    """``list(items)`` or ``sorted(items)`` of a length that is data."""
    return _boxed(edits.in_order(function, items, _each, **options))


def _equal(first: Any, second: Any) -> Any:
    """``first == second``, of lists of which one at least is such."""
    if is_keyed(first) or is_keyed(second):
        return algebra.equal(first, second)
    if is_nested(first) or is_nested(second):
        if not all([type(x) is list for x in (first, second)]):
            return False
        return equal(*[_known(x) if is_nested(x) else x for x in (first, second)])
    for one, other in ((first, second), (second, first)):
        if type(one) in LISTS and not one:
            return hooks.total_of(len, whole(other)) == 0
        if type(one) not in LISTS and not isinstance(one, Chosen):
            return False
    return convert(_are_equal, HOOKS[0])(first, second)


def _are_equal(first: Any, second: Any) -> Any:
    if len(first) != len(second):
        return False
    return all(x == y for x, y in zip(first, second, strict=False))


def _spread(owner: Any) -> Any:
    """Return the list of what ``*owner`` stands for, of a dict or set whose keys are data."""
    if is_nested(owner):
        return _known(owner)
    if isinstance(owner, set):
        return keyed.sequence(owner)
    return fn(list)(entries_of(owner).keys)


def _getitem(owner: Any, key: Any) -> Any:
    if is_nested(owner):
        return nested.getitem(owner, key)
    owner = chosen_by(owner)
    if type(owner) is Row:
        return nested.entry_of(owner, key)
    if type(owner) is Picked and owner.nests:
        return one_of_several(owner.lists, owner.place, key)
    return keyed.getitem(owner, key) if is_keyed(owner) else entry(whole(owner), key)


def _contains(owner: Any, value: Any) -> Any:
    if is_keyed(owner):
        return keyed.contains(owner, value)
    if is_nested(owner):
        owner[0].refuse()
    return edits.found(whole(owner), "in", value)


def _sequence(owner: Any) -> Any:
    row = owner if is_nested(owner) else chosen_by(owner)
    if is_nested(row) or type(row) is Row:
        return nested.sequence(row)
    owner = keyed.sequence(owner) if is_keyed(owner) else owner
    return hooks.items_of(whole(owner), owner) if holds(owner) else Listed(owner)


ON_CONTENTS.update(
    call=called,
    enter=nested.enter,
    enter_all=nested.enter_all,
    nest=_nest,
    side_by_side=side_by_side,
    one_of=one_of,
    in_table=in_table,
    deepcopied=deepcopied,
    elements=nested.elements,
    getitem=_getitem,
    setitem=_setitem,
    delitem=_delitem,
    contains=_contains,
    sequence=_sequence,
    truth=_truth,
    index=lambda owner: hooks.as_index(whole(owner)),
    equal=_equal,
    returned=_returned,
    copied=lambda owner: held(whole(owner)),
    method=_method_of_one,
    listed=_listed,
    tolist=numbers_of_array,
    filtered=lambda function, items: convert(filtered, HOOKS[0])(function, items),
    keyed=lambda owner, key: keyed.may_be_key(key) and keyed.become(owner) is not None,
    changed_by=keyed.changed_by,
    part=part_at,
    as_long_as=as_long_as,
    set_part=_set_part,
    unpacked=lambda owner, count: hooks.unpacked(whole(owner), count),
    looked_at=lambda owner, name, *args: fn(getattr(owner, name))(*args),
    repeated=lambda items, count: repeated(items, times(items, count)),
    repeat=lambda items, count: repeat(items, times(items, count)),
    is_given_data=algebra.is_given_data,
    of_two=algebra.method,
    binary=algebra.binary,
    augmented=algebra.augmented,
    compare=algebra.compare,
    united=algebra.united,
    spread=_spread,
)
