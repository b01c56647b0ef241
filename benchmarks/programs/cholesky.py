"""The Cholesky factor of a matrix in place, an element at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Cholesky decomposition in place, 400 × 400"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(3, int(400 * scale))
    a = np.random.default_rng(7).normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


def program(a: np.ndarray) -> np.ndarray:
    """Return the factor below the diagonal."""
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return a
