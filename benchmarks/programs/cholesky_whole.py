"""The Cholesky factor of a matrix in place, by NumPy's own; the upper triangle stays."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Cholesky decomposition by np.linalg, in place, 1,000 × 1,000"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(4, int(1000 * scale))
    a = np.random.default_rng(33).normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


def program(a: np.ndarray) -> np.ndarray:
    """Return the factor below what was above the diagonal."""
    a = a.copy()
    a[:] = np.linalg.cholesky(a) + np.triu(a, k=1)
    return a
