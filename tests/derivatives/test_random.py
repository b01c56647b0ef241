"""Derivatives of random programs: both modes agree, with differences and with themselves mapped."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import lanewise as lw
from compose.test_random_control_flow import REFUSED, Notes
from function.test_random import first_examples, outcome
from support import random_control_flow, random_numerics, random_programs
from support.searching import searching

#: Mostly what has derivatives.
FLOATS = ("f8", "f8", "f8", "i8", "?")


@pytest.fixture(params=["interpret", "native"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    return request.param


def inner(first: Any, second: Any) -> float:
    return float(sum(np.sum(a * b) for a, b in zip(first, second, strict=True)))


def check_derivatives(f: Any, arrays: list[np.ndarray]) -> bool:
    """Check a function in its float arguments; return whether there was anything to check."""
    active = [n for n, x in enumerate(arrays) if x.dtype == np.float64 and np.isfinite(x).all()]
    if not active:
        return False

    def g(*given: Any) -> Any:
        own = dict(zip(active, given, strict=True))
        result = f(*[own[n] if n in own else x.copy()[()] for n, x in enumerate(arrays)])
        found = result if isinstance(result, tuple) else (result,)
        found = [x if hasattr(x, "dtype") else np.asarray(x) for x in found]
        return tuple([x for x in found if x.dtype == np.float64])

    def plain(*given: np.ndarray) -> Any:
        return tuple(map(np.asarray, g(*[x.copy()[()] for x in given])))

    point = [arrays[n] for n in active]
    value, error = outcome(lambda: plain(*point))
    if error is not None or not value or not all(np.isfinite(v).all() for v in value):
        return False
    rng = np.random.default_rng(0)
    tangents = [rng.normal(size=x.shape) for x in point]
    forward, error = outcome(lambda: lw.jvp(g, tuple(point), tuple(tangents)))
    if error is not None:
        assert isinstance(error, lw.UnsupportedError) or re.search(REFUSED, str(error)), repr(error)
        return False
    got, moved = forward
    for a, b in zip(got, value, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * float(np.abs(b).max(initial=1)))
    if not all(np.isfinite(t).all() for t in moved):
        return False
    cts = tuple([rng.normal(size=np.shape(v)) for v in value])
    backward, error = outcome(lambda: lw.vjp(g, *point)[1](cts))
    if error is not None:
        assert isinstance(error, lw.UnsupportedError), repr(error)
        return False
    scale = max(1.0, *(float(np.abs(x).max(initial=0)) for x in (*moved, *backward)))
    if all(np.isfinite(x).all() for x in backward):
        np.testing.assert_allclose(inner(cts, moved), inner(backward, tangents), 1e-8, 1e-8 * scale)
    stacked = [np.stack([x, x]) for x in point]
    both, error = outcome(lambda: lw.vmap(lambda *xs: lw.vjp(g, *xs)[1](cts))(*stacked))
    assert error is None, repr(error)
    for a, b in zip(both, backward, strict=True):
        for row in a:
            np.testing.assert_allclose(row, b, 1e-8, 1e-8 * scale, equal_nan=True)
    # Differences tell where there is a derivative: where those of two steps, and those of both
    # sides, are the same.
    pairs = list(zip(point, tangents, strict=True))
    slopes = []
    for step in (1e-5, 3e-6, -1e-5):
        ends = [
            outcome(lambda s=s: plain(*[x + s * t for x, t in pairs]))[0]
            for s in (step, -step if step > 0 else 0)
        ]
        if any(end is None or len(end) != len(value) for end in ends):
            return True
        width = 2 * step if step > 0 else step
        slopes.append([(a - b) / width for a, b in zip(*ends, strict=True)])
    for first, second, side, found in zip(*slopes, moved, strict=True):
        with np.errstate(all="ignore"):
            size = np.maximum(1, np.abs(first))
            is_smooth = (np.abs(first - second) < 1e-5 * size) & (
                np.abs(first - side) < 1e-2 * size
            )
            near = np.abs(found - first) < 1e-3 * np.maximum(scale, np.abs(first))
        assert near[is_smooth].all(), (found, first)
    return True


def searched(strategy: Any, count: int, function: Any) -> int:
    checked = 0

    @searching(count)
    @given(strategy)
    def check(case: Any) -> None:
        nonlocal checked
        checked += check_derivatives(function(case), first_examples(case))

    check()
    return checked


def test_programs(backend: str) -> None:
    strategy = random_programs.cases(dtypes=FLOATS)
    assert searched(strategy, 12, lambda case: case.program.function()) > 3


def test_numerics(backend: str) -> None:
    strategy = random_programs.cases(steps=random_numerics.STEPS, dtypes=FLOATS)
    assert searched(strategy, 12, lambda case: case.program.function()) > 3


def test_control_flow(backend: str) -> None:
    strategy = random_control_flow.cases()
    assert searched(strategy, 12, lambda case: case.function(Notes())) > 1
