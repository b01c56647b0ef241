"""A sparse matrix in compressed rows times a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "spmv: compressed rows, 8,192 × 8,192, 131,072 entries"
SMALL = 0.004


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return where rows begin, the columns and values of their entries, and a vector."""
    n = max(6, int(8192 * scale))
    rng = np.random.default_rng(34)
    counts = rng.integers(0, min(n, 32) + 1, size=n)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    columns = [np.sort(rng.choice(n, size=count, replace=False)) for count in counts]
    values = rng.normal(size=starts[-1])
    return starts, np.concatenate(columns).astype(np.uint32), values, rng.normal(size=n)


def program(
    starts: np.ndarray, columns: np.ndarray, values: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Return the product."""
    y = np.empty(starts.size - 1, dtype=values.dtype)
    for i in range(starts.size - 1):
        cols = columns[starts[i] : starts[i + 1]]
        vals = values[starts[i] : starts[i + 1]]
        y[i] = vals @ x[cols]
    return y
