"""`grad`, `value_and_grad`, `vjp`, `jvp`, `linearize`, `hvp`: functions over trees of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.differences import assert_close, jacobian

RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 3))


def smooth(x):
    return np.sum(np.sin(x) * x**2) / (1 + np.exp(-x[0]))


def views(x):
    y = np.zeros_like(x)
    row = y[1:]
    row[...] = x[:-1] * 2
    row += x[1:] ** 2
    y[0] = row.max()
    return (y * np.arange(3.0)).sum() + y[::-1] @ x


def matrices(x):
    return np.tanh(W @ x).max() + np.linalg.norm(x) + (x[:, None] * W).std()


def gathers(x):
    order = np.argsort(x)
    return x[order[0]] * 3 + np.sort(x)[1] ** 2 + np.cumsum(x)[x > 0.1].sum() * x.mean()


def clipped(x):
    return (np.clip(x, -0.5, 0.5) * np.where(x > 0, x, -3 * x)).sum() + np.maximum(x, 0.2).prod()


def reshaped(x):
    m = np.concatenate([x, x[::-1] * 2]).reshape(2, 3).T
    return (m @ m.T).diagonal().sum() + np.einsum("ij,ij->", m, m**3) + np.pad(x, 2)[1:5].sum()


FUNCTIONS = [smooth, views, matrices, clipped, reshaped]
POINT = np.array([0.31, -1.27, 0.73])


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    return request.param


@pytest.mark.parametrize("func", FUNCTIONS)
def test_gradients_are_those_of_differences(func: Callable[..., Any]) -> None:
    expected = jacobian(func, POINT)
    assert_close(lw.grad(func)(POINT), expected)
    value, found = lw.value_and_grad(func)(POINT)
    assert_close(found, expected)
    np.testing.assert_allclose(value, func(POINT), rtol=1e-14)
    value, tangent = lw.jvp(func, (POINT,), (W[0],))
    assert_close(tangent, expected @ W[0])
    value, derivative = lw.linearize(func, POINT)
    assert_close(derivative(W[1]), expected @ W[1])
    value, pullback = lw.vjp(func, POINT)
    assert_close(pullback(2.0)[0], 2 * expected)


@pytest.mark.parametrize("func", FUNCTIONS)
@pytest.mark.parametrize("axis", [0, -1])
def test_gradients_are_mapped(func: Callable[..., Any], axis: int) -> None:
    points = np.random.default_rng(3).normal(size=(5, 3))  # away from all kinks
    expected = np.stack([jacobian(func, x) for x in points])
    moved = np.moveaxis(points, 0, axis)
    assert_close(lw.vmap(lw.grad(func), in_dims=axis)(moved), expected)
    total = lw.grad(lambda xs: lw.vmap(func, in_dims=axis)(xs).sum())(moved)
    assert_close(np.moveaxis(total, axis, 0), expected)


@pytest.mark.parametrize("func", FUNCTIONS)
def test_second_derivatives(func: Callable[..., Any], backend: str) -> None:
    """In every combination where it is interpreted; one of them each, in turn, natively."""
    expected = jacobian(lw.function(lw.grad(func)), POINT)
    seconds: list[tuple[Callable[[], Any], np.ndarray]] = [
        (lambda: lw.hessian(func)(POINT), expected),
        (lambda: lw.jacrev(lw.grad(func))(POINT), expected),
        (lambda: lw.hvp(func, (POINT,), (W[0],)), expected @ W[0]),
        (lambda: lw.grad(lambda x: lw.grad(func)(x) @ W[1])(POINT), expected @ W[1]),
        (lambda: lw.vmap(lw.hessian(func))(POINT[None]), expected[None]),
    ]
    for second, wanted in seconds if backend == "interpret" else [seconds[FUNCTIONS.index(func)]]:
        assert_close(second(), wanted)


def test_arguments_are_trees_and_several() -> None:
    def loss(params: Any, x: Any, scale: float = 1.0, *, shift: Any) -> Any:
        return scale * (params["w"] @ x + params["b"][0] + shift).sum()

    params = {"w": W, "b": (np.array(2.0), [np.ones(3)])}
    x = np.arange(3.0)
    found = lw.grad(loss)(params, x, 2.0, shift=x)
    np.testing.assert_allclose(found["w"], 2 * np.broadcast_to(x, (3, 3)))
    assert found["b"][0].shape == () and float(found["b"][0]) == 6
    np.testing.assert_array_equal(found["b"][1][0], np.zeros(3))
    first, second = lw.grad(loss, argnums=(1, 0))(params, x, shift=x)
    np.testing.assert_allclose(first, W.sum(0))
    np.testing.assert_allclose(second["w"], np.broadcast_to(x, (3, 3)))
    (only,) = (lw.grad(loss, argnums=(-2,))(params, x, shift=x)[:1],)
    assert set(only[0]) == {"w", "b"}


def test_auxiliary_results_are_handed_on() -> None:
    def loss(x: Any) -> Any:
        return (x**2).sum(), {"doubled": 2 * x, "count": 3}

    x = np.arange(3.0)
    found, aux = lw.grad(loss, has_aux=True)(x)
    np.testing.assert_array_equal(found, 2 * x)
    np.testing.assert_array_equal(aux["doubled"], 2 * x)
    (value, aux), found = lw.value_and_grad(loss, has_aux=True)(x)
    assert float(value) == 5 and int(aux["count"]) == 3


def test_values_keep_their_dtypes() -> None:
    x = np.array([1.0, 2.0], np.float32)
    assert lw.grad(lambda x: (x * np.float64(2) * x).sum())(x).dtype == np.float32
    assert lw.grad(lambda x: x * 2)(1.5).dtype == np.float64
    assert lw.grad(lambda x, y: (x * y).sum())(x, 2.0).dtype == np.float32
    z = np.array([1 + 2j, 3 - 1j])
    found = lw.grad(lambda z: (z * np.conjugate(z)).real.sum())(z)
    assert found.dtype == np.complex128
    np.testing.assert_allclose(found, 2 * np.conjugate(z))  # as JAX has it


def test_what_is_not_asked_for_gives_no_nan() -> None:
    def root(x: Any) -> Any:
        return np.where(x > 0, np.sqrt(x), 0).sum()

    def logarithm(x: Any) -> Any:
        y = np.log(x)
        total = 0.0
        for i in range(3):
            if x[i] > 0:
                total = total + y[i]
        return total

    def inverse(x: Any) -> Any:
        return np.maximum(1 / x[1:], 2.0).sum()

    x = np.array([0.0, 1.0, 4.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lw.grad(root)(x), [0, 0.5, 0.25])
        np.testing.assert_array_equal(lw.grad(logarithm)(x), [0, 1, 0.25])
        np.testing.assert_array_equal(lw.vmap(lw.grad(logarithm))(x[None]), [[0, 1, 0.25]])
        np.testing.assert_array_equal(lw.grad(inverse)(x), [0, 0, 0])
        found = lw.vmap(lw.grad(lambda x: np.sqrt(x) if x > 0 else 0 * x))(x)
        np.testing.assert_array_equal(found, [0, 0.5, 0.25])


def test_ties_share() -> None:
    x = np.array([1.0, 3.0, 3.0])
    np.testing.assert_array_equal(lw.grad(np.max)(x), [0, 0.5, 0.5])
    np.testing.assert_array_equal(lw.grad(lambda x: np.maximum(x, 3.0).sum())(x), [0, 0.5, 0.5])
    np.testing.assert_array_equal(lw.grad(lambda x: np.abs(x).sum())(np.zeros(2)), [0, 0])


def test_pullbacks_map_over_a_basis_and_take_trees() -> None:
    y, pullback = lw.vjp(lambda a, b: {"sum": a + b, "product": a * b}, np.ones(2), np.arange(2.0))
    np.testing.assert_array_equal(y["product"], [0, 1])
    first, second = pullback({"sum": np.ones(2), "product": np.array([1.0, 10.0])})
    np.testing.assert_array_equal(first, [1, 11])
    np.testing.assert_array_equal(second, [2, 11])
    _, pullback = lw.vjp(np.square, np.arange(3.0))
    np.testing.assert_array_equal(lw.vmap(pullback)(np.eye(3))[0], np.diag([0, 2, 4]))


def test_captured_arrays_and_outer_derivatives() -> None:
    # The inner function uses a value of the outer one: its derivative counts.
    found = lw.grad(lambda x: lw.grad(lambda y: x * y**2)(3.0) * x)(2.0)
    assert float(found) == 24
    x = np.arange(3.0)
    found = lw.vmap(lambda a: lw.grad(lambda y: (y * a * x).sum())(x))(np.arange(2.0))
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 1, 2]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lw.grad(np.sum)(np.arange(3)), TypeError, "int64"),
        (lambda: lw.grad(lambda flag, x: x)(True, 1.0), TypeError, "argument flag"),
        (lambda: lw.grad(lambda p: p["a"].sum())({"a": np.ones(2, bool)}), TypeError, r"p\['a'\]"),
        (lambda: lw.grad(lambda x: x)(np.ones(3)), TypeError, "must return one number"),
        (lambda: lw.grad(lambda x: x > 0)(1.0), TypeError, "must return a float"),
        (lambda: lw.grad(lambda x: x * 1j)(1.0), TypeError, "must return a float"),
        (lambda: lw.grad(lambda x: "text")(1.0), ValueError, "returned the result of type str"),
        (lambda: lw.grad(np.sum, argnums=()), ValueError, "at least one"),
        (lambda: lw.grad(np.sum, argnums=(0, 0)), ValueError, "each once"),
        (lambda: lw.grad(np.sum, argnums=(0, -1))(np.ones(2)), ValueError, "twice"),
        (lambda: lw.grad(np.sum, argnums=1)(np.ones(2)), ValueError, "argnums has 1"),
        (lambda: lw.grad(np.sum, argnums=1.5), TypeError, "argnums must be"),
        (lambda: lw.grad(lambda x: x, has_aux=True)(1.0), TypeError, "pair"),
        (lambda: lw.vjp(np.sin, np.ones(2))[1](np.ones(3)), ValueError, "cotangent must have the"),
        (lambda: lw.vjp(np.sin, np.ones(2))[1]((1.0, 2.0)), ValueError, "structure"),
        (lambda: lw.vjp(np.sin, np.ones(2))[1](np.ones(2) * 1j), TypeError, "must be real"),
        (lambda: lw.jvp(np.sin, (np.ones(2),), (np.ones(3),)), ValueError, "tangents must have"),
        (lambda: lw.jvp(np.sin, np.ones(2), np.ones(2)), TypeError, "tuples"),
        (lambda: lw.grad("sin")(1.0), TypeError, "takes a function"),
    ],
)
def test_bad_calls_are_refused(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_what_has_no_derivative_is_refused_with_its_line() -> None:
    def host(x: Any) -> Any:
        return lw.py_func(np.sin, [x], np.float64)

    with pytest.raises(lw.UnsupportedError, match=r"py_func is differentiated.*test_gradients.py"):
        lw.grad(host)(1.0)


def test_prints_and_host_calls_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[float] = []

    def loss(x: Any) -> Any:
        print("x is", x)
        for _ in range(3):
            lw.py_func(lambda v: seen.append(float(v)), [lw.stop_gradient(x)], None)
            x = x * 2
        return x**2

    assert float(lw.grad(loss)(1.0)) == 128
    assert capsys.readouterr().out == "x is 1.0\n" and seen == [1, 2, 4]
    pullback = lw.vjp(loss, 2.0)[1]
    assert float(pullback(1.0)[0]) == 256 == float(pullback(1.0)[0]) and seen[3:] == [2, 4, 8]
    assert float(lw.jvp(loss, (1.0,), (1.0,))[1]) == 128 and len(seen) == 9
    capsys.readouterr()
    np.testing.assert_array_equal(lw.vmap(lw.grad(loss))(np.array([1.0, 3.0])), [128, 384])
    assert capsys.readouterr().out == "x is 1.0\nx is 3.0\n" and len(seen) == 15
    assert float(lw.function(lw.grad(loss))(np.float64(1.0))) == 128 and len(seen) == 18
