"""Texts and members of enumerations that data choose: ``state = "up" if v > 0 else "down"``.

Each stands for a number, its code, which branches and loops hand on as they do other numbers. Code
may compare them and look them up in a dict; whatever else it does with one is refused by name.
"""

from __future__ import annotations

from typing import Any

from lanewise.trace.symbols import CODED, Symbol, is_constant
from lanewise.trace.tensor import Tensor


def is_code(x: Any) -> bool:
    """Whether x is a tensor that stands for a text or a member of an enumeration."""
    return type(x) is Tensor and x._weak is Symbol


def is_symbol(x: Any) -> bool:
    """Whether x is a text or a member of an enumeration, or a tensor that stands for one."""
    return x._weak is Symbol if type(x) is Tensor else is_constant(x)


def guarded(tensor: Tensor) -> Tensor:
    """Return a tensor, guarded if it is a code."""
    if tensor._weak is Symbol:
        tensor._guard = CODED
    return tensor
