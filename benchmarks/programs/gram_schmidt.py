"""The QR decomposition of a matrix by the modified Gram-Schmidt process."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Gram-Schmidt: QR decomposition of 240 × 200"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    m, n = (max(3, int(size * scale)) for size in (240, 200))
    return (np.random.default_rng(18).normal(size=(m, n)),)


def program(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return both factors."""
    a = a.copy()
    n = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r
