"""Small programs that between them go through most of the passes and of the compiler."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import numpy as np

import lanewise as lw
from support import faults

#: Ways to run a program.
MODES = ("interpret", "native", "function", "function-native")


def branches(x, w):
    total = 0.0
    for i in range(4):
        if x[i] > 0:
            total += np.sin(x[i]) * w[i % 2]
        else:
            total -= abs(x[i])
    return total


def newton(x, w):
    count = 0
    y = abs(x[0]) + 1.0
    while y * y - abs(w[0]) > 0.25 and count < 20:
        y = 0.5 * (y + w[0] / y)
        count += 1
        if y < 0.125:
            break
    return y, count


def writes(x, w):
    a = np.zeros(80)
    for i in range(80):
        a[i] = x[i % 4] * i
    b = a[::2].copy()
    b[1:5] = w[0]
    return np.sort(b)[:3], b.sum(), a.reshape(8, 10).max(axis=1)


def products(x, w):
    m = np.outer(x, x) + 4.0 * np.eye(4)
    y = np.linalg.solve(m, x)
    return m @ y, np.cumsum(y), np.argmax(m, axis=1), np.where(y > 0, y, -y).mean()


def large(x, w):
    grid = np.linspace(0.0, 1.0, 20_000) * x[0] + w[1]
    rows = grid.reshape(100, 200)
    return np.exp(-grid).sum(), (rows * rows).sum(axis=1)[:3], rows.max(axis=0)[:3]


PROGRAMS = (branches, newton, writes, products, large)
RNG = np.random.default_rng(5)
XS, WS = RNG.normal(size=(6, 4)), RNG.normal(size=(6, 2))


def expected(program: Any, mode: str) -> Any:
    if mode.startswith("function"):
        return program(XS[0], WS[0])
    rows = [program(x, w) for x, w in zip(XS, WS, strict=True)]
    if not isinstance(rows[0], tuple):
        return np.stack(rows)
    return tuple([np.stack(column) for column in zip(*rows, strict=True)])


_EXPECTED: dict[Any, Any] = {}


def run(program: Any, mode: str, fault: AbstractContextManager[list[int]]) -> int:
    """Run a program twice with a fault; check results and warnings; say how often it struck."""
    key = program, mode
    if key not in _EXPECTED:
        _EXPECTED[key] = expected(program, mode)
    environment = {"LANEWISE_STRICT": "0", "LANEWISE_BACKEND": "interpret"}
    if "native" in mode:
        environment["LANEWISE_BACKEND"] = "native"
    elif mode == "function":
        environment["LANEWISE_BACKEND"] = ""
    faults.forget()
    with (
        patch.dict(os.environ, environment),
        warnings.catch_warnings(record=True) as caught,
        fault as count,
    ):
        warnings.simplefilter("always")
        called = lw.function(program) if mode.startswith("function") else lw.vmap(program)
        arguments = (XS[0], WS[0]) if mode.startswith("function") else (XS, WS)
        for _ in range(2):
            compare(called(*arguments), _EXPECTED[key])
    faults.forget()
    told = [w for w in caught if w.category is lw.InternalErrorWarning]
    assert len(told) == bool(count[0]), f"{len(told)} warnings, struck {count[0]} times"
    for warning in told:
        assert warning.filename == program.__code__.co_filename, warning.filename
    return count[0]


def compare(got: Any, want: Any) -> None:
    """Assert that results are those of NumPy, but for the last bits."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            compare(g, w)
        return
    assert np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
