"""Flow in a cavity with a moving lid: Navier and Stokes by a pressure equation, in slices."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "cavity flow, 200 x 200, 10 steps of 50 pressure turns"
SMALL = 0.05
DENSITY, VISCOSITY = 1.0, 0.1


def program(
    u: np.ndarray, v: np.ndarray, p: np.ndarray, dt: float, dx: float, steps: int, turns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the velocities and the pressure after some steps; rows are y, columns x."""
    u = u.copy()
    v = v.copy()
    p = p.copy()
    source = np.zeros_like(u)
    for _ in range(steps):
        du_dx = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
        du_dy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dx)
        dv_dx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        dv_dy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)
        source[1:-1, 1:-1] = DENSITY * (
            (du_dx + dv_dy) / dt - du_dx * du_dx - 2 * du_dy * dv_dx - dv_dy * dv_dy
        )
        for _ in range(turns):
            old = p.copy()
            p[1:-1, 1:-1] = (
                old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]
            ) / 4 - dx * dx / 4 * source[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        un = u.copy()
        vn = v.copy()
        centre_u = un[1:-1, 1:-1]
        centre_v = vn[1:-1, 1:-1]
        u[1:-1, 1:-1] = (
            centre_u
            - dt / dx * centre_u * (centre_u - un[1:-1, :-2])
            - dt / dx * centre_v * (centre_u - un[:-2, 1:-1])
            - dt / (2 * DENSITY * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + VISCOSITY
            * dt
            / (dx * dx)
            * (un[1:-1, 2:] + un[1:-1, :-2] + un[2:, 1:-1] + un[:-2, 1:-1] - 4 * centre_u)
        )
        v[1:-1, 1:-1] = (
            centre_v
            - dt / dx * centre_u * (centre_v - vn[1:-1, :-2])
            - dt / dx * centre_v * (centre_v - vn[:-2, 1:-1])
            - dt / (2 * DENSITY * dx) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + VISCOSITY
            * dt
            / (dx * dx)
            * (vn[1:-1, 2:] + vn[1:-1, :-2] + vn[2:, 1:-1] + vn[:-2, 1:-1] - 4 * centre_v)
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the fluid at rest, but for the lid."""
    n = max(int(200 * scale), 6)
    dx = 2 / (n - 1)
    u = np.zeros((n, n))
    u[-1] = 1
    return u, np.zeros((n, n)), np.zeros((n, n)), 0.1 * dx * dx / VISCOSITY, dx, 10, 50
