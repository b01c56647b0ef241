"""Objects that a function reaches from outside of itself: their classes are to follow data.

Python calls ``__getattr__``, a property or ``__add__`` by itself, with no converted code before it.
So the classes of what a function finds in its variables are told to do so before it runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from lanewise.trace.attributes import held_by
from lanewise.trace.tensor import Tensor

#: How many objects are looked at for a function at most.
MOST_OBJECTS = 300
_BARE = frozenset(
    (int, float, complex, bool, str, bytes, type(None), type, slice, range, FunctionType,
     BuiltinFunctionType, ModuleType, np.ndarray, np.ufunc, np.float64, np.int64, np.bool_, Tensor)
)  # fmt: skip
_HOLDING = (list, tuple, set, frozenset, deque)


def know_reached(func: Any, know: Callable[[type], Any]) -> None:
    """Call `know` on the class of each object that the variables around a function lead to."""
    seen: set[int] = set()
    left = list(_variables(func))
    while left and len(seen) < MOST_OBJECTS:
        value = left.pop()
        kind = type(value)
        if kind in _BARE or id(value) in seen:
            continue
        seen.add(id(value))
        if kind is MethodType:
            left.append(value.__self__)
        elif isinstance(value, _HOLDING):
            left += list(value)[:MOST_OBJECTS]
        elif isinstance(value, dict):
            left += list(value.values())[:MOST_OBJECTS]
        elif know(kind):
            left += list(held_by(value).values())


def _variables(func: Any) -> Iterator[Any]:
    """Yield what the variables of a function hold that are not its own."""
    yield from func.__defaults__ or ()
    for cell in func.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    namespace = func.__globals__
    for name in func.__code__.co_names:
        if name in namespace:
            yield namespace[name]


__all__ = ["know_reached"]
