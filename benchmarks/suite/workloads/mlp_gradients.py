"""Per-example gradients of a classifier's loss: a gradient of each weight for each example."""

from __future__ import annotations

import math

import numpy as np

import lanewise as lw
from benchmarks.suite.peers import Arrays
from benchmarks.suite.workload import Workload

UNITS = (64, 128, 10)
WEIGHTS = (2, 3, 4, 5)
MAPPED = (0, 0, None, None, None, None)


def loss(x, target, W1, b1, W2, b2):
    scores = W2 @ np.tanh(W1 @ x + b1) + b2
    top = scores.max()
    return np.log(np.exp(scores - top).sum()) + top - target @ scores


def by_hand(x, target, W1, b1, W2, b2):
    hidden = np.tanh(W1 @ x + b1)
    scores = W2 @ hidden + b2
    odds = np.exp(scores - scores.max())
    d_scores = odds / odds.sum() - target
    d_hidden = (W2.T @ d_scores) * (1 - hidden * hidden)
    return np.outer(d_hidden, x), d_hidden, np.outer(d_scores, hidden), d_scores


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(28)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    first, hidden, classes = UNITS
    target = np.eye(classes, dtype=np.float32)[random.integers(0, classes, size)]
    W1 = normal(hidden, first) / np.float32(math.sqrt(first))
    W2 = normal(classes, hidden) / np.float32(math.sqrt(hidden))
    return normal(size, first), target, W1, normal(hidden), W2, normal(classes)


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def gradients(x, target, W1, b1, W2, b2):
        count, first = x.shape
        classes, units = W2.shape
        d_W1, d_b1 = np.empty((count, units, first), x.dtype), np.empty((count, units), x.dtype)
        d_W2, d_b2 = np.empty((count, classes, units), x.dtype), np.empty((count, classes), x.dtype)
        for n in nb.prange(count):
            hidden = np.tanh(W1 @ x[n] + b1)
            scores = W2 @ hidden + b2
            odds = np.exp(scores - scores.max())
            d_scores = odds / odds.sum() - target[n]
            d_hidden = (d_scores @ W2) * (1 - hidden * hidden)
            d_b1[n], d_b2[n] = d_hidden, d_scores
            for i in range(units):
                for j in range(first):
                    d_W1[n, i, j] = d_hidden[i] * x[n, j]
            for i in range(classes):
                for j in range(units):
                    d_W2[n, i, j] = d_scores[i] * hidden[j]
        return d_W1, d_b1, d_W2, d_b2

    return gradients


def jax():
    import jax
    import jax.numpy as jnp

    def loss(x, target, W1, b1, W2, b2):
        scores = W2 @ jnp.tanh(W1 @ x + b1) + b2
        return jax.nn.logsumexp(scores) - target @ scores

    return jax.vmap(jax.grad(loss, WEIGHTS), MAPPED)


def torch():
    import torch

    def loss(x, target, W1, b1, W2, b2):
        scores = W2 @ torch.tanh(W1 @ x + b1) + b2
        return torch.logsumexp(scores, 0) - target @ scores

    return torch.func.vmap(torch.func.grad(loss, WEIGHTS), MAPPED)


WORKLOAD = Workload(
    number=28,
    name="mlp_gradients",
    title="per-example gradients of a network 64-128-10, 512 × float32",
    size=512,
    small=20,
    limit=1.3,
    inputs=inputs,
    function=lw.grad(loss, argnums=WEIGHTS),
    reference=by_hand,
    maps=(MAPPED,),
    peers={"numba": numba, "jax": jax, "torch": torch, "torch.compile": torch},
    rtol=1e-4,
    atol=1e-5,
)
