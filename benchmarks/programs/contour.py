"""A contour integral of a resolvent: linear systems at points around a circle, summed."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "contour integral, 32 points, 150 x 150 complex systems"
SMALL = 0.05


def program(a: np.ndarray, b: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the moments of order 0 and 1 of inv(z - a) @ b around the points."""
    n = a.shape[0]
    unit = np.eye(n)
    zeroth = np.zeros(b.shape, dtype=np.complex128)
    first = np.zeros(b.shape, dtype=np.complex128)
    for z in points:
        found = np.linalg.solve(z * unit - a, b)
        zeroth += found * z
        first += found * z * z
    return zeroth / points.shape[0], first / points.shape[0]


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a matrix, what it is applied to, and a circle around its eigenvalues."""
    rng = np.random.default_rng(20)
    n = max(int(150 * scale), 4)
    points = 3 * np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)
    a = rng.normal(size=(n, n)) / np.sqrt(n) + 0j
    return a, rng.normal(size=(n, 8)) + 0j, points
