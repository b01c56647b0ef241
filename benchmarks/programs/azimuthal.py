"""Azimuthal integration: the mean of an image over rings around a centre."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "azimuthal integration, 1,000 x 1,000, 300 rings"
SMALL = 0.03


def program(image: np.ndarray, x: np.ndarray, y: np.ndarray, rings: int) -> np.ndarray:
    """Return the mean of the image over each ring; x and y are the places from the centre."""
    radius = np.sqrt(x * x + (y * y).reshape(-1, 1))
    ring = (radius * (rings / radius.max())).astype(np.int64)
    ring = np.minimum(ring, rings - 1).ravel()
    total = np.bincount(ring, image.ravel(), rings)
    count = np.bincount(ring, minlength=rings)
    return total / np.maximum(count, 1)


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return an image of waves."""
    n = max(int(1000 * scale), 6)
    x = np.linspace(-1.0, 1.2, n)
    image = np.sin(20 * x) * np.cos(15 * x).reshape(-1, 1)
    return image + np.random.default_rng(19).random((n, n)), x, x[::-1].copy(), 300
