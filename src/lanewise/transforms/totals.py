"""Sums over turns or examples of products: one product of matrices, which sums over them as well.

The gradient of a weight that all examples, or all turns of a loop, share is a sum of outer
products: the cotangent of what a layer gives, with what it takes. Added up one by one, each is as
large as the weight; kept side by side, their factors are two matrices, and the sum is the product
of them, which BLAS computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.ir.dims import product
from lanewise.ir.graph import Operation, Value
from lanewise.ops.contraction import dot_general
from lanewise.ops.movement import transpose
from lanewise.trace.tensor import Tensor, emit

#: By how much the factors are fewer numbers than the product.
FEWER = 2


@dataclass(frozen=True, slots=True)
class Product:
    """A value that is a product of others, its axes perhaps in another order.

    Attributes
    ----------
    factors
        The two values.
    batch, contract
        As `dot_general` takes them.
    axes
        The order of the axes.
    """

    factors: tuple[Value, Value]
    batch: tuple[tuple[int, int], ...]
    contract: tuple[tuple[int, int], ...]
    axes: tuple[int, ...]

    def total(self, x: Tensor, y: Tensor) -> Any:
        """Return the sum of the products of all rows of two arrays."""
        batch, contract = (
            tuple([(i + 1, j + 1) for i, j in pairs]) for pairs in (self.batch, self.contract)
        )
        whole = emit(dot_general, x, y, batch=batch, contract=((0, 0), *contract))
        return np.transpose(whole, self.axes)


def product_of(operations: Iterable[Operation], value: Value) -> Product | None:
    """Return what a value is the product of, if that is fewer numbers."""
    made = {result: op for op in operations for result in op.results}
    op, axes = made.get(value), None
    if op is not None and op.primitive is transpose:
        op, axes = made.get(op.operands[0]), op.params["axes"]
    if op is None or op.primitive is not dot_general:
        return None
    first, second = (product(factor.type.shape) for factor in op.operands)
    size = product(value.type.shape)
    if not (isinstance(first, int) and isinstance(second, int) and isinstance(size, int)):
        return None
    if FEWER * (first + second) > size:
        return None
    x, y = op.operands
    axes = tuple(range(len(value.type.shape))) if axes is None else axes
    return Product((x, y), op.params["batch"], op.params["contract"], axes)
