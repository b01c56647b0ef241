"""What a value that is data is: its class is that of the number or array that it stands for."""

from __future__ import annotations

import builtins
import numbers
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from lanewise.autograph.calls import fn, replaces
from lanewise.autograph.optional import apart_from_none, may_be_missing
from lanewise.autograph.sequences import TracedRange
from lanewise.autograph.state import bare
from lanewise.autograph.values import choose, stand_in, traced
from lanewise.errors import ConcretizationError, at
from lanewise.ir.location import here
from lanewise.trace.contents import Chosen
from lanewise.trace.lending import refuse_unknown
from lanewise.trace.mixed import classes_of, is_mixed, is_one_of
from lanewise.trace.scratch import Scratch
from lanewise.trace.tensor import Tensor
from lanewise.trace.variants import ON_VARIANTS, Variant


@replaces(builtins.isinstance)
def isinstance_(obj: Any, classes: Any) -> Any:
    """``isinstance``: of a traced value, that of the number or array that it stands for."""
    refuse_unknown(obj)
    kind = type(obj)
    if kind is Variant:
        return ON_VARIANTS["asked"](obj, lambda x: isinstance_(x, classes))
    if may_be_missing(obj):
        flag, held = apart_from_none(obj)
        held = bare(held) if kind is Tensor else held
        answers = isinstance_(held, classes), isinstance(None, classes)
        return answers[1] if answers[0] is answers[1] else choose(flag, *answers)
    if is_mixed(obj):
        return is_one_of(obj, lambda each: isinstance(each.make(1), classes))
    if kind is Tensor or traced(obj) is not None:
        return isinstance(stand_in(obj), classes) or kind in _alternatives(classes)
    if issubclass(kind, Chosen):
        return isinstance([], classes)
    if kind is TracedRange:
        return isinstance(range(0), classes)
    return isinstance(obj, classes)


def _alternatives(classes: Any) -> Iterator[Any]:
    """Yield the classes of a tuple, nested or not, or of a union."""
    parts = classes if isinstance(classes, tuple) else getattr(classes, "__args__", None)
    if parts is None:
        yield classes
    else:
        for each in parts:
            yield from _alternatives(each)


@replaces(builtins.hasattr)
def hasattr_(obj: Any, name: Any) -> Any:
    """``hasattr``: of a traced value, only what the number or array has that it stands for."""
    if type(name) is Variant:
        return ON_VARIANTS["asked"](name, lambda own: hasattr_(obj, own))
    if type(obj) is Variant:
        return ON_VARIANTS["asked"](obj, lambda x: hasattr_(x, name))
    is_one = type(obj) is Tensor and not may_be_missing(obj) and not is_mixed(obj)
    return hasattr(obj, name) and (not is_one or hasattr(stand_in(obj), name))


@replaces(builtins.getattr)
def getattr_(obj: Any, name: Any, *default: Any) -> Any:
    """``getattr``: of a name that is known, or that data choose."""
    if type(name) is Variant:
        return ON_VARIANTS["asked"](name, lambda own: getattr_(obj, own, *default))
    if type(obj) is Variant and default:
        return ON_VARIANTS["asked"](obj, lambda x: getattr_(x, name, *default))
    return getattr(obj, name, *default)


@replaces(np.isscalar)
def isscalar(element: Any) -> Any:
    """``np.isscalar``: of a traced value, whether it stands for a number."""
    if traced(element) is None and not may_be_missing(element) and not is_mixed(element):
        return np.isscalar(element)
    return isinstance_(element, (np.generic, numbers.Number))


@replaces(builtins.type)
def type_(*args: Any, **kwargs: Any) -> Any:
    """``type``: of a traced value, that of the number or array that it stands for."""
    return class_of(args[0], type) if len(args) == 1 and not kwargs else type(*args, **kwargs)


def class_of(obj: Any, plain: Callable[[Any], Any] | None = None) -> Any:
    """``obj.__class__``, or another function of plain objects that returns it."""
    kind = type(obj)
    if kind is Variant:
        return ON_VARIANTS["asked"](obj, lambda x: class_of(x, plain))
    if kind is TracedRange:
        return range
    if issubclass(kind, Chosen):
        return list
    if kind is Scratch:
        return np.ndarray
    if is_mixed(obj) or may_be_missing(obj):
        return _one_class(obj)
    if traced(obj) is not None:
        return type(stand_in(obj))
    return obj.__class__ if plain is None else plain(obj)


def _one_class(obj: Any) -> type:
    """Return the class of a value that has one or another, or raise if that differs."""
    held = apart_from_none(obj)[1]
    found = [each.of_python for each in classes_of(held) or ()] or [type(held)]
    found += [type(None)] if may_be_missing(obj) else []
    if len(set(found)) > 1:
        names = " or ".join([each.__name__ for each in found])
        raise ConcretizationError(
            f"type() of a number that is {names}, depending on the data{at(here())}: plain Python "
            "gives another class for some examples. Ask isinstance(x, int), or make it one of both"
        )
    return found[0]


def converted_by(x: Any, name: str) -> Any:
    """Return what an object's own method makes of it, if that is data; else what gives it."""
    kind = type(x)
    method = getattr(kind, name, None)
    if type(method) is not FunctionType:
        return x
    found = fn(method)(x)
    if traced(found) is not None:
        return found
    return type(kind.__name__, (), {name: lambda self: found})()  # Python checks its class
