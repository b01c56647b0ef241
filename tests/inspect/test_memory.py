"""How much memory a program takes: worked out by hand, and against what NumPy allocates."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import lanewise as lw
from lanewise.inspect import memory as memory_module

X = np.ones((100, 1000))
N = X.nbytes


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")


def branches(x):
    if x[0] > 0:
        x = np.sin(x) * 2
    return x


@pytest.mark.parametrize(
    ("func", "peak", "results"),
    [
        (lambda x: np.sin(x), N, N),
        (lambda x: np.sin(x) + np.cos(x), 3 * N, N),
        (lambda x: np.sin(np.cos(np.exp(x))), 2 * N, N),
        (lambda x: np.sin(x).sum(), N + 800, 800),
        (lambda x: x[::2].reshape(-1), 0, N // 2),
        (lambda x: (x + 1, x + 2), 2 * N, 2 * N),
        (lambda x: np.sin(x)[:10] * 2, N + N // 100, N // 100),
    ],
)
def test_by_hand(func, peak, results):
    (memory,) = lw.explain(lw.vmap(func), X).memory
    assert (memory.arguments, memory.peak, memory.results) == (N, peak, results)
    assert memory.chunk is None and memory.whole is None


def test_chunks_bound_it():
    func = lambda x: np.sin(x) + np.cos(x)  # noqa: E731
    (memory,) = lw.explain(lw.vmap(func, chunk_size=10), X).memory
    assert memory.chunk == 10 and memory.whole == 3 * N
    assert memory.peak == N + 3 * N // 10  # the results, and what a chunk takes
    text = str(lw.explain(lw.vmap(func, chunk_size=10), X))
    assert "in chunks of 10; 2.3 MiB without chunks" in text
    (memory,) = lw.explain(lw.vmap(func, chunk_size=1000), X).memory
    assert memory.chunk is None


def test_advice_where_memory_is_short(monkeypatch):
    mapped = lw.vmap(lambda x: (np.sin(x) + np.cos(x)).sum())
    assert "chunk_size" not in str(lw.explain(mapped, X))
    monkeypatch.setattr(memory_module, "physical", lambda: 4 * N)
    text = str(lw.explain(mapped, X))
    # A quarter of the three that are left holds a quarter of the three that it takes.
    assert "that is much of this machine's 3.1 MiB; chunk_size=16 would need less" in text
    monkeypatch.setattr(memory_module, "physical", lambda: None)
    assert "chunk_size" not in str(lw.explain(mapped, X))


def test_one_after_the_other():
    (memory,) = lw.explain(lambda x: lw.map_fn(lambda r: np.sin(r) + np.cos(r), x), X).memory
    assert memory.peak == N + 3 * N // 100


def test_a_kernel_takes_its_results_and_scratch(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    seen = lw.explain(lw.vmap(lambda x: np.sin(x) + np.cos(x)), X)
    (kernel,), (memory,) = seen.kernels, seen.memory
    assert memory.peak == N + kernel.scratch * lw.get_num_threads()


@pytest.mark.parametrize(
    "func",
    [
        lambda x: np.sin(x) + np.cos(x),
        lambda x: np.cumsum(np.sin(x) * 2)[:500] + np.exp(x[500:]),
        lambda x: (x - x.mean()) / x.std(),
        lambda x: np.sort(x)[::-1] * np.arange(1000.0),
        branches,
        lambda x: lw.fori_loop(0, 5, lambda i, v: np.sin(v) * 2, x),
    ],
)
def test_as_numpy_allocates(func):
    """What is estimated is at least nearly what NumPy takes, and not several times as much."""
    mapped = lw.vmap(func)
    (memory,) = lw.explain(mapped, X).memory
    tracemalloc.start()
    try:
        mapped(X)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        mapped(X)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    taken = most - before
    assert taken - 100_000 <= 1.05 * memory.peak
    assert memory.peak <= 2.1 * taken + 100_000
