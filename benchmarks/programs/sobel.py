"""Edges of an image: the length of Sobel's gradient, scaled to its greatest."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Sobel filter, 2,000 x 2,000"
SMALL = 0.02


def program(image: np.ndarray) -> np.ndarray:
    """Return how steep the image is at each place inside, from 0 to 1."""
    across = (
        (image[:-2, 2:] - image[:-2, :-2])
        + 2 * (image[1:-1, 2:] - image[1:-1, :-2])
        + (image[2:, 2:] - image[2:, :-2])
    )
    down = (
        (image[2:, :-2] - image[:-2, :-2])
        + 2 * (image[2:, 1:-1] - image[:-2, 1:-1])
        + (image[2:, 2:] - image[:-2, 2:])
    )
    steep = np.sqrt(across * across + down * down)
    return steep / steep.max()


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return an image."""
    n = max(int(2000 * scale), 5)
    return (np.random.default_rng(10).random((n, n)),)
