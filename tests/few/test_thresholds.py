"""On both sides of each size at which another strategy sets in, results are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import reductions, unrolling
from lanewise.passes import rowwise, single, spread
from lanewise.runtime import buffers, launch, mend

#: Sizes of arrays, or of loops: where one strategy ends and another one begins.
ELEMENTS = {
    "one lane, or more": 1,
    "turns written out": unrolling.UNROLLED,
    "a map over turns": spread.FEWEST,
    "a run of a sum": reductions.RUN,
    "written out, or in memory": unrolling.MOST_SHARE,
    "a large array": single.LARGE,
    "rows, or elements, in lanes": rowwise.FEWEST,
    "one thread, or all": launch.INLINE,
    "memory that is kept": buffers.LARGE // 8,
    "blocks of totals": 1 << 16,
}
RNG = np.random.default_rng(6)


def elementwise(x):
    return np.sqrt(abs(x)) * 2.0 + x


def totals(x):
    return x.sum(), x.max(), (x > 0.5).sum(), np.argmin(x)


def running(x):
    return np.cumsum(x), np.diff(x, prepend=0.0), np.sort(x)


def counted(x):
    return np.histogram(x, 10, (0.0, 1.0))[0], np.bincount((x * 7).astype(int), minlength=8)


def weighted(x):
    return np.histogram(x, 16, (0.0, 1.0), weights=x)[0]


def stencil(x):
    y = x.copy()
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 4
    return y


def in_rows(x):
    m = x[: len(x) // 4 * 4].reshape(-1, 4)
    return m.sum(axis=1), m.max(axis=0), m @ np.ones(4)


def looped(x):
    y, total = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        y[i] = x[i] * 2 if x[i] > 0.5 else -x[i]
        total += x[i]
    return y, total


PROGRAMS = (elementwise, totals, running, counted, weighted, stencil, in_rows, looped)


def assert_like(got, want):
    for g, w in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("name", ELEMENTS)
def test_sizes_of_arrays(name, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    size = ELEMENTS[name]
    if size in (spread.FEWEST, single.LARGE):
        monkeypatch.setenv("LANEWISE_LANES", "1")  # one vector in flight, or several
    for number, program in enumerate(PROGRAMS):
        # A loop over very many turns takes plain Python long.
        if program is looped and (size > 20_000 or (backend == "interpret" and size > 2_000)):
            continue
        # At the threshold and on one side of it: programs take turns in which, where all are fast.
        around = (size - 1, size, size + 1)
        for count in around[1:] if size > 2_000 or number % 2 else around[:2]:
            if count < {totals: 1, in_rows: 4}.get(program, 0):
                continue
            x = RNG.random(count)
            assert_like(lw.function(program)(x), program(x))


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("size", [1, 8, 16, 32, 64, mend._LARGEST])
def test_sizes_of_batches(size, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    for program in (elementwise, totals, running, stencil, in_rows):
        mapped = lw.vmap(program)
        for count in (size, size + 1, size - 1):
            x = RNG.random((count, 12))
            got = mapped(x)
            if count:
                rows = [program(row) for row in x]
                rows = [r if isinstance(r, tuple) else (r,) for r in rows]
                assert_like(got, tuple([np.stack(column) for column in zip(*rows, strict=True)]))


def test_calls_before_and_after_they_are_compiled(monkeypatch):
    """Each call is NumPy's or a kernel's as it pays: the results of both are checked."""
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    for program in (elementwise, totals, stencil):
        called, mapped = lw.function(program), lw.vmap(program)
        for size in (10, 1000, 100_000):
            for _ in range(12):
                x = RNG.random(size)
                assert_like(called(x), program(x))
        for count in (3, 3_000, 30_000):
            for _ in range(4):
                x = RNG.random((count, 8))
                got = mapped(x)
                got = got if isinstance(got, tuple) else (got,)
                for row in (0, count // 2, count - 1):
                    assert_like(tuple([g[row] for g in got]), program(x[row]))
