"""What is given as an array: an array of numbers of NumPy's, or what is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, annotate, at
from lanewise.ir.location import here
from lanewise.ir.types import NUMERIC_KINDS

#: Classes of arrays that are tracing's own.
OURS: set[type] = set()
#: Python's operators between two values.
BINARY = "add sub mul truediv floordiv mod divmod pow and or xor lshift rshift matmul".split()
#: What Python calls for operators, and NumPy for functions.
_COMPUTING = {f"__{side}{name}__" for side in ("", "r", "i") for name in BINARY}
_COMPUTING |= {f"__{name}__" for name in "eq ne lt le gt ge neg abs".split()}
_COMPUTING |= {"__array_ufunc__", "__array_function__"}


def plain_array(operand: Any, what: Callable[[], str]) -> np.ndarray:
    """Return anything array-like as an array of numbers, or raise naming what it is."""
    array = operand
    if type(operand) is not np.ndarray:
        if isinstance(operand, np.ndarray):
            _check_operators(operand, what)
        try:
            array = np.asarray(operand)
        except Exception as error:
            annotate(error, f"in {what()}")
            raise
    if array.dtype.kind not in NUMERIC_KINDS:
        check_dtype(array.dtype, what())
    return array


def _check_operators(array: np.ndarray, what: Callable[[], str]) -> None:
    """Raise `UnsupportedError` if an array is of a class that computes in its own way."""
    if hasattr(array, "mask"):
        raise UnsupportedError(
            f"{what()} is a masked array, whose mask would be lost{at(here())}. Use "
            "a.filled(value), or pass a.data and a.mask"
        )
    if has_own_operators(type(array)):
        raise UnsupportedError(
            f"{what()} is an array of another class, {type(array).__qualname__}, whose operators "
            f"mean something else{at(here())}. Use np.asarray(a)"
        )


@cache
def has_own_operators(kind: type[np.ndarray]) -> bool:
    """Whether a class of arrays computes in another way than NumPy's: matrices, units."""
    foreign = [c for c in kind.__mro__ if c not in OURS and not issubclass(np.ndarray, c)]
    return any([not _COMPUTING.isdisjoint(vars(c)) for c in foreign])


def check_dtype(dtype: np.dtype, what: str) -> None:
    """Raise `UnsupportedError` unless Lanewise computes with `dtype`."""
    if dtype.kind not in NUMERIC_KINDS:
        raise UnsupportedError(
            f"{what} has dtype {dtype}, but Lanewise maps arrays of bool, integers, floats and "
            "complex numbers. Convert it to one of those first"
        )
