"""The correlations of variables of which each row is an observation."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "correlation, 4,000 observations of 300 variables"
SMALL = 0.03


def program(data: np.ndarray) -> np.ndarray:
    """Return the matrix of correlations; what hardly varies counts as of unit spread."""
    n = data.shape[0]
    mean = data.sum(axis=0) / n
    spread = np.sqrt(((data - mean) ** 2).sum(axis=0) / n)
    spread = np.where(spread <= 0.1, 1.0, spread)
    scaled = (data - mean) / (np.sqrt(float(n)) * spread)
    return scaled.T @ scaled


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return observations that have something in common."""
    rng = np.random.default_rng(17)
    n, m = max(int(4000 * scale), 5), max(int(300 * scale), 3)
    return (rng.normal(size=(n, m)) + rng.normal(size=(n, 1)),)
