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
from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.types import symbols_in
from lanewise.ops.checks import checked
from lanewise.ops.creation import dimension, iota
from lanewise.ops.elementwise import elementwise, loop_dtypes, where
from lanewise.ops.facts import is_elementwise, is_quiet, may_fail
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import broadcast_to, cast, reshape, slice_
from lanewise.ops.reduction import reduce
from lanewise.ops.searching import flatnonzero
from lanewise.ops.ufuncs import instructions
from lanewise.passes.numbers import neutral, number
from lanewise.passes.specialize import all_symbols_of, replaced

#: What costs more for an element is computed of those that are chosen alone.
MOST_INSTRUCTIONS = 8
_INTP = np.dtype(np.intp)


def under_masks(graph: Graph) -> Graph:
    """Return the graph with sums and writes of what masks choose taken of whole arrays."""
    operations = [op.map_regions(under_masks) for op in graph.operations]
    if any([new is not op for new, op in zip(operations, graph.operations, strict=True)]):
        graph = Graph(graph.inputs, operations, graph.outputs)
    for op in graph.operations:
        if op.primitive.is_definition:
            part = _Part.of(graph, op)
            if part is not None:
                graph = part.whole()
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

    @classmethod
    def of(cls, graph: Graph, definition: Operation) -> _Part | None:
        """Return what a definition is of, None unless all that has the size can be rewritten."""
        size = definition.params["size"]
        if not isinstance(size, Dim) or symbols_in(tuple([v.type for v in graph.outputs])) & {
            *symbols(size)
        }:
            return None
        places = [
            op
            for op in graph.operations
            if op.primitive is flatnonzero and op.params["length"] == size
        ]
        if not places or len({op.operands[0] for op in places}) != 1:
            return None
        part = cls(graph, definition, places)
        members = [op for op in graph.operations if part.name in all_symbols_of(op)]
        rest = [op for op in members if op is not definition and op not in places]
        return part if rest and all(map(part._is_followed, rest)) else None

    def _axis(self, value: Value) -> int | None:
        """Return which axis of a value has the size: -1 for none, None where it is no plain one."""
        shape = value.type.shape
        own = [axis for axis, size in enumerate(shape) if self.name in symbols_in(size)]
        if len(own) > 1 or any([shape[axis] != self.definition.params["size"] for axis in own]):
            return None
        return own[0] if own else -1

    def _has_size(self, values: Sequence[Value]) -> bool:
        return any([self._axis(value) != -1 for value in values])

    def _is_followed(self, op: Operation) -> bool:
        if op.regions or None in map(self._axis, (*op.operands, *op.results)):
            return False
        if op.primitive is dimension:
            return op.params["size"] == self.definition.params["size"]
        if op.primitive is gather:
            return (
                len(op.operands) == 2
                and op.operands[1] in self.places
                and self._axis(op.operands[0]) == -1
                and op.operands[0].type.shape[op.params["axis"]] == self.size
            )
        if op.primitive is scatter:
            return (
                op.params["fn"] is None
                and len(op.operands) == 3
                and op.operands[2] in self.places
                and op.operands[1] not in self.places
                and self._axis(op.operands[0]) == -1
                and op.operands[0].type.shape[op.params["axis"]] == self.size
            )
        if is_elementwise(op) and not self.places.isdisjoint(op.operands) and not is_quiet(op):
            return False
        if op.primitive is reduce:
            dtype = op.operands[0].type.dtype
            return dtype.kind in "biuf" and neutral(op.params["fn"], dtype) is not None
        if op.primitive is slice_:
            return all([part is None for part in op.params["index"]])
        if not self._has_size(op.results) and self._has_size(op.operands):
            return False  # it broadcasts, if there are as many as that, or one
        if op.primitive is reshape:
            before, after = (_long(v.type.shape) for v in (op.operands[0], op.results[0]))
            return before == after
        if op.primitive is broadcast_to:
            return True
        if op.primitive is cast:  # NaN is no integer
            kinds = [v.type.dtype.kind for v in (op.operands[0], op.results[0])]
            return kinds[0] not in "fc" or kinds[1] in "fc"
        return is_elementwise(op) and not may_fail(op) and _cost(op) <= MOST_INSTRUCTIONS

    # --- of the whole arrays ------------------------------------------------------------------

    def whole(self) -> Graph:
        """Return the graph with whole arrays in the place of the parts."""
        builder = Builder()
        self.values = {value: builder.input(value.type) for value in self.graph.inputs}
        members = [op for op in self.graph.operations if self.name in all_symbols_of(op)]
        self.is_quiet = all([is_quiet(op) for op in members if is_elementwise(op)])
        others = [
            op for op in members if op.primitive is not gather and op.primitive is not scatter
        ]
        are_read = any([not self.places.isdisjoint(op.operands) for op in others])
        with building(builder):
            for op in self.graph.operations:
                builder.location = op._place
                if op is self.definition:
                    continue
                if op.results and op.results[0] in self.places:
                    if are_read:
                        self.values[op.results[0]] = iota(length=self.size, dtype=_INTP)
                    continue
                if self.name not in all_symbols_of(op):
                    builder.copy(op, self.values)
                    continue
                found = self._written(op, [self.values.get(v) for v in op.operands])
                self.values[op.results[0]] = found
        return builder.finish([self.values[value] for value in self.graph.outputs])

    def _written(self, op: Operation, operands: list[Any]) -> Value:
        if op.primitive is dimension:
            return self._count()
        if op.primitive is gather:
            return operands[0] if self.is_quiet else self._filled(operands[0], op.params["axis"])
        if op.primitive is scatter:
            x, values, _ = operands
            return where(self._aligned(op.params["axis"], x), values, x)
        axis = self._axis(op.operands[0]) if op.primitive is reduce else -1
        if op.primitive is reduce and axis is not None and axis in op.params["axes"]:
            return self._total(op, operands[0], axis)
        params = replaced(op.params, {self.name: self.size})
        found = op.primitive(*operands, **params)
        return found[0] if isinstance(found, (tuple, list)) else found

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

    def _total(self, op: Operation, x: Value, axis: int) -> Value:
        fn, dtype = op.params["fn"], x.type.dtype
        chosen = where(self._aligned(axis, x), x, number(neutral(fn, dtype), dtype))
        result: Any = reduce(chosen, **op.params)
        of_none = op.results[0].type.dtype
        if fn.identity is None:
            message = f"zero-size array to reduction operation {fn.__name__} which has no identity"
            return checked(result, self._is_any(), error="ValueError", message=message)
        if fn is np.add and of_none.kind == "f":  # adding -0.0 changes nothing; of none it is 0.0
            return where(self._is_any(), result, number(0, of_none))
        return result


def _cost(op: Operation) -> int:
    """Return about how many instructions an elementwise operation takes for an element."""
    fn = op.primitive.ufunc
    if fn is None:
        return 1
    given = tuple([value.type.dtype for value in op.operands])
    return instructions(fn, loop_dtypes(fn, given, op.params.get("dtype")))


def _long(shape: Any) -> list[DimLike]:
    return [size for size in shape if isinstance(size, Dim) or size != 1]
