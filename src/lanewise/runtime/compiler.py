"""What is loaded when something is compiled first: which native graph a recorded one has.

See `lanewise.passes.pipeline` for the steps.
"""

from __future__ import annotations

from collections.abc import Mapping

import lanewise.runtime.kernels  # noqa: F401  (runs native maps)
from lanewise.codegen.kernel_cache import count_lines
from lanewise.codegen.partition import Refused, Report
from lanewise.codegen.target import Native
from lanewise.ir.graph import Graph
from lanewise.ops.regions import map_
from lanewise.passes.batches import has_kernels, may_spread
from lanewise.passes.pipeline import MANY, ONE_BY_ONE, TIDIED, outlined, outlined_in_turn
from lanewise.passes.specialize import needs_sizes, unknown_sizes
from lanewise.runtime.few import Few

__all__ = ["count_lines", "few_for", "native_graph"]


def native_graph(
    recorded: Graph, report: Report | None = None, sizes: Mapping[str, int] | None = None
) -> Graph | None:
    """Return a graph with its kernels as native maps; None if there are none.

    It is that for many examples, or where `sizes` of dimensions are given the one that suits.
    """
    refused: list[Refused] = []
    target = Native(refused.append)
    graph = TIDIED(recorded)
    maps = [op for op in graph.operations if op.primitive is map_]
    is_few = not maps
    if needs_sizes(graph) and all([unknown_sizes(op.regions[0]) for op in maps]):
        is_few = False
        graph = outlined(graph, target, any_size=True)
    elif not is_few:
        graph = outlined(MANY(graph, target=target), target)
        if sizes is not None and may_spread(recorded):
            is_few = Few(recorded, Native()).is_better_for(graph, sizes)
    if is_few:
        refused.clear()
        graph = outlined_in_turn(ONE_BY_ONE(TIDIED(recorded)), target)
    if report is not None:
        for found in refused:
            report(found)
    return graph if has_kernels(graph) else None


def few_for(recorded: Graph) -> Few | None:
    """Return the plan for few examples of a graph, if it may have one of its own."""
    return Few(recorded, Native()) if may_spread(recorded) else None
