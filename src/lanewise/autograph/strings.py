"""Calls that make strings of traced values: ``str(x)``, ``format(x, ".2f")``, ``", ".join(xs)``."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from lanewise.autograph.advice import advised
from lanewise.autograph.calls import METHODS, ROWS, replaces
from lanewise.autograph.effects import without_texts
from lanewise.autograph.messages import string_call
from lanewise.trace.scratch import is_traced


def _row(function: Any) -> Callable[..., Any]:
    return partial(string_call, function)


for _function in (builtins.str, builtins.repr, builtins.format, builtins.ascii):
    ROWS[_function] = _row(_function)


def _in_base(function: Callable[[Any], str], spec: str) -> None:
    """Write integers that are data as ``format`` does: ``bin(n)`` is ``format(n, "#b")``."""

    @replaces(function)
    def write(number: Any) -> str:
        if not is_traced(number):
            return function(number)
        return string_call(builtins.format, ROWS[operator.index](number), spec)


_in_base(builtins.bin, "#b")
_in_base(builtins.oct, "#o")
_in_base(builtins.hex, "#x")
for _function in (builtins.bytes, builtins.bytearray):
    _name = _function.__name__
    ROWS[_function] = partial(without_texts, advised(_function, _name), _name)
METHODS[str] = {"format": _row, "format_map": _row, "join": _row}
