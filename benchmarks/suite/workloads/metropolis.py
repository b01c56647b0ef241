"""Random-walk Metropolis on a double well, with a random generator of a few lines in the code.

The generator is the 64-bit linear congruential one of D. E. Knuth's MMIX, of which the upper 53
bits are used; G. E. P. Box and M. E. Muller's transform makes normal steps of them.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.suite.peers import torch_compiled, with_compiled_steps
from benchmarks.suite.workload import Workload

STEPS = 1000
A, C = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
SHIFT, UNIT = np.uint64(11), 2.0**-53


def log_density(x):
    return -((x * x - 1.0) ** 2) * 2.0


def uniform(state):
    state = state * A + C
    return state, ((state >> SHIFT) + 0.5) * UNIT


def chain(seed):
    state = seed
    x = total = 0.0
    density = log_density(x)
    for _ in range(STEPS):
        state, u = uniform(state)
        state, v = uniform(state)
        proposal = x + np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * v)
        proposed = log_density(proposal)
        state, u = uniform(state)
        if np.log(u) < proposed - density:
            x, density = proposal, proposed
        total += x
    return total / STEPS


def inputs(size: int) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(11).integers(2**63, size=size, dtype=np.uint64),)


def numba_chain():
    import numba as nb

    @nb.njit
    def uniform(state):
        state = state * A + C
        return state, ((state >> SHIFT) + 0.5) * UNIT

    @nb.njit
    def run(state):
        x = total = 0.0
        density = -2.0
        for _ in range(STEPS):
            state, u = uniform(state)
            state, v = uniform(state)
            proposal = x + math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)
            state, u = uniform(state)
            well = proposal * proposal - 1.0
            proposed = -(well * well) * 2.0
            if math.log(u) < proposed - density:
                x, density = proposal, proposed
            total += x
        return total / STEPS

    return run


def numba():
    import numba as nb

    run = numba_chain()

    @nb.njit(parallel=True)
    def chains(seeds):
        out = np.empty(len(seeds))
        for i in nb.prange(len(seeds)):
            out[i] = run(seeds[i])
        return out

    return chains


def guvectorize():
    import numba as nb

    return nb.vectorize(["f8(u8)"], target="parallel")(numba_chain())


def jax():
    import jax
    import jax.numpy as jnp

    def log_density(x):
        return -((x * x - 1.0) ** 2) * 2.0

    def one(seed):
        def step(_, carry):
            state, x, density, total = carry
            state, u = uniform(state)
            state, v = uniform(state)
            proposal = x + jnp.sqrt(-2.0 * jnp.log(u)) * jnp.cos(2.0 * jnp.pi * v)
            state, u = uniform(state)
            proposed = log_density(proposal)
            accept = jnp.log(u) < proposed - density
            x, density = jnp.where(accept, proposal, x), jnp.where(accept, proposed, density)
            return state, x, density, total + x

        return jax.lax.fori_loop(0, STEPS, step, (seed, 0.0, log_density(0.0), 0.0))[3] / STEPS

    return jax.vmap(one)


def torch_loop(compiled):
    import torch

    # No arithmetic on uint64 in torch: int64 wraps alike, and the shift is made logical by a mask.
    a, c = (int(number.astype(np.int64)) for number in (A, C))
    mask = 2**53 - 1

    def uniform(state):
        state = state * a + c
        return state, (((state >> 11) & mask).double() + 0.5) * UNIT

    @compiled
    def step(state, x, density, total):
        state, u = uniform(state)
        state, v = uniform(state)
        proposal = x + (-2.0 * u.log()).sqrt() * (2.0 * math.pi * v).cos()
        state, u = uniform(state)
        well = proposal * proposal - 1.0
        proposed = -(well * well) * 2.0
        accept = u.log() < proposed - density
        x, density = torch.where(accept, proposal, x), torch.where(accept, proposed, density)
        return state, x, density, total + x

    def chains(seeds):
        state = seeds.view(torch.int64)
        x = torch.zeros(len(seeds), dtype=torch.float64)
        density, total = torch.full_like(x, -2.0), torch.zeros_like(x)
        for _ in range(STEPS):
            state, x, density, total = step(state, x, density, total)
        return total / STEPS

    return chains


def torch():
    return torch_loop(lambda step: step)


def torch_compile():
    return with_compiled_steps(torch_loop(torch_compiled))


def drjit():
    import drjit as dr
    from drjit.llvm import Float64, UInt32, UInt64

    a, c = int(A), int(C)

    def uniform(state):
        state = state * a + c
        return state, (Float64(state >> 11) + 0.5) * UNIT

    def log_density(x):
        well = x * x - 1.0
        return -(well * well) * 2.0

    def chains(seeds):
        def step(i, state, x, density, total):
            state, u = uniform(state)
            state, v = uniform(state)
            proposal = x + dr.sqrt(-2.0 * dr.log(u)) * dr.cos(2.0 * dr.pi * v)
            state, u = uniform(state)
            proposed = log_density(proposal)
            accept = dr.log(u) < proposed - density
            x, density = dr.select(accept, proposal, x), dr.select(accept, proposed, density)
            return i + 1, state, x, density, total + x

        start = (UInt32(0), UInt64(seeds), Float64(0), Float64(-2), Float64(0))
        total = dr.while_loop(start, lambda i, *rest: i < STEPS, step)[4]
        return total / STEPS

    return chains


WORKLOAD = Workload(
    number=11,
    name="metropolis",
    title="random-walk Metropolis (in-code generator), 10,000 chains × 1,000",
    size=10_000,
    small=12,
    limit=45,
    inputs=inputs,
    function=chain,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch_compile,
        "drjit": drjit,
    },
    rtol=1e-9,
    atol=1e-9,
    # A last bit can decide whether a proposal is accepted, and then the chain is another one.
    stray=1e-3,
    samples=8,
)
