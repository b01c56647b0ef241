"""The Hessian of a network of one result: second derivatives in all pairs of its inputs."""

from __future__ import annotations

import math

import numpy as np

import lanewise as lw
from benchmarks.suite.peers import Arrays
from benchmarks.suite.workload import Workload

UNITS = (64, 128)
MAPPED = (0, None, None, None, None)


def network(x, W1, b1, w2):
    return w2 @ np.tanh(W1 @ x + b1)


def column(direction, x, *weights):
    """Return a column of the Hessian, or several added up as `direction` says."""
    return lw.hvp(lambda x: network(x, *weights), (x,), (direction,))


def by_hand(direction, x, W1, b1, w2):
    hidden = np.tanh(W1 @ x + b1)
    return W1.T @ (-2 * w2 * hidden * (1 - hidden * hidden) * (W1 @ direction))


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(30)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    first, hidden = UNITS
    W1 = normal(hidden, first) / np.float32(math.sqrt(first))
    basis = np.eye(size, first, dtype=np.float32)
    return basis, normal(first), W1, normal(hidden), normal(hidden) / np.float32(math.sqrt(hidden))


def mapped():
    """Return the whole Hessian in one, as users ask for it."""
    whole = lw.function(lw.hessian(network))
    part = lw.function(lw.vmap(column, in_dims=MAPPED))
    # The tests and the first timings take a part of the basis.
    return lambda basis, x, *w: whole(x, *w) if len(basis) == len(x) else part(basis, x, *w)


def jax():
    import jax
    import jax.numpy as jnp

    def network(x, W1, b1, w2):
        return w2 @ jnp.tanh(W1 @ x + b1)

    return lambda basis, *args: jax.hessian(network)(*args)[: len(basis)]


def torch():
    import torch

    def network(x, W1, b1, w2):
        return w2 @ torch.tanh(W1 @ x + b1)

    return lambda basis, *args: torch.func.hessian(network)(*args)[: len(basis)]


WORKLOAD = Workload(
    number=30,
    name="mlp_hessian",
    title="Hessian of a network 64-128-1, float32",
    size=UNITS[0],
    small=UNITS[0],
    inputs=inputs,
    function=column,
    reference=by_hand,
    maps=(MAPPED,),
    mapped=mapped,
    peers={"jax": jax, "torch": torch, "torch.compile": torch},
    rtol=1e-4,
    atol=1e-5,
)
