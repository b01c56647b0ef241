"""The edit distance of two strings, by the table of those of their beginnings."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "edit distance of two strings of 500"
SMALL = 0.03


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m = max(4, int(500 * scale)), max(5, int(480 * scale))
    rng = np.random.default_rng(19)
    return rng.integers(0, 4, n), rng.integers(0, 4, m)


def program(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the table."""
    n, m = a.shape[0], b.shape[0]
    d = np.zeros((n + 1, m + 1), np.int64)
    d[:, 0] = np.arange(n + 1)
    d[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            change = d[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            d[i, j] = min(change, d[i - 1, j] + 1, d[i, j - 1] + 1)
    return d
