"""Multiresolution analysis: each row of a three-dimensional array times a matrix, in loops."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "doitgen: rows of 60 × 60 × 128 times a matrix, in place in loops"
SMALL = 0.04


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    r, q, p = (max(3, int(size * scale)) for size in (60, 60, 128))
    rng = np.random.default_rng(25)
    return rng.normal(size=(r, q, p)), rng.normal(size=(p, p))


def program(a: np.ndarray, c4: np.ndarray) -> np.ndarray:
    """Return the products, in the place of the rows."""
    a = a.copy()
    row = np.empty(a.shape[2], dtype=a.dtype)
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            row[:] = a[r, q, :] @ c4
            a[r, q, :] = row
    return a
