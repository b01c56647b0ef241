"""How many bytes the values of a graph take at one time."""

from __future__ import annotations

from collections.abc import Callable

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES
from lanewise.ops.creation import constant
from lanewise.ops.facts import Kind, usual_size
from lanewise.ops.regions import NATIVE, SEQUENTIAL, map_
from lanewise.passes.pipeline import lower
from lanewise.runtime.interpret import chunked_graph
from lanewise.runtime.memory import Memory, analyze
from lanewise.runtime.pool import get_threads


def peak(
    graph: Graph,
    sizes: dict[str, int],
    scratch: Callable[[Operation], int],
    memory: Memory | None = None,
) -> int:
    """Return the most bytes that values of a lowered graph take at one time, its inputs aside.

    A value takes memory from the operation that gives it to the last that reads it, or a view of
    it; where a plan writes in place there is no new one. Within an operation with regions there is
    what its regions take: of control flow the largest, as if all examples went that way.
    """
    memory = memory or analyze(graph)
    base: dict[Value, Value] = {}
    last: dict[Value, int] = {}
    for position, op in enumerate(graph.operations):
        if op.primitive.kind is Kind.VIEW or op in memory.in_place:
            base[op.results[0]] = base.get(op.operands[0], op.operands[0])
        for value in op.operands:
            last[base.get(value, value)] = position
    for value in graph.outputs:
        last[base.get(value, value)] = len(graph.operations)
    ends: dict[int, list[Value]] = {}
    live = most = 0
    for position, op in enumerate(graph.operations):
        if op.primitive is not constant:
            made = [value for value in op.results if value not in base]
            live += sum([size_in_bytes(value, sizes) for value in made])
            most = max(most, live + _inside(op, sizes, scratch, memory))
            for value in made:
                ends.setdefault(last.get(value, position), []).append(value)
        live -= sum([size_in_bytes(value, sizes) for value in ends.pop(position, ())])
    return most


def _inside(
    op: Operation, sizes: dict[str, int], scratch: Callable[[Operation], int], memory: Memory
) -> int:
    """Return what an operation takes beside its results while it runs."""
    if not op.regions:
        return 0

    def within() -> int:
        known = memory.regions.get(op) or (None,) * len(op.regions)
        pairs = zip(op.regions, known, strict=True)
        return max([peak(region, sizes, scratch, inner) for region, inner in pairs])

    if op.primitive is map_:
        order, size = op.params["order"], usual_size(op.params["size"], sizes)
        if order == NATIVE:
            return scratch(op) * get_threads()
        if op.params["chunk"] is not None:
            part, inner = chunk_of(op, sizes)
            return peak(lower(part), inner, scratch)
        return within() if order == SEQUENTIAL else within() * size
    inside = within()
    if op.primitive in BRANCHES:  # what a branch gives are the results
        inside -= sum([size_in_bytes(value, sizes) for value in op.results])
    return max(inside, 0)


def size_in_bytes(value: Value, sizes: dict[str, int]) -> int:
    """Return the bytes of a value, as far as sizes are known."""
    return usual_size(value.type.nbytes, sizes) if isinstance(value.type, ArrayType) else 0


def chunk_of(op: Operation, sizes: dict[str, int]) -> tuple[Graph, dict[str, int]]:
    """Return the graph of one chunk of a map in chunks, not lowered, and the sizes in it."""
    part = chunked_graph(op)
    number = min(op.params["chunk"], usual_size(op.params["size"], sizes))
    return part, {**sizes, str(part.operations[-1].params["size"]): number}
