"""Rules that call their own function: implicit differentiation, to any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)


def bisected(a: Any) -> Any:
    """The root of x**3 + x = a, by what has no derivative of its own."""
    low, high = -10.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle**3 + middle > a:
            high = middle
        else:
            low = middle
    return low


forward = lw.custom_jvp(bisected)


@forward.defjvp
def _forward(primals: Any, tangents: Any) -> Any:
    (a,), (t,) = primals, tangents
    x = forward(a)
    return x, t / (3 * x**2 + 1)


@lw.custom_gradient
def backward(a: Any) -> Any:
    return bisected(a), lambda dy: dy / (3 * backward(a) ** 2 + 1)


#: The derivatives of the root in a, at a = 2 and 10, where it is x = 1 and 2.
X = np.array([1.0, 2.0])
A = X**3 + X
FIRST = 1 / (3 * X**2 + 1)
SECOND = -6 * X * FIRST**3
THIRD = FIRST * (-6 * FIRST**3 + 108 * X**2 * FIRST**4)


@pytest.mark.parametrize("root", [forward, backward])
def test_derivatives_of_every_order(root: Callable[[Any], Any]) -> None:
    near = lambda found, expected: np.testing.assert_allclose(found, expected, rtol=1e-12)  # noqa: E731
    near(lw.vmap(root)(A), X)
    near(lw.vmap(lw.grad(root))(A), FIRST)
    near(lw.vmap(lw.grad(lw.grad(root)))(A), SECOND)
    near(lw.vmap(lw.hessian(root))(A), SECOND)
    near(lw.grad(lw.grad(lw.grad(root)))(10.0), THIRD[1])
    near(lw.jvp(lw.vmap(root), (A,), (A,))[1], FIRST * A)
    near(lw.grad(lambda a: lw.vmap(root)(a).sum())(A), FIRST)
    near(root(10.0), 2.0)


def test_within_loops_and_over_trees() -> None:
    @lw.custom_jvp
    def both(pair: Any, scale: Any) -> Any:
        return {"p": pair[0] * scale, "q": pair[1] ** 2}

    weights = np.array([2.0, 3.0])

    @both.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (pair, scale), ((t, u), v) = primals, tangents
        value = both(pair, scale)  # scale is what it gives over what it takes
        moved = {"p": t * value["p"] / pair[0] + pair[0] * v, "q": 2 * pair[1] * u}
        return value, {**moved, "p": moved["p"] * weights[0] / 2}

    def loss(a: Any) -> Any:
        total = 0.0
        for _ in range(40):
            found = both((a, a), a)
            total, a = total + found["p"] + found["q"], a * 0.9
        return total

    powers = (0.81 ** np.arange(40)).sum()
    np.testing.assert_allclose(lw.vmap(lw.grad(loss))(X), 4 * powers * X)
    np.testing.assert_allclose(lw.vmap(lw.grad(lw.grad(loss)))(X), np.full(2, 4 * powers))


def test_what_is_computed_outside_is_to_be_an_argument() -> None:
    def outer(x: Any, w: Any) -> Any:
        doubled = w * 2

        @lw.custom_jvp
        def inner(y: Any) -> Any:
            return y * doubled

        @inner.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            return inner(primals[0]), tangents[0] * inner(primals[0]) / primals[0]

        return inner(x)

    w = np.array(2.0)
    np.testing.assert_allclose(lw.grad(outer)(3.0, w), 4.0)
    with pytest.raises((lw.UnsupportedError, lw.LeakedTensorError)):
        lw.grad(lw.grad(outer))(3.0, w)


def test_the_function_is_itself_in_every_order() -> None:
    @lw.custom_jvp
    def tenfold(x: Any) -> Any:
        return x**3

    @tenfold.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return primals[0] ** 3, 30 * primals[0] ** 2 * tangents[0]  # too much, to be seen

    # (y**2)'' = 2 y'**2 + 2 y y'', with y' = 30 x**2 and y'' = 60 x.
    squared = lambda x: tenfold(x) ** 2  # noqa: E731
    for second in (lw.grad(lw.grad(squared)), lw.hessian(squared)):
        np.testing.assert_allclose(second(2.0), 2 * 120**2 + 2 * 8 * 120)
