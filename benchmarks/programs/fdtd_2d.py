"""Maxwell's equations in two dimensions, by finite differences in the time domain."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "fdtd_2d: 240 × 200 points, 100 steps"
SMALL = 0.05


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    nx, ny = (max(8, int(size * scale)) for size in (240, 200))
    steps = max(3, int(100 * scale))
    rng = np.random.default_rng(13)
    fields = [rng.normal(size=(nx, ny)) for _ in range(3)]
    return (*fields, np.arange(steps, dtype=np.float64))


def program(
    ex: np.ndarray, ey: np.ndarray, hz: np.ndarray, source: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the fields."""
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz
