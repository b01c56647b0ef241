"""The log-likelihood of a series under a Kalman filter: small matrices, 200 steps."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_flat
from benchmarks.suite.workload import Workload

STEPS = 200
#: The matrices are the same for all series.
MAPPED = (0, 0, 0, None, None, None)
LOG_TAU = 2 * math.log(2 * math.pi)


def log_likelihood(y, drive, noise, A, C, Q):
    m, P = np.zeros(4), np.eye(4)
    total = 0.0
    for t in range(STEPS):
        m = A @ m
        P = A @ P @ A.T + drive * Q
        off = y[t] - C @ m
        S = C @ P @ C.T + noise * np.eye(2)
        gain = np.linalg.solve(S, C @ P).T
        total -= 0.5 * (off @ np.linalg.solve(S, off) + np.log(np.linalg.det(S)) + LOG_TAU)
        m = m + gain @ off
        P = P - gain @ C @ P
    return total


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(8)
    walk = np.cumsum(random.standard_normal((size, STEPS, 2)), axis=1) * 0.3
    drive, noise = random.uniform(0.1, 2.0, size), random.uniform(0.1, 1.0, size)
    # A damped and coupled system: no entry is zero, so nothing can be left out.
    A = 0.85 * np.eye(4) + 0.1 * np.eye(4, k=2) + 0.01 * random.standard_normal((4, 4))
    C = np.eye(2, 4) + 0.1 * random.standard_normal((2, 4))
    root = random.standard_normal((4, 4))
    return walk, drive, noise, A, C, 0.02 * (root @ root.T + np.eye(4))


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def likelihoods(y, drive, noise, A, C, Q):
        out = np.empty(len(y))
        for n in nb.prange(len(y)):
            m, moved = np.zeros(4), np.empty(4)
            P, AP, CP = np.eye(4), np.empty((4, 4)), np.empty((2, 4))
            total = 0.0
            for t in range(STEPS):
                u, v = y[n, t, 0], y[n, t, 1]
                for i in range(4):
                    moved[i] = 0.0
                    for k in range(4):
                        moved[i] += A[i, k] * m[k]
                    u -= C[0, i] * moved[i]
                    v -= C[1, i] * moved[i]
                    for j in range(4):
                        AP[i, j] = 0.0
                        for k in range(4):
                            AP[i, j] += A[i, k] * P[k, j]
                for i in range(4):
                    for j in range(4):
                        P[i, j] = drive[n] * Q[i, j]
                        for k in range(4):
                            P[i, j] += AP[i, k] * A[j, k]
                a, b, c, d = noise[n], 0.0, 0.0, noise[n]
                for j in range(4):
                    CP[0, j] = CP[1, j] = 0.0
                    for k in range(4):
                        CP[0, j] += C[0, k] * P[k, j]
                        CP[1, j] += C[1, k] * P[k, j]
                    a += CP[0, j] * C[0, j]
                    b += CP[0, j] * C[1, j]
                    c += CP[1, j] * C[0, j]
                    d += CP[1, j] * C[1, j]
                det = a * d - b * c
                su, sv = (d * u - b * v) / det, (a * v - c * u) / det
                total -= 0.5 * (u * su + v * sv + math.log(det) + LOG_TAU)
                for i in range(4):
                    g = (CP[0, i] * d - CP[1, i] * b) / det
                    h = (CP[1, i] * a - CP[0, i] * c) / det
                    m[i] = moved[i] + g * u + h * v
                    for j in range(4):
                        P[i, j] -= g * CP[0, j] + h * CP[1, j]
            out[n] = total
        return out

    return likelihoods


def jax():
    import jax
    import jax.numpy as jnp

    def one(y, drive, noise, A, C, Q):
        def update(state, seen):
            m, P, total = state
            m = A @ m
            P = A @ P @ A.T + drive * Q
            off = seen - C @ m
            S = C @ P @ C.T + noise * jnp.eye(2)
            gain = jnp.linalg.solve(S, C @ P).T
            distance = off @ jnp.linalg.solve(S, off)
            total -= 0.5 * (distance + jnp.log(jnp.linalg.det(S)) + LOG_TAU)
            return (m + gain @ off, P - gain @ C @ P, total), None

        return jax.lax.scan(update, (jnp.zeros(4), jnp.eye(4), 0.0), y)[0][2]

    return jax.vmap(one, MAPPED)


def torch():
    import torch

    def likelihoods(y, drive, noise, transition, observe, spread):
        m = torch.zeros(len(y), 4, 1, dtype=y.dtype)
        P = torch.eye(4, dtype=y.dtype).expand(len(y), 4, 4)
        drive, noise = drive[:, None, None] * spread, noise[:, None, None] * torch.eye(2)
        total = torch.zeros(len(y), dtype=y.dtype)
        for t in range(STEPS):
            m = transition @ m
            P = transition @ P @ transition.T + drive
            off = y[:, t, :, None] - observe @ m
            S = observe @ P @ observe.T + noise
            gain = torch.linalg.solve(S, observe @ P).mT
            distance = (off * torch.linalg.solve(S, off)).sum((1, 2))
            total = total - 0.5 * (distance + torch.logdet(S) + LOG_TAU)
            m = m + gain @ off
            P = P - gain @ observe @ P
        return total

    return likelihoods


def drjit():
    import drjit as dr
    from drjit.llvm import Float64, UInt32

    def dot(x, y):
        total = x[0] * y[0]
        for a, b in zip(x[1:], y[1:], strict=True):
            total = dr.fma(a, b, total)
        return total

    def likelihoods(y, drive, noise, A, C, Q):
        rows = dr.arange(UInt32, dr.width(drive)) * (STEPS * 2)

        def update(t, total, m, P):
            m = [dot(row, m) for row in A]
            AP = [[dot(row, column) for column in zip(*P, strict=True)] for row in A]
            P = [[dr.fma(drive, Q[i][j], dot(AP[i], A[j])) for j in range(4)] for i in range(4)]
            CP = [[dot(row, column) for column in zip(*P, strict=True)] for row in C]
            a, b = dot(CP[0], C[0]) + noise, dot(CP[0], C[1])
            c, d = dot(CP[1], C[0]), dot(CP[1], C[1]) + noise
            inverse = dr.rcp(a * d - b * c)
            u = dr.gather(Float64, y, rows + 2 * t) - dot(C[0], m)
            v = dr.gather(Float64, y, rows + 2 * t + 1) - dot(C[1], m)
            distance = (u * (d * u - b * v) + v * (a * v - c * u)) * inverse
            total = total - 0.5 * (distance - dr.log(inverse) + LOG_TAU)
            g = [(p * d - q * b) * inverse for p, q in zip(*CP, strict=True)]
            h = [(q * a - p * c) * inverse for p, q in zip(*CP, strict=True)]
            m = [m[i] + g[i] * u + h[i] * v for i in range(4)]
            P = [
                [P[i][j] - (g[i] * CP[0][j] + h[i] * CP[1][j]) for j in range(4)] for i in range(4)
            ]
            return t + 1, total, m, P

        eye = [[Float64(i == j) for j in range(4)] for i in range(4)]
        start = (UInt32(0), Float64(0), [Float64(0) for _ in range(4)], eye)
        return dr.while_loop(start, lambda t, total, m, P: t < STEPS, update)[1]

    return likelihoods


def placed(arrays: Arrays):
    """Return the matrices entry by entry, and all the rest flat."""
    *batched, A, C, Q = arrays
    matrices = ([[drjit_flat(entry) for entry in row] for row in matrix] for matrix in (A, C, Q))
    return *map(drjit_flat, batched), *matrices


WORKLOAD = Workload(
    number=8,
    name="kalman",
    title="Kalman log-likelihood, state 4, observation 2, 200 steps, 2,000, with `np.linalg.solve`",
    size=2_000,
    small=10,
    limit=2.5,
    inputs=inputs,
    function=log_likelihood,
    maps=(MAPPED,),
    peers={"numba": numba, "jax": jax, "torch": torch, "drjit": drjit},
    place={"drjit": placed},
    rtol=1e-8,
    samples=8,
)
