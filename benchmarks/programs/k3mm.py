"""Three matrix products: (A B) (C D)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

TITLE = "3mm: A B C D, 800 × 900 × 950 × 850 × 1,000"
SMALL = 0.01


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    sizes = [max(3, int(size * scale)) for size in (800, 900, 950, 850, 1000)]
    rng = np.random.default_rng(23)
    return tuple(rng.normal(size=shape) for shape in itertools.pairwise(sizes))


def program(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the product."""
    return a @ b @ c @ d
