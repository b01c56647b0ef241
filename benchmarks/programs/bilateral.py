"""A bilateral filter: a mean of neighbours by distance and likeness."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "bilateral filter of 5 x 5, 600 x 600"
SMALL = 0.05


def program(image: np.ndarray, radius: int, near: float, like: float) -> np.ndarray:
    """Return the filtered inside of an image, `radius` less on each side."""
    height, width = image.shape
    rows, columns = height - 2 * radius, width - 2 * radius
    centre = image[radius : radius + rows, radius : radius + columns]
    total = np.zeros((rows, columns))
    weights = np.zeros((rows, columns))
    for i in range(2 * radius + 1):
        for j in range(2 * radius + 1):
            other = image[i : i + rows, j : j + columns]
            away = ((i - radius) ** 2 + (j - radius) ** 2) / (2 * near**2)
            weight = np.exp(-away - (other - centre) ** 2 / (2 * like**2))
            total += weight * other
            weights += weight
    return total / weights


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return an image with steps in it."""
    n = max(int(600 * scale), 8)
    y, x = np.mgrid[:n, :n]
    steps = ((x // 40 + y // 40) % 2).astype(np.float64)
    return steps + np.random.default_rng(11).normal(size=(n, n)) / 10, 2, 2.0, 0.3
