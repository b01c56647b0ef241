"""Bodies under their mutual gravity: all pairs at once by broadcasting, leapfrog steps."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "n-body, 600 bodies, 10 steps"
SMALL = 0.05
SOFTENING = 0.05


def program(
    position: np.ndarray, velocity: np.ndarray, mass: np.ndarray, dt: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities after some steps."""
    position = position.copy()
    velocity = velocity.copy()
    for _ in range(steps):
        dx = position[:, 0] - position[:, 0:1]
        dy = position[:, 1] - position[:, 1:2]
        dz = position[:, 2] - position[:, 2:3]
        squared = dx * dx + dy * dy + dz * dz + SOFTENING**2
        weight = mass / (squared * np.sqrt(squared))
        velocity[:, 0] += dt * np.sum(weight * dx, axis=1)
        velocity[:, 1] += dt * np.sum(weight * dy, axis=1)
        velocity[:, 2] += dt * np.sum(weight * dz, axis=1)
        position += dt * velocity
    return position, velocity


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return bodies at random places."""
    rng = np.random.default_rng(1)
    n = max(int(600 * scale), 4)
    return rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, n) / n, 0.01, 10
