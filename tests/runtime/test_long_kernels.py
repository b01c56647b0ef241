"""A kernel that compiles for long waits until that pays, though it has few operations."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import work
from lanewise.runtime import dispatch
from lanewise.runtime.tiers import Choice

X = np.linspace(0.0, 1.0, 40_000).reshape(20_000, 2)

#: Calls after which a usual kernel is compiled.
MANY = 3000


def power(x):
    return np.exp(x[0]) * x[1] + 7.03125


def choice() -> Choice:
    with dispatch.observing() as programs:
        lw.vmap(power)(X)
    (program,) = programs
    return program.executable.choice(program.sizes)


def test_long_kernels_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    dispatch._cache.clear()
    monkeypatch.setattr(work, "OPERATION_LINES", 0)
    monkeypatch.setattr(work, "LINE_NS", 1e9)  # a second a line
    for _ in range(MANY):
        found = choice()
    assert found.backend == "interpret" and "compiling" in found.reason
    monkeypatch.setattr(work, "LINE_NS", 1.0)
    # What it should cost is known once, when it is written: the same graph anew.
    dispatch._cache.clear()
    for _ in range(MANY):
        found = choice()
    assert found.backend == "native"
    np.testing.assert_allclose(lw.vmap(power)(X), np.stack([power(x) for x in X]), rtol=1e-14)


def test_forced_kernels_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(work, "LINE_NS", 1e9)
    dispatch._cache.clear()
    assert choice().backend == "native"


def test_short_kernels_do_not_wait_as_long_as_they_might(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    monkeypatch.setattr(work, "OPERATION_LINES", 10**6)  # before they are written
    dispatch._cache.clear()
    for _ in range(MANY):
        found = choice()
    assert found.backend == "native"
