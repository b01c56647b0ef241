"""Parallel maps as sequential ones: what runs where a map cannot be lowered."""

from __future__ import annotations

from lanewise.ir.graph import Graph, Operation, Signature
from lanewise.ops.regions import NATIVE, PARALLEL, SEQUENTIAL, map_


def in_turn(graph: Graph) -> Graph:
    """Return a graph with its parallel maps run one example after the other.

    Raises
    ------
    NotImplementedError
        If host code takes whole batches, which it would not get then.
    """
    return Graph(graph.inputs, [_in_turn(op) for op in graph.operations], graph.outputs)


def _in_turn(op: Operation) -> Operation:
    if op.params.get("vectorized"):
        raise NotImplementedError("host code takes the whole batch")
    if not op.regions or op.params.get("order") == NATIVE:
        return op
    params, regions = op.params, tuple([in_turn(region) for region in op.regions])
    if op.primitive is map_ and params["order"] == PARALLEL and params["chunk"] is None:
        params = {**params, "order": SEQUENTIAL}
    known = op.signature
    signature = Signature(known.primitive, params, known.types, regions, False)
    return op.with_operands(op.operands, signature)
