"""Inference of LeNet-5: convolutions and poolings by windows, then three layers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from benchmarks.programs.layers import conv2d, relu

TITLE = "LeNet-5 inference, batch of 8, 28 × 28, float32"
SMALL = 0.15
TOLERANCE = 1e-4
NUMBA = "loops over all axes: Numba's sum and max take no tuple of axes"


def maxpool2d(x: np.ndarray) -> np.ndarray:
    shape = [x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]]
    output = np.empty(shape, dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def program(
    images: np.ndarray,
    conv1: np.ndarray,
    bias1: np.ndarray,
    conv2: np.ndarray,
    bias2: np.ndarray,
    fc1: np.ndarray,
    bias3: np.ndarray,
    fc2: np.ndarray,
    bias4: np.ndarray,
    fc3: np.ndarray,
    bias5: np.ndarray,
) -> np.ndarray:
    """Return the scores of the classes for each image."""
    x = maxpool2d(relu(conv2d(images, conv1) + bias1))
    x = maxpool2d(relu(conv2d(x, conv2) + bias2))
    x = np.reshape(x, (x.shape[0], fc1.shape[0]))
    x = relu(x @ fc1 + bias3)
    x = relu(x @ fc2 + bias4)
    return x @ fc3 + bias5


def numba_program(
    images: np.ndarray,
    conv1: np.ndarray,
    bias1: np.ndarray,
    conv2: np.ndarray,
    bias2: np.ndarray,
    fc1: np.ndarray,
    bias3: np.ndarray,
    fc2: np.ndarray,
    bias4: np.ndarray,
    fc3: np.ndarray,
    bias5: np.ndarray,
) -> np.ndarray:
    """Return the same for Numba."""
    x = images
    for weights, bias in ((conv1, bias1), (conv2, bias2)):
        k, _, channels, filters = weights.shape
        height, width = (x.shape[1] - k + 1) // 2, (x.shape[2] - k + 1) // 2
        output = np.zeros((x.shape[0], height, width, filters), dtype=np.float32)
        for n in range(x.shape[0]):
            for i in range(2 * height):
                for j in range(2 * width):
                    total = bias.copy()
                    for u in range(k):
                        for v in range(k):
                            for c in range(channels):
                                value = x[n, i + u, j + v, c]
                                for f in range(filters):
                                    total[f] += value * weights[u, v, c, f]
                    for f in range(filters):
                        output[n, i // 2, j // 2, f] = max(output[n, i // 2, j // 2, f], total[f])
        x = output
    flat = np.maximum(np.reshape(x, (x.shape[0], fc1.shape[0])) @ fc1 + bias3, np.float32(0))
    return np.maximum(flat @ fc2 + bias4, np.float32(0)) @ fc3 + bias5


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return images, and weights scaled as at initialisation."""
    rng = np.random.default_rng(36)
    side = max(int(28 * scale), 16)
    left = ((side - 4) // 2 - 4) // 2
    units = [16 * left * left, *(max(int(n * scale), 10) for n in (120, 84)), 10]
    arrays = [rng.normal(size=(max(int(8 * scale), 1), side, side, 1))]
    for shape in ((5, 5, 1, 6), (5, 5, 6, 16), *itertools.pairwise(units)):
        arrays.append(rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1])))
        arrays.append(rng.normal(size=shape[-1]) / 10)
    return tuple([array.astype(np.float32) for array in arrays])
