"""Objects of libraries that a call changes where the data steer: noticed, and refused.

A branch or a loop that the data steer is traced, once, and what it changes in lists, dicts and
objects whose classes are followed is undone or handed on. Of an array of the module `array`, a
`ChainMap` or a `UserList` nobody knows what a method changes; so what such an object holds is
compared before and after the call. Arrays that are not traced are not written to there at all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

from lanewise.autograph.known_calls import is_library
from lanewise.errors import ControlFlowError, UnsupportedError, at
from lanewise.ir.location import here
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.trace.regions import Region, in_region, touch
from lanewise.trace.trace import state

#: What does not change, or is known where it does.
_KNOWN = (
    str, bytes, int, float, complex, tuple, frozenset, range, slice, type, ModuleType, type(None),
    list, dict, set, deque, bytearray, np.ndarray, np.generic, np.ufunc, np.dtype, BaseException,
)  # fmt: skip


#: Packages of which what changes is known, or is no more than a memory of what was asked for.
_TRUSTED = frozenset(("lanewise", "logging", "numpy"))


#: What is in the names of attributes that hold answers.
_REMEMBERING = ("cache", "memo")
#: How deep objects are looked into, and at how many parts.
_DEEPEST, _MOST = 4, 10_000


def guarded(function: Any, owner: Any) -> Callable[..., Any]:
    """Return a function of a library that is given an object first, or has it bound."""
    kind = type(owner)
    if not in_region() or isinstance(owner, _KNOWN) or not is_library(kind.__module__):
        return function
    if kind.__module__.partition(".")[0] in _TRUSTED:
        return function
    return partial(_call, function, owner)


def _call(function: Any, owner: Any, *args: Any, **kwargs: Any) -> Any:
    trace = state.trace
    is_own = isinstance(trace, Region) and trace.has_born(owner)
    before = None if is_own else _contents(owner)
    held = [] if before is None else list(_held(getattr(owner, "__dict__", None), _DEEPEST))
    result = function(*args, **kwargs)
    if before is not None and not _is_same(before, _contents(owner)):
        touch()
        for container, was in held:  # whoever runs what is recorded here as it stands begins anew
            container.clear()
            getattr(container, "update" if isinstance(container, (dict, set)) else "extend")(was)
        name = f"{type(owner).__name__}.{getattr(function, '__name__', 'call')}"
        raise ControlFlowError(
            f"{name}() changes an object{at(here())} where the data steer, which is not followed: "
            "it would change for all examples. Make the object there, or use a list or a dict"
        )
    return result


def _held(value: Any, depth: int) -> Iterator[tuple[Any, Any]]:
    """Yield the containers in an object's attributes, each with what it holds now."""
    if isinstance(value, (list, dict, set, deque)):
        yield value, copy(value)
        for part in value.values() if isinstance(value, dict) else value:
            yield from _held(part, depth - 1) if depth else ()


def _contents(owner: Any) -> dict[str, list[Any]] | None:
    """Return what an object holds, by its attributes; None where nobody can say.

    What remembers answers is left out.
    """
    fields = getattr(owner, "__dict__", None)
    if fields is None:
        try:
            fields = {"": owner.__reduce_ex__(4)}
        except Exception:
            return None
    found = {}
    for name, value in list(fields.items()):
        if not any([each in name for each in _REMEMBERING]):
            found[name] = list(islice(_parts(value, _DEEPEST), _MOST + 1))
            if len(found[name]) > _MOST:
                return None
    return found


def _parts(value: Any, depth: int) -> Iterator[Any]:
    """Yield what is in a container, and how many, or a value."""
    if isinstance(value, dict):
        value = [part for pair in value.items() for part in pair]
    if not depth or not isinstance(value, (list, tuple, set, frozenset, deque)):
        yield value
        return
    yield len(value)
    for part in value:
        yield from _parts(part, depth - 1)


def _is_same(before: dict[str, list[Any]], after: dict[str, list[Any]] | None) -> bool:
    """Whether attributes hold what they did: the same objects, or equal numbers and texts.

    New attributes are answers that are kept.
    """
    if after is None or not before.keys() <= after.keys():
        return False
    plain = (str, bytes, int, float, complex)
    return all(
        len(own) == len(after[name])
        and all(
            x is y or (type(x) is type(y) and isinstance(x, plain) and x == y)
            for x, y in zip(own, after[name], strict=True)
        )
        for name, own in before.items()
    )


def refuse_writing(what: str, array: np.ndarray) -> None:
    """Raise for a write to an array that is not traced, if or what depends on data."""
    touch()
    whole = array
    while isinstance(whole.base, np.ndarray):  # a field is an array of numbers
        whole = whole.base
    if whole.dtype.kind not in NUMERIC_KINDS:
        instead = "an array for each field" if whole.dtype.names else "an array of numbers"
        raise UnsupportedError(
            f"{what} writes to an array of dtype {whole.dtype}{at(here())}, and what it writes, or "
            f"whether, depends on the data, which only arrays of numbers hold. Use {instead}"
        )
    raise UnsupportedError(
        f"{what} writes to an array that is not traced, and what it writes, or whether, depends on "
        f"the data{at(here())}. Write to a copy of it made in the traced function: a = a.copy()"
    )
