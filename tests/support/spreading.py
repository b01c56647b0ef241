"""What the tests of few examples share: the graph of a function, and both its plans run on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.ir.graph import Graph
from lanewise.ops.regions import map_
from lanewise.passes.pipeline import lower
from lanewise.passes.simplify import eliminate_dead
from lanewise.passes.spread import spread
from lanewise.runtime.few import Few
from lanewise.runtime.interpret import Plan
from lanewise.runtime.tiers import Executable


def recorded(function: Callable[..., Any], *batches: Any) -> tuple[Graph, list[Any]]:
    """Return the graph of a mapped function, and the arrays that it was run on."""
    seen: list[tuple[Graph, list[Any]]] = []
    plan = Executable.plan

    def watched(executable: Executable, arguments: Sequence[Any]) -> Plan:
        seen.append((executable.graph, list(arguments)))
        return plan(executable, arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Executable, "plan", watched)
        lw.vmap(function)(*batches)
    return seen[-1]


def of_one(function: Callable[..., Any], *batches: Any) -> Graph:
    """Return the region of a mapped function: what it does with one example."""
    graph, _ = recorded(function, *batches)
    (op,) = [op for op in eliminate_dead(graph).operations if op.primitive is map_]
    return op.regions[0]


def count(graph: Graph, *names: str) -> int:
    """Return how many operations of some names a graph has, in all regions."""
    return sum(
        [
            (op.primitive.name in names) + sum([count(region, *names) for region in op.regions])
            for op in graph.operations
        ]
    )


def loops_left(function: Callable[..., Any], *batches: Any) -> int:
    """Return how many loops of a function stay loops."""
    return count(spread(of_one(function, *batches)), "scan", "while")


def one_by_one(function: Callable[..., Any], *batches: Any, native: bool) -> list[Any]:
    """Return a mapped function's results by the plan for few examples, of kernels or of NumPy."""
    graph, arguments = recorded(function, *batches)
    few = Few(graph)
    if native:
        return few.plan(*arguments)
    return Plan(lower(_interpreted(graph)))(*arguments)


def _interpreted(graph: Graph) -> Graph:
    """Return a graph with its maps' regions spread, and left to NumPy."""
    operations = [
        op.with_regions(tuple([spread(region) for region in op.regions]))
        if op.primitive is map_
        else op
        for op in graph.operations
    ]
    return Graph(graph.inputs, operations, graph.outputs)


def plainly(function: Callable[..., Any], *batches: Any) -> list[np.ndarray]:
    """Return what a function gives example by example, as it stands."""
    rows = []
    for example in zip(*batches, strict=True):
        result = function(*[np.copy(x)[()] for x in example])
        rows.append(result if isinstance(result, tuple) else (result,))
    return [np.stack(column) for column in zip(*rows, strict=True)]
