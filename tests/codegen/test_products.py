"""Products of matrices and vectors in kernels: in registers, in blocks, in loops."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.kernel_cache import KERNELS
from support.backends import assert_close, assert_same_outcome, backend

DTYPES = "? i1 i8 u4 f2 f4 f8 c8 c16".split()
#: Rows and columns: written out, in whole blocks of sums, with rows left over, longer than both.
SHAPES = [(3, 4), (32, 16), (16, 32), (17, 19), (41, 9), (9, 41), (300, 2), (2, 300), (1, 400)]


def whole(dtype: str, *shape: int) -> np.ndarray:
    """Return whole numbers, of which products and sums are exact."""
    return (
        np.random.default_rng([*shape])
        .integers(-3 if dtype[0] != "u" else 0, 4, shape)
        .astype(dtype)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_times_vectors(dtype):
    for i, (rows, columns) in enumerate(SHAPES, DTYPES.index(dtype)):
        x, y = whole(dtype, 19, columns), whole(dtype, 19, rows)
        forms = [(whole(dtype, rows, columns), None), (whole(dtype, 19, rows, columns), 0)]
        if dtype != "f8":  # every third shape, in one of the forms
            forms = forms[i // 3 % 2 :][:1] if i % 3 == 0 else []
        for matrices, axis in forms:
            mapped = lw.vmap(lambda m, x, y: (m @ x, y @ m, x @ m.T), (axis, 0, 0))
            assert_same_outcome(lambda f=mapped, m=matrices, x=x, y=y: f(m, x, y))


def layer(weights, x, bias):
    return np.tanh(weights @ x + bias)


def test_layers_are_short_kernels():
    """Long loops are not written out: what a network takes to compile does not grow with it."""

    def lines(width: int) -> int:
        KERNELS.clear()
        normal = np.random.default_rng(0).standard_normal
        first, second, x = normal((width, 16)), normal((width, width)), normal((9, 16))

        def network(x):
            hidden = layer(second, layer(first, x, first[:, 0]), second[0])
            return hidden @ hidden

        found = []
        for name in ("interpret", "native"):
            with backend(name):
                found.append(lw.vmap(network)(x))
        assert_close(*found, 1e-13)
        return max(len(kernel.text.splitlines()) for kernel in KERNELS.values() if kernel)

    assert lines(96) < 1.5 * lines(24)


def test_small_arrays_are_stored_before_the_loops_that_index_them():
    """Vectors in registers, read at the index of a loop: by products, and by what is long."""

    def program(x, table):
        small = x * 2 + 1
        first = table @ small
        return np.exp(small[:, None] + table.T), np.outer(small, small), first * 0

    x = np.random.default_rng(0).normal(size=(19, 12))
    table = np.random.default_rng(1).normal(size=(50, 12))
    assert_same_outcome(lambda: lw.vmap(program, (0, None))(x, table), exact=False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
@pytest.mark.parametrize(("rows", "inner"), [(2, 2), (3, 3), (8, 8), (1, 5), (5, 1), (9, 9)])
def test_small_matrices_times_computed_columns_stay_in_the_kernel(rows, inner, dtype, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    rng = np.random.default_rng(rows + inner)
    A = (rng.normal(size=(rows, inner)) * 5).astype(dtype)
    X = (rng.normal(size=(inner, 20_011)) * 5).astype(dtype)
    for f in (lambda A, X: A @ (X * 3 - A[0, 0]), lambda A, X: (A @ (X.T * 3).T + 1).sum(0)):
        turned, wanted = lw.function(f), f(A, X)
        atol = abs(wanted).max() * (1e-5 if dtype is np.float32 else 1e-12)
        np.testing.assert_allclose(turned(A, X), wanted, rtol=0, atol=atol)
        if rows != 8:  # where the two may be apart all the same
            assert ("left to BLAS" in str(lw.explain(turned, A, X))) is (rows * inner > 64)
    given = lw.function(lambda A, X: A @ X)
    given(A, X)
    assert ("left to BLAS" in str(lw.explain(given, A, X))) is (rows * inner * 20_011 > 32**3)
