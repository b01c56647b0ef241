"""The Mandelbrot set on a grid: a mask chooses the points that go on."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Mandelbrot set, a mask chooses, 250 × 250, 100 turns"
SMALL = 0.05
TOLERANCE = 1e-6
NUMBA = "a loop over points (prange over rows): Numba sets no places by masks of two dimensions"
prange = range  # Numba's own where the harness runs numba_program


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the grid's coordinates, the greatest number of turns and the horizon."""
    n, turns = max(int(250 * scale), 5), max(int(100 * scale), 8)
    return np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n), turns, 2.0


def program(
    x: np.ndarray, y: np.ndarray, turns: int, horizon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return where each point came to and its last turn inside; 0 where it never left."""
    c = x + y[:, None] * 1j
    count = np.zeros(c.shape, dtype=np.int64)
    z = np.zeros(c.shape, dtype=np.complex128)
    for n in range(turns):
        inside = np.less(abs(z), horizon)
        count[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    count[count == turns - 1] = 0
    return z, count


def numba_program(
    x: np.ndarray, y: np.ndarray, turns: int, horizon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for Numba."""
    count = np.zeros((y.size, x.size), dtype=np.int64)
    z = np.zeros((y.size, x.size), dtype=np.complex128)
    for i in prange(y.size):
        for j in range(x.size):
            c = x[j] + y[i] * 1j
            at = 0j
            for n in range(turns):
                if abs(at) >= horizon:
                    break
                count[i, j] = n
                at = at * at + c
            z[i, j] = at
            if count[i, j] == turns - 1:
                count[i, j] = 0
    return z, count
