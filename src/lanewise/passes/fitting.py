"""Whether a graph that was recorded for any size is what its operations mean at certain sizes.

The types of a graph with symbols are inferred from what can be proved. NumPy finds out when it runs
what cannot: that two sizes differ, that a slice ends beyond its axis, that there is nothing to take
the greatest of. Kernels do not ask, so the operations are asked again, for the sizes at hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from lanewise.ir.dims import Dim, evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.types import Type, has_dim
from lanewise.ops.control import scan
from lanewise.passes.specialize import replaced


def fits(graph: Graph, sizes: Mapping[str, int]) -> bool:
    """Return whether all operations, also those in regions, are defined for sizes of the symbols.

    A symbolic axis of one element that NumPy repeats does not fit: a kernel would read beyond it.

    Examples
    --------
    >>> import numpy as np
    >>> from lanewise.ir.graph import Builder, building
    >>> from lanewise.ir.types import array_type
    >>> from lanewise.ops.elementwise import elementwise
    >>> builder = Builder()
    >>> x, y = (builder.input(array_type(np.dtype(float), (Dim.symbol(s),))) for s in "nm")
    >>> with building(builder):
    ...     graph = builder.finish([elementwise(np.add)(x, y)])
    >>> fits(graph, {"n": 4, "m": 4}), fits(graph, {"n": 4, "m": 5}), fits(graph, {"n": 4, "m": 1})
    (True, False, False)
    """
    try:
        return _fits(graph, sizes)
    except (ValueError, IndexError):  # what NumPy would raise
        return False


def _fits(graph: Graph, sizes: Mapping[str, int]) -> bool:
    return all([_is_defined(op, sizes) for op in graph.operations])


def _is_defined(op: Operation, sizes: Mapping[str, int]) -> bool:
    if op.regions:
        if op.primitive is scan and evaluate(op.params["length"], sizes) < 0:
            return False
        return all([_fits(region, sizes) for region in op.regions])
    types = [value.type for value in (*op.operands, *op.results)]
    if not has_dim((*types, *op.params.values())):
        return True
    if op.primitive.repeats and _is_repeated(op, sizes):
        return False
    given: list[Type] = [replaced(value.type, sizes) for value in op.operands]
    wanted = tuple([replaced(value.type, sizes) for value in op.results])
    return op.primitive.infer(given, replaced(op.params, sizes)) == wanted


def _is_repeated(op: Operation, sizes: Mapping[str, int]) -> bool:
    """Whether a symbolic axis of an operand has one element, and its results more."""
    shapes = [replaced(value.type, sizes).shape for value in op.results]
    for value in op.operands[op.primitive.indices or 0 :]:
        dims = value.type.shape
        for axis in range(-len(dims), 0):
            is_one = isinstance(dims[axis], Dim) and evaluate(dims[axis], sizes) == 1
            if is_one and not all([len(s) >= -axis and s[axis] == 1 for s in shapes]):
                return True
    return False
