"""How often two points are at a distance: the histogram of all pairs' distances."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "histogram of distances, 1,500 points, 100 bins"
SMALL = 0.03
NUMBA = "a column is copied before it is reshaped: Numba reshapes contiguous arrays only"


def program(points: np.ndarray, bins: int, reach: float) -> np.ndarray:
    """Return how many ordered pairs are in each bin of distances from 0 to `reach`."""
    squared = np.zeros((points.shape[0], points.shape[0]))
    for axis in range(points.shape[1]):
        difference = points[:, axis].reshape(-1, 1) - points[:, axis]
        squared += difference * difference
    bin_of = np.minimum(np.sqrt(squared) * (bins / reach), bins).astype(np.int64)
    return np.bincount(bin_of.ravel(), minlength=bins + 1)[:bins]


def numba_program(points: np.ndarray, bins: int, reach: float) -> np.ndarray:
    """Return the same for Numba."""
    squared = np.zeros((points.shape[0], points.shape[0]))
    for axis in range(points.shape[1]):
        column = points[:, axis].copy()
        difference = column.reshape(-1, 1) - column
        squared += difference * difference
    bin_of = np.minimum(np.sqrt(squared) * (bins / reach), bins).astype(np.int64)
    return np.bincount(bin_of.ravel(), minlength=bins + 1)[:bins]


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return points in a cube."""
    n = max(int(1500 * scale), 4)
    return np.random.default_rng(2).uniform(size=(n, 3)), 100, 1.5
