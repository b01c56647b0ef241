"""Durbin's recursion for a Toeplitz system (the Yule-Walker equations)."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "durbin: a Toeplitz system of 2,000"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(3, int(2000 * scale))
    return (0.5 ** np.arange(1, n + 1) + 0.01 * np.random.default_rng(8).uniform(size=n) / n,)


def program(r: np.ndarray) -> np.ndarray:
    """Return the solution."""
    y = np.zeros_like(r)
    y[0] = -r[0]
    alpha = -r[0]
    beta = 1.0
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y
