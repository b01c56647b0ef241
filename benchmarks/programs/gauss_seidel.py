"""Gauss-Seidel sweeps over a square grid: each point takes what was written just before."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Gauss-Seidel: 250 × 250 points, 10 sweeps"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(6, int(250 * scale))
    i, j = np.indices((n, n)).astype(np.float64)
    return (i * (j + 2) + 2) / n, max(2, int(10 * scale))


def program(a: np.ndarray, sweeps: int) -> np.ndarray:
    """Return the grid."""
    a = a.copy()
    n = a.shape[0]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:]
            a[i, 1:-1] += a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return a
