"""What decorators of Python's and NumPy's make of functions, called so that it follows data."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.autograph.calls import DECORATED, fn
from lanewise.autograph.classes import type_
from lanewise.autograph.managers import managed

_any: Any = contextlib.nullcontext  # any function: what it is does not matter


def _under_errstate(f: Any) -> Any:
    """``@np.errstate(...)``: the body is that of a ``with`` block."""
    parts = inspect.getclosurevars(f).nonlocals

    def call(*args: Any, **kwargs: Any) -> Any:
        with managed(copy.copy(parts["self"])):  # which can be entered once
            return fn(parts["func"])(*args, **kwargs)

    return call


def _managing(f: Any) -> Any:
    """``@contextlib.contextmanager``."""
    return contextlib.contextmanager(fn(inspect.getclosurevars(f).nonlocals["func"]))


def _dispatched(f: Any, dispatch: Callable[[type], Any]) -> Any:
    """Return what calls one of several functions, by the class that data stand for."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(dispatch(type_(args[0])))(*args, **kwargs) if args else f(**kwargs)

    return call


def _dispatching(f: Any) -> Any:
    """``@functools.singledispatch``."""
    return _dispatched(f, f.dispatch)


def _dispatching_method(f: Any) -> Any:
    """``@functools.singledispatchmethod``, bound to an object."""
    parts = inspect.getclosurevars(f).nonlocals
    dispatch = f.register.__self__.dispatcher.dispatch
    return _dispatched(f, lambda kind: dispatch(kind).__get__(parts["obj"], parts["cls"]))


def _dispatching_object(f: Any) -> Any:
    """The same from Python 3.14 on, where it is an object."""
    dispatch = f._unbound.dispatcher.dispatch
    return _dispatched(f, lambda kind: dispatch(kind).__get__(f._obj, f._cls))


DECORATED[np.errstate()(lambda: None).__code__] = _under_errstate
DECORATED[contextlib.contextmanager(_any).__code__] = _managing  # ty: ignore[missing-attribute]
DECORATED[functools.singledispatch(lambda _: None).__code__] = _dispatching  # ty: ignore[missing-attribute]
_bound: Any = functools.singledispatchmethod(lambda _: None).__get__(None, object)
if hasattr(_bound, "__code__"):
    DECORATED[_bound.__code__] = _dispatching_method
else:
    DECORATED[type(_bound)] = _dispatching_object
