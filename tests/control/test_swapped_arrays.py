"""Arrays that loops and branches swap: ``a, b = b, a``, also of arguments, and written to then."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from support.backends import backend
from support.everywhere import Programs, assert_like_the_loop

X = np.round(np.random.default_rng(1).normal(size=(6, 24)), 2)
KEYS = np.random.default_rng(2).integers(0, 2**24, (5, 40))
PROGRAMS = Programs()


def stepped(u, i):
    return u[i] + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1])


@PROGRAMS.note(X)
def even(u):
    un = u.copy()
    for _ in range(20):
        for i in range(1, len(u) - 1):
            un[i] = stepped(u, i)
        u, un = un, u
    return u


@PROGRAMS.note(X)
def odd(u):
    un = np.empty_like(u)
    for _ in range(21):
        un[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        un[0], un[-1] = u[-1], u[0]
        u, un = un, u
    return u, un


@PROGRAMS.note(X, X[::-1])
def three_in_turn(u, v):
    w = np.zeros_like(u)
    for _ in range(20):
        for i in range(1, len(u) - 1):
            w[i] = 2 * u[i] - v[i] + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1])
        v, u, w = u, w, v
    return u + 3 * v + 7 * w


@PROGRAMS.note(X)
def known_by_another_name(u):
    un, first = u * 0, u
    other = un
    for k in range(19):
        for i in range(len(u)):
            un[i] = u[i - 1] + k
        u, un = un, u
    first[0] += 1
    return u, un, first, other


@PROGRAMS.note(X)
def seen_through_views(u):
    un = np.zeros(len(u))
    half, rest = u[: len(u) // 2], un[1:]
    for _ in range(18):
        un[:] = u[::-1] * 0.9
        u, un = un, u
    rest[0] = 5.0
    return half, rest, u, un


@PROGRAMS.note(X)
def in_a_loop_around(u):
    un = u * 1.0
    for _ in range(3):
        for _ in range(17):
            un[1:] = u[:-1] * 0.9
            u, un = un, u
        u[0] += 1
    return u, un


@PROGRAMS.note(X)
def swapped_where_data_say(x):
    a, b, s = x.copy(), np.zeros_like(x), 0.0
    for k in range(4):
        for i in range(len(a)):
            s += a[i]
        if s > 0:
            for i in range(len(a)):
                b[i] = a[len(a) - 1 - i] + k
            a, b = b, a
    return a, b, s


@PROGRAMS.note(X)
def written_in_branches(x):
    a, b = x.copy(), -x
    if x[0] > 0:
        a, b = b, a
    for i in range(len(x)):
        if a[i] > 0.2:
            b[i] = a[i - 1] * 2
        else:
            a[i] += b[i]
        b[2:4] = i
    return a, b


@PROGRAMS.note(X)
def one_of_three(x):
    a, b, c = x.copy(), -x, x * 2
    low = a if x[0] > 0 else (b if x[1] > 0 else c)
    for i in range(len(x)):
        low[i] = low[i - 1] + i
    return a, b, c, low


@PROGRAMS.note(KEYS)
def sorted_by_digits(keys):
    n = keys.shape[0]
    src, dst = keys.copy(), np.empty_like(keys)
    count = np.zeros(256, np.int64)
    for shift in range(0, 32, 8):
        count[:] = 0
        for i in range(n):
            count[(src[i] >> shift) & 255] += 1
        if count[(src[0] >> shift) & 255] == n:
            continue
        total = 0
        for b in range(256):
            c = count[b]
            count[b] = total
            total += c
        for i in range(n):
            b = (src[i] >> shift) & 255
            dst[count[b]] = src[i]
            count[b] += 1
        src, dst = dst, src
    return src


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


@pytest.mark.parametrize("name", ["interpret", "native"])
@pytest.mark.parametrize(
    "func", [even, odd, three_in_turn, known_by_another_name, in_a_loop_around]
)
def test_arguments_are_left_as_the_function_leaves_them(func, name):
    batches = PROGRAMS[func.__name__][1]
    given, want = [[batch[1].copy() for batch in batches] for _ in range(2)]
    func(*want)
    with backend(name):
        lw.function(func)(*given)
    for array, other in zip(given, want, strict=True):
        np.testing.assert_allclose(array, other)


def of_two_dtypes(x):
    a, b = x * 1.0, (x * 10).astype(np.int64)
    for k in range(21):
        b[:] = a * 0.7 + k
        a, b = b, a
    return a, b


def test_arrays_of_two_dtypes_stay_what_they_are():
    for got, want in zip(lw.function(of_two_dtypes)(X[0]), of_two_dtypes(X[0]), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want)


def until_it_settles(u):
    un, k = u.copy(), 0
    while True:
        un[1:-1] = 0.5 * (u[2:] + u[:-2])
        settled = np.abs(un - u).max() < 0.05
        u, un, k = un, u, k + 1
        if settled or k > 40:
            break
    return u, un, k


def at_most_so_often(u):
    un = u.copy()
    for _ in range(60):
        un[1:-1] = 0.5 * (u[2:] + u[:-2])
        settled = np.abs(un - u).max() < 0.05
        u, un = un, u
        if settled:
            break
    return u, un


@pytest.mark.parametrize("func", [until_it_settles, at_most_so_often])
def test_arguments_that_data_decide_how_often_to_swap(func, monkeypatch):
    with pytest.raises(lw.ControlFlowError, match=r"an array that the variable 'un' was once"):
        lw.function(func)(X[0].copy())
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    called = lw.function(func)
    for row in X:
        given, other = row.copy(), row.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.PlainLoopWarning)
            got = called(given)
        for array, wanted in zip(got, func(other), strict=True):
            np.testing.assert_allclose(array, wanted)
        np.testing.assert_allclose(given, other)


def test_derivatives():
    step = 1e-6
    for func in (even, written_in_branches, swapped_where_data_say):

        def total(x, func=func):
            return (_first(func(x.copy())) ** 2).sum()

        got = lw.grad(lambda x, func=func: (_first(func(x)) ** 2).sum())(X[3].copy())
        want = [
            (total(X[3] + step * e) - total(X[3] - step * e)) / (2 * step)
            for e in np.eye(X.shape[1])
        ]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def _first(found):
    return found[0] if isinstance(found, tuple) else found
