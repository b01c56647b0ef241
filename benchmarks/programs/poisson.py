"""Poisson's equation on a torus, by its Fourier modes."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Poisson's equation, spectral, 1,024 x 1,024"
SMALL = 0.02
TOLERANCE = 1e-8
NUMBA = "none: Numba has no FFT"


def program(
    density: np.ndarray, kx: np.ndarray, ky: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the potential and both parts of its gradient."""
    modes = np.fft.rfft2(density)
    squared = kx.reshape(-1, 1) ** 2 + ky**2
    solved = np.where(squared > 0, -modes / np.where(squared > 0, squared, 1), 0)
    potential = np.fft.irfft2(solved, density.shape)
    along_x = np.fft.irfft2(1j * kx.reshape(-1, 1) * solved, density.shape)
    along_y = np.fft.irfft2(1j * ky * solved, density.shape)
    return potential, along_x, along_y


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a density."""
    n = max(int(1024 * scale) // 2 * 2, 8)
    density = np.random.default_rng(6).normal(size=(n, n))
    return density, np.fft.fftfreq(n, 1 / n), np.fft.rfftfreq(n, 1 / n)
