"""Displays of dicts and sets, stars, and the operators that sets have: keys may be data."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from lanewise.autograph.calls import fn
from lanewise.trace.contents import ON_CONTENTS, chosen_by, is_keyed, is_nested
from lanewise.trace.regions import born
from lanewise.trace.scratch import is_traced

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "|": operator.or_, "&": operator.and_, "-": operator.sub, "^": operator.xor,
}  # fmt: skip


def binary(symbol: str, left: Any, right: Any) -> Any:
    """``left - right`` and other operators that sets have."""
    if is_keyed(left) or is_keyed(right):
        return ON_CONTENTS["binary"](symbol, left, right)
    return _OPERATORS[symbol](left, right)


def joined_anew(x: Any) -> Any:
    """Return ``a + b`` or ``a * n``, which is a list of its own if it is one."""
    return born(x) if type(x) is list else x


def spread(x: Any) -> Any:
    """Return x of ``*x``."""
    if is_keyed(x) or is_nested(x):
        return ON_CONTENTS["spread"](x)
    row = chosen_by(x)
    return x if row is x else row.copy()


def set_of(elements: list[Any]) -> Any:
    """``{*elements}``."""
    return fn(set)(elements)


def entries(*parts: tuple[Any, ...]) -> Any:
    """Return a dict of keys and values, and of other dicts: of tuples of two, and of one."""
    if any([is_keyed(p[0]) if len(p) == 1 else is_traced(p[0]) for p in parts]):
        return ON_CONTENTS["united"](*parts)
    made: dict[Any, Any] = {}
    for part in parts:
        if len(part) == 1:
            made = {**made, **part[0]}
        else:
            made[part[0]] = part[1]
    return born(made)
