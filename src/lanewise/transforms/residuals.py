"""What a loop keeps of each turn for its derivative: little, as the rest is computed again.

A rule of differentiation names what it reads, and often several values that follow from one another
by a few additions and products. Kept, each is written and read in every turn, by loops that soon
wait for memory and for nothing else; computed again, it is a few instructions on registers. It has
the same bits, as the same operations make it from the same numbers.

Where a gradient is one graph without loops there is nothing to choose: what both parts compute is
merged.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Set
from dataclasses import replace
from typing import Any

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import bounds, symbols
from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ops.creation import number
from lanewise.ops.movement import pad, slice_
from lanewise.passes.prune import substituted
from lanewise.passes.specialize import defined_sizes
from lanewise.transforms.linearize import Linearized

#: The most that is done for a value rather than keep it.
MOST = 12


def recomputed(lin: Linearized, is_free: Callable[[int], bool]) -> Linearized:
    """Return a linearized region whose linear part computes again what is cheap.

    Parameters
    ----------
    lin
        The region.
    is_free
        Whether an input of it, by its number, costs nothing as a residual: it is there anyway.
    """
    primal, count = lin.primal, len(lin.sources)
    handed = iter(primal.outputs[len(primal.outputs) - lin.sources.count(None) :])
    residuals = [next(handed) if s is None else primal.inputs[s] for s in lin.sources]
    made = {value: op for op in primal.operations for value in op.results}
    order = {value: n for n, value in enumerate((*primal.inputs, *made))}
    there = {value for n, value in enumerate(primal.inputs) if is_free(n)}
    there.update(value for value in residuals if value not in made)
    kept = {value for value in residuals if value in made}
    # The last ones first: what they need may be needed by others, and go later.
    for value in sorted(kept, key=order.__getitem__, reverse=True):
        steps = _steps(value, made, there | (kept - {value}))
        if steps is not None and sum(op.primitive.recompute for op in steps) <= MOST:
            kept.remove(value)
    results = primal.outputs[: len(primal.outputs) - lin.sources.count(None)]
    wanted = set(results)
    for op in reversed(primal.operations):
        if not wanted.isdisjoint(op.results):
            wanted.update(op.operands)
    for value in sorted(kept, key=order.__getitem__):
        near = _instead(value, made, there | (kept - {value}), wanted)
        if near is not value:
            kept.remove(value)
            (kept if near in made else there).add(near)
    again: dict[Operation, None] = {}
    for value in sorted(made.keys() & set(residuals) - kept, key=order.__getitem__):
        steps = _steps(value, made, there | kept)
        if steps is None:  # too many, as what is near was dropped after it
            kept.add(value)
        else:
            again.update(dict.fromkeys(steps))
    if not again:
        return lin
    places = {value: n for n, value in enumerate(primal.inputs)}
    read = {value for op in again for value in op.operands} | set(residuals)
    needed = [v for v in sorted(read, key=order.__getitem__) if v in places or v in kept]
    saved = [value for value in needed if value in kept]
    linear = substituted(
        Graph([*needed, *lin.linear.inputs[count:]], lin.linear.operations, lin.linear.outputs),
        {
            old: new
            for old, new in zip(lin.linear.inputs[:count], residuals, strict=True)
            if old is not new
        },
    )
    steps = sorted(again, key=lambda op: order[op.results[0]])
    return replace(
        lin,
        primal=Graph(primal.inputs, primal.operations, [*results, *saved]),
        linear=Graph(linear.inputs, [*steps, *linear.operations], linear.outputs),
        sources=tuple([places.get(value) for value in needed]),
    )


def in_room(lin: Linearized, place: Any) -> Linearized:
    """Return a linearized region of a loop that hands out arrays of one size in all turns.

    Those whose size the region defines are padded, to the largest that there is.
    """
    names = defined_sizes(lin.primal)
    if not names:
        return lin
    first = len(lin.primal.outputs) - lin.sources.count(None)
    builder = Builder()
    values = {value: builder.input(value.type) for value in lin.primal.inputs}
    with building(builder):
        for op in lin.primal.operations:
            builder.copy(op, values)
        outputs = [values[value] for value in lin.primal.outputs]
        outputs[first:] = [_padded(value, names, place) for value in outputs[first:]]
    primal = builder.finish(outputs)
    handed = iter(primal.outputs[first:])
    builder = Builder()
    values, taken = {}, []
    tangents = len(lin.linear.inputs) - len(lin.sources)
    for value, source in zip(lin.linear.inputs, (*lin.sources, *[0] * tangents), strict=True):
        own = next(handed).type if source is None else value.type
        values[value] = builder.input(own)
        if own is not value.type:
            taken.append(value)
    early = _for_definitions(lin.linear)
    with building(builder):
        for op in early:
            builder.copy(op, values)
        for value in taken:
            index = tuple([(0, size, 1) for size in value.type.shape])
            values[value] = slice_(values[value], index=index)
        for op in lin.linear.operations:
            if op not in early:
                builder.copy(op, values)
    linear = builder.finish([values[value] for value in lin.linear.outputs])
    return replace(lin, primal=primal, linear=linear)


def _padded(value: Value, names: Set[str], place: Any) -> Value:
    """Record a value padded where its size depends on some symbols."""
    shape = value.type.shape
    most = [size if names.isdisjoint(symbols(size)) else bounds(size)[1] for size in shape]
    if None in most:
        raise UnsupportedError(
            f"the derivative of a loop{at(place)} needs arrays of each iteration, of sizes that "
            "grow or shrink and are not bounded by known ones. Give the arguments known sizes"
        )
    widths = tuple([(0, full - size) for full, size in zip(most, shape, strict=True)])
    if not any([after != 0 for _, after in widths]):
        return value
    return pad(value, number(0, value.type.dtype), widths=widths)


def _for_definitions(graph: Graph) -> dict[Operation, None]:
    """Return the operations of a graph that say what sizes are, and what these need, in order."""
    needed: set[Value] = set()
    found: list[Operation] = []
    for op in reversed(graph.operations):
        if op.primitive.is_definition or not needed.isdisjoint(op.results):
            needed.update(op.operands)
            found.append(op)
    return dict.fromkeys(reversed(found))


def _instead(
    value: Value, made: dict[Value, Operation], there: Container[Value], wanted: Container[Value]
) -> Value:
    """Return what to keep in the place of a value: what the results are made of, if that will do.

    Then the loop that computes has nothing to do for the derivative alone.
    """
    near = value
    while near not in wanted:
        op = made.get(near)
        if op is None or op.primitive.recompute is None:
            return value
        missing = [v for v in dict.fromkeys(op.operands) if _steps(v, made, there) is None]
        if len(missing) != 1 or missing[0].type != value.type:
            return value
        (near,) = missing
    return near


def _steps(
    value: Value, made: dict[Value, Operation], there: Container[Value]
) -> list[Operation] | None:
    """Return the operations that make a value of what is there, None if one of them is not cheap.

    They are in no order.
    """
    found: dict[Operation, None] = {}
    left = [value]
    while left:
        one = left.pop()
        if one in there:
            continue
        op = made.get(one)
        if op is None or op.primitive.recompute is None or len(found) > 4 * MOST:
            return None
        if op not in found:
            found[op] = None
            left += op.operands
    return list(found)
