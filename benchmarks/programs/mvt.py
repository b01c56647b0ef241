"""A matrix and its transpose, each times a vector and added to another."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "mvt: x₁ + A y₁ and x₂ + Aᵀ y₂, 2,000 × 2,000"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(3, int(2000 * scale))
    rng = np.random.default_rng(3)
    return (rng.normal(size=(n, n)), *[rng.normal(size=n) for _ in range(4)])


def program(
    a: np.ndarray, x1: np.ndarray, x2: np.ndarray, y1: np.ndarray, y2: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return both sums."""
    return x1 + a @ y1, x2 + y2 @ a
