"""`vmap` itself: what can be mapped, what can be passed, and what the mapped function is."""

from __future__ import annotations

import array
import copy
import functools
import inspect
import math
import operator
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import pytest
import scipy.special

import lanewise as lw
from support.oracle import assert_maps, assert_same

X = np.linspace(-2, 3, 24).reshape(4, 3, 2)


# --- what can be mapped --------------------------------------------------------------------------


class Scale:
    """A callable object, with methods of every kind."""

    factor = 3.0
    sine = lw.vmap(np.sin)  # no descriptor: not bound
    plus_one = lw.vmap(staticmethod(functools.partial(np.add, 1)))  # 3.14 binds it else

    def __call__(self, row):
        return row * self.factor

    @lw.vmap
    def method(self, row):
        """Scale a row."""
        return row.sum() * self.factor

    @functools.partial(lw.vmap, in_dims=(0, None))
    def mixed(self, row, weight):
        return row * weight * self.factor

    @staticmethod
    @lw.vmap
    def static(row):
        return row.max()

    @lw.vmap
    @staticmethod
    def static_inside(row):
        return row.min()

    @property
    def mapped(self):
        return lw.vmap(self)


def rows(func, x=X):
    return np.stack([func(row) for row in x])


@pytest.mark.parametrize(
    "func",
    [
        np.sin,
        np.sum,
        np.linalg.norm,
        scipy.special.expit,
        abs,
        sum,
        len,
        operator.neg,
        operator.itemgetter(0),
        operator.attrgetter("T"),
        operator.methodcaller("mean", 0),
        functools.partial(np.power, 2.0),
        functools.partial(functools.partial(np.add, 2.0), out=None),
        functools.reduce(lambda f, g: lambda x: g(f(x)), [np.abs, np.sqrt, np.sum]),
        Scale(),
        Scale().__call__,
        eval("lambda x: x * 2 + 1"),  # without source
        tuple,
        list,
    ],
    ids=lambda func: getattr(func, "__qualname__", type(func).__name__),
)
def test_any_callable(func):
    expected = rows(lambda row: np.asarray(func(row)))
    got = lw.vmap(func)(X)
    if isinstance(got, (tuple, list)):
        assert type(got) is func
        got = np.stack(got, axis=1)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_ufuncs_and_builtins_of_several_arguments():
    y = X + 0.5
    for func in (np.add, np.hypot, operator.mul, divmod, np.logaddexp):
        expected = func(X, y)
        got = lw.vmap(func)(X, y)
        assert_same(got, expected)
    assert_same(lw.vmap(pow)(np.abs(X), np.full(4, 2)), np.abs(X) ** 2)
    assert_same(lw.vmap(round)(X[:, 0, 0]), np.array([round(v) for v in X[:, 0, 0]]))
    assert_same(lw.vmap(math.prod)(X[:, :, 0]), rows(math.prod, X[:, :, 0]))


def test_methods():
    scale = Scale()
    assert_same(scale.method(X), X.sum((1, 2)) * 3)
    assert_same(Scale.method.__get__(scale)(X), X.sum((1, 2)) * 3)
    assert_same(scale.mixed(X, np.arange(2.0)), X * np.arange(2.0) * 3)
    assert_same(scale.static(X), X.max((1, 2)))
    assert_same(Scale.static(X), X.max((1, 2)))
    assert_same(scale.static_inside(X), X.min((1, 2)))
    assert_same(Scale.static_inside(X), X.min((1, 2)))
    assert_same(scale.sine(X), np.sin(X))
    assert_same(Scale.sine(X), np.sin(X))
    assert_same(scale.plus_one(X), X + 1)
    assert_same(scale.mapped(X), X * 3)
    other = Scale()
    other.factor = 5.0
    assert_same(other.method(X), X.sum((1, 2)) * 5)
    assert_same(scale.method(X), X.sum((1, 2)) * 3)


def test_a_class_is_mapped_to_its_instances_made_of_batches():
    point = namedtuple("point", "x y")
    got = lw.vmap(point)(X[:, 0], X[:, 1])
    assert type(got) is point
    assert_same(got.x, X[:, 0])


def test_it_looks_like_the_function():
    mapped = Scale.method
    assert mapped.__name__ == "method" and mapped.__doc__ == "Scale a row."
    assert mapped.__qualname__ == "Scale.method" and mapped.__module__ == __name__
    assert str(inspect.signature(lw.vmap(lambda a, *, b=2: a))) == "(a, *, b=2)"
    assert repr(lw.vmap(np.sin)) == "<vmap of sin>"
    assert repr(lw.vmap(functools.partial(np.add, 1))) == "<vmap of add>"

    def func(x):
        return x

    func.note = "kept"
    assert lw.vmap(func).note == "kept"
    with pytest.raises(AttributeError):
        lw.vmap(func).other  # noqa: B018


def test_it_can_be_copied_and_pickled():
    mapped = lw.vmap(np.sin, out_dims=1)
    for twin in (
        copy.copy(mapped),
        copy.deepcopy(mapped),
        pickle.loads(pickle.dumps(mapped)),
    ):
        assert_same(twin(X), np.moveaxis(np.sin(X), 0, 1))


def test_as_a_decorator_with_settings():
    @functools.partial(lw.vmap, in_dims=(0, None), out_dims=-1)
    def f(x, w):
        return x * w

    assert_same(f(X[:, 0], np.arange(2.0)), (X[:, 0] * np.arange(2.0)).T)


def test_the_function_runs_once_a_call_and_sees_its_globals_as_they_are():
    calls = []
    offset = 1.0

    def f(x):
        calls.append(x.shape)
        return x + offset

    mapped = lw.vmap(f, autograph=False)
    assert_same(mapped(X), X + 1)
    offset = 2.0
    assert_same(mapped(X), X + 2)
    assert calls == [(3, 2), (3, 2)]


def test_what_a_traced_example_shows():
    def f(x):
        assert isinstance(x, lw.Tensor)
        assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, len(x)) == ((3, 2), 2, 6, 4, 24, 3)
        assert x.dtype == np.float32 and np.shape(x) == (3, 2) and np.ndim(x) == 2
        assert repr(x) == str(x) == f"{x}" == "Tensor(f32[3,2])"
        assert [row.shape for row in x] == [(2,)] * 3
        return x

    lw.vmap(f, autograph=False)(X.astype(np.float32))


# --- what can be passed --------------------------------------------------------------------------


def test_keyword_arguments_are_never_mapped():
    def f(x, *, scale=2.0, offsets=(), name="plain", table=None):
        assert name in ("plain", "fancy")
        result = x * scale
        for offset in offsets:
            result = result + offset
        return result if table is None else result + table["w"]

    mapped = lw.vmap(f)
    assert_same(mapped(X), X * 2)
    assert_same(mapped(X, scale=3), X * 3)
    assert_same(mapped(X, scale=np.ones(2), name="fancy"), X)
    assert mapped(X, scale=X).shape == (4, 4, 3, 2)
    assert_same(mapped(X, offsets=[1, np.arange(2.0)]), X * 2 + 1 + np.arange(2.0))
    assert_same(mapped(X, table={"w": np.ones((3, 2))}), X * 2 + 1)


def test_what_is_not_mapped_reaches_the_function_as_it_is():
    class Thing:
        pass

    names = np.array(["a", "b"])
    thing, mapping = Thing(), {"k": 1, "f": np.sin}

    def f(x, *, labels, other, settings, number, numbers):
        assert labels is names and other is thing and settings == mapping
        assert type(number) is int and numbers == [1, 2.5]
        return settings["f"](x) + number

    got = lw.vmap(f)(X, labels=names, other=thing, settings=mapping, number=3, numbers=[1, 2.5])
    assert_same(got, np.sin(X) + 3)
    got = lw.vmap(lambda x, n: x * n, in_dims=(0, None))(X, 2)  # a Python number stays one
    assert_same(got, X * 2)
    small = X.astype(np.float32)
    assert lw.vmap(lambda x, n: x * n, in_dims=(0, None))(small, 2.5).dtype == np.float32
    assert lw.vmap(lambda x, n: x * n, in_dims=(0, None))(small, np.float64(2)).dtype == np.float64


class HasArray:
    """As the columns and series of other libraries: an object with ``__array__``."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


BATCH = np.array([[1.0, -2.0], [0.5, 3.0], [4.0, 0.0]])


@pytest.mark.parametrize(
    "batch",
    [
        np.asfortranarray(BATCH),
        BATCH[::-1],
        np.repeat(BATCH, 2, axis=0)[::2],
        np.repeat(BATCH, 3, axis=1)[:, ::3],
        np.broadcast_to(BATCH[:1], (3, 2)),
        np.lib.stride_tricks.sliding_window_view(np.arange(4.0), 2),
        BATCH.astype(">f8"),
        BATCH.astype(">i4"),
        BATCH.astype("<f4"),
        BATCH.astype(np.float16),
        BATCH.astype(np.longdouble),
        BATCH.astype(np.uint8),
        BATCH > 0,
        BATCH + 1j,
        np.array(BATCH, order="F", copy=True).T.copy().T,
        BATCH.tolist(),
        [[1, 2], [3, 4]],
        [[True, False]],
        [np.float32(1), np.float32(2)],
        [np.int64(3), 4],
        [1, 2.5, True],
        range(4),
        memoryview(BATCH),
        memoryview(b"abc"),
        array.array("f", [1, 2]),
        HasArray([[1.0, 2.0], [3.0, 4.0]]),
        np.rec.array(BATCH).view(np.recarray),
        np.frombuffer(b"12345678", np.uint8),
        np.zeros((3, 2))[:, :0],
        np.zeros((0, 2)),
        [],
        BATCH.view(type("Sub", (np.ndarray,), {})),
    ],
    ids=lambda b: f"{type(b).__name__}-{np.asarray(b).dtype}-{np.asarray(b).shape}",
)
def test_anything_array_like_in_every_layout(batch):
    plain = np.array(np.asarray(batch), order="C")
    plain = plain.astype(plain.dtype.newbyteorder("="))
    before = plain.copy()
    for func in (
        lambda x: x,
        lambda x: x + x,
        lambda x: np.sum(x, axis=None),
        lambda x: x[..., :1],
    ):
        if plain.ndim == 1 and func(np.zeros((1, 2))).shape == (1, 1):
            continue  # an example without axes
        got = lw.vmap(func)(batch)
        expected = [np.asarray(func(row)) for row in plain]
        assert type(got) is np.ndarray and got.dtype.isnative
        if expected:
            assert_same(got, np.stack(expected))
        assert len(got) == len(plain)
    np.testing.assert_array_equal(np.asarray(batch), before)


def test_memory_mapped_files(tmp_path):
    for mode in ("r", "c", "r+"):
        np.save(tmp_path / "x.npy", X)
        mapped = np.load(tmp_path / "x.npy", mmap_mode=mode)
        assert_same(lw.vmap(lambda x: x * 2)(mapped), X * 2)
        same = lw.vmap(lambda x: x)(mapped)
        assert type(same) is np.ndarray and not np.shares_memory(same, mapped)
        captured = lw.vmap(lambda i, table=mapped: table.sum() + table[0, 0] * i)(np.arange(2.0))
        assert_same(captured, X.sum() + np.stack([X[0, 0] * i for i in range(2)]))


def test_read_only_inputs():
    x = X.copy()
    x.flags.writeable = False

    def f(row):
        row[0] = 7.0  # the example is its own
        return row

    expected = X.copy()
    expected[:, 0] = 7.0
    assert_same(lw.vmap(f)(x), expected)
    np.testing.assert_array_equal(x, X)


def test_a_function_may_write_to_its_arguments_and_the_callers_arrays_never_change():
    x, w, k = X.copy(), np.ones((3, 2)), np.arange(2.0)

    def f(row, weight, *, key):
        row *= 2
        weight[1] += row[0]  # each example's own copy
        key[:] = weight[0]
        return row, weight, key

    got = lw.vmap(f, in_dims=(0, None))(x, w, key=k)
    expected = [f(row.copy(), np.ones((3, 2)), key=np.arange(2.0)) for row in X]
    for index in range(3):
        assert_same(got[index], np.stack([e[index] for e in expected]))
    assert np.array_equal(x, X) and (w == 1).all() and k.tolist() == [0, 1]


def test_containers_in():
    pair = namedtuple("pair", "a b")
    x, y = X[:, 0], X[:, 1]
    cases = [
        ((x, y), lambda p: p[0] * p[1]),
        ([x, y], lambda p: p[0] * p[1]),
        ({"a": x, "b": y}, lambda p: p["a"] * p["b"]),
        (OrderedDict(b=y, a=x), lambda p: p["a"] * p["b"]),
        (defaultdict(list, b=y, a=x), lambda p: p["a"] * p["b"]),
        (pair(x, y), lambda p: p.a * p.b),
        (deque([x, y]), lambda p: p[0] * p[1]),
        ({"l": x.tolist(), "n": {"m": (y,)}}, lambda p: p["l"] * p["n"]["m"][0]),
        ((x, None, (), {}, [y]), lambda p: p[0] * p[4][0]),
    ]
    for argument, func in cases:
        seen = []
        got = lw.vmap(lambda p, func=func, seen=seen: seen.append(type(p)) or func(p))(argument)
        assert_same(got, x * y)
        assert seen == [type(argument)] * len(x)


def test_many_dimensions():
    x = np.arange(4.0).reshape((1,) * 20 + (2,) + (1,) * 20 + (2,) + (1,) * 21)
    assert x.ndim == 63
    mapped = lw.vmap(
        lambda a: a.sum(axis=tuple(range(30))) * 2 + a[(0,) * 20].ravel()[0], in_dims=20
    )
    expected = np.stack(
        [
            np.take(x, i, 20).sum(axis=tuple(range(30))) * 2
            + np.take(x, i, 20)[(0,) * 20].ravel()[0]
            for i in range(2)
        ]
    )
    assert_same(mapped(x), expected)
    assert_same(lw.vmap(lambda a: a, out_dims=62)(np.moveaxis(x, 20, 0)), np.moveaxis(x, 20, 62))

    def func(v):
        return v + 1

    for _ in range(40):  # and as many maps
        func = lw.vmap(func)
    assert_same(func(np.zeros((1,) * 40)), np.ones((1,) * 40))


# --- sizes ---------------------------------------------------------------------------------------


def test_batches_of_one_and_none():
    for func in (lambda a, b: a @ b, lambda a, b: a.mean() + b, lambda a, b: (a[0], 3)):
        one = lw.vmap(func)(X[:1], X[:1, 0])
        none = lw.vmap(func)(X[:0], X[:0, 0])
        for o, n in zip(_leaves(one), _leaves(none), strict=True):
            assert n.shape == (0, *o.shape[1:]) and n.dtype == o.dtype and n.flags.writeable


def _leaves(tree):
    return tree if isinstance(tree, tuple) else (tree,)


def test_empty_examples():
    assert_maps(lambda a: a.sum(), np.zeros((3, 0)))
    assert_maps(lambda a: a * 2, np.zeros((3, 0, 2)))
    assert_maps(lambda a, b: a @ b, np.zeros((3, 2, 0)), np.zeros((3, 0, 2)))


def test_axis_size():
    assert_same(lw.vmap(lambda: np.arange(3.0), axis_size=2)(), np.tile(np.arange(3.0), (2, 1)))
    assert_same(lw.vmap(lambda: 5, axis_size=0)(), np.zeros(0, int))
    assert_same(
        lw.vmap(lambda w: w * 2, in_dims=None, axis_size=3)(np.ones(2)), np.full((3, 2), 2.0)
    )
    assert_same(lw.vmap(lambda w: w, in_dims=(None,), axis_size=2)(np.ones(2)), np.ones((2, 2)))
    assert_same(lw.vmap(lambda x: x, axis_size=np.int64(4))(X), X)
    assert_same(
        lw.vmap(lambda x, *, w: w, in_dims=None, axis_size=2)(1, w=np.ones(2)), np.ones((2, 2))
    )
    assert_same(
        lw.vmap(lambda w: w * 2, in_dims=None, axis_size=5, chunk_size=2)(np.ones(2)),
        np.full((5, 2), 2.0),
    )
    unmapped = lw.vmap(lambda w: w * 2, in_dims=None, out_dims=None, axis_size=3)(np.ones(2))
    assert_same(unmapped, np.full(2, 2.0))


# --- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", "?bBhHiIlLqQefdgFDG")
def test_every_dtype(char):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(char)
    assert_maps(lambda a: (a, a[:2], a * a, a.sum(), a + a[::-1], a == a[0]), x)


def test_weak_python_numbers():
    for char in "bBhefF":
        x = np.ones((2, 3), char)
        assert_maps(lambda a: (a + 1, 2 * a, a * True, a / 2, a**2), x)
    assert_maps(lambda a: (a + 1.5, a * 2j), np.ones((2, 3), np.float32))
    with pytest.raises(OverflowError):
        lw.vmap(lambda a: a + 300)(np.ones((2, 3), np.uint8))
