"""Softmax of the rows of a matrix, with the greatest of a row taken out first."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "softmax of rows, 4,000 x 1,000, float32"
SMALL = 0.02
TOLERANCE = 1e-4
NUMBA = "a loop over rows (prange): Numba's np.max takes no axis"
prange = range  # Numba's own where the harness runs numba_program


def program(logits: np.ndarray) -> np.ndarray:
    """Return probabilities that sum to 1 along the last axis."""
    peak = np.max(logits, axis=-1, keepdims=True)
    weights = np.exp(logits - peak)
    return weights / np.sum(weights, axis=-1, keepdims=True)


def numba_program(logits: np.ndarray) -> np.ndarray:
    """Return the same for Numba."""
    found = np.empty_like(logits)
    for i in prange(logits.shape[0]):
        weights = np.exp(logits[i] - np.max(logits[i]))
        found[i] = weights / np.sum(weights)
    return found


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return logits."""
    shape = max(int(4000 * scale), 3), max(int(1000 * scale), 3)
    return (np.random.default_rng(3).normal(size=shape).astype(np.float32) * 4,)
