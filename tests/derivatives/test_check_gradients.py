"""The check of derivatives by differences: what it accepts, and what it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw


def squaring(x: Any) -> Any:
    while x < 10:
        x = x * x + 1.0
    return x


def test_right_derivatives_pass() -> None:
    lw.check_gradients(lambda x, y: np.sin(x) @ y, np.ones(3), np.arange(3.0))
    tree = {"x": np.ones((2, 2)), "y": (np.float32(2.0),)}
    lw.check_gradients(lambda t: {"a": t["x"] * t["y"][0], "n": 3}, tree)
    lw.check_gradients(lambda x: np.exp(x).sum(), np.ones(3, np.float32))
    lw.check_gradients(squaring, 0.7, order=3)
    lw.check_gradients(lambda x: x * (1 + 2j), np.array([0.5, 1.5]))
    lw.check_gradients(lw.vmap(np.tanh), np.zeros((0, 2)))


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
def test_wrong_derivatives_are_named(modes: tuple[str, ...]) -> None:
    @lw.custom_jvp
    def cube(x: Any) -> Any:
        return x**3

    @cube.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return x**3, np.where(x > 2, 4 * x**2, 3 * x**2) * t

    with pytest.raises(AssertionError, match=rf"{modes[0]}: .* in args\[1\]\['a'\]\[1, 0\] is 36"):
        lw.check_gradients(
            lambda k, p: (k * cube(p["a"])).sum(),
            np.float64(1.0),
            {"a": np.array([[1.0, 2.0], [3.0, 4.0]])},
            modes=modes,
        )


def test_wrong_second_derivatives_are_found() -> None:
    once = lw.custom_gradient(lambda x: (x**2, lambda dy: 2 * lw.stop_gradient(x) * dy))
    lw.check_gradients(once, np.array([1.0, 2.0]), order=1, modes=("rev",))
    with pytest.raises(AssertionError, match=r"rev, rev: .*args\[0\]\[0\] is 0.0"):
        lw.check_gradients(once, np.array([1.0, 2.0]), modes=("rev",))


def test_nan_is_wrong_and_tolerances_count() -> None:
    nan = lw.custom_gradient(lambda x: (x * 2, lambda dy: dy * np.nan))
    with pytest.raises(AssertionError, match="nan"):
        lw.check_gradients(nan, 1.0, modes=("rev",))
    rough = lw.custom_gradient(lambda x: (x * 2, lambda dy: dy * 2.001))
    with pytest.raises(AssertionError):
        lw.check_gradients(rough, 1.0, modes=("rev",))
    lw.check_gradients(rough, 1.0, modes=("rev",), rtol=1e-2)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="modes"):
        lw.check_gradients(np.sin, 1.0, modes=("both",))
    with pytest.raises(ValueError, match="order"):
        lw.check_gradients(np.sin, 1.0, order=0)
    with pytest.raises(TypeError, match="int"):
        lw.check_gradients(np.sin, np.arange(3))
    with pytest.raises(TypeError, match="real"):
        lw.check_gradients(np.sin, np.array([1j]))
