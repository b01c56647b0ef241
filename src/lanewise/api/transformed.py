"""Functions made of functions, as objects that are pickled by how they were made.

One that a module holds under the name of its function (a decorated one) is pickled by that name, as
Python's functions are; another by its function and its options. Compiled code stays here: another
process finds it in the cache on disk.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce, update_wrapper
from types import FrameType, MethodType
from typing import Any

from lanewise.autograph.sent import Sources, receive, sources_of
from lanewise.errors import function_name, shown
from lanewise.trace.trace import state

#: Packages that pickle functions of ``__main__`` by value: where they are read, there is no name.
_BY_VALUE = frozenset(("cloudpickle", "dill"))


def reduced(made: Any, func: Any, state: tuple[Any, ...]) -> Any:
    """Return how an object is pickled that a transformation made of a function.

    Parameters
    ----------
    made
        The object.
    func
        The function that it was made of.
    state
        What its ``__setstate__`` takes.
    """
    name, module = getattr(func, "__qualname__", None), getattr(func, "__module__", None)
    if isinstance(func, MethodType):
        kind, owner = type(func.__self__), func.__self__
        owner = owner if isinstance(owner, type) else kind
        held = getattr(owner, func.__name__, None)
        if getattr(held, "__wrapped__", None) is func.__func__:  # a method that was decorated
            return getattr, (func.__self__, func.__name__)
    elif name is not None and _held(module, name) is made and not _is_by_value(module):
        return name
    sources = sources_of(func) if _is_by_value("__main__") else {}
    if not sources:
        return object.__new__, (type(made),), state
    return object.__new__, (type(made),), (sources, state), None, None, _set_state


def _set_state(made: Any, sent: tuple[Sources, tuple[Any, ...]]) -> None:
    """Give an object its state, which came with the sources of functions."""
    sources, state = sent
    receive(sources, state)
    made.__setstate__(state)


def _held(module: Any, name: str) -> Any:
    """Return what a module holds under a qualified name; None if it holds nothing."""
    try:
        return reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return None


def _is_by_value(module: Any) -> bool:
    """Whether a pickler that is at work sends the functions of a module by value."""
    if module != "__main__":
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _BY_VALUE.isdisjoint(str(frame.f_globals.get("__name__")).split(".")):
            return True
        frame = frame.f_back
    return False


class Transformed:
    """A function made of another one by a transformation, such as `grad`.

    Parameters
    ----------
    call
        What it does.
    func
        What it was made of, and looks like.
    make, options
        ``make(func, **options)`` makes another one.
    """

    def __init__(self, call: Callable[..., Any], func: Any, make: Any, options: Any) -> None:
        update_wrapper(self, func)
        self._call = call
        self._made_by = make, func, options

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # of pytest and IPython
        try:
            return self._call(*args, **kwargs)
        except Exception as error:
            if state.trace is not None:
                raise
            raise shown(error)  # noqa: B904  (the same exception)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        return reduced(self, self._made_by[1], self._made_by)

    def __setstate__(self, state: Any) -> None:
        make, func, options = state
        self.__dict__.update(vars(make(func, **options)))

    def __repr__(self) -> str:
        make, func, _ = self._made_by
        return f"<{make.__name__} of {function_name(func)}>"


def transformed(
    make: Callable[..., Any], func: Any, **options: Any
) -> Callable[[Callable[..., Any]], Transformed]:
    """Return a decorator for what ``make(func, **options)`` returns."""
    return lambda call: Transformed(call, func, make, options)
