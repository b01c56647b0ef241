"""Two matrix products, one after the other: alpha A B C + beta D."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "2mm: alpha A B C + beta D, 800 × 850 × 900 × 950"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m, k, p = (max(3, int(size * scale)) for size in (800, 850, 900, 950))
    rng = np.random.default_rng(22)
    arrays = [rng.normal(size=shape) for shape in ((n, k), (k, m), (m, p), (n, p))]
    return (*arrays, 1.5, 1.2)


def program(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, alpha: float, beta: float
) -> np.ndarray:
    """Return the product, in the place of D."""
    d = d.copy()
    d[:] = alpha * a @ b @ c + beta * d
    return d
