"""Which limit `explain` and `profile` say that a kernel is near."""

from __future__ import annotations

from html import escape

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.prices import CLOCK
from lanewise.inspect import limits


@pytest.fixture(autouse=True)
def a_known_machine(monkeypatch):
    """Nothing here depends on how fast this machine is."""
    monkeypatch.setattr(limits, "clock", lambda: CLOCK)
    monkeypatch.setattr(limits, "bandwidth", lambda: 20.0)


def only(seen):
    (kernel,) = [kernel for kernel in seen.kernels if kernel.operations > 1]
    return kernel.limit


def memory_bound(x):
    return x * 2 + 1


def horner(x):
    return np.exp(np.exp(np.exp(x)))


def recurrence(x):
    y = 0.0
    for value in x:
        y = y * 0.5 + value
    return y


CASES = {
    "bandwidth": (memory_bound, np.ones(8_000_000)),
    "arithmetic": (horner, np.ones(1000)),
    "latency": (recurrence, np.ones(1000)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_limit_is_told(name, capsys):
    function, x = CASES[name]
    seen = lw.explain(lw.function(function, jit_compile=True), x)
    limit = only(seen)
    assert limit.name == name and not limit.is_measured
    assert 0 < limit.near <= 1 and limit.bound > 0
    assert f"{limit}" in capsys.readouterr().out
    assert escape(str(limit)) in seen.html()


def test_what_was_measured_is_told():
    limit = only(lw.profile(lw.function(recurrence, jit_compile=True))(np.ones(1000)))
    assert limit.is_measured and limit.name == "latency"
    assert "cycles a turn" in str(limit) and "estimated" not in str(limit)


def test_bandwidth_is_told_with_the_machines():
    limit = only(lw.explain(lw.function(memory_bound, jit_compile=True), CASES["bandwidth"][1]))
    assert limit.gigabytes == 20.0 and "of 20 GB/s" in str(limit)


def test_nothing_is_nearer_than_at_its_limit():
    seen = lw.explain(lw.function(recurrence, jit_compile=True), np.ones(1000))
    (kernel,) = [kernel for kernel in seen.kernels if kernel.operations > 1]
    assert limits.limit_of(kernel.cost, 1e-12).near == 1.0
    assert str(limits.limit_of(kernel.cost, 10.0)).startswith("latency: < 1 %")


def test_the_machine_is_measured(monkeypatch):
    monkeypatch.undo()
    assert 0.2 < limits.clock() < 20
    assert 0.1 < limits.bandwidth() < 10_000
