"""``Color(x)`` of a number that is data: the member of an enumeration that has the value."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, Flag
from functools import partial
from typing import Any

from lanewise.autograph.values import either, equal, require, traced
from lanewise.errors import at
from lanewise.ir.location import here
from lanewise.trace.tensor import Tensor, weak
from lanewise.trace.variants import ON_VARIANTS


def followed_members(cls: type) -> Callable[..., Any] | None:
    """Return what looks up a member of an enumeration; None of any other class."""
    if not issubclass(cls, Enum) or issubclass(cls, Flag) or "_missing_" in _own_names(cls):
        return None
    return partial(_member, cls)


def _own_names(cls: type) -> set[str]:
    return {name for base in cls.__mro__ if base.__module__ != "enum" for name in vars(base)}


def _member(cls: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs or len(args) != 1 or traced(args[0]) is None:
        return cls(*args, **kwargs)
    place: Any = 0
    value, is_any = args[0], False
    for i, member in enumerate(cls):
        is_it = equal(member.value, value)
        is_any = either(is_any, lambda is_it=is_it: is_it)
        number: Any = weak(is_it, int) if isinstance(is_it, Tensor) else int(is_it)
        place = place + i * number
    if is_any is False:
        return cls(object())  # which raises
    if is_any is not True:
        require(is_any, ValueError(f"not a valid {cls.__qualname__}{at(here())}"))
    return ON_VARIANTS["at"](place, list(cls))
