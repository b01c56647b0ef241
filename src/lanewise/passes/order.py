"""Operations with symbolic dimensions come after the one from which a size is learnt."""

from __future__ import annotations

from lanewise.ir.dims import symbols
from lanewise.ir.graph import Graph, Operation
from lanewise.passes.specialize import symbols_of, symbols_of_values


def order_by_sizes(graph: Graph) -> Graph:
    """Return the graph with operations behind what brings in the dimensions that they have.

    Of a stacked list only running it tells how long it is. Nothing but its place in the recorded
    order says that zeros of that length come later, and gathering kernels may move them.
    """
    known = symbols_of_values(graph.inputs)
    if all([symbols_of(op) <= known for op in graph.operations]):
        return graph
    makers: dict[str, Operation] = {}
    for op in graph.operations:
        # It has the size from its operands, not from a parameter.
        if op.primitive.is_definition:
            makers |= dict.fromkeys(symbols(op.params["size"]), op)
        elif not op.regions and "size" in op.params:
            for name in symbols_of_values(op.results) - symbols_of_values(op.operands) - known:
                makers.setdefault(name, op)
    done: dict[Operation, None] = {}

    # What is needed is placed first; without recursion, as chains are long.
    stack = list(reversed(graph.operations))
    while stack:
        assert len(stack) <= 2 * len(graph.operations) ** 2, "a size depends on arrays that have it"
        last = stack[-1]
        needed = [graph.makers[value] for value in last.operands if value in graph.makers]
        needed += [makers[name] for name in symbols_of(last) if name in makers]
        missing = [other for other in needed if other not in done and other is not last]
        if missing and last not in done:
            stack += missing
        else:
            done[stack.pop()] = None
    return Graph(graph.inputs, list(done), graph.outputs)
