"""The passes, in order, from a recorded graph to the one that runs.

``LANEWISE_SHOW=vectorize`` prints the graph after the pass of that name, to the standard error;
several names are separated by commas, ``recorded`` is the graph before the first pass, and ``all``
is each of them. ``LANEWISE_VERIFY=1`` checks the graph before and after every pass.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial

from lanewise.ir.graph import Graph
from lanewise.ir.text import format_graph
from lanewise.ir.verify import verify
from lanewise.passes.in_turn import in_turn
from lanewise.passes.inline import inline, inline_left
from lanewise.passes.lanes import Report
from lanewise.passes.order import order_by_sizes
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.passes.survive import attempt
from lanewise.passes.vectorize import vectorize

Pass = Callable[[Graph], Graph]

PASSES: tuple[tuple[str, Pass], ...] = (
    ("inline", inline),
    # What a branch or a loop hands on unchanged must not vary because its predicate does.
    ("simplify", eliminate_dead),
    ("vectorize", vectorize),
    ("inline_left", inline_left),
    ("merge_repeated", merge_repeated),
    ("eliminate_dead", eliminate_dead),
    ("order_by_sizes", order_by_sizes),
)


def lower(graph: Graph, report: Report | None = None) -> Graph:
    """Return the graph after all passes: no parallel map, and nothing that nobody needs.

    ``report`` is told what became of each operation under a map; see `vectorize`. A pass that fails
    is left out; instead of `vectorize`, maps run one example after the other.
    """
    show = os.environ.get("LANEWISE_SHOW", "").split(",")
    checks = os.environ.get("LANEWISE_VERIFY") == "1"
    attempt("the recorded graph", graph, _looked, "recorded", show, checks)
    for name, run in PASSES:
        before = graph

        def step(graph: Graph, name: str = name, run: Callable[..., Graph] = run) -> Graph:
            # By its name in this module, where a test can put one that fails.
            graph = vectorize(graph, report) if run is vectorize else run(graph)
            return _looked(graph, name, show, checks)

        instead = partial(in_turn, before) if run is vectorize else None
        graph = attempt(name, graph, step, otherwise=instead)
    return graph


def _looked(graph: Graph, name: str, show: list[str], checks: bool) -> Graph:
    """Print the graph where its stage is asked for, and check it; in this order, to see why."""
    if name in show or "all" in show:
        print(f"# {name}\n{format_graph(graph, locations=True)}", file=sys.stderr)
    if checks:
        verify(graph)
    return graph
