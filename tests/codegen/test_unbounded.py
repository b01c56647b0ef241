"""Arrays in kernels of sizes that data decide and for which nothing says how large they may be."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.backends import backend
from support.everywhere import Programs, assert_like_the_loop

RNG = np.random.default_rng(8)
A = RNG.normal(size=(43, 12)).round(1)
A[4] = -1.0
A[7, ::3] = np.nan
N = RNG.integers(0, 40, 43)
N[:3] = 0, 1, 300
W = RNG.integers(1, 9, (43, 12))
PROGRAMS = Programs()
program = PROGRAMS.note


def kept(x):
    """Return an array of which the data say how long it is."""
    out = []
    for v in x:
        if not v < 0:
            out.append(v)
            out.append(v * 0.5)
    return np.array(out)


@program(A)
def sorts(x):
    values = np.sort(kept(x))
    return values.sum(), values[: len(values) // 2].sum()


@program(A)
def ranks(x):
    values = kept(x)
    order = np.argsort(values, kind="stable")
    return np.nansum(order * values[order]), len(order)


@program(A)
def middle(x):
    values = kept(x)
    return np.median(np.append(values, 0.0)), len(np.unique(values[values > 0.3]))


@program(A)
def sorted_pairs(x):
    pairs = []
    for i, v in enumerate(x):
        if v > -0.5:
            pairs.append((v, i))
    total = 0.0
    for k, (v, i) in enumerate(sorted(pairs, key=lambda pair: (pair[1] % 3, -pair[0]))):
        total += k * v + i
    return total


@program(W, A, N)
def knapsack(weights, values, capacity):
    cap = int(capacity)
    table = np.zeros((len(weights) + 1, cap + 1))
    for i in range(1, len(weights) + 1):
        w = int(weights[i - 1])
        table[i] = table[i - 1]
        if w <= cap:
            candidate = table[i - 1, : cap + 1 - w] + abs(np.nan_to_num(values[i - 1]))
            table[i, w:] = np.maximum(table[i - 1, w:], candidate)
    return table[-1, -1], table[:, cap // 2].sum()


@program(N, W)
def three_axes(n, weights):
    cube = np.zeros((3, n + 1, n % 7 + 2))
    for k in range(3):
        cube[k] += weights[k]
        cube[k, n // 2] += np.arange(n % 7 + 2)
    flat = cube.reshape(3, -1)
    return flat.sum(axis=1), cube[:, 0].sum(), cube.transpose(2, 1, 0)[1, 0]


@program(N)
def products(n):
    a = np.ones((n % 11 + 1, n % 5 + 2)) * np.arange(n % 5 + 2)
    b = np.ones((n % 5 + 2, 3)) * (n % 3)
    return (a @ b).sum(axis=0), a.T[1].sum()


@program(A)
def appended_ends(x):
    received = []
    for v in x:
        if v > 0:
            received.append(v)
    out = np.zeros(5)
    out[: len(received)] = received[:5]
    return out, len(received)


@program(N, A)
def rows_of_lists(n, x):
    rows = []
    k = 0
    while k < n % 6:
        rows.append(x[k : k + 3] * k)
        k += 1
    table = np.array(rows) if rows else np.zeros((0, 3))
    return table.sum(axis=0), len(rows)


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


@pytest.mark.parametrize("name", ["sorts", "ranks", "sorted_pairs", "knapsack", "appended_ends"])
@pytest.mark.parametrize("examples", [1, 3, 43])
def test_is_compiled_whole(name, examples):
    func, batches = PROGRAMS[name]
    with backend("native"):
        found = lw.explain(lw.vmap(func), *[batch[:examples] for batch in batches])
    assert found.kernels
    assert [each.reason for each in found.left] == []


def grid(n):
    table = np.zeros((4, n + 1, n + 1))
    table[1, n] += n
    return table.sum(), table[1, -1, 0]


def test_examples_with_large_tables_run_without_a_table_for_each_lane():
    n = np.array([3, 0, 2500, 1])
    with backend("native"):
        total, corner = lw.vmap(grid)(n)
    np.testing.assert_array_equal(total, n * (n + 1.0))
    np.testing.assert_array_equal(corner, n)
