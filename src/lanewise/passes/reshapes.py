"""Reshapes behind elementwise operations, rather than before them.

``z[mask] = f(z[mask])`` of a matrix goes through a mask of one dimension, and so does all that is
computed under it, up to where it is reshaped again. An elementwise operation on reshapes of arrays
of one shape is one on the arrays, reshaped. So what is made of a matrix for a matrix stays one, and
what belongs together has one shape.

Where the array is a view, as a transposed one is, its reshape is a copy, which the operation makes
itself if it goes through the view: whatever else it takes is reshaped to the view's shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from lanewise.ir.dims import Shape, product
from lanewise.ir.graph import Graph, Operation, Value, current_builder
from lanewise.ir.types import ArrayType
from lanewise.ops.facts import Kind
from lanewise.ops.movement import reshape
from lanewise.passes.edges import shaped
from lanewise.passes.simplify import eliminate_dead


def reshape_late(graph: Graph) -> Graph:
    """Return the graph with elementwise operations on what is reshaped before it is."""
    moved = _moved(graph)
    #: By what a reshape gives, the array that it is of.
    origins: dict[Value, Value] = {}

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | Operation:
        operands = [values[value] for value in op.operands]
        if op.primitive is reshape:
            source = origins.get(operands[0], operands[0])
            result = shaped(source, op.params["shape"])
            if result is not source:
                origins[result] = source
            return [result]
        if op not in moved:
            return op.map_regions(reshape_late)
        shape = op.results[0].type.shape
        for x in operands:
            source = origins.get(x)
            if x.type.shape == shape and (source is None or source.type.shape != moved[op]):
                origins[x] = shaped(x, moved[op])
        sources = [origins[x] if x.type.shape == shape else x for x in operands]
        (found,) = current_builder().emit(op.primitive, tuple(sources), op.params)
        result = shaped(found, shape)
        origins[result] = found
        return [result]

    found = graph.rewritten(rule)
    return eliminate_dead(found) if moved else found


def _moved(graph: Graph) -> dict[Operation, Shape]:
    """Return the operations that are to be of another shape, and that.

    None but reshapes and others of them take what they give, if these are late. Only what is
    computed with views is returned too.
    """
    users: dict[Value, list[Operation]] = {}
    for op in graph.operations:
        for value in op.operands:
            users.setdefault(value, []).append(op)
    outputs, stays = set(graph.outputs), set[Value]()
    while True:
        #: By value that is a reshape of an array, or will be one, that array's shape.
        shapes: dict[Value, Shape] = {}
        #: Views, and of the others those that are reshapes of views, or computed with one.
        views: set[Value] = set()
        moved: dict[Operation, Shape] = {}
        for op in graph.operations:
            if op.primitive is reshape:
                shapes[op.results[0]] = shapes.get(op.operands[0], op.operands[0].type.shape)
                views.update(op.results if op.operands[0] in views else ())
            elif op.primitive.kind is Kind.VIEW:
                views.update(op.results)
            elif shape := _source_shape(op, shapes, views):
                of_views = not views.isdisjoint(op.operands)
                if stays.isdisjoint(op.results) and (of_views or outputs.isdisjoint(op.results)):
                    moved[op] = shapes[op.results[0]] = shape
                    views.update(op.results if of_views else ())
        found = [
            op.results[0]
            for op in moved
            for user in users.get(op.results[0], ())
            if user.primitive is not reshape and user not in moved
        ]
        if not found:
            return moved
        stays.update(found)


def _source_shape(op: Operation, shapes: Mapping[Value, Shape], views: Set[Value]) -> Shape | None:
    """Return the shape of the arrays that an operation's operands are reshapes of, if it is one.

    Beside views, others may have the operation's own shape.
    """
    if op.primitive.kind is not Kind.ELEMENTWISE or op.must_run or op.regions:
        return None
    if len(op.results) != 1 or not isinstance(op.results[0].type, ArrayType):
        return None
    shape = op.results[0].type.shape
    whole = [value for value in op.operands if value.type.shape == shape]
    numbers = [value.type for value in op.operands if value.type.shape != shape]
    of_views = [value for value in whole if value in views]
    found = {shapes.get(value) for value in of_views or whole}
    wanted = found.pop() if len(found) == 1 else None
    if wanted is None or wanted == shape:
        return None
    if any([product(x.shape) != 1 or x.ndim > len(wanted) for x in numbers]):
        return None
    return wanted
