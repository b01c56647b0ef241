"""Arithmetic of Python's ints, which are never too large: here they have 64 bits, or raise.

NumPy's integers wrap around. A Python number that a function computes with while it is traced (a
counter, a loop index, ``int(t)``) must not: what would need more bits is an `OverflowError`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.ir.types import array_type
from lanewise.ops.elementwise import aligned
from lanewise.ops.facts import Kind, flops_of_fn
from lanewise.ops.movement import broadcasting
from lanewise.ops.registry import op, sample
from lanewise.ops.shapes import broadcast_shapes

MESSAGE = (
    "a Python int grew beyond 64 bits while it was traced; use floats, or keep it small by %, or "
    "make it np.int64 if it may wrap around"
)

#: What each function is on Python's own ints.
PYTHON: dict[np.ufunc, Callable[..., int]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.power: operator.pow,
    np.left_shift: operator.lshift,
    np.negative: operator.neg,
    np.absolute: abs,
}

_LIMIT = 2.0**63


@op
class exact:
    """A ufunc on 64-bit integers that raises `OverflowError` where Python's int would be larger."""

    kind = Kind.ELEMENTWISE
    flops, conditions = flops_of_fn, ""
    may_fail = any_size = True
    along_rows = False

    def type(*operands, fn: np.ufunc):
        if fn not in PYTHON or any(x.dtype != np.dtype(np.int64) for x in operands):
            raise TypeError(f"exact {fn.__name__} takes 64-bit integers, not {operands}")
        return array_type(operands[0].dtype, broadcast_shapes(*[x.shape for x in operands]))

    def numpy(*operands, fn):
        if all(not np.ndim(x) for x in operands):
            return _exactly(fn, *operands)
        result = np.asarray(fn(*operands))  # ty: ignore[not-callable]
        suspicious = _may_overflow(fn, operands, result)
        if suspicious.any():
            wide = np.broadcast_arrays(*operands)
            for chosen in zip(*(x[suspicious] for x in wide), strict=True):
                _exactly(fn, *chosen)
        return result

    batch = broadcasting

    def lanes(k, types, *operands, fn):
        shape = types[0].shape
        parts = [aligned(x, len(shape)) for x in operands]

        def at(*i):
            return k.functions.exact(fn, *[x(*i) for x in parts])

        return k.lazy(types[0].dtype, shape, at, operands, fails=True)

    samples = (
        sample(np.array([3, -4, 2**62]), np.array([5, 6, 2**61]), fn=np.add),
        sample(np.array([[3], [-4]]), np.array([2**40, 7]), fn=np.multiply),
        sample(np.array([3, -4]), np.array(3), fn=np.power),
        sample(np.array(7), np.array([], int), fn=np.subtract),
        sample(np.array([-7, 7]), fn=np.absolute),
    )


def _exactly(fn: np.ufunc, *numbers: Any) -> np.int64:
    """Return the result on one number each, computed without a bound."""
    if fn is np.left_shift and numbers[0] and numbers[1] > 64:
        raise OverflowError(MESSAGE)
    if fn is np.power and abs(int(numbers[0])) > 1 and numbers[1] > 64:
        raise OverflowError(MESSAGE)
    result = PYTHON[fn](*[int(x) for x in numbers])
    if not -(2**63) <= result < 2**63:
        raise OverflowError(MESSAGE)
    return np.int64(result)


def _may_overflow(fn: np.ufunc, operands: tuple[Any, ...], result: np.ndarray) -> np.ndarray:
    """Return where the wrapped `result` may be wrong; where it says no, it is right."""
    first, *rest = operands
    if fn is np.add:
        return ((first ^ result) & (rest[0] ^ result)) < 0
    if fn is np.subtract:
        return ((first ^ rest[0]) & (first ^ result)) < 0
    if not rest:
        return np.asarray(first) == -(2**63)
    close = np.asarray(first).astype(float)
    with np.errstate(over="ignore"):
        if fn is np.multiply:
            size = close * rest[0]
        elif fn is np.power:
            size = np.power(close, rest[0])
        else:
            size = np.ldexp(close, np.clip(rest[0], 0, 2000).astype(np.int32))
    return np.abs(size) >= _LIMIT * (1 - 2.0**-40)
