"""All shortest paths of a dense graph, an intermediate node at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Floyd-Warshall: shortest paths between 400 nodes"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n = max(4, int(400 * scale))
    distances = np.random.default_rng(16).uniform(1, 10, size=(n, n))
    np.fill_diagonal(distances, 0.0)
    return (distances,)


def program(distances: np.ndarray) -> np.ndarray:
    """Return the distances."""
    d = distances.copy()
    for k in range(d.shape[0]):
        d[:] = np.minimum(d, d[:, k][:, np.newaxis] + d[k, :])
    return d
