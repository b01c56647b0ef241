"""The sum of exp over the first n of 512 numbers, n another one for each example."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_flat
from benchmarks.suite.workload import Workload

WIDTH = 512


def sum_exp(x, n):
    return np.exp(x[:n]).sum()


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(13)
    return random.standard_normal((size, WIDTH)), random.integers(1, WIDTH + 1, size)


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def sums(x, n):
        out = np.empty(len(x))
        for i in nb.prange(len(x)):
            total = 0.0
            for j in range(n[i]):
                total += math.exp(x[i, j])
            out[i] = total
        return out

    return sums


def guvectorize():
    import numba as nb

    @nb.guvectorize(["f8[:], i8, f8[:]"], "(n),()->()", target="parallel", fastmath=True)
    def sums(x, n, out):
        total = 0.0
        for j in range(n):
            total += math.exp(x[j])
        out[0] = total

    return sums


def jax():
    import jax
    import jax.numpy as jnp

    def one(x, n):
        return jnp.sum(jnp.where(jnp.arange(WIDTH) < n, jnp.exp(x), 0.0))

    return jax.vmap(one)


def torch():
    import torch

    def sums(x, n):
        return torch.where(torch.arange(WIDTH) < n[:, None], x.exp(), 0.0).sum(-1)

    return sums


def drjit():
    import drjit as dr
    from drjit.llvm import Float64, Int64

    def sums(x, n):
        first = dr.arange(Int64, dr.width(n)) * WIDTH
        return dr.while_loop(
            (Int64(0), Float64(0)),
            lambda j, total: j < n,
            lambda j, total: (j + 1, total + dr.exp(dr.gather(Float64, x, first + j))),
        )[1]

    return sums


WORKLOAD = Workload(
    number=13,
    name="ragged",
    title="sum of exp over the first nᵢ of 512, 50,000",
    size=50_000,
    small=40,
    limit=9,
    inputs=inputs,
    function=sum_exp,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch,
        "drjit": drjit,
    },
    place={"drjit": lambda arrays: tuple(map(drjit_flat, arrays))},
    rtol=1e-10,
)
