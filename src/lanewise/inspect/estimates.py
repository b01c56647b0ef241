"""How much a kernel computes: counted in its graph, not measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.codegen.work import TURNS
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, scan, while_
from lanewise.ops.elementwise import loop_dtypes
from lanewise.ops.regions import map_

#: Operations that only say where elements stand.
_MOVES = frozenset((
    "reshape", "transpose", "broadcast_to", "slice", "update_slice", "concatenate", "pad",
    "diagonal", "constant", "iota", "bitcast", "real", "imag", "complex", "gather", "scatter",
    "take_along_axis", "take_slice", "put_slice",
))  # fmt: skip

#: Linear algebra of an n x m matrix, as textbooks count it (G. Golub, C. Van Loan, Matrix
#: Computations, 4th ed.); for values of symmetric and singular problems, about six sweeps.
_LINALG: dict[str, Callable[[int, int], float]] = {
    "cholesky": lambda n, m: n**3 / 3,
    "inv": lambda n, m: 2 * n**3,
    "det": lambda n, m: 2 * n**3 / 3,
    "slogdet": lambda n, m: 2 * n**3 / 3,
    "qr": lambda n, m: 4 * n * m * min(n, m) - 4 * min(n, m) ** 3 / 3,
    "eigvalsh": lambda n, m: 24 * n**3,
    "svdvals": lambda n, m: 24 * max(n, m) * min(n, m) ** 2,
}
_SORTS = ("sort", "argsort", "partition", "argpartition")
#: Which operand is the table that is searched.
_TABLES = {"searchsorted": 0, "interp": 1}


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
    name = primitive.name
    if name in _MOVES or not op.results:
        return 0.0
    result, dtype = _size(op.results[0]), op.results[0].type.dtype
    if primitive.ufunc is not None:
        dtypes = tuple([value.type.dtype for value in op.operands])
        loop = loop_dtypes(primitive.ufunc, dtypes, params["dtype"])
        from lanewise.codegen.elementwise.ufuncs import cost

        return float(result * cost(primitive.ufunc, loop))
    if not op.operands:
        return 0.0
    first = op.operands[0]
    shape = first.type.shape
    both = 8 if dtype.kind == "c" else 2  # a multiplication and an addition
    if name == "dot_general":
        return float(both * result * math.prod([shape[axis] for axis, _ in params["contract"]]))
    if name == "correlate":
        return float(both * result * op.operands[1].type.shape[-1])
    if name == "solve":
        n, columns = shape[-1], op.operands[1].type.shape[-1]
        return both / 2 * math.prod(shape[:-2]) * (2 * n**3 / 3 + 2 * n * n * columns)
    if name in _LINALG:
        return both / 2 * math.prod(shape[:-2]) * _LINALG[name](*shape[-2:])
    if name in _SORTS:
        return _size(first) * 2 * math.log2(max(shape[params["axis"]], 2))
    if name in _TABLES:
        return result * 4 * math.log2(max(_size(op.operands[_TABLES[name]]), 2))
    fn: Any = params.get("fn")
    from lanewise.codegen.elementwise.ufuncs import cost

    each = cost(fn, (dtype,) * (fn.nin + fn.nout)) if isinstance(fn, np.ufunc) else 1
    return float(each * max(result, _size(first)))


def _size(value: Value) -> int:
    return math.prod(value.type.shape) if isinstance(value.type, ArrayType) else 0
