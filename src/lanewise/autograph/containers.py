"""Methods of lists, dicts, sets and texts: logged where they change one, and following data.

In a branch or loop body that is traced, what a method changes is logged before, so that it can be
put back and happen for those examples only that come there.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from lanewise.autograph.builtins import bool_
from lanewise.autograph.calls import METHODS, ROWS, fn, replaces
from lanewise.autograph.cursors import Cursor
from lanewise.autograph.iterators import taking
from lanewise.autograph.sequences import TracedRange
from lanewise.autograph.sorting import sorted_
from lanewise.autograph.tables import Picked, in_range, list_index, look_up_or, pick, refuse
from lanewise.autograph.values import (
    choose,
    compares_by_data,
    either,
    ensure,
    equal,
    scalars,
    traced,
    truth,
)
from lanewise.trace.contents import ON_CONTENTS, concerns
from lanewise.trace.regions import all_born, born, is_watched, note_container
from lanewise.trace.scratch import is_traced
from lanewise.trace.tensor import Tensor, as_tensor, weak
from lanewise.trace.variants import ON_VARIANTS, Variant

Method = Callable[..., Any]


# --- membership -----------------------------------------------------------------------------------


@replaces(operator.contains)
def contains(container: Any, item: Any) -> Any:
    """``item in container``."""
    kind = type(container)
    if kind is Variant:
        return ON_VARIANTS["asked within"](container, item)
    if kind is TracedRange:
        return container.contains(item)
    if concerns(container):
        return ON_CONTENTS["contains"](container, item)
    if kind is Picked:
        container, kind = container.copy(), list
    tensor = traced(container)
    if tensor is not None:
        return weak(np.any(tensor == item), bool)
    if kind is Cursor:
        return ON_CONTENTS["is among"](container, item)
    if hasattr(kind, "__next__"):
        taking(container)
    found = getattr(kind, "__contains__", None)
    if hasattr(found, "__code__"):
        return bool_(fn(found)(container, item))
    if not is_traced(item):
        if kind in (list, tuple) and compares_by_data(container, item):
            return _any_equal(container, item)
        return item in container
    if kind is range:
        return TracedRange(container.start, container.stop, container.step).contains(item)
    if isinstance(container, np.ndarray):
        return weak(np.any(as_tensor(container) == item), bool)
    if isinstance(container, str):
        if type(item) is Variant:
            return ON_VARIANTS["asked"](item, lambda x: x in container)
        return item in container  # raises
    elements = list(container)
    is_long = len(elements) > 4 and traced(item) is not None and not is_traced(elements)
    if is_long and len(set(map(type, elements))) == 1 and scalars(elements):
        return weak(np.any(as_tensor(np.array(elements)) == item), bool)
    return _any_equal(elements, item)


def in_(item: Any, container: Any) -> Any:
    """``item in container``, in the order of the text."""
    return contains(container, item)


def _any_equal(elements: Any, item: Any, result: Any = False) -> Any:
    for element in elements:
        result = either(result, lambda element=element: equal(element, item))
        if result is True:
            break
    return result


# --- in a region ----------------------------------------------------------------------------------


def _changing(method: Any) -> Method:
    """Return the method, logging the change that it is about to make."""
    return partial(_log_and_call, method) if is_watched() else method


def _log_and_call(method: Any, *args: Any, **kwargs: Any) -> Any:
    owner, name = method.__self__, method.__name__
    if args and isinstance(owner, (dict, set)) and ON_CONTENTS["changed_by"](owner, name, args[0]):
        return fn(getattr(owner, name))(*args, **kwargs)
    note_container(method.__self__)
    return method(*args, **kwargs)


def _of_two(method: Any) -> Method:
    """Return the method of a dict or set, which may be given keys that are data, or such others."""
    return partial(_with_others, method)


def _with_others(method: Any, *args: Any, **kwargs: Any) -> Any:
    owner, name = method.__self__, method.__name__
    if ON_CONTENTS["is_given_data"](owner, name, args):
        return ON_CONTENTS["of_two"](owner, name, args, kwargs)
    if name in _READING:
        return born(method(*args, **kwargs))
    return _changing(method)(*args, **kwargs)


def _taking(method: Any) -> Method:
    """Return the method of a generator, which takes an item of it."""
    taking(method.__self__)
    return method


def _making(method: Any) -> Method:
    """Return the method, whose result is a container of the region's own."""
    return (lambda *args, **kwargs: born(method(*args, **kwargs))) if is_watched() else method


def _making_all(method: Any) -> Method:
    """Return the method, whose result is made anew with all that is in it."""
    return (lambda *args, **kwargs: all_born(method(*args, **kwargs))) if is_watched() else method


# --- lists ----------------------------------------------------------------------------------------


def _given(function: Callable[..., Any]) -> Callable[[Any], Method]:
    """Return what makes a method of a function of the object and the method's own arguments."""
    return lambda method: partial(function, method.__self__, method)


def _place(items: list[Any], item: Any) -> tuple[Any, Any]:
    """Return where the first element is that equals `item`, and whether there is one."""
    place: Any = None
    found: Any = False
    for i, own in reversed(list(enumerate(items))):
        same = equal(own, item)
        if same is not False:
            place = i if place is None else choose(same, i, place)
            found = either(same, lambda found=found: found)
    return place, found


def _index(items: Any, method: Any, item: Any, *bounds: Any) -> Any:
    if not compares_by_data(item, items):
        return method(item, *bounds)
    if is_traced(bounds):
        refuse("a list searched by .index()", "from or to there. Search all of it")
    skipped = range(len(items))[slice(*bounds)].start if bounds else 0
    place, found = _place(list(items[slice(*bounds)] if bounds else items), item)
    if found is False:
        raise ValueError(f"{item!r} is not in {type(items).__name__}")
    place = place + skipped
    if found is True:
        return place
    problem = ValueError(f"x is not in {type(items).__name__}")
    return weak(ensure(as_tensor(place), found, problem), int)


def _get(entries: Any, method: Any, key: Any, default: Any = None) -> Any:
    if not is_traced(key):
        return method(key, default)
    if type(key) is not Variant and traced(key) is None and ON_CONTENTS["keyed"](entries, key):
        return fn(entries.get)(key, default)
    return look_up_or(entries, key, default)


def _count(items: Any, method: Any, item: Any) -> Any:
    if not compares_by_data(item, items):
        return method(item)
    total: Any = 0
    for own in items:
        same = equal(own, item)
        total = total + (weak(same, int) if isinstance(same, Tensor) else int(same))
    return total


def _remove(items: list[Any], method: Any, item: Any) -> None:
    if not compares_by_data(item, items):
        return _log_and_call(method, item)
    _without(items, _index(items, method, item))
    return None


def _pop(items: list[Any], method: Any, *index: Any) -> Any:
    if not is_traced(index):
        return _log_and_call(method, *index)
    place = list_index(index[0])
    if not items:
        raise IndexError("pop from empty list")
    place = in_range(place, len(items), "pop index out of range")
    found = pick(items, place)
    _without(items, place)
    return found


def _without(items: list[Any], place: Any) -> None:
    """Remove the element at a place that may be data: those behind it move up."""
    if not isinstance(place, Tensor):
        _log_and_call(items.pop, place)
        return
    pairs = enumerate(pairwise(items))
    _replace(items, [choose(place > i, own, behind) for i, (own, behind) in pairs])


def _insert(items: list[Any], method: Any, index: Any, item: Any) -> None:
    if traced(index) is None:
        return _log_and_call(method, index, item)
    place, size = list_index(index), len(items)
    place = choose(place < 0, place + size, place)  # out of range is an end
    new = []
    for i in range(size + 1):
        is_before = place > i if i < size else False
        is_here = place <= i if i == 0 else place >= i if i == size else place == i
        other = items[i - 1] if i else items[0] if items else item
        rest = choose(truth(is_here), item, other)
        new.append(choose(truth(is_before), items[i], rest) if i < size else rest)
    _replace(items, new)
    return None


def _sort(items: list[Any], method: Any, *, key: Any = None, reverse: Any = False) -> None:
    if key is None and not compares_by_data(items):
        return _log_and_call(method, reverse=reverse)
    key = None if key is None else fn(key)
    _replace(items, sorted_(list(items), key=key, reverse=reverse))
    return None


def _replace(items: list[Any], new: list[Any]) -> None:
    note_container(items)
    items[:] = new


# --- the rows -------------------------------------------------------------------------------------

_CHANGING: dict[type, str] = {
    list: "append extend clear reverse __setitem__ __delitem__ __iadd__ __imul__",
    dict: "setdefault pop popitem clear __setitem__ __delitem__ __ior__",
    collections.OrderedDict: "move_to_end",
    collections.Counter: "subtract",
    set: "add discard remove pop clear __ior__ __iand__ __isub__ __ixor__",
    collections.deque: "append appendleft extend extendleft pop popleft rotate clear insert remove "
    "reverse __setitem__ __delitem__ __iadd__ __imul__",
    bytearray: "append extend insert pop remove clear reverse __setitem__ __delitem__ __iadd__ "
    "__imul__",
}
_MAKING: dict[type, str] = {
    list: "copy",
    dict: "copy",
    set: "copy",
    collections.deque: "copy",
    str: "split rsplit splitlines",
}
#: Methods that are given another dict or set: those that change their own, and those that do not.
_READING = (
    "union difference intersection symmetric_difference issubset issuperset isdisjoint".split()
)
_OF_TWO: dict[type, list[str]] = {
    dict: ["update"],
    set: [
        "update", "difference_update", "intersection_update", "symmetric_difference_update",
        *_READING,
    ],
}  # fmt: skip
_FOLLOWING: dict[type, dict[str, Callable[..., Any]]] = {
    list: {"index": _index, "count": _count, "remove": _remove, "pop": _pop, "insert": _insert,
           "sort": _sort},
    tuple: {"index": _index, "count": _count},
    dict: {"get": _get},
}  # fmt: skip


def _unbound(name: str) -> Callable[..., Any]:
    return lambda owner, *args, **kwargs: fn(getattr(owner, name))(*args, **kwargs)


METHODS[np.ndarray] = {"tolist": _making_all}
METHODS[GeneratorType] = {"send": _taking, "throw": _taking}


def _enter() -> None:
    for kind in {**_CHANGING, **_MAKING, **_FOLLOWING}:
        rows = METHODS[kind] = {}
        for base in kind.__mro__[1:]:
            rows.update(METHODS.get(base, {}))
        rows.update(dict.fromkeys(_CHANGING.get(kind, "").split(), _changing))
        rows.update(dict.fromkeys(_MAKING.get(kind, "").split(), _making))
        rows.update(dict.fromkeys(_OF_TWO.get(kind, ()), _of_two))
        rows.update({name: _given(f) for name, f in _FOLLOWING.get(kind, {}).items()})
        for name in rows:
            if type(getattr(kind, name)) is not FunctionType:
                ROWS[getattr(kind, name)] = _unbound(name)


_enter()
