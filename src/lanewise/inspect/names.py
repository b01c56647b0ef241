"""What the inputs of programs are called: by parameters, and by what a function captures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from lanewise.api.parameters import Parameters
from lanewise.runtime.dispatch import Program, whereabouts
from lanewise.trace import tree
from lanewise.trace.variable import Variable

#: A container that a function captures is looked into up to this length.
LONGEST = 1000


class Names:
    """The names of the arrays that a call may use.

    Parameters
    ----------
    func, args, kwargs
        The function, and what it is to be called with.

    Examples
    --------
    >>> import numpy as np
    >>> names = Names(lambda x, model: x, (np.ones(3), {"w": np.ones(2)}), {})
    >>> sorted(name for found in names.known.values() for name in found)
    ["model['w']", 'x']
    """

    def __init__(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.known: dict[Hashable, list[str]] = {}
        called = users_function(func)
        bound, named = args, kwargs
        parameters = Parameters(called)
        try:
            bound, named = parameters.bind(args, kwargs)
        except TypeError:  # what is called takes other arguments than what it wraps
            parameters = Parameters(print)
        for position, value in enumerate(bound):
            self._add(parameters.label(position), value)
        for name, value in named.items():
            self._add(name, value)
        for name, value in _captured(called).items():
            self._add(name, value)

    def _add(self, name: str, value: Any) -> None:
        leaves, _ = tree.flatten(value)
        for path, leaf in zip(tree.paths(value, name), leaves, strict=True):
            place = whereabouts(leaf.current if isinstance(leaf, Variable) else leaf)
            if place is not None:
                self.known.setdefault(place, []).append(path)

    def of(self, program: Program) -> tuple[str, ...]:
        """Return what to call each input of a program, empty where that is not known."""
        left = {place: list(dict.fromkeys(names)) for place, names in self.known.items()}
        found = []
        for place in program.arguments:
            names = left.get(place, [])
            found.append(names.pop(0) if len(names) > 1 else names[0] if names else "")
        return tuple(found)


def users_function(func: Any) -> Any:
    """Return the function that the user wrote, within what Lanewise made of it."""
    while type(func).__module__.startswith("lanewise.") and hasattr(func, "__wrapped__"):
        func = func.__wrapped__
    return func


def innermost(func: Any) -> Any:
    """Return the function within all that wraps it, or gives it arguments."""
    while isinstance(func, partial) or hasattr(func, "__wrapped__"):
        func = func.func if isinstance(func, partial) else func.__wrapped__
    return func


def _captured(func: Any) -> Mapping[str, Any]:
    """Return the variables of other scopes that a function reads, and that may hold arrays."""
    func = innermost(func)
    func = getattr(func, "__func__", func)
    if not isinstance(func, FunctionType):
        return {}
    try:
        scopes = inspect.getclosurevars(func)
    except ValueError:  # a variable that has no value yet
        return {}
    found = {**scopes.globals, **scopes.nonlocals}
    return {
        name: value
        for name, value in found.items()
        if whereabouts(value) is not None
        or isinstance(value, Variable)
        or (type(value) in (dict, list, tuple) and len(value) <= LONGEST)
    }


def named(inputs: Sequence[Any], names: Sequence[str]) -> dict[Any, str]:
    """Return the names of inputs, of those that have one."""
    pairs = zip(inputs, names, strict=False) if len(inputs) == len(names) else ()
    return {value: name for value, name in pairs if name}
