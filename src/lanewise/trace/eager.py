"""Recording code that runs: each operation is carried out as it is recorded.

A `GradientTape` records ordinary code so. Its tensors have their numbers at hand, so Python's
control flow works on them, and NumPy takes them as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.ir.graph import Operation, Signature, Value
from lanewise.ir.types import TOKEN, Type, array_type
from lanewise.trace.trace import Concrete, Trace, state

#: Carries an operation out: of its signature and its operands. Filled by `lanewise.runtime.eager`.
RUN: list[Callable[[Signature, Sequence[Any]], Sequence[Any]]] = []


class EagerTrace(Trace):
    """A trace whose values are known.

    Parameters
    ----------
    keeps
        Whether it keeps its operations, to be differentiated; else it only carries them out.
    """

    __slots__ = ("keeps",)

    is_eager = True

    def __init__(self, keeps: bool = True) -> None:
        super().__init__(None)
        self.keeps = keeps

    def append(
        self, signature: Signature, operands: tuple[Value, ...] = ()
    ) -> tuple[Concrete, ...]:
        """Carry out an operation, and record it."""
        found = RUN[0](signature, [operand.array for operand in operands])  # ty: ignore[missing-attribute]
        results = tuple([self._made(t, x) for t, x in zip(signature.types, found, strict=True)])
        if self.keeps:
            op = Operation(signature, operands, 0, self.location)
            op.results = results
            self.operations.append(op)
        return results

    def _made(self, type_: Type, array: Any) -> Concrete:
        value = Concrete(type_, self.count, array)
        self.count += 1
        return value

    def adopt(self, value: Value, owner: Trace) -> Value:
        """Return the value: that of any eager trace is as good as one of this."""
        return value

    def capture(self, array: np.ndarray, owner: np.ndarray | None = None) -> Concrete:
        """Return an array as a value, as its elements are now."""
        owner = array if owner is None else owner
        known = self.known_capture(array, owner) if self.keeps else None
        if known is not None:
            return known  # ty: ignore[invalid-explicit-return]
        snapshot = self.snapshot(array, owner) if self.keeps else array
        value = self._made(array_type(snapshot.dtype, snapshot.shape), snapshot)
        if self.keeps:
            self.remember_capture(owner, snapshot, value)
        return value

    def read(self, source: Any, array: np.ndarray) -> Value:
        """Return the array that an object stands for now as a value."""
        return super().read(source, array) if self.keeps else self.capture(array)

    def own(self, source: Any, array: np.ndarray) -> None:
        """Do nothing: what is carried out at once is not run again."""

    def scalar(self, value: Any, dtype: np.dtype) -> Value:
        """Return a Python number in a dtype; OverflowError if it is out of range."""
        if self.keeps:
            return super().scalar(value, dtype)
        return self._made(array_type(dtype, ()), np.array(value, dtype))

    def next_token(self) -> Concrete:
        """Return a token: what is carried out at once needs no order."""
        return self._made(TOKEN, None)

    def set_token(self, token: Value) -> None:
        """Do nothing."""


_ambient = EagerTrace(keeps=False)


def ambient() -> EagerTrace:
    """Return the trace of what is done with tensors while nothing is recorded."""
    return _ambient


state.ambient = ambient
