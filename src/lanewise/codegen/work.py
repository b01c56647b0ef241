"""How much work a graph is: what decides whether compiling it pays."""

from __future__ import annotations

import math
from collections.abc import Mapping

from lanewise.ir.dims import DimLike, evaluate, symbols
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, scan, while_
from lanewise.ops.regions import map_

#: Nanoseconds of a NumPy call, and of an element that it computes or reads.
CALL, ELEMENT = 1500.0, 1.0
#: The same for operations of which an element takes at least four times as long, by their names in
#: a graph. Measured on batches: of matrices from 3 × 3 to 32 × 32 (LAPACK takes about the same for
#: an element of any of them), else of rows of 16.
SLOW = {
    "cholesky": 5.0, "det": 6.0, "slogdet": 6.0, "solve": 8.0, "inv": 20.0, "qr": 25.0,
    "eigvalsh": 40.0, "svdvals": 70.0, "eigh": 75.0, "eigvals": 85.0, "svd": 130.0,
    "eig": 150.0, "lstsq": 200.0, "pinv": 200.0,
    "argsort": 4.0, "correlate": 5.0, "searchsorted": 6.0,
    "floor_divide": 9.0, "remainder": 9.0, "fmod": 5.0, "divmod": 12.0,
    "sin": 6.0, "cos": 6.0, "tan": 7.0, "arcsin": 7.0, "arccos": 7.0, "arctan": 6.0,
    "sinh": 6.0, "cosh": 6.0, "arcsinh": 7.0, "arccosh": 7.0, "arctanh": 7.0,
    "exp2": 6.0, "expm1": 6.0, "log10": 6.0, "log1p": 6.0, "cbrt": 6.0, "hypot": 4.0,
    "ufunc.gammaln": 10.0, "random_draw": 150.0,
}  # fmt: skip
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
    return CALL + SLOW.get(primitive.name, ELEMENT) * examples * elements


def _size(dim: DimLike, sizes: Mapping[str, int]) -> int:
    """Return the size of a dimension, or a guess where data decide it."""
    return evaluate(dim, sizes) if sizes.keys() >= set(symbols(dim)) else TURNS


def compiling(graph: Graph) -> float:
    """Return the nanoseconds that compiling a graph is estimated to take."""
    return COMPILING + OPERATION * count_operations(graph)


def count_operations(graph: Graph) -> int:
    """Return how many operations there are, in all regions."""
    return sum(
        [1 + sum([count_operations(region) for region in op.regions]) for op in graph.operations]
    )
