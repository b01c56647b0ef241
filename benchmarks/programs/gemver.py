"""Two rank-one updates of a matrix, and products of it with vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "gemver: A + u₁v₁ᵀ + u₂v₂ᵀ and products with it, 2,000 × 2,000"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(3, int(2000 * scale))
    rng = np.random.default_rng(4)
    vectors = [rng.normal(size=n) for _ in range(6)]
    return (rng.normal(size=(n, n)), *vectors, 1.5, 1.2)


def program(
    a: np.ndarray,
    u1: np.ndarray,
    v1: np.ndarray,
    u2: np.ndarray,
    v2: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    alpha: float,
    beta: float,
) -> tuple[np.ndarray, ...]:
    """Return the matrix and both vectors."""
    a = a + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (y @ a) + z
    w = alpha * (a @ x)
    return a, x, w
