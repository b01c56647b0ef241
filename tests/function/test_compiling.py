"""experimental_compile: what is interpreted, what is compiled, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.ops.regions import NATIVE
from lanewise.runtime import kernels
from lanewise.runtime.few import Few

X = np.random.default_rng(0).normal(size=(6, 4))


@pytest.fixture
def compiled(monkeypatch):
    """Collect the native maps that are made."""
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    found = []
    original = kernels.native

    def native(op, free=()):
        assert op.params["order"] == NATIVE
        found.append(op)
        return original(op, free)

    monkeypatch.setattr(kernels, "native", native)
    return found


def newton(target):
    guess = target / 2
    while abs(guess * guess - target) > 1e-12:
        guess = (guess + target / guess) / 2
    return guess


FUNCTIONS = [
    (lambda x: np.tanh(x) @ x.T + np.sum(x, axis=1), (X[:, :4],)),
    (lw.vmap(lambda x: np.exp(x).sum()), (X,)),
    (newton, (np.array(2.0),)),
    (lambda x: lw.vmap(newton)(np.abs(x[:, 0]) + 1).max(), (X,)),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_each_way_gives_the_same(number, compiled):
    func, args = FUNCTIONS[number]
    interpreted = lw.function(func, experimental_compile=False)
    want = [interpreted(*args) for _ in range(3)][-1]
    assert not compiled
    native = lw.function(func, jit_compile=True)
    np.testing.assert_allclose([native(*args) for _ in range(3)][-1], want, 1e-12)
    assert compiled
    np.testing.assert_allclose(lw.function(func)(*args), want, 1e-12)


def test_a_function_without_a_batch_is_compiled_when_that_pays(compiled):
    f = lw.function(newton)
    f(np.array(2.0))
    assert not compiled
    wide = lw.function(lambda x: np.exp(np.sin(x) * 2 + 1).sum())
    x = np.linspace(0, 1, 3_000_000)
    for _ in range(3):
        np.testing.assert_allclose(wide(x), np.exp(np.sin(x) * 2 + 1).sum(), 1e-10)
    assert compiled


def test_what_cannot_be_compiled_is_named_with_its_line():
    def func(x):
        y = lw.py_func(np.sort, [x], np.float64)  # the call
        return y + 1

    f = lw.function(func, experimental_compile=True)
    with pytest.raises(ValueError, match=r"(?s)func cannot be compiled.*py_func: .*# the call"):
        f(X)

    def decompose(x):
        parts = np.linalg.pinv(x)  # first
        return parts[0].sum() + np.linalg.eig(x)[0].real.sum()  # second

    f = lw.function(decompose, experimental_compile=True)
    with pytest.raises(ValueError, match=r"(?s)pinv has.*# first.*eig has.*# second"):
        f(X[:4])
    assert f.experimental_get_tracing_count() == 0


def test_what_is_no_choice():
    with pytest.raises(TypeError, match="experimental_compile is True, False or None"):
        lw.function(lambda x: x, experimental_compile="yes")


def test_errors_in_compiled_functions_are_those_of_python(compiled):
    def func(x, i):
        total = 0.0
        for k in range(3):
            total += x[i + k]  # the line
        return total

    f = lw.function(func, experimental_compile=True)
    x = np.arange(5.0)
    assert f(x, np.array(1)) == 6
    with pytest.raises(IndexError, match="# the line"):
        f(x, np.array(4))
    assert f(x, np.array(2)) == 9
    assert compiled


def test_explain_tells_of_functions(capsys, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    f = lw.function(lw.vmap(lambda x: np.exp(x).sum()))
    seen = lw.explain(f, X)
    assert len(seen.kernels) == 1 and seen.examples == [6]
    assert "function <lambda>: 6 examples" in capsys.readouterr().out
    seen = lw.explain(lw.function(lambda x: np.exp(x).sum() * 2), X)
    assert seen.rows


def test_a_trace_for_any_size_is_compiled_once(compiled, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    spec = [lw.TensorSpec(["n", "m"]), lw.TensorSpec(["m"])]
    f = lw.function(lambda x, w: np.tanh(x * w) @ w + x.reshape(-1).sum(), input_signature=spec)
    for n, m in [(3, 4), (2, 5), (3, 4), (7, 1), (1, 3), (3, 4)]:
        x, w = np.random.default_rng(n).normal(size=(n, m)), np.ones(m)
        np.testing.assert_allclose(f(x, w), np.tanh(x * w) @ w + x.sum(), 1e-12)
    assert f.experimental_get_tracing_count() == 1
    assert len(compiled) == 1  # of the product, too: there is little of it


def test_a_trace_for_any_size_that_must_be_compiled(compiled):
    spec = [lw.TensorSpec(["n", "n"])]
    f = lw.function(lambda x: x * 2 + x.T, input_signature=spec, jit_compile=True)
    for n in range(1, 12):
        x = np.arange(1.0 * n * n).reshape(n, n)
        np.testing.assert_array_equal(f(x), x * 2 + x.T)
    assert len(compiled) == 1 and f.experimental_get_tracing_count() == 1
    f = lw.function(lambda x: np.linalg.eig(x)[0], input_signature=spec, jit_compile=True)
    with pytest.raises(ValueError, match="eig"):
        f(np.eye(3))


def test_a_kernel_of_one_array_reads_its_slices_in_place(compiled, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(Few, "is_better_for", lambda *_: True)

    def stencil(u):
        for _ in range(5):
            u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        return u

    f = lw.function(stencil)
    u = np.random.default_rng(0).normal(size=(200, 150))
    np.testing.assert_allclose(f(u.copy()), stencil(u.copy()), 1e-12)
    assert compiled  # whole rows of the array itself, of which the kernel takes parts
    assert all(value.type.shape == (198, 150) for op in compiled for value in op.operands)


def test_a_recurrence_runs_on_scalars(monkeypatch, capsys):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")

    def recurrence(x):
        out = np.zeros_like(x)
        out[0] = x[0]
        for i in range(1, len(x)):
            out[i] = 0.5 * out[i - 1] + x[i]
        return out

    x = np.random.default_rng(0).normal(size=20_000)
    f = lw.function(recurrence)
    np.testing.assert_allclose(f(x), recurrence(x.copy()), 1e-12)
    seen = lw.explain(f, x)
    capsys.readouterr()
    (loop,) = [kernel for kernel in seen.kernels if kernel.operations > 6]
    assert not loop.in_lanes
