"""Prune an operation with regions: the operands, carries and results that nobody needs go.

* A result that is an operand in disguise (all branches hand it on, no turn of a loop changes it) is
  replaced by that operand. A carry that no turn changes becomes a capture.
* Results that nobody uses go; of a loop, those carries too on which nothing needed depends.
* Operands that no region reads go, and equal ones are handed over once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable
from functools import partial
from typing import Any

from lanewise.ir.graph import Graph, Operation, Signature, Value
from lanewise.ir.types import TokenType
from lanewise.ops.control import BRANCHES, LOOPS, carry_of, scan, while_
from lanewise.ops.movement import broadcast_to
from lanewise.ops.regions import DIVERGENT, PARALLEL, map_


class _Form:
    """How operands, the inputs and outputs of regions, and results belong together.

    Operands that are ``given`` are no inputs of the regions: the predicate. The inputs of every
    region are the other ``operands``. ``carry`` are the positions of those that change from turn to
    turn, to which the first results belong, ``slices`` of those that are slices of an operand. The
    outputs of ``tests`` are not the results; those of ``regions`` are.
    """

    def __init__(self, op: Operation) -> None:
        given, tests = int(op.primitive in BRANCHES), int(op.primitive is while_)
        self.given, self.operands = op.operands[:given], op.operands[given:]
        count = len(self.operands)
        place = carry_of(op) if op.primitive in LOOPS else slice(count, count)
        self.carry, self.slices = range(place.start, place.stop), range(place.stop, count)
        self.tests, self.regions = list(op.regions[:tests]), list(op.regions[tests:])

    def rewrite(self, change: Callable[[Graph], Graph]) -> None:
        self.tests = [change(region) for region in self.tests]
        self.regions = [change(region) for region in self.regions]


def prune(
    op: Operation, used: Container[Value], simplify: Callable[..., Graph]
) -> tuple[list[Operation], dict[Value, Value]]:
    """Return what computes the used results of an operation with regions, and nothing more.

    That is operations, in order, and the operands that take the place of some results. ``simplify``
    simplifies a region; with ``is_within``, one that it did, of which fewer outputs are needed now.
    """
    if op.primitive is map_ and op.params["order"] == PARALLEL:
        # It will be lowered, and the size of a chunk is read off the operands.
        return [op.with_regions((simplify(op.regions[0]),))], {}
    form = _Form(op)
    form.rewrite(simplify)
    needed = [result in used or isinstance(result.type, TokenType) for result in op.results]
    fixed = _merge_operands(op, form)
    same, repeated = _handed_on(op, form, fixed)
    replaced = {op.results[j]: form.operands[p] for j, p in same.items() if needed[j]}
    kept = [j for j, need in enumerate(needed) if need and j not in same and j not in repeated]
    carried = {p: j for j, p in enumerate(form.carry) if p not in fixed}
    kept = _restrict(form, kept, carried, partial(simplify, is_within=True))

    read = _read(form)
    carry = [p for p, j in carried.items() if j in kept]
    slices = [p for p in form.slices if p in read]
    captures = [p for p in sorted(read) if p not in carry and p not in form.slices]
    order = [*captures, *carry, *slices]
    form.rewrite(lambda r: r.having([r.inputs[p] for p in order], r.operations, r.outputs))
    regions = (*form.tests, *form.regions)
    is_whole = order == [*range(len(form.operands))] and len(kept) == len(op.results)
    if is_whole and regions == op.regions:
        return [op], {}
    results = tuple([op.results[j] for j in kept])
    signature = Signature(
        op.primitive,
        _params(op, order, kept, len(captures), len(carry)),
        tuple([result.type for result in results]),
        regions,
        is_interned=False,
    )
    operands = (*form.given, *[form.operands[p] for p in order])
    made = [op.with_operands(operands, signature, results)]
    for j, p in repeated.items():
        value, result = form.operands[p], op.results[j]
        repeat = broadcast_to.signature((value.type,), {"shape": result.type.shape})
        made.append(op.with_operands((value,), repeat, (result,)))
    return made, replaced


def _merge_operands(op: Operation, form: _Form) -> set[int]:
    """Read operands that are handed over twice from the first place; find what never changes.

    Returns the positions of the inputs that are an operand, as it is, the whole time.
    """
    in_dims = op.params["in_dims"] if op.primitive is map_ else (None,) * len(form.operands)
    fixed = set(range(len(form.operands))) - {*form.carry, *form.slices}
    while True:
        first: dict[Hashable, int] = {}
        alike = {
            p: first.setdefault((form.operands[p], p in fixed, in_dims[p]), p)
            for p in sorted({*fixed, *form.slices})
        }
        form.rewrite(partial(_merged, alike=alike))
        position = {value: p for p, value in enumerate(form.regions[0].inputs)}
        grown = set()
        for p, output in zip(form.carry, form.regions[0].outputs, strict=False):
            q = position.get(output)
            if q == p or (q in fixed and form.operands[q] is form.operands[p]):
                grown.add(p)
        if grown <= fixed:
            return fixed
        fixed |= grown


def _merged(region: Graph, alike: dict[int, int]) -> Graph:
    """Return a region that reads other inputs in the place of those that are alike."""
    inputs = region.inputs
    return substituted(region, {inputs[p]: inputs[q] for p, q in alike.items() if p != q})


def _handed_on(
    op: Operation, form: _Form, fixed: set[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Return which results are an operand as it is, and which repeat one for each example."""
    if form.carry:
        return {j: p for j, p in enumerate(form.carry) if p in fixed}, {}
    same: dict[int, int] = {}
    repeated: dict[int, int] = {}
    places = [{value: p for p, value in enumerate(region.inputs)} for region in form.regions]
    for j in range(len(op.results)):
        found = {
            place.get(region.outputs[j]) for place, region in zip(places, form.regions, strict=True)
        }
        p = found.pop()
        if found or p is None or op.primitive is scan:
            continue
        if op.primitive is not map_:
            same[j] = p
            continue
        axis, mapped = op.params["in_dims"][p], op.params["out_mapped"][j]
        if (axis, mapped) in ((0, True), (None, False)):
            same[j] = p
        elif axis is None and op.params["order"] == DIVERGENT:
            repeated[j] = p
    return same, repeated


def _restrict(
    form: _Form, kept: list[int], carried: dict[int, int], simplify: Callable[[Graph], Graph]
) -> list[int]:
    """Take the results out of the regions that are not kept; return which are, after all.

    A carry that a region still reads is kept, and with it what it depends on.
    """

    def restricted(region: Graph) -> Graph:
        if len(kept) == len(region.outputs):
            return region
        outputs = [region.outputs[j] for j in kept]
        return simplify(Graph(region.inputs, region.operations, outputs))

    full = form.regions
    while True:
        form.regions = list(map(restricted, full))
        read = _read(form)
        more = [j for p, j in carried.items() if p in read and j not in kept]
        if not more:
            return kept
        kept = sorted([*kept, *more])


def _read(form: _Form) -> set[int]:
    """Return the positions of the inputs that a region reads."""
    read: set[int] = set()
    for region in (*form.tests, *form.regions):
        values = {value for op in region.operations for value in op.operands}
        values.update(region.outputs)
        read.update(p for p, value in enumerate(region.inputs) if value in values)
    return read


def _params(
    op: Operation, order: list[int], kept: list[int], captures: int, carry: int
) -> dict[str, Any]:
    """Return the parameters after the operands in `order` and the results `kept` are left."""
    params = op.params
    changed: dict[str, Any] = {"captures": captures, "carry": carry}
    if op.primitive is map_:
        changed["in_dims"] = tuple([params["in_dims"][p] for p in order])
        for name in ("out_mapped", "columns"):
            changed[name] = tuple([params[name][j] for j in kept]) if params[name] else ()
    return {name: changed.get(name, value) for name, value in params.items()}


def substituted(graph: Graph, instead: dict[Value, Value]) -> Graph:
    """Return a graph that reads other values in the place of some."""
    if not instead:
        return graph

    def final(value: Value) -> Value:
        while value in instead:
            value = instead[value]
        return value

    operations = []
    for op in graph.operations:
        operands = tuple(map(final, op.operands))
        operations.append(op if operands == op.operands else op.with_operands(operands))
    return graph.having(graph.inputs, operations, [final(value) for value in graph.outputs])
