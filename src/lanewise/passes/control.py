"""Push a map into control flow: branches and loops of which all examples go the same way stay.

Where the predicate varies from example to example, the operation becomes a *divergent* map around
it, for the runtime to run those examples together that go the same way. A divergent map under
another map is one over all pairs of examples.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Graph, Operation, Value, current_builder
from lanewise.ops.control import BRANCHES, while_
from lanewise.ops.movement import broadcast_to, reshape
from lanewise.ops.regions import DIVERGENT, map_
from lanewise.ops.shapes import shape_of
from lanewise.passes.lanes import Lane, OpenRegion, Pushing, isolated, repeated, with_axis_first


def push_into_control(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane] | None:
    """Record control flow for all examples at once; None where they go different ways.

    Branches and bodies run once for all examples. Of a loop's carry, what is the same for all of
    them stays so.
    """
    if op.primitive in BRANCHES:
        return None if lanes[0].mapped else _push_into_branches(outer, op, lanes)
    if op.primitive is while_:
        return _push_into_while(outer, op, lanes)
    return _push_into_scan(outer, op, lanes)


def _push_into_branches(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane]:
    taken = [lane.mapped for lane in lanes[1:]]
    branches = [outer.region(region, taken) for region in op.regions]
    mapped = [any(which) for which in zip(*(branch.mapped for branch in branches), strict=True)]
    regions = tuple([branch.finish(mapped) for branch in branches])
    results = _record(op, [lane.value for lane in lanes], regions)
    return [Lane(value, m) for value, m in zip(results, mapped, strict=True)]


def _push_into_while(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane] | None:
    test, body = op.regions
    captures = op.params["captures"]
    turn, taken = settled(outer, body, [lane.mapped for lane in lanes], slice(captures, None))
    question = outer.region(test, taken)
    if question.mapped[0]:
        return None
    mapped = taken[captures:]
    operands = _as_taken(outer.size, lanes, taken)
    results = _record(op, operands, (question.finish(), turn.finish(mapped)))
    return [Lane(value, m) for value, m in zip(results, mapped, strict=True)]


def _push_into_scan(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane]:
    (body,) = op.regions
    first, count = op.params["captures"], op.params["carry"]
    last = first + count
    turn, taken = settled(outer, body, [lane.mapped for lane in lanes], slice(first, last))
    operands = _as_taken(outer.size, lanes, taken)
    operands[last:] = [  # the slices are along axis 0, so the batch goes behind it
        with_axis_first(x, 1 if m else None)
        for x, m in zip(operands[last:], taken[last:], strict=True)
    ]
    mapped = [*taken[first:last], *turn.mapped[count:]]
    results = _record(op, operands, (turn.finish(mapped),))
    return [
        Lane(with_axis_first(value, 1 if m and j >= count else None), m)
        for j, (value, m) in enumerate(zip(results, mapped, strict=True))
    ]


def settled(
    outer: Pushing, body: Graph, mapped: Sequence[bool], carry: slice
) -> tuple[OpenRegion, list[bool]]:
    """Push a map into the body of a loop.

    Returns the body and which of its inputs vary: those `mapped`, and of the `carry` also what
    varies after some turns.
    """
    taken = list(mapped)
    while True:
        turn = outer.region(body, taken)
        after = [a or b for a, b in zip(taken[carry], turn.mapped, strict=False)]
        if after == taken[carry]:
            return turn, taken
        taken[carry] = after


def diverge(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane]:
    """Record control flow that varies, as a divergent map around the operation."""
    region, taken = isolated([op], op.results)
    lane_of = dict(zip(op.operands, lanes, strict=True))
    params = {
        "size": outer.size,
        "in_dims": tuple([0 if lane_of[value].mapped else None for value in taken]),
        "out_mapped": (True,) * len(op.results),
        "order": DIVERGENT,
        "chunk": None,
        "fallback": outer.fallback,
        "fastmath": False,
        "columns": (),
    }
    operands = tuple([lane_of[value].value for value in taken])
    results = current_builder().emit(map_, operands, params, (region,))
    return [Lane(value, True) for value in results]


def push_into_divergent(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane]:
    """Record a divergent map under another map: one over all pairs of examples, as one axis."""
    outer_size, inner_size = outer.size, op.params["size"]
    size = outer_size * inner_size
    in_dims = [
        0 if axis == 0 or lane.mapped else None
        for axis, lane in zip(op.params["in_dims"], lanes, strict=True)
    ]
    operands = []
    for lane, axis in zip(lanes, op.params["in_dims"], strict=True):
        value = lane.value
        if axis is None and lane.mapped:  # the same for all inner examples
            _, *rest = shape_of(value)
            value = reshape(value, shape=(outer_size, 1, *rest))
            value = broadcast_to(value, shape=(outer_size, inner_size, *rest))
        elif axis == 0:
            value = repeated(lane, outer_size)
        if axis == 0 or lane.mapped:
            _, _, *rest = shape_of(value)
            value = reshape(value, shape=(size, *rest))
        operands.append(value)
    params = {**op.params, "size": size, "in_dims": tuple(in_dims)}
    results = current_builder().emit(map_, tuple(operands), params, op.regions)
    return [
        Lane(reshape(value, shape=(outer_size, inner_size, *shape_of(value)[1:])), True)
        for value in results
    ]


def _as_taken(size: DimLike, lanes: Sequence[Lane], taken: Sequence[bool]) -> list[Value]:
    """Return operands as a region takes them: repeated where only its input is mapped."""
    return [
        repeated(lane, size) if mapped else lane.value
        for lane, mapped in zip(lanes, taken, strict=True)
    ]


def _record(
    op: Operation, operands: Sequence[Value], regions: tuple[Graph, ...]
) -> tuple[Value, ...]:
    return current_builder().emit(op.primitive, tuple(operands), op.params, regions)
