"""Work on large arrays, as maps over their elements, rows, or blocks of rows.

NumPy goes through an array once for each operation, on one thread. What is done here puts
elementwise operations and reductions of large arrays into maps: over elements where all operations
of a group are elementwise and on arrays of one shape; over leading axes where an operand is
repeated along those, is a part of an array with gaps between rows, or where rows are reduced; and
over blocks of rows where rows are added up: of the blocks' totals one is made behind the map. A map
is what kernels and threads take. It is for graphs of one example, as passes/spread.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, DimLike, Shape, dim_max, product
from lanewise.ir.graph import Builder, Graph, Operation, Value, building, current_builder
from lanewise.ir.types import array_type
from lanewise.ops.control import CONTROL
from lanewise.ops.creation import constant
from lanewise.ops.elementwise import elementwise
from lanewise.ops.movement import broadcast_to, concatenate, reshape, slice_, update_slice
from lanewise.ops.reduction import reduce
from lanewise.ops.regions import PARALLEL, example_type, map_
from lanewise.passes.rowwise import (
    BINS,
    LEAST,
    along,
    common,
    expected,
    has_rows,
    is_count,
    is_elementwise,
    is_inside,
    is_large,
    is_reduction,
    is_rowwise,
    is_total,
    is_unreadable,
    keeps_rows,
    leading,
    links,
    outer,
    path,
    repeated,
    rows,
    widest,
)

#: A block of rows has at most about so many elements, which stay in a processor's own caches; and
#: fewer, but so many at least, where there would not be so many blocks.
_BLOCK, _SHORT, _BLOCKS = 1 << 14, 1 << 10, 64


def over_elements(graph: Graph, fastmath: bool = False) -> Graph:
    """Return the graph with operations on large arrays as maps over elements or rows."""
    split = _Split(*_in_rows(graph))
    graph = split.graph
    builder = Builder()
    values = {value: builder.input(value.type) for value in graph.inputs}
    with building(builder):
        for step in split.steps():
            if isinstance(step, _Group):
                _Map(builder, values, split, step).record(fastmath)
                continue
            if step.primitive in CONTROL:
                step = step.map_regions(lambda region: over_elements(region, fastmath))
            builder.copy(step, values)
    return builder.finish([values[value] for value in graph.outputs])


def _in_rows(graph: Graph) -> tuple[Graph, set[Operation]]:
    """Return the graph with writes to the inside of rows as such of rows, and what makes the rows.

    NumPy would go through a stencil's results once more to write them to where they belong.
    """
    makers = {value: op for op in graph.operations for value in op.results}
    found: set[Operation] = set()
    if not any([is_inside(op, makers) for op in graph.operations]):
        return graph, found

    def rule(op: Operation, values: dict[Value, Value]) -> list[Value] | None:
        if not is_inside(op, makers):
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
    """Operations that become a map over the first axes of their shapes, which they share."""

    members: list[Operation] = field(default_factory=list)
    given: list[Value] = field(default_factory=list)

    def axes(self, split: _Split) -> Shape:
        """Return the axes of the map, by their sizes."""
        found = common([rows(op) for op in self.members])
        own = set(self.members)
        is_viewed = any(
            [split.origin(op, i, own)[1] for op in self.members for i in range(len(op.operands))]
        )
        return found[:1] if is_viewed else found


class _Split:
    """A graph on its way to having its work on large arrays in maps."""

    def __init__(self, graph: Graph, filled: set[Operation]) -> None:
        self.graph = graph
        self.makers = {value: op for op in graph.operations for value in op.results}
        self.members: set[Operation] = set()
        apart: set[Operation] = set()  # what reads views with gaps, or what is made of that
        for op in graph.operations:
            if not is_rowwise(op) and op not in filled:
                continue
            makers = [self.makers[value] for value in op.operands if value in self.makers]
            is_apart = any([is_unreadable(value, self.makers) for value in op.operands])
            if is_apart or any([maker in apart for maker in makers]):
                apart.add(op)
            elif op in filled or is_large(op) or self._follows(op):
                self.members.add(op)

    def _follows(self, op: Operation) -> bool:
        """Whether a small operation takes the rows that another gives, and may do so at once."""
        return expected(product(rows(op)[:1])) >= LEAST and any(
            [self._linked(op, place) is not None for place in range(len(op.operands))]
        )

    def _linked(self, op: Operation, place: int) -> Operation | None:
        """Return the member that gives the rows which an operand's are parts of, if any."""
        if not has_rows(op, place):
            return None
        value = op.operands[place]
        views = links(value, self.makers)
        maker = self.makers.get(views[0].operands[0] if views else value)
        if maker not in self.members or (is_total(maker) and leading(maker)):
            return None
        return maker

    def origin(
        self, op: Operation, place: int, own: set[Operation]
    ) -> tuple[Value, list[Operation]]:
        """Return what an operand's rows are parts of, and by which views."""
        value = op.operands[place]
        number = repeated(value, self.makers)
        if number is not value or not has_rows(op, place):
            return number, []
        maker = self._linked(op, place)
        views = links(value, self.makers) if maker in own else path(value, self.makers)
        return (views[0].operands[0] if views else value), views

    def steps(self) -> list[Operation | _Group]:
        """Return operations, and groups of them that become maps, in the order to record them."""
        linked = {
            op: [self._linked(op, place) for place in range(len(op.operands))]
            for op in self.members
        }
        stages = self._stages(linked)
        self._sink(stages, linked)
        joined: dict[Operation, Operation] = {}  # to another of its group; the last to itself
        shapes: dict[tuple[int, Shape], Operation] = {}

        def last(op: Operation) -> Operation:
            while joined[op] is not op:
                joined[op] = joined[joined[op]]
                op = joined[op]
            return op

        for op in self.graph.operations:
            if op not in self.members:
                continue
            joined[op] = op
            for source in linked[op]:
                if source is not None and stages[source] == stages[op]:
                    joined[last(source)] = last(op)
            if is_elementwise(op):
                same = shapes.setdefault((stages[op], op.results[0].type.shape), op)
                joined[last(same)] = last(op)
        groups: dict[Operation, _Group] = {}
        steps: dict[int, list[Operation | _Group]] = {}
        for op, stage in stages.items():
            step: Operation | _Group = op
            if op in joined:
                root = last(op)
                is_new = root not in groups
                step = groups.setdefault(root, _Group())
                step.members.append(op)
                if not is_new:
                    continue
            steps.setdefault(stage, []).append(step)
        return self._needed([step for stage in sorted(steps) for step in steps[stage]])

    def _stages(
        self, linked: Mapping[Operation, Sequence[Operation | None]]
    ) -> dict[Operation, int]:
        """Return when each operation runs, as early as may be: members at odd numbers."""
        stages: dict[Operation, int] = {}
        for op in self.graph.operations:
            is_member = op in self.members
            least = 0
            for place, value in enumerate(op.operands):
                source = linked[op][place] if is_member else None
                maker = self.makers.get(value) if source is None else source
                if maker is not None:
                    least = max(least, stages[maker] + (source is None and maker in self.members))
            stages[op] = least + (least % 2 != is_member)
        return stages

    def _sink(
        self, stages: dict[Operation, int], linked: Mapping[Operation, Sequence[Operation | None]]
    ) -> None:
        """Move members to the maps that take what they give, where less then goes through memory.

        That is so where none but later maps take it, and it is made of one array at most that is
        not in memory anyway.
        """
        users: dict[Operation, list[Operation]] = {}
        for op in self.members:
            for source in linked[op]:
                if source is not None:
                    users.setdefault(source, []).append(op)
        stored = set(self.graph.outputs)  # what is in memory, whatever the stages
        for op in reversed(self.graph.operations):
            if op in self.members:
                stored.update(
                    [v for v, source in zip(op.operands, linked[op], strict=True) if source is None]
                )
            elif not keeps_rows(op) or outer(op) or op.results[0] in stored:
                stored.update(op.operands)

        def is_stored(op: Operation, but: Operation) -> bool:
            return not stored.isdisjoint(op.results) or any(
                [stages[user] > stages[op] for user in users[op] if user is not but]
            )

        for op in reversed(self.graph.operations):
            if op not in users or is_reduction(op) or not stored.isdisjoint(op.results):
                continue
            stage = min([stages[user] for user in users[op]])
            sources = {source for source in linked[op] if source is not None}
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
                        needed.update([self.origin(op, place, own)[0] for place in places])
                    found.append(step)
            elif step.must_run or not needed.isdisjoint(step.results):
                needed.update(step.operands)
                found.append(step)
        return found[::-1]


class _Map:
    """A group on its way to being a map, recorded in the current builder."""

    def __init__(
        self, builder: Builder, values: dict[Value, Value], split: _Split, group: _Group
    ) -> None:
        self.builder, self.values, self.split, self.group = builder, values, split, group
        self.own = set(group.members)
        self.shape = group.axes(split)
        self.size = product(self.shape)

    def record(self, fastmath: bool) -> None:
        """Record the map, and enter what it gives."""
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
                    concatenate(self._flat(op, one), self._flat(op, two), axis=0)
                    for op, one, two in zip(self._makers(), results, rest, strict=True)
                ]
        for op, value, result in zip(self._makers(), self.group.given, results, strict=True):
            if is_count(op):
                result = reduce(result, fn=np.add, axes=(0,), dtype=value.type.dtype)
                result = elementwise(np.add)(self._outside(op.operands[0]), result)
            elif is_total(op):
                params = op.params
                result = reduce(result, fn=params["fn"], axes=(0,), dtype=params["dtype"])
            self.values[value] = _shaped(result, value.type.shape)

    def _outside(self, value: Value) -> Value:
        """Return what is added to, which may be computed in the map as well."""
        if value not in self.values:
            maker = self.split.makers[value]
            for operand in maker.operands:
                self._outside(operand)
            self.builder.copy(maker, self.values)
        return self.values[value]

    def _makers(self) -> list[Operation]:
        """Return the operations of which results are given."""
        return [self.split.makers[value] for value in self.group.given]

    def _flat(self, op: Operation, result: Value) -> Value:
        """Return blocks of rows as rows; a total of each block is one row."""
        if is_total(op):
            return result
        lead, block, *rest = result.type.shape
        return _shaped(result, (lead * block, *rest))

    def _block(self) -> int | None:
        """Return how many rows a block has; None if no rows are taken together."""
        totals = [op for op in self.group.members if is_total(op)]
        if not totals:
            return None
        size = expected(self.size)
        row = max([expected(product(widest(op))) for op in self.group.members]) // size
        most = min(max(row * size // _BLOCKS, _SHORT), _BLOCK)
        bins = [expected(op.results[0].type.shape[0]) for op in totals if is_count(op)]
        most = max([most, *[BINS * count for count in bins]])
        most = max(min(most // max(row, 1), size // LEAST), 1)
        if isinstance(self.size, Dim):
            return most
        # A size that goes into all rows leaves no rest.
        return next((n for n in range(most, most // 2, -1) if self.size % n == 0), most)

    def _mapped(self, first: DimLike, size: DimLike, lead: Shape, fastmath: bool) -> list[Value]:
        """Record a map over rows, or blocks of rows, from one on; return what it gives."""
        self.first, self.lead = first, lead
        self.count = size * product(lead)
        self.inner = Builder()
        self.inside: dict[Value, Value] = {}
        self.parts: dict[tuple[Any, ...], Value] = {}
        self.taken: list[tuple[Value, int | None]] = []
        for op in self.group.members:
            operands = tuple([self._read(op, i, size) for i in range(len(op.operands))])
            self.inner.location = op._place
            results = self.inner.emit(op.primitive, operands, self._params(op))
            if is_elementwise(op):
                results = tuple(map(self._filled, op.results, results))
            self.inside.update(zip(op.results, results, strict=True))
        region = self.inner.finish([self.inside[value] for value in self.group.given])
        self.builder.location = self.group.members[0]._place
        results = map_(
            *[value for value, _ in self.taken],
            regions=(region,),
            size=size,
            in_dims=tuple([axis for _, axis in self.taken]),
            out_mapped=(True,) * len(self.group.given),
            order=PARALLEL,
            fastmath=fastmath,
        )
        return list(results) if isinstance(results, tuple) else [results]

    def _filled(self, outside: Value, found: Value) -> Value:
        """Return elements in the shape of a row, or block of rows, though all may be one number."""
        shape = (*self.lead, *outside.type.shape[len(self.shape) :])
        if found.type.shape == shape:
            return found
        with building(self.inner):
            return broadcast_to(found, shape=shape)

    def _params(self, op: Operation) -> dict[str, Any]:
        """Return the parameters of an operation on rows, or blocks of rows."""
        gone, lead = len(self.shape), len(self.lead)
        axis = along(op)
        if axis is not None and isinstance(op.primitive.along, str):
            return {**op.params, op.primitive.along: axis - gone + lead}
        if op.primitive is update_slice:
            return {"index": (*[None] * lead, *op.params["index"][gone:])}
        if op.primitive is reduce:
            axes = [axis - gone + lead for axis in op.params["axes"] if axis >= gone]
            return {**op.params, "axes": (*range(lead * is_total(op)), *axes)}
        return op.params

    def _read(self, op: Operation, place: int, size: DimLike) -> Value:
        """Return an operand within the map."""
        if is_count(op) and place == 0:
            return self._none(op)
        source, views = self.split.origin(op, place, self.own)
        is_number = product(source.type.shape) == 1
        if is_number or not has_rows(op, place):
            found = self._whole(op, place, source)
        else:
            found = self.inside.get(source)
            found = self._part(source, views, size) if found is None else found
        with building(self.inner):
            for view in views:
                self.inner.location = view._place
                found = self._viewed(view, found)
            if is_number and not is_elementwise(op):
                rest = op.operands[place].type.shape[len(self.shape) :]
                found = broadcast_to(found, shape=(*self.lead, *rest))
        return found

    def _none(self, op: Operation) -> Value:
        """Return what numbers are added to in each block; the whole array comes in behind."""
        type_ = op.results[0].type
        zero = np.zeros((), type_.dtype)
        zero = zero if type_.dtype.kind in "iu" else -zero  # 0.0 + -0.0 is 0.0
        with building(self.inner):
            start = constant(data=zero.tobytes(), type=array_type(type_.dtype, ()))
            return broadcast_to(start, shape=type_.shape)

    def _whole(self, op: Operation, place: int, value: Value) -> Value:
        """Return an operand that is the same for all rows."""
        own = value.type.shape
        rank = len(op.results[0].type.shape)
        rest = ((1,) * (rank - len(own)) + own)[len(self.shape) :] if product(own) != 1 else ()
        if op.primitive.indices is not None and place == 0:
            rest = own
        maker = self.split.makers.get(value)
        if maker is not None and maker.primitive is constant and value.type.nbytes <= 16:
            if value not in self.inside:
                self.inner.copy(maker, self.inside)
            with building(self.inner):
                return _shaped(self.inside[value], rest)
        return self._input(("whole", value, rest), lambda: _shaped(self.values[value], rest), None)

    def _part(self, source: Value, views: Sequence[Operation], size: DimLike) -> Value:
        """Return the rows that the map has of an array, some of which views take."""
        cuts = tuple([cut for view in views if (cut := outer(view)) is not None])

        def made() -> Value:
            x = self.values[source]
            for cut in cuts:
                x = slice_(x, index=(cut, *[None] * (x.type.ndim - 1)))
            rest = x.type.shape[len(self.shape) :]
            x = _shaped(x, (self.size, *rest))
            if self.count != self.size:
                part = (self.first, self.first + self.count, 1)
                x = slice_(x, index=(part, *[None] * len(rest)))
            return _shaped(x, (size, *self.lead, *rest))

        return self._input(("rows", source, cuts), made, 0)

    def _input(self, key: Any, made: Callable[[], Value], axis: int | None) -> Value:
        known = self.parts.get(key)
        if known is None:
            value = made()
            self.taken.append((value, axis))
            type_ = value.type if axis is None else example_type(value.type, 0)
            known = self.parts[key] = self.inner.input(type_)
        return known

    def _viewed(self, view: Operation, x: Value) -> Value:
        """Return what a view is of a row, or of a block of rows."""
        if view.primitive is reshape:
            return _shaped(x, (*self.lead, *view.params["shape"][1:]))
        index = view.params["index"][1:]
        return slice_(x, index=(*[None] * len(self.lead), *index)) if any(index) else x


def _shaped(value: Value, shape: Shape) -> Value:
    return value if value.type.shape == shape else reshape(value, shape=shape)
