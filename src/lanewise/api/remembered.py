"""What is remembered of the calls of a function, whatever object it is called as.

``lw.vmap(f)(xs)`` makes a new map each time, and `f` is often new as well: a lambda, a method as it
is bound, a `functools.partial`. So what is remembered belongs to the code that runs, with all that
the function differs in from others of that code: what it is bound to, its closure, its defaults.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Hashable, Iterator
from types import FunctionType, MethodType
from typing import Any, Generic, TypeVar

import numpy as np

from lanewise.api.unchanged import held_in
from lanewise.trace.tensor import Tensor

T = TypeVar("T")
#: Such are one where they are equal, and of one type.
_NUMBERS = (bool, int, str, bytes, type(None))
#: Of such are Python numbers whose values are constants of a trace, and often change.
CONSTANTS = (int, float, complex)
#: After so many traces that differ in them, it is looked for what is faster than another one.
MANY = 5
#: The flag of classes that a ``class`` statement has made.
IS_HEAP = 1 << 9


def taken_apart(func: Any) -> tuple[FunctionType, tuple[Any, ...]] | None:
    """Return the function that runs when something is called, and what it is bound to.

    None of what is no function of Python's, method, partial, map or object of a user's class.

    Examples
    --------
    >>> import functools
    >>> def scaled(x, by):
    ...     return x * by
    >>> function, bound = taken_apart(functools.partial(scaled, by=2))
    >>> function is scaled, bound
    (True, ((), 'by', 2))
    """
    bound: list[Any] = []
    while type(func) is not FunctionType:
        kind = type(func)
        if kind is MethodType:
            bound.append(func.__self__)
            func = func.__func__
        elif kind is functools.partial:
            bound += (func.args, *[part for pair in func.keywords.items() for part in pair])
            func = func.func
        elif getattr(kind, "is_usual", None) is not None:
            if not func.is_usual:
                return None
            bound.append(func.settings)
            func = func.__wrapped__
        elif kind.__flags__ & IS_HEAP and type(call := _call_of(kind)) is FunctionType:
            bound.append(func)
            func = call
        else:
            return None
    return func, tuple(bound)


def _call_of(kind: type) -> Any:
    """Return what runs when an object of a class is called."""
    return next((vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None)


def alike(call: Hashable) -> Hashable:
    """Return what decides a call but for the values of Python numbers, which often change."""
    if type(call) is not tuple:
        return call
    if len(call) == 2 and any([call[0] is kind for kind in CONSTANTS]):
        return call[0]
    return tuple(map(alike, call))


class Remembered(Generic[T]):
    """Values by functions and what decides a call of them: so many, the last ones.

    Without `has_numbers` they are one for all values of the Python numbers in either.
    """

    def __init__(self, most: int, *, has_numbers: bool = True) -> None:
        self._most, self._has_numbers = most, has_numbers
        self._renew()
        if hasattr(os, "register_at_fork"):  # the thread that held it is not in a child process
            os.register_at_fork(after_in_child=self._renew)
        #: With what must not go, for its id to stay its own.
        self._entries: dict[Hashable, tuple[Any, T]] = {}

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def get(self, func: Any, call: Hashable) -> T | None:
        """Return what was remembered of a call; None if nothing was."""
        apart = taken_apart(func) if self._entries else None
        found = None if apart is None else self._entries.get(self._key_of(*apart, call))
        return None if found is None else found[1]

    def _key_of(self, function: FunctionType, bound: tuple[Any, ...], call: Hashable) -> Hashable:
        key = id(function.__code__), call, _token(bound), *map(_token, _holds(function))
        return key if self._has_numbers else alike(key)

    def put(self, func: Any, call: Hashable, value: T) -> None:
        """Remember a value, and forget the oldest if there are too many."""
        apart, entries = taken_apart(func), self._entries
        if apart is None:
            return
        function, bound = apart
        held = function.__code__, bound, list(_holds(function))
        key = self._key_of(function, bound, call)
        with self._lock:
            while len(entries) >= self._most:
                del entries[next(iter(entries))]
            entries[key] = held, value

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._entries.clear()


def _holds(func: FunctionType) -> Iterator[Any]:
    """Yield what a function differs in from others of its code."""
    yield func.__globals__
    yield from func.__defaults__ or ()
    for pair in (func.__kwdefaults__ or {}).items():
        yield from pair
    yield from map(held_in, func.__closure__ or ())


def _token(x: Any) -> Hashable:
    """Return what is equal for what is one object, or the same number or text."""
    found = token_of_number(x)
    if found is not None:
        return found
    return tuple(map(_token, x)) if type(x) is tuple else id(x)


def orders_in(x: Any) -> Hashable:
    """Return in which order the dicts in an argument hold their keys; None for other containers.

    A structure does not tell, and who goes through a dict sees it.
    """
    if isinstance(x, (np.ndarray, Tensor)) or token_of_number(x) is not None:
        return True
    if isinstance(x, dict):
        keys, parts = tuple(x), x.values()
    elif isinstance(x, (list, tuple, deque)):
        keys, parts = (), x
    elif hasattr(type(x), "__dataclass_fields__"):
        keys = tuple(x.__dataclass_fields__)
        parts = [getattr(x, key, None) for key in keys]
    else:
        return None
    found = tuple(map(orders_in, parts))
    return None if None in found else (keys, found)


def token_of_number(x: Any) -> Hashable:
    """Return what is equal for the same number or text of one class; None for anything else."""
    kind = type(x)
    if kind in _NUMBERS:
        return kind, x
    if kind is float or kind is complex or isinstance(x, np.generic):
        return kind, repr(x)  # apart from each other: zeros of both signs
    return None
