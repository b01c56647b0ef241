"""What class a value that is data has: that of the number or array that it stands for."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.autograph.calls import replaces
from lanewise.autograph.sequences import TracedRange
from lanewise.autograph.tables import Picked
from lanewise.autograph.values import stand_in, traced
from lanewise.errors import ConcretizationError, at
from lanewise.ir.location import here
from lanewise.trace.ragged import Ragged
from lanewise.trace.tensor import Tensor, weak
from lanewise.trace.trace import require_trace
from lanewise.trace.weak import has_integers, integer_flag, mixed_kind, python_flag, python_kind


@replaces(builtins.isinstance)
def isinstance_(obj: Any, classes: Any) -> Any:
    """``isinstance``: of a traced value, that of the number or array that it stands for."""
    kind = type(obj)
    if kind is Tensor and (mixed_kind(obj) or has_integers(obj)):
        return _by_example(obj, lambda plain: isinstance(plain, classes))
    if kind is Tensor or kind is Ragged or traced(obj) is not None:
        plain = np.ones((2,) * obj.ndim) if kind is Ragged else stand_in(obj)
        return isinstance(obj, classes) or isinstance(plain, classes)
    if kind is Picked:
        return isinstance([], classes)
    if kind is TracedRange:
        return isinstance(range(0), classes)
    return isinstance(obj, classes)


def _by_example(x: Tensor, holds: Callable[[Any], bool]) -> Any:
    """Return whether something holds of a number that is of one class or another, as flags tell."""
    kind, numpys = python_kind(x), stand_in(Tensor(x._trace, x._value))
    is_integer = has_integers(x)
    sides: list[tuple[bool, bool, Any]] = []
    if kind is not None:
        sides += [(True, False, kind(1)), *([(True, True, 1)] if is_integer else [])]
    if x._weak is None:
        sides += [(False, False, numpys), *([(False, True, np.int64(1))] if is_integer else [])]
    found = [holds(plain) for _, _, plain in sides]
    if all(found) or not any(found):
        return found[0]
    trace = require_trace("isinstance()")
    flags = Tensor(trace, python_flag(x)), Tensor(trace, integer_flag(x))
    result: Any = False
    for answer, (python, integer, _) in zip(found, sides, strict=True):
        if answer:
            case = np.logical_and(flags[0] == python, flags[1] == integer if is_integer else True)
            result = np.logical_or(result, case)
    return weak(result, bool)


@replaces(builtins.type)
def type_(*args: Any, **kwargs: Any) -> Any:
    """``type``: of a traced value, that of the number or array that it stands for."""
    return class_of(args[0], type) if len(args) == 1 and not kwargs else type(*args, **kwargs)


def class_of(obj: Any, plain: Callable[[Any], Any] | None = None) -> Any:
    """``obj.__class__``, or another function of plain objects that returns it."""
    kind = type(obj)
    if kind is Ragged:
        return np.ndarray
    if kind is Picked or kind is TracedRange:
        return list if kind is Picked else range
    if kind is Tensor and has_integers(obj):
        raise ConcretizationError(
            f"type() of a number that is an integer or a float, depending on the data{at(here())}: "
            "plain Python gives another class for some examples. Ask isinstance(x, int), or make "
            "it one of both, int(x) or float(x)"
        )
    if traced(obj) is not None:
        return type(stand_in(obj))
    return obj.__class__ if plain is None else plain(obj)
