"""Each pass by itself, on the graphs of the text files beside this module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.text import format_graph
from lanewise.ops.control import scan
from lanewise.passes.assume import assumed
from lanewise.passes.batches import (
    count_maps,
    has_kernels,
    in_chunks,
    may_spread,
    spread_batches,
)
from lanewise.passes.chosen import write_chosen
from lanewise.passes.edges import edge, is_total
from lanewise.passes.elements import over_elements
from lanewise.passes.fitting import fits
from lanewise.passes.forward import forwarded
from lanewise.passes.frames import Again, Dependent, Key, Kind, Own, Part, Running, Same, Turn
from lanewise.passes.inline import inline, inline_left
from lanewise.passes.interchange import interchanged
from lanewise.passes.lanes import isolated, with_axis_first
from lanewise.passes.masks import under_masks
from lanewise.passes.order import order_by_sizes
from lanewise.passes.paths import Masks, bounded, direct
from lanewise.passes.pipeline import batched_loop, batched_region, fresh_symbol, one_by_one
from lanewise.passes.points import pointed
from lanewise.passes.prune import prune, substituted
from lanewise.passes.reshapes import reshape_late
from lanewise.passes.rowwise import is_large, is_rowwise, leading
from lanewise.passes.rowwise import is_total as takes_rows_together
from lanewise.passes.scalar_replacement import scalar_replaced
from lanewise.passes.select import selected
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.passes.single import as_maps
from lanewise.passes.specialize import specialized, unknown_sizes
from lanewise.passes.spread import spread
from lanewise.passes.turns import Turns
from lanewise.passes.vectorize import Mapper, in_turn, settled, vectorize
from lanewise.passes.written_parts import write_parts
from support.cases import Case, cases_beside
from support.steps import check, operations

Flags = Sequence[bool]


def _last_with_regions(graph: Graph) -> Operation:
    return next(op for op in reversed(graph.operations) if op.regions)


def _simplified(graph: Graph) -> Graph:
    """Return a graph merged and pruned, of which nothing is left to prune."""
    found = eliminate_dead(merge_repeated(graph))
    assert format_graph(eliminate_dead(found)) == format_graph(found)
    return found


def _fates(graph: Graph) -> str:
    """Return what `vectorize` tells of the operations under maps."""
    told: list[str] = []
    vectorize(graph, lambda op, fate, new: told.append(f"{op.primitive.name}: {fate}"))
    return "\n".join(told)


def _settled(graph: Graph, mapped: Flags) -> str:
    """Return which inputs of a loop's body vary, after as many iterations as it takes."""
    op = _last_with_regions(graph)
    first = op.params["captures"]
    last = first + op.params.get("carry", len(op.operands) - first)
    body = op.regions[-1]
    _, taken = settled(Mapper(4, True), body, mapped, slice(first, last))
    names = zip(body.inputs, taken, strict=True)
    return "\n".join([f"%{v.index}: {'varies' if t else 'is the same'}" for v, t in names])


def _pruned(graph: Graph) -> Graph:
    """Return the graph with its last operation with regions pruned to what the outputs need."""
    op = _last_with_regions(graph)

    def simplify(region: Graph, is_within: bool = False) -> Graph:
        return eliminate_dead(region, True) if is_within else region

    made, replaced = prune(op, set(graph.outputs), simplify)
    place = graph.operations.index(op)
    operations = [*graph.operations[:place], *made, *graph.operations[place + 1 :]]
    return substituted(Graph(graph.inputs, operations, graph.outputs), replaced)


def _selected(graph: Graph, mapped: Flags) -> Graph | str:
    """Return the straight-line code for a `cond` whose operands are the graph's inputs."""
    found = selected(_last_with_regions(graph), mapped)
    return "stays a branch" if found is None else found


def _isolated(graph: Graph, names: Sequence[str]) -> str:
    """Return some operations as a region, and the values of the graph that it takes."""
    group = [op for op in graph.operations if op.primitive.name in names]
    region, taken = isolated(group, [value for op in group for value in op.results])
    return f"{format_graph(region)}\ntakes {_names(taken)}"


def _with_axis_first(graph: Graph, axis: int | None) -> str:
    found = _with_outputs(graph, lambda values: [with_axis_first(v, axis) for v in values])
    return format_graph(found)


def _edge(graph: Graph, axis: int, first: int, last: int) -> str:
    """Return the graph with an edge of its outputs in their place, without what is not needed."""
    found = _with_outputs(graph, lambda values: [edge(v, axis, first, last) for v in values])
    return format_graph(eliminate_dead(found))


def _with_outputs(graph: Graph, change: Callable[[list[Value]], list[Value]]) -> Graph:
    """Return the graph with other outputs, which are recorded from its own."""
    builder = Builder()
    with building(builder):
        inputs = [builder.input(value.type) for value in graph.inputs]
        return builder.finish(change(builder.inline(graph, inputs)))


def _masks(graph: Graph) -> str:
    """Return between which ends masks let through of the values that they are chosen by."""
    masks = Masks(graph)

    def say(op: Operation) -> str | None:
        ends = masks.on(op.operands[0], op.results[0]) if op.primitive.name == "where" else None
        if ends is None:
            return None
        low, high = [None if v is None else f"%{v.index}" for v in (ends.low, ends.high)]
        return f"axis {ends.axis}, from {low or 0} to {high or ends.size}"

    return operations(graph, say)


def _rowwise(graph: Graph) -> str:
    def say(op: Operation) -> str | None:
        if not is_rowwise(op):
            return None
        large = "large, " if is_large(op) else ""
        rows = "takes rows together" if takes_rows_together(op) else "rowwise"
        return f"{large}{rows} along {leading(op)} axes"

    return operations(graph, say)


def _sizes(graph: Graph) -> str:
    return f"unknown: {', '.join(sorted(unknown_sizes(graph)))}"


def _batched_region(graph: Graph, mapped: Flags) -> str:
    """Return a graph as a region of a divergent map over the examples that run it."""
    region, varies = batched_region(graph, mapped, fresh_symbol(graph), True)
    return f"{format_graph(region)}\nvaries: {varies}"


def _batched_loop(graph: Graph, mapped: Flags) -> str:
    op = _last_with_regions(graph)
    test, body, varies = batched_loop(op, mapped, fresh_symbol(graph), True)
    return f"{format_graph(test)}\n{format_graph(body)}\nvaries: {varies}"


class _Noting(Turns):
    """Notes of what kind the results of a loop's operations are."""

    def _operation(self, frame, op, kinds):
        found = super()._operation(frame, op, kinds)
        for value, kind in zip(op.results, found, strict=True):
            self.noted.append(f"%{value.index} = {op.primitive.name}: {_kind(kind)}")
        return found

    noted: list[str]


def _kind(kind: Kind) -> str:
    match kind:
        case Same():
            return "the same in all iterations"
        case Turn(step, start):
            return f"{step} * iteration + {start}"
        case Own():
            return "the iteration's own"
        case Part(carry, axes, _, cell):
            written = "" if cell is None else ", its own cell written"
            return f"a part of carry {carry}, axes {axes}{written}"
        case Running(carry, fn, terms):
            name = "nothing yet" if fn is None else f"{fn.__name__} of {len(terms)} more"
            return f"the running total of carry {carry}: {name}"


def _turns(graph: Graph) -> str:
    """Return of what kind values in the body of a scan are, or that iterations are dependent."""
    op = _last_with_regions(graph)
    assert op.primitive is scan
    first, count = op.params["captures"], op.params["carry"]
    carry = op.operands[first : first + count]
    turns = _Noting(op.params["length"], [v.type for v in carry], Builder())
    while True:
        turns.begin()
        turns.noted = []
        kinds: list[Kind] = [Same(value) for value in op.operands[:first]]
        for number, value in enumerate(carry):
            axes = tuple(range(value.type.ndim))
            part = Part(number, axes, ("carry", number), None)
            kinds.append(part if axes else Running(number))
        kinds += [Turn(1, 0)] * (len(op.operands) - first - count)
        try:
            turns.run(turns.frame, op.regions[0], kinds)
        except Again:
            continue
        except Dependent:
            turns.noted.append("then an iteration needs another")
        for number, (value, cell) in enumerate(zip(carry, turns.cells, strict=True)):
            if value.type.ndim:
                places = [f"axis {axis} at {_place(key)}" for axis, key in cell.items()]
                place = ", ".join(places) or "not told apart"
                turns.noted.append(f"the iteration's own cell of carry {number}: {place}")
        return "\n".join(turns.noted)


def _place(key: Key) -> str:
    return f"{key[1]} * iteration + {key[2]}" if key[0] == "turn" else "data"


def _is_total(graph: Graph) -> str:
    return operations(graph, lambda op: "total" if is_total(op) else "may fail")


def _holds(graph: Graph) -> str:
    """Return what the steps for few and many examples ask of a graph."""
    asked = [
        f"{count_maps(graph)} maps",
        "something to spread" if may_spread(graph) else "nothing to spread",
        "kernels" if has_kernels(graph) else "no kernel",
    ]
    return ", ".join(asked)


def _names(values: Sequence[Value]) -> str:
    return ", ".join([f"%{value.index}" for value in values])


def _assumed(graph: Graph, **sizes: int) -> str:
    """Return what sizes show, what others are then, and the graph of which that is assumed."""
    found = assumed(graph, sizes)
    if found is None:
        return "nothing"
    lines = [f"{name} = {dim}" for name, dim in found.sizes.items()]
    for other in ({name: size + 1 for name, size in sizes.items()}, dict.fromkeys(sizes, 1)):
        lines.append(f"of {other}: {found.solved(other) or 'not these'}")
    return "\n".join([*lines, format_graph(found.graph)])


STEPS = {
    "as_maps": as_maps,
    "assumed": _assumed,
    "batched_loop": _batched_loop,
    "batched_region": _batched_region,
    "bounded": lambda graph: bounded(graph, 0),
    "direct": lambda graph, most=0, least=1: direct(graph, most, least),
    "edge": _edge,
    "eliminate_dead": eliminate_dead,
    "fates": _fates,
    "fits": lambda graph, **sizes: str(fits(graph, sizes)),
    "forwarded": forwarded,
    "scalar_replaced": scalar_replaced,
    "holds": _holds,
    "in_chunks": in_chunks,
    "in_turn": in_turn,
    "inline": inline,
    "inline_left": inline_left,
    "interchanged": interchanged,
    "is_total": _is_total,
    "isolated": _isolated,
    "masks": _masks,
    "merge_repeated": merge_repeated,
    "one_by_one": one_by_one,
    "order_by_sizes": lambda graph: format_graph(order_by_sizes(graph)),
    "over_elements": over_elements,
    "pointed": pointed,
    "prune": _pruned,
    "reshape_late": reshape_late,
    "rowwise": _rowwise,
    "selected": _selected,
    "settled": _settled,
    "simplified": _simplified,
    "sizes": _sizes,
    "specialized": lambda graph, **sizes: specialized(graph, sizes),
    "spread": spread,
    "spread_batches": lambda graph, lanes: spread_batches(graph, lambda *_: lanes),
    "turns": _turns,
    "under_masks": under_masks,
    "vectorize": vectorize,
    "with_axis_first": _with_axis_first,
    "write_chosen": lambda graph: eliminate_dead(write_chosen(graph)),
    "write_parts": write_parts,
}


@pytest.mark.parametrize("case", cases_beside(__file__))
def test_step(case: Case):
    check(case, STEPS)
