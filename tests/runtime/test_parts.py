"""Large batches are interpreted in parts, with the same results, and in little memory."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import lanewise as lw
from lanewise.runtime import parts, tiers
from lanewise.runtime.dispatch import observing
from maps.test_chunks import several as in_chunks
from support.oracle import assert_same

W = np.sin(np.arange(12.0)).reshape(3, 4)


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")


@pytest.fixture
def small(monkeypatch):
    """Parts of a few examples of some tens of numbers."""
    monkeypatch.setattr(tiers, "INTERPRETED_BYTES", (1 << 10, 1 << 11))
    monkeypatch.setattr(parts, "AGAIN", 1e9)


def several(x):
    """What chunks of a map are tested with, and control flow that the data steer."""
    total = 0.0
    while total < 3 and x[0, 0] > 0:
        total = total + x[0, 0]
    return {
        **in_chunks(x, W[0]),
        "branch": x * 2 if x[1, 1] > 0 else x + W,
        "shared": np.linalg.inv(W[:, :3] + np.eye(3)),
        "turns": total,
    }


def taken(call):
    """Return how many of the graphs' maps were run in chunks."""
    with observing() as programs:
        call()
    program = programs[-1]
    graph = program.executable.interpreter.graph_for(program.sizes)
    return [op.params["chunk"] for op in graph.operations if op.params.get("chunk")]


@pytest.mark.parametrize("size", [1, 64, 257])
@pytest.mark.parametrize("axis", [0, 2, -2])
def test_the_same_results(small, size, axis):
    x = np.sin(np.arange(12.0 * size)).reshape(size, 3, 4)
    moved = np.moveaxis(x, 0, axis)
    rows = [several(row) for row in x]
    expected = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    for g in (lw.vmap(several, axis), lw.function(lw.vmap(several, axis))):
        assert bool(taken(lambda: g(moved))) == (size > 1)  # noqa: B023
        assert_same(g(moved), expected, rtol=1e-10)


def test_unmapped_results_and_arguments(small):
    x = np.arange(600.0).reshape(200, 3)

    def f(row, w):
        return row + w, w @ w

    got, shared = lw.vmap(f, (0, None), (0, None))(x, np.ones((3, 3))[0])
    assert_same((got, shared), (x + 1, np.float64(3.0)))
    assert taken(lambda: lw.vmap(f, (0, None), (0, None))(x, np.ones(3)))


def test_nested_maps_and_derivatives(small):
    x = np.linspace(0.1, 2, 1200).reshape(20, 20, 3)
    assert_same(lw.vmap(lw.vmap(lambda row: np.sqrt(row).sum()))(x), np.sqrt(x).sum(-1), rtol=1e-14)
    assert_same(lw.vmap(lw.vmap(lw.grad(lambda row: (row**3).sum())))(x), 3 * x**2, rtol=1e-14)


def test_errors_name_the_example_in_the_batch(small):
    m = np.stack([np.eye(4)] * 300)
    m[211] = 0
    with pytest.raises(np.linalg.LinAlgError, match=r"in example 211 \("):
        lw.vmap(np.linalg.inv)(m)


def test_arguments_that_are_written_to(small):
    x = np.arange(900.0).reshape(300, 3)

    @lw.function
    def doubled(x):
        x[:] = lw.vmap(lambda row: row * 2)(x)
        return x.sum()

    copy = x.copy()
    assert doubled(copy) == (2 * x).sum()
    assert_same(copy, 2 * x)


def test_what_examples_share_is_computed_once(small):
    big = np.eye(6)
    with observing() as programs:
        lw.vmap(lambda x, big: np.linalg.inv(big) @ x, (0, None))(np.ones((400, 6)), big)
    program = programs[-1]
    graph = program.executable.interpreter.graph_for(program.sizes)
    outside = [op.primitive.name for op in graph.operations]
    assert "inv" in outside


def test_memory_and_no_parts_where_they_would_repeat_too_much():
    x = np.ones((400, 2000))  # 6.4 MB a full intermediate

    def f(row):
        return (np.exp(row) + np.sin(row) * np.cos(row) + np.cumsum(row)).sum()

    mapped = lw.vmap(f)
    mapped(x[:2])
    gc.collect()
    tracemalloc.start()
    try:
        mapped(x)
        assert tracemalloc.get_traced_memory()[1] < 3e6
    finally:
        tracemalloc.stop()
    big = np.eye(300)

    def shares(v):  # the product of each turn is the same for all
        m = big
        for _ in range(9):
            m = m @ big
            v = v + m[0, 0]
        return v

    assert not taken(lambda: lw.vmap(shares)(np.ones(100_000)))
    assert taken(lambda: lw.vmap(lambda v: v * v + v)(np.ones(600_000)))


def test_a_rule_for_batches_sees_all_of_it(small):
    @lw.custom_vmap
    def centred(x):
        return x

    @centred.def_vmap
    def _(axis_size, in_batched, x):
        return x - x.mean(0), True

    x = np.arange(900.0).reshape(300, 3)
    assert_same(lw.vmap(lambda row: centred(row * 2))(x), 2 * x - 2 * x.mean(0))


def test_only_what_asks_for_it_is_silent(small):
    """What is asked of floating-point conditions is a matter of lines, not of the map."""

    def f(a, b):
        with np.errstate(divide="ignore"):
            c = a / b
            with np.errstate(invalid="ignore"):
                d = (a + 1 - 1) / (b * 0)
            return c + d

    a = np.tile([[0.0, 1.0], [2.0, 3.0]], (100, 1))
    b = np.tile([[0.0, 0.0], [1.0, 2.0]], (100, 1))
    with pytest.warns(RuntimeWarning, match="invalid value encountered in divide") as caught:
        found = lw.vmap(f)(a, b)
    assert taken(lambda: lw.vmap(f)(a, b))
    with np.errstate(all="ignore"):
        assert_same(found, a / b + a / (b * 0))
    assert {each.lineno for each in caught} == {f.__code__.co_firstlineno + 2}


# --- with kernels -------------------------------------------------------------------------------


def between(x):
    """Something for kernels before and behind what is left to NumPy."""
    y = np.linalg.pinv(x * 2 + np.eye(3)) @ x
    return np.sin(y).sum(0), x[0] * 3


@pytest.mark.parametrize("dims", [0, 2, -1])
@pytest.mark.parametrize("asked", [None, 4, 1000])
def test_kernels_in_chunks(monkeypatch, dims, asked):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(tiers, "NATIVE_BYTES", (1 << 10, 1 << 11))
    monkeypatch.setattr(parts, "AGAIN", 1e9)
    for size in (1, 3, 150):
        x = np.sin(np.arange(9.0 * size)).reshape(size, 3, 3)
        rows = [between(row) for row in x]
        expected = tuple(np.stack(column) for column in zip(*rows, strict=True))
        moved = np.moveaxis(x, 0, dims)
        for g in (lw.vmap(between, dims, chunk_size=asked), lw.vmap(between, dims)):
            assert_same(g(moved), expected, rtol=1e-9, atol=1e-12)
            traced = lw.function(g)
            assert_same(traced(moved), expected, rtol=1e-9, atol=1e-12)


def test_kernels_of_chunks_are_told(monkeypatch, capsys):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(tiers, "NATIVE_BYTES", (1 << 10, 1 << 11))
    monkeypatch.setattr(parts, "AGAIN", 1e9)
    seen = lw.explain(lw.vmap(between), np.ones((200, 3, 3)))
    assert seen.kernels and "in chunks of" in capsys.readouterr().out
    seen = lw.explain(lw.vmap(between, chunk_size=7), np.ones((20, 3, 3)))
    assert seen.kernels and "in chunks of 7" in capsys.readouterr().out
    assert "chunks of 7" in seen.svg() and "kernel 1" in seen.svg() and seen.html()


@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_chunks_are_profiled_as_they_run(small, monkeypatch, backend):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setattr(tiers, "NATIVE_BYTES", (1 << 10, 1 << 11))
    found = lw.profile(lw.vmap(between), repeat=2)(np.ones((200, 3, 3)))
    calls = [row.calls for row in found.rows if row.operation == "pinv"]
    assert max(calls) > 1  # each chunk


def test_an_error_in_a_later_chunk_names_the_example(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")

    def f(m):
        return np.linalg.svd(m * 2)[1] + 1, np.linalg.inv(m + 0)

    m = np.stack([np.eye(3)] * 50)
    m[33] = 0
    with pytest.raises(np.linalg.LinAlgError, match=r"in example 33 \("):
        lw.vmap(f, chunk_size=8)(m)
