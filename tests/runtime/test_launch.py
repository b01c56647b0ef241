"""Calls of kernels: whatever the operands look like, results are NumPy's, and nothing leaks."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import lanewise as lw
from lanewise.runtime import dispatch
from lanewise.runtime.dispatch import observing
from lanewise.runtime.launch import CHUNK, INLINE, Entry
from lanewise.runtime.pool import get_threads, set_threads
from support.leaks import blocks_left


@pytest.fixture(autouse=True)
def _native(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")


def scaled(x, y):
    return (x * 2 + y).sum(), x.max() > y


def call_of(func: Callable, *arguments: np.ndarray) -> Callable:
    """Return the built-in function that runs the kernel of a map."""
    with observing() as programs:
        lw.vmap(func)(*arguments)
    plan = programs[0].executable.native
    assert plan is not None
    (call,) = [
        x for x in plan._run.__globals__.values() if type(x) is type(len) and x.__name__ == "launch"
    ]
    return call


X = np.linspace(-1, 1, 40).reshape(10, 4)
Y = np.linspace(0, 1, 10)


class Sub(np.ndarray):
    """An array that is not exactly an ndarray."""


def assert_same(got, x=X, y=Y):
    want = [np.stack(part) for part in zip(*map(scaled, x, y), strict=True)]
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert type(g) is np.ndarray
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_array_equal(g, w)


def unaligned(x):
    found = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x,
        lambda x: x.astype(">f8"),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x[::-1].copy()[::-1],
        np.asfortranarray,
        unaligned,
        frozen,
        lambda x: x.view(Sub),
        lambda x: x.tolist(),
        lambda x: x.astype(object),
    ],
    ids=["plain", "bytes", "gaps", "backwards", "columns", "unaligned", "frozen", "subclass",
         "lists", "objects"],
)  # fmt: skip
def test_operands_are_converted(change):
    call = call_of(scaled, X, Y)
    for x, y in ((change(X), Y), (X, change(Y)), (change(X), change(Y))):
        assert_same(call({"batch": 10}, x, y))


def test_equal_dtypes_that_are_not_the_same_object():
    other = np.dtype("q") if np.dtype("q") is not np.dtype(np.int64) else np.dtype("l")
    x = np.arange(12, dtype=np.int64).reshape(4, 3)
    call = call_of(lambda x: x.sum() + 1, x)
    tagged = np.dtype(np.int64, metadata={"unit": "m"})
    for dtype in (other, tagged):
        (got,) = call({"batch": 4}, x.astype(dtype))
        np.testing.assert_array_equal(got, x.sum(1) + 1)
    assert lw.vmap(lambda x: x + 1)(x.astype(other)).tolist() == (x + 1).tolist()


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 3, 3)])
@pytest.mark.parametrize("axis", [1, 2, -1])
def test_other_axes(shape, axis):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    sums = np.stack([part[0] for part in np.moveaxis(x, axis, 0)])
    np.testing.assert_array_equal(lw.vmap(lambda x: x[0] * 1, in_dims=axis)(x), sums)
    got = lw.vmap(lambda x: x * 3 - 1, in_dims=axis, out_dims=axis)(x)
    np.testing.assert_array_equal(got, x * 3 - 1)


def test_operands_that_do_not_fit_are_refused():
    call = call_of(scaled, X, Y)
    for bad in ((X[:, :3], Y), (X, Y[:9]), (X[0], Y), (Y, Y), (X, X)):
        with pytest.raises((TypeError, ValueError)):
            call({"batch": 10}, *bad)
    with pytest.raises((TypeError, ValueError)):
        call({"batch": 10}, X)
    assert_same(call({"batch": 10}, X, Y))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 63, 1000, 8191, 8192, 8193, 100_000])
def test_sizes(size):
    x = np.arange(size * 2.0).reshape(size, 2)
    got = lw.vmap(lambda x: (x + 0.25, x[0] > 3))(x)
    np.testing.assert_array_equal(got[0], x + 0.25)
    np.testing.assert_array_equal(got[1], x[:, 0] > 3)
    assert got[0].flags.owndata and got[0].flags.writeable and got[0].base is None


def test_empty_examples():
    assert lw.vmap(lambda x: x + 1)(np.ones((5, 0, 3))).shape == (5, 0, 3)
    assert lw.vmap(lambda x: x.sum())(np.ones((5, 0))).tolist() == [0] * 5


def test_many_operands_and_results():
    xs = tuple(np.arange(3.0) + i for i in range(90))
    got = lw.vmap(lambda xs: tuple(x * (i + 0.1) for i, x in enumerate(xs)))(xs)
    for i, (g, x) in enumerate(zip(got, xs, strict=True)):
        np.testing.assert_array_equal(g, x * (i + 0.1))


def test_many_dimensions():
    shape = (2,) + (1,) * 40 + (3,)
    x = np.arange(6.0).reshape(shape)
    np.testing.assert_array_equal(lw.vmap(lambda x: x * 1.5)(x), x * 1.5)


def test_too_large_results_are_an_error():
    # 2**40 examples, all of them the same number.
    huge = np.broadcast_to(np.ones(1), (1 << 40, 1))
    call = call_of(lambda x, y: (x * y).sum() + np.zeros(1 << 20), np.ones((2, 1)), np.ones((2, 1)))
    with pytest.raises((MemoryError, ValueError)):
        call({"batch": 1 << 40}, huge, huge)


def test_nothing_leaks():
    call = call_of(scaled, X, Y)
    swapped, short = X.astype(">f8"), Y[:9]
    large = np.zeros((20_000, 4)), np.zeros(20_000)

    def turn():
        call(None, X, Y)
        call({"batch": 10}, swapped, Y)
        call(None, *large)
        with pytest.raises((TypeError, ValueError)):
            call({"batch": 10}, X, short)

    turn()
    things = (X, Y, swapped, short, *large, np.dtype(float), np.dtype(bool), np.ndarray, call)
    gc.collect()
    before = [sys.getrefcount(x) for x in things]
    assert blocks_left(turn, 200) < 0.5
    assert [sys.getrefcount(x) for x in things] == before


def test_failures_leak_nothing():
    def checked(x):
        if x > 0.5:
            raise ValueError("too large")
        return x * 2

    call = call_of(checked, np.zeros(4))
    x = np.arange(8.0) - 5

    def turn():
        with pytest.raises(dispatch.KernelFailed) as info:
            call(None, x)
        assert 0 <= info.value.first <= 6

    assert blocks_left(turn, 900) < 0.5


def test_a_call_lives_no_longer_than_its_plan(monkeypatch):
    monkeypatch.setattr(dispatch, "_cache", {})
    gc.collect()
    gc.disable()
    try:
        with observing() as programs:
            lw.vmap(lambda x: x * 3 + 4)(np.arange(3))
        refs = weakref.ref(programs[0].executable.native._run)
        programs.clear()
        dispatch._cache.clear()
        assert refs() is None
    finally:
        gc.enable()


def test_several_threads_at_once():
    call = call_of(scaled, X, Y)
    failures = []

    def work():
        for _ in range(300):
            try:
                assert_same(call(None, X, Y))
            except AssertionError as error:
                failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_number_of_threads_does_not_matter():
    x = np.random.default_rng(0).normal(size=(50_000, 3))
    before = get_threads()
    results = []
    try:
        for count in (1, 2, 5):
            set_threads(count)
            results.append(lw.vmap(lambda x: np.exp(x).sum() / 3)(x).tobytes())
    finally:
        set_threads(before)
    assert len(set(results)) == 1


@pytest.mark.parametrize("work", [1e-6, 0.3, 40.0, 1e4, 1e9])
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_chunks_are_worth_their_while(work, lanes):
    few, least = Entry(1, [], [], [], [], 0, lanes, work).chunks()
    assert least % lanes == 0 and least >= 1
    assert few * work <= INLINE
    work = max(work, 0.01)
    assert (least - lanes) * work <= CHUNK <= least * work
