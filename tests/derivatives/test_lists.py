"""Derivatives through lists that grow: `TensorArray`, and what loops save, of any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.ops.tables import Tables
from support.differences import assert_close, jacobian


def stacked(x):
    items = lw.TensorArray()
    for i in range(50):
        items.append(x * 0.9**i)
        x = np.sin(x)
    return (items.stack() ** 2).sum()


def reading(x):
    items = lw.TensorArray()
    y = x
    while y < 10:
        items.append(y * y)
        y = y * 1.3 + 0.1
    total = 0.0
    for i in range(items.length):
        total = total + items.read(i) * np.sin(x + i)
    return total


def back(x):
    items = lw.TensorArray()
    y = x
    while y < 10:
        items.append(y * y)
        y = y * 1.3 + 0.1
    total = 0.0
    for i in range(items.length):
        total = total * 0.9 + items.read(-1 - i) * x
    return total


def writing(x):
    items = lw.TensorArray()
    for i in range(30):
        items.append(x * i)
    for i in range(20):
        items.write(i, items.read(i + 1) * items.read(29 - i) * 0.1 + x)
    return items.stack().sum()


def fib(x):
    items = lw.TensorArray()
    items.append(x)
    items.append(x * x)
    while items.read(-1) < 3 and items.length < 30:
        items.append(items.read(-1) + np.sin(items.read(-2)) * 0.3 + 0.2)
    return (items.stack() ** 2).mean()


def branches(x):
    items = lw.TensorArray()
    for i in range(40):
        if x * i % 3 > 1.3:
            items.append(x**2 * i)
        elif x * i % 3 > 1.2:
            items.clear()
    return np.cos(items.stack()).sum()


def vec(x):
    items = lw.TensorArray()
    v = np.array([x, x * x])
    while v.sum() < 20:
        items.append(v)
        v = v * 1.2 + 0.3

    def g(i):
        return items.stack()[i] * x

    return (lw.vmap(g)(np.arange(3)).sum() * items.stack()[1]).sum()


FUNCTIONS = [stacked, reading, back, writing, fib, branches, vec]
#: Away from the points where a branch changes, at which no derivative is right.
POINTS = np.array([0.317, 0.83, 1.219, 2.113])


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")  # about lists, not about vectors in flight
    return request.param


def slopes(func: Callable[..., Any]) -> np.ndarray:
    """Return the derivatives of a function at each of the points, by differences."""
    return jacobian(lambda shift: lw.vmap(func)(POINTS + shift), 0.0, 1e-5)


@pytest.mark.parametrize("func", FUNCTIONS)
def test_reverse_and_forward(func: Callable[..., Any]) -> None:
    expected = slopes(func)
    near = {"rtol": 1e-6}
    assert_close(lw.vmap(lambda x: lw.jvp(func, (x,), (x,))[1])(POINTS), expected * POINTS, **near)
    assert_close(lw.vmap(lw.grad(func))(POINTS), expected, **near)
    assert_close([lw.grad(func)(x) for x in POINTS[1:3]], expected[1:3], **near)
    assert_close(lw.grad(lambda xs: lw.vmap(func)(xs).sum())(POINTS), expected, **near)
    _, pullback = lw.vjp(lw.vmap(func), POINTS)
    for _ in range(2):  # what the first run appends is not there in the second
        assert_close(pullback(POINTS)[0], expected * POINTS, **near)
    basis = lw.vmap(pullback)(np.eye(4))[0]
    assert_close(basis, np.diag(expected), **near)


@pytest.mark.parametrize("func", FUNCTIONS)
def test_second_order_in_every_combination(func: Callable[..., Any], backend: str) -> None:
    """In every one where it is interpreted; one of them each, in turn, natively."""
    expected = slopes(lw.grad(func))
    forward = lambda f: lambda x: lw.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    seconds = [
        lw.hessian(func),
        lw.grad(lw.grad(func)),
        forward(lw.grad(func)),
        lw.grad(forward(func)),
    ]
    for second in seconds if backend == "interpret" else seconds[FUNCTIONS.index(func) % 4 :: 4]:
        assert_close(lw.vmap(second)(POINTS), expected, rtol=1e-6)


def test_third_order_through_a_while_loop() -> None:
    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-13:
            x = (x + a / x) / 2
        return x

    third = lw.vmap(lw.grad(lw.grad(lw.grad(root))))
    assert_close(third(POINTS), 0.375 * POINTS**-2.5, rtol=1e-4)


def test_lists_of_arrays_and_of_two_dtypes() -> None:
    def total(v: Any) -> Any:
        rows, counts = lw.TensorArray(), lw.TensorArray()
        while v.sum() < 50:
            rows.append(np.outer(v, v))
            counts.append(rows.length)
            v = v * 1.4 + 0.1
        total = 0.0
        for i in range(rows.length):
            total = total + (rows.read(i) * counts.read(i)).sum()
        return total + rows.stack().max(initial=0)

    v = np.array([0.3, 0.7, 1.1])
    found = lw.vmap(lw.grad(total))(np.stack([v, 2 * v, 40 * v]))
    for row, x in zip(found[:2], (v, 2 * v), strict=True):
        one = lambda x: lw.vmap(total)(x[None])[0]  # noqa: E731
        assert_close(row, jacobian(one, x, 1e-5), rtol=1e-6)
    assert_close(lw.grad(total)(v), found[0])


def test_reading_backward_and_forward_is_one_kernel(backend: str) -> None:
    text = str(lw.explain(lw.vmap(lw.grad(reading)), POINTS))
    assert "in 1 kernel" in text or backend != "native"
    text = str(lw.explain(lw.vmap(lw.grad(lw.grad(reading))), POINTS))
    assert "in 1 kernel" in text or backend != "native"


def test_tables_against_dictionaries() -> None:
    rng = np.random.default_rng(0)
    store, tables = Tables(), np.zeros(3, int)
    known: list[dict[int, Any]] = [{} for _ in range(3)]
    versions = [(tables, known)]
    for _ in range(600):
        places, values = rng.integers(0, 12, 3), rng.normal(size=(3, 2))
        adding = bool(rng.random() < 0.5)
        tables = store.change(tables, places, values, adding)
        known = [dict(one) for one in known]
        for one, place, value in zip(known, places, values, strict=True):
            one[place] = one.get(place, 0) + value if adding else value
        versions.append((tables, known))
        old, expected = versions[rng.integers(len(versions))]
        asked = rng.integers(0, 14, 3)
        np.testing.assert_array_equal(
            store.get(old, asked, np.zeros((3, 2))),
            [one.get(p, np.zeros(2)) for one, p in zip(expected, asked, strict=True)],
        )
        if rng.random() < 0.1:
            tables, known = old, expected
        if rng.random() < 0.1:  # one table repeated for all
            tables, known = np.repeat(tables[:1], 3), [known[0]] * 3


# --- Python's lists, of as many elements as the data say ------------------------------------------


def sum_of_a_path(x):
    path = []
    y = x
    while y > 0.5:
        path.append(y * y)
        y = y * 0.7
    return sum(path)


def array_of_a_path_that_changes(x):
    path = [x]
    while path[-1] > 0.5:
        path.append(np.sin(path[-1]) * 0.8)
    last = path.pop()
    path.append(last * 3)
    return np.array(path).sum() + path[0] * last


def sum_by_a_stack(x):
    st, t = [x], 0.0
    while st:
        v = st.pop()
        t = t + v * v
        if v > 1.0:
            st.append(v * 0.5)
            st.append(v * 0.3)
    return t


def sum_by_a_queue(x):
    st, t = [x], 0.0
    while len(st) > 0:
        v = st.pop(0)
        t = t * 0.9 + v * v
        if v > 1.0:
            st.append(v * 0.5)
            st.append(v * 0.3)
    return t


@pytest.mark.parametrize(
    "func", [sum_of_a_path, array_of_a_path_that_changes, sum_by_a_stack, sum_by_a_queue]
)
def test_derivatives_of_lists_that_grow(func):
    x = np.array([0.9, 3.0])
    differences = np.array([(func(v + 1e-6) - func(v - 1e-6)) / 2e-6 for v in x])
    np.testing.assert_allclose(lw.vmap(lw.grad(func))(x), differences, 1e-6)
    one = [lw.jvp(func, (v,), (1.0,))[1] for v in x]
    np.testing.assert_allclose(one, differences, 1e-6)
