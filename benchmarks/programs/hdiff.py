"""Horizontal diffusion of a weather model, with a limiter of the fluxes."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "hdiff: horizontal diffusion with a limiter, 96 × 96 × 64"
SMALL = 0.06


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the arguments; `scale` is of linear sizes."""
    ni, nj, nk = (max(4, int(size * scale)) for size in (96, 96, 64))
    rng = np.random.default_rng(39)
    return rng.random((ni + 4, nj + 4, nk)), rng.random((ni, nj, nk))


def program(field: np.ndarray, coeff: np.ndarray) -> np.ndarray:
    """Return the field after a step, without two points at each edge."""
    ni, nj = coeff.shape[0], coeff.shape[1]
    out = np.empty_like(coeff)
    lap = 4.0 * field[1 : ni + 3, 1 : nj + 3, :] - (
        field[2 : ni + 4, 1 : nj + 3, :]
        + field[0 : ni + 2, 1 : nj + 3, :]
        + field[1 : ni + 3, 2 : nj + 4, :]
        + field[1 : ni + 3, 0 : nj + 2, :]
    )
    res1 = lap[1:, 1 : nj + 1, :] - lap[:-1, 1 : nj + 1, :]
    step1 = field[2 : ni + 3, 2 : nj + 2, :] - field[1 : ni + 2, 2 : nj + 2, :]
    flx = np.where((res1 * step1) > 0, 0, res1)
    res2 = lap[1 : ni + 1, 1:, :] - lap[1 : ni + 1, :-1, :]
    step2 = field[2 : ni + 2, 2 : nj + 3, :] - field[2 : ni + 2, 1 : nj + 2, :]
    fly = np.where((res2 * step2) > 0, 0, res2)
    out[:, :, :] = field[2 : ni + 2, 2 : nj + 2, :] - coeff * (
        flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :]
    )
    return out
