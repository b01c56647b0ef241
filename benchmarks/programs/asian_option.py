"""The price of an Asian option by Monte Carlo, from given uniform numbers (Box and Muller)."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Asian option, 50,000 paths x 20 steps, with antithetic paths"
SMALL = 0.02


def program(
    first: np.ndarray,
    second: np.ndarray,
    spot: float,
    strike: float,
    rate: float,
    volatility: float,
    years: float,
) -> tuple[float, float]:
    """Return the price and its standard error; the uniforms are (paths, steps)."""
    paths, steps = first.shape
    dt = years / steps
    normal = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    drift = (rate - 0.5 * volatility**2) * dt
    total = np.zeros(paths)
    for sign in (1, -1):
        growth = drift + sign * volatility * np.sqrt(dt) * normal
        level = np.zeros(paths)
        mean = np.zeros(paths)
        for step in range(steps):
            level += growth[:, step]
            mean += spot * np.exp(level)
        total += np.maximum(mean / steps - strike, 0)
    payoff = np.exp(-rate * years) * total / 2
    return payoff.mean(), payoff.std() / np.sqrt(paths)


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return uniform numbers above 0, and the option's terms."""
    rng = np.random.default_rng(7)
    shape = max(int(50_000 * scale), 4), 20
    return 1 - rng.random(shape), rng.random(shape), 100.0, 105.0, 0.03, 0.2, 1.0
