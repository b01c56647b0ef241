"""What the results of a map may be: where the batch goes, and what is one for all examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lanewise.errors import at, function_name
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.passes.simplify import eliminate_dead
from lanewise.trace import tree
from lanewise.trace.replay import replayed
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import Trace, current_trace, state, where
from lanewise.trace.variable import Assigned, Variable


def check_out_dims(func: Any, result: Any, outputs: list[Value], dims: list[int | None]) -> None:
    """Raise for a result in which the batch cannot go where ``out_dims`` wants it."""
    for index, (dim, value) in enumerate(zip(dims, outputs, strict=True)):
        if dim and not -len(value.type.shape) - 1 <= dim <= len(value.type.shape):
            raise ValueError(
                f"vmap({function_name(func)}): out_dims is {dim} for "
                f"{tree.paths(result, 'the result')[index]}, which has {len(value.type.shape) + 1} "
                f"dimensions with the batch{where()}"
            )


def last_of(outputs: list[Value], dims: list[int | None]) -> tuple[bool, ...]:
    """Return which results have the batch last: they are best made so, examples side by side.

    Empty if there are none.
    """
    ranks = [len(value.type.shape) for value in outputs]
    found = [rank > 0 and dim in (-1, rank) for rank, dim in zip(ranks, dims, strict=True)]
    return tuple(found) if any(found) else ()


def refuse_varying(
    func: Callable[..., Any],
    trace: Trace,
    in_dims: Sequence[int | None],
    result: Any,
    outputs: list[Value],
    dims: list[int | None],
) -> None:
    """Raise for a result without batch (``out_dims`` None) that depends on the example."""
    makers = _varying(trace, trace.operations, in_dims)
    for index, (value, dim) in enumerate(zip(outputs, dims, strict=True)):
        if dim is None and value in makers:
            raise ValueError(
                f"vmap({function_name(func)}): {tree.paths(result, 'the result')[index]} differs "
                f"from example to example{at(makers[value]) or where()}, so its "
                "out_dims cannot be None"
            )


def _varying(
    trace: Trace, operations: Sequence[Operation], in_dims: Sequence[int | None]
) -> dict[Value, Any]:
    """Return the values that may differ from example to example, each with where it was made."""
    makers: dict[Value, Any] = {
        value: None for value, axis in zip(trace.inputs, in_dims, strict=False) if axis is not None
    }
    if trace.number is not None:
        makers[trace.number] = None
    for op in operations:
        if op.has_effect or not makers.keys().isdisjoint(op.operands):
            makers.update(dict.fromkeys(op.results, op.place))
    return makers


def uniform(
    func: Callable[..., Any],
    trace: Trace,
    in_dims: Sequence[int | None],
    assigned: Sequence[Assigned],
) -> list[tuple[Variable, Any]]:
    """Return what a mapped function assigns to variables, computed outside of the map.

    Raises
    ------
    ValueError
        If it differs from example to example.
    """
    # Of a loop that computes what varies too, no more than what the assigned values need.
    graph = Graph(trace.inputs, trace.operations, [value for _, value, _ in assigned])
    graph = eliminate_dead(graph)
    makers = _varying(trace, graph.operations, in_dims)
    for (variable, _, line), value in zip(assigned, graph.outputs, strict=True):
        if value in makers:
            raise ValueError(
                f"vmap({function_name(func)}): the variable {variable.name!r} is assigned what "
                f"differs from example to example{at(line)}, and it has one "
                "value for all. Return the values, and assign what is made of them, as their mean"
            )
    into = current_trace() or state.ambient()
    values = replayed(graph, trace, into)
    return [(a.variable, Tensor(into, x)) for a, x in zip(assigned, values, strict=True)]


def assign(assignments: Sequence[tuple[Variable, Any]]) -> None:
    """Make arrays, or tensors of the trace that is recorded now, the values of variables."""
    for variable, x in assignments:
        variable.become(x)
