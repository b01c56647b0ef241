"""Lists that go on in several ways, each in memory of its own.

In a kernel a list is a length, and all lists of an arena lie in one piece of memory
(`lanewise.codegen.lists`). That is right as long as each goes on in one way: what is appended takes
the place behind the last element. Where a list is to go on that is not the last one of its memory,
or one is changed that somebody still reads, it is copied to another arena before, and goes on
there. So is a list that a loop begins anew in each turn; what the loop carries of such is brought
to memory that is the carry's own as the turn ends.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lanewise.ir.dims import Shape
from lanewise.ir.graph import Builder, Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, LOOPS, carry_of
from lanewise.ops.facts import Kind
from lanewise.ops.lists import list_arena, list_array, list_copy, list_cut


class NotSeparatedError(Exception):
    """Lists are used in a way that is not followed here."""


def separated(graph: Graph) -> Graph:
    """Return a graph in which each list has memory where nothing else is that is still read.

    Raises
    ------
    NotSeparatedError
        If it cannot be told what memory a list is in.
    """
    rewriter = _Rewriter(graph, _Lists(), itertools.count())
    rewriter.run()
    return rewriter.finished()


class _Element(NamedTuple):
    """What the elements of the lists of an arena are."""

    dtype: np.dtype
    shape: Shape


class _Known:
    """Of a graph's lists the arenas, and of arenas what elements are."""

    def __init__(self) -> None:
        self.arenas: dict[Value, Value] = {}
        self.elements: dict[Value, _Element] = {}
        #: Constants: a list without elements is one of any arena.
        self.constants: set[Value] = set()


class _Lists:
    """What is known of the lists of graphs, found once."""

    def __init__(self) -> None:
        self._found: dict[Graph, _Known] = {}

    def of(self, graph: Graph) -> _Known:
        """Return what is known of the lists of a graph."""
        found = self._found.get(graph)
        if found is None:
            found = self._found[graph] = _Known()
            found.constants = {v for op in graph.operations if not op.operands for v in op.results}
            before = -1
            while before != (before := len(found.arenas)):
                for op in graph.operations:
                    self._note(op, found)
        return found

    def _note(self, op: Operation, found: _Known) -> None:
        if op.regions:
            for arena, lists, element in self._within(op, found):
                _set(found, arena, lists, element)
        elif op.operands and _is_store(op.operands[0]):
            if op.primitive.kind is Kind.STORE:
                raise NotSeparatedError  # tables of tangents
            arena, *others = op.operands
            given = op.results if op.primitive.continues else ()
            lists = [x for x in (*others[:1], *given) if not x.type.shape]
            _set(found, arena, lists, _element(op))

    def _within(
        self, op: Operation, found: _Known
    ) -> Iterator[tuple[Value, Sequence[Value], _Element | None]]:
        """Give arenas that regions are given, and which operands and results are lists of these."""
        shift = 1 if op.primitive in BRANCHES else 0
        for region in op.regions:
            inner = self.of(region)
            given = dict(zip(region.inputs, op.operands[shift:], strict=True))
            gives = op.results if region is op.regions[-1] or shift else ()
            ends = dict(zip(region.outputs, gives, strict=False))
            for arena, element in inner.elements.items():
                if arena in given:
                    yield given[arena], (), element
            for value, arena in inner.arenas.items():
                if arena in given:
                    places = [each[value] for each in (given, ends) if value in each]
                    yield given[arena], places, None
        if op.primitive in LOOPS:
            for result, operand in zip(op.results, op.operands[carry_of(op)], strict=False):
                arena = found.arenas.get(result) or found.arenas.get(operand)
                if arena is not None:
                    yield arena, (result, operand), None


def _set(found: _Known, arena: Value, lists: Iterable[Value], element: _Element | None) -> None:
    for value in lists:
        if value not in found.constants:
            found.arenas.setdefault(value, arena)
    if element is not None:
        found.elements.setdefault(arena, element)


def _element(op: Operation) -> _Element | None:
    """Return what elements an operation reads or writes, if any."""
    if "dtype" in op.params:
        shape = op.params["shape"]
        return _Element(op.params["dtype"], shape[1:] if op.primitive is list_array else shape)
    value = op.operands[-1].type
    if not op.primitive.continues or op.primitive is list_cut:
        return None
    lead = op.params.get("lead")
    return _Element(value.dtype, value.shape if lead is None else value.shape[lead + 1 :])


def _is_store(value: Value) -> bool:
    return isinstance(value.type, ArrayType) and value.type.dtype.kind == "O"


class _Rewriter:
    """Rewrites a graph; an arena from outside that it needs beside its inputs is one more."""

    def __init__(self, graph: Graph, lists: _Lists, numbers: Iterator[int]) -> None:
        self.graph, self._lists, self._numbers = graph, lists, numbers
        self.known = lists.of(graph)
        self.builder = Builder()
        self.values = {value: self.builder.input(value.type) for value in graph.inputs}
        #: Lists without elements, which are such of any arena.
        self.empty = set(self.known.constants)
        #: The arena that each list lies in, its elements, and until which operation it is read.
        self.home: dict[Value, Value] = {}
        self.element: dict[Value, _Element | None] = {}
        self.ends: dict[Value, float] = {}
        #: Of each arena the list that may go on there, and arenas with lists that others read.
        self.latest: dict[Value, Value] = {}
        self.foreign: set[Value] = set()
        #: What arenas from outside are here, and those among them that are no operands.
        self.stores: dict[Value, Value] = {}
        self.extras: list[Value] = []
        #: Outputs that are copies.
        self.placed: dict[int, Value] = {}
        self._last: dict[Value, float] = {}
        for number, op in enumerate(graph.operations):
            self._last.update(dict.fromkeys(op.operands, number))
        self._last.update(dict.fromkeys(graph.outputs, math.inf))

    def run(self) -> None:
        """Record the operations."""
        for number, op in enumerate(self.graph.operations):
            self.builder.location = op.place
            if not any([_is_store(x) or self.values[x] in self.home for x in op.operands]):
                self.builder.copy(op, self.values)
            elif op.primitive in BRANCHES:
                self._branches(op, number)
            elif op.primitive in LOOPS:
                self._loop(op, number)
            elif op.regions:
                raise NotSeparatedError
            elif not any(map(_is_store, op.operands)):  # it asks for the number that a list is
                self.builder.copy(op, self.values)
            else:
                self._operation(op, number)

    def finished(self) -> Graph:
        """Return what was recorded."""
        outputs = enumerate(self.graph.outputs)
        return self.builder.finish([self.placed.get(k, self.values[old]) for k, old in outputs])

    # --- lists --------------------------------------------------------------------------------

    def _operation(self, op: Operation, number: int) -> None:
        store, *others = op.operands
        rest = [self.values[value] for value in others]
        arena, is_list = self.values[store], bool(others) and not others[0].type.shape
        if is_list and others[0] not in self.empty:
            if rest[0] not in self.home:
                raise NotSeparatedError
            arena = self.home[rest[0]]
        element = self.known.elements.get(store)
        if op.primitive.continues:
            if arena is self.home.get(rest[0]):
                element = self.element[rest[0]] or element
                if not self._goes_on(rest[0], op.primitive.overwrites, number):
                    rest[0] = self.copied(rest[0], self.arena())
                    arena = self.home[rest[0]]
            elif not self._is_free(arena, number):
                arena = self.arena()
        results = self.builder.emit(op.primitive, (arena, *rest), op.params)
        self.values.update(zip(op.results, results, strict=True))
        if op.primitive.continues:
            self.keep(op.results[0], results[0], arena, element, is_latest=True)

    def _goes_on(self, lists: Value, overwrites: bool, number: int) -> bool:
        """Whether a list may go on where it lies."""
        arena = self.home[lists]
        if self.latest.get(arena) is not lists:
            return False
        return not overwrites or (self.ends[lists] <= number and self._is_free(arena, number))

    def _is_free(self, arena: Value, number: int, besides: Collection[Value] = ()) -> bool:
        """Whether no list of an arena is read after an operation, but for some."""
        return arena not in self.foreign and not any(
            [home is arena and self.ends[each] > number and each not in besides
             for each, home in self.home.items()]
        )  # fmt: skip

    def keep(
        self, old: Value, new: Value, arena: Value, element: _Element | None, is_latest: bool
    ) -> None:
        """Note where a list lies."""
        self.home[new], self.element[new] = arena, element
        self.ends[new] = self._last.get(old, -1)
        if is_latest:
            self.latest[arena] = new

    def arena(self) -> Value:
        """Record an arena that nobody knows of."""
        return self.builder.emit(list_arena, (), {"name": f"apart {next(self._numbers)}"})[0]

    def copied(self, lists: Value, arena: Value) -> Value:
        """Record a copy of a list, in an arena of which none is read any more."""
        element = self.element[lists]
        if element is None:
            raise NotSeparatedError
        given = arena, lists, self.home[lists]
        (copy,) = self.builder.emit(
            list_copy, given, {"dtype": element.dtype, "shape": element.shape}
        )
        self.home[copy], self.element[copy], self.ends[copy] = arena, element, -1
        self.latest[arena] = copy
        return copy

    # --- regions ------------------------------------------------------------------------------

    def store(self, outer: Value) -> Value:
        """Return what an arena from outside is here."""
        if outer not in self.stores:
            self.stores[outer] = self.builder.input(outer.type)
            self.extras.append(outer)
        return self.stores[outer]

    def _regions(self, op: Operation, operands: Sequence[Value]) -> list[_Rewriter]:
        """Return the regions of an operation, each told of the arenas that it is given."""
        regions = [_Rewriter(region, self._lists, self._numbers) for region in op.regions]
        for region in regions:
            for value, operand in zip(region.graph.inputs, operands, strict=True):
                if _is_store(operand):
                    region.stores.setdefault(operand, region.values[value])
        return regions

    def _record(
        self,
        op: Operation,
        operands: Sequence[Value],
        first: int,
        regions: Sequence[_Rewriter],
        homes: dict[int, tuple[Value, _Element | None, bool]],
    ) -> None:
        """Record an operation with what its regions have become; from one operand on, the arenas
        follow that these need beside what they were given.
        """
        extras = list(dict.fromkeys([arena for region in regions for arena in region.extras]))
        shift = 1 if op.primitive in BRANCHES else 0
        for region in regions:
            more = [region.store(arena) for arena in extras]
            inputs = region.builder.inputs[: len(region.graph.inputs)]
            region.builder.inputs = [*inputs[: first - shift], *more, *inputs[first - shift :]]
        graphs = tuple([region.finished() for region in regions])
        given = (*operands[:first], *extras, *operands[first:])
        params = op.params
        if op.primitive in LOOPS:
            params = {**params, "captures": first + len(extras)}
        results = self.builder.emit(op.primitive, given, params, graphs)
        self.values.update(zip(op.results, results, strict=True))
        for k, (arena, element, is_latest) in homes.items():
            self.latest.pop(arena, None)
            self.keep(op.results[k], results[k], arena, element, is_latest)

    def output(self, k: int) -> Value | None:
        """Return an output, if it is a list that may have elements."""
        old = self.graph.outputs[k]
        new = self.values[old]
        if new in self.home or old in self.empty:
            return new if new in self.home else None
        if old in self.known.arenas or _is_store(old):
            raise NotSeparatedError
        return None

    def _branches(self, op: Operation, number: int) -> None:
        operands = [self.values[value] for value in op.operands]
        regions = self._regions(op, operands[1:])
        for region in regions:
            inputs = zip(region.graph.inputs, op.operands[1:], operands[1:], strict=True)
            for value, old, new in inputs:
                if old in self.empty:
                    region.empty.add(value)
                if new not in self.home:
                    continue
                arena, here = self.home[new], region.values[value]
                is_latest = self.latest.get(arena) is new
                region.keep(value, here, region.store(arena), self.element[new], is_latest)
                if self._last[old] > number:
                    region.ends[here] = math.inf
            for arena, here in region.stores.items():
                if not self._is_free(arena, number, operands):
                    region.foreign.add(here)
            region.run()
        homes: dict[int, tuple[Value, _Element | None, bool]] = {}
        for k in range(len(op.results)):
            found = {region: new for region in regions if (new := region.output(k)) is not None}
            if found:
                homes[k] = self._joined(found, regions, k, number, [x for x, *_ in homes.values()])
            elif op.results[k] in self.known.arenas:  # without elements by either way
                homes[k] = self.arena(), None, False
        self._record(op, operands, len(operands), regions, homes)

    def _joined(
        self,
        found: dict[_Rewriter, Value],
        regions: Sequence[_Rewriter],
        k: int,
        number: int,
        taken: Sequence[Value],
    ) -> tuple[Value, _Element | None, bool]:
        """Return the arena of a list that branches leave, and whether it may go on there."""
        arenas = {region.outside(new) for region, new in found.items()}
        elements = [region.element[new] for region, new in found.items()]
        element = next((each for each in elements if each is not None), None)
        arena = next(iter(arenas))
        is_common = arena is not None and len(arenas) == 1 and arena not in taken
        if is_common and (len(found) == len(regions) or self._is_free(arena, number)):
            is_latest = [
                region.latest.get(region.stores[arena]) is x for region, x in found.items()
            ]
            return arena, element, all(is_latest)
        arena = self.arena()
        for region, new in found.items():
            region.placed[k] = region.copied(new, region.store(arena))
        return arena, element, True

    def outside(self, lists: Value) -> Value | None:
        """Return the arena of a list as it is around the region, if it is from there."""
        home = self.home[lists]
        return next((outer for outer, here in self.stores.items() if here is home), None)

    def _loop(self, op: Operation, number: int) -> None:
        place = carry_of(op)
        operands = [self.values[value] for value in op.operands]
        slots = self._slots(op, operands, number)
        regions = self._regions(op, operands)
        for region in regions:
            inputs = zip(region.graph.inputs, op.operands, operands, strict=True)
            region.foreign.update(region.stores.values())
            for i, (value, old, new) in enumerate(inputs):
                here, k = region.values[value], i - place.start
                if k in slots:
                    arena, element = slots[k]
                    store, is_body = region.store(arena), region is regions[-1]
                    if is_body:
                        region.foreign.discard(store)
                    region.keep(value, here, store, element, is_latest=is_body)
                elif old in self.empty:
                    region.empty.add(value)
                elif new in self.home:
                    store = region.store(self.home[new])
                    region.foreign.add(store)
                    region.keep(value, here, store, self.element[new], is_latest=False)
                    region.ends[here] = math.inf
            region.run()
        body = regions[-1]
        body.bring({k: body.store(arena) for k, (arena, _) in slots.items()})
        if any([body.output(k) is not None for k in range(len(op.results)) if k not in slots]):
            raise NotSeparatedError
        homes = {k: (arena, element, True) for k, (arena, element) in slots.items()}
        self._record(op, operands, place.start, regions, homes)

    def _slots(
        self, op: Operation, operands: list[Value], number: int
    ) -> dict[int, tuple[Value, _Element | None]]:
        """Return the arenas of the lists that a loop carries, each of which has no other list.

        What is carried at first is put there, among the operands.
        """
        place, body = carry_of(op), op.regions[-1]
        slots: dict[int, tuple[Value, _Element | None]] = {}
        inner, outer = self._lists.of(body), dict(zip(body.inputs, op.operands, strict=True))
        taken = {self.home[x] for x in operands[: place.start] if x in self.home}
        for k, old in enumerate(op.operands[place]):
            store = self.known.arenas.get(op.results[k]) or self.known.arenas.get(old)
            for value in (body.inputs[place][k], body.outputs[k]):
                store = store or outer.get(inner.arenas.get(value))
            if store is None:
                continue
            new, element = operands[place.start + k], self.known.elements.get(store)
            if new not in self.home and old not in self.empty:
                raise NotSeparatedError
            arena = self.home.get(new, self.values[store])
            is_own = self._is_free(arena, number) and arena not in taken
            if new in self.home:
                is_own = is_own and self.latest.get(arena) is new
                element = self.element[new] or element
            if not is_own:
                arena = self.arena()
                if new in self.home:
                    operands[place.start + k] = self.copied(new, arena)
            taken.add(arena)
            slots[k] = arena, element
        return slots

    def bring(self, slots: dict[int, Value]) -> None:
        """Have the outputs that a loop carries be lists of the arenas that are theirs."""
        given = {k: (new, arena) for k, arena in slots.items() if (new := self.output(k))}
        waiting = {k: new for k, (new, arena) in given.items() if self.home[new] is not arena}
        while waiting:
            homes = {k: self.home[new] for k, new in waiting.items()}
            for k in waiting:
                if slots[k] not in [home for other, home in homes.items() if other != k]:
                    self.placed[k] = self.copied(waiting.pop(k), slots[k])
                    break
            else:  # each overwrites what another one is copied from
                k, new = next(iter(waiting.items()))
                waiting[k] = self.copied(new, self.arena())
