"""Multiresolution analysis: each row of a three-dimensional array times a matrix, at once."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "doitgen: rows of 100 × 80 × 128 times a matrix, reshaped"
SMALL = 0.04
NUMBA = "a loop over matrices: Numba's @ takes two dimensions at most"


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    r, q, p = (max(3, int(size * scale)) for size in (100, 80, 128))
    rng = np.random.default_rng(24)
    return rng.normal(size=(r, q, p)), rng.normal(size=(p, p))


def program(a: np.ndarray, c4: np.ndarray) -> np.ndarray:
    """Return the products, in the place of the rows."""
    a = a.copy()
    r, q, p = a.shape
    a[:] = np.reshape(np.reshape(a, (r, q, 1, p)) @ c4, (r, q, p))
    return a


def numba_program(a: np.ndarray, c4: np.ndarray) -> np.ndarray:
    """Return the same for Numba."""
    a = a.copy()
    for r in range(a.shape[0]):
        a[r] = a[r] @ c4
    return a
