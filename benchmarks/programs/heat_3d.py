"""The heat equation on a cube, between two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "heat_3d: 50 × 50 × 50 points, 50 steps"
SMALL = 0.15


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(6, int(50 * scale))
    rng = np.random.default_rng(12)
    return rng.normal(size=(n, n, n)), rng.normal(size=(n, n, n)), max(3, int(50 * scale))


def program(a: np.ndarray, b: np.ndarray, steps: int) -> tuple[np.ndarray, ...]:
    """Return both arrays."""
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        for u, v in ((a, b), (b, a)):
            v[1:-1, 1:-1, 1:-1] = (
                0.125 * (u[2:, 1:-1, 1:-1] - 2.0 * u[1:-1, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1])
                + 0.125 * (u[1:-1, 2:, 1:-1] - 2.0 * u[1:-1, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1])
                + 0.125 * (u[1:-1, 1:-1, 2:] - 2.0 * u[1:-1, 1:-1, 1:-1] + u[1:-1, 1:-1, :-2])
                + u[1:-1, 1:-1, 1:-1]
            )
    return a, b
