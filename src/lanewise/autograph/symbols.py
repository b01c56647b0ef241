"""Texts and members of enumerations that data choose: ``state = "up" if v > 0 else "down"``.

Each stands for a number, its code, which branches and loops hand on as they do other numbers. Code
may compare them and look them up in a dict; whatever else it does with one is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.tensor import Tensor

#: In what codes are kept.
SYMBOLS = np.dtype(np.int64)
_codes: dict[Any, int] = {}


class Symbol:
    """What a tensor stands for that is a code, in place of one of Python's numbers."""

    def __new__(cls, *_: Any) -> Symbol:
        """Raise: none is made of a number."""
        raise CODED.refusal()


class Coded:
    """Guards a tensor that is a code: nobody is to compute with it."""

    is_copy = False
    beneath = None
    #: What compares two values, of which one is a code, by ==.
    equal: Callable[[Any, Any], Any]

    def refusal(self) -> UnsupportedError:
        """Return what is raised where it is used otherwise."""
        return UnsupportedError(
            f"a text or a member of an enumeration that the data choose is used{at(here())} "
            "otherwise than in a comparison by == or as the key of a dict. Keep a number in its "
            "place"
        )

    def reading(self, tensor: Tensor) -> NoReturn:
        """Raise."""
        raise self.refusal()

    writing = written = reading


CODED = Coded()


def is_symbol(x: Any) -> bool:
    """Whether x is a text or a member of an enumeration, or a tensor that stands for one."""
    kind = type(x)
    if kind is Tensor:
        return x._weak is Symbol
    return kind is str or kind is bytes or isinstance(x, Enum)


def code_of(constant: Any) -> int:
    """Return the code of a text or a member of an enumeration."""
    key = type(constant), constant if isinstance(constant, (str, bytes)) else constant.name
    return _codes.setdefault(key, len(_codes))


def guarded(tensor: Tensor) -> Tensor:
    """Return a tensor, guarded if it is a code."""
    if tensor._weak is Symbol:
        tensor._guard = CODED
    return tensor
