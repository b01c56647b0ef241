"""A product with the transpose of a unit lower triangular matrix, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "trmm: alpha Aᵀ B in place, A triangular, 200 × 250"
SMALL = 0.04


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    m, n = (max(3, int(size * scale)) for size in (200, 250))
    rng = np.random.default_rng(29)
    return rng.normal(size=(m, m)), rng.normal(size=(m, n)), 1.5


def program(a: np.ndarray, b: np.ndarray, alpha: float) -> np.ndarray:
    """Return the product, in the place of B."""
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    b *= alpha
    return b
