"""`explain` of what NumPy computes: what becomes of each line, and the bytes that it takes."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

import lanewise as lw

X = np.ones((8, 4))
W = np.ones(4)


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """Let NumPy compute, whatever the tests run with: test_explain_native.py is about kernels."""
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")


def explained(func, *args, **kwargs):
    """Return an explanation, which is printed word for word, and its rows by operation."""
    seen = lw.explain(func, *args, **kwargs)
    return seen, {row.operation: row for row in seen.rows}


def test_fates_types_bytes_and_lines(capsys, lstsq_is_looped):
    def func(x, w):
        scaled = np.exp(w)
        result = x * scaled
        solved = np.linalg.lstsq(np.ones((4, 2)), result, rcond=None)[0]
        return result.T, solved

    seen, rows = explained(lw.vmap(func, in_dims=(0, None)), X, W)
    assert capsys.readouterr().out == f"{seen}\n"
    first = inspect.getsourcelines(func)[1]
    found = {
        name: (row.fate, row.result, row.nbytes, row.location.line - first)
        for name, row in rows.items()
    }
    assert found["exp"] == ("hoisted", "f64[4]", 32, 1)
    assert found["multiply"] == ("batched", "f64[batch,4]", 256, 2)
    looped = [row for row in seen.rows if row.fate == "looped"]
    assert looped and {row.location.line - first for row in looped} == {3}
    assert seen.examples == [8] and seen.nbytes == sum(r.nbytes for r in seen.rows if not r.is_view)
    text = str(seen)
    assert "vmap of func: 8 examples, " in text and __file__ in text
    assert f"{first + 2:5d} | result = x * scaled" in text
    assert "multiply" in text and "256 B" in text and "batched" in text


def test_views_take_no_bytes():
    seen, rows = explained(lw.vmap(lambda x: x[1:].reshape(3, 1).T * 2), X)
    assert rows["slice"].is_view and rows["reshape"].is_view and not rows["multiply"].is_view
    assert seen.nbytes == 8 * 3 * 8
    assert "view" in str(seen)


def test_what_nobody_needs_is_not_shown():
    def func(x):
        np.cumsum(x)
        return np.sin(x)

    seen, _ = explained(lw.vmap(func), X)
    assert [row.operation for row in seen.rows] == ["sin"]


def test_nested_maps():
    seen, rows = explained(lw.vmap(lw.vmap(lambda v: np.sin(v) + 1)), np.ones((2, 3, 4)))
    assert seen.examples == [2] and rows["sin"].result == "f64[batch,3,4]"
    assert {row.fate for row in seen.rows} == {"batched"} and rows["sin"].nbytes == 2 * 3 * 4 * 8

    def outer(x):
        return lw.vmap(lambda v: v * np.exp(x))(W)  # exp(x) is the same for all v, not for all x

    _, rows = explained(lw.vmap(outer), X)
    assert rows["exp"].fate == "batched" and rows["exp"].nbytes == X.nbytes


def test_chunks_are_batched_as_a_whole():
    seen, rows = explained(lw.vmap(lambda x: np.sin(x) * np.exp(W), chunk_size=3), X)
    assert rows["sin"].fate == "batched" and rows["sin"].nbytes == 3 * 4 * 8
    assert seen.examples == [8]
    seen, rows = explained(lw.vmap(lambda x, w: x * np.exp(w), (0, None), chunk_size=100), X, W)
    assert rows["exp"].fate == "hoisted" and rows["multiply"].nbytes == X.nbytes


def test_loops():
    seen, rows = explained(lambda x: lw.map_fn(lambda r: np.sin(r) * 2, x), X)
    assert {row.fate for row in seen.rows} == {"looped"} and rows["sin"].nbytes == 4 * 8

    def host(r):
        return lw.py_func(lambda v: v, [r * 2], float)

    _, rows = explained(lw.vmap(host), X)
    assert (rows["multiply"].fate, rows["py_func"].fate) == ("batched", "looped")

    def batched(r):
        return lw.py_func(lambda v: v, [r], float, vectorized=True)

    _, rows = explained(lw.vmap(batched), X)
    assert rows["py_func"].fate == "batched"
    assert rows["py_func"].nbytes == X.nbytes


def test_why_it_is_looped_or_divergent(lstsq_is_looped):
    def func(x, w):
        y = np.linalg.lstsq(x.reshape(2, 2), w[:2], rcond=None)[0]
        while y[0] > 1:
            y = y / 2
        if x[0] > 0:
            y = np.sin(y)
        return lw.py_func(lambda v: v, [y[0]], float)

    seen, _ = explained(lw.vmap(func, in_dims=(0, None)), X, W)
    why = {row.operation: row.why for row in seen.rows if row.why}
    assert why["lstsq"] == "one problem at a time"
    assert why["while"].startswith("examples leave it at different turns")
    assert why["cond"].startswith("examples take different branches")
    assert why["py_func"] == "host code runs for one example after the other"
    assert all(row.why for row in seen.rows if row.fate == "looped")
    assert not any(row.why for row in seen.rows if row.fate in ("hoisted", "batched"))
    assert "lstsq              looped    " in str(seen) and "  one problem at a time" in str(seen)
    seen, _ = explained(lambda x: lw.map_fn(lambda r: np.sin(r) * 2, x), X)
    assert {row.why for row in seen.rows} == {"the map asks for one example after the other"}
    assert str(seen).count("the map asks") == 1  # told once in a line


def test_traces_of_a_function():
    scaled = lw.function(lambda x, by=2: x * by)
    scaled(X)
    assert "traces" not in str(lw.explain(scaled, X))
    seen, _ = explained(scaled, W)
    assert [is_it for _, is_it in seen.traces] == [False, True]
    assert "it has 2 traces:\n  <lambda>(x: float64[8,4], by=2)" in str(seen)
    assert "by=2) -> float64[4]  <- this call" in str(seen)
    assert scaled.experimental_get_tracing_count() == 2
    seen, _ = explained(scaled.get_concrete_function(X), X)
    assert seen.name == "concrete function <lambda>" and not seen.traces


def test_effects_happen_once():
    seen = []

    @lw.function
    def func(x):
        lw.py_func(lambda v: seen.append(1), [x.sum()], None)
        return x * 2

    lw.explain(func, X)
    assert seen == [1]
    counter = lw.Variable(0.0)
    lw.explain(lw.function(lambda x: counter.assign_add(x)), np.float64(2.0))
    assert counter.value == 2.0

    def fails(x):
        lw.py_func(lambda v: seen.append(1), [x], None)
        if x > 2:
            raise ValueError("too large")
        return x

    seen.clear()
    with pytest.raises(ValueError, match="too large"):
        lw.explain(lw.vmap(fails), np.arange(5.0))
    assert seen == [1, 1, 1, 1]


def test_derivatives():
    seen, rows = explained(lw.grad(lambda x: np.sin(x).sum()), W)
    assert seen.name == "<lambda>" and "cos" in rows
    seen, rows = explained(lw.vmap(lw.grad(lambda x: np.sin(x).sum())), X)
    assert rows["cos"].fate == "batched"


@pytest.mark.parametrize(
    ("func", "args", "start"),
    [
        (lw.vmap(np.sin), (X,), "vmap of sin: 8 examples, 1 "),
        (lw.vmap(functools.partial(np.add, 1)), (X,), "vmap of add: 8 examples"),
        (lw.vectorize(np.cos), (X,), "vectorize of cos: 32 examples"),
        (lw.vmap(lambda: np.ones(2), axis_size=3), (), "vmap of <lambda>: 3 examples"),
        (lambda x: lw.vectorized_map(np.sin, x), (X,), "<lambda>: 8 examples"),
        (
            lambda x: lw.vmap(np.sin)(x) + lw.vmap(np.cos)(x[:2]).sum(),
            (X,),
            "<lambda>: 8 examples and 2 examples",
        ),
        (np.sin, (X,), "sin: no map, 0 operations"),
        (lw.vmap(lambda x: None), (X,), "vmap of <lambda>: 8 examples, 0 operations"),
        (lw.vmap(lw.vmap(np.sin)), (X,), "vmap of sin: 8 examples"),
    ],
)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_headings(func, args, start, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    assert str(lw.explain(func, *args)).startswith(start)


def test_keyword_arguments_and_errors():
    mapped = lw.vmap(lambda x, *, k: x * k)
    assert len(lw.explain(mapped, X, k=2).rows) == 1
    with pytest.raises(ValueError, match="nothing to map over"):
        lw.explain(mapped, k=2)
    with pytest.raises(ZeroDivisionError):
        lw.explain(lw.vmap(lambda x: x / (1 // 0)), X)
    assert len(lw.explain(mapped, X, k=2).rows) == 1  # and nothing is left observing


def test_it_runs_the_function_once_and_changes_no_result():
    calls = []
    lw.explain(lw.vmap(lambda x: calls.append(1) or x * 2, autograph=False), X)
    assert calls == [1]


def test_explaining_within_a_map_and_within_an_explanation():
    inner = lw.vmap(np.sin)

    def func(x):
        assert [row.operation for row in lw.explain(inner, X).rows] == ["sin"]
        return np.cos(x)

    seen = lw.explain(lw.vmap(func), X)
    assert [row.operation for row in seen.rows] == ["cos"]


@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_maps_over_as_many_as_the_data_say(backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)

    def func(x):
        return lw.vmap(lambda v: v * 2)(x[x > 0]).sum()

    x = np.arange(12.0).reshape(3, 4) - 5
    for call, args in ((lw.function(func), x[2]), (lw.vmap(func), x)):
        assert "multiply" in str(lw.explain(call, args))
        assert lw.profile(call)(args) is not None
