"""Derivatives that compute again: the same numbers, with bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.differences import assert_close, jacobian


def turn(x: Any) -> Any:
    for _ in range(40):
        x = x + 0.01 * np.sin(x) * np.exp(-x * x)
    return x


again = lw.checkpoint(turn)


def scanned(x: Any) -> Any:
    for _ in range(30):
        x = again(x)
    return x * x


def growing(x: Any) -> Any:
    while x < 3:
        x = again(x) + 0.05
    return x * x


@lw.checkpoint
def straight(x: Any, power: int = 2) -> Any:
    return np.tanh(np.sin(x) ** power) * x


@lw.checkpoint
def looping(x: Any) -> Any:
    values = lw.TensorArray()
    while x < 5:
        values.append(x * x)
        x = x * 1.3 + 0.1
    return values.read(-1) * x


POINTS = np.array([0.3, 1.2])


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    return request.param


@pytest.mark.parametrize("func", [scanned, growing, straight, looping])
def test_derivatives(func: Callable[..., Any]) -> None:
    first = np.array([jacobian(lambda x: func(np.float64(x)), x, 1e-5) for x in POINTS])
    second = jacobian(lambda shift: lw.vmap(lw.grad(func))(POINTS + shift), 0.0, 1e-5)
    near = {"rtol": 1e-6}
    assert_close(lw.vmap(lw.grad(func))(POINTS), first, **near)
    assert_close([lw.grad(func)(x) for x in POINTS], first, **near)
    assert_close(lw.grad(lambda xs: lw.vmap(func)(xs).sum())(POINTS), first, **near)
    assert_close(lw.vmap(lambda x: lw.jvp(func, (x,), (1.0,))[1])(POINTS), first, **near)
    assert_close(lw.vmap(lw.hessian(func))(POINTS), second, **near)
    assert_close(lw.vmap(lw.grad(lw.grad(func)))(POINTS), second, **near)


def peak(loss: Callable[..., Any], x: np.ndarray) -> float:
    """Return how many megabytes a gradient allocates at most."""
    gradient = lw.function(lw.grad(loss))
    gradient(x)
    tracemalloc.start()
    gradient(x)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / 1e6


@pytest.mark.parametrize("is_scan", [True, False])
def test_memory_of_loops(is_scan: bool) -> None:
    def loss(step: Any) -> Any:
        def scanning(x: Any) -> Any:
            for _ in range(60):
                x = step(x)
            return (x * x).sum()

        def testing(x: Any) -> Any:
            count = 0.0
            while count < 60 + x[0]:
                x, count = step(x), count + 1
            return (x * x).sum()

        return scanning if is_scan else testing

    x = np.linspace(0, 1, 1000)
    # 60 iterations of 40, of 8 kB: kept they are at least 19 MB. Kept at each outer one: 0.5.
    assert peak(loss(again), x) < 3
    np.testing.assert_allclose(lw.grad(loss(again))(x), lw.grad(loss(turn))(x), rtol=1e-12)


def test_straight_code_is_computed_again(backend: str) -> None:
    if backend == "native":
        pytest.skip("kernels keep what they compute in registers")

    def chain(x: Any) -> Any:
        for _ in (1, 2, 3, 4, 5, 6, 7, 8, 9):
            x = np.sin(x) * np.exp(-x)
        return x

    def loss(link: Any) -> Any:
        return lambda x: link(link(link(link(x)))).sum()

    x = np.linspace(0, 1, 100_000)
    assert peak(loss(lw.checkpoint(chain)), x) < 0.5 * peak(loss(chain), x)


def test_what_cannot_run_again_is_refused() -> None:
    def writing(a: Any) -> Any:
        a[0] = 1.0
        return a * a

    with pytest.raises(lw.UnsupportedError, match="writes to its arguments"):
        lw.vmap(lw.checkpoint(writing))(np.ones((2, 3)))

    def printing(a: Any) -> Any:
        print(a)
        return a

    with pytest.raises(lw.UnsupportedError, match="prints"):
        lw.vmap(lw.checkpoint(printing))(np.ones(2))


def test_captures_trees_and_plain_calls() -> None:
    def outer(x: Any, w: Any) -> Any:
        scaled = {"w": w * 2}
        inner = lw.checkpoint(lambda y, *, sign: {"y": np.sin(y * scaled["w"]) * sign})
        return inner(x, sign=-1)["y"] * x

    expected = jacobian(lambda x: -np.sin(x * 4) * x, 0.7)
    assert_close(lw.grad(outer)(0.7, 2.0), expected)
    assert_close(lw.vmap(lw.grad(outer), in_dims=(0, None))(np.array([0.7]), 2.0)[0], expected)
    assert float(straight(0.5, power=3)) == np.tanh(np.sin(0.5) ** 3) * 0.5
