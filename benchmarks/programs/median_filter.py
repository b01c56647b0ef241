"""The median of each place of an image and its eight neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "median filter of 3 x 3, 500 x 500"
SMALL = 0.03
NUMBA = "np.median of each place in a loop (prange over rows): Numba's takes no axis"
prange = range  # Numba's own where the harness runs numba_program


def program(image: np.ndarray) -> np.ndarray:
    """Return the medians inside of the image."""
    height, width = image.shape
    shifted = [image[i : height - 2 + i, j : width - 2 + j] for i in range(3) for j in range(3)]
    return np.median(np.stack(shifted), axis=0)


def numba_program(image: np.ndarray) -> np.ndarray:
    """Return the same for Numba."""
    height, width = image.shape
    found = np.empty((height - 2, width - 2))
    for i in prange(height - 2):
        for j in range(width - 2):
            found[i, j] = np.median(image[i : i + 3, j : j + 3])
    return found


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return an image."""
    n = max(int(500 * scale), 5)
    return (np.random.default_rng(12).random((n, n)),)
