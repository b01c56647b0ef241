"""A clipped array times a number, and a second array, in whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "compute: clip and sum of two arrays, 2,000 × 2,000, int64"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(4, int(2000 * scale))
    rng = np.random.default_rng(42)
    return rng.integers(0, 1000, size=(n, n)), rng.integers(0, 1000, size=(n, n)), 4, 3, 9


def program(array_1: np.ndarray, array_2: np.ndarray, a: int, b: int, c: int) -> np.ndarray:
    """Return the sum."""
    return np.clip(array_1, 2, 10) * a + array_2 * b + c
