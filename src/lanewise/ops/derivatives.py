"""What the rules of derivatives are told, and rules that many operations share.

A rule computes with tensors, in plain NumPy: it is recorded, so it differentiates again.

``jvp(d, tangents, results, *operands, **params)`` gives the tangent of the result, or a tuple of
them: how it changes as the operands do. A tangent has the dtype and shape of its value; None is
zero. It must be linear in the tangents, by operations that are `transposed`.

``transposed(d, ct, *operands, **params)`` gives each operand its part of the cotangent, or None. It
is asked for operations that were recorded of tangents: an operand that depends on them is a
`Linear`, all others are tensors. `ct` is the cotangent of the result; of several results a list, in
which None is zero.

`d` records what NumPy has no function for: ``d.emit(primitive, *tensors, **params)``, and
``d.zeros(type)``.

The method is that of R. Frostig, M. Johnson, D. Maclaurin, A. Paszke and A. Radul, "Decomposing
reverse-mode automatic differentiation" (2021): one rule an operation, transposes for linear ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.ir.dims import DimLike, Shape, product
from lanewise.ir.types import ArrayType

JvpRule = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class OfRegions:
    """The rules of derivatives of an operation with regions, which `lanewise.transforms` enters.

    Attributes
    ----------
    moves
        Tells which results have a tangent, given which operands have one.
    forward, split
        The rule of its tangents: as one operation that computes both (forward mode), and as two of
        which the second is linear.
    transposed
        How cotangents go back, where it is linear.
    """

    moves: Callable[..., Any] | None = None
    forward: Callable[..., Any] | None = None
    split: Callable[..., Any] | None = None
    transposed: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Linear:
    """An operand that is linear in the tangents: only its type is known.

    Of a table (`lanewise.ops.tables`) also the cotangent so far, which a rule gives with its own
    part in it: adding tables up is not for free. It is None for zero.
    """

    type: ArrayType
    so_far: Any = None

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def size(self) -> DimLike:
        return product(self.type.shape)

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype


def is_linear(operand: Any) -> bool:
    """Whether an operand of a rule of transposition is one whose cotangent is asked for."""
    return type(operand) is Linear


def flat(d: Any, tangents: Any, results: Any, *operands: Any, **params: Any) -> Any:
    """The rule of functions that are constant almost everywhere: no tangent at all."""
    return (None,) * len(results) if isinstance(results, tuple) else None


def linear(*positions: int) -> JvpRule:
    """Return the rule of an operation that is linear in some operands together.

    Examples
    --------
    ``concatenate`` of tangents is the tangent of ``concatenate``; where an operand has none, zeros
    take its place.
    """

    def jvp(d: Any, tangents: Any, results: Any, *operands: Any, **params: Any) -> Any:
        taken = positions or range(len(operands))
        moved = list(operands)
        for i in taken:
            moved[i] = d.zeros(operands[i]) if tangents[i] is None else tangents[i]
        return d.emit(d.primitive, *moved, **params)

    return jvp


def multilinear(*positions: int) -> JvpRule:
    """Return the rule of an operation that is linear in each of some operands: the product rule."""

    def jvp(d: Any, tangents: Any, results: Any, *operands: Any, **params: Any) -> Any:
        total = None
        for i in positions:
            if tangents[i] is not None:
                moved = [tangents[i] if j == i else x for j, x in enumerate(operands)]
                term = d.emit(d.primitive, *moved, **params)
                total = term if total is None else total + term
        return total

    return jvp


def unbroadcast(ct: Any, shape: Shape) -> Any:
    """Return a cotangent summed over the axes along which a value of `shape` was repeated."""
    if ct.shape == shape:
        return ct
    missing = ct.ndim - len(shape)
    repeated = tuple(
        axis
        for axis, size in enumerate(ct.shape)
        if axis < missing or (shape[axis - missing] == 1 and size != 1)
    )
    if not repeated:
        return ct  # of fewer elements: the same number everywhere
    kept = [1 if axis in repeated else size for axis, size in enumerate(ct.shape)]
    return np.reshape(ct.sum(axis=repeated), tuple(kept[max(missing, 0) :]))
