"""Slices of one place as indices: the form in which a loop's places are compared.

While a function is traced, ``a[1, j]`` with a known 1 is read as a slice of length one whose axis a
`reshape` drops, and written the other way round. Here both become the `gather` and `scatter` that
places which are data have, so that one rule sees all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.ir.dims import Shape
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import AxisSlice, reshape, slice_, slice_length, update_slice
from lanewise.ops.shapes import shape_of
from lanewise.passes.numbers import integer


def pointed(graph: Graph) -> Graph:
    """Return the graph with slices of one place as indices, in all regions."""

    def rule(op: Operation, values: dict[Value, Value]) -> list[Value] | Operation:
        found = _written(op, values, graph.makers) or _read(op, values, graph.makers)
        return op.map_regions(pointed) if found is None else [found]

    return graph.rewritten(rule)


def _read(
    op: Operation, values: dict[Value, Value], makers: Mapping[Value, Operation]
) -> Value | None:
    """Record ``reshape(slice(x))`` as indices, where it is the reading of a place."""
    made = makers.get(op.operands[0]) if op.primitive is reshape else None
    if made is None or made.primitive is not slice_:
        return None
    index = made.params["index"]
    points = _points(index)
    if not points or _without(shape_of(made.results[0]), points) != op.params["shape"]:
        return None
    found = values[made.operands[0]]
    if any(_others(index, points)):
        found = slice_(found, index=_others(index, points))
    for axis in reversed(points):
        found = gather(found, integer(index[axis][0]), axis=axis)
    return found


def _written(
    op: Operation, values: dict[Value, Value], makers: Mapping[Value, Operation]
) -> Value | None:
    """Record an `update_slice` as indices, where it is the writing of a place."""
    if op.primitive is not update_slice:
        return None
    index = op.params["index"]
    points = _points(index)
    if not points or points[-1] - points[0] != len(points) - 1:
        return None
    base, given = values[op.operands[0]], op.operands[1]
    shape = _without(shape_of(given), points)
    made = makers.get(given)
    if made is not None and made.primitive is reshape and shape_of(made.operands[0]) == shape:
        new = values[made.operands[0]]
    else:
        new = reshape(values[given], shape=shape)
    others = _others(index, points)
    part = slice_(base, index=others) if any(others) else base
    places = [integer(index[axis][0]) for axis in points]
    part = scatter(part, new, *places, axis=points[0], fn=None)
    return update_slice(base, part, index=others) if any(others) else part


def _points(index: Sequence[AxisSlice]) -> list[int]:
    """Return the axes of which a slice names one place."""
    return [
        axis
        for axis, part in enumerate(index)
        if part and slice_length(part) == 1 and type(part[0]) is int
    ]


def _others(index: Sequence[AxisSlice], points: Sequence[int]) -> tuple[AxisSlice, ...]:
    return tuple([None if axis in points else part for axis, part in enumerate(index)])


def _without(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])
