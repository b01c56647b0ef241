"""A small neural network with shared weights: matrix products that are one over the batch."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import Arrays
from benchmarks.suite.workload import Workload


def mlp(x, W1, b1, W2, b2, w3):
    hidden = np.tanh(W1 @ x + b1)
    hidden = np.tanh(W2 @ hidden + b2)
    return w3 @ hidden


def inputs(size: int) -> Arrays:
    normal = np.random.default_rng(21).standard_normal

    def weights(*shape: int) -> np.ndarray:
        return normal(shape, dtype=np.float32) / np.float32(shape[-1] ** 0.5)

    x = normal((size, 16), dtype=np.float32)
    return x, weights(32, 16), weights(32), weights(32, 32), weights(32), weights(32)


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def networks(x, W1, b1, W2, b2, w3):
        out = np.empty(len(x), x.dtype)
        first, second = W1.T.copy(), W2.T.copy()
        for n in nb.prange(len(x)):
            hidden, again = b1.copy(), b2.copy()
            for k in range(first.shape[0]):
                for i in range(first.shape[1]):
                    hidden[i] += first[k, i] * x[n, k]
            for k in range(second.shape[0]):
                value = np.tanh(hidden[k])
                for i in range(second.shape[1]):
                    again[i] += second[k, i] * value
            total = x.dtype.type(0)
            for i in range(len(w3)):
                total += w3[i] * np.tanh(again[i])
            out[n] = total
        return out

    return networks


def jax():
    import jax
    import jax.numpy as jnp

    def one(x, W1, b1, W2, b2, w3):
        hidden = jnp.tanh(W1 @ x + b1)
        return w3 @ jnp.tanh(W2 @ hidden + b2)

    return jax.vmap(one, (0, None, None, None, None, None))


def torch():
    from torch.nn.functional import linear

    def networks(x, W1, b1, W2, b2, w3):
        return linear(linear(x, W1, b1).tanh(), W2, b2).tanh() @ w3

    return networks


WORKLOAD = Workload(
    number=21,
    name="mlp",
    title="network 16-32-32-1 with tanh, 100,000 × float32",
    size=100_000,
    small=30,
    inputs=inputs,
    function=mlp,
    maps=((0, None, None, None, None, None),),
    peers={"numba": numba, "jax": jax, "torch": torch, "torch.compile": torch},
    rtol=1e-4,
    atol=1e-5,
    held_out=True,
)
