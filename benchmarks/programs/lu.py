"""The LU decomposition of a matrix without pivoting, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "LU decomposition in place, 400 × 400"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(3, int(400 * scale))
    rng = np.random.default_rng(6)
    return (rng.normal(size=(n, n)) + 2 * n * np.eye(n),)


def program(a: np.ndarray) -> np.ndarray:
    """Return both factors in one matrix."""
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a
