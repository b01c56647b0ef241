"""Vertical advection: a tridiagonal system for each column of air, all columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "vertical advection, 128 x 128 columns of 80 levels"
SMALL = 0.08


def program(field: np.ndarray, wind: np.ndarray, dt: float) -> np.ndarray:
    """Return a field after an implicit step along its first axis, the level."""
    levels = field.shape[0]
    upper = np.zeros_like(field)
    known = np.zeros_like(field)
    weight = dt / 4 * (wind[1] + wind[0])
    pivot = 1 + weight
    upper[0] = weight / pivot
    known[0] = (field[0] - weight * (field[1] - field[0])) / pivot
    for k in range(1, levels - 1):
        above = dt / 4 * (wind[k + 1] + wind[k])
        below = -dt / 4 * (wind[k] + wind[k - 1])
        middle = 1 - above - below
        right = field[k] - below * (field[k - 1] - field[k]) - above * (field[k + 1] - field[k])
        pivot = middle - upper[k - 1] * below
        upper[k] = above / pivot
        known[k] = (right - known[k - 1] * below) / pivot
    below = -dt / 4 * (wind[levels - 1] + wind[levels - 2])
    right = field[levels - 1] - below * (field[levels - 2] - field[levels - 1])
    pivot = 1 - below - upper[levels - 2] * below
    found = np.zeros_like(field)
    found[levels - 1] = (right - known[levels - 2] * below) / pivot
    for k in range(levels - 2, -1, -1):
        found[k] = known[k] - upper[k] * found[k + 1]
    return found


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a field and the wind."""
    rng = np.random.default_rng(21)
    n, levels = max(int(128 * scale), 4), max(int(80 * scale), 4)
    return rng.normal(size=(levels, n, n)), rng.normal(size=(levels, n, n)) / 10, 0.2
