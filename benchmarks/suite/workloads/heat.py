"""The heat equation on a rod of 128 points, by 200 explicit steps that write in place."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.workload import Workload

N, STEPS = 128, 200


def heat(u, k):
    for _ in range(STEPS):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def inputs(size: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(22)
    return random.standard_normal((size, N)), random.uniform(0.05, 0.45, size)


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def rods(u, k):
        out = u.copy()
        for n in nb.prange(len(u)):
            old, new, rate = u[n].copy(), u[n].copy(), k[n]
            for _ in range(STEPS):
                for i in range(1, N - 1):
                    new[i] = old[i] + rate * (old[i + 1] - 2 * old[i] + old[i - 1])
                old, new = new, old
            out[n] = old
        return out

    return rods


def jax():
    import jax

    def one(u, k):
        def step(_, u):
            return u.at[1:-1].add(k * (u[2:] - 2 * u[1:-1] + u[:-2]))

        return jax.lax.fori_loop(0, STEPS, step, u)

    return jax.vmap(one)


def torch():
    def rods(u, k):
        u, k = u.clone(), k[:, None]
        for _ in range(STEPS):
            u[:, 1:-1] += k * (u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2])
        return u

    return rods


WORKLOAD = Workload(
    number=22,
    name="heat",
    title="heat equation, 128 points × 200 steps in place, 5,000",
    size=5_000,
    small=10,
    inputs=inputs,
    function=heat,
    peers={"numba": numba, "jax": jax, "torch": torch},
    rtol=1e-9,
    atol=1e-9,
    held_out=True,
)
