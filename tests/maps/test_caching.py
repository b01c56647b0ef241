"""What compiles again and what does not, and what is kept in memory afterwards."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy as np
import pytest

import lanewise as lw
from lanewise.api import kept
from lanewise.ops import registry
from lanewise.runtime import dispatch
from support.oracle import assert_same

X = np.arange(12.0).reshape(4, 3)


@pytest.fixture
def no_collector():
    """Run without the garbage collector: what is freed, is freed by reference counts."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# --- compiling again -----------------------------------------------------------------------------


def test_another_call_size_layout_or_value_does_not_compile_again(compiled):
    w = np.ones(3)

    def func(x):
        return (x * w + 2).sum()

    mapped = lw.vmap(func)
    assert_same(mapped(X), func_rows(func))
    assert compiled() == 1
    for batch in (
        X,
        X + 1,
        X[:1],
        X[:0],
        X[::-1],
        np.asfortranarray(X),
        X.tolist(),
        np.ones((99, 3)),
    ):
        mapped(batch)
    lw.vmap(func)(X)  # another map of the function
    w = np.full(3, 5.0)
    assert_same(mapped(X), func_rows(func))
    w[:] = 7
    assert_same(mapped(X), func_rows(func))
    assert compiled() == 0
    assert len(dispatch._cache) == 1
    lw.vmap(lambda x: (x * w + 2).sum())(X)  # another that does the same: warnings name its lines
    assert compiled() == 1


def func_rows(func):
    return np.stack([func(x) for x in X])


def test_what_compiles_again(compiled):
    for mapped, x in [
        (lw.vmap(lambda x: x * 2), X),
        (lw.vmap(lambda x: x * 2), X.astype(np.float32)),
        (lw.vmap(lambda x: x * 2), X[:, :2]),
        (lw.vmap(lambda x: x * 2, in_dims=1), X),
        (lw.vmap(lambda x: x * 2, chunk_size=2), X),
        (lw.vmap(lambda x: x * 3), X),
        (lw.vmap(lambda x: 2 * x), X),
        (lw.vmap(lambda x: x + 2), X),
        (lw.vmap(lambda x: (x * 2, x)), X),
        (lambda x: lw.map_fn(lambda r: r * 2, x), X),
        (lambda x: lw.vectorized_map(lambda r: r * 2, x, False), X),
    ]:
        mapped(x)
        assert compiled() == 1
        mapped(x)
        assert compiled() == 0


def test_out_dims_and_structure_do_not_compile_again(compiled):
    def func(x):
        return (x[:, None] * x, x.sum())

    def structured(x, as_dict):
        pair = (x[:, None] * x, x.sum())
        return {"a": pair[0], "b": [pair[1]]} if as_dict else pair

    lw.vmap(structured, in_dims=(0, None))(X, False)
    lw.vmap(structured, in_dims=(0, None))(X, True)
    assert compiled() == 1
    lw.vmap(func)(X)
    lw.vmap(func, out_dims=(1, 0))(X)
    assert compiled() == 1
    lw.vmap(func, out_dims=(-1, 0))(X)  # made with the examples side by side
    lw.vmap(func, out_dims=(2, -1))(X)
    assert compiled() == 1


NUMBERS = [0, 0.0, -0.0, False, 1, 1.0, True, 1 + 0j, 0j, -0j, complex(0.0, -0.0), 2.0, 2,
           float("inf"), np.float32(1), np.int64(1), -1, -1.0]  # fmt: skip


def test_python_constants_that_are_equal_do_not_collide(compiled):
    functions = (lambda x, c: x * c, lambda x, c: (c, x), lambda x, c: x / (c + x * 0))
    for number, (first, second) in enumerate(itertools.product(NUMBERS, repeat=2)):
        func = functions[number % 3]  # of a pair and its reverse another
        dispatch._cache.clear()
        for c in (first, second):
            with np.errstate(all="ignore"):
                got = lw.vmap(lambda x, c=c, func=func: func(x, c))(X)
                expected = [func(row, c) for row in X]
            for leaf, rows in zip(
                _leaves(got), zip(*map(_leaves, expected), strict=True), strict=True
            ):
                stacked = np.stack([np.asarray(row) for row in rows])
                assert leaf.dtype == stacked.dtype and _bits(leaf) == _bits(stacked)


def _bits(array: np.ndarray) -> bytes:
    """Return the bits of an array, but every NaN as the same: which one it is, nobody promises."""
    if array.dtype.kind not in "fc":
        return array.tobytes()
    parts = np.ascontiguousarray(array).view(array.real.dtype)
    return np.where(np.isnan(parts), np.nan, parts).tobytes()


def _leaves(value):
    return value if isinstance(value, tuple) else (value,)


def test_static_parameters_that_are_equal_do_not_collide():
    for key, other in [(1, True), (0, False)]:
        for k in (key, other, key):
            got = lw.vmap(lambda x, k=k: (x[k], np.roll(x, k), np.expand_dims(x, int(k))))(X)
            expected = [(row[k], np.roll(row, k), np.expand_dims(row, int(k))) for row in X]
            for leaf, rows in zip(got, zip(*expected, strict=True), strict=True):
                assert_same(leaf, np.stack(rows))


def test_a_nan_constant_does_not_compile_again(compiled):
    for _ in range(5):
        lw.vmap(lambda x: np.where(x > 2, x, float("nan")))(X)
    assert compiled() == 1


def test_a_function_with_host_code_is_compiled_at_each_call_and_not_kept(compiled):
    def func(x):
        return lw.py_func(lambda v: v, [x], float)

    lw.vmap(func)(X)
    lw.vmap(func)(X)
    assert compiled() == 2 and not dispatch._cache


def test_a_failure_to_compile_is_not_remembered(lstsq_is_looped):
    def func(x):
        return np.linalg.lstsq(np.ones((3, 1)), x, rcond=None)[0]

    for _ in range(2):
        with pytest.raises(ValueError, match="cannot be vectorized"):
            lw.vectorized_map(func, X, fallback_to_while_loop=False)
    assert len(lw.vectorized_map(func, X)) == 4


def test_the_error_of_another_call_names_its_own_line(compiled):
    singular = np.zeros((2, 2, 2))
    with pytest.raises(np.linalg.LinAlgError, match="# first"):
        lw.vmap(lambda m: np.linalg.inv(m))(singular)  # first
    with pytest.raises(np.linalg.LinAlgError, match="# second"):
        lw.vmap(lambda m: np.linalg.inv(m))(singular)  # second
    assert compiled() >= 1


# --- memory --------------------------------------------------------------------------------------


@pytest.mark.any_backend
def test_a_thousand_functions_do_not_grow_without_bound(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    monkeypatch.setattr(dispatch, "CACHE_SIZE", 100)
    monkeypatch.setattr(registry, "RECENT", 1)  # another table that fills up
    dispatch._cache.clear()
    x = np.ones((1, 2))

    def run(start, stop):
        for number in range(start, stop):
            lw.vmap(lambda v, number=number: v * (number + 0.5) + number)(x)

    def count():
        gc.collect()
        return len(gc.get_objects())

    run(0, 600)  # until every table is as full as it gets
    counts = [count()]
    for start in (600, 900, 1200):
        run(start, start + 300)
        counts.append(count())
    assert len(dispatch._cache) <= dispatch.CACHE_SIZE
    # A plan is some sixty objects. What other tests began may end meanwhile, or fill a table.
    assert min(np.diff(counts)) < 150


@pytest.mark.any_backend
def test_shapes_come_and_go(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")  # so many kernels take minutes to compile
    monkeypatch.setattr(dispatch, "CACHE_SIZE", 100)
    for size in range(1, 150):
        lw.vmap(lambda v: v.sum() * 2 + np.zeros_like(v))(np.ones((1, size)))
    assert len(dispatch._cache) <= dispatch.CACHE_SIZE


def test_traces_are_freed_by_reference_counts(no_collector):
    refs = []

    def build():
        weights = np.ones(3)
        refs.append(weakref.ref(weights))

        def func(x):
            y = x.reshape(3, 1)
            view = y[1:]
            view[0] = 5.0  # views and their bases
            inner = lw.vmap(lambda v: v * x.sum() + weights.sum())(weights)
            return {"a": [y * weights, inner], "b": x[::-1]}

        lw.vmap(func)(X)
        lw.vmap(func, chunk_size=2)(X)
        lw.map_fn(func, X)
        lw.vmap(lw.vmap(lambda v: v + weights))(np.ones((2, 2)))
        lw.vectorize(lambda v: v * weights.sum())(X)
        refs.append(weakref.ref(func))

    build()
    kept.forget()
    assert [ref() for ref in refs] == [None, None]


def test_host_code_and_what_it_refers_to_is_freed(no_collector):
    class Big:
        pass

    def build(fails):
        big = Big()

        def func(x):
            return lw.py_func(lambda v: (big, 1 / (v.sum() - fails), v)[2], [x], float)

        try:
            lw.vmap(func)(X)
            lw.vmap(func, chunk_size=2)(X)
            lw.map_fn(func, X)
        except ZeroDivisionError:
            pass
        return weakref.ref(big)

    assert build(-1.0)() is None
    ref = build(12.0)  # fails; the traceback of an error and its frames may be a cycle
    gc.collect()
    assert ref() is None


def test_errors_keep_nothing_alive(no_collector):
    def build():
        big = np.ones(5)

        def func(x):
            y = x * big.sum()
            raise KeyError("own") if big is not None else y

        def shapes(x):
            return x + big

        def host(x):
            return lw.py_func(lambda v: {}[big.sum()], [x], float)

        for f in (func, shapes, host):
            with pytest.raises((KeyError, ValueError)) as info:
                lw.vmap(f)(X)
            del info
        return weakref.ref(big)

    ref = build()
    gc.collect()  # a traceback and its frames may be a cycle, of Python's own
    assert ref() is None


def test_inputs_and_results_are_not_kept(no_collector):
    x = np.ones((4, 3))
    mapped = lw.vmap(lambda v: (v, v * 2), chunk_size=3)
    got = mapped(x)
    refs = [weakref.ref(a) for a in (x, *got)]
    del x, got
    assert [ref() for ref in refs] == [None] * 3


def test_a_long_function_is_found_again(compiled):
    def long(x):
        for number in range(5000):  # more constants than are kept at hand
            x = x * 1.0001 + number
        return x

    lw.vmap(long)(np.ones((2, 3)))
    lw.vmap(long)(np.ones((4, 3)))
    assert compiled() == 1


def test_views_of_views_have_no_depth_limit():
    def fold(x):
        y = x
        for _ in range(1501):
            y = y[::-1]
        x[0] = 7
        y[1] = 5
        return y

    np.testing.assert_array_equal(lw.vmap(fold)(np.ones((2, 3))), [[1, 5, 7], [1, 5, 7]])
