"""Azimuthal integration by two histograms, one of them weighted."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "azimuthal integration by histograms, 400,000 points, 1,000 rings"
SMALL = 0.02
NUMBA = "a loop over points: Numba's histogram takes no weights"


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the data, their radii and the number of rings."""
    n, rings = max(400, int(400_000 * scale)), max(10, int(1000 * scale))
    rng = np.random.default_rng(44)
    return rng.normal(size=n), rng.random(n), rings


def program(data: np.ndarray, radius: np.ndarray, rings: int) -> np.ndarray:
    """Return the mean of the data over each ring."""
    count = np.histogram(radius, rings)[0]
    total = np.histogram(radius, rings, weights=data)[0]
    return total / count


def numba_program(data: np.ndarray, radius: np.ndarray, rings: int) -> np.ndarray:
    """Return the same for Numba."""
    low, high = radius.min(), radius.max()
    count = np.zeros(rings)
    total = np.zeros(rings)
    for i in range(radius.size):
        ring = min(int((radius[i] - low) / (high - low) * rings), rings - 1)
        count[ring] += 1
        total[ring] += data[i]
    return total / count
