"""Kernels that write their rows to where they belong.

What a stencil gives is mostly the inside of an array. NumPy would be given the rows of the inside,
and copy them into a copy of the array. Instead the kernel is handed a new array in which the rows
outside of it stand already, and writes to the others.
"""

from __future__ import annotations

from collections import Counter

from lanewise.ir.graph import Graph, Operation
from lanewise.ops.movement import update_slice
from lanewise.ops.regions import NATIVE


def filled_by(graph: Graph) -> dict[Operation, Operation]:
    """Return kernels whose rows all go to most rows of an array, and what writes them there.

    They may write to a new array that has the others already: nothing is written twice.
    """
    read = [value for op in graph.operations for value in op.operands]
    count = Counter([*read, *graph.outputs, *graph.outputs])
    places = {op: place for place, op in enumerate(graph.operations)}
    makers = {value: op for op in graph.operations for value in op.results}
    found: dict[Operation, Operation] = {}
    for op in graph.operations:
        if op.primitive is not update_slice or op.params["index"][:1] in ((), (None,)):
            continue
        (first, last, step), *rest = op.params["index"]
        before, maker = [makers.get(value) for value in op.operands[:2]]
        if (
            maker is not None
            and maker.params.get("order") == NATIVE
            and len(maker.results) == 1
            and not any(maker.params.get("columns", ()))
            and op.operands[1].type.dtype == op.results[0].type.dtype
            and count[op.operands[1]] == 1
            and maker.params["size"] == last - first
            and step == 1
            and not any(rest)
            and all([isinstance(n, int) for n in (first, last, *op.results[0].type.shape)])
            and 4 * (last - first) >= 3 * op.results[0].type.shape[0]
            and (before is None or places[before] < places[maker])
        ):
            found[maker] = op
    return found
