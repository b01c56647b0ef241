"""What is kept for derivatives and what is computed again; and totals that are one product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.ir.text import parse_graph
from lanewise.ops.registry import REGISTRY
from lanewise.passes.simplify import eliminate_dead
from lanewise.transforms.linearize import linearize
from lanewise.transforms.residuals import recomputed
from lanewise.transforms.totals import product_of

BODY = """
graph(%0: f64[3], %1: f64[3]) {
  %2: f64[3] = negative(%0)
  %3: f64[3] = exp(%2)
  %4: f64[] = constant(1.0)
  %5: f64[3] = add(%4, %3)
  %6: f64[3] = divide(%4, %5)
  %7: f64[3] = multiply(%6, %1)
  %8: f64[3] = tanh(%7)
  %9: f64[3] = multiply(%8, %6)
  return %9
}
"""


@pytest.fixture(params=["interpret", "native"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    return request.param


def test_what_is_cheap_is_computed_again() -> None:
    lin = linearize(parse_graph(BODY, REGISTRY), [True, True])
    kept = recomputed(lin, lambda number: True)
    makers = {v: op.primitive.name for op in lin.primal.operations for v in op.results}

    def saved(found: Any) -> list[str]:
        return [makers[v] for v in found.primal.outputs[1:]]

    assert len(saved(lin)) > 2
    assert saved(kept) == ["exp", "tanh"]
    assert [op.primitive.name for op in kept.linear.operations].count("exp") == 0
    # An input that changes from turn to turn is as dear as a number that is kept.
    assert recomputed(lin, lambda number: False).sources.count(None) == 2


def test_what_the_results_are_made_of_is_kept_rather_than_what_only_derivatives_read() -> None:
    graph = (
        "graph(%0: f64[3], %1: f64[3]) {\n  %2: f64[3] = exp(%0)\n"
        "  %3: f64[3] = divide(%1, %2)\n  %4: f64[3] = sin(%3)\n  return %4\n}"
    )
    lin = linearize(parse_graph(graph, REGISTRY), [True, True])
    kept = recomputed(lin, lambda number: False)
    makers = {v: op.primitive.name for op in lin.primal.operations for v in op.results}
    assert sorted(makers[v] for v in kept.primal.outputs[1:]) == ["cos", "divide", "exp"]
    # So the part that computes divides once, and the other one again.
    computed = [op.primitive.name for op in eliminate_dead(kept.primal).operations]
    assert sorted(computed) == ["cos", "divide", "exp", "sin"]


def test_nothing_changes_where_all_is_dear() -> None:
    graph = "graph(%0: f64[3]) {\n  %1: f64[3] = exp(%0)\n  %2: f64[3] = sin(%1)\n  return %2\n}"
    lin = linearize(parse_graph(graph, REGISTRY), [True])
    assert recomputed(lin, lambda number: True) is lin


@pytest.mark.parametrize(
    ("x", "y", "params", "found"),
    [
        ("5", "7", "batch=(), contract=()", True),
        ("2", "2", "batch=(), contract=()", False),  # as few numbers as its factors
        ("4", "4", "batch=(), contract=((0, 0),)", False),
        ("2,8", "2,9", "batch=((0, 0),), contract=()", True),
        ("9,2", "2,9", "batch=(), contract=((1, 0),)", True),
    ],
)
@pytest.mark.parametrize("is_turned", [False, True])
def test_sums_of_products(x: str, y: str, params: str, found: bool, is_turned: bool) -> None:
    axes = {"5": "5,7", "2": "2,2", "4": "", "2,8": "2,8,9", "9,2": "9,9"}[x]
    order = list(range(len(axes.split(",")) if axes else 0))[::-1]
    lines = [f"graph(%0: f64[{x}], %1: f64[{y}]) {{"]
    lines.append(f"  %2: f64[{axes}] = dot_general[{params}](%0, %1)")
    if is_turned:
        turned = ",".join(axes.split(",")[::-1])
        comma = "," if len(order) == 1 else ""
        given = "(" + ", ".join(map(str, order)) + comma + ")"
        lines.append(f"  %3: f64[{turned}] = transpose[axes={given}](%2)")
    lines += [f"  return %{3 if is_turned else 2}", "}"]
    graph = parse_graph("\n".join(lines), REGISTRY)
    product = product_of(graph.operations, graph.outputs[0])
    assert (product is not None) is found
    if product is None:
        return
    random = np.random.default_rng(1)
    rows = [random.normal(size=(6, *v.type.shape)) for v in graph.inputs]

    def one(p: np.ndarray, q: np.ndarray) -> Any:
        if x == "2,8":
            whole = p[:, :, None] * q[:, None, :]
        else:
            whole = np.multiply.outer(p, q) if x == "5" else p @ q
        return whole.transpose() if is_turned else whole

    total = lw.function(product.total)(*rows)
    expected = sum(one(*pair) for pair in zip(*rows, strict=True))
    np.testing.assert_allclose(total, expected, rtol=1e-12)


def recurrent(W: Any, U: Any, x: Any) -> Any:
    h = np.zeros(W.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(W @ h + U @ x[t])
    return (h * h).sum()


def by_hand(W: Any, U: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    states = [np.zeros(len(W))]
    for row in x:
        states.append(np.tanh(W @ states[-1] + U @ row))
    d_W, d_U, ct = np.zeros_like(W), np.zeros_like(U), 2 * states[-1]
    for t in range(len(x) - 1, -1, -1):
        ct = ct * (1 - states[t + 1] ** 2)
        d_W += np.outer(ct, states[t])
        d_U += np.outer(ct, x[t])
        ct = W.T @ ct
    return d_W, d_U


def networks(count: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(2)
    shapes = (4, 4), (4, 3), (count, 9, 3)
    return tuple(0.4 * random.normal(size=shape) for shape in shapes)


@pytest.mark.parametrize("count", [0, 1, 37])
def test_weights_of_a_recurrent_network(backend: str, count: int) -> None:
    W, U, xs = networks(count)
    each = [by_hand(W, U, x) for x in xs]
    gradients = lw.grad(recurrent, argnums=(0, 1))
    found = lw.vmap(gradients, in_dims=(None, None, 0))(W, U, xs)
    for number, array in enumerate(found):
        assert array.shape == (count, *(W, U)[number].shape)
        if count:
            np.testing.assert_allclose(array, np.stack([one[number] for one in each]), rtol=1e-11)

    def total(W: Any, U: Any) -> Any:
        return lw.vmap(recurrent, in_dims=(None, None, 0))(W, U, xs).sum()

    for number, array in enumerate(lw.grad(total, argnums=(0, 1))(W, U)):
        expected = sum([one[number] for one in each], np.zeros_like((W, U)[number]))
        np.testing.assert_allclose(array, expected, rtol=1e-10, atol=1e-12)


def test_second_derivatives_through_totals(backend: str) -> None:
    W, U, xs = networks(3)

    def total(W: Any) -> Any:
        return lw.vmap(recurrent, in_dims=(None, None, 0))(W, U, xs).sum()

    direction = np.random.default_rng(3).normal(size=W.shape)
    step = 1e-5
    sides = [lw.grad(total)(W + s * direction) for s in (step, -step)]
    expected = (sides[0] - sides[1]) / (2 * step)
    np.testing.assert_allclose(lw.hvp(total, (W,), (direction,)), expected, rtol=1e-6, atol=1e-8)
    backward = lw.grad(lambda W: (lw.grad(total)(W) * direction).sum())(W)
    np.testing.assert_allclose(backward, expected, rtol=1e-6, atol=1e-8)


def test_a_gradient_of_shared_weights_makes_no_gradient_of_each_example(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    W, x = np.full((30, 40), 0.01), np.ones((50, 40))
    total = lambda W: lw.vmap(lambda x: np.tanh(W @ x).sum())(x).sum()  # noqa: E731
    seen = lw.explain(lw.grad(total), W)
    assert 30 * 40 * 8 <= max(row.nbytes for row in seen.rows) <= 50 * 40 * 8
    np.testing.assert_allclose(
        lw.grad(total)(W), np.full((30, 40), 50 / np.cosh(0.4) ** 2), rtol=1e-12
    )


def test_shared_matrices_of_many_products_are_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    x = np.random.default_rng(4).normal(size=(20, 64))
    for units, is_left in ((32, False), (128, True)):
        W = np.random.default_rng(5).normal(size=(units, 64))
        layer = lw.vmap(lambda W, x: np.tanh(W @ x), in_dims=(None, 0))
        seen = lw.explain(layer, W, x)
        assert ("left to BLAS" in str(seen)) is is_left
        np.testing.assert_allclose(layer(W, x), np.tanh(x @ W.T), rtol=1e-9, atol=1e-12)

    def steps(W: Any, x: Any) -> Any:
        for _ in range(20):
            x = np.tanh(W @ x)
        return x

    square = np.random.default_rng(6).normal(size=(128, 128)) / 12
    seen = lw.explain(lw.vmap(steps, in_dims=(None, 0)), square, np.ones((20, 128)))
    assert [row.in_kernel for row in seen.rows if row.operation == "scan"] == [True]


def jacobi(x, degree, a, b):
    """A Jacobi polynomial, by its recurrence."""
    c, e = a + b, a - b
    last, value = 1.0, 0.5 * (e + (c + 2.0) * x)
    for n in range(1, degree):
        a1 = 2.0 * (n + 1) * (n + 1 + c) * (2 * n + c)
        a2 = (2 * n + c + 1.0) * c * e
        a3 = (2 * n + c) * (2 * n + c + 1.0) * (2 * n + c + 2.0)
        a4 = 2.0 * (n + a) * (n + b) * (2 * n + c + 2.0)
        last, value = value, ((a2 + a3 * x) * value - a4 * last) / a1
    return value


@pytest.mark.parametrize("degree", [2, 3, 4, 5, 7])
def test_many_values_that_follow_from_each_other(degree, backend):
    def root(a):
        r, step, turns = -0.95, 1.0, 0
        while abs(step) > 1e-13 and turns < 60:
            slope = 0.5 * (degree + a + 1.2) * jacobi(r, degree - 1, a + 1.0, 1.2)
            step = -jacobi(r, degree, a, 0.2) / slope
            r = r + step
            turns += 1
        return r

    h = 1e-5
    expected = (root(0.4 + h) - root(0.4 - h)) / (2 * h)
    assert lw.grad(root)(0.4) == pytest.approx(expected, rel=1e-6)
