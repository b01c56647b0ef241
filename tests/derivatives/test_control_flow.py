"""Derivatives through branches and loops, both modes, by example, in both backends."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.differences import assert_close, jacobian


def kepler(m):
    E = m
    while abs(E - 0.3 * np.sin(E) - m) > 1e-13:
        E = E - (E - 0.3 * np.sin(E) - m) / (1 - 0.3 * np.cos(E))
    return E


def growth(x):
    v = np.array([1.0, 0.5]) * x
    while v.sum() < 10:
        v = v * np.array([1.3, 1.1]) + 0.1 * x
    return v[0] * v[1]


def nested(x):
    total, a = 0.0, x
    while a < 5:
        b = a
        while b < 10 * a:
            b = b * 1.7 + x * 0.1
        total = total + b
        a = a * 1.5 + 0.2
    return total


def branched_loop(x):
    total = 0.0
    for i in range(60):
        if x * i > 3:
            y = x
            while y < i:
                y = y * 1.9
            total = total + y
        else:
            total = total + x * x
    return total


def in_place(x):
    a = np.zeros_like(x, shape=(20,))
    for i in range(20):
        a[i] = np.sin(x * i)
        if i > 2:
            a[i] += a[i - 3] * x
    a[::2] *= x
    return (a**2).sum()


def left_early(x):
    total = 0.0
    for i in range(1000):
        total = total + x / (i + 1)
        if total > 3:
            break
    return total * x


def long_scan(x):
    first = x
    for _ in range(100):
        x = np.sin(x) * 0.9 + 0.1 * first
    return x * x


def switched(x):
    parts = [lambda x: x, lambda x: x**2, lambda x: np.exp(x)]
    total = 0.0
    for i in range(6):
        total = total + lw.switch_case((i * x).astype(int) % 3, parts, x)
    return total


def returned(x):
    for i in range(50):
        x = x * 1.1
        if x > 4:
            return x * i
    return x**3


FUNCTIONS = [
    kepler, growth, nested, branched_loop, in_place, left_early, long_scan, switched, returned,
]  # fmt: skip
#: Away from the points where a branch changes, at which no derivative is right.
POINTS = np.array([0.317, 0.83, 1.219, 2.113])


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    return request.param


@pytest.mark.parametrize("func", FUNCTIONS)
def test_reverse_and_forward(func: Callable[..., Any]) -> None:
    plain = lambda x: func(np.float64(x))  # noqa: E731
    expected = np.array([jacobian(plain, x, 1e-5) for x in POINTS])
    near = {"rtol": 1e-6}
    assert_close(lw.vmap(lw.grad(func))(POINTS), expected, **near)
    assert_close([lw.grad(func)(x) for x in POINTS[1:3]], expected[1:3], **near)
    assert_close(lw.vmap(lambda x: lw.jvp(func, (x,), (x,))[1])(POINTS), expected * POINTS, **near)
    together = lw.grad(lambda xs: lw.vmap(func)(xs).sum())(POINTS)
    assert_close(together, expected, **near)
    _, pullback = lw.vjp(lw.vmap(func), POINTS)
    assert_close(pullback(POINTS)[0], expected * POINTS, **near)


@pytest.mark.parametrize("func", FUNCTIONS)
def test_hessians(func: Callable[..., Any]) -> None:
    expected = jacobian(lambda shift: lw.vmap(lw.grad(func))(POINTS + shift), 0.0, 1e-5)
    assert_close(lw.vmap(lw.hessian(func))(POINTS), expected, rtol=1e-6)


def test_both_backends_agree_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWISE_LANES")
    xs = np.linspace(0.31, 2.17, 37)  # no multiple of any number of lanes
    for func in (kepler, growth, nested, left_early):
        found = []
        for name in ("interpret", "native"):
            monkeypatch.setenv("LANEWISE_BACKEND", name)
            found.append(lw.vmap(lw.grad(func))(xs))
        np.testing.assert_array_max_ulp(*found, maxulp=64)


def test_reverse_mode_through_a_loop_is_one_kernel(backend: str) -> None:
    text = str(lw.explain(lw.vmap(lw.grad(kepler)), POINTS))
    assert ("left to NumPy" in text, "in 1 kernel" in text) == (False, True) or backend != "native"


def test_what_derivatives_record_is_at_the_lines_of_what_they_belong_to() -> None:
    text = str(lw.explain(lw.vmap(lw.grad(kepler)), POINTS))
    lines = [line for line in text.splitlines() if re.match(r" +\d+ \| ", line)]
    assert lines and "no source" not in text
    assert not any("grad" in line or "explain" in line for line in lines), lines


def test_loops_that_save_arrays_and_turn_never() -> None:
    def power(A: Any, x: Any) -> Any:
        while (x @ x) < 100:
            x = A @ x + np.ones(3)
        return x.sum()

    rng = np.random.default_rng(0)
    As = rng.normal(size=(4, 3, 3)) + 2 * np.eye(3)
    xs = np.stack([np.ones(3), np.full(3, 20.0), np.arange(3.0), np.full(3, 0.1)])
    found, other = lw.vmap(lw.grad(power, argnums=(0, 1)))(As, xs)
    for n in range(4):
        assert_close(found[n], jacobian(lambda A, n=n: power(A, xs[n]), As[n], 1e-5), rtol=1e-6)
        assert_close(other[n], jacobian(lambda x, n=n: power(As[n], x), xs[n], 1e-5), rtol=1e-6)


def test_many_turns_and_long_batches() -> None:
    def halvings(x: Any) -> Any:
        while x > 1:
            x = x / 2 + 0.1 * np.sqrt(x)
        return x

    xs = np.linspace(0.5, 1e6, 1001)
    found = lw.vmap(lw.grad(halvings))(xs)
    assert np.isfinite(found).all() and found[0] == 1
    for n in (1, 500, 1000):
        assert_close(found[n], jacobian(halvings, xs[n], xs[n] * 1e-7), rtol=1e-5)
