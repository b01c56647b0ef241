"""A general system of 4 equations, solved with pivoting."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import drjit_by_rows, drjit_flats
from benchmarks.suite.workload import Workload

N = 4


def solve(A, b):
    return np.linalg.solve(A, b)


def inputs(size: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(19)
    A = random.standard_normal((size, N, N)) + 2 * np.eye(N)[random.permutation(N)]
    return A, random.standard_normal((size, N))


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def solves(A, b):
        out = np.empty_like(b)
        for n in nb.prange(len(A)):
            M = np.empty((N, N + 1))
            for i in range(N):
                for j in range(N):
                    M[i, j] = A[n, i, j]
                M[i, N] = b[n, i]
            for k in range(N):
                pivot = k
                for i in range(k + 1, N):
                    if abs(M[i, k]) > abs(M[pivot, k]):
                        pivot = i
                for j in range(k, N + 1):
                    M[k, j], M[pivot, j] = M[pivot, j], M[k, j]
                for i in range(k + 1, N):
                    factor = M[i, k] / M[k, k]
                    for j in range(k + 1, N + 1):
                        M[i, j] -= factor * M[k, j]
            for i in range(N - 1, -1, -1):
                for j in range(i + 1, N):
                    M[i, N] -= M[i, j] * out[n, j]
                out[n, i] = M[i, N] / M[i, i]
        return out

    return solves


def jax():
    import jax
    import jax.numpy as jnp

    return jax.vmap(jnp.linalg.solve)


def torch():
    import torch

    return torch.linalg.solve


def drjit():
    import drjit as dr

    def solves(A, b):
        M = [[*row, x] for row, x in zip(A, b, strict=True)]
        for k in range(N):
            for i in range(k + 1, N):  # the rows change places where the pivot is larger
                swap = dr.abs(M[i][k]) > dr.abs(M[k][k])
                for j in range(k, N + 1):
                    high, low = M[k][j], M[i][j]
                    M[k][j], M[i][j] = dr.select(swap, low, high), dr.select(swap, high, low)
            inverse = dr.rcp(M[k][k])
            for i in range(k + 1, N):
                factor = M[i][k] * inverse
                for j in range(k + 1, N + 1):
                    M[i][j] = dr.fma(-factor, M[k][j], M[i][j])
            M[k][k] = inverse
        x = [row[N] for row in M]
        for i in reversed(range(N)):
            for j in range(i + 1, N):
                x[i] = dr.fma(-M[i][j], x[j], x[i])
            x[i] = x[i] * M[i][i]
        return x

    return solves


WORKLOAD = Workload(
    number=19,
    name="solve",
    title="general solve of 4×4, 300,000, with `np.linalg.solve`",
    size=300_000,
    small=30,
    inputs=inputs,
    function=solve,
    peers={"numba": numba, "jax": jax, "torch": torch, "drjit": drjit_by_rows(drjit, (N, N), (N,))},
    # A few of so many random matrices are all but singular.
    place={"drjit": drjit_flats},
    rtol=1e-6,
    atol=1e-8,
    stray=1e-4,
    held_out=True,
)
