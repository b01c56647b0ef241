"""Burgers' equation with viscosity, by Fourier modes: derivatives by FFT, Runge-Kutta steps."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Burgers' equation, spectral, 65,536 points, 10 RK4 steps"
SMALL = 0.002
TOLERANCE = 1e-8
NUMBA = "none: Numba has no FFT"


def program(u: np.ndarray, wave: np.ndarray, viscosity: float, dt: float, steps: int) -> np.ndarray:
    """Return the velocity after some steps; `wave` are the wave numbers of `np.fft.rfft`."""
    n = u.shape[0]
    derivative = 1j * wave
    second = -wave * wave
    keep = np.where(wave < wave[-1] * (2 / 3), 1.0, 0.0)

    def slope(u: np.ndarray) -> np.ndarray:
        modes = np.fft.rfft(u) * keep
        gradient = np.fft.irfft(derivative * modes, n)
        curvature = np.fft.irfft(second * modes, n)
        return viscosity * curvature - u * gradient

    for _ in range(steps):
        k1 = slope(u)
        k2 = slope(u + dt / 2 * k1)
        k3 = slope(u + dt / 2 * k2)
        k4 = slope(u + dt * k3)
        u = u + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return u


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a smooth wave."""
    n = max(int(65536 * scale) // 2 * 2, 16)
    x = np.linspace(0, 2 * np.pi, n, endpoint=False)
    wave = np.fft.rfftfreq(n, 1 / n)
    dt = min(1e-4, 0.2 / n, 0.2 / (1e-4 * wave[-1] ** 2))
    return np.sin(x) + 0.3 * np.cos(3 * x + 1), wave, 1e-4, dt, 10
