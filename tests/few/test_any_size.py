"""Loops and arrays of unknown size become maps as those of known sizes do, and mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.ir.graph import Graph
from lanewise.passes.assume import assumed
from lanewise.passes.pipeline import ONE_BY_ONE, TIDIED
from lanewise.passes.spread import FEWEST
from lanewise.runtime.few import Few
from support.loops_of_turns import SPREAD
from support.spreading import count

SIZES = (0, 1, 2, 3, 5, FEWEST - 1, FEWEST, 100, 3000)


@pytest.fixture(autouse=True)
def _always_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(Few, "is_better_for", lambda *_: True)


def stencil(x, y):
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        out[i] = np.exp(x[i - 1]) + y[i + 1]
    return out


def backwards(x, y):
    out = x.copy()
    for i in range(len(x) - 1, -1, -1):
        out[i] = x[i] * y[len(x) - 1 - i]
    return out


def totals(x, y):
    s, most, odd = 0.0, -np.inf, 0
    for i in range(len(x)):
        s += x[i] * y[i]
        most = np.maximum(most, x[i])
        odd += int(x[i] > y[i])
    return s, most, odd


def what_is_left(x, y):
    last, place = y.sum(), -1
    for i in range(len(x)):
        last = x[i] + 1
        place = i
    return last, place


def branches(x, y):
    out = np.zeros(2 * len(x))
    for i in range(len(x)):
        if x[i] > y[i]:
            out[2 * i] = np.sqrt(x[i] - y[i])
        else:
            out[2 * i] = 1 / (1 + y[i] - x[i])
    return out


def rows(x, y):
    table = np.zeros((len(x), 3))
    for i in range(len(x)):
        table[i] = np.array([1.0, 2.0, 3.0]) * x[i] + y[i]
    return table.sum(axis=0), table


def whole(x, y):
    z = np.exp(-x) * y + 1
    return z[1:] - z[:-1], z.sum(), (z * z).max(initial=0.0)


def blocks(x, y):
    table = np.add.outer(np.sin(x[:40]), y)
    return table.sum(axis=0), table.max(axis=1, initial=-9.0), table[:, ::-1] * 2


PROGRAMS = [stencil, backwards, totals, what_is_left, branches, rows, whole, blocks]


def arguments(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=n), rng.normal(size=n)


def same(got: Any, want: Any) -> None:
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def spread_of(function: Any) -> Graph:
    """Return a function of any size with its loops and arrays as maps."""
    spec = lw.TensorSpec(["n"])
    graph = TIDIED(lw.function(function).get_concrete_function(spec, spec).graph)
    found = assumed(graph, {"n": 1000})
    return ONE_BY_ONE(TIDIED(graph if found is None else found.graph))


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("first", [0, 2, 100])
def test_programs(function, first):
    spec = lw.TensorSpec(["n"])
    f = lw.function(function, input_signature=[spec, spec])
    for n in (first, *SIZES, *SIZES[::-1]):
        x, y = arguments(n)
        same(f(x, y), function(x, y))
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("function", PROGRAMS)
def test_no_loop_is_left(function):
    graph = spread_of(function)
    assert count(graph, "map") and not count(graph, "scan")


@pytest.mark.parametrize("function", [f for f, _ in SPREAD], ids=lambda f: f.__name__)
def test_loops_of_a_known_number_of_turns(function):
    rng = np.random.default_rng(3)
    given = rng.normal(size=80), rng.normal(size=(36, 40)), rng.integers(0, 80, 80)
    spec = [lw.TensorSpec([f"n{n}" for n in x.shape], x.dtype) for x in given]
    f = lw.function(function, input_signature=spec)
    for _ in range(2):
        same(*[call(*[x.copy() for x in given]) for call in (f, function)])
