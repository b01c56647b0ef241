"""Numbers in graphs: written, read and followed, and those that change nothing in a total."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.graph import Operation, Value
from lanewise.ir.types import array_type
from lanewise.ops.creation import constant, dimension, iota, literal
from lanewise.ops.exact import exact
from lanewise.ops.movement import slice_

INT = np.dtype(np.int64)
#: The type of counters, and of integers that lead to places.
INTEGER = array_type(INT, ())
#: What functions of integers are on polynomials.
_ARITHMETIC: dict[Any, Callable[..., DimLike]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.negative: operator.neg,
}  # fmt: skip
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


def arithmetic(op: Operation, operands: Sequence[DimLike]) -> DimLike | None:
    """Return what 64-bit integers are as polynomials, given what those are that they are made of.

    None for what is no sum, difference or product.
    """
    if any([value.type is not INTEGER for value in (*op.operands, *op.results)]):
        return None
    if (data := literal(op)) is not None:
        return data.item()
    fn = op.params["fn"] if op.primitive is exact else op.primitive.ufunc
    return _ARITHMETIC[fn](*operands) if fn in _ARITHMETIC else None


def counted(value: Value, makers: Mapping[Value, Operation]) -> tuple[int, DimLike] | None:
    """Return by how much the integers of an array grow, and the first, if it is of a range."""
    made = makers.get(value)
    if made is not None and made.primitive is iota and made.params["dtype"] == INT:
        return 1, 0
    if made is None or made.primitive is not slice_:
        return None
    found = counted(made.operands[0], makers)
    if found is None or (part := made.params["index"][0]) is None:
        return found
    step, start = found
    return step * part[2], step * part[0] + start
