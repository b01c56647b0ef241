"""How much work a graph is: what decides whether compiling it pays."""

from __future__ import annotations

import math
from collections.abc import Mapping

from lanewise.ir.dims import DimLike, most_of, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, scan, while_
from lanewise.ops.facts import usual_size
from lanewise.ops.regions import map_

#: Nanoseconds of a NumPy call.
CALL = 1500.0
#: Nanoseconds that compiling takes, for any graph and for each operation of it.
COMPILING, OPERATION = 10e6, 0.15e6
#: Turns that a loop is taken to make where data decide.
TURNS = 50


def interpreting(graph: Graph, sizes: Mapping[str, int], examples: int = 1) -> float:
    """Return the nanoseconds that NumPy is estimated to take for a graph, for so many examples."""
    return sum([_operation(op, sizes, examples) for op in graph.operations])


def _operation(op: Operation, sizes: Mapping[str, int], examples: int) -> float:
    primitive, params = op.primitive, op.params
    if primitive is map_:
        count = _size(params["size"], sizes)
        return interpreting(op.regions[0], sizes, examples * count)
    if primitive is scan:
        return _size(params["length"], sizes) * interpreting(op.regions[0], sizes, examples)
    if primitive is while_:
        return TURNS * sum([interpreting(region, sizes, examples) for region in op.regions])
    if primitive in BRANCHES:
        return CALL + sum([interpreting(region, sizes, examples) for region in op.regions])
    elements = 0
    for value in (*op.operands, *op.results):
        if isinstance(value.type, ArrayType):
            size = math.prod([_size(d, sizes) for d in value.type.shape])
            elements = max(elements, size)
    return CALL + primitive.numpy_ns * examples * elements


def _size(dim: DimLike, sizes: Mapping[str, int]) -> int:
    """Return the size of a dimension, or a guess where data decide it."""
    if sizes.keys() >= set(symbols(dim)):
        return evaluate(dim, sizes)
    return usual_size(dim) if all(map(most_of, symbols(dim))) else TURNS


def compiling(graph: Graph) -> float:
    """Return the nanoseconds that compiling a graph is estimated to take."""
    return COMPILING + OPERATION * count_operations(graph)


def count_operations(graph: Graph) -> int:
    """Return how many operations there are, in all regions."""
    return sum(
        [1 + sum([count_operations(region) for region in op.regions]) for op in graph.operations]
    )
