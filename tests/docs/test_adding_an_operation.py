"""The operation that ``docs/adding-an-operation.md`` adds passes what every operation must."""

from __future__ import annotations

import doctest
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from codegen import test_operations as native
from docs.test_docs import DOCS, OPTIONS, examples
from lanewise.codegen.work import BYTE_NS_OF, CALL_NS_OF, interpreting
from lanewise.inspect.estimates import flops
from lanewise.inspect.explain import Explanation
from lanewise.ir.text import parse_graph
from lanewise.ops.facts import Kind
from lanewise.ops.registry import REGISTRY, Primitive
from lanewise.trace.tensor import as_tensor, emit
from ops import test_derivatives as derivatives
from ops import test_registry as meaning


@pytest.fixture(scope="module")
def leaky_sum() -> Iterator[Primitive]:
    """Follow the page, and return what it adds."""
    text = examples(DOCS / "adding-an-operation.md")
    test = doctest.DocTestParser().get_doctest(text, {}, "adding", "adding", 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    assert not runner.run(test, out=lambda _: None, clear_globs=False).failed
    yield REGISTRY["leaky_sum"]
    del REGISTRY["leaky_sum"]


def test_it_means_what_it_says(leaky_sum: Primitive) -> None:
    meaning.test_symbolic_dimensions("leaky_sum")
    for case in meaning.samples_of(leaky_sum):
        meaning.test_the_type_rule_is_numpys(leaky_sum, case)
        meaning.test_interpreted(leaky_sum, case)
        meaning.test_mapped_twice(leaky_sum, case)
        for size in (3, 1, 0):
            meaning.test_mapped(leaky_sum, case, size)


def test_its_derivatives(leaky_sum: Primitive) -> None:
    derivatives.test_every_primitive_has_a_derivative_or_says_why_not("leaky_sum")
    given = [param.values for param in derivatives._cases("dD", False)]
    own = [values for values in given if values[0] is leaky_sum]
    assert len(own) == 6
    for values in own:
        derivatives.test_tangents_are_differences(*values)
        derivatives.test_back_is_the_transpose_of_forward(*values)
        derivatives.test_second_derivatives(*values)


def test_its_kernel(leaky_sum: Primitive) -> None:
    uses = list(native.uses_of(leaky_sum))
    assert len({use.case.operands[0].dtype for use in uses}) > 3
    assert "leaky_sum" in native.check(uses)


# --- it is treated as what was there before is --------------------------------------------------


def smooth(x: Any, decay: float = 0.5) -> Any:
    return emit(REGISTRY["leaky_sum"], as_tensor(x), decay=decay)


def both(
    program: Callable[[Any], Callable[..., Any]], *args: Any
) -> tuple[Explanation, list[tuple[str, str]]]:
    """Explain a program with the new operation; with a running sum it must be the same."""
    found = []
    for sums in (smooth, lambda x: np.cumsum(x, axis=-1)):
        seen = lw.explain(program(sums), *args)
        names = {"leaky_sum": "sums", "accumulate(add)": "sums"}
        rows = [(names.get(row.operation, row.operation), row.fate) for row in seen.rows]
        kernels = [(k.examples, k.operations, k.in_lanes, k.lanes) for k in seen.kernels]
        found.append((seen, rows, kernels))
    (seen, rows, kernels), (_, known_rows, known_kernels) = found
    assert rows == known_rows and kernels == known_kernels and not seen.left
    return seen, rows


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "native")


def test_it_is_batched_and_hoisted(leaky_sum: Primitive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    xs, w = np.ones((6, 4)), np.ones(4)
    _, rows = both(lambda sums: lw.vmap(lambda x, w: sums(x) * sums(w), (0, None)), xs, w)
    assert sorted(rows) == [("multiply", "batched"), ("sums", "batched"), ("sums", "hoisted")]


def test_it_leaves_loops(leaky_sum: Primitive, compiled: None) -> None:
    def program(sums: Any) -> Any:
        def steps(x: Any, w: Any) -> Any:
            y = np.zeros_like(x)
            for i in range(len(y)):
                y[i] = x[i] * sums(w)[1]
            return y

        return lw.function(steps)

    seen, _ = both(program, np.ones(1000), np.ones(20))
    assert 1000 in [kernel.examples for kernel in seen.kernels]


def test_it_is_fused(leaky_sum: Primitive, compiled: None) -> None:
    seen, rows = both(lambda sums: lw.vmap(lambda x: np.exp(-sums(2 * x))), np.ones((64, 50)))
    assert {fate for _, fate in rows} == {"kernel 1"}
    assert [kernel.operations for kernel in seen.kernels] == [4]


def test_its_rows_are_parallelized(leaky_sum: Primitive, compiled: None) -> None:
    seen, _ = both(lambda sums: lw.function(lambda x: sums(np.sin(x))), np.ones((2000, 100)))
    assert [kernel.examples for kernel in seen.kernels] == [2000]


def test_short_branches_of_it_are_straight_line_code(
    leaky_sum: Primitive, compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def jumps(decay: float) -> int:
        f = lw.vmap(lambda x: smooth(x, decay) if x[0] > 2 else x)
        (kernel,) = lw.explain(f, np.ones((64, 3))).kernels
        return kernel.ir.count("br i1")

    short = jumps(0.375)
    monkeypatch.setattr(leaky_sum, "may_fail", True)
    assert short < jumps(0.625)
    monkeypatch.setattr(leaky_sum, "may_fail", False)
    monkeypatch.setattr(leaky_sum, "instructions", 50)
    assert short < jumps(0.875)


def test_it_is_priced(leaky_sum: Primitive) -> None:
    text = "graph(%0: f64[4,8]) { %1 = leaky_sum[decay=0.5](%0) return %1 }"
    graph = parse_graph(text, REGISTRY)
    moved = BYTE_NS_OF[Kind.ALONG] * 2 * 32 * 8
    assert interpreting(graph, {}) == pytest.approx(CALL_NS_OF[Kind.ALONG] + moved + 4.0 * 32)
    assert flops(graph) == 2 * 32


def test_it_is_explained(leaky_sum: Primitive, compiled: None) -> None:
    seen = lw.explain(lw.vmap(smooth), np.ones((64, 50)))
    (row,) = seen.rows
    assert (row.operation, row.fate, row.result) == ("leaky_sum", "kernel 1", "f64[50]")
    (kernel,) = seen.kernels
    assert kernel.flops == 64 * 50 * 2
