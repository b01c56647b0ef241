"""Work on large arrays, as maps over their elements, rows, or blocks of rows.

NumPy goes through an array once for each operation, on one thread. What is done here puts
elementwise operations and reductions of large arrays into maps: over elements where all operations
of a group are elementwise and on arrays of one shape; over leading axes where an operand is
repeated along those, is a part of an array with gaps between rows, or where rows are reduced; and
over blocks of rows where rows are added up: of the blocks' totals one is made behind the map. A map
is what kernels and threads take. It is for graphs of one example, as passes/spread.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np

from lanewise.ir.dims import Dim, DimLike, Shape, dim_max, product
from lanewise.ir.graph import Builder, Graph, Operation, Value, building, current_builder
from lanewise.ops.control import CONTROL
from lanewise.ops.creation import constant
from lanewise.ops.elementwise import elementwise
from lanewise.ops.movement import broadcast_to, concatenate, reshape, slice_, update_slice
from lanewise.ops.reduction import reduce
from lanewise.ops.regions import example_type
from lanewise.passes import rowwise
from lanewise.passes.edges import shaped, sliced
from lanewise.passes.lanes import record_map
from lanewise.passes.numbers import neutral, number
from lanewise.passes.rowwise import BINS, LEAST, Makers, expected

#: An array of which another one's rows are parts, and the views that lead from it.
_Origin: TypeAlias = tuple[Value, list[Operation]]
#: A block of rows has at most about so many elements, which stay in a processor's own caches; and
#: fewer, but so many at least, where there would not be so many blocks.
_BLOCK, _SHORT, _BLOCKS = 1 << 14, 1 << 10, 64


def over_elements(graph: Graph, fastmath: bool = False) -> Graph:
    """Return the graph with operations on large arrays as maps over elements or rows."""
    split = _Split(*_in_rows(graph))
    builder = Builder()
    values = {value: builder.input(value.type) for value in split.graph.inputs}
    with building(builder):
        for step in split.steps():
            if isinstance(step, _Group):
                _Map(builder, values, split.makers, step).record(fastmath)
                continue
            if step.primitive in CONTROL:
                step = step.map_regions(lambda region: over_elements(region, fastmath))
            builder.copy(step, values)
    return builder.finish([values[value] for value in split.graph.outputs])


def _in_rows(graph: Graph) -> tuple[Graph, set[Operation]]:
    """Return the graph with writes to the inside of rows as such of rows, and what makes the rows.

    NumPy would go through a stencil's results once more to write them to where they belong.
    """
    makers = graph.makers
    found: set[Operation] = set()
    if not any([rowwise.is_inside(op, makers) for op in graph.operations]):
        return graph, found

    def rule(op: Operation, values: dict[Value, Value]) -> list[Value] | None:
        if not rowwise.is_inside(op, makers):
            return None
        base, new = [values[value] for value in op.operands]
        first, *rest = op.params["index"]
        outside = (first, *[None] * len(rest))
        rows = base if first is None else slice_(base, index=outside)
        rows = update_slice(rows, new, index=(None, *rest))
        found.add(current_builder().operations[-1])
        return [rows if first is None else update_slice(base, rows, index=outside)]

    return graph.rewritten(rule), found


@dataclass(slots=True)
class _Group:
    """Operations that become a map over the first axes of their shapes, which they share.

    Of it are `given` the results that somebody needs; `origins` are those of members' operands.
    """

    members: list[Operation] = field(default_factory=list)
    given: list[Value] = field(default_factory=list)
    origins: dict[Operation, list[_Origin]] = field(default_factory=dict)


class _Split:
    """A graph on its way to having its work on large arrays in maps."""

    def __init__(self, graph: Graph, filled: set[Operation]) -> None:
        self.graph = graph
        self.makers = graph.makers
        #: For each operation that goes into a map, the others that give its operands' rows.
        self.linked: dict[Operation, list[Operation | None]] = {}
        apart: set[Operation] = set()  # what reads views with gaps, or what is made of that
        for op in graph.operations:
            if not rowwise.is_rowwise(op) and op not in filled:
                continue
            makers = [self.makers[value] for value in op.operands if value in self.makers]
            is_apart = any([rowwise.is_unreadable(value, self.makers) for value in op.operands])
            if is_apart or any([maker in apart for maker in makers]):
                apart.add(op)
                continue
            sources = [self._source(op, place) for place in range(len(op.operands))]
            # A small operation may take the rows that another gives at once.
            follows = any(sources) and expected(product(rowwise.rows(op)[:1])) >= LEAST
            if op in filled or rowwise.is_large(op) or follows:
                self.linked[op] = sources

    def _source(self, op: Operation, place: int) -> Operation | None:
        """Return the member that gives the rows which an operand's are parts of, if any."""
        if not rowwise.has_rows(op, place):
            return None
        maker = self.makers.get(rowwise.viewed(op.operands[place], self.makers, True)[0])
        if maker not in self.linked or (rowwise.is_total(maker) and rowwise.leading(maker)):
            return None
        return maker

    def _origin(self, op: Operation, place: int, own: set[Operation]) -> _Origin:
        """Return what an operand's rows are parts of, and by which views."""
        value = op.operands[place]
        number = rowwise.repeated(value, self.makers)
        if number is not value or not rowwise.has_rows(op, place):
            return number, []
        return rowwise.viewed(value, self.makers, self.linked[op][place] in own)

    def steps(self) -> list[Operation | _Group]:
        """Return operations, and groups of them that become maps, in the order to record them."""
        stages = self._stages()
        self._sink(stages)
        groups: dict[Operation, list[Operation]] = {}  # for each member, all of its group
        #: By their stage: members of one shape, and members that read rows of one array.
        alike: dict[tuple[int, Any], Operation] = {}

        def join(first: Operation, second: Operation) -> None:
            few, many = sorted((groups[first], groups[second]), key=len)
            if few is not many:
                many += few
                groups.update(dict.fromkeys(few, many))

        for op in self.linked:
            groups[op] = [op]
            for source in self.linked[op]:
                if source is not None and stages[source] == stages[op]:
                    join(source, op)
            if rowwise.is_elementwise(op):
                join(alike.setdefault((stages[op], op.results[0].type.shape), op), op)
            for place, value in enumerate(op.operands):
                if rowwise.has_rows(op, place):
                    source = rowwise.viewed(value, self.makers, False)[0], rowwise.rows(op)
                    join(alike.setdefault((stages[op], source), op), op)
        steps: dict[int, dict[int, Any]] = {}
        for op, stage in stages.items():
            same = steps.setdefault(stage, {})
            if op in groups:
                same.setdefault(id(groups[op]), _Group()).members.append(op)
            else:
                same[id(op)] = op
        return self._needed([step for stage in sorted(steps) for step in steps[stage].values()])

    def _stages(self) -> dict[Operation, int]:
        """Return when each operation runs, as early as may be: members at odd numbers."""
        stages: dict[Operation, int] = {}
        for op in self.graph.operations:
            least = 0
            for source, value in zip_longest(self.linked.get(op, ()), op.operands):
                maker = source or self.makers.get(value)
                if maker is not None:
                    least = max(least, stages[maker] + (source is None and maker in self.linked))
            stages[op] = least + (least % 2 != (op in self.linked))
        return stages

    def _sink(self, stages: dict[Operation, int]) -> None:
        """Move members to the maps that take what they give, where less then goes through memory.

        That is so where none but later maps take it, and it is made of one array at most that is
        not in memory anyway.
        """
        users: dict[Operation, list[Operation]] = {}
        for op, sources in self.linked.items():
            for source in sources:
                if source is not None:
                    users.setdefault(source, []).append(op)
        stored = set(self.graph.outputs)  # what is in memory, whatever the stages
        for op in reversed(self.graph.operations):
            if op in self.linked:
                pairs = zip(op.operands, self.linked[op], strict=True)
                stored.update([value for value, source in pairs if source is None])
            elif not rowwise.keeps_rows(op) or rowwise.outer(op) or op.results[0] in stored:
                stored.update(op.operands)

        def is_stored(op: Operation, but: Operation) -> bool:
            return not stored.isdisjoint(op.results) or any(
                [stages[user] > stages[op] for user in users[op] if user is not but]
            )

        for op in reversed(self.graph.operations):
            if op not in users or rowwise.is_reduction(op) or not stored.isdisjoint(op.results):
                continue
            stage = min([stages[user] for user in users[op]])
            sources = {source for source in self.linked[op] if source is not None}
            pulled = [x for x in sources if stages[x] < stage and not is_stored(x, op)]
            if stage > stages[op] and len(pulled) <= 1:
                stages[op] = stage

    def _needed(self, steps: Sequence[Operation | _Group]) -> list[Operation | _Group]:
        """Return the steps that somebody needs, and note what groups have to give."""
        found: list[Operation | _Group] = []
        needed = set(self.graph.outputs)
        for step in reversed(steps):
            if isinstance(step, _Group):
                own = set(step.members)
                step.given = [v for op in step.members for v in op.results if v in needed]
                if step.given:
                    for op in step.members:
                        places = range(len(op.operands))
                        step.origins[op] = [self._origin(op, place, own) for place in places]
                        needed.update([value for value, _ in step.origins[op]])
                    found.append(step)
            elif step.must_run or not needed.isdisjoint(step.results):
                needed.update(step.operands)
                found.append(step)
        return found[::-1]


class _Map:
    """A group on its way to being a map, recorded in the current builder."""

    def __init__(
        self, builder: Builder, values: dict[Value, Value], makers: Makers, group: _Group
    ) -> None:
        self.builder, self.values, self.makers, self.group = builder, values, makers, group
        shared = rowwise.common([rowwise.rows(op) for op in group.members])
        is_viewed = any([views for row in group.origins.values() for _, views in row])
        #: The axes of the map, by their sizes.
        self.shape = shared[:1] if is_viewed else shared
        self.size = product(self.shape)

    def record(self, fastmath: bool) -> None:
        """Record the map, and enter what it gives."""
        makers = [self.makers[value] for value in self.group.given]
        block = self._block()
        if block is None:
            results = self._mapped(0, self.size, (), fastmath)
        else:
            # Of a size that is not known something is left: of no elements there may be no total.
            whole = dim_max(self.size - 1, 0) if isinstance(self.size, Dim) else self.size
            count = whole // block
            results = self._mapped(0, count, (block,), fastmath)
            if isinstance(self.size, Dim) or count * block < self.size:
                rest = self._mapped(count * block, 1, (self.size - count * block,), fastmath)
                results = [
                    concatenate(_flat(op, one), _flat(op, two), axis=0)
                    for op, one, two in zip(makers, results, rest, strict=True)
                ]
        for op, value, result in zip(makers, self.group.given, results, strict=True):
            if rowwise.is_count(op):
                result = reduce(result, fn=np.add, axes=(0,), dtype=value.type.dtype)
                result = elementwise(np.add)(self._outside(op.operands[0]), result)
            elif rowwise.is_total(op):
                params = op.params
                result = reduce(result, fn=params["fn"], axes=(0,), dtype=params["dtype"])
            self.values[value] = shaped(result, value.type.shape)

    def _outside(self, value: Value) -> Value:
        """Return what is added to, which may be computed in the map as well."""
        if value not in self.values:
            maker = self.makers[value]
            for operand in maker.operands:
                self._outside(operand)
            self.builder.copy(maker, self.values)
        return self.values[value]

    def _block(self) -> int | None:
        """Return how many rows a block has; None if no rows are taken together."""
        totals = [op for op in self.group.members if rowwise.is_total(op)]
        if not totals:
            return None
        size = expected(self.size)
        row = max([expected(product(rowwise.widest(op))) for op in self.group.members]) // size
        most = min(max(row * size // _BLOCKS, _SHORT), _BLOCK)
        bins = [expected(op.results[0].type.shape[0]) for op in totals if rowwise.is_count(op)]
        most = max([most, *[BINS * count for count in bins]])
        most = max(min(most // max(row, 1), size // LEAST), 1)
        if isinstance(self.size, Dim):
            return most
        # A size that goes into all rows leaves no rest.
        return next((n for n in range(most, most // 2, -1) if self.size % n == 0), most)

    def _mapped(
        self, first: DimLike, size: DimLike, lead: Shape, fastmath: bool
    ) -> Sequence[Value]:
        """Record a map over rows, or blocks of rows, from one on; return what it gives."""
        self.first, self.lead, self.count = first, lead, size * product(lead)
        self.inner = Builder()
        self.inside: dict[Value, Value] = {}
        self.parts: dict[tuple[Any, ...], Value] = {}
        self.taken: list[tuple[Value, int | None]] = []
        with building(self.inner):
            for op in self.group.members:
                operands = tuple([self._read(op, i, size) for i in range(len(op.operands))])
                self.inner.location = op.place
                results = self.inner.emit(op.primitive, operands, self._params(op))
                if rowwise.is_elementwise(op):  # all elements may be computed of one number
                    results = tuple(map(self._repeated, results, op.results))
                self.inside.update(zip(op.results, results, strict=True))
        region = self.inner.finish([self.inside[value] for value in self.group.given])
        self.builder.location = self.group.members[0].place
        return record_map(region, self.taken, size=size, fastmath=fastmath)

    def _repeated(self, x: Value, whole: Value) -> Value:
        """Return a row, or block of rows, in the shape that it has of a whole array."""
        shape = (*self.lead, *whole.type.shape[len(self.shape) :])
        return x if x.type.shape == shape else broadcast_to(x, shape=shape)

    def _params(self, op: Operation) -> dict[str, Any]:
        """Return the parameters of an operation on rows, or blocks of rows."""
        gone, lead = len(self.shape), len(self.lead)
        axis = rowwise.along(op)
        if axis is not None and isinstance(op.primitive.along, str):
            return {**op.params, op.primitive.along: axis - gone + lead}
        if op.primitive is update_slice:
            return {"index": (*[None] * lead, *op.params["index"][gone:])}
        if op.primitive is reduce:
            axes = [axis - gone + lead for axis in op.params["axes"] if axis >= gone]
            return {**op.params, "axes": (*range(lead * rowwise.is_total(op)), *axes)}
        return op.params

    def _read(self, op: Operation, place: int, size: DimLike) -> Value:
        """Return an operand within the map."""
        if rowwise.is_count(op) and place == 0:
            # The whole array, to which numbers are added, comes in behind.
            dtype, shape = op.results[0].type.dtype, op.results[0].type.shape
            return broadcast_to(number(neutral(np.add, dtype), dtype), shape=shape)
        source, views = self.group.origins[op][place]
        is_number = product(source.type.shape) == 1
        if is_number or not rowwise.has_rows(op, place):
            found = self._whole(op, place, source)
        else:
            found = self.inside.get(source)
            found = self._part(source, views, size) if found is None else found
        for view in views:
            self.inner.location = view.place
            found = self._viewed(view, found)
        if is_number and not rowwise.is_elementwise(op):
            return self._repeated(found, op.operands[place])
        return found

    def _whole(self, op: Operation, place: int, value: Value) -> Value:
        """Return an operand that is the same for all rows."""
        own = value.type.shape
        rank = len(op.results[0].type.shape)
        rest = ((1,) * (rank - len(own)) + own)[len(self.shape) :] if product(own) != 1 else ()
        if op.primitive.indices is not None and place == 0:
            rest = own
        maker = self.makers.get(value)
        if maker is not None and maker.primitive is constant and value.type.nbytes <= 16:
            if value not in self.inside:
                self.inner.copy(maker, self.inside)
            return shaped(self.inside[value], rest)
        return self._input(("whole", value, rest), lambda: shaped(self.values[value], rest), None)

    def _part(self, source: Value, views: Sequence[Operation], size: DimLike) -> Value:
        """Return the rows that the map has of an array, some of which views take."""
        cuts = tuple([cut for view in views if (cut := rowwise.outer(view)) is not None])

        def made() -> Value:
            x = self.values[source]
            for cut in cuts:
                x = sliced(x, 0, cut)
            rest = x.type.shape[len(self.shape) :]
            x = shaped(x, (self.size, *rest))
            if self.count != self.size:
                x = sliced(x, 0, (self.first, self.first + self.count, 1))
            return shaped(x, (size, *self.lead, *rest))

        return self._input(("rows", source, cuts), made, 0)

    def _input(self, key: Any, made: Callable[[], Value], axis: int | None) -> Value:
        known = self.parts.get(key)
        if known is None:
            with building(self.builder):
                value = made()
            self.taken.append((value, axis))
            known = self.parts[key] = self.inner.input(example_type(value.type, axis))
        return known

    def _viewed(self, view: Operation, x: Value) -> Value:
        """Return what a view is of a row, or of a block of rows."""
        if view.primitive is reshape:
            return shaped(x, (*self.lead, *view.params["shape"][1:]))
        index = view.params["index"][1:]
        return slice_(x, index=(*[None] * len(self.lead), *index)) if any(index) else x


def _flat(op: Operation, result: Value) -> Value:
    """Return blocks of rows as rows; a total of each block is one row."""
    if rowwise.is_total(op):
        return result
    lead, block, *rest = result.type.shape
    return shaped(result, (lead * block, *rest))
