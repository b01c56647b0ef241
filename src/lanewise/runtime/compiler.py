"""What is loaded when something is compiled first: which native graph a recorded one has.

See `lanewise.passes.pipeline` for the steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from lanewise.codegen.kernel_cache import generating
from lanewise.codegen.partition import Refused, Report
from lanewise.codegen.target import Native
from lanewise.ir.graph import Graph
from lanewise.passes.batches import has_kernels, may_spread
from lanewise.passes.pipeline import MANY, ONE_BY_ONE, TIDIED, outlined, outlined_in_turn
from lanewise.runtime.few import NONE, Few

__all__ = ["few_for", "generating", "native_graph"]


def native_graph(
    recorded: Graph, report: Report | None = None, sizes: Mapping[str, int] | None = None
) -> Graph | None:
    """Return a graph with its kernels as native maps; None if there are none.

    It is that for many examples, or where `sizes` of dimensions are given the one that suits.
    """
    refused: list[Refused] = []
    target = Native(refused.append)
    graph = TIDIED(recorded)
    graph = outlined(MANY(graph, target=target), target)
    known = sizes or {}
    few = None if sizes is None else few_for(recorded, known)
    if few is not None and (not has_kernels(graph) or few.is_better_for(graph, known)):
        refused.clear()
        graph = outlined_in_turn(ONE_BY_ONE(TIDIED(recorded)), target)
    if report is not None:
        for found in refused:
            report(found)
    return graph if has_kernels(graph) else None


def few_for(
    recorded: Graph, sizes: Mapping[str, int], lent: Mapping[int, int] = NONE
) -> Few | None:
    """Return the plan for few examples of a graph, if it may have one of its own.

    See there for the parameters.
    """
    return Few(recorded, Native(), sizes, lent) if may_spread(recorded) else None
