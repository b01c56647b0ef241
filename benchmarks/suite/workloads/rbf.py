"""A Gaussian kernel matrix: two nested maps around the kernel of one pair of points."""

from __future__ import annotations

from math import isqrt

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_flat
from benchmarks.suite.workload import Workload

GAMMA = np.float32(0.05)
FEATURES = 16


def rbf(x, y):
    return np.exp(-GAMMA * np.sum((x - y) ** 2))


def inputs(size: int) -> Arrays:
    side = isqrt(size)
    x, y = np.random.default_rng(10).standard_normal((2, side, FEATURES), dtype=np.float32)
    return x, y


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def matrix(x, y):
        out = np.empty((len(x), len(y)), x.dtype)
        columns = y.T.copy()
        for i in nb.prange(len(x)):
            row = np.zeros(len(y), x.dtype)
            for k in range(x.shape[1]):
                for j in range(len(y)):
                    row[j] += (x[i, k] - columns[k, j]) ** 2
            for j in range(len(y)):
                out[i, j] = np.exp(-GAMMA * row[j])
        return out

    return matrix


def jax():
    import jax.numpy as jnp

    def matrix(x, y):
        # By a matrix product as in torch: the kernel of a pair in two nested vmaps is slower.
        squares = jnp.sum(x * x, -1)[:, None] + jnp.sum(y * y, -1)
        return jnp.exp(-GAMMA * (squares - 2 * x @ y.T))

    return matrix


def torch():
    import torch

    def matrix(x, y):
        # |x - y|² = |x|² + |y|² - 2 x·y leaves most of the work to a matrix product.
        squares = (x * x).sum(-1)[:, None] + (y * y).sum(-1)
        return torch.exp(torch.addmm(squares, x, y.T, alpha=-2).mul_(-float(GAMMA)))

    return matrix


def torch_compile():
    def matrix(x, y):
        squares = (x * x).sum(-1)[:, None] + (y * y).sum(-1)
        return ((squares - 2 * (x @ y.T)) * -float(GAMMA)).exp()

    return matrix


def drjit():
    import drjit as dr
    from drjit.llvm import Float, UInt32

    def matrix(x, y):
        rows, columns = dr.width(x) // FEATURES, dr.width(y) // FEATURES
        pair = dr.arange(UInt32, rows * columns)
        i, j = pair // columns, pair % columns
        total = Float(0)
        for k in range(FEATURES):
            a = dr.gather(Float, x, i * FEATURES + k)
            b = dr.gather(Float, y, k * columns + j)
            total = dr.fma(a - b, a - b, total)
        return dr.exp(-float(GAMMA) * total)

    return matrix


def placed(arrays: Arrays):
    x, y = arrays
    return drjit_flat(x), drjit_flat(np.ascontiguousarray(y.T))


WORKLOAD = Workload(
    number=10,
    name="rbf",
    title="RBF kernel matrix by nested maps, 4000×4000×16, float32",
    size=4000 * 4000,
    small=49,
    limit=9,
    inputs=inputs,
    function=rbf,
    maps=((0, None), (None, 0)),
    peers={
        "numba": numba,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch_compile,
        "drjit": drjit,
    },
    place={"drjit": placed},
    rtol=1e-4,
    atol=1e-6,
    samples=64,
)
