"""A symmetric update of rank 2 k of the lower triangle of a matrix, by parts of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "syr2k: lower triangle of alpha (A Bᵀ + B Aᵀ) + beta C, 200 × 150"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m = (max(3, int(size * scale)) for size in (200, 150))
    rng = np.random.default_rng(27)
    a, b = rng.normal(size=(n, m)), rng.normal(size=(n, m))
    return a, b, rng.normal(size=(n, n)), 1.5, 1.2


def program(a: np.ndarray, b: np.ndarray, c: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """Return the matrix, its lower triangle updated."""
    c = c.copy()
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]
    return c
