"""Tridiagonal systems by Thomas' algorithm: many right-hand sides, a row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Thomas' algorithm: a tridiagonal system of 2,000, 64 right-hand sides"
SMALL = 0.02


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m = max(4, int(2000 * scale)), max(2, int(64 * scale))
    rng = np.random.default_rng(17)
    lower, upper = rng.uniform(size=n), rng.uniform(size=n)
    return lower, rng.uniform(3, 4, size=n), upper, rng.normal(size=(n, m))


def program(
    lower: np.ndarray, diagonal: np.ndarray, upper: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the solutions."""
    n = diagonal.shape[0]
    c = np.zeros_like(upper)
    x = np.zeros_like(right)
    c[0] = upper[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        x[i] = (right[i] - lower[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x
