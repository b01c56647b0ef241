"""Batches in parts: an interpreted map that runs some of its examples at a time.

What all examples share is computed once, before the first part.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.ir.graph import Graph, Operation, Value, current_builder
from lanewise.passes.batches import is_batch
from lanewise.passes.lanes import isolated, record_map
from lanewise.passes.specialize import all_symbols_of, defined_sizes


def batches(graph: Graph) -> list[Operation]:
    """Return the maps of a graph that may run in chunks."""
    return [op for op in graph.operations if is_batch(op)]


def in_chunks(graph: Graph, chunks: Sequence[int]) -> Graph:
    """Return a graph whose batches run so many examples at a time, each its own number."""
    sizes = iter(chunks)

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | None:
        return _chunked(op, values, next(sizes)) if is_batch(op) else None

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
    operands = [(shared[v], None) if v in shared else lanes[v] for v in taken]
    return record_map(region, operands, **{**op.params, "chunk": chunk})
