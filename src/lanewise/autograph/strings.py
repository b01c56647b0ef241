"""Calls that make strings of traced values: ``str(x)``, ``format(x, ".2f")``, ``", ".join(xs)``."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import partial
from typing import Any

from lanewise.autograph.advice import advised
from lanewise.autograph.calls import METHODS, ROWS
from lanewise.autograph.effects import without_texts
from lanewise.autograph.messages import string_call


def _row(function: Any) -> Callable[..., Any]:
    return partial(string_call, function)


for _function in (builtins.str, builtins.repr, builtins.format, builtins.ascii):
    ROWS[_function] = _row(_function)
for _function in (builtins.bytes, builtins.bytearray):
    _name = _function.__name__
    ROWS[_function] = partial(without_texts, advised(_function, _name), _name)
METHODS[str] = {"format": _row, "format_map": _row, "join": _row}
