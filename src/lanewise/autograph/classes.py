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
from lanewise.trace.ragged import Ragged
from lanewise.trace.tensor import Tensor


@replaces(builtins.isinstance)
def isinstance_(obj: Any, classes: Any) -> bool:
    """``isinstance``: of a traced value, that of the number or array that it stands for."""
    kind = type(obj)
    if kind is Tensor or kind is Ragged or traced(obj) is not None:
        plain = np.ones((2,) * obj.ndim) if kind is Ragged else stand_in(obj)
        return isinstance(obj, classes) or isinstance(plain, classes)
    if kind is Picked:
        return isinstance([], classes)
    if kind is TracedRange:
        return isinstance(range(0), classes)
    return isinstance(obj, classes)


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
    if traced(obj) is not None:
        return type(stand_in(obj))
    return obj.__class__ if plain is None else plain(obj)
