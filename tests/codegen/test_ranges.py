"""Loops over ranges in kernels: indices that need no checks, strips of turns, interruptions."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.loops import STRIP, TURNS

N = STRIP


@pytest.fixture(autouse=True)
def _native(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")


def code(f: Any, *arguments: Any) -> str:
    return "\n".join([kernel.ir for kernel in lw.explain(f, *arguments).kernels])


def edits(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = d[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            d[i, j] = min(change, d[i - 1, j] + 1, d[i, j - 1] + 1)
    return d


def backward(a, b):
    out = np.zeros(len(a))
    for i in range(len(a) - 2, -1, -1):
        out[i] = a[i] - 0.5 * out[i + 1]
    return out


def every_third(a, b):
    total = 0.0
    for i in range(2, len(a), 3):
        total = 0.5 * total + a[i] * b[i % len(b)]
    return total


@pytest.mark.parametrize("function", [edits, backward])
def test_indices_of_a_range_are_not_checked(function):
    """What is known to lie within bounds costs no comparison, sum with overflow, or division."""
    a, b = np.arange(300) % 7, np.arange(290) % 5
    f = lw.function(function)
    np.testing.assert_allclose(f(a, b), function(a, b))
    text = code(f, a, b)
    assert "icmp uge" not in text
    assert "with.overflow" not in text
    assert "urem" not in text


def test_indices_beyond_a_range_are_checked():
    def beyond(a, shift):
        total = 0.0
        for i in range(len(a)):
            total = total * 0.5 + a[i + shift]
        return total

    f = lw.function(beyond)
    a = np.arange(300.0)
    assert f(a, np.array(0)) == beyond(a, 0)
    assert "icmp uge" in code(f, a, np.array(0))
    with pytest.raises(IndexError, match="300"):
        f(a, np.array(1))


@pytest.mark.parametrize("function", [backward, every_third])
@pytest.mark.parametrize(
    ("spec", "sizes"),
    [([lw.TensorSpec([None])] * 2, [5, 40, N - 1, N, N + 1, N + 2, 2 * N, 2 * N + 1, 3 * N + 5]),
     (None, [5, N, N + 1, 2 * N, 3 * N + 5])],
    ids=["any size", "known sizes"],
)  # fmt: skip
def test_strips_of_turns(function, spec, sizes):
    """A loop of any length takes each turn once, in order, however it is cut."""
    f = lw.function(function, input_signature=spec)
    for size in sizes:
        if spec is None:
            f = lw.function(function)
        a, b = np.sin(np.arange(size)), np.cos(np.arange(7.0))
        for _ in range(2):
            np.testing.assert_allclose(f(a, b), function(a, b), 1e-13, err_msg=f"size {size}")


def test_strips_within_strips_of_examples():
    def crossed(a):
        total = 0.0
        for i in range(len(a)):
            inner = a[i]
            for j in range(i, len(a), 2):
                inner = 0.9 * inner + a[j]
            total = 0.5 * total + inner
        return total

    xs = np.random.default_rng(3).normal(size=(9, 70))
    want = np.array([crossed(x) for x in xs])
    np.testing.assert_allclose(lw.vmap(crossed)(xs), want, 1e-12)
    spec = [lw.TensorSpec([None, "n"])]
    np.testing.assert_allclose(lw.function(lw.vmap(crossed), input_signature=spec)(xs), want, 1e-12)


def long_strips(x, n):
    for _ in range(60_000):
        for _ in range(60_000):
            x = 0.5 * x + n
    return x


def short_loops(x, n):
    for _ in range(2_000_000_000):
        for j in range(20):
            x = 0.5 * x + n * j
    return x


@pytest.mark.parametrize("function", [long_strips, short_loops])
def test_loops_can_be_interrupted(function: Callable[..., Any]):
    assert STRIP < 60_000 and TURNS > STRIP
    f = lw.function(function)
    x, n = np.array(1.0), np.array(2.0)
    f.get_concrete_function(x, n)
    seconds = []
    for _ in range(3):  # on a busy machine, one may take longer
        sent: list[float] = []

        def send(sent: list[float] = sent) -> None:
            sent.append(time.perf_counter())
            signal.raise_signal(signal.SIGINT)

        timer = threading.Timer(0.4, send)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(x, n)
        seconds.append(time.perf_counter() - sent[0])
        timer.join()
    assert min(seconds) < 0.2
