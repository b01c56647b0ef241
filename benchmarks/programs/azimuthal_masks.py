"""Azimuthal integration: the mean over each ring, found by a mask of the whole image."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "azimuthal integration by masks, 400,000 points, 500 rings"
SMALL = 0.03


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the data, their radii and the number of rings."""
    n, rings = max(400, int(400_000 * scale)), max(10, int(500 * scale))
    rng = np.random.default_rng(43)
    return rng.normal(size=n), rng.random(n), rings


def program(data: np.ndarray, radius: np.ndarray, rings: int) -> np.ndarray:
    """Return the mean of the data over each ring."""
    rmax = radius.max()
    found = np.zeros(rings)
    for i in range(rings):
        inner = rmax * i / rings
        outer = rmax * (i + 1) / rings
        mask = np.logical_and(inner <= radius, radius < outer)
        found[i] = data[mask].mean()
    return found
