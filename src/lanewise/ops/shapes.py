"""Computing with the shapes of values, dimensions symbolic or not."""

from __future__ import annotations

from numpy.lib.array_utils import normalize_axis_index

from lanewise.ir.dims import DimLike, Shape
from lanewise.ir.graph import Value
from lanewise.ir.types import ArrayType


def shape_of(value: Value) -> Shape:
    """Return the shape of an array value."""
    assert isinstance(value.type, ArrayType)
    return value.type.shape


def rank_of(value: Value) -> int:
    """Return the number of dimensions of an array value."""
    return len(shape_of(value))


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that `shapes` broadcast to, by NumPy's rule; dimensions may be symbolic.

    Raises
    ------
    ValueError
        If two dimensions differ and neither is 1.
    """
    rank = max(map(len, shapes), default=0)
    result: list[DimLike] = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            if result[axis] == 1:
                result[axis] = dim
            elif dim != 1 and dim != result[axis]:
                listed = " ".join(str(shape).replace(" ", "") for shape in shapes)
                raise ValueError(f"operands could not be broadcast together with shapes {listed}")
    return tuple(result)


def normalize_axis(axis: int, ndim: int) -> int:
    """Return a non-negative axis, or raise NumPy's ``AxisError``."""
    return normalize_axis_index(axis, ndim)
