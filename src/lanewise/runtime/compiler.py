"""What is loaded when something is compiled first: which native graph a recorded one has.

See `lanewise.passes.pipeline` for the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.codegen.partition import Refused, Report
from lanewise.codegen.target import Native
from lanewise.ir.graph import Graph
from lanewise.ops.facts import seen
from lanewise.ops.regions import map_
from lanewise.passes.batches import has_kernels, may_spread
from lanewise.passes.pipeline import MANY, TIDIED, lower, outlined
from lanewise.runtime.few import NONE, Few
from lanewise.runtime.interpret import Plan

__all__ = ["native_graph", "plans"]


def native_graph(
    recorded: Graph, report: Report | None = None, sizes: Mapping[str, int] | None = None
) -> Graph | None:
    """Return a graph with its kernels as native maps; None if there are none.

    It is that for many examples, or where `sizes` of dimensions are given the one that suits.
    """
    graph, left = _for_many(recorded)
    few = None if sizes is None else _few(recorded, sizes, NONE, left)
    if few is not None and (not has_kernels(graph) or few.is_better_for(graph, sizes or {})):
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
        graph, left = _for_many(recorded)
        few = _few(recorded, sizes, lent, left)
    if not has_kernels(graph):
        return (few.plan if few and has_kernels(few.lowered) else None), None
    if few is not None and not sizes and few.is_better_for(graph, sizes):
        return few.plan, None
    return Plan(lower(graph), lent=lent), few


def _for_many(recorded: Graph) -> tuple[Graph, list[Refused]]:
    """Return a graph with its kernels, and what is left to NumPy."""
    left: list[Refused] = []
    target = Native(left.append)
    return outlined(MANY(TIDIED(recorded), target=target), target), left


def _few(
    recorded: Graph, sizes: Mapping[str, int], lent: Mapping[int, int], left: Sequence[Refused]
) -> Few | None:
    is_alone = not any([op.primitive is map_ for op in recorded.operations])
    return Few(recorded, sizes, lent, is_alone and bool(left)) if may_spread(recorded) else None
