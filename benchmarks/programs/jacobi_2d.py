"""Jacobi's method in two dimensions, between two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "jacobi_2d: 250 × 250 points, 100 steps"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(8, int(250 * scale))
    rng = np.random.default_rng(11)
    return rng.normal(size=(n, n)), rng.normal(size=(n, n)), max(3, int(100 * scale))


def program(a: np.ndarray, b: np.ndarray, steps: int) -> tuple[np.ndarray, ...]:
    """Return both arrays."""
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )
    return a, b
