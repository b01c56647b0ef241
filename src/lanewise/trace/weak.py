"""Python numbers that are data: what operators give between them, in Python's own terms.

A tensor whose ``_weak`` is bool, int, float or complex stands for a Python number, such as a loop
index or ``int(t)``. Beside an array or a NumPy scalar it gives way to that dtype, as the literal
``2`` does (NEP 50). Among themselves such numbers follow Python: ``/`` of ints is a float, division
by zero raises, and ints do not wrap around (`lanewise.ops.exact`).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lanewise.errors import at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ops.elementwise import elementwise
from lanewise.ops.exact import PYTHON, exact
from lanewise.ops.movement import cast
from lanewise.trace.sizes import in_use, of_sizes
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, read
from lanewise.trace.trace import Trace, require_trace

_ORDER = (bool, int, float, complex)
OF_BOOLS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_not)
#: What is said of ``n ** k`` of ints where data make k negative, and the result a float.
NEGATIVE_POWER = "an int to a negative power is a float: write float(n) ** k"
#: Python's operators of bits, which take no floats.
BITWISE: dict[np.ufunc, Any] = {
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift, np.right_shift: operator.rshift, np.invert: operator.invert,
}  # fmt: skip
#: What Python does for the operators that raise where the divisor is zero.
DIVISIONS: dict[np.ufunc, Any] = {
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.divmod: divmod,
}


def weak_kind(x: Any) -> type | None:
    """Return what kind of Python number x is or stands for; None for anything else."""
    if type(x) is Tensor:
        return x._weak
    return type(x) if type(x) in _ORDER else None


def python_operator(ufunc: np.ufunc, *operands: Any) -> Any:
    """Apply an operator to Python numbers, at least one of which is data."""
    trace = require_trace(ufunc.__name__)
    if in_use():
        known = of_sizes(ufunc, operands)
        if known is not None:
            return known
    kinds = [weak_kind(x) for x in operands]
    kind: type = max([kind for kind in kinds if kind is not None], key=_ORDER.index)
    shift = ufunc in (np.left_shift, np.right_shift)
    common = kind
    if kind is bool and ufunc not in OF_BOOLS:
        common = int
    if common is int and ufunc is np.divide:
        common = float
    if kind in (float, complex) and ufunc in BITWISE:
        BITWISE[ufunc](*[known(1) for known in kinds if known is not None])  # raises
    is_inverse = ufunc is np.power and type(operands[1]) in (int, bool) and operands[1] < 0
    if common is int and is_inverse:
        common = float
    values = tuple([_as(trace, x, common) for x in operands])
    if common is int and ufunc is np.power and type(operands[1]) is Tensor:
        values = (values[0], _not_negative(trace, values[1]))
    if is_inverse and common is float:
        values = (_nonzero(trace, values[0], _inverse_of_zero()), values[1])
    is_data = type(operands[-1]) is Tensor
    if ufunc in DIVISIONS and (is_data or not operands[1]):
        message = division_by_zero(ufunc, max(kind, int, key=_ORDER.index))
        values = (values[0], _nonzero(trace, values[1], message))
    if shift and (is_data or operands[1] < 0):
        values = (values[0], _ensure(trace, values[1], np.greater_equal, "negative shift count"))
    if common is int and ufunc in PYTHON:
        return Tensor(trace, trace.record(exact, values, {"fn": ufunc})[0], None, int)
    results = trace.record(elementwise(ufunc), values, {"dtype": None})
    tensors = []
    for result in results:
        found = result.type.dtype.kind
        weak = {"b": bool, "i": int, "f": float, "c": complex}.get(found)
        tensors.append(Tensor(trace, result, None, weak))
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _as(trace: Trace, x: Any, kind: type) -> Value:
    dtype = WEAK_DTYPES[kind]
    if type(x) is not Tensor:
        return trace.scalar(kind(x), dtype)
    value = read(x)
    if value.type.dtype != dtype:
        (value,) = trace.record(cast, (value,), {"dtype": dtype})
    return value


def _nonzero(trace: Trace, value: Value, message: str) -> Value:
    zero = trace.scalar(0, value.type.dtype)
    (ok,) = trace.record(elementwise(np.not_equal), (value, zero), {"dtype": None})
    return trace.checked(value, ok, "ZeroDivisionError", message)


def _not_negative(trace: Trace, exponent: Value) -> Value:
    """Return the exponent of an int, which must not be negative: Python gives a float there."""
    zero = trace.scalar(0, exponent.type.dtype)
    (ok,) = trace.record(elementwise(np.greater_equal), (exponent, zero), {"dtype": None})
    return trace.checked(exponent, ok, "OverflowError", f"{NEGATIVE_POWER}{at(here())}")


def _inverse_of_zero() -> str:
    """Return what Python says of a negative power of zero."""
    try:
        return str(operator.pow(0.0, -1))
    except ZeroDivisionError as error:
        return str(error)


def division_by_zero(ufunc: np.ufunc, kind: type) -> str:
    """Return what Python says of a division of numbers of a kind by zero."""
    try:
        DIVISIONS[ufunc](kind(1), kind(0))
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError(f"{ufunc.__name__} of Python's numbers does not raise")


def _ensure(trace: Trace, value: Value, test: np.ufunc, message: str) -> Value:
    zero = trace.scalar(0, value.type.dtype)
    (ok,) = trace.record(elementwise(test), (value, zero), {"dtype": None})
    return trace.checked(value, ok, "ValueError", message)


def give_way(trace: Trace, value: Value, dtype: np.dtype) -> Value:
    """Return the Python number that `value` stands for in the dtype of what it is combined with.

    Like the literal, an int must fit: `OverflowError` at run time if it does not.
    """
    own = value.type.dtype
    if own == dtype:
        return value
    if own.kind == "i" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        low = trace.scalar(max(info.min, -(2**63)), own)
        high = trace.scalar(min(info.max, 2**63 - 1), own)
        (above,) = trace.record(elementwise(np.greater_equal), (value, low), {"dtype": None})
        (below,) = trace.record(elementwise(np.less_equal), (value, high), {"dtype": None})
        (ok,) = trace.record(elementwise(np.logical_and), (above, below), {"dtype": None})
        message = f"Python integer out of bounds for {dtype}{at(here())}"
        value = trace.checked(value, ok, "OverflowError", message)
    return trace.record(cast, (value,), {"dtype": dtype})[0]


def small_enough(value: Value) -> Value:
    """Return numbers of uint64, of which it is checked that int64 holds them."""
    trace, most = require_trace("a variable"), np.iinfo(WEAK_DTYPES[int]).max
    operands = value, trace.scalar(most, value.type.dtype)
    (ok,) = trace.record(elementwise(np.less_equal), operands, {"dtype": None})
    message = (
        f"an integer of uint64 that may be one of int64, too, as the data decide{at(here())}, is "
        f"above {most}. Give both branches one dtype"
    )
    return trace.checked(value, ok, "CutOffError", message)
