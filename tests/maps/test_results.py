"""What comes out: fresh, writable arrays in the structure that the function returned."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import tracemalloc
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

import lanewise as lw
from support.oracle import assert_same

X = np.arange(24.0).reshape(4, 3, 2)
TABLE = np.array([1.0, 2.0])


def assert_owned(results, *others):
    """Assert that arrays are writable and share memory with nothing else."""
    leaves = optree.tree_leaves(results)
    for leaf in leaves:
        assert type(leaf) is np.ndarray and leaf.flags.writeable
        assert leaf.dtype.isnative
        for other in others:
            assert not np.shares_memory(leaf, other)
    for one, two in itertools.combinations(leaves, 2):
        assert not np.shares_memory(one, two)
    for leaf in leaves:  # and no two elements of one array share memory either
        leaf[...] = np.arange(leaf.size).reshape(leaf.shape).astype(leaf.dtype)
        assert leaf.ravel().tolist() == np.arange(leaf.size).astype(leaf.dtype).tolist()


FUNCTIONS = {
    "identity": lambda x: x,
    "slice": lambda x: x[1:],
    "reversed": lambda x: x[::-1],
    "element": lambda x: x[0, 1],
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(2, 3),
    "ravel": lambda x: x.ravel(),
    "new axis": lambda x: x[None, ..., None],
    "broadcast": lambda x: np.broadcast_to(x[0], (5, 2)),
    "diagonal": lambda x: np.diagonal(x),
    "real": lambda x: (x + 1j * x).real,
    "view of a result": lambda x: np.sin(x)[:1],
    "twice": lambda x: (x, x),
    "thrice": lambda x: (x * 2,) * 3,
    "and parts": lambda x: (x, x[0], x.T, x[1:], x.reshape(-1)),
    "parts of a result": lambda x: np.split(np.exp(x), 3),
    "same result viewed": lambda x: (lambda y: (y, y.T, y[0]))(np.exp(x)),
    "constant": lambda x: 3,
    "constants": lambda x: (True, 2, 3.5, 1j, np.float32(2), np.int8(1), np.True_),
    "captured": lambda x: TABLE,
    "captured twice": lambda x: (TABLE, TABLE, TABLE[::-1], TABLE.reshape(1, 2)),
    "an array made here": lambda x: np.zeros(3),
    "a read-only array": lambda x: np.broadcast_to(1.0, (2, 2)),
    "none of these": lambda x: (),
    "copy": lambda x: x.copy(),
    "no cast": lambda x: x.astype(float),
    "where": lambda x: np.where(True, x, x),
    "sorted and not": lambda x: (np.sort(x), x),
    "written": lambda x: (x.__setitem__(0, 1.0), x, x[0])[1:],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("out_dims", [0, -1])
def test_results_are_fresh_and_writable(name, out_dims):
    func = FUNCTIONS[name]
    for x in (X.copy(), np.asfortranarray(X), X[::-1].copy()[::-1], X[:1].copy(), X[:0].copy()):
        before, table = x.copy(), TABLE.copy()
        got = lw.vmap(func, out_dims=out_dims)(x)
        if len(x):
            expected = [func(row.copy()) for row in x]
            stacked = optree.tree_map(lambda *rows: np.stack(rows, out_dims), *expected)
            assert_same(got, stacked)
        assert_owned(got, x, TABLE)
        np.testing.assert_array_equal(x, before)
        np.testing.assert_array_equal(TABLE, table)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_chunks_and_one_by_one(name):
    func = FUNCTIONS[name]
    for mapped in (lw.vmap(func, chunk_size=3), lambda x: lw.map_fn(func, x)):
        x = X.copy()
        got = mapped(x)
        assert_same(got, lw.vmap(func)(x))
        assert_owned(got, x, TABLE)


def test_results_without_batch_are_owned_too():
    w = np.arange(2.0)

    def func(x, w):
        return (x, w, w[::-1], TABLE, w * 2, (w * 2)[:1], 7)

    for chunk in (None, 2):
        got = lw.vmap(func, (0, None), (0, *[None] * 6), chunk_size=chunk)(X, w)
        assert_owned(got, X, w, TABLE)
    again = lw.vmap(func, (0, None), (0, *[None] * 6))(X, w)
    assert_same(again[1:], (w, w[::-1].copy(), TABLE.copy(), w * 2, np.zeros(1), np.asarray(7)))


def test_results_kept_by_the_caller_are_not_touched_by_later_calls():
    mapped = lw.vmap(lambda x: (x, 3, np.arange(2), TABLE))
    first = mapped(X)
    kept = optree.tree_map(np.copy, first)
    for leaf in optree.tree_leaves(first):
        leaf[...] = 99
    assert_same(mapped(X), kept)


def test_inner_results_given_as_arrays_are_owned():
    table = np.arange(4.0).reshape(2, 2)
    seen = []

    def f(x):
        inner = lw.vmap(lambda r: (r, r[0]))(table)
        seen.extend(inner)
        return x + inner[0]

    lw.vmap(f)(np.zeros((3, 2, 2)))
    assert_owned(seen, table)


def test_a_small_part_does_not_keep_a_large_array_alive():
    x = np.ones((10, 100_000))
    gc.collect()
    tracemalloc.start()
    try:
        got = lw.vmap(lambda r: (np.exp(r)[:2], np.exp(r)[0]))(x)
        assert tracemalloc.get_traced_memory()[0] < 1e6
    finally:
        tracemalloc.stop()
    assert got[0].shape == (10, 2)


# --- structure -----------------------------------------------------------------------------------


class Named(NamedTuple):
    """With methods and defaults."""

    first: Any
    second: Any = 1

    def total(self):
        return self.first + self.second


@dataclasses.dataclass
class Data:
    b: Any
    a: Any = None
    cached: Any = dataclasses.field(default=None, init=False)

    def __post_init__(self):
        if isinstance(self.b, str):
            raise TypeError("checked when made by hand")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    value: Any


class Node:
    def __init__(self, children, label):
        self.children, self.label = children, label


optree.register_pytree_node(
    Node,
    lambda n: (n.children, n.label),
    lambda label, c: Node(list(c), label),
    namespace="lanewise",
)
Plain = namedtuple("Plain", "x y")


def test_structures_are_kept():
    s = X.sum((1, 2))
    assert lw.vmap(lambda x: None)(X) is None
    assert lw.vmap(lambda x: [])(X) == []
    got = lw.vmap(lambda x: {"z": x.sum(), "a": [x.sum(), None], "m": ()})(X)
    assert list(got) == ["z", "a", "m"] and got["a"][1] is None and got["m"] == ()
    assert_same(got["a"][0], s)
    got = lw.vmap(lambda x: OrderedDict(z=x.sum(), a=1))(X)
    assert type(got) is OrderedDict and list(got) == ["z", "a"]
    got = lw.vmap(lambda x: defaultdict(list, z=x.sum()))(X)
    assert type(got) is defaultdict and got.default_factory is list
    got = lw.vmap(lambda x: deque([x.sum(), 1], maxlen=2))(X)
    assert type(got) is deque and got.maxlen == 2
    assert_same(lw.vmap(lambda x: Named(x.sum()))(X).total(), s + 1)
    assert type(lw.vmap(lambda x: Plain(1, x))(X)) is Plain
    got = lw.vmap(lambda x: Data(x.sum(), {"k": Strict(value=x)}))(X)
    assert type(got) is Data and got.cached is None and type(got.a["k"]) is Strict
    assert_same((got.b, got.a["k"].value), (s, X))
    got = lw.vmap(lambda x: Node([x.sum(), Node([x], "in")], "out"))(X)
    assert (got.label, got.children[1].label) == ("out", "in")
    assert_same(got.children[1].children[0], X)
    got = lw.vmap(lambda x: np.linalg.slogdet(x[:2]))(X)
    assert_same(got.sign, np.array([np.linalg.slogdet(x[:2]).sign for x in X]))
    keys = lw.vmap(lambda x: {3: x.sum(), 1: x, (1, 2): x})(X)
    assert list(keys) == [3, 1, (1, 2)]


def test_what_the_function_returned_is_not_changed():
    kept = []

    def f(x):
        result = {"a": [x, 1]}
        kept.append(result)
        return result

    got = lw.vmap(f)(X)
    assert got is not kept[0]
    assert_same([result["a"][0] for result in kept], list(X))
    assert [result["a"][1] for result in kept] == [1] * len(X)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, bool), (3, int), (2.5, float), (1j, complex), (2**63, np.uint64), (-0.0, float),
        (float("nan"), float), (np.float16(1), np.float16), (np.int8(-1), np.int8),
        (np.longdouble(1), np.longdouble), (np.array(3, "u2"), np.uint16),
        (np.zeros((2, 0), ">f4"), np.float32), (np.ones(2) > 0, bool),
    ],
)  # fmt: skip
def test_numbers_and_arrays_are_repeated(value, dtype):
    expected = np.stack([np.asarray(value, dtype)] * 4)
    got = lw.vmap(lambda x: value)(X)
    assert_same(got, expected)
    np.testing.assert_array_equal(
        np.signbit(got), np.signbit(expected)
    ) if got.dtype.kind == "f" else None
    assert_same(lw.vmap(lambda x: value, out_dims=None)(X), np.asarray(value, dtype))
