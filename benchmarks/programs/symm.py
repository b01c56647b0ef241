"""A product with a symmetric matrix of which only the lower triangle is read."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "symm: alpha A B + beta C, A symmetric, 120 × 150"
SMALL = 0.06


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    m, n = (max(3, int(size * scale)) for size in (120, 150))
    rng = np.random.default_rng(28)
    return rng.normal(size=(m, m)), rng.normal(size=(m, n)), rng.normal(size=(m, n)), 1.5, 1.2


def program(a: np.ndarray, b: np.ndarray, c: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """Return the product, in the place of C."""
    c = c.copy()
    temp2 = np.empty((c.shape[1],), dtype=c.dtype)
    c *= beta
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            temp2[j] = b[:i, j] @ a[i, :i]
        c[i, :] += alpha * b[i, :] * a[i, i] + alpha * temp2
    return c
