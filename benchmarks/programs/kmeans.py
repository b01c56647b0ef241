"""k-means by Lloyd's turns: distances by broadcasting, means by counting with weights."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "k-means, 50,000 points in 4 dimensions, 16 means, 10 turns"
SMALL = 0.01
NUMBA = "loops over points (prange for the nearest): Numba reshapes contiguous arrays only"
prange = range  # Numba's own where the harness runs numba_program


def program(points: np.ndarray, means: np.ndarray, turns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and which of them each point is nearest to."""
    k, dimensions = means.shape
    means = means.copy()
    nearest = np.zeros(points.shape[0], dtype=np.int64)
    for _ in range(turns):
        squared = np.zeros((points.shape[0], k))
        for axis in range(dimensions):
            difference = points[:, axis].reshape(-1, 1) - means[:, axis]
            squared += difference * difference
        nearest = np.argmin(squared, axis=1)
        count = np.maximum(np.bincount(nearest, minlength=k), 1)
        for axis in range(dimensions):
            means[:, axis] = np.bincount(nearest, points[:, axis], k) / count
    return means, nearest


def numba_program(
    points: np.ndarray, means: np.ndarray, turns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for Numba."""
    n, dimensions = points.shape
    k = means.shape[0]
    means = means.copy()
    nearest = np.zeros(n, dtype=np.int64)
    for _ in range(turns):
        for i in prange(n):
            best = np.inf
            for j in range(k):
                squared = 0.0
                for axis in range(dimensions):
                    difference = points[i, axis] - means[j, axis]
                    squared += difference * difference
                if squared < best:
                    best = squared
                    nearest[i] = j
        count = np.zeros(k, dtype=np.int64)
        means[:] = 0.0
        for i in range(n):
            count[nearest[i]] += 1
            for axis in range(dimensions):
                means[nearest[i], axis] += points[i, axis]
        for j in range(k):
            for axis in range(dimensions):
                means[j, axis] /= max(count[j], 1)
    return means, nearest


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return points around centres, and the first of them as means."""
    rng = np.random.default_rng(9)
    n = max(int(50_000 * scale), 32)
    points = rng.normal(size=(16, 4))[rng.integers(0, 16, n)] * 4 + rng.normal(size=(n, 4))
    return points, points[:16].copy(), 10
