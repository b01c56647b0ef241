"""Nussinov's dynamic programme for the pairs of bases that an RNA sequence folds into."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "nussinov: a sequence of 200 bases"
SMALL = 0.06


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(5, int(200 * scale))
    return (np.random.default_rng(15).integers(0, 4, n),)


def program(bases: np.ndarray) -> np.ndarray:
    """Return the table."""
    n = bases.shape[0]
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                best = max(best, table[i + 1, j - 1] + (bases[i] + bases[j] == 3))
            else:
                best = max(best, table[i + 1, j - 1])
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table
