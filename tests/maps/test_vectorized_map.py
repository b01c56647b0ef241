"""`vectorized_map` and `map_fn`: nested elements, broadcasting, falling back or not."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_same

X = np.arange(12.0).reshape(4, 3) - 5
MAPS = pytest.mark.parametrize("map_", [lw.vectorized_map, lw.map_fn])
Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class Record:
    values: Any
    weight: Any = None


@MAPS
def test_the_structure_of_the_elements_reaches_the_function(map_):
    elems = {"a": X, "b": (X[:, 0], [X[:, 1], None]), "p": Pair(X, Record(X, X[:, 2]))}

    def f(e):
        assert type(e["p"]) is Pair and type(e["b"]) is tuple and e["b"][1][1] is None
        record = e["p"].b
        assert e["a"].shape == record.values.shape == (3,) and record.weight.shape == ()
        return Record({"sum": e["a"].sum() + e["b"][0]}, [e["p"].a * record.weight, 1])

    got = map_(f, elems)
    assert type(got) is Record
    assert_same(got.values, {"sum": X.sum(1) + X[:, 0]})
    assert_same(got.weight, [X * X[:, 2:], np.ones(4, int)])


@MAPS
def test_first_dimensions_of_one_broadcast(map_):
    def f(e):
        return e[0] * e[1]

    for a, b in [(X[:1], X), (X, X[:1]), (X[:1], X[1:2]), (X[:1], X[:0]), (X[:0], X[:1])]:
        assert_same(map_(f, (a, b)), a * b)
    assert_same(
        map_(lambda e: e["x"] + e["y"], {"x": X[:, 0], "y": np.array([10.0])}), X[:, 0] + 10
    )


@MAPS
def test_array_likes(map_):
    assert_same(map_(lambda v: v * 2, [1, 2, 3]), np.array([2, 4, 6]))
    assert_same(map_(lambda v: v.sum(), [[1.0, 2.0], [3.0, 4.0]]), np.array([3.0, 7.0]))
    assert_same(map_(lambda p: p[0] + p[1], ([1, 2], [3, 4])), np.array([4, 6]))
    assert_same(map_(lambda p: p[0] + p[1], [np.arange(2), np.arange(2)]), np.array([0, 2]))
    assert_same(map_(lambda d: d["x"], {"x": [1, 2]}), np.array([1, 2]))
    assert_same(map_(lambda v: v + 1, range(3)), np.arange(1, 4))
    assert_same(map_(lambda v: v, []), np.zeros(0))


@MAPS
def test_empty_and_single_batches(map_):
    for x in (X[:0], X[:1]):
        assert_same(map_(lambda v: (v * 2, v.sum(), 1), x), (x * 2, x.sum(1), np.ones(len(x), int)))


@MAPS
@pytest.mark.parametrize(
    ("elems", "message"),
    [
        (
            (np.ones((2, 3)), np.ones((6, 3))),
            r"first dimension of elems\[1\] is 6, that of elems\[0\] is 2",
        ),
        (
            {"a": np.ones(1), "b": np.ones(2), "c": np.ones(3)},
            r"elems\['c'\] is 3, that of elems\['b'\] is 2",
        ),
        ((np.ones(2), 3.0), r"elems\[1\] is a scalar"),
        (2.0, "elems is a scalar"),
        ((), "holds no array"),
        ({"a": None}, "holds no array"),
        (None, "holds no array"),
    ],
)
def test_errors(map_, elems, message):
    with pytest.raises(ValueError, match=message):
        map_(lambda e: e, elems)
    with pytest.raises(ValueError, match=message + r".*test_vectorized_map.py:\d+: "):
        lw.vmap(lambda _: map_(lambda e: e, elems))(X)


@MAPS
def test_what_is_no_array_or_no_function_is_refused(map_):
    with pytest.raises(lw.UnsupportedError, match=r"elems\['a'\] has dtype <U1"):
        map_(lambda e: e, {"a": np.array(["x"])})
    with pytest.raises(TypeError, match="takes a function, not ndarray"):
        map_(X, lambda e: e)

    def generate(e):
        yield e

    with pytest.raises(TypeError, match="generate is a generator"):
        map_(generate, X)
    with pytest.raises(ValueError, match="returned the result of type str"):
        map_(lambda e: "text", X)


@MAPS
def test_both_give_what_the_loop_gives(map_):
    def f(row):
        scaled = row / (np.abs(row).max() + 1)
        scaled[0] = row.argmax()
        return np.cumsum(scaled), row.argmin(), np.linalg.qr(np.outer(row, row) + np.eye(3))

    got = map_(f, X)
    expected = [f(row.copy()) for row in X]
    assert_same(got[0], np.stack([e[0] for e in expected]))
    assert_same(got[1], np.stack([e[1] for e in expected]))
    assert_same(got[2].Q, np.stack([e[2].Q for e in expected]), rtol=1e-9)


def host(row):
    return lw.py_func(lambda r: np.sort(r)[::-1], [row], float)


def test_falling_back_and_refusing_to():
    def f(row):
        return 2 * host(row) + 1

    expected = 2 * np.sort(X, axis=1)[:, ::-1] + 1
    assert_same(lw.vectorized_map(f, X), expected)
    assert_same(lw.map_fn(f, X), expected)
    message = r"py_func cannot be vectorized: .*test_vectorized_map.py:\d+: return lw.py_func"
    for _ in range(2):  # no executable is kept that would let it pass
        with pytest.raises(ValueError, match=message):
            lw.vectorized_map(f, X, fallback_to_while_loop=False)
    assert_same(lw.vectorized_map(np.sort, X, fallback_to_while_loop=False), np.sort(X))

    def vectorized(row):
        return lw.py_func(lambda r: -r, [row], float, vectorized=True)

    assert_same(lw.vectorized_map(vectorized, X, fallback_to_while_loop=False), -X)


def test_map_fn_goes_one_by_one_in_order():
    order = []

    def f(row):
        first = lw.py_func(lambda r: order.append(("a", r[0])) or r, [row], float)
        return lw.py_func(lambda r: order.append(("b", r[0])) or r + 1, [first * 2], float)

    assert_same(lw.map_fn(f, X), 2 * X + 1)
    assert order == [(name, v) for row in X for name, v in (("a", row[0]), ("b", 2 * row[0]))]


def test_map_fn_computes_one_example_at_a_time(monkeypatch):
    shapes = []

    def f(row):
        return lw.py_func(lambda r: shapes.append(r.shape) or r, [row], float, vectorized=True)

    assert_same(lw.map_fn(f, X), X)
    assert shapes == [(3,)] * 4


def test_a_refusal_names_the_host_call_inside_a_nested_map():
    def rows(matrix):
        return lw.vmap(lambda row: lw.py_func(np.sort, [row], float))(matrix)

    with pytest.raises(ValueError, match=r"py_func cannot be vectorized.*test_vectorized_map\.py"):
        lw.vectorized_map(rows, np.ones((2, 3, 4)), fallback_to_while_loop=False)


@pytest.mark.parametrize("mapped", [lw.vectorized_map, lw.map_fn])
def test_control_flow_follows_the_data_unless_told_not_to(mapped):
    def func(x):
        return x if x > 0 else -2 * x

    x = np.array([1.0, -2.0])
    np.testing.assert_array_equal(mapped(func, x), [1, 4])
    with pytest.raises(lw.ConcretizationError):
        mapped(func, x, autograph=False)
