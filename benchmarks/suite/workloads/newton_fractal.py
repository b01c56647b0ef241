"""Which root of z³ = 1 Newton's method finds, and in how many turns: complex numbers."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_flat
from benchmarks.suite.workload import Workload

TURNS = 60


def newton(z):
    n = 0
    while n < TURNS and abs(z * z * z - 1) > 1e-9:
        z = z - (z * z * z - 1) / (3 * z * z)
        n += 1
    return n


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(18)
    return (random.uniform(-2, 2, size) + 1j * random.uniform(-2, 2, size),)


def numba():
    import numba as nb

    one = nb.njit(newton)

    @nb.njit(parallel=True)
    def turns(z):
        out = np.empty(len(z), np.int64)
        for i in nb.prange(len(z)):
            out[i] = one(z[i])
        return out

    return turns


def jax():
    import jax
    import jax.numpy as jnp

    def one(z):
        def going(state):
            z, n = state
            return (n < TURNS) & (jnp.abs(z * z * z - 1) > 1e-9)

        def step(state):
            z, n = state
            return z - (z * z * z - 1) / (3 * z * z), n + 1

        return jax.lax.while_loop(going, step, (z, 0))[1]

    return jax.vmap(one)


def torch():
    import torch

    def turns(z):
        n = torch.zeros(z.shape, dtype=torch.int64)
        for _ in range(TURNS):
            going = (z * z * z - 1).abs() > 1e-9
            if not going.any():
                break
            z = torch.where(going, z - (z * z * z - 1) / (3 * z * z), z)
            n = n + going
        return n

    return turns


def drjit():
    import drjit as dr
    from drjit.llvm import Complex2f64, Int64

    def turns(x, y):
        return dr.while_loop(
            (Complex2f64(x, y), Int64(0)),
            lambda z, n: (n < TURNS) & (dr.abs(z * z * z - 1) > 1e-9),
            lambda z, n: (z - (z * z * z - 1) / (3 * z * z), n + 1),
        )[1]

    return turns


WORKLOAD = Workload(
    number=18,
    name="newton_fractal",
    title="Newton's method for z³ = 1, `while`, 500,000 × complex128",
    size=500_000,
    small=40,
    inputs=inputs,
    function=newton,
    peers={"numba": numba, "jax": jax, "torch": torch, "drjit": drjit},
    place={"drjit": lambda arrays: (drjit_flat(arrays[0].real), drjit_flat(arrays[0].imag))},
    # Division of complex numbers rounds differently from system to system.
    stray=1e-3,
    held_out=True,
)
