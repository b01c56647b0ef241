"""A symmetric rank-k update of the lower triangle of a matrix, by parts of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "syrk: lower triangle of alpha A Aᵀ + beta C, 320 × 260"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m = (max(3, int(size * scale)) for size in (320, 260))
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, m)), rng.normal(size=(n, n)), 1.5, 1.2


def program(a: np.ndarray, c: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """Return the matrix, its lower triangle updated."""
    c = c.copy()
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c
