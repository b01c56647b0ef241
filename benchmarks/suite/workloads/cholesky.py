"""A symmetric positive definite system of 6 equations, solved by its Cholesky factor."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.suite.peers import drjit_by_rows, drjit_flats
from benchmarks.suite.workload import Workload

N = 6


def solve(A, b):
    L = np.linalg.cholesky(A)
    return np.linalg.solve(L.T, np.linalg.solve(L, b))


def inputs(size: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(9)
    factors = random.standard_normal((size, N, N))
    return factors @ factors.mT + N * np.eye(N), random.standard_normal((size, N))


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def solves(A, b):
        out = np.empty_like(b)
        for n in nb.prange(len(A)):
            L = np.empty((N, N))
            x = np.empty(N)
            for i in range(N):
                total = b[n, i]
                for j in range(i + 1):
                    entry = A[n, i, j]
                    for k in range(j):
                        entry -= L[i, k] * L[j, k]
                    if i == j:
                        L[i, i] = 1.0 / math.sqrt(entry)
                    else:
                        L[i, j] = entry * L[j, j]
                        total -= L[i, j] * x[j]
                x[i] = total * L[i, i]
            for i in range(N - 1, -1, -1):
                for j in range(i + 1, N):
                    x[i] -= L[j, i] * x[j]
                x[i] *= L[i, i]
                out[n, i] = x[i]
        return out

    return solves


def jax():
    import jax
    import jax.scipy.linalg as linalg

    return jax.vmap(lambda A, b: linalg.cho_solve(linalg.cho_factor(A, lower=True), b))


def torch():
    import torch

    return lambda A, b: torch.cholesky_solve(b[..., None], torch.linalg.cholesky(A))[..., 0]


def drjit():
    import drjit as dr

    def solves(A, b):
        L = [[None] * N for _ in range(N)]
        x = list(b)
        for i in range(N):
            for j in range(i + 1):
                entry = A[i][j]
                for k in range(j):
                    entry = dr.fma(-L[i][k], L[j][k], entry)
                if i == j:
                    L[i][i] = dr.rsqrt(entry)
                else:
                    L[i][j] = entry * L[j][j]
                    x[i] = dr.fma(-L[i][j], x[j], x[i])
            x[i] = x[i] * L[i][i]
        for i in reversed(range(N)):
            for j in range(i + 1, N):
                x[i] = dr.fma(-L[j][i], x[j], x[i])
            x[i] = x[i] * L[i][i]
        return x

    return solves


WORKLOAD = Workload(
    number=9,
    name="cholesky",
    title="Cholesky solve of 6×6, 200,000, with `np.linalg`",
    size=200_000,
    small=30,
    limit=4,
    inputs=inputs,
    function=solve,
    peers={"numba": numba, "jax": jax, "torch": torch, "drjit": drjit_by_rows(drjit, (N, N), (N,))},
    place={"drjit": drjit_flats},
    rtol=1e-8,
    atol=1e-10,
)
