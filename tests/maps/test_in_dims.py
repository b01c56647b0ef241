"""`in_dims` and `out_dims`: every form they take, and every way to get them wrong."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import optree
import pytest

import lanewise as lw
from support.oracle import assert_maps, assert_same

X = np.arange(24.0).reshape(2, 3, 4)
Y = np.arange(12.0).reshape(3, 4) - 5
Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Any
    nested: Any = None


class Registered:
    def __init__(self, first, second, note):
        self.first, self.second, self.note = first, second, note


optree.register_pytree_node(
    Registered,
    lambda r: ((r.first, r.second), r.note),
    lambda note, children: Registered(*children, note),
    namespace="lanewise",
)


@pytest.mark.parametrize("axis", range(-3, 3))
def test_every_axis(axis):
    assert_maps(lambda a: (a, a.sum(0), a.T), X, in_dims=axis)


@pytest.mark.parametrize(
    "axes", [*itertools.product((0, 1, -1, -2), (0, 1, None, -1)), (None, 0), (None, -1)]
)
def test_mixed_axes(axes):
    sizes = {np.shape(a)[d] for a, d in zip((X, Y), axes, strict=True) if d is not None}

    def func(a, b):
        return (np.outer(a, b), a.sum() * b)

    if len(sizes) > 1:
        with pytest.raises(ValueError, match=r"the batch has \d examples in args\[1\]"):
            lw.vmap(func, in_dims=axes)(X, Y)
    else:
        assert_maps(func, X, Y, in_dims=axes)


def test_integers_of_every_kind_and_lists():
    for dims in (np.int64(1), np.uint8(1), [1], (np.int32(1),), -2, (-2,)):
        assert_same(lw.vmap(lambda a: a, in_dims=dims)(X), np.moveaxis(X, 1, 0))
    for dims in (np.int64(1), np.uint8(1), (1,), [np.int16(1)]):
        got = lw.vmap(lambda a: [a], out_dims=dims)(X)[0]
        assert_same(got, np.moveaxis(X, 0, 1))


def test_trees_shaped_like_the_arguments():
    def dot(p):
        return np.dot(p["x"], p["y"])

    point = {"x": X[0], "y": Y[0]}
    expected = X[0] @ Y[0]
    assert_same(lw.vmap(dot, in_dims=({"x": 0, "y": None},))(point), expected)
    assert_same(lw.vmap(dot, in_dims=({"y": None, "x": 0},))(point), expected)
    assert_same(lw.vmap(dot, in_dims=[{"y": None, "x": 0}])(point), expected)
    assert_same(lw.vmap(dot, in_dims=(OrderedDict(y=None, x=-2),))(point), expected)
    assert_same(lw.vmap(dot, in_dims=({"x": 0, "y": None},))(OrderedDict(y=Y[0], x=X[0])), expected)

    def f(pair, w):
        return pair.a @ pair.b[0] + w

    args = (Pair(X[0], (Y[0], None)), np.arange(3.0))
    for dims in [
        (Pair(0, None), 0),
        (Pair(0, (None, None)), 0),
        (Pair(0, (None, 0)), 0),  # nothing there to map
        ((0, [None, None]), 0),
        [Pair(-2, (None, None)), -1],
    ]:
        assert_same(lw.vmap(f, in_dims=dims)(*args), X[0] @ Y[0] + np.arange(3.0))


def test_a_prefix_stands_for_all_below_it():
    tree = {"a": (X, [X, X]), "b": {"c": X}}

    def func(t):
        return t["a"][0] + t["a"][1][0] + t["a"][1][1] + t["b"]["c"]

    moved = np.moveaxis(4 * X, 2, 0)
    for dims in (2, (2,), ({"a": 2, "b": 2},), ({"a": (2, 2), "b": {"c": -1}},)):
        assert_same(lw.vmap(func, in_dims=dims)(tree), moved)


def test_dict_order_does_not_matter_and_ordered_dicts_keep_theirs():
    seen = []

    def f(d):
        seen.append(list(d))
        return d["b"] - d["a"]

    dims = ({"a": None, "b": 0},)
    b, a = X[0], Y[0]
    assert_same(lw.vmap(f, in_dims=dims)({"b": b, "a": a}), b - a)
    assert_same(lw.vmap(f, in_dims=dims)({"a": a, "b": b}), b - a)
    assert_same(lw.vmap(f, in_dims=dims)(OrderedDict(b=b, a=a)), b - a)
    assert_same(lw.vmap(f, in_dims=(OrderedDict(b=0, a=None),))({"a": a, "b": b}), b - a)
    assert seen[2] == ["b", "a"]


def test_dataclasses_and_registered_classes():
    assert_same(lw.vmap(lambda p: p.x * p.y, in_dims=(Point(0, None),))(Point(Y, Y[0])), Y * Y[0])
    assert_same(lw.vmap(lambda p: p.x * p.y)(Point(Y, Y)), Y * Y)
    assert_same(
        lw.vmap(lambda p: p.x + p.nested.x, in_dims=(Frozen(0, Frozen(None)),))(
            Frozen(Y, Frozen(Y[0]))
        ),
        Y + Y[0],
    )

    def func(r):
        return r.first * r.second if r.note == "n" else None

    assert_same(lw.vmap(func)(Registered(Y, Y, "n")), Y * Y)
    dims = (Registered(0, None, "other"),)
    assert_same(lw.vmap(func, in_dims=dims)(Registered(Y, Y[1], "n")), Y * Y[1])


def test_numbers_in_a_tree_of_options():
    options = {"rate": 0.5, "betas": [0.9, 0.99], "name": "adam", "w": Y}

    def step(o):
        assert o["name"] == "adam" and o["betas"] == [0.9, 0.99]
        return o["w"] * o["rate"]

    dims = ({"rate": None, "betas": [None, None], "name": None, "w": 0},)
    assert_same(lw.vmap(step, in_dims=dims)(options), Y * 0.5)
    dims = ({"rate": None, "betas": None, "name": None, "w": 0},)
    assert_same(lw.vmap(step, in_dims=dims)(options), Y * 0.5)


# --- out_dims ------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", range(-3, 3))
def test_every_out_axis(axis):
    assert_same(lw.vmap(lambda a: a * 2, out_dims=axis)(X), np.moveaxis(X * 2, 0, axis))
    assert_same(lw.vmap(lambda a: a * 2, in_dims=axis, out_dims=axis)(X), X * 2)


def test_trees_of_out_dims():
    def func(a):
        return {"sum": a.sum(0), "pair": (a, a.T), "n": 3, "point": Point(a, 1.0)}

    out = {"sum": 1, "pair": (-1, 0), "n": None, "point": Point(1, None)}
    got = lw.vmap(func, out_dims=out)(X)
    assert_same(got["sum"], X.sum(1).T)
    assert_same(got["pair"], (np.moveaxis(X, 0, -1), X.swapaxes(1, 2)))
    assert_same(got["n"], np.asarray(3))
    assert_same(got["point"].x, np.moveaxis(X, 0, 1))
    assert_same(got["point"].y, np.asarray(1.0))
    got = lw.vmap(func, out_dims={"sum": 0, "pair": 2, "n": 0, "point": 0})(X)
    assert_same(got["pair"][1], np.moveaxis(X.swapaxes(1, 2), 0, 2))
    assert_same(lw.vmap(lambda a: [a, a], out_dims=(0, 1))(X), [X, np.moveaxis(X, 0, 1)])


def test_results_without_batch():
    w = np.arange(4.0)

    def func(a, b):
        return (a @ b, np.exp(b), b, 7, None)

    for chunk in (None, 1, 2):
        got = lw.vmap(func, (0, None), (0, None, None, None, None), chunk_size=chunk)(X, w)
        assert_same(got[:4], (X @ w, np.exp(w), w, np.asarray(7)))
        assert got[4] is None

    def nested(b):
        return lw.vmap(lambda a: (a.sum(), np.exp(b)), out_dims=(0, None))(X)

    sums, exps = lw.vmap(nested)(Y)
    assert_same(sums, np.tile(X.sum((1, 2)), (3, 1)))
    assert_same(exps, np.exp(Y))
    empty = lw.vmap(func, (0, None), (0, None, None, None, None))(X[:0], w)
    assert_same(empty[1], np.exp(w))


# --- errors --------------------------------------------------------------------------------------


def first_of(*args):
    return args[0]


BAD_CALLS = [
    # sizes
    (dict(), (np.ones((3, 2)), np.ones((4, 2))), r"4 examples in args\[1\].*but 3 in args\[0\]"),
    (
        dict(in_dims=(0, 1)),
        (np.ones((3, 2)), np.ones((3, 2))),
        r"2 examples in args\[1\] \(dimension 1 of shape \(3, 2\)\) but 3",
    ),
    (dict(axis_size=5), (np.ones(3),), r"3 examples in args\[0\].*but 5 in axis_size"),
    (
        dict(),
        ({"p": np.ones(3), "q": [np.ones((2, 2))]},),
        r"2 examples in args\[0\]\['q'\]\[0\].*but 3 in args\[0\]\['p'\]",
    ),
    (dict(), (Point(np.ones(3), np.ones(1)),), r"1 examples in args\[0\].y.*but 3 in args\[0\].x"),
    # no such dimension
    (
        dict(in_dims=3),
        (np.ones((3, 2)),),
        r"in_dims is 3 for args\[0\], which has 2 dimensions \(shape \(3, 2\)\)",
    ),
    (dict(in_dims=-3), (np.ones((3, 2)),), r"in_dims is -3 for args\[0\]"),
    (
        dict(in_dims=(None, {"a": 1})),
        (1, {"a": np.ones(3)}),
        r"in_dims is 1 for args\[1\]\['a'\], which has 1 dimension \(",
    ),
    (dict(), (3.0,), r"in_dims is 0 for args\[0\], which has 0 dimensions.*in_dims=\(None,\)"),
    (dict(), (np.ones(3), 2), r"for args\[1\]"),
    (dict(), ((1, 2),), r"for args\[0\]\[0\]"),
    # nothing mapped
    (dict(in_dims=(None,)), (np.ones(3),), "no argument is mapped"),
    (dict(), (), "nothing to map over"),
    (dict(in_dims=()), (), "no argument is mapped"),
    (dict(), (None,), "no argument is mapped"),
    (dict(), ((),), "no argument is mapped"),
    # not shaped like the arguments
    (
        dict(in_dims=(0,)),
        (np.ones(3), np.ones(3)),
        "in_dims has 1 entries for 2 positional arguments",
    ),
    (dict(in_dims=(0, 0)), (np.ones(3),), "in_dims has 2 entries for 1 positional"),
    (
        dict(in_dims=((0, 0),)),
        (np.ones(3),),
        r"in_dims\[0\] is a tuple of 2 where args\[0\] is a single ndarray",
    ),
    (
        dict(in_dims=((0, 0),)),
        ((np.ones(3),) * 3,),
        r"in_dims\[0\] is a tuple of 2 where args\[0\] is a tuple of 3",
    ),
    (
        dict(in_dims=({"a": 0},)),
        ({"b": np.ones(3)},),
        r"keys 'a' where args\[0\] is a dict with the keys 'b'",
    ),
    (
        dict(in_dims=({"a": {"c": 0}},)),
        ({"a": np.ones(3)},),
        r"in_dims\[0\]\['a'\] is a dict.*where args\[0\]\['a'\] is a single ndarray",
    ),
    # results
    (
        dict(out_dims=2),
        (np.ones(3),),
        "out_dims is 2 for the result, which has 1 dimensions with the batch",
    ),
    (dict(out_dims=-2), (np.ones(3),), "out_dims is -2 for the result"),
    (
        dict(out_dims=(0, 0)),
        (np.ones(3),),
        "out_dims is a tuple of 2 where the result is a single Tensor",
    ),
    (
        dict(out_dims={"a": 0}),
        (np.ones(3),),
        "out_dims is a dict with the keys 'a' where the result is",
    ),
    (
        dict(out_dims=((0, 1),)),
        ((np.ones(3),),),
        r"out_dims\[0\] is a tuple of 2 where the result\[0\] is",
    ),
    (
        dict(out_dims=None),
        (np.ones(3),),
        "the result differs from example to example.*out_dims cannot be None",
    ),
    (dict(out_dims=(None, 0)), ((np.ones(3), np.ones(3)),), r"the result\[0\] differs"),
]


@pytest.mark.parametrize(
    ("settings", "args", "message"), BAD_CALLS, ids=[message[:50] for *_, message in BAD_CALLS]
)
def test_errors_name_the_argument_and_both_sizes(settings, args, message):
    mapped = lw.vmap(first_of, **settings)
    with pytest.raises(ValueError, match=message):
        mapped(*args)

    def around(_):
        return mapped(*args)  # the line that the message names

    with pytest.raises(ValueError, match=message) as inside:
        lw.vmap(around)(np.ones(2))
    assert re.search(r"test_in_dims.py:\d+: ", str(inside.value))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (dict(in_dims=1.0), ValueError, r"in_dims takes ints.*in_dims is 1\.0"),
        (dict(in_dims="0"), ValueError, "in_dims is '0'"),
        (dict(in_dims=True), ValueError, "in_dims is True"),
        (dict(in_dims=(0, np.True_)), ValueError, r"in_dims\[1\] is np\.True_"),
        (dict(in_dims=({"a": [0, "x"]},)), ValueError, r"in_dims\[0\]\['a'\]\[1\] is 'x'"),
        (dict(in_dims=(np.arange(2),)), ValueError, r"in_dims\[0\] is array"),
        (
            dict(in_dims={"a": 0}),
            ValueError,
            r"a tuple with an entry for each .*write \(\{'a': 0\},\)",
        ),
        (dict(in_dims=None), ValueError, "in_dims is None for every argument.*axis_size"),
        (dict(out_dims=0.5), ValueError, "out_dims takes ints.*out_dims is 0.5"),
        (dict(out_dims=(0, "a")), ValueError, r"out_dims\[1\] is 'a'"),
        (dict(out_dims=False), ValueError, "out_dims is False"),
        (dict(chunk_size=0), ValueError, "chunk_size must be at least 1, but is 0"),
        (dict(chunk_size=-2), ValueError, "but is -2"),
        (dict(chunk_size=1.5), TypeError, "float"),
        (dict(chunk_size="2"), TypeError, "str"),
        (dict(axis_size=-1), ValueError, "axis_size must not be negative, but is -1"),
        (dict(axis_size=2.0), TypeError, "float"),
        (dict(randomness="sometimes"), ValueError, "error, different, same, not 'sometimes'"),
    ],
)
def test_bad_settings_are_refused_at_once(settings, error, message):
    with pytest.raises(error, match=message):
        lw.vmap(np.sin, **settings)
