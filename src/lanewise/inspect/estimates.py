"""How much a kernel computes: counted in its graph, not measured."""

from __future__ import annotations

import math

from lanewise.codegen.work import TURNS
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, scan, while_
from lanewise.ops.regions import map_


def flops(graph: Graph) -> float:
    """Return about how many operations on numbers a graph is, for one example.

    An addition, a multiplication or a comparison is one, a division 8, a function as many as its
    code has (exp: 25). Of branches the longest counts; a loop that data end counts as 50 turns.

    Examples
    --------
    >>> from lanewise.ir.text import parse_graph
    >>> from lanewise.ops.registry import REGISTRY
    >>> flops(parse_graph("graph(%0: f64[4]) { %1 = exp(%0) return %1 }", REGISTRY))
    100.0
    """
    return sum([_operation(op) for op in graph.operations], 0.0)


def _operation(op: Operation) -> float:
    primitive, params = op.primitive, op.params
    regions = [flops(region) for region in op.regions]
    if primitive in BRANCHES:
        return max(regions)
    if primitive is while_:
        return TURNS * sum(regions)
    if primitive is scan:
        return params["length"] * sum(regions)
    if primitive is map_:
        return params["size"] * sum(regions)
    if not op.results or not op.operands:
        return 0.0
    each = primitive.flops
    if callable(each):
        return float(each(op))
    return float(each * max(_size(op.results[0]), _size(op.operands[0])))


def _size(value: Value) -> int:
    return math.prod(value.type.shape) if isinstance(value.type, ArrayType) else 0
