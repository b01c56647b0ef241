"""The wave equation in two dimensions: a stencil of five points, written with slices in place."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "wave equation, 700 x 700, 50 steps"
SMALL = 0.03


def program(start: np.ndarray, speed: float, steps: int) -> np.ndarray:
    """Return the displacement after some steps, beginning at rest, with edges held at 0."""
    before = start.copy()
    now = start.copy()
    after = np.zeros_like(start)
    for _ in range(steps):
        after[1:-1, 1:-1] = (
            2 * now[1:-1, 1:-1]
            - before[1:-1, 1:-1]
            + speed
            * (
                now[2:, 1:-1]
                + now[:-2, 1:-1]
                + now[1:-1, 2:]
                + now[1:-1, :-2]
                - 4 * now[1:-1, 1:-1]
            )
        )
        before[:] = now
        now[:] = after
    return now


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a bump."""
    n = max(int(700 * scale), 5)
    x = np.linspace(-1, 1, n)
    start = np.exp(-20 * (x * x + (x * x).reshape(-1, 1)))
    start[0] = start[-1] = start[:, 0] = start[:, -1] = 0
    return start, 0.2, 50
