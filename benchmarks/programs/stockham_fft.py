"""The Fourier transform by Stockham's stages, each a product with a small matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "Stockham FFT, radix 2, 17 stages"
SMALL = 0.0005
NUMBA = "loops over the places of each stage: Numba has no mgrid, its repeat takes no axis"


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a signal, the radix and the number of stages; `scale` is of the signal's length."""
    stages = max(3, int(17 + np.log2(scale)))
    rng = np.random.default_rng(38)
    return rng.normal(size=2**stages) + 1j * rng.normal(size=2**stages), 2, stages


def program(x: np.ndarray, radix: int, stages: int) -> np.ndarray:
    """Return the transform of x, of radix ** stages numbers."""
    n = radix**stages
    i, j = np.mgrid[0:radix, 0:radix]
    dft = np.exp(-2.0j * np.pi * i * j / radix)
    y = np.empty_like(x)
    y[:] = x[:]
    ii, jj = np.mgrid[0:radix, 0 : radix**stages]
    for k in range(stages):
        done, left = radix**k, radix ** (stages - k - 1)
        parts = np.transpose(np.reshape(y, (done, radix, left)), (1, 0, 2))
        angle = ii[:, :done] * jj[:, :done] / radix ** (k + 1)
        twiddle = np.empty((radix, done, left), dtype=np.complex128)
        twiddle[:] = np.repeat(
            np.reshape(np.exp(-2.0j * np.pi * angle), (radix, done, 1)), left, axis=2
        )
        twisted = np.reshape(parts, (n,)) * np.reshape(twiddle, (n,))
        y[:] = np.reshape(dft @ np.reshape(twisted, (radix, n // radix)), (n,))
    return y


def numba_program(x: np.ndarray, radix: int, stages: int) -> np.ndarray:
    """Return the same for Numba."""
    n = radix**stages
    dft = np.empty((radix, radix), dtype=np.complex128)
    for i in range(radix):
        for j in range(radix):
            dft[i, j] = np.exp(-2.0j * np.pi * i * j / radix)
    y = x.copy()
    twisted = np.empty((radix, n // radix), dtype=np.complex128)
    done, left = 1, n // radix
    for _ in range(stages):
        for i in range(radix):
            for j in range(done):
                twiddle = np.exp(-2.0j * np.pi * i * j / (done * radix))
                for m in range(left):
                    twisted[i, j * left + m] = y[(j * radix + i) * left + m] * twiddle
        y = (dft @ twisted).ravel()
        done, left = done * radix, left // radix
    return y
