"""The mean and standard deviation of bootstrap samples: 10,000 numbers gathered an example."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_flat
from benchmarks.suite.workload import Workload

N = 10_000


def mean_and_std(data, indices):
    sample = data[indices]
    return sample.mean(), sample.std()


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(15)
    return random.gamma(2.0, size=N), random.integers(N, size=(size, N))


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def moments(data, indices):
        mean, std = np.empty(len(indices)), np.empty(len(indices))
        for i in nb.prange(len(indices)):
            total = 0.0
            for j in range(N):
                total += data[indices[i, j]]
            mean[i] = total / N
            squares = 0.0
            for j in range(N):
                squares += (data[indices[i, j]] - mean[i]) ** 2
            std[i] = np.sqrt(squares / N)
        return mean, std

    return moments


def guvectorize():
    import numba as nb

    signature = ["f8[:], i8[:], f8[:], f8[:]"]

    @nb.guvectorize(signature, "(n),(m)->(),()", target="parallel", fastmath=True)
    def moments(data, indices, mean, std):
        total = 0.0
        for j in range(len(indices)):
            total += data[indices[j]]
        mean[0] = total / len(indices)
        squares = 0.0
        for j in range(len(indices)):
            squares += (data[indices[j]] - mean[0]) ** 2
        std[0] = np.sqrt(squares / len(indices))

    return moments


def jax():
    import jax

    return jax.vmap(mean_and_std, (None, 0))


def torch():
    def moments(data, indices):
        sample = data[indices]
        return sample.mean(-1), sample.std(-1, correction=0)

    return moments


def drjit():
    import drjit as dr
    from drjit.llvm import Float64

    def moments(data, indices):
        samples = dr.gather(Float64, data, indices)
        mean = dr.block_sum(samples, N) / N
        squares = dr.square(samples - dr.repeat(mean, N))
        return mean, dr.sqrt(dr.block_sum(squares, N) / N)

    return moments


def placed(arrays: Arrays):
    return tuple(map(drjit_flat, arrays))


WORKLOAD = Workload(
    number=15,
    name="bootstrap",
    title="bootstrap mean and std, 2,000 × 10,000 gathers",
    size=2_000,
    small=10,
    limit=11,
    inputs=inputs,
    function=mean_and_std,
    maps=((None, 0),),
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch,
        "drjit": drjit,
    },
    place={"drjit": placed},
    rtol=1e-9,
)
