"""`explain` on control flow: what is branched, in lockstep or divergent, and what is inside."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise.inspect.explain import Explanation
from lanewise.inspect.findings import ProgramView
from lanewise.inspect.memory import memory_of
from lanewise.inspect.rows import Row, Walker
from lanewise.ir.graph import Graph
from lanewise.ir.text import parse_graph
from lanewise.ops.registry import REGISTRY
from lanewise.runtime.tiers import Choice
from support.random_graphs import random_graph


def rows(graph: Graph, **sizes: int) -> list[Row]:
    walker = Walker()
    return list(walker.walk(walker.lowered(graph), sizes, None))


def explained(graph: Graph, **sizes: int) -> Explanation:
    walker = Walker()
    lowered = walker.lowered(graph)
    memory = memory_of(graph, lowered, sizes, lambda op: 0)
    choice = Choice("interpret", "a test says so")
    found = walker.rows(lowered, sizes)
    view = ProgramView(lowered, sizes, choice, 1, memory, found, walker)
    return Explanation("vmap of f", [view], [sizes["batch"]])


def fates(text: str) -> list[tuple[str, str, str]]:
    found = rows(parse_graph(text, REGISTRY, {"fail": ValueError}), batch=4)
    return [(row.operation, row.fate, row.result) for row in found]


TEXT = """
    graph(%0: f64[batch], %1: {0}, %2: f64[]) {{
      %3 = map[size=batch, in_dims=(0, {1}, None), out_mapped=(True,)](%0, %1, %2)
        graph(%0: f64[], %1: bool[], %2: f64[]) {{
          %3 = exp(%2)
          %4 = cond(%1, %0, %3)
            graph(%0: f64[], %1: f64[]) {{ %2 = sin(%0) return %2 }}
            graph(%0: f64[], %1: f64[]) {{ %2 = cos(%1) return %2 }}
          return %4
        }}
      return %3
    }}"""


def test_branches():
    assert fates(TEXT.format("bool[]", "None")) == [
        ("exp", "hoisted", "f64[]"),
        ("cond", "branched", "f64[batch]"),
        ("sin", "batched", "f64[batch]"),
        ("cos", "hoisted", "f64[]"),
        ("broadcast_to", "hoisted", "f64[batch]"),
    ]
    assert fates(TEXT.format("bool[batch]", "0")) == [
        ("exp", "hoisted", "f64[]"),
        ("cond", "divergent", "f64[batch]"),
        ("sin", "batched", "f64[live]"),
        ("cos", "hoisted", "f64[]"),
    ]
    assert fates(TEXT.format("bool[batch]", "0").replace("True,)]", "True,), chunk=3]")) == [
        ("exp", "hoisted", "f64[]"),
        ("cond", "divergent", "f64[chunk]"),
        ("sin", "batched", "f64[live]"),
        ("cos", "hoisted", "f64[]"),
    ]
    sequential = TEXT.format("bool[batch]", "0").replace("(True,)]", "(True,), order='sequential']")
    assert {fate for _, fate, _ in fates(sequential)} == {"looped"}


LOOP = """
    graph(%0: f64[batch], %1: i64{0}) {{
      %2 = map[size=batch, in_dims=(0, {1}), out_mapped=(True,)](%0, %1)
        graph(%0: f64[], %1: i64[]) {{
          %2, %3 = while[captures=0](%1, %0)
            graph(%0: i64[], %1: f64[]) {{ %2: i64[] = constant(0) %3 = greater(%0, %2) return %3 }}
            graph(%0: i64[], %1: f64[]) {{
              %2: i64[] = constant(1)
              %3 = subtract(%0, %2)
              %4 = sin(%1)
              %5 = isfinite(%4)
              check[make=<host fail>](%5)
              return %3, %4
            }}
          return %3
        }}
      return %2
    }}"""


def test_loops():
    assert fates(LOOP.format("[]", "None")) == [
        ("while", "lockstep", "i64[], f64[batch]"),
        ("greater", "hoisted", "bool[]"),
        ("subtract", "hoisted", "i64[]"),
        ("sin", "batched", "f64[batch]"),
        ("isfinite", "batched", "bool[batch]"),
        ("check", "batched", ""),
    ]
    assert fates(LOOP.format("[batch]", "0")) == [
        ("while", "divergent", "f64[batch]"),
        ("greater", "batched", "bool[live]"),
        ("subtract", "batched", "i64[live]"),
        ("sin", "batched", "f64[live]"),
        ("isfinite", "batched", "bool[live]"),
        ("check", "batched", ""),
    ]


def test_the_first_line_counts_them():
    graph = parse_graph(LOOP.format("[batch]", "0"), REGISTRY, {"fail": ValueError})
    text = str(explained(graph, batch=4))
    assert "6 operations (0 hoisted, 5 batched, 0 looped, 1 divergent)" in text
    assert "while              divergent f64[batch]" in text


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(seed):
    graph, arguments = random_graph(seed)
    sizes = [len(x) for x, v in zip(arguments, graph.inputs, strict=True) if "batch" in str(v.type)]
    found = rows(graph, batch=sizes[0])
    assert all(row.nbytes >= 0 and isinstance(row.nbytes, int) for row in found)
    assert np.isin([row.fate for row in found], [
        "hoisted", "batched", "looped", "branched", "lockstep", "divergent",
    ]).all()  # fmt: skip
