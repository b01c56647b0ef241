"""The edit distance of two strings of 64: one row of the table, updated in place."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_columns, drjit_flat
from benchmarks.suite.workload import Workload

LENGTH = 64


def levenshtein(a, b):
    row = np.arange(LENGTH + 1, dtype=np.int32)
    for i in range(LENGTH):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(LENGTH):
            above = row[j + 1]
            replaced = diagonal + (a[i] != b[j])
            row[j + 1] = min(replaced, above + 1, row[j] + 1)
            diagonal = above
    return row[LENGTH]


def inputs(size: int) -> tuple[np.ndarray, ...]:
    a, b = np.random.default_rng(12).integers(4, size=(2, size, LENGTH), dtype=np.int32)
    return a, b


def numba():
    import numba as nb

    @nb.njit(parallel=True)
    def distances(a, b):
        out = np.empty(len(a), np.int32)
        for n in nb.prange(len(a)):
            row = np.arange(LENGTH + 1).astype(np.int32)
            for i in range(LENGTH):
                diagonal = row[0]
                row[0] = left = i + 1
                letter = a[n, i]
                for j in range(LENGTH):
                    above = row[j + 1]
                    left = min(diagonal + (letter != b[n, j]), min(above, left) + 1)
                    row[j + 1] = left
                    diagonal = above
            out[n] = row[LENGTH]
        return out

    return distances


def guvectorize():
    import numba as nb

    @nb.guvectorize(["i4[:], i4[:], i4[:]"], "(n),(n)->()", target="parallel")
    def distances(a, b, out):
        row = np.arange(LENGTH + 1).astype(np.int32)
        for i in range(LENGTH):
            diagonal = row[0]
            row[0] = left = i + 1
            for j in range(LENGTH):
                above = row[j + 1]
                left = min(diagonal + (a[i] != b[j]), min(above, left) + 1)
                row[j + 1] = left
                diagonal = above
        out[0] = row[LENGTH]

    return distances


def jax():
    import jax
    import jax.numpy as jnp

    def one(a, b):
        # Cell by cell: a row at once, as a running minimum, takes over twice as long.
        def next_row(row, letter):
            def cell(left, above):
                diagonal, over, other = above
                new = jnp.minimum(diagonal + (letter != other), jnp.minimum(over, left) + 1)
                return new, new

            first = row[0] + 1
            _, rest = jax.lax.scan(cell, first, (row[:-1], row[1:], b))
            return jnp.concatenate([first[None], rest]), None

        return jax.lax.scan(next_row, jnp.arange(LENGTH + 1, dtype=jnp.int32), a)[0][-1]

    return jax.vmap(one)


def torch():
    import torch

    def distances(a, b):
        columns = torch.arange(LENGTH + 1, dtype=torch.int32)
        row = columns.expand(len(a), -1)
        for i in range(LENGTH):
            best = torch.minimum(row[:, :-1] + (a[:, i : i + 1] != b), row[:, 1:] + 1)
            best = torch.cat([row[:, :1] + 1, best], 1)
            row = torch.cummin(best - columns, 1).values + columns
        return row[:, -1]

    return distances


def drjit():
    import drjit as dr
    from drjit.llvm import Int, UInt32

    def distances(a, b):
        width = dr.width(b[0])
        lanes = dr.arange(UInt32, width)

        def next_row(i, row):
            letter = dr.gather(Int, a, lanes + i * width)
            diagonal, new = row[0], [row[0] + 1]
            for j in range(LENGTH):
                replaced = diagonal + dr.select(letter != b[j], Int(1), Int(0))
                diagonal = row[j + 1]
                new.append(dr.minimum(replaced, dr.minimum(diagonal, new[j]) + 1))
            return i + 1, new

        start = (UInt32(0), [Int(j) for j in range(LENGTH + 1)])
        return dr.while_loop(start, lambda i, row: i < LENGTH, next_row)[1][LENGTH]

    return distances


def placed(arrays: Arrays):
    a, b = arrays
    return drjit_flat(np.ascontiguousarray(a.T)), drjit_columns(b)


WORKLOAD = Workload(
    number=12,
    name="levenshtein",
    title="Levenshtein of length 64, 20,000 × int32",
    size=20_000,
    small=10,
    limit=4.5,
    inputs=inputs,
    function=levenshtein,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "drjit": drjit,
    },
    place={"drjit": placed},
    rtol=0.0,
    samples=4,
)
