"""Errors that the data raise are raised under derivatives as they are without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")


def root(x: Any) -> Any:
    if x < 0:
        raise ValueError(f"no real root of {x}")
    return np.sqrt(x)


def branch(x: Any) -> Any:
    if x < 1:
        if x < 0:
            raise ValueError(f"no real root of {x}")
        return x * x
    return x


def loop(x: Any) -> Any:
    total = 0.0
    for _ in range(40):
        if x < 0:
            raise ValueError(f"no real root of {x}")
        total = total + np.sin(x)
        x = x * 1.01
    return total


def unbounded(x: Any) -> Any:
    while x < 10:
        if x < 0:
            raise ValueError(f"no real root of {x}")
        x = x * 2 + 0.1
    return x


DERIVATIVES: list[Callable[..., Any]] = [
    lw.grad,
    lw.hessian,
    lw.jacrev,
    lambda f: lambda x: lw.jvp(f, (x,), (1.0,))[1],
    lambda f: lambda x: lw.vjp(f, x)[1](1.0)[0],
    lambda f: lambda x: lw.linearize(f, x)[1](1.0),
]


@pytest.mark.parametrize("func", [root, branch, loop, unbounded])
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_a_raise_is_raised(func: Callable[..., Any], derivative: Callable[..., Any]) -> None:
    of = derivative(func)
    assert np.isfinite(lw.vmap(of)(np.array([0.5, 3.0]))).all()
    with pytest.raises(ValueError, match=r"no real root of -9\.0\n  in example 2"):
        lw.vmap(of)(np.array([0.5, 3.0, -9.0]))
    with pytest.raises(ValueError, match=r"no real root of -9\.0"):
        of(-9.0)


def test_a_check_of_what_is_not_differentiated() -> None:
    def scaled(x: Any, count: Any) -> Any:
        assert count > 0, f"count is {count}"
        return x * count

    with pytest.raises(AssertionError, match=r"count is -2\n  in example 1"):
        lw.vmap(lw.grad(scaled))(np.ones(2), np.array([3, -2]))


def test_an_index_out_of_range() -> None:
    with pytest.raises(IndexError, match=r"index 5 is out of bounds .*\n  in example 1"):
        lw.vmap(lw.grad(lambda x, i: x[i]), in_dims=(None, 0))(np.ones(3), np.array([1, 5]))


def test_auxiliary_results_are_arrays() -> None:
    def both(x: Any) -> Any:
        return x**2, {"thrice": 3 * x, "count": 2}

    x = np.array([1.0, 2.0])
    for derivative in (lw.jacrev, lw.jacfwd, lw.jacobian):
        found, aux = derivative(both, has_aux=True)(x)
        np.testing.assert_array_equal(found, np.diag(2 * x))
        np.testing.assert_array_equal(aux["thrice"], 3 * x)
        assert type(aux["thrice"]) is np.ndarray and int(aux["count"]) == 2
    found, aux = lw.hessian(lambda x: ((x**3).sum(), x * 2), has_aux=True)(x)
    np.testing.assert_array_equal(found, np.diag(6 * x))
    np.testing.assert_array_equal(aux, 2 * x)
    value, pullback, aux = lw.vjp(both, x, has_aux=True)
    np.testing.assert_array_equal(pullback(np.ones(2))[0], 2 * x)
    np.testing.assert_array_equal(aux["thrice"], 3 * value**0.5)
    value, push, aux = lw.linearize(both, x, has_aux=True)
    np.testing.assert_array_equal(push(x), 2 * x * x)
    mapped = lw.vmap(lw.hessian(lambda x: (x**3, x * 2), has_aux=True))(x)
    np.testing.assert_array_equal(mapped, (6 * x, 2 * x))
    with pytest.raises(TypeError, match="pair"):
        lw.jacrev(np.square, has_aux=True)(x)
