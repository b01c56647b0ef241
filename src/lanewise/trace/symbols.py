"""What a tensor stands for that is the code of a text, or of a member of an enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here

#: In what codes are kept.
SYMBOLS = np.dtype(np.int64)
_codes: dict[Any, int] = {}
_next = itertools.count()  # of which each thread gets another number


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

    def reading(self, tensor: Any) -> NoReturn:
        """Raise."""
        raise self.refusal()

    writing = written = reading


CODED = Coded()


def is_constant(x: Any) -> bool:
    """Whether x is a text or a member of an enumeration, which equals nothing but itself."""
    kind = type(x)
    if kind is str or kind is bytes:
        return True
    is_plain = isinstance(x, Enum) and not isinstance(x, (str, bytes, int, float, complex, tuple))
    return is_plain and kind.__eq__ is object.__eq__ and kind.__hash__ is Enum.__hash__


def code_of(constant: Any) -> int:
    """Return the code of a text or a member of an enumeration."""
    return _codes.setdefault((type(constant), constant), next(_next))


def refuse_code(tensor: Any) -> None:
    """Raise if a tensor stands for a text that data choose."""
    if tensor._weak is Symbol:
        raise CODED.refusal()


class Dtypes(dict[type, np.dtype]):
    """What numbers of a class are kept in; it is refused to ask for that of a text."""

    def __missing__(self, kind: type) -> NoReturn:
        raise CODED.refusal() if kind is Symbol else KeyError(kind)
