"""The covariances of variables, of pairs of them in a loop of products of a row and a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "covariance, 2,000 observations of 200 variables, row by row"
SMALL = 0.03


def program(data: np.ndarray) -> np.ndarray:
    """Return the matrix of covariances."""
    n, variables = data.shape
    centred = data - data.sum(axis=0) / n
    found = np.zeros((variables, variables))
    for i in range(variables):
        found[i] = centred[:, i] @ centred / (n - 1)
    return found


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return observations."""
    n, m = max(int(2000 * scale), 5), max(int(200 * scale), 3)
    return (np.random.default_rng(18).normal(size=(n, m)),)
