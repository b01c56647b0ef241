"""The dot product of two rows of 64: as fast as memory gives the rows."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import drjit_by_rows, drjit_flats
from benchmarks.suite.workload import Workload


def dot(x, y):
    return np.dot(x, y)


def inputs(size: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(1)
    x, y = random.standard_normal((2, size, 64), dtype=np.float32)
    return x, y


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def dots(x, y):
        out = np.empty(len(x), x.dtype)
        for i in nb.prange(len(x)):
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                total += x[i, j] * y[i, j]
            out[i] = total
        return out

    return dots


def guvectorize():
    import numba as nb

    @nb.guvectorize(["f4[:], f4[:], f4[:]"], "(n),(n)->()", target="parallel", fastmath=True)
    def dots(x, y, out):
        total = np.float32(0)
        for j in range(len(x)):
            total += x[j] * y[j]
        out[0] = total

    return dots


def jax():
    import jax
    import jax.numpy as jnp

    return jax.vmap(jnp.dot)


def torch():
    import torch

    return torch.linalg.vecdot


def torch_compile():
    return lambda x, y: (x * y).sum(-1)


def drjit():
    def dots(x, y):
        total = x[0] * y[0]
        for a, b in zip(x[1:], y[1:], strict=True):
            total = total + a * b
        return total

    return dots


WORKLOAD = Workload(
    number=1,
    name="dot",
    title="dot of 64, 100,000 × float32",
    size=100_000,
    small=37,
    limit=2.4,
    inputs=inputs,
    function=dot,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch_compile,
        "drjit": drjit_by_rows(drjit, (64,), (64,)),
    },
    place={"drjit": drjit_flats},
    rtol=1e-5,
    atol=1e-5,
)
