"""Reshapes behind elementwise operations, rather than before them.

``z[mask] = f(z[mask])`` of a matrix goes through a mask of one dimension, and so does all that is
computed under it. An elementwise operation on reshapes of arrays of one shape is one on the arrays,
reshaped. So what is made of a matrix stays a matrix, and what belongs together has one shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.ir.dims import Shape, product
from lanewise.ir.graph import Graph, Operation, Value, current_builder
from lanewise.ir.types import ArrayType
from lanewise.ops.facts import Kind
from lanewise.ops.movement import reshape
from lanewise.passes.simplify import eliminate_dead


def reshape_late(graph: Graph) -> Graph:
    """Return the graph with elementwise operations on what is reshaped before it is."""
    #: By what a reshape gives, the array that it is of.
    origins: dict[Value, Value] = {}
    has_moved = False

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | Operation:
        nonlocal has_moved
        operands = [values[value] for value in op.operands]
        if op.primitive is reshape:
            source = origins.get(operands[0], operands[0])
            result = _shaped(source, op.params["shape"])
            if result is not source:
                origins[result] = source
            return [result]
        sources = _sources(op, operands, origins)
        if sources is None:
            return op.map_regions(reshape_late)
        has_moved = True
        (found,) = current_builder().emit(op.primitive, tuple(sources), op.params)
        result = _shaped(found, op.results[0].type.shape)
        origins[result] = found
        return [result]

    found = graph.rewritten(rule)
    return eliminate_dead(found) if has_moved else found


def _sources(
    op: Operation, operands: Sequence[Value], origins: dict[Value, Value]
) -> list[Value] | None:
    """Return what to compute an operation of instead; None if it stays as it is."""
    if op.primitive.kind is not Kind.ELEMENTWISE or op.must_run or op.regions:
        return None
    if len(op.results) != 1 or not isinstance(op.results[0].type, ArrayType):
        return None
    shape = op.results[0].type.shape
    arrays = [value for value in operands if value.type.shape == shape]
    if not arrays or any([value not in origins for value in arrays]):
        return None
    wanted = origins[arrays[0]].type.shape
    numbers = [value for value in operands if value.type.shape != shape]
    if any([origins[value].type.shape != wanted for value in arrays]) or any(
        [product(x.type.shape) != 1 or x.type.ndim > len(wanted) for x in numbers]
    ):
        return None
    return [origins[value] if value.type.shape == shape else value for value in operands]


def _shaped(value: Value, shape: Shape) -> Value:
    return value if value.type.shape == shape else reshape(value, shape=shape)
