"""The first and last places of an array, without the rest of it.

A loop that writes all but a few places of an array gives the array itself, into which those few are
put. What they are is found here where they come from: of an array into which something was written,
or which a branch gives, the rest need not be made.
"""

from __future__ import annotations

from typing import Any

from lanewise.ir.dims import DimLike, Shape, never_below
from lanewise.ir.graph import Graph, Operation, Value, current_builder, recorded
from lanewise.ops.control import BRANCHES
from lanewise.ops.facts import Kind, may_fail
from lanewise.ops.movement import reshape, slice_, update_slice


def edge(value: Value, axis: int, first: DimLike, last: DimLike) -> Value:
    """Record the places from `first` to before `last` along an axis of a value."""
    op = next((op for op in current_builder().operations if value in op.results), None)
    if op is not None and op.primitive is update_slice:
        whole, written = op.operands
        index = op.params["index"]
        begin, end, step = index[axis] or (0, value.type.shape[axis], 1)
        if step == 1 and (never_below(begin, last) or never_below(first, end)):
            return edge(whole, axis, first, last)
        others = any(part for other, part in enumerate(index) if other != axis)
        is_within = never_below(first, begin) and never_below(end, last)
        if step == 1 and is_within and not others:
            return edge(written, axis, first - begin, last - begin)
    if op is not None and op.primitive in BRANCHES:
        place = op.results.index(value)
        regions = tuple([_edge_of(region, place, axis, first, last) for region in op.regions])
        return current_builder().emit(op.primitive, op.operands, op.params, regions)[0]
    return sliced(value, axis, (first, last, 1))


def _edge_of(region: Graph, place: int, axis: int, first: DimLike, last: DimLike) -> Graph:
    """Return a region that gives only the edge of one of its outputs."""

    def rule(*inputs: Value) -> list[Value]:
        return [edge(current_builder().inline(region, inputs)[place], axis, first, last)]

    return recorded([value.type for value in region.inputs], rule)


def along(rank: int, axis: int, part: tuple[DimLike, DimLike, int]) -> tuple[Any, ...]:
    """Return the index of a slice of one axis of so many."""
    return (*(None,) * axis, part, *(None,) * (rank - axis - 1))


def sliced(value: Value, axis: int, part: tuple[DimLike, DimLike, int]) -> Value:
    """Record a slice of one axis of a value."""
    return slice_(value, index=along(value.type.ndim, axis, part))


def shaped(value: Value, shape: Shape) -> Value:
    """Record a value in a shape, where it has another one."""
    return value if value.type.shape == shape else reshape(value, shape=shape)


def is_total(op: Operation) -> bool:
    """Whether an operation may run on any data: it does not fail, nor go on for ever."""
    if op.must_run or may_fail(op) or op.primitive.kind in (Kind.LISTS, Kind.STORE):
        return False
    if op.primitive in BRANCHES:
        return all(is_total(inner) for region in op.regions for inner in region.operations)
    return not op.regions
