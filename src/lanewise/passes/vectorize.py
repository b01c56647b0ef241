"""Lower `map` operations: push each map into the operations of its region.

Operations whose operands do not vary are hoisted as they stand; the others are batched by their own
rules; what has no rule runs one example at a time, as a sequential map around that operation. Host
code runs example by example too, with whatever lies between two calls of it, so that each example
finishes before the next begins, just as in a loop.

Of control flow, branches and loops of which all examples go the same way stay. Where the predicate
varies from example to example, the cheapest branches become straight-line code (passes/select.py);
others become a *divergent* map around the operation, for the runtime to run those examples together
that go the same way. A divergent map under another map is one over all pairs of examples.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from lanewise.errors import at
from lanewise.ir.dims import DimLike, product
from lanewise.ir.graph import Builder, Graph, Operation, Value, building, current_builder
from lanewise.ir.types import TokenType
from lanewise.ops.control import BRANCHES, CONTROL, carry_of
from lanewise.ops.movement import broadcast_to, reshape
from lanewise.ops.regions import (
    CHUNKED,
    DIVERGENT,
    NATIVE,
    PARALLEL,
    SEQUENTIAL,
    batched_type,
    map_,
)
from lanewise.ops.registry import Absent, Batch
from lanewise.ops.shapes import shape_of
from lanewise.passes.lanes import (
    BATCHED,
    DIVERGED,
    HOISTED,
    LOOPED,
    Lane,
    OpenRegion,
    Report,
    isolated,
    record_map,
    repeated,
    with_axis_first,
)
from lanewise.passes.select import selected
from lanewise.passes.specialize import all_symbols_of
from lanewise.passes.survive import meant


def vectorize(graph: Graph, report: Report | None = None) -> Graph:
    """Return the graph with every parallel map lowered to operations on whole batches.

    Raises
    ------
    ValueError
        If an operation has no batching rule and its map does not allow falling back, or a result
        that was announced as the same for all examples varies.
    """

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | None:
        if not op.regions or (op.primitive is map_ and op.params["order"] in (NATIVE, CHUNKED)):
            return None
        operands = tuple([values[value] for value in op.operands])
        regions = tuple([vectorize(region, report) for region in op.regions])
        if _is_parallel(op):
            return _lower_map(op.params, operands, regions[0], report)
        return current_builder().emit(op.primitive, operands, op.params, regions)

    return graph.rewritten(rule)


def in_turn(graph: Graph) -> Graph:
    """Return a graph with its parallel maps run one example after the other.

    Raises
    ------
    NotImplementedError
        If host code takes whole batches, which it would not get then.
    """
    return graph.changed(_in_turn)


def _in_turn(op: Operation) -> Operation:
    if op.params.get("vectorized"):
        raise NotImplementedError("host code takes the whole batch")
    if not op.regions or op.params.get("order") in (NATIVE, CHUNKED):
        return op
    params = {**op.params, "order": SEQUENTIAL} if _is_parallel(op) else op.params
    return op.with_regions(tuple(map(in_turn, op.regions)), params)


def _is_parallel(op: Operation) -> bool:
    params = op.params
    return op.primitive is map_ and params["order"] == PARALLEL and params["chunk"] is None


def _lower_map(
    params: dict[str, Any], operands: Sequence[Value], body: Graph, report: Report | None
) -> list[Value]:
    mapper = Mapper(params["size"], params["fallback"], report)
    given = [
        Lane(with_axis_first(operand, axis), axis is not None)
        for operand, axis in zip(operands, params["in_dims"], strict=True)
    ]
    results = []
    for index, lane in enumerate(mapper.run(body, given)):
        mapped = params["out_mapped"][index] and not isinstance(lane.value.type, TokenType)
        if lane.mapped and not mapped:
            text = f"result {index} of the mapped function differs from example to example"
            raise meant(ValueError(f"{text}, so its out_dims cannot be None"))
        results.append(repeated(lane, mapper.size) if mapped else lane.value)
    return results


@dataclass(slots=True)
class Mapper:
    """Pushes one map into the operations of its region, recording in the current builder."""

    size: DimLike
    fallback: bool
    report: Report | None = None
    lanes: dict[Value, Lane] = field(default_factory=dict)

    def run(self, body: Graph, given: Sequence[Lane]) -> list[Lane]:
        """Record the operations of a graph without parallel maps; return its outputs."""
        self.lanes.update(zip(body.inputs, given, strict=True))
        self._record(body.operations, body, _ordered_groups(body), set())
        return [self.lanes[value] for value in body.outputs]

    def _record(
        self,
        operations: Sequence[Operation],
        body: Graph,
        calls: dict[Operation, list[Operation]],
        done: set[Operation],
    ) -> None:
        """Record operations of `body` with what they depend on, those that are not yet `done`."""
        for op in operations:
            if op in done:
                continue
            if op not in calls and not self._is_own(op):
                self.operation(op)
                done.add(op)
                continue
            left = [x for x in body.operations[body.operations.index(op) :] if x not in done]
            if group := calls.get(op):
                later = _reached(left, group)
                before = [x for x in left[: left.index(group[-1])] if x not in later]
            else:
                group = _of_own_sizes(left)
                needed = _needed_by(left, group) - set(group)
                before = [x for x in left if x in needed]
            self._record(before, body, calls, done)
            self.loop(group, body)
            done.update(group)

    def _is_own(self, op: Operation) -> bool:
        """Whether an operation defines a size that each example has for itself."""
        return op.primitive.is_definition and self.lanes[op.operands[0]].mapped

    def region(self, graph: Graph, mapped: Sequence[bool]) -> OpenRegion:
        """Push the map into a region of an operation, whose inputs are `mapped` or not."""
        told: list[tuple[Operation, str, Sequence[Operation]]] = []
        report = None if self.report is None else lambda *row: told.append(row)
        builder = Builder()
        types = [
            batched_type(value.type, self.size) if varies else value.type
            for value, varies in zip(graph.inputs, mapped, strict=True)
        ]
        given = map(Lane, map(builder.input, types), mapped)
        with building(builder):
            outputs = Mapper(self.size, self.fallback, report).run(graph, list(given))
        return OpenRegion(builder, tuple(outputs), self.size, told, self.report)

    def operation(self, op: Operation) -> None:
        """Record one operation: hoisted, batched, looped or divergent."""
        lanes = [self.lanes[value] for value in op.operands]
        builder = current_builder()
        builder.location = op.location
        first = len(builder.operations)
        fate = BATCHED
        found: list[Lane] | None
        if not op.has_effect and not any(lane.mapped for lane in lanes):
            values = {value: self.lanes[value].value for value in op.operands}
            builder.copy(op, values)
            found, fate = [Lane(values[result], False) for result in op.results], HOISTED
        elif op.primitive in CONTROL:
            found = None
            if not op.has_effect or _takes_whole_batch(op):
                push = _push_into_branches if op.primitive in BRANCHES else _push_into_loop
                found = push(self, op, lanes)
            if found is None and not op.has_effect:
                plain = selected(op, [lane.mapped for lane in lanes])
                found = None if plain is None else self.run(plain, lanes)
            if found is None and not op.has_effect:
                found, fate = diverge(self, op, lanes), DIVERGED
        elif op.primitive is map_:
            found = self._batch_map(op, lanes)
        else:
            found = self._batch(op, lanes)
        if found is None:
            self.loop([op])
            return
        self.lanes.update(zip(op.results, found, strict=True))
        self._tell(op, fate, first)

    def _batch(self, op: Operation, lanes: list[Lane]) -> list[Lane] | None:
        """Record an operation by its batching rule; None if it has none."""
        rule = op.primitive.batch
        if isinstance(rule, Absent):
            return None
        batch = Batch(self.size, tuple([lane.mapped for lane in lanes]))
        params = {**op.params, "regions": op.regions} if op.regions else op.params
        results = rule(batch, *(lane.value for lane in lanes), **params)
        if isinstance(results, Absent):
            return None
        results = results if isinstance(results, (tuple, list)) else [results]
        return [Lane(result, not isinstance(result.type, TokenType)) for result in results]

    def loop(self, group: Sequence[Operation], body: Graph | None = None) -> None:
        """Record operations as a sequential map: one example after the other runs them all.

        Of operations on arrays of a size that each example has for itself, which `body` then is
        the graph of, only what others read is there afterwards.
        """
        op = group[0]
        is_sized = any([member.primitive.is_definition for member in group])
        if not self.fallback and not is_sized:
            culprit = _host_call(op)
            rule = culprit.primitive.batch
            reason = rule.reason if isinstance(rule, Absent) else "it runs once for each example"
            text = f"{culprit.primitive.name} cannot be vectorized: {reason}{at(culprit.location)}"
            advice = "Allow fallback_to_while_loop, or use an operation that can"
            raise meant(ValueError(f"{text}. {advice}"))
        results = [result for member in group for result in member.results]
        if is_sized and body is not None:
            others = [other for other in body.operations if other not in set(group)]
            read = {*body.outputs, *[value for other in others for value in other.operands]}
            results = [r for r in results if r in read or isinstance(r.type, TokenType)]
        tokens = [r for r in results if isinstance(r.type, TokenType)]
        outputs = [*tokens[-1:], *[r for r in results if r not in tokens]]
        region, taken = isolated(group, outputs)
        builder = current_builder()
        builder.location = op.location
        first = len(builder.operations)
        mapped = tuple([value not in tokens for value in outputs])
        operands = [self.lanes[value].operand for value in taken]
        recorded = record_map(region, operands, size=self.size, out_mapped=mapped, order=SEQUENTIAL)
        self.lanes.update(zip(outputs, map(Lane, recorded, mapped), strict=True))
        # Tokens inside the group are not used outside of it.
        self.lanes.update({token: self.lanes[tokens[-1]] for token in tokens})
        for member in group:
            self._tell(member, LOOPED, first)

    def _batch_map(self, op: Operation, lanes: list[Lane]) -> list[Lane] | None:
        """Record a map that stays, for all examples at once; None where its effects forbid it.

        The region of a sequential or chunked map takes the batch in.
        """
        if op.has_effect:
            return None
        if op.params["order"] == DIVERGENT:
            return _push_into_divergent(self, op, lanes)
        region = self.region(op.regions[0], [lane.mapped for lane in lanes])
        taken = [
            (lane.value, None if axis is None else axis + lane.mapped)
            for lane, axis in zip(lanes, op.params["in_dims"], strict=True)
        ]
        results = record_map(region.finish([True] * len(region.outputs)), taken, **op.params)
        return [
            Lane(with_axis_first(result, int(mapped)), True)
            for result, mapped in zip(results, op.params["out_mapped"], strict=True)
        ]

    def _tell(self, op: Operation, fate: str, first: int) -> None:
        if self.report is not None:
            self.report(op, fate, current_builder().operations[first:])


# --- control flow ---------------------------------------------------------------------------------


def _push_into_branches(mapper: Mapper, op: Operation, lanes: Sequence[Lane]) -> list[Lane] | None:
    """Record branches for all examples at once; None where they go different ways."""
    if lanes[0].mapped:
        return None
    taken = [lane.mapped for lane in lanes[1:]]
    branches = [mapper.region(region, taken) for region in op.regions]
    mapped = [any(which) for which in zip(*(branch.mapped for branch in branches), strict=True)]
    regions = tuple([branch.finish(mapped) for branch in branches])
    operands = tuple([lane.value for lane in lanes])
    results = current_builder().emit(op.primitive, operands, op.params, regions)
    return list(map(Lane, results, mapped))


def _push_into_loop(mapper: Mapper, op: Operation, lanes: Sequence[Lane]) -> list[Lane] | None:
    """Record a loop of which all examples take the same turns; None where they do not.

    Of the carry, what is the same for all of them stays so.
    """
    *tests, body = op.regions
    carry = carry_of(op)
    count, last = carry.stop - carry.start, carry.stop
    turn, taken = settled(mapper, body, [lane.mapped for lane in lanes], carry)
    questions = [mapper.region(test, taken) for test in tests]
    if any([question.mapped[0] for question in questions]):
        return None
    operands = [
        # The slices are along axis 0, so the batch goes behind it.
        with_axis_first(repeated(lane, mapper.size), int(place >= last)) if varies else lane.value
        for place, (lane, varies) in enumerate(zip(lanes, taken, strict=True))
    ]
    mapped = [*taken[carry], *turn.mapped[count:]]
    regions = (*[question.finish() for question in questions], turn.finish(mapped))
    results = current_builder().emit(op.primitive, tuple(operands), op.params, regions)
    return [
        Lane(with_axis_first(value, int(varies and place >= count)), varies)
        for place, (value, varies) in enumerate(zip(results, mapped, strict=True))
    ]


def settled(
    mapper: Mapper, body: Graph, mapped: Sequence[bool], carry: slice
) -> tuple[OpenRegion, list[bool]]:
    """Push a map into the body of a loop.

    Returns the body and which of its inputs vary: those `mapped`, and of the `carry` also what
    varies after some turns.
    """
    taken = list(mapped)
    while True:
        turn = mapper.region(body, taken)
        after = [a or b for a, b in zip(taken[carry], turn.mapped, strict=False)]
        if after == taken[carry]:
            return turn, taken
        taken[carry] = after


def diverge(mapper: Mapper, op: Operation, lanes: Sequence[Lane]) -> list[Lane]:
    """Record control flow that varies, as a divergent map around the operation."""
    region, taken = isolated([op], op.results)
    lane_of = dict(zip(op.operands, lanes, strict=True))
    operands = [lane_of[value].operand for value in taken]
    params = {"size": mapper.size, "order": DIVERGENT, "fallback": mapper.fallback}
    return [Lane(value, True) for value in record_map(region, operands, **params)]


def _push_into_divergent(mapper: Mapper, op: Operation, lanes: Sequence[Lane]) -> list[Lane]:
    """Record a divergent map under another map: one over all pairs of examples, as one axis."""
    pairs = mapper.size, op.params["size"]
    size = product(pairs)
    taken: list[tuple[Value, int | None]] = []
    for lane, axis in zip(lanes, op.params["in_dims"], strict=True):
        value = lane.value
        if axis is None and not lane.mapped:
            taken.append((value, None))
            continue
        if axis is None:  # the same for all inner examples
            _, *rest = shape_of(value)
            value = reshape(value, shape=(mapper.size, 1, *rest))
            value = broadcast_to(value, shape=(*pairs, *rest))
        else:
            value = repeated(lane, mapper.size)
        taken.append((reshape(value, shape=(size, *shape_of(value)[2:])), 0))
    results = record_map(op.regions[0], taken, **{**op.params, "size": size})
    return [Lane(reshape(x, shape=(*pairs, *shape_of(x)[1:])), True) for x in results]


# --- what goes together ---------------------------------------------------------------------------


def _host_call(op: Operation) -> Operation:
    """Return the host call for the sake of which an operation has an effect, else the operation."""
    calls = [x for x in op.walk() if x.has_effect and not x.regions]
    return calls[0] if calls else op


def _takes_whole_batch(op: Operation) -> bool:
    """Whether all host calls of an operation take the whole batch at once (``vectorized``)."""
    if op.primitive not in CONTROL:
        return bool(op.params.get("vectorized"))
    inner = [other for region in op.regions for other in region.operations]
    return all(_takes_whole_batch(other) for other in inner if other.has_effect)


def _ordered_groups(body: Graph) -> dict[Operation, list[Operation]]:
    """Return the runs of host calls that each example must finish before the next begins.

    A run holds the calls themselves, the checks of data between them (an example that fails ends
    the loop), and the operations that lead from one of them to the next. Calls that take the whole
    batch at once (``vectorized``) stand alone and end a run.
    """
    runs: list[list[Operation]] = [[]]
    for op in body.operations:
        if op.has_effect and _takes_whole_batch(op):
            runs.append([])
        elif op.must_run and not op.primitive.is_definition:
            runs[-1].append(op)
    groups: dict[Operation, list[Operation]] = {}
    for run in runs:
        if len(run) < 2 or not any(op.has_effect for op in run):
            continue
        found = _reached(body.operations, run) & _reached(body.operations, run, back=True)
        members = [op for op in body.operations if op in found]
        groups[members[0]] = members
    return groups


def _of_own_sizes(operations: Sequence[Operation]) -> list[Operation]:
    """Return what goes with the first operation, which defines a size that each example has.

    That is all that has arrays of the size, and what leads from one of these to another.
    """
    has = {op: all_symbols_of(op) for op in operations}
    defined = frozenset().union(*[has[op] for op in operations if op.primitive.is_definition])
    names = has[operations[0]] & defined
    while True:
        members = {op for op in operations if not names.isdisjoint(has[op])}
        later, needed = _reached(operations, members), _reached(operations, members, back=True)
        members = later & needed
        found = frozenset().union(*[has[op] for op in members]) & defined
        # What must come first, and goes with something that comes later, goes with it as well.
        before = frozenset().union(*[has[op] for op in needed - members]) & defined
        after = frozenset().union(*[has[op] for op in later - members])
        found |= before & after
        if found == names:
            return [op for op in operations if op in members]
        names = found


def _needed_by(operations: Sequence[Operation], group: Sequence[Operation]) -> set[Operation]:
    """Return the operations that some depend on, also for their sizes, and these themselves."""
    needed: set[Operation] = set()
    found = set(group)
    while found != needed:
        needed = _reached(operations, found, back=True)
        names = frozenset().union(*[all_symbols_of(op) for op in needed])
        found = needed | {
            op for op in operations
            if op.primitive.is_definition and not names.isdisjoint(op.signature.defines)
        }  # fmt: skip
    return needed


def _reached(
    operations: Sequence[Operation], roots: Collection[Operation], back: bool = False
) -> set[Operation]:
    """Return the operations that use a result of a root, directly or not, and the roots.

    Going back, those that a root depends on.
    """
    first, found = set(roots), set[Operation]()
    values: set[Value] = set()
    for op in reversed(operations) if back else operations:
        near, far = (op.results, op.operands) if back else (op.operands, op.results)
        if op in first or not values.isdisjoint(near):
            found.add(op)
            values.update(far)
    return found
