"""Results of a kernel that take the place of an operand: in-place code that copies nothing.

Where a result is known to lie in the memory of an operand, that memory is handed to the region as
if it were the kernel's own. So an update writes into it once nobody reads the operand any more, and
copies it before where somebody does, as with any `Buffer`. What is left is the end: a result that
was computed elsewhere, or is not computed yet, is written only when all that reads what it
overwrites is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lanewise.codegen.arrays import Array, Buffer, Elements, Given, Stored, items_of
from lanewise.codegen.builder import Builder
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.uniformity import is_small
from lanewise.ir.graph import Graph, Value
from lanewise.ops.facts import is_elementwise

#: Pairs of an operand and a result, by their numbers.
Shared = Sequence[tuple[int, int]]


class Overwriting:
    """The operands of a kernel that results take the place of, as `shared` says."""

    def __init__(self, k: Builder, body: Graph, shared: Shared) -> None:
        self.k = k
        #: These operands, by number.
        self.operands = [number for number, _ in shared]
        #: By each result, by number, the operand whose place it takes.
        self.results = {result: number for number, result in shared}
        self._memory: dict[int, Buffer] = {}
        #: Results of which an element needs no more of the operand than its own place.
        self._apart = {
            result
            for number, result in shared
            if keeps_places(body, body.inputs[number], body.outputs[result])
        }

    def operand(self, number: int, x: Array, given: Given) -> Array:
        """Return an operand as memory that may be written to; `x` is what it is otherwise."""
        k = self.k
        if isinstance(x, Elements):  # loaded before anything is written
            return x
        if is_small(given.shape) and not k.in_lanes:
            return k.elements(given.dtype, given.shape, items_of(given))
        stored = k.storage.lend(given)
        if stored is None:
            raise CannotCompile("an operand of this form is not written to in place")
        self._memory[number] = stored.buffer
        return stored

    def in_order(
        self, found: Sequence[Array], places: Sequence[Given]
    ) -> Iterator[tuple[int, Array]]:
        """Give the results that are still to be written, in an order in which that can be done.

        Those that are kept where they belong already are not; `places` is where that is.
        """
        k, memory = self.k, self._memory
        lent, last = set(k.storage.lent), []
        for number, (value, place) in enumerate(zip(found, places, strict=True)):
            own = memory.get(self.results.get(number, -1))
            is_own = isinstance(value, Stored) and value.buffer is own
            if is_own or k.storage.is_at(value, place):
                continue
            if memory and number not in self.results:  # before anything is overwritten
                yield number, value
                continue
            read = lent - ({own} if number in self._apart else set())
            is_read = not read.isdisjoint(value.buffers)
            last.append((number, k.storage.materialized(value) if is_read else value))
        yield from last


def keeps_places(body: Graph, source: Value, result: Value) -> bool:
    """Whether each element of a result depends on one of `source` at most, that at its place.

    Examples
    --------
    >>> from lanewise.ir.text import parse_graph
    >>> from lanewise.ops import REGISTRY
    >>> lines = "%1 = add(%0, %0) %2 = transpose[axes=(0,)](%1) return %1, %2"
    >>> graph = parse_graph(f"graph(%0: f64[4]) {{ {lines} }}", REGISTRY)
    >>> [keeps_places(graph, *graph.inputs, result) for result in graph.outputs]
    [True, False]
    """
    depends, own = {source}, {source}
    for op in body.operations:
        found = depends.intersection(op.operands)
        if not found:
            continue
        depends.update(op.results)
        shapes = {value.type.shape for value in (*found, *op.results)}
        if is_elementwise(op) and found <= own and len(shapes) == 1:
            own.update(op.results)
    return result in own
