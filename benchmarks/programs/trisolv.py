"""Forward substitution: a lower triangular system, an unknown at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "trisolv: a lower triangular system of 2,000"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(3, int(2000 * scale))
    rng = np.random.default_rng(9)
    return np.tril(rng.normal(size=(n, n))) / n + np.eye(n), rng.normal(size=n)


def program(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the solution."""
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x
