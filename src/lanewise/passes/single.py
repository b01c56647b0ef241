"""A function without a batch as a map of one example, which is what kernels are made of.

Operations outside of maps run once. Those that need no map's results, and those behind maps, are
put together into maps of one example each: as few as the maps between them allow. Then whatever
finds kernels in maps finds them here. The interpreter runs the graph as it was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import groupby

from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.types import ArrayType, symbols_in
from lanewise.ops.control import BRANCHES
from lanewise.ops.creation import constant, iota
from lanewise.ops.facts import Kind, count, is_made_anew
from lanewise.ops.movement import concatenate, reshape, slice_
from lanewise.passes.batches import count_maps
from lanewise.passes.lanes import isolated, record_map
from lanewise.passes.order import order_by_sizes
from lanewise.passes.rowwise import FEWEST
from lanewise.passes.specialize import all_symbols_of, defined_sizes, unknown_sizes

#: Arrays of more elements than this are large.
LARGE = 1024


def as_maps(graph: Graph) -> Graph:
    """Return a graph of which all that computes stands in maps; one that consists of maps as it is.

    Constants stay where they are, and so do operations with effects, and those that move much.
    Kernels are told the sizes of the inputs, and those that the graph has defined before.
    """
    known = unknown_sizes(Graph(graph.inputs, (), ())) | defined_sizes(graph)
    graph = order_by_sizes(graph)
    stages = _stages(graph, known)
    if not any(number % 2 for number in stages.values()):
        return graph
    builder = Builder()
    values = {value: builder.input(value.type) for value in graph.inputs}
    makers = graph.makers
    needed = set(graph.outputs)  # what is taken by another stage than made it
    for op in graph.operations:
        needed.update([v for v in op.operands if v in makers and stages[makers[v]] != stages[op]])

    def record(members: Sequence[Operation]) -> None:
        """Record operations as a map of one example, and enter those results that are needed."""
        own = {result for op in members for result in op.results}
        group: dict[Operation, None] = {}
        for op in members:
            for value in op.operands:
                if value not in own:
                    group.update(dict.fromkeys(_made_of_nothing(value, makers)))
            group[op] = None
        given = [result for op in members for result in op.results if result in needed]
        region, taken = isolated(list(group), given)
        builder.location = members[0].place
        results = record_map(region, [(values[value], None) for value in taken], size=1)
        for value, result in zip(given, results, strict=True):
            values[value] = reshape(result, shape=value.type.shape)

    stage_of = stages.__getitem__
    with building(builder):
        for number, members in groupby(sorted(graph.operations, key=stage_of), stage_of):
            if number % 2:
                record(list(members))
                continue
            for op in members:
                builder.copy(op, values)
    return builder.finish([values[value] for value in graph.outputs])


def _stages(graph: Graph, known: Set[str]) -> dict[Operation, int]:
    """Return when each operation runs: odd numbers are stages of what is put into maps."""
    gathered = _gathered(graph, known)
    stages: dict[Operation, int] = {}
    made: dict[Value | str, int] = {}
    for op in graph.operations:
        if op.primitive is constant:
            stages[op] = 0
            continue
        needed = (*op.operands, *all_symbols_of(op))
        least = max([made.get(value, 0) for value in needed], default=0)
        stages[op] = number = least + (least % 2 != int(op in gathered))
        given = symbols_in(op.params["size"]) if op.primitive.is_definition else op.results
        made.update(dict.fromkeys(given, number))
    return stages


def _gathered(graph: Graph, known: Set[str]) -> set[Operation]:
    """Return the operations that are put into maps, `known` being the symbols of known sizes.

    A view is among them if all that read it are, however much it moves: a kernel reads through it.
    It is not if none of them is: NumPy makes it without a kernel.
    """
    found: set[Operation] = set()
    seen = set(graph.outputs)  # values that something else than what was found takes
    read: set[Value] = set()
    for op in reversed(graph.operations):
        is_view = op.primitive.kind is Kind.VIEW
        is_read = not is_view or op.results[0] in read
        is_through = is_view and op.results[0] not in seen
        if is_read and _is_gathered(op, known) and (is_through or not _moves_much(op)):
            found.add(op)
            read.update(op.operands)
        else:
            seen.update(op.operands)
    return found


def _is_gathered(op: Operation, known: Set[str]) -> bool:
    """Whether an operation is put into a map of one example."""
    if op.primitive.is_definition or (op.must_run and op.has_effect):
        return False
    values = [value for inner in op.walk() for value in (*inner.operands, *inner.results)]
    is_of_arrays = all([isinstance(value.type, ArrayType) for value in values])
    alone = op.alone()
    return is_of_arrays and not count_maps(alone) and unknown_sizes(alone) <= known


def _moves_much(op: Operation) -> bool:
    """Whether an operation moves elements of a large array, which NumPy does by views, in place.

    It may be a branch that does so with a few.
    """
    if not _is_of_large(op):
        return False
    if op.primitive in BRANCHES:
        inner = [member for region in op.regions for member in region.operations]
        return any([count(value) > LARGE for value in op.results]) and all(
            [_moves_much(m) or not (m.regions or _is_of_large(m)) for m in inner]
        )
    is_long = op.primitive is concatenate and count(op.results[0]) >= FEWEST
    return is_long or op.primitive.kind in (Kind.VIEW, Kind.LOOKUP, Kind.UPDATE)


def _is_of_large(op: Operation) -> bool:
    return any([count(value) > LARGE for value in (*op.operands, *op.results)])


def _made_of_nothing(value: Value, makers: Mapping[Value, Operation]) -> list[Operation]:
    """Return the operations that make a constant, a range, or a slice of a range; else none.

    A kernel knows its own ranges to be indices within bounds.
    """
    maker = makers.get(value)
    if maker is None:
        return []
    if maker.primitive is not slice_:
        return [maker] if is_made_anew(maker) else []
    before = _made_of_nothing(maker.operands[0], makers)
    return [*before, maker] if before and before[0].primitive is iota else []
