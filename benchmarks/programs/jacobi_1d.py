"""Jacobi's method in one dimension, between two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "jacobi_1d: 4,000 points, 1,000 steps"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(8, int(4000 * scale))
    rng = np.random.default_rng(10)
    return rng.normal(size=n), rng.normal(size=n), max(3, int(1000 * scale))


def program(a: np.ndarray, b: np.ndarray, steps: int) -> tuple[np.ndarray, ...]:
    """Return both arrays."""
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a, b
