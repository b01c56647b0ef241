"""How many turns a point takes to leave the Mandelbrot set: each its own number, 1 to 1,000."""

from __future__ import annotations

from math import isqrt

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_flat
from benchmarks.suite.workload import Workload

TURNS = 1000
#: How many turns torch takes between two looks at which points are left.
BLOCK = 10


def escape(cy, cx):
    x = y = 0.0
    n = 0
    while n < TURNS and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        n += 1
    return n


def inputs(size: int) -> Arrays:
    side = isqrt(size)
    return np.linspace(-1.25, 1.25, side), np.linspace(-2.0, 0.5, side)


def numba():
    import numba as nb

    @nb.njit(parallel=True)
    def escapes(cy, cx):
        out = np.empty((len(cy), len(cx)), np.int64)
        for i in nb.prange(len(cy)):
            for j in range(len(cx)):
                x = y = 0.0
                n = 0
                while n < TURNS and x * x + y * y <= 4.0:
                    x, y = x * x - y * y + cx[j], 2.0 * x * y + cy[i]
                    n += 1
                out[i, j] = n
        return out

    return escapes


def guvectorize():
    import numba as nb

    @nb.vectorize(["i8(f8, f8)"], target="parallel")
    def one(cy, cx):
        x = y = 0.0
        n = 0
        while n < TURNS and x * x + y * y <= 4.0:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            n += 1
        return n

    return lambda cy, cx: one(cy[:, None], cx)


def jax():
    import jax

    def one(cy, cx):
        def going(state):
            x, y, n = state
            return (n < TURNS) & (x * x + y * y <= 4.0)

        def step(state):
            x, y, n = state
            return x * x - y * y + cx, 2.0 * x * y + cy, n + 1

        return jax.lax.while_loop(going, step, (0.0, 0.0, 0))[2]

    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))


def torch_loop(compiled):
    import torch

    @compiled
    def turns(x, y, n, cx, cy, count):
        for _ in range(count):
            inside = x * x + y * y <= 4.0
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            n = n + inside
        return x, y, n, inside

    def escapes(cy, cx):
        cx, cy = (c.reshape(-1) for c in torch.broadcast_tensors(cx, cy[:, None]))
        counts = torch.zeros(cx.shape, dtype=torch.int64)
        places = torch.arange(len(cx))
        x, y, n = torch.zeros_like(cx), torch.zeros_like(cx), counts
        for turn in range(0, TURNS, BLOCK):
            x, y, n, inside = turns(x, y, n, cx, cy, BLOCK)
            if turn % (8 * BLOCK) == 0:  # points that have left cost no more than until here
                counts[places] = n
                places, x, y, n = (v[inside] for v in (places, x, y, n))
                cx, cy = cx[inside], cy[inside]
        counts[places] = n
        return counts

    return escapes


def torch():
    return torch_loop(lambda turns: turns)


def drjit():
    import drjit as dr
    from drjit.llvm import Float64, Int64

    def escapes(cy, cx):
        return dr.while_loop(
            (Float64(0), Float64(0), Int64(0)),
            lambda x, y, n: (n < TURNS) & (x * x + y * y <= 4.0),
            lambda x, y, n: (x * x - y * y + cx, 2.0 * x * y + cy, n + 1),
        )[2]

    return escapes


def plane(arrays: Arrays):
    return tuple(map(drjit_flat, np.meshgrid(*arrays, indexing="ij")))


WORKLOAD = Workload(
    number=4,
    name="mandelbrot",
    title="Mandelbrot `while`, 1024², 1000 iterations",
    size=1024 * 1024,
    small=100,
    limit=42,
    inputs=inputs,
    function=escape,
    maps=((0, None), (None, 0)),
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "drjit": drjit,
    },
    place={"drjit": plane},
    # Systems that fuse multiply and add round other points of the border differently.
    stray=1e-3,
)
