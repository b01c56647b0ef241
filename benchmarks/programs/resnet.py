"""A bottleneck block of a residual network: three convolutions by windows, batch norm, ReLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.programs.layers import conv2d, relu

TITLE = "ResNet bottleneck block, 8 × 28 × 28 × 64, float32"
SMALL = 0.03
TOLERANCE = 1e-3
NUMBA = "loops over all axes: Numba's sum takes no tuple of axes, its mean and std no axis"


def batchnorm2d(x: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


def program(
    images: np.ndarray, conv1: np.ndarray, conv2: np.ndarray, conv3: np.ndarray
) -> np.ndarray:
    """Return the activations; the block adds what it finds to its input."""
    n, height, width, _ = images.shape
    padded = np.zeros((n, height + 2, width + 2, conv1.shape[3]), dtype=np.float32)
    padded[:, 1:-1, 1:-1, :] = conv2d(images, conv1)
    x = relu(batchnorm2d(padded))
    x = relu(batchnorm2d(conv2d(x, conv2)))
    x = batchnorm2d(conv2d(x, conv3))
    return relu(x + images)


def numba_program(
    images: np.ndarray, conv1: np.ndarray, conv2: np.ndarray, conv3: np.ndarray
) -> np.ndarray:
    """Return the same for Numba."""
    n = images.shape[0]
    x = images
    for layer, weights in enumerate((conv1, conv2, conv3)):
        k, _, channels, filters = weights.shape
        edge = 1 if layer == 0 else 0
        rows, columns = x.shape[1] - k + 1, x.shape[2] - k + 1
        output = np.zeros((n, rows + 2 * edge, columns + 2 * edge, filters), dtype=np.float32)
        for image in range(n):
            for i in range(rows):
                for j in range(columns):
                    total = output[image, i + edge, j + edge]
                    for u in range(k):
                        for v in range(k):
                            for c in range(channels):
                                value = x[image, i + u, j + v, c]
                                for f in range(filters):
                                    total[f] += value * weights[u, v, c, f]
        for i in range(output.shape[1]):
            for j in range(output.shape[2]):
                for f in range(filters):
                    values = output[:, i, j, f]
                    mean, std = np.mean(values), np.std(values)
                    values[:] = (values - mean) / np.sqrt(std + np.float32(1e-5))
                    if layer < 2:
                        values[:] = np.maximum(values, np.float32(0))
        x = output
    return np.maximum(x + images, np.float32(0))


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return images, and weights scaled as at initialisation."""
    rng = np.random.default_rng(37)
    side, (wide, narrow) = max(int(28 * scale), 3), (max(int(n * scale), 2) for n in (64, 16))
    arrays = [rng.normal(size=(max(int(8 * scale), 2), side, side, wide))]
    for shape in ((1, 1, wide, narrow), (3, 3, narrow, narrow), (1, 1, narrow, wide)):
        arrays.append(rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1])))
    return tuple([array.astype(np.float32) for array in arrays])
