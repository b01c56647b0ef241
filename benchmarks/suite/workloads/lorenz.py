"""The Lorenz system by the classical Runge-Kutta method, the state a vector of 3."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.suite.peers import torch_compiled, with_compiled_steps
from benchmarks.suite.workload import Workload

STEPS, H = 1000, 0.01


def flow(state):
    x, y, z = state
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def lorenz(state):
    for _ in range(STEPS):
        k1 = flow(state)
        k2 = flow(state + H / 2 * k1)
        k3 = flow(state + H / 2 * k2)
        k4 = flow(state + H * k3)
        state = state + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


def inputs(size: int) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(6).uniform((-10, -10, 15), (10, 10, 35), (size, 3)),)


def derivative(x, y, z):
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z


def step(derivative, x, y, z):
    """Return the state after a step: in numbers for Numba, in whole batches for the others."""
    a1, b1, c1 = derivative(x, y, z)
    a2, b2, c2 = derivative(x + H / 2 * a1, y + H / 2 * b1, z + H / 2 * c1)
    a3, b3, c3 = derivative(x + H / 2 * a2, y + H / 2 * b2, z + H / 2 * c2)
    a4, b4, c4 = derivative(x + H * a3, y + H * b3, z + H * c3)
    return (
        x + H / 6 * (a1 + 2 * a2 + 2 * a3 + a4),
        y + H / 6 * (b1 + 2 * b2 + 2 * b3 + b4),
        z + H / 6 * (c1 + 2 * c2 + 2 * c3 + c4),
    )


def numba():
    import numba as nb

    advance, flow = nb.njit(step), nb.njit(derivative)

    @nb.njit(parallel=True)
    def run(states):
        out = np.empty_like(states)
        for i in nb.prange(len(states)):
            x, y, z = states[i, 0], states[i, 1], states[i, 2]
            for _ in range(STEPS):
                x, y, z = advance(flow, x, y, z)
            out[i, 0], out[i, 1], out[i, 2] = x, y, z
        return out

    return run


def guvectorize():
    import numba as nb

    advance, flow = nb.njit(step), nb.njit(derivative)

    @nb.guvectorize(["f8[:], f8[:]"], "(n)->(n)", target="parallel")
    def run(state, out):
        x, y, z = state[0], state[1], state[2]
        for _ in range(STEPS):
            x, y, z = advance(flow, x, y, z)
        out[0], out[1], out[2] = x, y, z

    return run


def jax():
    import jax
    import jax.numpy as jnp

    def one(state):
        # Three scalars: a vector of 3 takes half as long again.
        state = jax.lax.fori_loop(0, STEPS, lambda _, s: step(derivative, *s), tuple(state))
        return jnp.stack(state)

    return jax.vmap(one)


def torch_loop(advance):
    import torch

    def run(states):
        x, y, z = states.unbind(-1)
        for _ in range(STEPS):
            x, y, z = advance(x, y, z)
        return torch.stack((x, y, z), -1)

    return run


def torch():
    return torch_loop(partial(step, derivative))


def torch_compile():
    return with_compiled_steps(torch_loop(torch_compiled(partial(step, derivative))))


def drjit():
    import drjit as dr
    from drjit.llvm import UInt32

    def run(state):
        x, y, z, _ = dr.while_loop(
            (*state, UInt32(0)),
            lambda x, y, z, i: i < STEPS,
            lambda x, y, z, i: (*step(derivative, x, y, z), i + 1),
        )
        return [x, y, z]

    return run


WORKLOAD = Workload(
    number=6,
    name="lorenz",
    title="Lorenz RK4, 1,000 steps, 10,000 (state a vector of 3)",
    size=10_000,
    small=20,
    limit=6.5,
    inputs=inputs,
    function=lorenz,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch_compile,
        "drjit": drjit,
    },
    # Chaos: a difference in the last bit grows 10,000 times until the end.
    rtol=1e-6,
    atol=1e-6,
    samples=4,
)
