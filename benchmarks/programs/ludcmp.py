"""A linear system by LU decomposition without pivoting, then substitution both ways."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "ludcmp: LU decomposition and both substitutions, 220 × 220"
SMALL = 0.04


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(4, int(220 * scale))
    rng = np.random.default_rng(30)
    return rng.normal(size=(n, n)) + 2 * n * np.eye(n), rng.normal(size=n)


def program(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the solution and what the first substitution gives."""
    a = a.copy()
    n = a.shape[0]
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x, y
