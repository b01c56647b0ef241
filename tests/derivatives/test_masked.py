"""What is not asked for gives no NaN, and stays exact in derivatives of any order."""

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


def chosen(x: Any) -> Any:
    return np.where(x > -1, np.sin(x), 0.0)


def branched(x: Any) -> Any:
    return np.sin(x) if x > -1 else x


def limited(x: Any) -> Any:
    return np.maximum(np.sin(x), -1.5)


def picked(x: Any) -> Any:
    return (np.sin(x) * np.array([1.0, 2.0]))[0]


def kept(x: Any) -> Any:
    both = np.sin(x) * np.array([1.0, 2.0])
    both[1] = 3.0
    return both[0]


@pytest.mark.parametrize("func", [chosen, branched, limited, picked, kept])
def test_a_cotangent_that_happens_to_be_zero_has_derivatives(func: Callable[..., Any]) -> None:
    # At 0 the residual is zero, and with it the cotangent; its derivative is not.
    square = lambda x: func(x) ** 2  # noqa: E731
    points = np.array([0.0, 0.3])
    expected = 2 * np.cos(2 * points)
    for second in (lw.hessian(square), lw.grad(lw.grad(square)), lw.jacrev(lw.grad(square))):
        np.testing.assert_allclose(lw.vmap(second)(points), expected, rtol=1e-14)
        np.testing.assert_allclose(second(0.0), 2.0)
    _, pullback = lw.vjp(func, 0.5)
    for jacobian in (lw.jacfwd, lw.jacrev):
        found = jacobian(lambda ct: pullback(ct)[0])(0.0)
        np.testing.assert_allclose(found, np.cos(0.5), rtol=1e-14)


def test_second_derivatives_of_what_is_not_asked_for_are_zero() -> None:
    def power(x: Any) -> Any:  # its second derivative is infinite at 0
        return np.where(x > 0, x**1.5, 0.0)

    x = np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lw.vmap(lw.grad(power))(x), [0, 3])
        np.testing.assert_array_equal(lw.vmap(lw.grad(lw.grad(power)))(x), [0, 0.375])
        np.testing.assert_array_equal(lw.vmap(lw.hessian(power))(x), [0, 0.375])


def test_what_the_value_depends_on_is_not_hidden() -> None:
    with np.errstate(all="ignore"):
        found = lw.vmap(lw.grad(lambda x: np.where(x >= 0, np.sqrt(x), 0.0)))(np.array([0.0, 4.0]))
        np.testing.assert_array_equal(found, [np.inf, 0.25])
        assert np.isnan(lw.grad(lambda x: np.where(x > -1, np.sqrt(x), 0.0))(-0.5))


def test_no_warning_comes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")  # kernels give none at all
    with np.errstate(divide="ignore", invalid="raise"):  # 1 / 0 is asked for, 0 * inf is not
        found = lw.grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum())(np.array([0.0, 4.0]))
    np.testing.assert_array_equal(found, [0, 0.25])
