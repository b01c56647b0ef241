"""Calls that differ in the values of Python numbers run the function itself when that is faster."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.api.traces import MANY


@pytest.fixture(autouse=True)
def _automatic(monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)


def scaled(x, a, n):
    return np.sin(x) * a + n


def writes(x, a, n):
    x[0] += a * n
    return x.sum(), x


def branches(x, a, n):
    total = 0.0
    for k in range(n % 4):
        total += x[k] if a > 1 else k
    return total


@pytest.mark.parametrize("f", [scaled, writes, branches])
def test_results_are_those_of_the_function(f):
    g, x = lw.function(f), np.arange(5.0)
    with warnings.catch_warnings(action="ignore"):
        for k in range(6 * MANY):
            own, given = x.copy(), x.copy()
            a, n = (0.5 * k, k) if k % 3 else (k, k + 1)
            expected, found = f(own, a, n), g(given, a, n)
            expected = expected if isinstance(expected, tuple) else (expected,)
            found = found if isinstance(found, tuple) else (found,)
            for one, other in zip(expected, found, strict=True):
                assert type(one) is type(other)
                np.testing.assert_allclose(other, one, rtol=1e-13)
            np.testing.assert_array_equal(own, given)
    assert g.experimental_get_tracing_count() <= 4 * MANY


def test_tracing_ends():
    g, x = lw.function(scaled), np.arange(5.0)
    with warnings.catch_warnings(action="ignore"):
        for k in range(4 * MANY):
            g(x, 0.25 * k, 1)
    assert g.experimental_get_tracing_count() == MANY
    g(np.arange(6.0), 0.25, 1)
    assert g.experimental_get_tracing_count() == MANY + 1


def test_what_has_effects_is_traced(capsys):
    def told(x, a):
        print("traced with", a)
        return x * a

    g = lw.function(told)
    with warnings.catch_warnings(action="ignore"):
        for k in range(3 * MANY):
            np.testing.assert_allclose(g(np.ones(2), 0.5 * k), 0.5 * k)
    assert g.experimental_get_tracing_count() == 3 * MANY
    assert capsys.readouterr().out.count("traced with") == 3 * MANY
