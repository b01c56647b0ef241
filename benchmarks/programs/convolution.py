"""A layer of a convolutional network: convolution, bias, ReLU and pooling, written with slices."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "convolution 3x3, ReLU, max pooling, 8 x 64 x 64 x 8 to 16 channels, float32"
SMALL = 0.15
TOLERANCE = 1e-4
NUMBA = "loops over all axes (prange over images): Numba reshapes contiguous arrays only"
prange = range  # Numba's own where the harness runs numba_program


def program(images: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return the pooled activations; images are (n, height, width, channels)."""
    n, height, width, channels = images.shape
    high, wide, _, filters = weights.shape
    rows, columns = height - high + 1, width - wide + 1
    found = np.zeros((n, rows, columns, filters), dtype=images.dtype)
    for i in range(high):
        for j in range(wide):
            for c in range(channels):
                part = images[:, i : i + rows, j : j + columns, c]
                found += part.reshape(n, rows, columns, 1) * weights[i, j, c]
    found = np.maximum(found + bias, 0)
    rows, columns = rows // 2 * 2, columns // 2 * 2
    upper = np.maximum(found[:, 0:rows:2, 0:columns:2], found[:, 0:rows:2, 1:columns:2])
    lower = np.maximum(found[:, 1:rows:2, 0:columns:2], found[:, 1:rows:2, 1:columns:2])
    return np.maximum(upper, lower)


def numba_program(images: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return the same for Numba."""
    n, height, width, channels = images.shape
    high, wide, _, filters = weights.shape
    rows, columns = (height - high + 1) // 2, (width - wide + 1) // 2
    found = np.zeros((n, rows, columns, filters), dtype=images.dtype)
    for image in prange(n):
        for row in range(rows):
            for column in range(columns):
                for place in range(4):
                    y, x = 2 * row + place // 2, 2 * column + place % 2
                    total = bias.copy()
                    for i in range(high):
                        for j in range(wide):
                            for c in range(channels):
                                value = images[image, y + i, x + j, c]
                                for k in range(filters):
                                    total[k] += value * weights[i, j, c, k]
                    for k in range(filters):
                        found[image, row, column, k] = max(found[image, row, column, k], total[k])
    return found


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return images and filters."""
    rng = np.random.default_rng(5)
    side = max(int(64 * scale), 6)
    images = rng.normal(size=(max(int(8 * scale), 1), side, side, 8))
    weights, bias = rng.normal(size=(3, 3, 8, 16)) / 9, rng.normal(size=16)
    return tuple([array.astype(np.float32) for array in (images, weights, bias)])
