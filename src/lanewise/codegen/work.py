"""How much work a graph is: what decides whether compiling it pays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lanewise.ir.dims import DimLike, most_of, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, scan, while_
from lanewise.ops.facts import Kind, ask, usual_size
from lanewise.ops.regions import map_
from lanewise.passes.specialize import has_own_sizes

#: Nanoseconds of a NumPy call, of one that gives a view, and of an operator on numbers.
CALL, VIEW, NUMBER = 700.0, 250.0, 100.0
#: ... and of a product of numbers that is summed with others.
PRODUCT = 0.04
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
        if has_own_sizes(op):  # one example after the other
            return count * max(examples, 1) * interpreting(op.regions[0], sizes)
        return interpreting(op.regions[0], sizes, examples * count)
    if primitive is scan:
        return _size(params["length"], sizes) * interpreting(op.regions[0], sizes, examples)
    if primitive is while_:
        return TURNS * sum([interpreting(region, sizes, examples) for region in op.regions])
    if primitive in BRANCHES:
        return CALL + sum([interpreting(region, sizes, examples) for region in op.regions])
    if primitive.kind in (Kind.SOURCE, Kind.VIEW):
        return VIEW
    if examples <= 1 and primitive.kind in (Kind.ELEMENTWISE, Kind.LOOKUP) and _is_number(op):
        return NUMBER
    elements = max([_count(value, sizes) for value in _moved(op)], default=0)
    if primitive.kind is Kind.CONTRACTION:
        products = ask(primitive.flops, op)
        return CALL + examples * max(PRODUCT * products, primitive.numpy_ns * elements)
    return CALL + primitive.numpy_ns * examples * elements


def _is_number(op: Operation) -> bool:
    """Whether an operation makes numbers of numbers, or reads one."""
    values = op.results if op.primitive.kind is Kind.LOOKUP else (*op.operands, *op.results)
    return not any([isinstance(v.type, ArrayType) and v.type.shape for v in values])


def _moved(op: Operation) -> Sequence[Value]:
    """Return the arrays of which NumPy goes through all elements: of large ones it reads places."""
    if op.primitive.kind is Kind.LOOKUP:
        return op.results
    if op.primitive.kind is Kind.UPDATE:  # mostly in place
        return op.operands[1:]
    return (*op.operands, *op.results)


def _count(value: Value, sizes: Mapping[str, int]) -> int:
    if not isinstance(value.type, ArrayType):
        return 0
    return math.prod([_size(d, sizes) for d in value.type.shape])


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
