"""A general matrix product: alpha A B + beta C, a row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "gemm: alpha A B + beta C by rows, 250 × 300 × 350"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m, k = (max(3, int(size * scale)) for size in (250, 300, 350))
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, k)), rng.normal(size=(k, m)), rng.normal(size=(n, m)), 1.5, 1.2


def program(a: np.ndarray, b: np.ndarray, c: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """Return the product."""
    c = c.copy()
    for i in range(a.shape[0]):
        c[i] *= beta
        for k in range(a.shape[1]):
            c[i] += alpha * a[i, k] * b[k]
    return c
