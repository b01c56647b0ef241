"""How large a part of a batch runs at a time, where NumPy does some of it.

Whole batches of intermediate values take much memory, more than a loop over the examples does, and
the time that it takes to get it: NumPy is several times as fast on what stays in the caches. So a
batch runs in parts of so many bytes, or in fewer where what each part does again would be noticed:
the calls, and what does not vary in loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from lanewise.codegen.work import CALL_NS, interpreting
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES
from lanewise.ops.creation import constant
from lanewise.ops.facts import Kind, usual_size
from lanewise.ops.regions import NATIVE, SEQUENTIAL, map_
from lanewise.passes.batches import batches, in_chunks
from lanewise.passes.pipeline import lower
from lanewise.passes.survive import attempt
from lanewise.runtime.binding import input_sizes, read_sizes
from lanewise.runtime.interpret import Plainly, Plan, chunked_graph
from lanewise.runtime.memory import Memory, analyze
from lanewise.runtime.pool import get_threads

#: Bytes of the values that a part has at one time, and of those that a batch has which stays whole,
#: as there is nothing to win: where NumPy does all, and where kernels do some, for which a part is
#: to suffice for all threads.
INTERPRETED_BYTES, NATIVE_BYTES = (1 << 20, 8 << 20), (16 << 20, 64 << 20)
#: How much of what the whole batch takes may be done again.
AGAIN = 0.05
#: A number of examples with which what grows with their number decides.
MANY = 1 << 20
#: For so many sizes it is kept what suits them.
MOST_SIZES = 1024


class Parts:
    """What runs a graph, as it was recorded: all examples of a batch at once, or parts of them.

    The plan of the `whole` is given, and what makes one of a graph like it, with maps in chunks.
    The limits are the bytes that values of a part take, and from which on there are parts.
    """

    def __init__(
        self, graph: Graph, whole: Plan, make: Callable[[Graph], Plan], limits: tuple[int, int]
    ) -> None:
        self._graph, self._make = graph, make
        self._part, self._least = limits
        self.whole = whole
        is_planned = not isinstance(self.whole, Plainly)
        #: The maps that may run in parts.
        self._batches = attempt("batches", graph, batches, otherwise=list) if is_planned else []
        #: By sizes, how many examples of each batch are run at a time, none for all; and the plan
        #: for that.
        self._chunks: dict[tuple[int, ...], Sequence[int]] = {}
        self._plans: dict[Sequence[int], Plan] = {}

    def plan(self, arguments: Sequence[Any]) -> Plan:
        """Return the plan to run on some arguments."""
        if not self._batches or self._is_small(arguments):
            return self.whole
        chunks = self._chunks_for(read_sizes(self._graph, arguments))
        if not chunks:
            return self.whole
        if chunks not in self._plans:
            self._plans[chunks] = self._make(attempt("in chunks", self._graph, in_chunks, chunks))
        return self._plans[chunks]

    @property
    def settled(self) -> Plan | None:
        """The plan that all calls run; None where the sizes of their arrays decide."""
        return None if self._batches and input_sizes(self._graph) else self.plan(())

    def graph_for(self, sizes: Mapping[str, int]) -> Graph:
        """Return the graph, in chunks, that runs where dimensions have these sizes."""
        chunks = self._chunks_for(sizes) if self._batches else ()
        return in_chunks(self._graph, chunks) if chunks else self._graph

    @cached_property
    def _is_small(self) -> Callable[[Sequence[Any]], bool]:
        """Tells of arguments whether all examples may run at once, where that is told quickly."""
        read = input_sizes(self._graph)
        if len(read) != 1:  # what is known of sizes is looked up
            return lambda arguments: False
        ((symbol, number, axis, _),) = read  # a size is at least what is read of it
        most = MANY * self._least / max(self._peak({symbol: MANY}), 1)
        return lambda arguments: arguments[number].shape[axis] < most

    def _peak(self, sizes: Mapping[str, int]) -> int:
        """Return the most bytes that values of all examples take at one time."""
        known = partial(peak, sizes=dict(sizes), scratch=lambda op: 0, memory=self.whole.memory)
        return attempt("the peak", self.whole.graph, known, otherwise=lambda: 0)

    def _chunks_for(self, sizes: Mapping[str, int]) -> Sequence[int]:
        key = tuple(sizes.values())
        if key not in self._chunks:
            found = attempt("chunks", self._graph, self._fitting, sizes, otherwise=tuple)
            known = self._chunks if len(self._chunks) < MOST_SIZES else {}
            self._chunks = {**known, key: found}
        return self._chunks[key]

    def _fitting(self, graph: Graph, sizes: Mapping[str, int]) -> Sequence[int]:
        """Return how many examples of each batch to run at a time: powers of two; none for all."""
        taken = self._peak(sizes)
        if taken < self._least:
            return ()
        most = AGAIN * interpreting(graph, sizes) / self._again(sizes)
        parts = min(taken / self._part, most)
        if parts < 2:
            return ()
        counts = [usual_size(op.params["size"], sizes) for op in self._batches]
        return tuple([1 << max(int(n / parts), 1).bit_length() - 1 for n in counts])

    def _again(self, sizes: Mapping[str, int]) -> float:
        """Return the nanoseconds that each part takes whatever the number of its examples."""
        one, two = [
            sum([interpreting(part, {**sizes, symbol: count}) for part, symbol in self._lowered])
            for count in (1, 2)
        ]
        return max(2 * one - two, CALL_NS)

    @cached_property
    def _lowered(self) -> list[tuple[Graph, str]]:
        """The graph of a part of each batch, and the symbol of how many examples it has."""
        divided = in_chunks(self._graph, [1] * len(self._batches))
        parts = [chunk_of(op, {}) for op in divided.operations if op.params.get("chunk")]
        return [(lower(part), next(iter(sizes))) for part, sizes in parts]


# --- how much memory a graph takes ----------------------------------------------------------------


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
