"""The Mandelbrot set on a whole grid at once: each turn goes on where nothing has escaped."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Mandelbrot set, whole array with masks, 500 x 500, 50 turns"
SMALL = 0.05


def program(x: np.ndarray, y: np.ndarray, turns: int) -> np.ndarray:
    """Return after how many turns each point of a grid escaped; `turns` where it did not."""
    c = x + y.reshape(-1, 1) * 1j
    z = np.zeros(c.shape, dtype=np.complex128)
    count = np.zeros(c.shape, dtype=np.int64)
    for _ in range(turns):
        inside = z.real * z.real + z.imag * z.imag < 4.0
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the grid's coordinates."""
    n = max(int(500 * scale), 4)
    return np.linspace(-2.0, 0.6, n), np.linspace(-1.25, 1.25, n), 50
