"""The plan for few examples: one after the other, each spread over lanes and threads.

A kernel runs an example in each lane. Of one example, or of a few, that uses one lane of many and
one thread. So an executable may have a second plan, in which maps of the batch run one example at a
time, and in each the turns of loops and the elements of large arrays are what a kernel runs over
(passes/spread.py, passes/elements.py). Which of the two a call takes is decided by its batch size,
by what both are estimated to take. The second is made when it is first wanted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lanewise.codegen.choices import nanoseconds, runs_in_lanes
from lanewise.codegen.kernel import Kernel
from lanewise.codegen.partition import Report, partition
from lanewise.codegen.work import CALL, interpreting
from lanewise.ir.dims import evaluate, symbols
from lanewise.ir.graph import Builder, Graph, Operation
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, CONTROL, scan
from lanewise.ops.facts import Kind, count
from lanewise.ops.indexing import gather
from lanewise.ops.movement import concatenate, update_slice
from lanewise.ops.regions import NATIVE, PARALLEL, SEQUENTIAL, map_
from lanewise.passes.elements import over_elements
from lanewise.passes.pipeline import lower
from lanewise.passes.rowwise import FEWEST as LONG
from lanewise.passes.rowwise import is_large
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.passes.single import as_maps
from lanewise.passes.spread import FEWEST, spread
from lanewise.passes.survive import attempt
from lanewise.runtime.interpret import Plan, read_sizes
from lanewise.runtime.kernels import kernel_for
from lanewise.runtime.pool import get_threads

#: Nanoseconds of a call of a kernel, and of a view of an array.
LAUNCH, VIEW = 3000.0, 500.0
#: Nanoseconds of a byte of a kernel's local memory that is written and read again: of an array of
#: at most so many bytes, which the caches hold, and of a larger one.
CACHED, WITHIN, BEYOND = 1 << 20, 0.05, 0.4
#: The second plan is taken if it should be so much faster.
AHEAD = 0.8
#: For so many batch sizes it is kept which plan is better.
KEPT = 1024
#: Arrays of more elements than this are large.
LARGE = 1024


class Few:
    """The plan for few examples of a graph.

    Attributes
    ----------
    graph
        As it was recorded.
    """

    __slots__ = ("_better", "_in_turn", "_kernels", "_lowered", "_plan", "graph")

    def __init__(self, graph: Graph, kernels: dict[Any, Kernel | None]) -> None:
        self.graph = graph
        self._kernels = kernels
        self._in_turn: Graph | None = None
        self._lowered: Graph | None = None
        self._plan: Plan | None = None
        self._better: dict[tuple[int, ...], bool] = {}

    @property
    def lowered(self) -> Graph:
        """The graph with its kernels as native maps."""
        if self._lowered is None:
            self._lowered = _with_kernels(self.in_turn, self._kernels, None)
        return self._lowered

    @property
    def in_turn(self) -> Graph:
        """The graph before that: one example after the other, with maps over turns and elements."""
        if self._in_turn is None:
            self._in_turn = _in_turn(self.graph)
        return self._in_turn

    @property
    def plan(self) -> Plan:
        if self._plan is None:
            self._plan = Plan(lower(self.lowered))
        return self._plan

    def is_better(self, many: Graph, arguments: Sequence[Any]) -> bool:
        """Whether a call should take this plan, and not that of a graph for many examples."""
        return self.is_better_for(many, read_sizes(self.graph, arguments))

    def is_better_for(self, many: Graph, sizes: Mapping[str, int]) -> bool:
        """Whether a call with dimensions of these sizes should take this plan."""
        threads = get_threads()
        key = (threads, *sizes.values())
        known = self._better.get(key)
        if known is None:
            # What costs nothing to find out is asked first: mostly, this plan is never made.
            other = AHEAD * _estimate(many, sizes, threads)
            known = (
                not _is_full(many, sizes, threads)
                and _least(self.graph, sizes, threads) < other
                and _maps(self.in_turn) > _maps(self.graph)
                and _estimate(self.lowered, sizes, threads) < other
            )
            if len(self._better) >= KEPT:
                self._better.clear()
            self._better[key] = known
        return known


def has_kernels(graph: Graph) -> bool:
    """Whether there is a native map in a graph."""
    return any(
        op.params.get("order") == NATIVE or any(map(has_kernels, op.regions))
        for op in graph.operations
    )


def may_spread(graph: Graph) -> bool:
    """Whether a graph has a loop, or an array, that is long enough to be spread over lanes."""
    for op in graph.operations:
        if op.primitive is scan and isinstance(n := op.params["length"], int) and n >= FEWEST:
            return True
        if is_large(op) or any(may_spread(region) for region in op.regions):
            return True
    return False


def spread_within(graph: Graph) -> Graph:
    """Return a graph for many examples, of which the loops are maps where that is better.

    It is where all loops of an example can be, and where a kernel then has turns in its lanes: they
    find their numbers side by side in memory, as examples do not.
    """
    if not may_spread(graph):
        return graph
    operations = list(graph.operations)
    for number, op in enumerate(operations):
        if _is_batch(op):
            region = attempt("spread", op.regions[0], spread, op.params["fastmath"], totals=False)
            in_dims = op.params["in_dims"]
            if _maps(region) > _maps(op.regions[0]) and not runs_in_lanes(region, in_dims):
                operations[number] = op.with_regions((region,))
    return Graph(graph.inputs, operations, graph.outputs)


def one_by_one(
    graph: Graph, kernels: dict[Any, Kernel | None], report: Report | None = None
) -> Graph:
    """Return a graph with its maps run one example after the other, as kernels within them.

    What is not in a map of a batch is spread itself.
    """
    return _with_kernels(_in_turn(graph), kernels, report)


def _in_turn(graph: Graph) -> Graph:
    """Return a graph with its maps run one example after the other, and each of these spread."""
    graph = merge_repeated(eliminate_dead(graph))
    if not any(_is_batch(op) for op in graph.operations):
        return _spread(graph)
    builder = Builder()
    values = {value: builder.input(value.type) for value in graph.inputs}
    for op in graph.operations:
        if not _is_batch(op):
            builder.copy(op, values)
            continue
        region = _spread(op.regions[0], op.params["fastmath"])
        builder.location = op._place
        operands = tuple([values[value] for value in op.operands])
        results = builder.emit(map_, operands, {**op.params, "order": SEQUENTIAL}, (region,))
        values.update(zip(op.results, results, strict=True))
    return builder.finish([values[value] for value in graph.outputs])


def _with_kernels(graph: Graph, kernels: dict[Any, Kernel | None], report: Report | None) -> Graph:
    """Return what `_in_turn` gave with kernels for what can have them."""
    if not any(_is_in_turn(op) for op in graph.operations):
        return as_kernels(graph, kernels, report)
    operations = [
        op.with_regions((as_kernels(op.regions[0], kernels, report),)) if _is_in_turn(op) else op
        for op in graph.operations
    ]
    return Graph(graph.inputs, operations, graph.outputs)


def _is_in_turn(op: Operation) -> bool:
    return op.primitive is map_ and op.params["order"] == SEQUENTIAL and not op.has_effect


def _spread(graph: Graph, fastmath: bool = False) -> Graph:
    """Return a graph of one example with loops and large arrays as maps."""
    graph = attempt("spread", graph, spread, fastmath)
    return attempt("elements", graph, over_elements, fastmath)


def _is_batch(op: Operation) -> bool:
    """Whether an operation is a map whose examples may run one after the other instead."""
    return (
        op.primitive is map_
        and op.params["order"] == PARALLEL
        and op.params["chunk"] is None
        and not op.has_effect
        and not _has_grown(op.regions[0])
    )


def _has_grown(region: Graph) -> bool:
    """Whether data decide the size of an array in a region, so that the order of things matters."""
    return any(
        any(isinstance(v.type, ArrayType) and not _is_known(v.type) for v in op.results)
        or any(map(_has_grown, op.regions))
        for op in region.operations
    )


def _is_known(type_: ArrayType) -> bool:
    return all(isinstance(n, int) for n in type_.shape)


def as_kernels(
    graph: Graph,
    kernels: dict[Any, Kernel | None],
    report: Report | None,
    *,
    any_size: bool = False,
) -> Graph:
    """Return a graph with kernels for its maps, also within control flow, and for the rest.

    With `any_size`, also for arrays whose sizes the kernels are told of when they run.
    """
    inner = [
        op.with_regions(tuple([as_kernels(region, kernels, report) for region in op.regions]))
        if op.primitive in CONTROL and any(map(_holds_map, op.regions))
        else op
        for op in graph.operations
    ]
    graph = Graph(graph.inputs, inner, graph.outputs)
    graph = attempt("single", graph, as_maps, _moves_much, any_size=any_size)
    return attempt("partition", graph, partition, kernels, report)


def _moves_much(op: Operation) -> bool:
    """Whether an operation moves elements of a large array, which NumPy does by views, in place.

    It may be a branch that does so with a few.
    """
    if not any([count(value) > LARGE for value in (*op.operands, *op.results)]):
        return False
    if op.primitive in BRANCHES:
        inner = [member for region in op.regions for member in region.operations]
        return any([count(value) > LARGE for value in op.results]) and all(
            [_moves_much(member) or _is_of_few(member) for member in inner]
        )
    is_long = op.primitive is concatenate and count(op.results[0]) >= LONG
    return is_long or op.primitive.kind in (Kind.VIEW, Kind.LOOKUP, Kind.UPDATE)


def _is_of_few(op: Operation) -> bool:
    return not op.regions and all([count(v) <= LARGE for v in (*op.operands, *op.results)])


def _holds_map(region: Graph) -> bool:
    return any(op.primitive is map_ or any(map(_holds_map, op.regions)) for op in region.operations)


# --- estimates ------------------------------------------------------------------------------------


def _estimate(graph: Graph, sizes: Mapping[str, int], threads: int) -> float:
    """Return about how many nanoseconds a graph with native maps takes."""
    return sum([_operation(op, sizes, threads) for op in graph.operations])


def _operation(op: Operation, sizes: Mapping[str, int], threads: int) -> float:
    if op.primitive is map_ and op.params["order"] == NATIVE:
        return LAUNCH + _kernel(op, sizes, threads)
    if op.primitive is map_ and op.params["order"] == SEQUENTIAL:
        size = _size(op.params["size"], sizes)
        each = _estimate(op.regions[0], sizes, threads) + VIEW * len(op.operands)
        copied = sum([count(value) for value in op.regions[0].outputs]) if size > 1 else 0
        return size * (each + copied)
    if op.primitive is scan:
        return _size(op.params["length"], sizes) * _estimate(op.regions[0], sizes, threads)
    if op.primitive in BRANCHES:
        return CALL + max([_estimate(region, sizes, threads) for region in op.regions])
    if op.primitive.kind in (Kind.SOURCE, Kind.VIEW) or (op.primitive is gather and _is_place(op)):
        return VIEW
    return interpreting(Graph(op.operands, [op], op.results), sizes)


def _is_place(op: Operation) -> bool:
    return all(not value.type.shape for value in op.operands[1:])


def _kernel(op: Operation, sizes: Mapping[str, int], threads: int) -> float:
    """Return about how long a kernel takes: full blocks of lanes, shared by the threads."""
    (body,) = op.regions
    in_dims = op.params["in_dims"]
    size = _size(op.params["size"], sizes)
    kernel = kernel_for(body, in_dims, op.params["fastmath"])
    lanes = kernel.lanes if kernel.in_lanes else 1
    alone = nanoseconds(body, in_dims, kernel.lanes)
    for inner in body.operations:
        if inner.primitive is map_ or inner.primitive is update_slice:
            # Its results stand in local memory: they are written, and read again.
            nbytes = sum([count(v) * v.type.dtype.itemsize for v in inner.results])
            alone += nbytes * (BEYOND if nbytes > CACHED else WITHIN)
    return math.ceil(math.ceil(size / lanes) / threads) * lanes * alone


def _is_full(many: Graph, sizes: Mapping[str, int], threads: int) -> bool:
    """Whether a graph is all kernels, of which the examples fill lanes and threads."""
    found = []
    for op in many.operations:
        if op.primitive is map_ and op.params["order"] == NATIVE:
            kernel = kernel_for(op.regions[0], op.params["in_dims"], op.params["fastmath"])
            lanes = kernel.lanes if kernel.in_lanes else 1
            found.append(_size(op.params["size"], sizes) >= 2 * lanes * threads)
        elif op.regions:
            return False
    return bool(found) and all(found)


def _maps(graph: Graph) -> int:
    """Return how many maps there are in a graph, and in all its regions."""
    return sum(
        [
            (op.primitive is map_) + sum([_maps(region) for region in op.regions])
            for op in graph.operations
        ]
    )


def _least(graph: Graph, sizes: Mapping[str, int], threads: int) -> float:
    """Return nanoseconds that no plan which runs one example after the other is below."""
    return sum(
        [
            _size(op.params["size"], sizes) * (LAUNCH + _written(op) / (10 * threads))
            for op in graph.operations
            if _is_batch(op)
        ]
    )


def _written(op: Operation) -> float:
    return sum([count(v) * v.type.dtype.itemsize for v in _arrays(op.regions[0])])


def _arrays(region: Graph) -> Iterator[Any]:
    for value in region.outputs:
        if isinstance(value.type, ArrayType) and _is_known(value.type):
            yield value


def _size(dim: Any, sizes: Mapping[str, int]) -> int:
    return evaluate(dim, sizes) if sizes.keys() >= set(symbols(dim)) else 1
