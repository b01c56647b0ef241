"""Inference of a network of three layers, with softmax at its end."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

TITLE = "MLP inference, batch 512, 784-512-256-10, float32"
SMALL = 0.05
TOLERANCE = 1e-4
NUMBA = "softmax in a loop over rows (prange): Numba's max takes no axis"
prange = range  # Numba's own where the harness runs numba_program


def program(
    x: np.ndarray,
    w1: np.ndarray,
    b1: np.ndarray,
    w2: np.ndarray,
    b2: np.ndarray,
    w3: np.ndarray,
    b3: np.ndarray,
) -> np.ndarray:
    """Return the probability of each class for each row of x."""
    hidden = np.maximum(x @ w1 + b1, 0)
    hidden = np.maximum(hidden @ w2 + b2, 0)
    logits = hidden @ w3 + b3
    weights = np.exp(logits - logits.max(axis=1).reshape(-1, 1))
    return weights / weights.sum(axis=1).reshape(-1, 1)


def numba_program(
    x: np.ndarray,
    w1: np.ndarray,
    b1: np.ndarray,
    w2: np.ndarray,
    b2: np.ndarray,
    w3: np.ndarray,
    b3: np.ndarray,
) -> np.ndarray:
    """Return the same for Numba."""
    hidden = np.maximum(x @ w1 + b1, np.float32(0))
    hidden = np.maximum(hidden @ w2 + b2, np.float32(0))
    logits = hidden @ w3 + b3
    for i in prange(logits.shape[0]):
        weights = np.exp(logits[i] - logits[i].max())
        logits[i] = weights / weights.sum()
    return logits


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a batch, and weights scaled as at initialisation."""
    rng = np.random.default_rng(4)
    batch, *sizes = [max(int(n * scale), 3) for n in (512, 784, 512, 256)]
    sizes.append(10)
    arrays = [rng.normal(size=(batch, sizes[0]))]
    for given, made in itertools.pairwise(sizes):
        arrays += [rng.normal(size=(given, made)) / np.sqrt(given), rng.normal(size=made) / 10]
    return tuple([array.astype(np.float32) for array in arrays])
