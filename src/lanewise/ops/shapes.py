"""Computing with the shapes of values, dimensions symbolic or not."""

from __future__ import annotations

from numpy.lib.array_utils import normalize_axis_index

from lanewise.ir.dims import DimLike, Shape, differ, dim_broadcast
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

    Whether symbolic dimensions fit together is found out by NumPy when the graph runs.

    Raises
    ------
    ValueError
        If two dimensions are known to differ, and neither is 1.
    """
    rank = max(map(len, shapes), default=0)
    result: list[DimLike] = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            if result[axis] == 1:
                result[axis] = dim
            elif dim != 1 and dim != result[axis]:
                try:
                    result[axis] = dim_broadcast(result[axis], dim)
                except ValueError:
                    listed = " ".join(str(shape).replace(" ", "") for shape in shapes)
                    raise ValueError(
                        f"operands could not be broadcast together with shapes {listed}"
                    ) from None
    return tuple(result)


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Whether `shape` may be repeated to `target`: False only where NumPy surely refuses."""
    if len(shape) > len(target):
        return False
    pairs = zip(shape[::-1], target[::-1], strict=False)
    return all([not differ(dim, 1) or not differ(dim, wanted) for dim, wanted in pairs])


def may_agree(first: Shape, second: Shape) -> bool:
    """Whether two shapes may be the same: False only where they surely differ."""
    return first == second or (
        len(first) == len(second)
        and not any([differ(a, b) for a, b in zip(first, second, strict=True)])
    )


def normalize_axis(axis: int, ndim: int) -> int:
    """Return a non-negative axis, or raise NumPy's ``AxisError``."""
    return normalize_axis_index(axis, ndim)
