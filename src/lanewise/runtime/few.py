"""Plans of kernels: for many examples, and for few, which run one after the other.

A kernel runs an example in each lane. Of one example, or of a few, that uses one lane of many and
one thread. So an executable may have a second plan, in which maps of the batch run one example at a
time, and in each the turns of loops and the elements of large arrays are what a kernel runs over
(passes/spread.py, passes/elements.py). Which of the two a call takes is decided by its batch size,
by what both are estimated to take. The second is made when it is first wanted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

from lanewise.codegen.choices import runs_in_lanes
from lanewise.codegen.memory import MOST_SCRATCH
from lanewise.codegen.partition import Refused, Report, partition
from lanewise.codegen.prices import PRICES
from lanewise.codegen.work import CALL_NS, TURNS, interpreting
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, scan, while_
from lanewise.ops.facts import Kind, count, seen
from lanewise.ops.indexing import gather
from lanewise.ops.regions import CHUNKED, NATIVE, SEQUENTIAL, map_
from lanewise.passes.batches import (
    count_maps,
    has_kernels,
    is_batch,
    is_in_turn,
    may_spread,
)
from lanewise.passes.pipeline import MANY, ONE_BY_ONE, TIDIED, lower, outlined, outlined_in_turn
from lanewise.runtime.interpret import RUNNERS, MapRunner, Plan, sequential
from lanewise.runtime.kernels import cost_of, kernel_of
from lanewise.runtime.parts import NATIVE_BYTES, Parts
from lanewise.runtime.pool import get_threads

NONE: Mapping[Any, int] = MappingProxyType({})
#: Nanoseconds of a view of an array.
VIEW = 500.0
#: The second plan is taken if it should be so much faster.
AHEAD = 0.8


@dataclass(eq=False)
class Few:
    """The plan for few examples of a graph, as it was recorded."""

    graph: Graph
    #: Those of the call that it is made in: estimates take unknown ones for these.
    sizes: Mapping[str, int] = field(default_factory=dict)
    #: Of its arrays, as of those of an executable.
    lent: Mapping[int, int] = field(default_factory=dict)
    #: Whether it is better if it leaves nothing to NumPy, as the other plan does.
    may_spare: bool = False
    #: What it leaves to NumPy, once it was lowered.
    left: list[Refused] = field(default_factory=list)

    @cached_property
    def in_turn(self) -> Graph:
        """The graph with one example after the other, and with maps over turns and elements."""
        return ONE_BY_ONE(TIDIED(self.graph))

    @cached_property
    def lowered(self) -> Graph:
        """That with its kernels as native maps, in parts where much is left to NumPy at once."""
        with seen(self.sizes):
            whole = self._outlined(self.in_turn)
            parts = _in_parts(self.in_turn, whole, self.sizes) if self.left else self.in_turn
            if parts is self.in_turn:
                return whole
            self.left.clear()
            return self._outlined(parts)

    def _outlined(self, graph: Graph) -> Graph:
        return outlined_in_turn(graph, partial(partition, report=self.left.append))

    @cached_property
    def plan(self) -> Plan:
        """That ready to run."""
        return Plan(lower(self.lowered), lent=self.lent)

    def _is_another(self) -> bool:
        """Whether examples run one after the other here, or loops and arrays have become maps."""
        return any(map(is_in_turn, self.in_turn.operations)) or (
            count_maps(self.in_turn) > count_maps(self.graph)
        )

    def is_better_for(self, many: Graph, sizes: Mapping[str, int]) -> bool:
        """Whether a call with dimensions of these sizes should take this plan.

        ``many`` is the graph for many examples.
        """
        threads = get_threads()
        # What costs nothing to find out is asked first: mostly, this plan is never made.
        other = AHEAD * estimate(many, sizes, threads)
        return (
            not _is_full(many, sizes, threads)
            and _least(self.graph, sizes, threads) < other
            and self._is_another()
            and (
                estimate(self.lowered, sizes, threads) < other or (self.may_spare and not self.left)
            )
        )


def native_graph(
    recorded: Graph, report: Report | None = None, sizes: Mapping[str, int] | None = None
) -> Graph | None:
    """Return a graph with its kernels as native maps; None if there are none.

    It is that for many examples, or where `sizes` of dimensions are given the one that suits.
    """
    graph, left, few = _both(recorded, sizes or {}, NONE)
    if few and sizes is not None and (not has_kernels(graph) or few.is_better_for(graph, sizes)):
        graph, left = few.lowered, few.left
    if report is not None:
        for refused in left:
            report(refused)
    return graph if has_kernels(graph) else None


def plans(
    recorded: Graph, sizes: Mapping[str, int], lent: Mapping[int, int]
) -> tuple[Plan | None, Few | None]:
    """Return the plan to run, None if nothing has kernels; and that for few if sizes may decide.

    See `Few` for the parameters.
    """
    with seen(sizes):
        graph, _, few = _both(recorded, sizes, lent)
    if not has_kernels(graph):
        return (few.plan if few and has_kernels(few.lowered) else None), None
    if few is not None and not sizes and few.is_better_for(graph, sizes):
        return few.plan, None
    return Plan(lower(graph), lent=lent), few


def _both(
    recorded: Graph, sizes: Mapping[str, int], lent: Mapping[int, int]
) -> tuple[Graph, Sequence[Refused], Few | None]:
    """Return the graph for many examples with its kernels, what it leaves to NumPy, and the other.

    There is no other where nothing may be spread.
    """
    left: list[Refused] = []
    many = MANY(TIDIED(recorded), runs_in_lanes=runs_in_lanes)
    graph = outlined(many, partial(partition, report=left.append))
    if not may_spread(recorded):
        return graph, left, None
    is_alone = not any([op.primitive is map_ for op in recorded.operations])
    return graph, left, Few(recorded, sizes, lent, is_alone and bool(left))


def is_mixed(graph: Graph) -> bool:
    """Whether NumPy does some of what is computed in a graph with native maps."""
    kinds = (Kind.SOURCE, Kind.VIEW)
    return any(op.params.get("order") != NATIVE and op.primitive.kind not in kinds
               for op in graph.operations)  # fmt: skip


def plan_of(graph: Graph, otherwise: Plan, lent: Mapping[int, int]) -> Plan:
    """Return the plan with kernels of a graph in chunks; another one if there are none."""
    found = plans(graph, NONE, lent)[0]
    return otherwise if found is None else found


def of_chunk(graph: Graph) -> Graph:
    """Return the graph of a chunk with its kernels as native maps."""
    return _both(graph, NONE, NONE)[0]


RUNNERS[CHUNKED] = MapRunner(
    lambda op, given, make: sequential(op, make, lambda graph: lower(of_chunk(graph)))
)


def _in_parts(graph: Graph, whole: Graph, sizes: Mapping[str, int]) -> Graph:
    """Return what `ONE_BY_ONE` gave with maps in chunks, where all their turns take much memory.

    The `whole` is the same with its kernels.
    """
    if not any(map(is_in_turn, graph.operations)):
        return Parts(graph, Plan(lower(whole)), Plan, NATIVE_BYTES).graph_for(sizes)
    operations = [
        op.with_regions((_in_parts(op.regions[0], made.regions[0], sizes),))
        if is_in_turn(op)
        else op
        for op, made in zip(graph.operations, whole.operations, strict=True)
    ]
    is_same = all(map(operator.is_, operations, graph.operations))
    return graph if is_same else Graph(graph.inputs, operations, graph.outputs)


# --- estimates ------------------------------------------------------------------------------------


def estimate(graph: Graph, sizes: Mapping[str, int], threads: int) -> float:
    """Return about how many nanoseconds a graph with native maps takes."""
    return sum([_operation(op, sizes, threads) for op in graph.operations])


def _operation(op: Operation, sizes: Mapping[str, int], threads: int) -> float:
    if op.primitive is map_ and op.params["order"] == NATIVE:
        return _kernel(op, sizes, threads)
    if op.primitive is map_ and op.params["order"] == SEQUENTIAL:
        size = _size(op.params["size"], sizes)
        each = estimate(op.regions[0], sizes, threads) + VIEW * len(op.operands)
        copied = sum([count(value) for value in op.regions[0].outputs]) if size > 1 else 0
        return size * (each + copied)
    if op.primitive is scan:
        return _size(op.params["length"], sizes) * estimate(op.regions[0], sizes, threads)
    if op.primitive is while_:
        return TURNS * sum([estimate(region, sizes, threads) for region in op.regions])
    if op.primitive in BRANCHES:
        return CALL_NS + max([estimate(region, sizes, threads) for region in op.regions])
    is_place = op.primitive is gather and not any(v.type.shape for v in op.operands[1:])
    if is_place or op.primitive.kind in (Kind.SOURCE, Kind.VIEW):
        return VIEW
    return interpreting(op.alone(), sizes)


def _kernel(op: Operation, sizes: Mapping[str, int], threads: int) -> float:
    """Return about how long a kernel takes: full blocks of lanes, shared by the threads."""
    kernel = kernel_of(op)
    if kernel.scratch + _size(kernel.unknown, sizes) > MOST_SCRATCH:
        return math.inf  # it is not run
    return cost_of(op, kernel, sizes, _size(op.params["size"], sizes), threads).total


def _is_full(many: Graph, sizes: Mapping[str, int], threads: int) -> bool:
    """Whether a graph is all kernels, of which the examples fill lanes and threads."""
    found = []
    for op in many.operations:
        if op.primitive is map_ and op.params["order"] == NATIVE:
            kernel = kernel_of(op)
            lanes = kernel.lanes if kernel.in_lanes else 1
            found.append(_size(op.params["size"], sizes) >= 2 * lanes * threads)
        elif op.regions:
            return False
    return bool(found) and all(found)


def _least(graph: Graph, sizes: Mapping[str, int], threads: int) -> float:
    """Return nanoseconds that no plan which runs one example after the other is below."""
    return sum(
        [
            _size(op.params["size"], sizes) * (PRICES.launch_ns + _written(op) / (10 * threads))
            for op in graph.operations
            if is_batch(op)
        ]
    )


def _written(op: Operation) -> float:
    """Return the bytes of what an example of a map gives, as far as sizes are known."""
    types = [value.type for value in op.regions[0].outputs if isinstance(value.type, ArrayType)]
    return sum([type_.nbytes for type_ in types if isinstance(type_.nbytes, int)])


def _size(dim: Any, sizes: Mapping[str, int]) -> int:
    try:
        return evaluate(dim, sizes)
    except (KeyError, ValueError):  # NumPy says which sizes do not go together
        return 1
