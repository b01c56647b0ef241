"""A convolution with bias: the sum over a window of all images for each output pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.programs.layers import conv2d

TITLE = "convolution with bias by windows, 8 × 48 × 48 × 3 to 16 channels of 5 × 5, float32"
SMALL = 0.15
TOLERANCE = 1e-4
NUMBA = "loops over all axes (prange over images): Numba's sum takes no tuple of axes"
prange = range  # Numba's own where the harness runs numba_program


def program(images: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return the activations; images are (n, height, width, channels)."""
    return conv2d(images, weights) + bias


def numba_program(images: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return the same for Numba."""
    k, _, channels, filters = weights.shape
    n, height, width = images.shape[0], images.shape[1] - k + 1, images.shape[2] - k + 1
    output = np.empty((n, height, width, filters), dtype=np.float32)
    for image in prange(n):
        for i in range(height):
            for j in range(width):
                total = bias.copy()
                for y in range(k):
                    for x in range(k):
                        for c in range(channels):
                            value = images[image, i + y, j + x, c]
                            for f in range(filters):
                                total[f] += value * weights[y, x, c, f]
                output[image, i, j] = total
    return output


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return images, filters and their bias."""
    rng = np.random.default_rng(35)
    side, filters = max(int(48 * scale), 6), max(int(16 * scale), 2)
    images = rng.normal(size=(max(int(8 * scale), 1), side, side, 3))
    weights, bias = rng.normal(size=(5, 5, 3, filters)) / 9, rng.normal(size=filters)
    return tuple([array.astype(np.float32) for array in (images, weights, bias)])
