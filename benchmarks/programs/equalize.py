"""Histogram equalisation of a grey image: count, add up, look up."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "histogram equalisation, 2,000 x 2,000, uint8"
SMALL = 0.02


def program(image: np.ndarray) -> np.ndarray:
    """Return the image with its grey levels spread evenly over 0 to 255."""
    count = np.bincount(image.ravel(), minlength=256)
    below = np.cumsum(count)
    least = below[np.argmax(count > 0)]
    spread = (below - least) * 255.0 / max(image.size - least, 1)
    table = np.maximum(np.round(spread), 0).astype(np.uint8)
    return table[image.ravel()].reshape(image.shape)


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a dark image."""
    n = max(int(2000 * scale), 4)
    image = np.random.default_rng(13).beta(2, 5, size=(n, n)) * 200 + 20
    return (image.astype(np.uint8),)
