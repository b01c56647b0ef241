"""Per-example gradients through an LSTM over 128 steps: back propagation through time."""

from __future__ import annotations

import math

import numpy as np

import lanewise as lw
from benchmarks.suite.peers import Arrays
from benchmarks.suite.workload import Workload

STEPS, FEATURES, UNITS = 128, 16, 32
WEIGHTS = (1, 2, 3)
MAPPED = (0, None, None, None)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def loss(x, W, U, b):
    h = c = np.zeros(UNITS, np.float32)
    for t in range(STEPS):
        gates = W @ x[t] + U @ h + b
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return (h * h).sum()


def by_hand(x, W, U, b):
    h = c = np.zeros(UNITS, np.float32)
    kept = []
    for t in range(STEPS):
        i, f, g, o = np.split(W @ x[t] + U @ h + b, 4)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        kept.append((h, c, i, f, g, o))
        c = f * c + i * g
        h = o * np.tanh(c)
    d_W, d_U, d_b = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b)
    d_h, d_c = 2 * h, np.zeros_like(c)
    for t in reversed(range(STEPS)):
        h, before, i, f, g, o = kept[t]
        top = np.tanh(f * before + i * g)
        d_c = d_c + d_h * o * (1 - top * top)
        d_gates = np.concatenate(
            [
                d_c * g * i * (1 - i),
                d_c * before * f * (1 - f),
                d_c * i * (1 - g * g),
                d_h * top * o * (1 - o),
            ]
        )
        d_W += np.outer(d_gates, x[t])
        d_U += np.outer(d_gates, h)
        d_b += d_gates
        d_h, d_c = U.T @ d_gates, d_c * f
    return d_W, d_U, d_b


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(32)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    W = normal(4 * UNITS, FEATURES) / np.float32(math.sqrt(FEATURES))
    U = normal(4 * UNITS, UNITS) / np.float32(math.sqrt(UNITS))
    return normal(size, STEPS, FEATURES), W, U, normal(4 * UNITS)


def jax():
    import jax
    import jax.numpy as jnp

    def loss(x, W, U, b):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(W @ x + U @ h + b, 4)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        start = jnp.zeros(UNITS, x.dtype)
        (h, _), _ = jax.lax.scan(step, (start, start), x)
        return (h * h).sum()

    return jax.vmap(jax.grad(loss, WEIGHTS), MAPPED)


def torch():
    import torch

    def loss(x, W, U, b):
        h = c = x.new_zeros(UNITS)
        given = x @ W.T + b  # of all steps at once, which is faster
        for t in range(STEPS):
            i, f, g, o = (given[t] + U @ h).chunk(4)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return (h * h).sum()

    return torch.func.vmap(torch.func.grad(loss, WEIGHTS), MAPPED)


# Not for torch.compile: it would unroll the steps, and compile them for minutes.
WORKLOAD = Workload(
    number=32,
    name="lstm_gradients",
    title="per-example gradients through an LSTM of 32 units, 128 steps, 128 × float32",
    size=128,
    small=10,
    inputs=inputs,
    function=lw.grad(loss, argnums=WEIGHTS),
    reference=by_hand,
    maps=(MAPPED,),
    peers={"jax": jax, "torch": torch},
    rtol=1e-3,
    atol=1e-4,
    samples=4,
)
