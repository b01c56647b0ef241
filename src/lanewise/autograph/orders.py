"""Comparisons that a library wrote for a class: of dataclasses, and of `total_ordering`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from lanewise.autograph.values import compare

_SYMBOLS = {
    "__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=",
}  # fmt: skip


def _written_by_functools() -> frozenset[CodeType]:
    found = set()
    for name in ("__lt__", "__le__", "__gt__", "__ge__"):
        cls = functools.total_ordering(type("Ordered", (), {name: lambda self, other: True}))
        methods = [getattr(cls, other) for other in _SYMBOLS if other not in ("__eq__", name)]
        found.update([each.__code__ for each in methods])
    return frozenset(found)


#: The code of the methods that `functools.total_ordering` gives a class: they call its own.
OF_TOTAL_ORDERING = _written_by_functools()


def of_dataclass(cls: Any, name: str, value: Any) -> Callable[[Any, Any], Any] | None:
    """Return what a comparison does that was written for a dataclass: its fields are compared.

    Its source is not at hand. None of any other member.
    """
    if name not in _SYMBOLS or "__dataclass_fields__" not in vars(cls):
        return None
    if type(value) is not FunctionType or value.__code__.co_filename != "<string>":
        return None
    names = [each.name for each in dataclasses.fields(cls) if each.compare]
    symbol = _SYMBOLS[name]

    def compared(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        own, others = [tuple([getattr(x, name) for name in names]) for x in (self, other)]
        return compare(symbol, own, others)

    return functools.wraps(value)(compared)
