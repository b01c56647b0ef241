"""A matrix plus a number that a loop adds up along its diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "matrix plus sum of tanh of its diagonal, 3,000 x 3,000"
SMALL = 0.01


def program(a: np.ndarray) -> np.ndarray:
    """Return a plus the sum of tanh of its diagonal."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a matrix."""
    n = max(int(3000 * scale), 4)
    return (np.random.default_rng(16).normal(size=(n, n)),)
