"""Distances on the unit sphere between pairs of places, by the haversine formula."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "arc distance, 1,000,000 pairs"
SMALL = 0.001


def program(
    latitude: np.ndarray, longitude: np.ndarray, to_latitude: np.ndarray, to_longitude: np.ndarray
) -> np.ndarray:
    """Return the angles between places."""
    half = (
        np.sin((to_latitude - latitude) / 2) ** 2
        + np.cos(latitude) * np.cos(to_latitude) * np.sin((to_longitude - longitude) / 2) ** 2
    )
    return 2 * np.arctan2(np.sqrt(half), np.sqrt(1 - half))


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return places."""
    rng = np.random.default_rng(15)
    n = max(int(1_000_000 * scale), 4)
    return tuple([rng.uniform(-1.5, 1.5, n) for _ in range(4)])
