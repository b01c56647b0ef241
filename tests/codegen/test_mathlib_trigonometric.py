"""Sine, cosine, tangent and their inverses: within their bounds of the truth, everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from lanewise.codegen.elementwise.ufuncs import through_float32
from lanewise.codegen.mathlib import trigonometric
from support import ulp

KINDS = (np.float64, np.float32)

#: Bounds in ULP, for float64 and float32, that tests hold the functions to.
BOUNDS: dict[str, tuple[float, float]] = {
    "sin": (1.0, 1.0),
    "cos": (1.0, 1.0),
    "tan": (1.25, 1.0),
    "asin": (1.5, 1.0),
    "acos": (1.5, 1.0),
    "atan": (2.0, 1.0),
    "atan2": (2.0, 1.0),
}


def bound(name: str, dtype: Any) -> float:
    return BOUNDS[name][KINDS.index(dtype)]


def precise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a periodic reference with the digits that reducing a large argument takes."""

    def run(x: Any) -> Any:
        with mpmath.workprec(1300 if abs(x) > 2**20 else 240):
            return function(x)

    return run


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_periodic(name: str, dtype: Any) -> None:
    random = np.random.default_rng(3)
    few = random.integers(1, 2**22, 200) * (np.pi / 2)
    # The float64 that is nearest to a multiple of pi/2, for its size (J.-M. Muller, table 11.1).
    nearest = np.array(
        [6381956970095103.0 * 2.0**797 if dtype is np.float64 else 16367173.0 * 2**72]
    )
    limits = ulp.near([2.0**23, 2.0**30, 2.0**22, np.pi / 4, 0.75 * np.pi], dtype)
    x = np.concatenate(
        [
            ulp.points(dtype, (-1, 1), (-10, 10), (-1e4, 1e4), (-9e6, 9e6)),
            ulp.near(np.arange(1, 60) * (np.pi / 2), dtype, 2),
            *(few.astype(dtype), nearest.astype(dtype), limits, -limits),
        ]
    )
    reference = precise(getattr(mpmath, name))
    ulp.assert_within(bound(name, dtype), getattr(trigonometric, name), reference, x)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_periodic_specials(name: str, dtype: Any) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-45, -1e-45], dtype)
    ulp.assert_same(getattr(trigonometric, name), getattr(np, name), x)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("name", "end"), [("asin", 1.0), ("acos", 1.0), ("atan", np.inf)])
def test_inverse(name: str, end: float, dtype: Any) -> None:
    random = np.random.default_rng(4)
    ones = 1 - np.exp(-random.uniform(0, 37, 300))
    x = np.concatenate(
        [ulp.points(dtype, (-1, 1), (-3, 3)), ones.astype(dtype), -ones.astype(dtype)]
    )
    x = x[abs(x) <= end]
    ulp.assert_within(bound(name, dtype), getattr(trigonometric, name), getattr(mpmath, name), x)


@pytest.mark.parametrize("name", ["asin", "acos", "atan"])
def test_inverse_specials(name: str) -> None:
    outside = [] if name == "atan" else [1.5, -2.0]
    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, *outside])
    ulp.assert_same(getattr(trigonometric, name), getattr(np, f"arc{name[1:]}"), x)


@pytest.mark.parametrize("dtype", KINDS)
def test_atan2(dtype: Any) -> None:
    y = np.concatenate([ulp.random_bits(dtype, 1000, 1), ulp.within(-1, 1, dtype, ulp.EXAMPLES, 2)])
    x = np.concatenate([ulp.random_bits(dtype, 1000, 3), ulp.within(-1, 1, dtype, ulp.EXAMPLES, 4)])
    close = y[-400:] * (1 + np.arange(-200, 200) * np.finfo(dtype).eps).astype(dtype)
    y, x = np.concatenate([y, y[-400:]]), np.concatenate([x, close])
    ulp.assert_within(bound("atan2", dtype), trigonometric.atan2, mpmath.atan2, y, x)


@pytest.mark.parametrize("dtype", KINDS)
def test_atan2_specials(dtype: Any) -> None:
    # Of all pairs those whose angles are exact: on the axes, and between infinities.
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45], dtype)
    y, x = (grid.ravel() for grid in np.meshgrid(values, values))
    wide = np.arctan2(y.astype(float), x.astype(float)).astype(
        dtype
    )  # NumPy's float32 rounds badly
    ulp.assert_same(trigonometric.atan2, lambda y, x: wide, y, x)


def test_half_precision() -> None:
    x = ulp.random_bits(np.float16, 2000)
    ulp.assert_within(0.51, through_float32(trigonometric.sin), precise(mpmath.sin), x)


def test_reduction_of_every_exponent() -> None:
    """The table of 2/pi has no wrong bit: each power of two meets other bits of it."""
    x = np.ldexp(1.0 + np.arange(2048) % 7 / 8, np.arange(2048) - 1024)
    x = x[np.isfinite(x) & (x > 2.0**20)]
    ulp.assert_within(1.0, trigonometric.sin, precise(mpmath.sin), x)


def test_sine_and_cosine_together() -> None:
    x = ulp.within(-50, 50, np.float64, 200)
    ulp.assert_same(lambda v: trigonometric.sincos(v)[1], lambda v: run_cosine(v), x)


def run_cosine(x: np.ndarray) -> np.ndarray:
    return ulp.run_all_forms(trigonometric.cos, x)
