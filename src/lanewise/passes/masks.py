"""Parts of arrays that masks choose, where only totals are asked of them, as whole arrays.

``(x[m] * 2).sum()`` counts the elements, finds their places, gathers and adds. Of the whole array
under a mask no place need be known: what adds up takes a neutral element in place of others. That
pays for what costs little; else only the elements are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, DimLike, symbols
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import symbols_in
from lanewise.ops.checks import checked
from lanewise.ops.creation import dimension, iota
from lanewise.ops.elementwise import elementwise, where
from lanewise.ops.facts import ask, is_elementwise, is_quiet, may_fail
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import cast, reshape, slice_
from lanewise.ops.reduction import reduce
from lanewise.ops.searching import flatnonzero
from lanewise.passes.numbers import neutral, number
from lanewise.passes.paths import is_by_ones
from lanewise.passes.specialize import all_symbols_of, replaced, symbols_of_values

#: What costs more for an element is computed of those that are chosen alone.
MOST_INSTRUCTIONS = 8
_INTP = np.dtype(np.intp)


def under_masks(graph: Graph) -> Graph:
    """Return the graph with sums and writes of what masks choose taken of whole arrays."""
    graph = graph.changed(lambda op: op.map_regions(under_masks))
    for size in [op.params["size"] for op in graph.operations if op.primitive.is_definition]:
        part = _Part.of(graph, size)
        graph = graph if part is None else part.whole()
    return graph


class _Part:
    """What has the size that counts how often a mask holds."""

    def __init__(self, graph: Graph, definition: Operation, places: list[Operation]) -> None:
        self.graph = graph
        self.definition = definition
        self.places = {op.results[0] for op in places}
        self.mask = places[0].operands[0]
        (self.name,) = symbols(definition.params["size"])
        (self.size,) = self.mask.type.shape
        members = [op for op in graph.operations if self.name in all_symbols_of(op)]
        self.values: dict[Value, Value] = {}
        self.members = {op for op in members if op is not definition and op not in places}
        self.is_quiet = all([is_quiet(op) for op in members if is_elementwise(op)])

    @classmethod
    def of(cls, graph: Graph, size: DimLike) -> _Part | None:
        """Return what has a size that the graph defines, None unless all of it can be rewritten."""
        given = symbols_of_values(graph.outputs)
        if not isinstance(size, Dim) or not given.isdisjoint(symbols(size)):
            return None
        places = [
            op
            for op in graph.operations
            if op.primitive is flatnonzero and op.params["length"] == size
        ]
        if not places or len({op.operands[0] for op in places}) != 1:
            return None
        definitions = [op for op in graph.operations if op.primitive.is_definition]
        definition = next(op for op in definitions if op.params["size"] == size)
        part = cls(graph, definition, places)
        return part if part.members and all(map(part._may_be_whole, part.members)) else None

    def _axis(self, value: Value) -> int | None:
        """Return which axis of a value has the size: -1 for none, None where it is no plain one."""
        shape = value.type.shape
        own = [axis for axis, size in enumerate(shape) if self.name in symbols_in(size)]
        if len(own) > 1 or any([shape[axis] != self.definition.params["size"] for axis in own]):
            return None
        return own[0] if own else -1

    def _may_be_whole(self, op: Operation) -> bool:
        """Whether an operation of whole arrays gives what stands for its results."""
        axes = list(map(self._axis, op.operands))
        if op.regions or None in (*axes, *map(self._axis, op.results)):
            return False
        reads = [value in self.places for value in op.operands]
        if op.primitive is dimension:
            return op.params["size"] == self.definition.params["size"]
        if op.primitive is gather or op.primitive is scatter:
            is_whole = axes[0] == -1 and op.operands[0].type.shape[op.params["axis"]] == self.size
            wanted = [False, True] if op.primitive is gather else [False, False, True]
            return is_whole and op.params.get("fn") is None and reads == wanted
        if is_elementwise(op) and any(reads) and not is_quiet(op):
            return False
        if op.primitive is reduce:
            dtype = op.operands[0].type.dtype
            return dtype.kind in "biuf" and neutral(op.params["fn"], dtype) is not None
        return self._is_same(op)

    def _is_same(self, op: Operation) -> bool:
        """Whether an operation does to whole arrays what it does to the part."""
        if op.primitive is slice_:
            return all([part is None for part in op.params["index"]])
        is_made = any([self._axis(value) != -1 for value in op.results])
        if not is_made and any([self._axis(value) != -1 for value in op.operands]):
            return False  # it broadcasts, if there are as many as that, or one
        if op.primitive is reshape:
            return is_by_ones(op)
        if op.primitive is cast:  # NaN is no integer
            kinds = [v.type.dtype.kind for v in (op.operands[0], op.results[0])]
            return kinds[0] not in "fc" or kinds[1] in "fc"
        pairs = [(value, result) for result in op.results for value in op.operands]
        if not all([self._is_repeated(*pair) for pair in pairs]):
            return False
        if not is_elementwise(op) or may_fail(op):
            return False
        return ask(op.primitive.instructions, op) <= MOST_INSTRUCTIONS

    def _is_repeated(self, value: Value, result: Value) -> bool:
        """Whether an operand has the size where its result has it, or is one for all of that.

        It may have as many elements by another mask, which are not those at the same places.
        """
        own, into = self._axis(value), self._axis(result)
        assert own is not None and into is not None
        place = into - result.type.ndim + value.type.ndim
        return into == -1 or own != -1 or place < 0 or value.type.shape[place] == 1

    # --- of the whole arrays ------------------------------------------------------------------

    def whole(self) -> Graph:
        """Return the graph with whole arrays in the place of the parts."""
        are_read = any(
            not self.places.isdisjoint(op.operands)
            for op in self.members
            if op.primitive is not gather and op.primitive is not scatter
        )

        def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | None:
            self.values = values
            if op is self.definition:
                return []
            if not self.places.isdisjoint(op.results):
                # Where nobody reads the places, anything stands for them.
                return [iota(length=self.size, dtype=_INTP) if are_read else values[self.mask]]
            return [self._recorded(op)] if op in self.members else None

        return self.graph.rewritten(rule)

    def _recorded(self, op: Operation) -> Value:
        """Record an operation on whole arrays."""
        operands = [self.values[value] for value in op.operands]
        if op.primitive is dimension:
            return self._count()
        if op.primitive is gather:
            return operands[0] if self.is_quiet else self._filled(operands[0], op.params["axis"])
        if op.primitive is scatter:
            x, values, _ = operands
            return where(self._aligned(op.params["axis"], x), values, x)
        if op.primitive is reduce and self._axis(op.operands[0]) in op.params["axes"]:
            return self._total(operands[0], op)
        return op.primitive(*operands, **replaced(op.params, {self.name: self.size}))

    def _count(self) -> Value:
        return cast(self.values[self.definition.operands[0]], dtype=_INTP)

    def _aligned(self, axis: int, like: Value) -> Value:
        """Return the mask so that it broadcasts along an axis of an array."""
        shape: list[DimLike] = [1] * like.type.ndim
        shape[axis] = self.size
        mask = self.values[self.mask]
        return mask if len(shape) == 1 else reshape(mask, shape=tuple(shape))

    def _filled(self, x: Value, axis: int) -> Value:
        """Return an array with NaN, or 1, in place of all that is not chosen.

        What is computed of these meets no floating-point condition.
        """
        dtype = x.type.dtype
        fill = number(np.nan if dtype.kind in "fc" else 1, dtype)
        return where(self._aligned(axis, x), x, fill)

    def _is_any(self) -> Value:
        return elementwise(np.greater)(self._count(), number(0, _INTP))

    def _total(self, x: Value, op: Operation) -> Value:
        fn, dtype, axis = op.params["fn"], x.type.dtype, self._axis(op.operands[0])
        assert axis is not None
        chosen = where(self._aligned(axis, x), x, number(neutral(fn, dtype), dtype))
        result: Any = reduce(chosen, **op.params)
        of_none = op.results[0].type.dtype
        if fn.identity is None:
            message = f"zero-size array to reduction operation {fn.__name__} which has no identity"
            return checked(result, self._is_any(), error="ValueError", message=message)
        if fn is np.add and of_none.kind == "f":  # adding -0.0 changes nothing; of none it is 0.0
            return where(self._is_any(), result, number(0, of_none))
        return result
