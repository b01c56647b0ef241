"""After a failure: which example, and which line of the user's, raised the error.

An operation on a whole batch raises for the batch. The first example that fails is found by running
halves of the batch again, which costs about one more run, and only after a failure. Graphs with
host code are not run again, since the host would see it: there the loop over the examples tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.errors import annotate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.regions import map_
from lanewise.passes.pipeline import lower
from lanewise.runtime.interpret import Plan, chunked_graph, told


def explain_failure(error: Exception, graph: Graph, arguments: Sequence[Any]) -> None:
    """Put the number of the first failing example and the user's line into the error's message."""
    if graph.has_effects or isinstance(error, MemoryError):
        return
    example, op = _locate(type(error), graph, list(arguments))
    if op is None:
        return
    annotate(error, told(example, op))


def _locate(
    kind: type[Exception], graph: Graph, arguments: list[Any]
) -> tuple[tuple[int, ...], Operation | None]:
    """Return the first example for which a graph fails, and the operation that does."""
    values: dict[Value, Any] = dict(zip(graph.inputs, arguments, strict=True))
    for op in graph.operations:
        operands = [values[value] for value in op.operands]
        single = Graph(list(dict.fromkeys(op.operands)), [op], op.results)
        try:
            outputs = Plan(lower(single))(*dict(zip(op.operands, operands, strict=True)).values())
        except kind:
            if op.primitive is not map_:
                return (), op
            return _locate_in_map(kind, op, operands)
        values.update(zip(op.results, outputs, strict=True))
    return (), None


def _locate_in_map(
    kind: type[Exception], op: Operation, operands: list[Any]
) -> tuple[tuple[int, ...], Operation | None]:
    """Return the first example of a map that fails, by bisection, and the operation in it."""
    (body,) = op.regions
    in_dims = op.params["in_dims"]
    mapped = list(zip(operands, in_dims, strict=True))
    sizes = [np.shape(x)[axis] for x, axis in mapped if axis is not None]
    if not sizes:  # no example differs from another: the first fails as all do
        inner, failing = _locate(kind, body, operands)
        return (0, *inner), failing
    plan = Plan(lower(chunked_graph(op)))

    def fails(low: int, high: int) -> bool:
        parts = [
            x if axis is None else x[(*(slice(None),) * axis, slice(low, high))]
            for x, axis in mapped
        ]
        try:
            plan(*parts)
        except kind:
            return True
        return False

    low, high = 0, sizes[0]
    while high - low > 1:
        middle = (low + high) // 2
        if fails(low, middle):
            high = middle
        else:
            low = middle
    if not high or not fails(low, high):
        return (), None  # it is the batch as a whole that fails
    example = [x if axis is None else np.take(x, low, axis) for x, axis in mapped]
    inner, failing = _locate(kind, body, example)
    return (low, *inner), failing
