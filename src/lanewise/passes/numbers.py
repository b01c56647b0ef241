"""Numbers that passes write into graphs, among them those that change nothing in a total."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.graph import Value
from lanewise.ir.types import array_type
from lanewise.ops.creation import constant, dimension

INT = np.dtype(np.int64)
#: The neutral elements of functions. The infinities are the least and the greatest number.
NEUTRAL: dict[Any, float] = {
    np.add: -0.0, np.multiply: 1, np.bitwise_or: 0, np.bitwise_xor: 0, np.bitwise_and: -1,
    np.logical_or: False, np.logical_and: True, np.maximum: -np.inf, np.minimum: np.inf,
}  # fmt: skip


def number(value: Any, dtype: np.dtype) -> Value:
    """Record a number in the current builder."""
    return constant(data=np.array(value).astype(dtype).tobytes(), type=array_type(dtype, ()))


def integer(value: DimLike) -> Value:
    """Record a 64-bit integer in the current builder."""
    return dimension(size=value) if isinstance(value, Dim) else number(value, INT)


def neutral(fn: np.ufunc, dtype: np.dtype) -> Any:
    """Return what changes nothing where a function takes it in; None where nothing is known."""
    value = NEUTRAL.get(fn)
    if fn is np.add and dtype.kind == "c":
        return complex(-0.0, -0.0)
    if fn is not np.maximum and fn is not np.minimum:
        return value
    if dtype.kind == "b":
        return fn is np.minimum
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if fn is np.maximum else limits.max
    return value if dtype.kind == "f" else None
