"""The two products in a step of the biconjugate gradient method, a row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "bicg: Aᵀ r and A p by rows, 1,900 × 2,100"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    n, m = (max(3, int(size * scale)) for size in (1900, 2100))
    rng = np.random.default_rng(2)
    return rng.normal(size=(n, m)), rng.normal(size=m), rng.normal(size=n)


def program(a: np.ndarray, p: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return both products."""
    s = np.zeros_like(p)
    q = np.zeros_like(r)
    for i in range(a.shape[0]):
        s += r[i] * a[i]
        q[i] = (a[i] * p).sum()
    return s, q
