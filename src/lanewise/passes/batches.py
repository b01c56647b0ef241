"""Maps of a batch: kept, with their loops as maps within, or run in chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanewise.ir.graph import Graph, Operation, Value, current_builder
from lanewise.ir.types import ArrayType
from lanewise.ops.control import scan
from lanewise.ops.regions import CHUNKED, NATIVE, PARALLEL, SEQUENTIAL, map_
from lanewise.passes.lanes import isolated, record_map
from lanewise.passes.rowwise import expected, is_large
from lanewise.passes.specialize import all_symbols_of, defined_sizes, unknown_sizes
from lanewise.passes.spread import FEWEST, spread
from lanewise.passes.survive import attempt


def spread_batches(
    graph: Graph, runs_in_lanes: Callable[[Graph, Sequence[int | None]], bool]
) -> Graph:
    """Return a graph for many examples, of which the loops are maps where that is better.

    It is where all loops of an example can be, and where a kernel then has turns in its lanes: they
    find their numbers side by side in memory, as examples do not. Of a region and its mapped axes
    `runs_in_lanes` says whether its kernel has an example in each lane.
    """
    if not may_spread(graph):
        return graph

    def spread_in(op: Operation) -> Operation:
        if not is_batch(op):
            return op
        region = attempt("spread", op.regions[0], spread, op.params["fastmath"], totals=False)
        is_spread = count_maps(region) > count_maps(op.regions[0])
        is_better = is_spread and not runs_in_lanes(region, op.params["in_dims"])
        return op.with_regions((region,)) if is_better else op

    return graph.changed(spread_in)


def in_chunks(graph: Graph, chunks: Sequence[int]) -> Graph:
    """Return a graph whose batches run so many examples at a time, each its own number."""
    sizes = dict(zip(batches(graph), chunks, strict=True))

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | None:
        return _chunked(op, values, sizes[op]) if op in sizes else None

    return graph.rewritten(rule)


def _chunked(op: Operation, values: dict[Value, Value], chunk: int) -> Sequence[Value] | None:
    """Record a map in chunks, and before it what does not vary from example to example.

    None if nothing varies.
    """
    (body,) = op.regions
    given = zip(body.inputs, op.operands, op.params["in_dims"], strict=True)
    lanes = {value: (values[operand], axis) for value, operand, axis in given}
    shared = {value: operand for value, (operand, axis) in lanes.items() if axis is None}
    uniform, first, left = set(shared), [], []
    own = defined_sizes(body)
    for inner in body.operations:
        is_uniform = uniform.issuperset(inner.operands) and own.isdisjoint(all_symbols_of(inner))
        uniform.update(inner.results if is_uniform else ())
        (first if is_uniform else left).append(inner)
    region, taken = isolated(left, body.outputs)
    if uniform.issuperset(taken):
        return None
    for inner in first:
        current_builder().copy(inner, shared)
    current_builder().location = op.place
    operands = [(shared[v], None) if v in shared else lanes[v] for v in taken]
    return record_map(region, operands, **{**op.params, "chunk": chunk})


# --- what there is in a graph ---------------------------------------------------------------------


def may_spread(graph: Graph) -> bool:
    """Whether a graph has a loop, or an array, that is long enough to be spread over lanes."""
    return any(
        (op.primitive is scan and expected(op.params["length"]) >= FEWEST) or is_large(op)
        for op in graph.walk()
    )


def batches(graph: Graph) -> list[Operation]:
    """Return the maps of a graph that may run in chunks, and give what they give as a whole."""
    return [
        op
        for op in graph.operations
        if is_batch(op) and not any(inner.primitive.sees_batch for inner in op.regions[0].walk())
    ]


def has_kernels(graph: Graph) -> bool:
    """Whether there is a native map in a graph, or one of which chunks have such maps."""
    return any(op.params.get("order") in (NATIVE, CHUNKED) for op in graph.walk())


def count_maps(graph: Graph) -> int:
    """Return how many maps there are in a graph, and in all its regions."""
    return sum([op.primitive is map_ for op in graph.walk()])


def is_in_turn(op: Operation) -> bool:
    """Whether an operation is a map that runs one example after the other, in any order."""
    return op.primitive is map_ and op.params["order"] == SEQUENTIAL and not op.has_effect


def is_batch(op: Operation) -> bool:
    """Whether an operation is a map whose examples may run one after the other instead."""
    return (
        op.primitive is map_
        and op.params["order"] == PARALLEL
        and op.params["chunk"] is None
        and not op.has_effect
        and not any(map(_is_arena, (*op.operands, *op.regions[0].outputs)))
        # Where data decide the size of an array, the order of things matters.
        and not unknown_sizes(op.regions[0])
    )


def _is_arena(value: Value) -> bool:
    """Whether a value is the memory of lists, which all examples share."""
    return isinstance(value.type, ArrayType) and value.type.dtype.kind == "O"
