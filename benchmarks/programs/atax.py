"""A matrix transposed times the matrix times a vector, a row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "atax: Aᵀ(A x) by rows, 1,900 × 2,100"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    m, n = (max(3, int(size * scale)) for size in (1900, 2100))
    rng = np.random.default_rng(1)
    return rng.normal(size=(m, n)), rng.normal(size=n)


def program(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the product."""
    y = np.zeros_like(x)
    for i in range(a.shape[0]):
        y += a[i] * np.dot(a[i], x)
    return y
