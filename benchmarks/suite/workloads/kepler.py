"""Kepler's equation E - e sin E = M, solved by Newton's method to 1e-12."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.suite.peers import torch_compiled, with_compiled_steps
from benchmarks.suite.workload import Workload


def eccentric_anomaly(mean, e):
    E = mean if e < 0.8 else np.pi
    step = 1.0
    while abs(step) > 1e-12:
        step = (E - e * np.sin(E) - mean) / (1 - e * np.cos(E))
        E = E - step
    return E


def inputs(size: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(5)
    return random.uniform(0, 2 * np.pi, size), random.uniform(0, 0.95, size)


def one(mean, e):
    E = mean if e < 0.8 else math.pi
    step = 1.0
    while abs(step) > 1e-12:
        step = (E - e * math.sin(E) - mean) / (1 - e * math.cos(E))
        E = E - step
    return E


def numba():
    import numba as nb

    solve = nb.njit(one)

    @nb.njit(parallel=True)
    def anomalies(mean, e):
        out = np.empty_like(mean)
        for i in nb.prange(len(mean)):
            out[i] = solve(mean[i], e[i])
        return out

    return anomalies


def guvectorize():
    import numba as nb

    return nb.vectorize(["f8(f8, f8)"], target="parallel")(one)


def jax():
    import jax
    import jax.numpy as jnp

    def solve(mean, e):
        def newton(state):
            E, _ = state
            step = (E - e * jnp.sin(E) - mean) / (1 - e * jnp.cos(E))
            return E - step, step

        start = jnp.where(e < 0.8, mean, jnp.pi)
        return jax.lax.while_loop(lambda state: abs(state[1]) > 1e-12, newton, (start, 1.0))[0]

    return jax.vmap(solve)


def torch_loop(compiled):
    import torch

    @compiled
    def newton(E, step, mean, e):
        new = (E - e * E.sin() - mean) / (1 - e * E.cos())
        step = torch.where(step.abs() > 1e-12, new, 0.0)
        return E - step, step, (step.abs() > 1e-12).any()

    def anomalies(mean, e):
        E = torch.where(e < 0.8, mean, torch.pi)
        step, going = torch.ones_like(E), True
        while going:
            E, step, going = newton(E, step, mean, e)
        return E

    return anomalies


def torch():
    return torch_loop(lambda step: step)


def torch_compile():
    return with_compiled_steps(torch_loop(torch_compiled))


def drjit():
    import drjit as dr
    from drjit.llvm import Float64

    def anomalies(mean, e):
        def newton(E, step):
            sine, cosine = dr.sincos(E)
            step = (E - e * sine - mean) / (1 - e * cosine)
            return E - step, step

        start = dr.select(e < 0.8, mean, dr.pi)
        return dr.while_loop((start, Float64(1)), lambda E, step: dr.abs(step) > 1e-12, newton)[0]

    return anomalies


WORKLOAD = Workload(
    number=5,
    name="kepler",
    title="Kepler's equation by Newton, `while` to 1e-12, 1,000,000",
    size=1_000_000,
    small=60,
    limit=8,
    inputs=inputs,
    function=eccentric_anomaly,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch_compile,
        "drjit": drjit,
    },
    rtol=1e-10,
    atol=1e-11,
)
