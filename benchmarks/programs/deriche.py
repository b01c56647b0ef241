"""Deriche's edge detector: recursive filters along the rows and the columns of an image."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "deriche: an image of 720 × 480, float32"
SMALL = 0.03
TOLERANCE = 1e-4


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    w, h = (max(6, int(size * scale)) for size in (720, 480))
    return (np.random.default_rng(14).uniform(size=(w, h)).astype(np.float32),)


def program(image: np.ndarray) -> np.ndarray:
    """Return the filtered image."""
    alpha = 0.25
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    k = np.float32(k)
    a1, a2 = k, np.float32(k * np.exp(-alpha) * (alpha - 1.0))
    a3 = np.float32(k * np.exp(-alpha) * (alpha + 1.0))
    a4 = np.float32(-k * np.exp(-2.0 * alpha))
    b1 = np.float32(2.0 ** (-alpha))
    b2 = np.float32(-np.exp(-2.0 * alpha))
    w, h = image.shape
    y1 = np.empty_like(image)
    y2 = np.empty_like(image)
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, h):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * image[:, -1]
    for j in range(h - 3, -1, -1):
        y2[:, j] = (
            a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
        )
    out = y1 + y2
    y1[0, :] = a1 * out[0, :]
    y1[1, :] = a1 * out[1, :] + a2 * out[0, :] + b1 * y1[0, :]
    for i in range(2, w):
        y1[i, :] = a1 * out[i, :] + a2 * out[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a3 * out[-1, :]
    for i in range(w - 3, -1, -1):
        y2[i, :] = a3 * out[i + 1, :] + a4 * out[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    return y1 + y2
