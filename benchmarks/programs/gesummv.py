"""The sum of two products of a matrix and a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "gesummv: alpha A x + beta B x, 2,000 × 2,000"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(3, int(2000 * scale))
    rng = np.random.default_rng(26)
    return rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=n), 1.5, 1.2


def program(a: np.ndarray, b: np.ndarray, x: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """Return the sum."""
    return alpha * a @ x + beta * b @ x
