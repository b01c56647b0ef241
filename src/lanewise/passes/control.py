"""Push a map into control flow: branches and loops of which all examples go the same way stay.

Where the predicate varies from example to example, the operation becomes a *divergent* map around
it, for the runtime to run those examples together that go the same way. A divergent map under
another map is one over all pairs of examples.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.ir.dims import product
from lanewise.ir.graph import Graph, Operation, Value, current_builder
from lanewise.ops.control import BRANCHES, carry_of
from lanewise.ops.movement import broadcast_to, reshape
from lanewise.ops.regions import DIVERGENT
from lanewise.ops.shapes import shape_of
from lanewise.passes.lanes import (
    Lane,
    OpenRegion,
    Pushing,
    isolated,
    record_map,
    repeated,
    with_axis_first,
)


def push_into_control(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane] | None:
    """Record control flow for all examples at once; None where they go different ways.

    Branches and bodies run once for all examples. Of a loop's carry, what is the same for all of
    them stays so.
    """
    if op.primitive not in BRANCHES:
        return _push_into_loop(outer, op, lanes)
    return None if lanes[0].mapped else _push_into_branches(outer, op, lanes)


def _push_into_branches(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane]:
    taken = [lane.mapped for lane in lanes[1:]]
    branches = [outer.region(region, taken) for region in op.regions]
    mapped = [any(which) for which in zip(*(branch.mapped for branch in branches), strict=True)]
    regions = tuple([branch.finish(mapped) for branch in branches])
    operands = tuple([lane.value for lane in lanes])
    results = current_builder().emit(op.primitive, operands, op.params, regions)
    return list(map(Lane, results, mapped))


def _push_into_loop(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane] | None:
    *tests, body = op.regions
    carry = carry_of(op)
    count, last = carry.stop - carry.start, carry.stop
    turn, taken = settled(outer, body, [lane.mapped for lane in lanes], carry)
    questions = [outer.region(test, taken) for test in tests]
    if any([question.mapped[0] for question in questions]):
        return None
    operands = [
        # The slices are along axis 0, so the batch goes behind it.
        with_axis_first(repeated(lane, outer.size), int(place >= last)) if varies else lane.value
        for place, (lane, varies) in enumerate(zip(lanes, taken, strict=True))
    ]
    mapped = [*taken[carry], *turn.mapped[count:]]
    regions = (*[question.finish() for question in questions], turn.finish(mapped))
    results = current_builder().emit(op.primitive, tuple(operands), op.params, regions)
    return [
        Lane(with_axis_first(value, int(varies and place >= count)), varies)
        for place, (value, varies) in enumerate(zip(results, mapped, strict=True))
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
    operands = [lane_of[value].operand for value in taken]
    params = {"size": outer.size, "order": DIVERGENT, "fallback": outer.fallback}
    return [Lane(value, True) for value in record_map(region, operands, **params)]


def push_into_divergent(outer: Pushing, op: Operation, lanes: Sequence[Lane]) -> list[Lane]:
    """Record a divergent map under another map: one over all pairs of examples, as one axis."""
    pairs = outer.size, op.params["size"]
    size = product(pairs)
    taken: list[tuple[Value, int | None]] = []
    for lane, axis in zip(lanes, op.params["in_dims"], strict=True):
        value = lane.value
        if axis is None and not lane.mapped:
            taken.append((value, None))
            continue
        if axis is None:  # the same for all inner examples
            _, *rest = shape_of(value)
            value = reshape(value, shape=(outer.size, 1, *rest))
            value = broadcast_to(value, shape=(*pairs, *rest))
        else:
            value = repeated(lane, outer.size)
        taken.append((reshape(value, shape=(size, *shape_of(value)[2:])), 0))
    results = record_map(op.regions[0], taken, **{**op.params, "size": size})
    return [Lane(reshape(x, shape=(*pairs, *shape_of(x)[1:])), True) for x in results]
