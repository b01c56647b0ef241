"""`py_func`: host code in a traced function, called as the loop over the examples calls it."""

from __future__ import annotations

import itertools
import re
import traceback
from collections import OrderedDict, namedtuple
from contextlib import contextmanager

import numpy as np
import optree
import pytest

import lanewise as lw
from support.oracle import assert_same

X = np.arange(12.0).reshape(4, 3)
SPEC = lw.TensorSpec


class Log(list):
    """Host functions that remember, in order, what they were called with."""

    def host(self, name, result=lambda *arrays: arrays[0]):
        def call(*arrays):
            assert all(type(array) is np.ndarray for array in arrays)
            self.append((name, *[array.tolist() for array in arrays]))
            return result(*arrays)

        return call


def looped(func, x, log):
    """Return what the loop gives, and the calls that it makes."""
    log.clear()
    expected = [func(row) for row in x]
    calls = list(log)
    log.clear()
    return expected, calls


def assert_called_as_in_the_loop(func, x, log, **settings):
    expected, calls = looped(func, x, log)
    got = lw.vmap(func, **settings)(x)
    assert log == calls
    if expected and expected[0] is not None:
        assert_same(got, np.stack(expected))
    return got


# --- order of calls ------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [None, 1, 2, 3, 7])
def test_one_call_an_example_in_order(chunk):
    log = Log()

    def func(r):
        return lw.py_func(log.host("a", np.cumsum), [r * 2], float) + 1

    assert_called_as_in_the_loop(func, X, log, chunk_size=chunk)


@pytest.mark.parametrize("chunk", [None, 1, 3])
def test_calls_that_depend_on_each_other(chunk):
    log = Log()

    def func(r):
        a = lw.py_func(log.host("a", np.sort), [r], float)
        b = lw.py_func(log.host("b", lambda v, _: v.sum()), [a * 2, r], SPEC(()))
        c = lw.py_func(log.host("c"), [np.sin(a) + b], float)
        return c * r.mean() + b

    assert_called_as_in_the_loop(func, X, log, chunk_size=chunk)


def test_calls_that_do_not_depend_on_each_other():
    log = Log()

    def func(r):
        lw.py_func(log.host("first"), [r], None)
        y = np.exp(r) * 2  # no part of the run of calls
        lw.py_func(log.host("second"), [r[::-1]], None)
        z = y @ y
        return lw.py_func(log.host("third"), [z], SPEC(())) + y

    assert_called_as_in_the_loop(func, X, log)


def test_calls_without_inputs_or_results_and_with_inputs_that_do_not_vary():
    log, counter = Log(), itertools.count()
    table = np.arange(2.0)

    def func(r):
        number = lw.py_func(lambda: next(counter), [], SPEC((), int))
        lw.py_func(log.host("table"), [table, np.exp(table), 3], None)
        return r + number

    got = lw.vmap(func)(X)
    assert_same(got, X + np.arange(4)[:, None])
    assert log == [("table", [0.0, 1.0], np.exp(table).tolist(), 3)] * 4
    log.clear()
    with pytest.raises(ValueError, match="differs from example to example"):
        lw.vmap(lambda: lw.py_func(lambda: 1.0, [], SPEC(())), axis_size=2, out_dims=None)()
    assert_same(
        lw.vmap(lambda: lw.py_func(lambda: next(counter), [], SPEC((), int)), axis_size=3)(),
        np.array([4, 5, 6]),
    )


def test_calls_nobody_uses_are_made_and_none_for_an_empty_batch():
    log = Log()

    def func(r):
        lw.py_func(log.host("a"), [r], float)
        return r

    assert_called_as_in_the_loop(func, X, log)
    for settings in ({}, {"chunk_size": 2}):
        assert lw.vmap(func, **settings)(X[:0]).shape == (0, 3)
    assert lw.map_fn(func, X[:0]).shape == (0, 3)
    assert lw.vectorized_map(func, X[:0]).shape == (0, 3)
    assert log == [("a", row.tolist()) for row in X]


def test_nested_maps_call_as_nested_loops():
    log = Log()

    def inner(v):
        a = lw.py_func(log.host("inner a"), [v], float)
        return lw.py_func(log.host("inner b"), [a + 1], float)

    def outer(r, mapper):
        lw.py_func(log.host("before"), [r], None)
        result = mapper(inner, r)
        lw.py_func(log.host("after"), [result.sum()], None)
        return result * 2

    def loop(f, r):
        return np.stack([f(v) for v in r])

    expected, calls = looped(lambda r: outer(r, loop), X, log)
    mappers = [
        lambda f, r: lw.vmap(f)(r),
        lambda f, r: lw.vmap(f, chunk_size=2)(r),
        lambda f, r: lw.map_fn(f, r),
        lambda f, r: lw.vectorized_map(f, r),
        lambda f, r: lw.vectorize(f)(r),
    ]
    for mapper in mappers:
        for settings in ({}, {"chunk_size": 3}):
            got = lw.vmap(lambda r, m=mapper: outer(r, m), **settings)(X)
            assert_same(got, np.stack(expected))
            assert log == calls
            log.clear()
    assert_same(lw.map_fn(lambda r: outer(r, mappers[0]), X), np.stack(expected))
    assert log == calls


def test_within_two_maps_the_first_axis_is_the_slow_one():
    log = Log()

    def func(v):
        return lw.py_func(log.host("v"), [v], float) * 2

    for mapped, x in [
        (lw.vmap(lw.vmap(func)), X),
        (lw.vmap(lw.vmap(func, in_dims=0), in_dims=1, out_dims=1), X),
    ]:
        log.clear()
        assert_same(mapped(x), x * 2)
        order = x if mapped is not None and mapped._settings[0] == 0 else x.T
        assert [v for _, v in log] == order.ravel().tolist()


# --- vectorized ----------------------------------------------------------------------------------


def test_vectorized_calls_once_for_the_whole_batch():
    shapes = []

    def host(rows, w):
        shapes.append((rows.shape, w.shape))
        return rows * w, rows.sum(-1)

    w = np.arange(3.0)

    def func(r):
        return lw.py_func(host, [r, w], (SPEC((3,)), SPEC(())), vectorized=True)

    assert_same(lw.vmap(func)(X), (X * w, X.sum(1)))
    assert shapes == [((4, 3), (4, 3))]
    shapes.clear()
    assert_same(lw.vmap(func, chunk_size=3)(X), (X * w, X.sum(1)))
    assert shapes == [((3, 3), (3, 3)), ((1, 3), (1, 3))]
    shapes.clear()
    assert_same(lw.vmap(lw.vmap(func))(X[None]), (X[None] * w, X[None].sum(2)))
    assert shapes == [((1, 4, 3), (1, 4, 3))]
    shapes.clear()
    assert_same(lw.vmap(func)(X[:0]), (X[:0], X[:0].sum(1)))
    assert shapes == [((0, 3), (0, 3))]
    shapes.clear()
    assert_same(lw.map_fn(func, X), (X * w, X.sum(1)))  # one after the other, as it says
    assert shapes == [((3,), (3,))] * 4


def test_vectorized_calls_between_others():
    log = Log()

    def func(r):
        a = lw.py_func(log.host("a"), [r], float)
        b = lw.py_func(log.host("whole"), [a * 2], float, vectorized=True)
        c = lw.py_func(log.host("c"), [b + 1], float)
        return lw.py_func(log.host("d"), [c], float)

    assert_same(lw.vmap(func)(X[:2]), X[:2] * 2 + 1)
    one, two = (X[:2] * 2 + 1).tolist()
    assert log == [
        ("a", X[0].tolist()),
        ("a", X[1].tolist()),
        ("whole", (X[:2] * 2).tolist()),
        ("c", one),
        ("d", one),
        ("c", two),
        ("d", two),
    ]


def test_vectorized_without_inputs_and_wrong_results():
    got = lw.vmap(
        lambda r: r + lw.py_func(lambda: np.arange(4), [], SPEC((), int), vectorized=True)
    )
    assert_same(got(X), X + np.arange(4)[:, None])
    with pytest.raises(TypeError, match=r"announced a result of shape \(4, 3\).*shape \(3,\)"):
        lw.vmap(lambda r: lw.py_func(lambda a: a[0], [r], float, vectorized=True))(X)


# --- results -------------------------------------------------------------------------------------

Two = namedtuple("Two", "low high")


@pytest.mark.parametrize(
    ("types", "result"),
    [
        (float, lambda r: r),
        (np.float32, lambda r: r.tolist()),
        ("f4", lambda r: r),
        (np.dtype(complex), lambda r: r),
        (SPEC((3,), float), lambda r: tuple(r)),
        (SPEC((1,), float), lambda r: [r.sum()]),
        (SPEC((1, 1), float), lambda r: [[r.sum()]]),
        (SPEC((), int), lambda r: 7),
        (SPEC((), bool), lambda r: r[0] > 3),
        (SPEC((0, 2), "i1"), lambda r: np.zeros((0, 2), "i1")),
        ((float, SPEC((), float)), lambda r: (r, r.sum())),
        ((float, SPEC((), float)), lambda r: [r, r.sum()]),
        ((SPEC(()), SPEC(())), lambda r: Two(r.min(), r.max())),
        ([float], lambda r: [r]),
        ({"a": float, "b": {"c": [SPEC(())]}}, lambda r: {"b": {"c": [r[0]]}, "a": -r}),
        ({"b": float, "a": SPEC(())}, lambda r: OrderedDict(b=r, a=r[0])),
        (Two(SPEC(()), SPEC(())), lambda r: (r.min(), r.max())),
        ((SPEC((2,)), SPEC((2, 2))), lambda r: np.linalg.eigh(np.diag(r[:2]))),
        ((), lambda r: ()),
        ({"a": float, "none": None}, lambda r: {"a": r, "none": "anything"}),
    ],
    ids=lambda case: "" if callable(case) else re.sub(r"[^\w]+", "-", str(case)),
)
def test_results_of_every_structure(types, result):
    def func(r):
        return lw.py_func(result, [r], types)

    mapped = lw.vmap(func)(X)
    eager = [func(row) for row in X]  # outside of a trace: the same, at once
    leaves, structure = optree.tree_flatten(mapped)
    for row, expected in zip(range(4), eager, strict=True):
        found, found_structure = optree.tree_flatten(expected)
        assert found_structure == structure
        for leaf, batch in zip(found, leaves, strict=True):
            assert isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype == batch.dtype
            np.testing.assert_array_equal(batch[row], leaf)


@pytest.mark.parametrize(
    ("types", "result", "message"),
    [
        (
            float,
            lambda r: r[:2],
            r"announced a result of shape \(3,\) and dtype float64.*shape \(2,\)",
        ),
        (float, lambda r: r + 1j, "dtype complex128"),
        (int, lambda r: r, "dtype int64.*returned shape .* dtype float64"),
        (float, lambda r: None, "dtype object"),
        (float, lambda r: "text", "dtype <U4"),
        (SPEC(()), lambda r: (1.0, 2.0), r"announced a result of shape \(\).*shape \(2,\)"),
        (
            (float, float),
            lambda r: r,
            "output_types is a tuple of 2 where what the function returned is a single ndarray",
        ),
        ((float, float), lambda r: (r,), "a tuple of 2 where .* is a tuple of 1"),
        ({"a": float}, lambda r: {"b": r}, "keys 'a' where .* keys 'b'"),
        (
            ((float,),),
            lambda r: (r,),
            r"output_types\[0\] is a tuple of 1 where .*\[0\] is a single",
        ),
    ],
)
def test_other_results_than_announced_are_refused(types, result, message):
    def func(r):
        return lw.py_func(result, [r], types)

    with pytest.raises(TypeError, match=message):
        func(X[0])
    with pytest.raises(TypeError, match=rf"(?s){message}.*in example 0 \(.*test_py_func.py:\d+"):
        lw.vmap(func)(X)


def test_bad_calls():
    with pytest.raises(TypeError, match="takes a function, not float"):
        lw.py_func(1.0, [X], float)
    for wrong in (X, 3, {"a": X}):
        with pytest.raises(
            TypeError, match=r"takes a list of inputs, not \w+; write \[x\] for one"
        ):
            lw.py_func(np.sin, wrong, float)
    with pytest.raises(ValueError, match="without inputs needs a TensorSpec"):
        lw.py_func(lambda: 1, [], float)
    with pytest.raises(lw.UnsupportedError, match="a result of py_func has dtype <U"):
        lw.py_func(lambda a: "x", [X], str)
    with pytest.raises(lw.UnsupportedError, match="an input of py_func of type str"):
        lw.vmap(lambda r: lw.py_func(lambda a, b: a, [r, "x"], float))(X)


def test_what_the_host_gets_and_gives_is_its_own():
    x, w = X.copy(), np.ones(3)
    kept = []

    def host(r, weight):
        r += 100
        weight += 100
        kept.extend((r, weight))
        return r

    def func(r):
        result = lw.py_func(host, [r, w], float)
        result[0] = -1.0
        return result, r

    got, same = lw.vmap(func)(x)
    assert np.array_equal(x, X) and (w == 1).all()
    assert_same(same, X)
    assert got[:, 0].tolist() == [-1.0] * 4 and all((k >= 100).all() for k in kept)
    constant = np.zeros(3)
    got = lw.vmap(lambda r: lw.py_func(lambda a: constant, [r], float, vectorized=False))(X)
    got += 1
    assert not constant.any()


def test_a_function_of_its_own_map_within_host_code():
    def func(r):
        return lw.py_func(lambda a: lw.vmap(lambda v: v * 2 + w)(a), [r], float)

    w = np.ones(())
    assert_same(lw.vmap(func)(X), X * 2 + 1)


# --- errors of the host --------------------------------------------------------------------------


class CustomError(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


@contextmanager
def raised(kind, example, line):
    with pytest.raises(kind) as info:
        yield info
    text = "\n".join([str(info.value), *getattr(info.value, "__notes__", ())])
    assert f"in example {example} (" in text and "test_py_func.py:" in text, text
    assert line in text and text.count("in example") == 1, text
    assert any("fail" in frame.name for frame in traceback.extract_tb(info.value.__traceback__))


def failing(error, when):
    def fail(r):
        if np.any(r == when):
            raise error
        return r

    return fail


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        (ValueError, ("bad",)),
        (KeyError, ("k",)),
        (CustomError, (3, "x")),
        (ZeroDivisionError, ()),
        (OSError, (2, "no")),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
@pytest.mark.parametrize("chunk", [None, 1, 2, 3])
def test_errors_keep_their_type_and_name_the_example_and_the_line(kind, args, chunk):
    error = kind(*args)

    def func(r):
        a = lw.py_func(lambda v: v, [r], float)
        return lw.py_func(failing(error, 8.0), [a + 1], float) * 2  # this line

    with raised(kind, 2, "# this line") as info:
        lw.vmap(func, chunk_size=chunk)(X)
    assert info.value is error
    if kind is CustomError:
        assert info.value.code == 3


def test_errors_in_nested_maps_name_both_numbers():
    fail = failing(RuntimeError("bad"), 7.0)

    def func(v):
        return lw.py_func(fail, [v], float)

    for mapped in (
        lw.vmap(lw.vmap(func)),
        lw.vmap(lw.vmap(func, chunk_size=2)),
        lw.vmap(lw.vmap(func), chunk_size=2),
        lambda x: lw.map_fn(lw.vmap(func), x),
        lambda x: lw.vmap(lambda r: lw.map_fn(func, r))(x),
    ):
        fail = failing(RuntimeError("bad"), 7.0)
        with raised(RuntimeError, "2, 1", "lw.py_func(fail"):
            mapped(X)


def test_errors_elsewhere_in_a_function_with_host_code():
    def func(m):
        lw.py_func(lambda a: None, [m], None)
        return np.linalg.inv(m)  # here

    with pytest.raises(
        np.linalg.LinAlgError, match=r"Singular(?s:.)*test_py_func.py:\d+: .*# here"
    ):
        lw.vmap(func)(np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"bad\n  in the traced function .*vectorized=True"):
        fail = failing(ValueError("bad"), 4.0)
        lw.vmap(lambda r: lw.py_func(fail, [r], float, vectorized=True))(X)


def test_causes_and_contexts_are_kept():
    def fail(r):
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error

    with pytest.raises(ValueError, match="outer") as info:
        lw.vmap(lambda r: lw.py_func(fail, [r], float))(X)
    assert isinstance(info.value.__cause__, KeyError)


def test_a_later_example_is_not_called_after_an_error():
    log = Log()

    def fail(r):
        log.append(float(r))
        raise ValueError("stop")

    with pytest.raises(ValueError, match="in example 0"):
        lw.vmap(lambda r: lw.py_func(fail, [r], float))(X[:, 0])
    assert log == [0.0]


def test_keyboard_interrupts_pass():
    def interrupt(r):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lw.vmap(lambda r: lw.py_func(interrupt, [r], float))(X)
