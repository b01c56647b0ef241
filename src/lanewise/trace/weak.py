"""Python numbers that are data: what operators give between them, in Python's own terms.

A tensor whose ``_weak`` is bool, int, float or complex stands for a Python number, such as a loop
index or ``int(t)``. Beside an array or a NumPy scalar it gives way to that dtype, as the literal
``2`` does (NEP 50). Among themselves such numbers follow Python: ``/`` of ints is a float, division
by zero raises, and ints do not wrap around (`lanewise.ops.exact`).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from lanewise.errors import at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ops.elementwise import elementwise, where
from lanewise.ops.exact import PYTHON, exact
from lanewise.ops.movement import cast
from lanewise.trace.sizes import in_use, of_sizes
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, as_tensor, read
from lanewise.trace.trace import Trace, require_trace

_ORDER = (bool, int, float, complex)
_OF_BOOLS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_not)
_FLOAT = np.dtype(float)
#: What NumPy says of an index that is a float.
NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)
#: Give integers for integers.
_OF_INTEGERS = {
    np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.negative, np.positive,
    np.absolute,
}  # fmt: skip
#: Take integers, and no floats: how Python writes them, and what does so.
_BITWISE: dict[np.ufunc, tuple[str, Any]] = {
    np.bitwise_and: ("&", operator.and_), np.bitwise_or: ("|", operator.or_),
    np.bitwise_xor: ("^", operator.xor), np.left_shift: ("<<", operator.lshift),
    np.right_shift: (">>", operator.rshift), np.invert: ("~", operator.invert),
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
    if kind is bool and ufunc not in _OF_BOOLS:
        common = int
    if common is int and ufunc is np.divide:
        common = float
    values = tuple([_as(trace, x, common) for x in operands])
    if ufunc in DIVISIONS:
        message = _division_by_zero(ufunc, max(kind, int, key=_ORDER.index))
        values = (values[0], _nonzero(trace, values[1], message))
    if shift:
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


def _division_by_zero(ufunc: np.ufunc, kind: type) -> str:
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


# --- Python's numbers in some examples, NumPy's in others -----------------------------------------


def note_mixed(tensor: Tensor, flag: Value, kind: type) -> Tensor:
    """Return a tensor, of which is noted that it is a Python number where `flag` holds.

    ``kind`` is what number of Python's.
    """
    trace = tensor._trace
    if trace.mixed is None:
        trace.mixed = {}
    trace.mixed[tensor._value] = flag, kind
    return tensor


def mixed_kind(x: Any) -> type | None:
    """Return what Python number x is in some examples, if it is NumPy's in others."""
    if type(x) is not Tensor or x._trace.mixed is None:
        return None
    return x._trace.mixed.get(x._value, (None, None))[1]


def python_kind(x: Any) -> type | None:
    """Return what Python number x is in some examples, or in all; None if in none."""
    return weak_kind(x) or mixed_kind(x)


def are_mixed(*operands: Any) -> bool:
    """Whether all are Python's numbers in some examples, and not in others."""
    return any(map(mixed_kind, operands)) and all(map(python_kind, operands))


def python_flag(x: Any) -> Value:
    """Return, as a value of the current trace, whether x is a Python number."""
    if mixed_kind(x) is None:
        return require_trace("a number").scalar(weak_kind(x) is not None, np.dtype(bool))
    return read(Tensor(x._trace, x._trace.mixed[x._value][0]))


def common_flag(operands: Sequence[Any]) -> Tensor:
    """Return whether all are Python numbers."""
    trace = require_trace("a number")
    flags = [python_flag(x) for x in operands if mixed_kind(x)]
    both = elementwise(np.logical_and)
    return Tensor(trace, reduce(lambda x, y: trace.record(both, (x, y), {"dtype": None})[0], flags))


# --- integers in some examples, floats in others --------------------------------------------------


def note_integer(tensor: Tensor, flag: Value) -> None:
    """Note of a float that it is an integer where `flag` holds: it can be an index there."""
    trace = tensor._trace
    trace.mixed = trace.mixed or {}  # who asks for notes looks there first
    trace.integers = trace.integers or {}
    trace.integers[tensor._value] = flag


def has_integers(x: Any) -> bool:
    """Whether a float is an integer in some examples."""
    return type(x) is Tensor and bool(x._trace.integers) and x._value in x._trace.integers


def integer_flag(x: Any) -> Value:
    """Return, as a value of the current trace, whether x is an integer."""
    if has_integers(x):
        return read(Tensor(x._trace, x._trace.integers[x._value]))
    dtype = x.dtype if hasattr(x, "dtype") else None
    is_integer = type(x) is int or (dtype is not None and dtype.kind in "iu")
    return require_trace("a number").scalar(is_integer, np.dtype(bool))


def as_integer(x: Any, problem: Exception) -> Any:
    """Return the integer that x is in some examples; in the others `problem` is raised.

    Anything else is returned as it is.
    """
    if not has_integers(x):
        return x
    trace = require_trace("an integer")
    flag, zero = integer_flag(x), trace.scalar(0, x.dtype)
    (safe,) = trace.record(where, (flag, read(x), zero), {})
    (value,) = trace.record(cast, (safe,), {"dtype": WEAK_DTYPES[int]})
    value = trace.checked(value, flag, type(problem).__name__, str(problem))
    return Tensor(trace, value, None, int)


def with_notes(x: Tensor) -> Tensor:
    """Return what a tensor is now, with what is noted of it, which later writes do not change."""
    trace = require_trace("a number")
    result = Tensor(trace, read(x), None, x._weak)
    kind = mixed_kind(x)
    if kind is not None:
        note_mixed(result, python_flag(x), kind)
    if has_integers(x):
        note_integer(result, integer_flag(x))
    return result


def of_integers(ufunc: np.ufunc, operands: Sequence[Any]) -> Any:
    """Apply an operator that takes no floats; None if it takes some."""
    if ufunc not in _BITWISE:
        return None
    symbol, function = _BITWISE[ufunc]
    message = f"unsupported operand type(s) for {symbol}: 'float' and 'int'"
    if len(operands) == 1:
        message = f"bad operand type for unary {symbol}: 'float'"
    return function(*[as_integer(x, TypeError(message)) for x in operands])


def keep_integers(ufunc: np.ufunc, result: Any, *operands: Any) -> Any:
    """Return the result of an operator, of which is noted where it is an integer."""
    are_integers = all(
        [has_integers(x) or type(x) is int or getattr(x, "dtype", _FLOAT).kind in "iu"
         for x in operands]
    )  # fmt: skip
    if are_integers and ufunc in _OF_INTEGERS and result.dtype.kind == "f":
        trace = require_trace("a number")
        flags = [integer_flag(x) for x in operands]
        both = elementwise(np.logical_and)
        every = reduce(lambda x, y: trace.record(both, (x, y), {"dtype": None})[0], flags)
        note_integer(result, every)
    return result


def as_python_divides(ufunc: np.ufunc, x: Any, y: Any, flag: Tensor) -> tuple[Any, Any]:
    """Return the operands of a division, which raises where `flag` holds and `y` is zero."""
    if type(y) in _ORDER and y:
        return x, y
    trace = require_trace(ufunc.__name__)
    divisor = as_tensor(y)
    found = read(divisor), trace.scalar(0, divisor.dtype)
    (is_zero,) = trace.record(elementwise(np.equal), found, {"dtype": None})
    operands = is_zero, read(flag)
    (is_wrong,) = trace.record(elementwise(np.logical_and), operands, {"dtype": None})
    (ok,) = trace.record(elementwise(np.logical_not), (is_wrong,), {"dtype": None})
    kinds = [python_kind(operand) or int for operand in (x, y)]
    message = _division_by_zero(ufunc, max(int, *kinds, key=_ORDER.index))

    def checked(operand: Tensor) -> Tensor:
        value = trace.checked(read(operand), ok, "ZeroDivisionError", message)
        return Tensor(trace, value, None, operand._weak)

    return (checked(x), y) if mixed_kind(x) else (x, checked(y))
