"""Put regions in the place of operations that only transforms or maps look at as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanewise.errors import UnsupportedError, at
from lanewise.ir.graph import Graph, Operation, Value, current_builder
from lanewise.ops.custom import INLINED, LEFT
from lanewise.ops.regions import DIVERGENT, map_


def inline(graph: Graph) -> Graph:
    """Return the graph without functions that have a derivative of their own, but what they do.

    Raises
    ------
    UnsupportedError
        If a derivative is known only backward (``lw.custom_gradient``) and is used forward.
    """
    return _inlined(graph, INLINED)


def inline_left(graph: Graph) -> Graph:
    """Return the graph without functions that have a batching rule of their own.

    They are left where nothing is mapped. The regions of divergent maps are yet to be batched.
    """
    return _inlined(graph, LEFT)


def _inlined(graph: Graph, numbers: Mapping[Any, int]) -> Graph:
    """Return the graph with one region, by number, in the place of certain operations."""
    if not any(op.primitive in numbers for op in graph.walk()):
        return graph

    def rule(op: Operation, values: dict[Value, Value]) -> list[Value] | Operation:
        number = numbers.get(op.primitive)
        if number is None:
            is_left = numbers is LEFT and op.primitive is map_ and op.params["order"] == DIVERGENT
            return op if is_left else op.map_regions(lambda region: _inlined(region, numbers))
        if number >= len(op.regions):
            raise UnsupportedError(
                f"a derivative is taken forward of a function{at(op.place)} whose "
                "lw.custom_gradient is not linear in the gradient it is given. Use reverse "
                "mode, or lw.custom_jvp"
            )
        region = _inlined(op.regions[number], numbers)
        return current_builder().inline(region, [values[value] for value in op.operands])

    return graph.rewritten(rule)
