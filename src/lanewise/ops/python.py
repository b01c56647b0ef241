"""Functions of Python numbers: called for each element, exact and with Python's own errors.

NumPy has no ufunc for `math.comb`, no correctly rounded ``round(x, 2)``, no ``pow(a, b, m)``. These
functions run as they are, on the numbers as Python has them. What NumPy can do is done by NumPy.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.ir.types import array_type
from lanewise.ops.facts import Held
from lanewise.ops.movement import broadcasting
from lanewise.ops.registry import leading_axes, op, sample
from lanewise.ops.shapes import broadcast_shapes

#: The functions, by the name that stands in graphs. A Python has not all of those in `math`.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module, names in (
        (math, "comb factorial fma fsum isqrt lcm nextafter perm remainder sumprod ulp"),
        (cmath, "rect"),
    )
    for name in names.split()
    if hasattr(module, name)
} | {"pow": pow, "round": round, "bit_length": int.bit_length, "bit_count": int.bit_count}

#: The tangent of each of them whose result may be a float.
_TANGENTS: dict[str, Callable[..., Any]] = {
    "math.fma": lambda z, t, u, v, x, y, w: t * y + x * u + v,
    "math.fsum": lambda z, t, x: np.sum(t, axis=-1),
    "math.nextafter": lambda z, t, *_: t,
    "math.remainder": lambda z, t, u, x, y: t - np.rint((x - z) / y) * u,
    "math.sumprod": lambda z, t, u, x, y: np.sum(t * y + x * u, axis=-1),
    "cmath.rect": lambda z, t, u, r, phi: t * np.exp(1j * phi) + u * (z * 1j),
}

#: Largest modulus whose residues can be multiplied in 64 bits.
SMALL_MODULUS = math.isqrt(2**63 - 1) + 1


@op
class python_call:
    """A function of Python numbers, by name: of an element of each operand, or of rows as lists.

    With ``rows`` the last axis of every operand is handed over as a list. What the function raises
    is raised; an int beyond 64 bits is an `OverflowError`.
    """

    conditions = ""

    def type(*operands, fn: str, dtype: np.dtype, rows: bool = False):
        if fn not in FUNCTIONS:
            raise TypeError(f"python_call knows no function {fn}")
        core = int(rows)
        if any(x.ndim < core for x in operands):
            raise ValueError(f"{fn} takes rows, not a scalar")
        shapes = [x.shape[: x.ndim - core] for x in operands]
        return array_type(dtype, broadcast_shapes(*shapes))

    def numpy(*operands, fn, dtype, rows):
        if rows:
            return _of_rows(fn, dtype, operands)
        if fn == "pow" and len(operands) == 3 and _is_small(*operands):
            return _power_modulo(*operands)
        if len(operands) == 0 or all(np.ndim(x) == 0 for x in operands):
            result = FUNCTIONS[fn](*[x.item() for x in operands])
            return np.asarray(result, object).astype(dtype)
        found = np.frompyfunc(FUNCTIONS[fn], len(operands), 1)(*operands)
        return np.asarray(found, object).astype(dtype)

    batch = broadcasting

    def lanes(k, types, *operands, fn, dtype, rows):
        return k.functions.python(types[0], operands, fn, rows)

    def jvp(d, tangents, y, *operands, fn, dtype, rows):
        if fn not in _TANGENTS:
            return None  # constant almost everywhere, as `round`, or of integers
        moved = [d.zeros(x) if t is None else t for t, x in zip(tangents, operands, strict=True)]
        return _TANGENTS[fn](y, *moved, *operands)

    samples = (
        sample(np.array([5, 6]), np.array([[2], [3]]), fn="math.comb", dtype=np.dtype(int)),
        sample(np.array(2.675), np.array(2), fn="round", dtype=np.dtype(float)),
        sample(np.array([3, 2**62]), np.array(5), np.array([7, 2**61 - 1]), fn="pow",
               dtype=np.dtype(int)),
        sample(np.array([], int), np.array(2), np.array(7), fn="pow", dtype=np.dtype(int)),
        sample((2, 3), fn="math.fsum", dtype=np.dtype(float), rows=True),
        sample((3,), np.array([2.5]), fn="math.remainder", dtype=np.dtype(float)),
        sample((2,), (2, 1), fn="cmath.rect", dtype=np.dtype(complex)),
    )  # fmt: skip


def _of_rows(fn: str, dtype: np.dtype, operands: tuple[Any, ...]) -> Any:
    shape = np.broadcast_shapes(*[x.shape[:-1] for x in operands])
    if not math.prod(shape):
        return np.empty(shape, dtype)
    flat = [
        np.broadcast_to(x, (*shape, x.shape[-1])).reshape(math.prod(shape), x.shape[-1])
        for x in operands
    ]
    rows = zip(*[x.tolist() for x in flat], strict=True)
    found = [FUNCTIONS[fn](*row) for row in rows]
    return np.array(found, dtype).reshape(shape)


def _is_small(base: Any, exponent: Any, modulus: Any) -> bool:
    """Whether NumPy's 64 bits hold what comes up; if not, Python computes, and raises."""
    return bool(np.all(exponent >= 0) and np.all((modulus > 0) & (modulus <= SMALL_MODULUS)))


def _power_modulo(base: Any, exponent: Any, modulus: Any) -> Any:
    """Return base ** exponent % modulus by repeated squaring, for all elements at once."""
    shape = np.broadcast_shapes(np.shape(base), np.shape(exponent), np.shape(modulus))
    result = np.broadcast_to(np.asarray(1 % modulus), shape)
    square = base % modulus
    while np.any(exponent):
        result = np.where(exponent & 1, result * square % modulus, result)
        square = square * square % modulus
        exponent = exponent >> 1
    return result


@op
class integer_of:
    """``int(x)`` of floats: towards zero, with Python's errors for NaN and infinity.

    A number beyond 64 bits is an `OverflowError` too.
    """

    held, conditions = Held.NUMBERS, ""

    def type(x):
        if x.dtype.kind != "f":
            raise TypeError(f"integer_of takes floats, not {x}")
        return array_type(np.dtype(np.int64), x.shape)

    def numpy(x):
        inside = (x >= -(2.0**63)) & (x < 2.0**63)
        if not np.all(inside):
            first = float(np.asarray(x)[~np.asarray(inside)][0])
            int(first)  # raises for NaN and infinity
            raise OverflowError(
                f"int({first}) needs more than 64 bits, which integers have while they are traced"
            )
        return x.astype(np.int64)

    def raises(x):
        yield ~np.any(np.isnan(x)), ValueError("cannot convert float NaN to integer")
        finite = ~np.any(np.isinf(x))
        yield finite, OverflowError("cannot convert float infinity to integer")

    batch = leading_axes

    def lanes(k, types, x):
        def at(*i):
            number = k.convert(x.at(*i), np.dtype(float))
            k.fail(~((number >= -(2.0**63)) & (number < 2.0**63)))
            return number.to("i64")

        return k.lazy(types[0].dtype, x.shape, at, (x,), fails=True)

    samples = (sample((2, 3)), sample(np.array(-2.5)), sample(np.zeros((0, 2), np.float32)))
