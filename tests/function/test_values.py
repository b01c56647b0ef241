"""A traced function gives what the function gives: value, dtype, shape and kind of number."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass
from functools import partial

import numpy as np
import optree
import pytest

import lanewise as lw
from lanewise.trace import tree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 4))
Point = namedtuple("Point", "x y")


@dataclass
class State:
    position: np.ndarray
    count: int


def assert_equal(got, want, tolerance=1e-13):
    """Assert that results are the same, and that arrays are the caller's own."""
    leaves, structure = tree.flatten(got)
    expected, other = tree.flatten(want)
    assert structure == other
    for g, w in zip(leaves, expected, strict=True):
        assert type(g) is type(w), (g, w)
        if isinstance(g, str):
            assert g == w
            continue
        np.testing.assert_allclose(g, w, tolerance, tolerance)
        if isinstance(g, np.ndarray):
            assert (g.dtype, g.shape) == (w.dtype, w.shape)
            assert g.flags.writeable


def branches(x):
    if x.sum() > 0:
        return x * x
    return -x // 2


def newton(target):
    guess = target / 2
    while abs(guess * guess - target) > 1e-12:
        guess = (guess + target / guess) / 2
    return guess


def stencil(u):
    for _ in range(5):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u


def first_over(limit, values):
    total, count = 0.0, 0
    for value in values:
        if value < 0:
            continue
        total += value
        count += 1
        if total > limit:
            break
    return total, count


def recurrence(x):
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = 0.5 * out[i - 1] + x[i]
    return out


def everything(x, p, named, *, scale=2.0):
    a, (b, c) = p
    return {"sum": x + a * scale, "point": Point(b @ c, named.y), "none": None, "text": "ok"}


CASES = [
    (lambda x: x + 1, (X,)),
    (lambda x: x + 1, (np.float32(2),)),
    (lambda x: x * 2, (np.arange(5, dtype=np.int8),)),
    (lambda x: np.tanh(x) @ x.T + np.sum(x, axis=1), (X,)),
    (lambda x: np.mean(x), (X,)),
    (lambda x, n: x**n, (X, 3)),
    (lambda x: (x, x), (X,)),
    (lambda x: [x[0], {"a": x[1:], "b": 3}], (X,)),
    (lambda x: x.T, (X,)),
    (lambda x: x[2], (X,)),
    (lambda x: np.sort(x, axis=0), (X,)),
    (lambda x: np.linalg.inv(x.T @ x), (X,)),
    (lambda x: np.where(x > 0, x, -x).max(), (X,)),
    (lambda: np.arange(3) * 2, ()),
    (lambda x: 7, (X,)),
    (lambda x: None, (X,)),
    (branches, (np.array([3.0, -1.0]),)),
    (branches, (np.array([-3.0, 1.0]),)),
    (newton, (np.array(2.0),)),
    (newton, (np.float64(9.0),)),
    (stencil, (X.copy(),)),
    (first_over, (np.array(4.0), np.array([1.0, -9.0, 2.0, 3.0, 50.0]))),
    (recurrence, (X[:, 0].copy(),)),
    (everything, (X, (X[0], [X[1], X[2]]), Point(X[3], X[4]))),
    (lambda s: State(s.position * 2, s.count), (State(X, 3),)),
    (lambda x, y: x + y, (X.astype(np.complex64), X.astype(np.float32))),
    (lambda x: x.astype(np.int32) % 3, (10 * X,)),
    (lambda x: math.exp(x) + 1, (np.array(0.5),)),
    (lambda n: sum(range(int(n))), (np.array(5),)),
    (lambda x: x[::-1], (np.asfortranarray(X),)),
    (lambda x: x.sum(0), (np.zeros((0, 3)),)),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_function_gives_what_its_python_gives(number, backend):
    func, args = CASES[number]
    copies = optree.tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, args)
    want = func(*copies)
    traced = lw.function(func)
    for _ in range(3):
        given = optree.tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, args)
        assert_equal(traced(*given), want)
        assert_equal(given, copies)
    assert traced.experimental_get_tracing_count() == 1


def test_results_share_memory_with_nothing(backend):
    w = np.ones(4)
    f = lw.function(lambda x: (x, x, x[:2], w, x + 0))
    x = X.copy()
    results = [*f(x), *f(x)]
    for result in results:
        result[...] = -1
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, np.ones(4))
    again = f(x)
    np.testing.assert_array_equal(again[0], X)
    np.testing.assert_array_equal(again[3], np.ones(4))


def test_zero_dimensional_results_are_scalars_or_python_numbers(backend):
    f = lw.function(lambda x: (x.sum(), x.argmax(), int(x[0]), float(x[0]), bool(x[0] > 0)))
    got = f(np.array([1.5, 2.5]))
    assert [type(value) for value in got] == [np.float64, np.int64, int, float, bool]
    assert got == (4.0, 1, 1, 1.5, True)


def test_vmap_of_a_function_and_function_of_a_vmap(backend):
    def func(x, w):
        return np.tanh(x @ w) if x[0] > 0 else x.sum() * w[0]

    w = RNG.normal(size=4)
    want = np.stack([func(x, w) for x in X])
    inner = lw.function(func)
    np.testing.assert_allclose(lw.vmap(inner, in_dims=(0, None))(X, w), want, 1e-13)
    outer = lw.function(lw.vmap(func, in_dims=(0, None)))
    for _ in range(3):
        np.testing.assert_allclose(outer(X, w), want, 1e-13)
    both = lw.function(lw.vmap(inner, in_dims=(0, None)))
    np.testing.assert_allclose(both(X, w), want, 1e-13)
    np.testing.assert_allclose(both(X[:0], w), want[:0])
    assert outer.experimental_get_tracing_count() == 1
    assert inner.experimental_get_tracing_count() == 1  # as a part of others


def test_keywords_of_a_vmap_are_not_mapped(backend):
    f = lw.function(lw.vmap(lambda x, w: x * w.sum()))
    np.testing.assert_allclose(f(X, w=np.ones(3)), X * 3)
    np.testing.assert_allclose(f(X, np.ones((6, 3))), X * 3)
    assert f.experimental_get_tracing_count() == 2


def test_a_map_between_other_operations(backend):
    def func(x):
        centred = x - x.mean(0)
        norms = lw.vmap(lambda row: np.sqrt((row * row).sum()))(centred)
        return norms / norms.max()

    centred = X - X.mean(0)
    norms = np.sqrt((centred**2).sum(1))
    got = lw.function(func)(X)
    np.testing.assert_allclose(got, norms / norms.max(), 1e-13)


def test_maps_within_a_loop(backend):
    def func(x):
        for _ in range(20):
            x = lw.vmap(lambda row: row / (1 + row.sum() ** 2))(x)
            if x.max() < 0.01:
                break
        return x

    x = X.copy()
    for _ in range(20):
        x = np.stack([row / (1 + row.sum() ** 2) for row in x])
        if x.max() < 0.01:
            break
    np.testing.assert_allclose(lw.function(func)(X), x, 1e-12)


def test_functions_call_functions(backend):
    @lw.function
    def square(x):
        return x * x

    @lw.function
    def norm(x):
        return np.sqrt(square(x).sum())

    assert norm(np.array([3.0, 4.0])) == 5.0
    assert norm.experimental_get_tracing_count() == 1


def test_partials_lambdas_callables_and_ufuncs(backend):
    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x * self.by

    np.testing.assert_allclose(lw.function(partial(np.multiply, 2.0))(X), 2 * X)
    np.testing.assert_allclose(lw.function(partial(lambda x, by: x * by, by=3))(X), 3 * X)
    np.testing.assert_allclose(lw.function(Scale(4))(X), 4 * X)
    np.testing.assert_allclose(lw.function(np.exp)(X), np.exp(X), 1e-13)
    np.testing.assert_allclose(lw.function(np.dot)(X, X.T), X @ X.T, 1e-13)


def test_host_code_runs_at_each_call_in_order(backend):
    seen = []

    @lw.function
    def func(x):
        y = lw.py_func(lambda v: seen.append(float(v)) or v + 1, [x], np.float64)
        lw.py_func(lambda v: seen.append(float(v)), [y], None)
        return y * 2

    for value in (1.0, 2.0):
        assert func(np.array(value)) == 2 * value + 2
    assert seen == [1.0, 2.0, 2.0, 3.0]


def test_errors_of_data_have_their_type_and_the_users_line(backend):
    def func(x, table):
        total = 0.0
        for i in range(int(x)):
            total += table[i]  # the line
        return total

    traced = lw.function(func)
    assert traced(np.array(3), np.ones(5)) == 3
    with pytest.raises(IndexError) as caught:
        traced(np.array(9), np.ones(5))
    assert "# the line" in str(caught.value) and "example" not in str(caught.value)
    assert traced(np.array(2), np.ones(5)) == 2  # it goes on working


def test_a_users_own_exception(backend):
    class RefusedError(Exception):
        pass

    def func(x):
        if x < 0:
            raise RefusedError("negative")
        return np.sqrt(x)

    traced = lw.function(func)
    assert traced(np.array(4.0)) == 2
    with pytest.raises(RefusedError, match="negative"):
        traced(np.array(-1.0))


def test_errstate_is_followed(backend):
    traced = lw.function(lambda x: 1 / x)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        traced(np.zeros(3))
    with np.errstate(divide="ignore"):
        assert np.isinf(traced(np.zeros(3))).all()


def test_what_cannot_be_returned_is_refused():
    with pytest.raises(ValueError, match=r"the result\['a'\] of type object"):
        lw.function(lambda x: {"a": object()})(X)


def test_scipy_functions_and_other_array_likes(backend):
    special = pytest.importorskip("scipy.special")
    np.testing.assert_allclose(lw.function(special.expit)(X), special.expit(X), 1e-13)

    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return X

    np.testing.assert_allclose(lw.function(lambda x: x + 1)(Wrapped()), X + 1)


def test_arrays_of_other_byte_orders_and_layouts_share_a_trace(backend):
    f = lw.function(lambda x: x * 2)
    wide = np.zeros((6, 8))
    wide[:, ::2] = X
    for x in (X, X.astype(">f8"), np.asfortranarray(X), wide[:, ::2], X[::-1][::-1]):
        np.testing.assert_array_equal(f(x), X * 2)
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("x", [np.array(["a"]), np.array([object()]), np.datetime64("2020-01-01")])
def test_arrays_of_other_things_are_refused_by_name(x):
    f = lw.function(lambda first, second: first)
    with pytest.raises(lw.UnsupportedError, match="second has dtype"):
        f(X, x)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_refused():
    with pytest.raises(lw.UnsupportedError, match=r"m is an array of another class, matrix"):
        lw.function(lambda m: m * m)(np.matrix([[1.0]]))


def test_scalars_of_numpy_are_data_in_steady_calls_too(backend):
    f = lw.function(lambda x, s, more: x * s + more["t"][0])
    x = np.arange(3.0)
    for n in range(2, 12):
        s, t = np.float64(n), np.int32(n)
        got = f(x, s, {"t": [t]})
        np.testing.assert_array_equal(got, x * s + t)
    assert f.experimental_get_tracing_count() == 1
    assert f._traces.guards
    for s in (np.float32(0.5), np.int64(3), np.bool_(True), np.complex128(2j), np.float64(7)):
        for _ in range(4):
            got = f(x, s, {"t": [np.int32(1)]})
            want = x * s + np.int32(1)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
    assert f.experimental_get_tracing_count() == 5
    # A Python number is no data: each is another trace.
    np.testing.assert_array_equal(f(x, 7.0, {"t": [np.int32(1)]}), x * 7 + 1)
    assert f.experimental_get_tracing_count() == 6
