"""Every step from a recorded graph to what runs, in order.

=============  ====================================================================================
recorded       what the user's function was traced to, one graph of its own
interpreted    what `lanewise.runtime.interpret` runs: no parallel map is left but native ones
tidied         to be compiled: without what nobody needs, or is there twice
many           to be compiled for many examples: one in each lane
one_by_one     to be compiled for few: one after the other, its loops and arrays spread over lanes
example        the region of a map that is run so, or a function without a batch
outlined       with native maps for what kernels can do: `lanewise.codegen.partition`
kernel         a native map's region, which `lanewise.codegen.kernel` writes as LLVM IR
diverged       what runs inside of control flow in which examples go different ways
=============  ====================================================================================

A call is traced, and the graph *recorded*. At first it is *interpreted*. When compiling it pays
(`lanewise.runtime.tiers`) it is *tidied*, made one for *many* examples or, for few, one that runs
them *one_by_one*, and *outlined*: each native map's region is written as a *kernel*, and all around
these maps *interpreted*. See `lanewise.passes.steps` for how to look at a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.control import CONTROL, carry_of
from lanewise.ops.regions import SEQUENTIAL
from lanewise.passes.batches import count_maps, is_batch, is_in_turn, spread_batches
from lanewise.passes.chosen import write_chosen
from lanewise.passes.elements import over_elements
from lanewise.passes.forward import forwarded
from lanewise.passes.inline import inline, inline_left
from lanewise.passes.interchange import interchanged
from lanewise.passes.lanes import Report, record_map
from lanewise.passes.masks import under_masks
from lanewise.passes.order import order_by_sizes
from lanewise.passes.paths import bounded, direct
from lanewise.passes.reshapes import reshape_late
from lanewise.passes.scalar_replacement import scalar_replaced
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.passes.single import as_maps
from lanewise.passes.specialize import fresh, symbols_of, symbols_of_values
from lanewise.passes.spread import spread
from lanewise.passes.steps import Pipeline, Step
from lanewise.passes.vectorize import Mapper, in_turn, settled, vectorize
from lanewise.passes.written_parts import write_parts

#: Makes another graph of one.
Rewrite: TypeAlias = Callable[[Graph], Graph]


def one_by_one(graph: Graph) -> Graph:
    """Return a graph with its maps run one example after the other, and each of these spread.

    Without such maps it is an example itself.
    """
    if not any(map(is_batch, graph.operations)):
        return EXAMPLE(graph, fastmath=False)

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | None:
        if not is_batch(op):
            return None
        region = EXAMPLE(op.regions[0], fastmath=op.params["fastmath"])
        taken = zip([values[value] for value in op.operands], op.params["in_dims"], strict=True)
        return record_map(region, list(taken), **{**op.params, "order": SEQUENTIAL})

    return graph.rewritten(rule)


def partition(graph: Graph, into_kernels: Rewrite) -> Graph:
    """Return what code generation makes of a graph."""
    return into_kernels(graph)


RECORDED = Pipeline("recorded", Step(inline), Step(write_parts), Step(write_chosen))
INTERPRETED = Pipeline(
    "interpreted",
    Step(inline),
    # What a branch or a loop hands on unchanged must not vary because its predicate does.
    Step(eliminate_dead),
    Step(vectorize, ("report",), otherwise=in_turn),
    Step(inline_left),
    Step(merge_repeated),
    Step(eliminate_dead),
    Step(direct, ("most", "least")),
    Step(order_by_sizes),
)
TIDIED = Pipeline(
    "tidied",
    Step(eliminate_dead),
    Step(merge_repeated),
    Step(under_masks),
    Step(reshape_late),
)
MANY = Pipeline("many", Step(spread_batches, ("runs_in_lanes",)))
ONE_BY_ONE = Pipeline("one_by_one", Step(one_by_one))
EXAMPLE = Pipeline(
    "example",
    Step(spread, ("fastmath",)),
    Step(over_elements, ("fastmath",)),
    Step(interchanged),
)
OUTLINED = Pipeline("outlined", Step(as_maps), Step(partition, ("into_kernels",)))
KERNEL = Pipeline(
    "kernel",
    Step(direct, ("most",)),
    Step(forwarded),
    Step(scalar_replaced),
    Step(bounded, ("most",)),
)
DIVERGED = Pipeline("diverged", Step(inline_left), Step(merge_repeated), Step(eliminate_dead))
PIPELINES = (
    RECORDED, INTERPRETED, TIDIED, MANY, ONE_BY_ONE, EXAMPLE, OUTLINED, KERNEL, DIVERGED,
)  # fmt: skip


def lower(graph: Graph, report: Report | None = None) -> Graph:
    """Return the graph that is interpreted: no parallel map, and nothing that nobody needs.

    ``report`` is told what became of each operation under a map; see `vectorize`. If `vectorize`
    fails, maps run one example after the other.
    """
    return INTERPRETED(graph, report=report, most=0, least=2)


def batched_region(
    region: Graph,
    mapped: Sequence[bool],
    size: DimLike,
    fallback: bool,
    report: Report | None = None,
) -> tuple[Graph, tuple[bool, ...]]:
    """Return a region of a divergent map over `size` examples, and which of its outputs vary.

    The map keeps it as it is for one example; how many run together is known when they run.

    ``mapped`` says which of its inputs have the batch as axis 0. For ``size`` see `fresh_symbol`.
    ``fallback`` says whether an operation without batching rule may run one example at a time;
    ``report`` is told what became of each operation.
    """
    opened = Mapper(size, fallback, report).region(vectorize(region), mapped)
    return DIVERGED(opened.finish()), opened.mapped


def batched_loop(
    op: Operation,
    mapped: Sequence[bool],
    size: DimLike,
    fallback: bool,
    report: Report | None = None,
) -> tuple[Graph, Graph, tuple[bool, ...]]:
    """Return the test and the body of a `while` over `size` examples, which turn in lockstep.

    ``mapped`` says which operands (captures, then carry) have the batch as axis 0; what is returned
    last, which inputs of the regions: of the carry also what varies after some turns.
    """
    test, body = [vectorize(region) for region in op.regions]
    mapper = Mapper(size, fallback, report)
    turn, taken = settled(mapper, body, mapped, carry_of(op))
    question = mapper.region(test, taken).finish()
    return DIVERGED(question), DIVERGED(turn.finish(taken[carry_of(op)])), tuple(taken)


def fresh_symbol(graph: Graph) -> Dim:
    """Return a dimension that no type or parameter in a graph or its regions depends on."""
    return fresh("live", symbols_of_values(graph.inputs).union(*map(symbols_of, graph.walk())))


def outlined(graph: Graph, into_kernels: Rewrite) -> Graph:
    """Return a graph with kernels for its maps, also within control flow, and for the rest."""

    def is_around(op: Operation) -> bool:
        return op.primitive in CONTROL and any(map(count_maps, op.regions))

    return OUTLINED(_outlined_within(graph, into_kernels, is_around), into_kernels=into_kernels)


def outlined_in_turn(graph: Graph, into_kernels: Rewrite) -> Graph:
    """Return what `ONE_BY_ONE` gave with kernels within its maps; for all of it, if it has none."""
    if not any(map(is_in_turn, graph.operations)):
        return outlined(graph, into_kernels)
    return _outlined_within(graph, into_kernels, is_in_turn)


def _outlined_within(
    graph: Graph, into_kernels: Rewrite, which: Callable[[Operation], bool]
) -> Graph:
    def within(op: Operation) -> Operation:
        return op.map_regions(lambda region: outlined(region, into_kernels)) if which(op) else op

    return graph.changed(within)
