"""The outer product of two matrices, 32⁴ numbers an example: as fast as memory takes them."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_tensor
from benchmarks.suite.workload import Workload


def outer(a, b):
    return a[:, :, None, None] * b


def inputs(size: int) -> Arrays:
    a, b = np.random.default_rng(2).standard_normal((2, size, 32, 32), dtype=np.float32)
    return a, b


def numba():
    import numba as nb

    @nb.njit(parallel=True)
    def outers(a, b):
        n, p, q = a.shape
        r, s = b.shape[1:]
        out = np.empty((n, p, q, r, s), a.dtype)
        for row in nb.prange(n * p):
            i, j = row // p, row % p
            for k in range(q):
                for u in range(r):
                    for v in range(s):
                        out[i, j, k, u, v] = a[i, j, k] * b[i, u, v]
        return out

    return outers


def guvectorize():
    import numba as nb

    signature = ["f4[:,:], f4[:,:], f4[:,:,:,:]"]

    @nb.guvectorize(signature, "(p,q),(r,s)->(p,q,r,s)", target="parallel")
    def outers(a, b, out):
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                for u in range(b.shape[0]):
                    for v in range(b.shape[1]):
                        out[j, k, u, v] = a[j, k] * b[u, v]

    return outers


def jax():
    import jax

    return jax.vmap(outer)


def torch():
    return lambda a, b: a[:, :, :, None, None] * b[:, None, None]


def drjit():
    return lambda a, b: a[:, :, :, None, None] * b[:, None, None]


WORKLOAD = Workload(
    number=2,
    name="outer",
    title="outer product 32×32 → 32⁴, 100 × float32",
    size=100,
    small=3,
    limit=27,
    inputs=inputs,
    function=outer,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch,
        "drjit": drjit,
    },
    place={"drjit": lambda arrays: tuple(map(drjit_tensor, arrays))},
    rtol=1e-6,
    samples=4,
)
