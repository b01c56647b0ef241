"""Host code inside a graph: effects, ordered by a token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.ir.types import TOKEN, ArrayType, TokenType
from lanewise.ops.movement import repeat_unmapped
from lanewise.ops.regions import batched_type
from lanewise.ops.registry import Batch, absent, op


@op
class py_func:
    """A call of a Python function on arrays, in the order of the token.

    ``func`` takes as many arrays as there are operands behind the token and returns a flat
    sequence of as many results as ``types`` says. With ``vectorized`` it is called once for a whole
    batch, with the batch as axis 0 everywhere.
    """

    instead = ". Files hold no Python code: do that outside, on what the function returns"

    has_effect = True

    def type(
        token: Any,
        *operands: ArrayType,
        func: Callable[..., Any],
        types: tuple[ArrayType, ...],
        vectorized: bool,
    ):
        assert isinstance(token, TokenType)
        return (TOKEN, *types)

    def numpy(token, *operands, func, types, vectorized):
        # The host may keep or change what it is given, so it gets arrays of its own.
        results = func(*[np.array(operand) for operand in operands])
        found = [checked(r, t) for r, t in zip(results, types, strict=True)]
        return (token, *found) if found else token

    def batch(b: Batch, token, *operands, func, types, vectorized):
        if not vectorized:
            return absent("host code runs once for each example, in order")
        operands = repeat_unmapped(Batch(b.size, b.mapped[1:]), *operands)
        batched = tuple(batched_type(type, b.size) for type in types)
        return py_func(token, *operands, func=func, types=batched, vectorized=True)

    lanes = absent("it calls Python")

    jvp = absent("it calls Python, of which no derivative is known")

    samples = absent("it runs any Python function; the tests of py_func cover it")


def checked(result: Any, type: ArrayType) -> np.ndarray:
    """Return what host code gave as an array of the announced type, or raise `TypeError`."""
    array = np.asarray(result)
    if array.shape != type.shape or not np.can_cast(array.dtype, type.dtype, "same_kind"):
        raise TypeError(
            f"py_func announced a result of shape {type.shape} and dtype {type.dtype}, but the "
            f"function returned shape {array.shape} and dtype {array.dtype}: announce "
            f"lw.TensorSpec({array.shape}, {array.dtype.name!r}), if it is so for each example"
        )
    return array.astype(type.dtype)
