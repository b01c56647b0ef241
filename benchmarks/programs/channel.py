"""Flow in a channel driven by a force, periodic along it, until it hardly changes."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "channel flow, 61 × 61, 5 pressure turns a step, until steady"
SMALL = 0.2
NU = 0.1


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the fluid at rest, the steps of time and space, and what change is small enough."""
    n = max(5, int(61 * scale))
    zeros = [np.zeros((n, n)) for _ in range(3)]
    return (*zeros, 0.1 / (n - 1) ** 2, 2 / (n - 1), 2 / (n - 1), 1.0, 1.0, 5, 0.001 / scale)


def program(
    u: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    dt: float,
    dx: float,
    dy: float,
    rho: float,
    force: float,
    turns: int,
    enough: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return the velocities, the pressure and the number of steps; rows are y, columns x."""
    u, v, p = u.copy(), v.copy(), p.copy()
    b = np.zeros_like(u)
    change = 1.0
    steps = 0
    while change > enough:
        un = u.copy()
        vn = v.copy()
        b[1:-1, 1:-1] = rho * (
            1
            / dt
            * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy))
            - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)) ** 2
            - 2
            * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx))
            - ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)) ** 2
        )
        for here, before, after in ((-1, -2, 0), (0, -1, 1)):  # the ends, each beside the other
            du_dx = (u[1:-1, after] - u[1:-1, before]) / (2 * dx)
            dv_dy = (v[2:, here] - v[:-2, here]) / (2 * dy)
            du_dy = (u[2:, here] - u[:-2, here]) / (2 * dy)
            dv_dx = (v[1:-1, after] - v[1:-1, before]) / (2 * dx)
            b[1:-1, here] = rho * (
                1 / dt * (du_dx + dv_dy) - du_dx**2 - 2 * du_dy * dv_dx - dv_dy**2
            )
        for _ in range(turns):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
            ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
            for here, before, after in ((-1, -2, 0), (0, -1, 1)):
                p[1:-1, here] = (
                    (pn[1:-1, after] + pn[1:-1, before]) * dy**2
                    + (pn[2:, here] + pn[:-2, here]) * dx**2
                ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, here]
            p[-1, :] = p[-2, :]
            p[0, :] = p[1, :]
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + NU * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + NU * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
            + force * dt
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + NU * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + NU * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        for here, before, after in ((-1, -2, 0), (0, -1, 1)):
            u[1:-1, here] = (
                un[1:-1, here]
                - un[1:-1, here] * dt / dx * (un[1:-1, here] - un[1:-1, before])
                - vn[1:-1, here] * dt / dy * (un[1:-1, here] - un[:-2, here])
                - dt / (2 * rho * dx) * (p[1:-1, after] - p[1:-1, before])
                + NU * dt / dx**2 * (un[1:-1, after] - 2 * un[1:-1, here] + un[1:-1, before])
                + NU * dt / dy**2 * (un[2:, here] - 2 * un[1:-1, here] + un[:-2, here])
                + force * dt
            )
            v[1:-1, here] = (
                vn[1:-1, here]
                - un[1:-1, here] * dt / dx * (vn[1:-1, here] - vn[1:-1, before])
                - vn[1:-1, here] * dt / dy * (vn[1:-1, here] - vn[:-2, here])
                - dt / (2 * rho * dy) * (p[2:, here] - p[:-2, here])
                + NU * dt / dx**2 * (vn[1:-1, after] - 2 * vn[1:-1, here] + vn[1:-1, before])
                + NU * dt / dy**2 * (vn[2:, here] - 2 * vn[1:-1, here] + vn[:-2, here])
            )
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return u, v, p, steps
