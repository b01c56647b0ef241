"""Scalar replacement: what a turn of a loop wrote and the next one reads, as a carried number.

``for i in range(1, n): x[i] = a * x[i - 1] + x[i]`` takes from memory what it has just put there,
and each turn waits for that. A loop that carries the number beside the array keeps it in a
register (S. Carr and K. Kennedy, "Scalar Replacement in the Presence of Conditional Control Flow",
Software: Practice and Experience 24, 1994).

A place of the next turn is this turn's where its integers are: each is written as a polynomial in
what the turn is given, and so is what the turn gives the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lanewise.ir.dims import Dim, DimLike, never_below, substitute, symbols
from lanewise.ir.graph import Graph, Operation, Value, current_builder, recorded
from lanewise.ops.control import LOOPS, carry_of, cond, scan
from lanewise.ops.elementwise import elementwise
from lanewise.ops.indexing import gather
from lanewise.ops.paths import Path
from lanewise.passes.numbers import INTEGER, arithmetic, counted, integer, number
from lanewise.passes.paths import View, target_of, view_through
from lanewise.passes.simplify import eliminate_dead

#: So many numbers are handed on beside an array: more would not stay in registers.
MOST = 4
#: A sum of more terms is taken as a whole, so that long ones take no longer, and so is a product.
FEW = 8


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an array is read or written: a path, and its integers as polynomials."""

    path: Path
    integers: tuple[DimLike, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """A number that a turn reads, and what of the turn before it is."""

    value: Value
    source: Value


def scalar_replaced(graph: Graph) -> Graph:
    """Return the graph with loops that carry what a turn writes to an array and the next reads.

    Its writes are those that `direct` gives.
    """

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | Operation:
        op = op.map_regions(scalar_replaced)
        if op.primitive not in LOOPS or op.must_run:
            return op
        reads, body = list(_Turns(op, graph.makers).reads()), op.regions[-1]
        first = Graph(body.inputs, body.operations, [read.value for read in reads])
        first = eliminate_dead(first, is_within=True)
        if not reads or any([each.must_run for each in first.operations]):
            return op
        return _recorded(op, reads, first, [values[value] for value in op.operands])

    if not any([op.primitive in LOOPS for op in graph.walk()]):
        return graph
    return eliminate_dead(graph.rewritten(rule))


class _Turns:
    """What the turns of a loop hand on to each other; `makers` are operations around it."""

    def __init__(self, op: Operation, makers: Mapping[Value, Operation]) -> None:
        self.body = op.regions[-1]
        self.carry = carry_of(op)
        #: Integers as polynomials in those that are not sums of a few others.
        self._integers: dict[Value, DimLike] = {}
        for each in self.body.operations:
            for value in each.results if len(each.results) == 1 else ():
                self._integers[value] = self._polynomial(value, each)
        #: What the symbols of a turn's polynomials are in the next turn, as far as that is known.
        self.next: dict[str, DimLike] = {}
        inputs, outputs = self.body.inputs, self.body.outputs
        for value in inputs[: self.carry.start]:
            self.next[_name(value)] = self.integer(value)
        for value, new in zip(inputs[self.carry], outputs, strict=False):
            if value is new or value.type is INTEGER:
                self.next[_name(value)] = self.integer(new)
        step = -1 if op.params.get("reverse") else 1
        for value, given in zip(
            inputs[self.carry.stop :], op.operands[self.carry.stop :], strict=True
        ):
            count = counted(given, makers)
            if count is not None:
                self.next[_name(value)] = self.integer(value) + count[0] * step
        stays = {*inputs[: self.carry.start]}
        for each in self.body.operations:
            if stays.issuperset(each.operands) and not each.must_run:
                stays.update(each.results)
                self.next.update({_name(value): self.integer(value) for value in each.results})

    def integer(self, value: Value) -> DimLike:
        """Return an integer as a polynomial."""
        return self._integers.get(value, Dim.symbol(_name(value)))

    def _polynomial(self, value: Value, made: Operation) -> DimLike:
        found = arithmetic(made, [self.integer(operand) for operand in made.operands])
        is_long = isinstance(found, Dim) and (
            len(found.terms) > FEW or any([len(factors) > 1 for factors, _ in found.terms])
        )
        return Dim.symbol(_name(value)) if found is None or is_long else found

    def reads(self) -> Iterator[_Read]:
        """Give what turns read that is known from the turn before."""
        views: dict[Value, View] = {}
        places: dict[Value, list[tuple[Value, _Place]]] = {}
        for op in self.body.operations:
            view = view_through(op, views)
            if view is not None:
                (result,) = op.results
                views[result] = view
                if not result.type.shape:
                    places.setdefault(view[0], []).append((result, self._place(*view[1:])))
        for array, written in zip(self.body.inputs[self.carry], self.body.outputs, strict=False):
            made = self.body.makers.get(written)
            target = None if made is None else target_of(made)
            if made is not None and target is not None and array in places:
                yield from self._chain(array, made, self._place(*target), places[array])

    def _chain(
        self, array: Value, write: Operation, place: _Place, reads: list[tuple[Value, _Place]]
    ) -> Iterator[_Read]:
        """Give what is read where the turn before wrote; where it read that, the one before; ..."""
        source, left, known = write.operands[1], reads, place
        for _ in range(MOST):
            found = [
                value
                for value, read in left
                if self._next(read) == known and value.type is source.type
            ]
            if not found:
                return
            yield from [_Read(value, source) for value in found]
            source, known = found[0], dict(left)[found[0]]
            left = [item for item in left if item[0] not in found]
            if write.operands[0] is not array or not _are_apart(known, place, array.type.shape):
                return

    def _place(self, path: Path, integers: tuple[Value, ...]) -> _Place:
        return _Place(path, tuple([self.integer(value) for value in integers]))

    def _next(self, place: _Place) -> _Place | None:
        """Return where the next turn finds a place, in what this one knows."""
        if not all([name in self.next for x in place.integers for name in symbols(x)]):
            return None
        return _Place(place.path, tuple([substitute(x, self.next) for x in place.integers]))


def _are_apart(first: _Place, second: _Place, shape: Sequence[DimLike]) -> bool:
    """Whether two places of an array, which are both there, are surely not the same.

    Integers that differ may be one place, as negative ones count from the end: by the whole size.
    """
    match first.path:
        case (("place", axis, _),) if first.path == second.path:
            return any(
                [
                    isinstance(by := a - b, int) and by and never_below(size, abs(by) + 1)
                    for a, b, size in zip(
                        first.integers, second.integers, shape[axis:], strict=False
                    )
                ]
            )
    return False


def _name(value: Value) -> str:
    return f"%{value.index}"


def _recorded(
    op: Operation, reads: Sequence[_Read], first: Graph, operands: Sequence[Value]
) -> Sequence[Value]:
    """Record a loop that carries what is read, on what its operands have become."""
    carry, outer = carry_of(op), current_builder()
    count = carry.stop - carry.start
    given = (*operands[: carry.stop], *_first(op, first, operands), *operands[carry.stop :])
    *tests, body = op.regions
    regions = [_region(test, carry, reads, is_body=False) for test in tests]
    regions.append(_region(body, carry, reads, is_body=True))
    params = dict(op.params)
    if "carry" in params:
        params["carry"] += len(reads)
    outer.location = op.place
    found = outer.emit(op.primitive, given, params, tuple(regions))
    return (*found[:count], *found[count + len(reads) :])


def _region(region: Graph, carry: slice, reads: Sequence[_Read], *, is_body: bool) -> Graph:
    """Return the body of a loop, or its test, where the loop carries what is read."""
    inputs, outputs = list(region.inputs), list(region.outputs)
    inputs[carry.stop : carry.stop] = [read.value for read in reads]
    if is_body:
        count = carry.stop - carry.start
        outputs[count:count] = [read.source for read in reads]

    def rule(*given: Value) -> list[Value]:
        values = dict(zip(inputs, given, strict=True))
        for op in region.operations:
            if values.keys().isdisjoint(op.results):
                current_builder().copy(op, values)
        return [values[value] for value in outputs]

    return recorded([value.type for value in inputs], rule)


def _first(op: Operation, first: Graph, operands: Sequence[Value]) -> Sequence[Value]:
    """Record what the first turn reads; where there may be none, only if there is one."""
    carry = carry_of(op)

    def read(*given: Value) -> list[Value]:
        place = op.params["length"] - 1 if op.params.get("reverse") else 0
        slices = [gather(x, integer(place), axis=0) for x in given[carry.stop :]]
        return current_builder().inline(first, [*given[: carry.stop], *slices])

    if op.primitive is scan:
        length = op.params["length"]
        if never_below(length, 1):
            return read(*operands)
        takes = elementwise(np.less)(integer(0), integer(length))
    else:
        (takes,) = current_builder().inline(op.regions[0], operands)

    def nothing(*_: Value) -> list[Value]:
        return [number(0, value.type.dtype) for value in first.outputs]

    types = [value.type for value in operands]
    regions = tuple([recorded(types, rule, op.place) for rule in (read, nothing)])
    return current_builder().emit(cond, (takes, *operands), {}, regions)
