"""The Jacobian of a network in its input: a product with the transpose, mapped over a basis."""

from __future__ import annotations

import itertools
import math

import numpy as np

import lanewise as lw
from benchmarks.suite.peers import Arrays
from benchmarks.suite.workload import Workload

UNITS = (128, 256, 256, 128)
MAPPED = (0, None, None, None, None, None, None, None)


def network(x, W1, b1, W2, b2, W3, b3):
    hidden = np.tanh(W1 @ x + b1)
    hidden = np.tanh(W2 @ hidden + b2)
    return W3 @ hidden + b3


def row(direction, x, *weights):
    """Return a row of the Jacobian, or several rows added up as `direction` says."""
    return lw.vjp(lambda x: network(x, *weights), x)[1](direction)[0]


def by_hand(direction, x, W1, b1, W2, b2, W3, b3):
    first = np.tanh(W1 @ x + b1)
    second = np.tanh(W2 @ first + b2)
    return (((direction @ W3) * (1 - second * second)) @ W2 * (1 - first * first)) @ W1


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(29)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    found = []
    for before, after in itertools.pairwise(UNITS):
        found += [normal(after, before) / np.float32(math.sqrt(before)), normal(after)]
    return np.eye(size, UNITS[-1], dtype=np.float32), normal(UNITS[0]), *found


def jax():
    import jax
    import jax.numpy as jnp

    def network(x, W1, b1, W2, b2, W3, b3):
        hidden = jnp.tanh(W1 @ x + b1)
        return W3 @ jnp.tanh(W2 @ hidden + b2) + b3

    def rows(basis, x, *weights):
        _, pullback = jax.vjp(lambda x: network(x, *weights), x)
        return jax.vmap(pullback)(basis)[0]

    return rows


def torch():
    import torch

    def network(x, W1, b1, W2, b2, W3, b3):
        hidden = torch.tanh(W1 @ x + b1)
        return W3 @ torch.tanh(W2 @ hidden + b2) + b3

    def rows(basis, x, *weights):
        _, pullback = torch.func.vjp(lambda x: network(x, *weights), x)
        return torch.func.vmap(pullback)(basis)[0]

    return rows


WORKLOAD = Workload(
    number=29,
    name="mlp_jacobian",
    title="Jacobian of a network 128-256-256-128 by mapped vjp, float32",
    size=UNITS[-1],
    small=10,
    inputs=inputs,
    function=row,
    reference=by_hand,
    maps=(MAPPED,),
    peers={"jax": jax, "torch": torch, "torch.compile": torch},
    rtol=1e-4,
    atol=1e-5,
)
