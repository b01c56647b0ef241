"""The median of 15 numbers: a small sort."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import drjit_by_rows, drjit_flats
from benchmarks.suite.workload import Workload

N = 15


def median(x):
    return np.median(x)


def inputs(size: int) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(20).standard_normal((size, N), dtype=np.float32),)


def numba():
    import numba as nb

    @nb.njit(parallel=True)
    def medians(x):
        out = np.empty(len(x), x.dtype)
        for n in nb.prange(len(x)):
            row = x[n].copy()
            for i in range(1, N):
                value, j = row[i], i
                while j > 0 and row[j - 1] > value:
                    row[j] = row[j - 1]
                    j -= 1
                row[j] = value
            out[n] = row[N // 2]
        return out

    return medians


def jax():
    import jax
    import jax.numpy as jnp

    return jax.vmap(jnp.median)


def torch():
    return lambda x: x.median(-1).values


def drjit():
    import drjit as dr

    def medians(x):
        x = list(x)
        # Batcher's odd-even merge sort of 16, of which the last place stays empty (K. E. Batcher,
        # "Sorting networks and their applications", 1968).
        width = 1
        while width < N:
            step = width
            while step:
                for low in range(step % width, N - step, 2 * step):
                    for i in range(low, min(low + step, N - step)):
                        if i // (2 * width) == (i + step) // (2 * width):
                            j = i + step
                            x[i], x[j] = dr.minimum(x[i], x[j]), dr.maximum(x[i], x[j])
                step //= 2
            width *= 2
        return x[N // 2]

    return medians


WORKLOAD = Workload(
    number=20,
    name="median",
    title="median of 15, 500,000 × float32",
    size=500_000,
    small=40,
    inputs=inputs,
    function=median,
    peers={"numba": numba, "jax": jax, "torch": torch, "drjit": drjit_by_rows(drjit, (N,))},
    place={"drjit": drjit_flats},
    rtol=0.0,
    held_out=True,
)
