"""The covariances of variables, a row and a column of the matrix at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "covariance, 600 observations of 500 variables, by rows and columns"
SMALL = 0.02
NUMBA = "the mean of each column in a loop: Numba's mean takes no axis"


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m = max(4, int(600 * scale)), max(3, int(500 * scale))
    return (np.random.default_rng(32).normal(size=(n, m)),)


def program(data: np.ndarray) -> np.ndarray:
    """Return the matrix of covariances."""
    data = data.copy()
    n, m = data.shape
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:m, i] = cov[i, i:m] = data[:, i] @ data[:, i:m] / (n - 1.0)
    return cov


def numba_program(data: np.ndarray) -> np.ndarray:
    """Return the same for Numba."""
    data = data.copy()
    n, m = data.shape
    for j in range(m):
        data[:, j] -= np.mean(data[:, j])
    cov = np.zeros((m, m))
    for i in range(m):
        row = data[:, i] @ data[:, i:m] / (n - 1.0)
        cov[i, i:m] = row
        cov[i:m, i] = row
    return cov
