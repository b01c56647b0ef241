"""Lower `map` operations: push each map into the operations of its region.

Operations whose operands do not vary are hoisted as they stand; the others are batched by their own
rules; what has no rule runs one example at a time, as a sequential map around that operation. Host
code runs example by example too, with whatever lies between two calls of it, so that each example
finishes before the next begins, just as in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.errors import at
from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Builder, Graph, Operation, Value, building, current_builder
from lanewise.ir.types import TokenType
from lanewise.ops.movement import repeat_unmapped, transpose
from lanewise.ops.regions import SEQUENTIAL, batched_type, map_
from lanewise.ops.registry import Absent, Batch
from lanewise.ops.shapes import rank_of

HOISTED, BATCHED, LOOPED = "hoisted", "batched", "looped"
#: Told what became of each operation of a region: the operation, the fate, and the new operations.
Report = Callable[[Operation, str, Sequence[Operation]], None]


def vectorize(graph: Graph, report: Report | None = None) -> Graph:
    """Return the graph with every parallel map lowered to operations on whole batches.

    Raises
    ------
    ValueError
        If an operation has no batching rule and its map does not allow falling back, or a result
        that was announced as the same for all examples varies.
    """
    builder = Builder()
    values = {value: builder.input(value.type) for value in graph.inputs}
    with building(builder):
        for op in graph.operations:
            if op.primitive is map_:
                builder.location = op.location
                operands = [values[value] for value in op.operands]
                values.update(zip(op.results, _lower_map(op, operands, report), strict=True))
            else:
                builder.copy(op, values)
    return builder.finish([values[value] for value in graph.outputs])


@dataclass(frozen=True, slots=True)
class _Lane:
    """A value of the region in the batched graph, and whether it has the batch as axis 0."""

    value: Value
    mapped: bool


def _lower_map(op: Operation, operands: list[Value], report: Report | None) -> list[Value]:
    (body,) = op.regions
    params = op.params
    if params["order"] == SEQUENTIAL or params["chunk"] is not None:
        body = vectorize(body, report)
        results = map_(*operands, regions=(body,), **params)
        return list(results) if isinstance(results, tuple) else [results]
    lanes = {}
    for inner, operand, axis in zip(body.inputs, operands, params["in_dims"], strict=True):
        lanes[inner] = _Lane(_axis_to_front(operand, axis), axis is not None)
    mapper = _Mapper(params["size"], params["fallback"], lanes, report)
    mapper.run(vectorize(body, report), body)
    results = []
    for index, mapped in enumerate(params["out_mapped"]):
        lane = mapper.lanes[mapper.outputs[index]]
        if isinstance(lane.value.type, TokenType):
            results.append(lane.value)
        elif mapped:
            results += repeat_unmapped(Batch(mapper.size, (lane.mapped,)), lane.value)
        elif lane.mapped:
            raise ValueError(
                f"result {index} of the mapped function differs from example to example, so its "
                "out_dims cannot be None"
            )
        else:
            results.append(lane.value)
    return results


def _axis_to_front(value: Value, axis: int | None) -> Value:
    if not axis:
        return value
    rest = (i for i in range(rank_of(value)) if i != axis)
    return transpose(value, axes=(axis, *rest))


class _Mapper:
    """Pushes one map into the operations of its region, recording in the current builder."""

    def __init__(
        self, size: DimLike, fallback: bool, lanes: dict[Value, _Lane], report: Report | None
    ) -> None:
        self.size = size
        self.fallback = fallback
        self.lanes = lanes
        self.report = report
        self.outputs: tuple[Value, ...] = ()

    def run(self, body: Graph, original: Graph) -> None:
        """Record the batched operations of `body`, whose inputs are those of `original`."""
        for inner, outer in zip(body.inputs, original.inputs, strict=True):
            self.lanes[inner] = self.lanes[outer]
        self.outputs = body.outputs
        groups = _ordered_groups(body)
        done: set[Operation] = set()
        for position, op in enumerate(body.operations):
            if op in done:
                continue
            group = groups.get(op)
            if group is None:
                self.operation(op)
                continue
            later = _dependents(body.operations[position:], group)
            for other in body.operations[position : body.operations.index(group[-1])]:
                if other not in later and other not in done:
                    self.operation(other)
                    done.add(other)
            self.loop(group)
            done.update(group)

    def operation(self, op: Operation) -> None:
        """Record one operation: hoisted, batched or looped."""
        lanes = [self.lanes[value] for value in op.operands]
        builder = current_builder()
        builder.location = op.location
        first = len(builder.operations)
        if not op.has_effect and not any(lane.mapped for lane in lanes):
            values = {value: self.lanes[value].value for value in op.operands}
            builder.copy(op, values)
            self._enter(op, [values[result] for result in op.results], False)
            self._tell(op, HOISTED, first)
            return
        if op.primitive is map_:
            results: Any = self._batch_sequential_map(op, lanes)
        elif isinstance(op.primitive.batch, Absent):
            results = op.primitive.batch
        else:
            batch = Batch(self.size, tuple(lane.mapped for lane in lanes))
            results = op.primitive.batch(batch, *(lane.value for lane in lanes), **op.params)
        if isinstance(results, Absent):
            self.loop([op])
            return
        self._enter(op, results if isinstance(results, (tuple, list)) else [results], True)
        self._tell(op, BATCHED, first)

    def loop(self, group: Sequence[Operation]) -> None:
        """Record operations as a sequential map: one example after the other runs them all."""
        op = group[0]
        if not self.fallback:
            culprit = _host_call(op)
            rule = culprit.primitive.batch
            reason = rule.reason if isinstance(rule, Absent) else "it runs once for each example"
            raise ValueError(
                f"{culprit.primitive.name} cannot be vectorized: {reason}{at(culprit.location)}. "
                "Allow fallback_to_while_loop, or use an operation that can"
            )
        inner = Builder()
        values: dict[Value, Value] = {}
        operands: list[_Lane] = []
        for member in group:
            for value in member.operands:
                if value not in values:
                    values[value] = inner.input(value.type)
                    operands.append(self.lanes[value])
            inner.copy(member, values)
        results = [result for member in group for result in member.results]
        last_token = [r for r in results if isinstance(r.type, TokenType)][-1:]
        arrays = [r for r in results if not isinstance(r.type, TokenType)]
        outputs = [*last_token, *arrays]
        body = inner.finish([values[result] for result in outputs])
        builder = current_builder()
        builder.location = op.location
        first = len(builder.operations)
        recorded = map_(
            *(lane.value for lane in operands),
            regions=(body,),
            size=self.size,
            in_dims=tuple(0 if lane.mapped else None for lane in operands),
            out_mapped=tuple(not isinstance(value.type, TokenType) for value in outputs),
            order=SEQUENTIAL,
            chunk=None,
            fallback=True,
        )
        recorded = recorded if isinstance(recorded, tuple) else (recorded,)
        for result, value in zip(outputs, recorded, strict=True):
            self.lanes[result] = _Lane(value, not isinstance(value.type, TokenType))
        for member in group:  # tokens inside the group are not used outside of it
            for result in member.results:
                if isinstance(result.type, TokenType):
                    self.lanes[result] = self.lanes[last_token[0]]
            self._tell(member, LOOPED, first)

    def _batch_sequential_map(self, op: Operation, lanes: list[_Lane]) -> Any:
        """Batch a sequential or chunked map without effects: its region takes the batch in."""
        if op.has_effect:
            return Absent("its region runs host code, in order")
        (body,) = op.regions
        inner = Builder()
        inner_lanes = {}
        operands, in_dims = [], []
        for value, lane, axis in zip(body.inputs, lanes, op.params["in_dims"], strict=True):
            type_ = value.type
            if lane.mapped:
                type_ = batched_type(type_, self.size)
            inner_lanes[value] = _Lane(inner.input(type_), lane.mapped)
            operands.append(lane.value)
            in_dims.append(None if axis is None else axis + lane.mapped)
        with building(inner):
            mapper = _Mapper(self.size, self.fallback, inner_lanes, self.report)
            mapper.run(body, body)
            outputs = [
                repeat_unmapped(
                    Batch(self.size, (mapper.lanes[value].mapped,)), mapper.lanes[value].value
                )[0]
                for value in body.outputs
            ]
        region = inner.finish(outputs)
        results = map_(*operands, regions=(region,), **{**op.params, "in_dims": tuple(in_dims)})
        results = results if isinstance(results, tuple) else (results,)
        return [
            transpose(r, axes=(1, 0, *range(2, rank_of(r)))) if mapped else r
            for r, mapped in zip(results, op.params["out_mapped"], strict=True)
        ]

    def _enter(self, op: Operation, results: Iterable[Value], mapped: bool) -> None:
        for value, result in zip(op.results, results, strict=True):
            self.lanes[value] = _Lane(result, mapped and not isinstance(result.type, TokenType))

    def _tell(self, op: Operation, fate: str, first: int) -> None:
        if self.report is not None:
            self.report(op, fate, current_builder().operations[first:])


def _host_call(op: Operation) -> Operation:
    """Return the host call for the sake of which an operation has an effect, else the operation."""
    while op.has_effect and op.regions:
        op = next(inner for inner in op.regions[0].operations if inner.has_effect)
    return op


def _ordered_groups(body: Graph) -> dict[Operation, list[Operation]]:
    """Return the runs of host calls that each example must finish before the next begins.

    A run holds the calls themselves and the operations that lead from one of them to the next.
    Calls that take the whole batch at once (``vectorized``) stand alone and end a run.
    """
    runs: list[list[Operation]] = [[]]
    for op in body.operations:
        if op.has_effect:
            if op.params.get("vectorized"):
                runs.append([])
            else:
                runs[-1].append(op)
    groups: dict[Operation, list[Operation]] = {}
    for run in runs:
        if len(run) < 2:
            continue
        after = _dependents(body.operations, run)
        needed = _ancestors(body.operations, run)
        members = [op for op in body.operations if op in run or (op in after and op in needed)]
        groups[members[0]] = members
    return groups


def _dependents(operations: Sequence[Operation], roots: Sequence[Operation]) -> set[Operation]:
    """Return the operations that use a result of a root, directly or not, and the roots."""
    found = set(roots)
    values = {result for op in roots for result in op.results}
    for op in operations:
        if op in found or not values.isdisjoint(op.operands):
            found.add(op)
            values.update(op.results)
    return found


def _ancestors(operations: Sequence[Operation], roots: Sequence[Operation]) -> set[Operation]:
    """Return the operations that a root depends on, directly or not, and the roots."""
    found: set[Operation] = set()
    values: set[Value] = set()
    for op in reversed(operations):
        if op in roots or not values.isdisjoint(op.results):
            found.add(op)
            values.update(op.operands)
    return found
