"""The correlations of variables, a row and a column of the matrix at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "correlation, 600 observations of 500 variables, by rows and columns"
SMALL = 0.02
NUMBA = "mean and deviation of each column in a loop: Numba's mean and std take no axis"


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m = max(4, int(600 * scale)), max(3, int(500 * scale))
    rng = np.random.default_rng(31)
    return (rng.normal(size=(n, m)) + rng.normal(size=(n, 1)),)


def program(data: np.ndarray) -> np.ndarray:
    """Return the matrix of correlations; what hardly varies counts as of unit spread."""
    data = data.copy()
    n, m = data.shape
    mean = np.mean(data, axis=0)
    spread = np.std(data, axis=0)
    spread[spread <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float(n)) * spread
    corr = np.eye(m, dtype=data.dtype)
    for i in range(m - 1):
        corr[i + 1 : m, i] = corr[i, i + 1 : m] = data[:, i] @ data[:, i + 1 : m]
    return corr


def numba_program(data: np.ndarray) -> np.ndarray:
    """Return the same for Numba."""
    data = data.copy()
    n, m = data.shape
    for j in range(m):
        spread = np.std(data[:, j])
        if spread <= 0.1:
            spread = 1.0
        data[:, j] = (data[:, j] - np.mean(data[:, j])) / (np.sqrt(float(n)) * spread)
    corr = np.eye(m)
    for i in range(m - 1):
        row = data[:, i] @ data[:, i + 1 : m]
        corr[i, i + 1 : m] = row
        corr[i + 1 : m, i] = row
    return corr
