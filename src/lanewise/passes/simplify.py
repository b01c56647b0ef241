"""Remove what nobody needs: repeated operations, and those whose results are not used."""

from __future__ import annotations

from collections.abc import Hashable

from lanewise.ir.graph import Graph, Operation, Value


def merge_repeated(graph: Graph) -> Graph:
    """Return the graph with operations that compute the same from the same merged into the first.

    Functions written for one example repeat themselves freely (``x - x.mean()``, twice); equal
    operations have equal signatures, so finding them is a look-up.
    """
    first: dict[Value, Value] = {}
    known: dict[Hashable, tuple[Value, ...]] = {}
    kept: list[Operation] = []
    for op in graph.operations:
        operands = tuple([first.get(value, value) for value in op.operands])
        key = (op.signature.key, operands)
        if not op.has_effect and key in known:
            first.update(zip(op.results, known[key], strict=True))
            continue
        known[key] = op.results
        kept.append(op if operands == op.operands else op.with_operands(operands))
    return Graph(graph.inputs, kept, [first.get(value, value) for value in graph.outputs])


def eliminate_dead(graph: Graph) -> Graph:
    """Return the graph without operations that no output and no effect depends on."""
    needed: set[Value] = set(graph.outputs)
    kept: list[Operation] = []
    for op in reversed(graph.operations):
        if op.has_effect or not needed.isdisjoint(op.results):
            kept.append(op)
            needed.update(op.operands)
    return Graph(graph.inputs, kept[::-1], graph.outputs)
