"""What a call costs of a function that was compiled before: `lw.function` beside the peers' jit."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.workload import Workload
from benchmarks.suite.workloads.call import function, inputs


def numba():
    import numba as nb

    @nb.njit(fastmath=True)
    def batch(x):
        out = np.empty(len(x))
        for i in range(len(x)):
            total = 0.0
            for j in range(x.shape[1]):
                total += x[i, j] * 2 + 1
            out[i] = total
        return out

    return batch


def guvectorize():
    import numba as nb

    @nb.guvectorize(["f8[:], f8[:]"], "(n)->()", fastmath=True)
    def batch(x, out):
        total = 0.0
        for j in range(len(x)):
            total += x[j] * 2 + 1
        out[0] = total

    return batch


def jax():
    import jax

    return jax.vmap(function)


def torch():
    return lambda x: (x * 2 + 1).sum(-1)


def drjit():
    return lambda x: sum((column * 2 + 1 for column in x[1:]), x[0] * 2 + 1)


WORKLOAD = Workload(
    number=16,
    name="compiled_call",
    title="call overhead, (8, 4), compiled",
    size=8,
    small=8,
    limit=0.001,
    inputs=inputs,
    function=function,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch,
        "drjit": drjit,
    },
)
