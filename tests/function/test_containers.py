"""Containers among the arguments: a traced function leaves the caller's as the plain one does."""

from __future__ import annotations

import copy
import io
from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError

X = np.array([1.0, 2.0, 3.0])


@dataclass
class Ball:
    x: np.ndarray
    v: np.ndarray
    bounces: int = 0


def descend(weights, slopes):
    for name in weights:
        weights[name] = weights[name] - 0.5 * slopes[name]


def step(ball, dt):
    ball.v = ball.v - dt * ball.x
    ball.x = ball.x + dt * ball.v
    return ball.x @ ball.v


def swap(rows):
    rows[0], rows[1] = rows[1], rows[0]
    rows[0][0] += 1


def within(tree):
    tree["a"]["b"] = tree["a"]["b"] * 2
    tree["c"][1] = tree["c"][0] + tree["c"][1]
    return tree["a"]["b"].sum()


def by_data(rows, x):
    if x.sum() > 3:
        rows[0] = x * 2
    else:
        rows[1] = x
    return rows[0][0]


def in_a_loop(rows, x):
    i = 0
    while i < x[0]:
        rows[i % 2] = rows[i % 2] + x
        i += 1


def by_name(x, *, state):
    state["x"] = state["x"] + x


def scalar(state):
    state["n"] += 1
    state["total"] = state["x"].sum()


def of_class(state):
    state["x"] = state["x"].astype(np.float32)


def made_longer(state):
    state["x"] = np.append(state["x"], 1.0)


def returned(weights):
    weights["w"] = weights["w"] * 2
    return weights


CASES = [
    (descend, lambda: ({"w": X.copy(), "b": np.ones(())}, {"w": X, "b": np.float64(2)}), {}),
    (step, lambda: (Ball(X.copy(), X * 0), 0.1), {}),
    (swap, lambda: ([X.copy(), X * 3],), {}),
    (within, lambda: ({"a": OrderedDict(b=X), "c": deque([X, np.float64(3)])},), {}),
    (by_name, lambda: (X,), lambda: {"state": {"x": X}}),
    (scalar, lambda: ({"n": np.int64(3), "total": np.float64(0), "x": X},), {}),
    (of_class, lambda: ({"x": X},), {}),
    (made_longer, lambda: ({"x": X},), {}),
    (returned, lambda: ({"w": X},), {}),
]


@pytest.mark.parametrize(("f", "make", "names"), CASES)
def test_what_is_put_in_place_of_arrays_is_the_callers(f, make, names, backend):
    traced = lw.function(f)
    given, wanted = make(), make()
    by_names = [names() if names else {} for _ in range(2)]
    for _ in range(3):
        result, plain = traced(*given, **by_names[0]), f(*wanted, **by_names[1])
        assert repr((given, by_names[0], result)) == repr((wanted, by_names[1], plain))


def push(stack, v):
    stack.append(v * 2)
    return len(stack)


def count(ball):
    ball.bounces += 1
    ball.x = ball.x * 2


def of_tuple(tree):
    tree["t"] = (tree["t"][1] * 2, tree["t"][0])


def new_key(tree, x):
    tree["y"] = x


def new_attribute(ball):
    ball.energy = ball.x @ ball.v


def plain_number(state):
    state["loss"] = float(state["x"].sum())


def emptied(rows):
    rows.clear()
    rows.append(X * 2)
    rows.append(X)


def popped(rows):
    return rows.pop()


def sorted_in_place(rows):
    rows.sort(key=lambda r: r[0])


def as_a_view(tree):
    tree["y"] = tree["x"][1:]
    tree["x"] += 1


OTHERWISE = [
    (by_data, lambda: ([X, X * 3], X)),
    (by_data, lambda: ([X, X * 3], -X)),
    (in_a_loop, lambda: ([X, X * 3], X + 2)),
    (sorted_in_place, lambda: ([X * 2, X],)),
    (as_a_view, lambda: ({"x": X.copy(), "y": X},)),
    (push, lambda: ([], X)),
    (count, lambda: (Ball(X, X),)),
    (of_tuple, lambda: ({"t": (X, X * 3)},)),
    (new_key, lambda: ({"x": X}, X)),
    (new_attribute, lambda: (Ball(X, X),)),
    (plain_number, lambda: ({"x": X, "loss": 0.0},)),
    (popped, lambda: ([X, X * 2, X * 3],)),
]


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize(("f", "make"), OTHERWISE)
def test_other_changes_have_the_function_run_plainly(f, make, monkeypatch):
    with pytest.raises(UnsupportedError, match=f"{f.__name__} changes a .* among its arguments"):
        lw.function(f)(*make())
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    traced, given, wanted = lw.function(f), make(), make()
    for _ in range(3):
        result, plain = traced(*given), f(*wanted)
        assert repr((given, result)) == repr((wanted, plain))
    assert vars(given[0]) == vars(wanted[0]) if f is new_attribute else True


def test_the_error_names_the_line():
    with pytest.raises(UnsupportedError, match=r"changes a list .*stack.append\(v \* 2\)"):
        lw.function(push)([], X)


def test_a_container_that_is_there_twice_is_one(monkeypatch):
    def first(a, b):
        a[0] = a[0] + 1
        return b[0] * 1

    monkeypatch.setenv("LANEWISE_STRICT", "0")
    traced = lw.function(first)
    np.testing.assert_array_equal(traced([X], [X]), X)
    rows = [X]
    np.testing.assert_array_equal(traced(rows, rows), X + 1)
    np.testing.assert_array_equal(rows[0], X + 1)


def test_arrays_that_stay_are_the_callers_own():
    first, second = X.copy(), X * 2
    rows = [first, second]
    lw.function(swap)(rows)
    assert rows[0] is second
    assert rows[1] is first


def test_a_call_that_raises_changes_nothing():
    def failing(weights, n):
        weights["w"] = weights["w"] * 2
        if n > 0:
            raise ValueError("no")

    weights = {"w": X}
    with pytest.raises(ValueError, match="no"):
        lw.function(failing)(weights, np.float64(1))
    assert weights["w"] is X


def test_other_numbers_are_not_traced_anew():
    traced = lw.function(descend)
    weights = {"w": X.copy()}
    for _ in range(5):
        traced(weights, {"w": X})
    assert traced.experimental_get_tracing_count() == 1


def test_maps_and_derivatives_change_nothing_of_the_callers():
    rows = {"w": np.ones((4, 3))}
    before = copy.deepcopy(rows)
    lw.vmap(returned)(rows)
    lw.function(lw.vmap(returned))(rows)
    lw.grad(lambda w: returned(w)["w"].sum())(rows)
    np.testing.assert_array_equal(rows["w"], before["w"])


def test_called_in_another_trace_it_changes_what_is_there():
    inner = lw.function(descend)

    def twice(w):
        weights = {"w": w}
        inner(weights, {"w": w * 0 + 2})
        inner(weights, {"w": w * 0 + 2})
        return weights["w"]

    np.testing.assert_array_equal(lw.function(twice)(X), X - 2)


def test_concrete_functions():
    concrete = lw.function(returned).get_concrete_function({"w": X})
    assert str(concrete) == "returned(weights: {'w': float64[3]}) -> {'w': float64[3]}"
    assert concrete.structured_outputs["w"].shape == (3,)
    weights = {"w": X}
    assert concrete(weights) is not None
    np.testing.assert_array_equal(weights["w"], X * 2)
    with pytest.raises(UnsupportedError, match="cannot be saved"):
        lw.save(concrete, io.BytesIO())
    with pytest.raises(UnsupportedError, match="cannot become part of a trace"):
        lw.function(concrete)({"w": X})


def test_a_signature_makes_copies():
    traced = lw.function(returned, input_signature=[{"w": lw.TensorSpec([None])}])
    with pytest.raises(TypeError, match="returned puts an array in a container"):
        traced({"w": X})


def test_a_concrete_function_does_not_take_one_twice():
    weights = {"w": X}
    concrete = lw.function(descend).get_concrete_function({"w": X}, {"w": X})
    with pytest.raises(ValueError, match="that is there twice"):
        concrete(weights, weights)


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_a_plain_call_that_raises_leaves_containers_as_it_does(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)

    def failing(ball):
        ball.x += 1
        ball.bounces = 5
        if ball.v[0] > 0:
            raise ValueError("no")

    traced = lw.function(failing)
    for _ in range(3):
        found, wanted = Ball(X.copy(), X), Ball(X.copy(), X)
        for f, ball in ((traced, found), (failing, wanted)):
            with pytest.raises(ValueError, match="no"):
                f(ball)
        assert repr(found) == repr(wanted)


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_views_of_other_shapes_that_data_choose_are_written_through(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)

    def f(x):
        part = x[:2] if x[0] > 0 else x
        part += 1
        return part.sum()

    for x in (X, -X):
        found, wanted = x.copy(), x.copy()
        assert lw.function(f)(found) == f(wanted)
        np.testing.assert_array_equal(found, wanted)
