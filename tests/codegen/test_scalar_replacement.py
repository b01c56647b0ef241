"""What a turn of a loop writes and the next ones read: carried beside the array, in all orders."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lanewise as lw

RNG = np.random.default_rng(21)


def check(function, *arguments):
    """Compare with NumPy, of one example and of several, where errors must be the same as well."""
    try:
        expected, error = function(*arguments), None
    except IndexError as raised:
        expected, error = None, str(raised)
    batch = [np.stack([np.asarray(x)] * 3) for x in arguments]
    for compiled, args in (
        (lw.function(function, experimental_compile=True), arguments),
        (lw.function(lw.vmap(function), experimental_compile=True), batch),
    ):
        if error is not None:
            with pytest.raises(IndexError) as caught:
                compiled(*args)
            assert str(caught.value).startswith(error)
            continue
        found = compiled(*args)
        np.testing.assert_array_equal(found, expected if args is arguments else [expected] * 3)


@st.composite
def loops(draw):
    """Draw a loop over an array that reads around the place where it writes."""
    size = draw(st.integers(17, 24))
    step = draw(st.sampled_from([1, 1, -1, 2, -2, 3]))
    low, high = draw(st.integers(-1, 3)), size - draw(st.integers(-1, 3))
    places = range(low, high, step) if step > 0 else range(high, low, step)
    offsets = draw(st.lists(st.integers(-4, 4), min_size=1, max_size=4, unique=True))
    writes = draw(st.lists(st.sampled_from([0, 0, 0, 1, -1, 2]), min_size=1, max_size=2))
    return size, places, tuple(offsets), tuple(writes), draw(st.booleans())


def recurrence(places, offsets, writes, in_while, n=None):
    """Make a function of such a loop; of `n`, where data say how many turns it takes."""
    start, step = places.start, places.step

    def turn(x, i):
        value = x[i] * 0.5
        for offset in offsets:
            value = value + 0.25 * x[i + offset]
        for write in writes:
            x[i + write] = value + write
        return x

    def by_range(x):
        x = x.copy()
        for i in range(places.start, places.stop, places.step):
            x = turn(x, i)
        return x

    def by_data(x, n):
        x = x.copy()
        for k in range(n):
            x = turn(x, start + step * k)
        return x

    def by_while(x, n):
        x, i, left = x.copy(), start, n
        while left > 0:
            x = turn(x, i)
            i += step
            left -= 1
        return x

    if n is None:
        return by_range
    return by_while if in_while else by_data


@settings(max_examples=25, deadline=None)
@given(loops())
def test_ranges(drawn):
    size, places, offsets, writes, _ = drawn
    check(recurrence(places, offsets, writes, False), RNG.normal(size=size))


@settings(max_examples=25, deadline=None)
@given(loops(), st.integers(0, 3), st.booleans())
def test_as_many_turns_as_data_say(drawn, less, none):
    size, places, offsets, writes, in_while = drawn
    count = 0 if none else max(0, len(places) - less)
    function = recurrence(places, offsets, writes, in_while, count)
    check(function, RNG.normal(size=size), np.int64(count))


def gauss_seidel(u):
    u = u.copy()
    for _ in range(2):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def tridiagonal(a):
    """Thomas's algorithm: two arrays, forth and back."""
    lower, diagonal, upper, right = a
    n = len(right)
    c, d = np.zeros(n), np.zeros(n)
    c[0], d[0] = upper[0] / diagonal[0], right[0] / diagonal[0]
    for i in range(1, n):
        by = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / by
        d[i] = (right[i] - lower[i] * d[i - 1]) / by
    for i in range(n - 2, -1, -1):
        d[i] = d[i] - c[i] * d[i + 1]
    return d


def fibonacci(x):
    y = np.zeros_like(x)
    y[:2] = x[:2]
    for i in range(2, len(x)):
        y[i] = x[i] + 0.5 * y[i - 1] - 0.25 * y[i - 2]
    return y


def along_columns(a):
    a = a.copy()
    for j in range(a.shape[1]):
        for i in range(1, a.shape[0]):
            a[i, j] += 0.5 * a[i - 1, j]
    return a


def around(x):
    """The first turn reads the last place, which a later one writes."""
    x = x.copy()
    for i in range(len(x)):
        x[i] = x[i - 1] + 0.5 * x[i - 2]
    return x


def at_places_of_data(x):
    """Where the next turn reads is not known: it may be where this one wrote."""
    x = x.copy()
    i = 0
    for _ in range(40):
        x[i] = x[(i * 7) % 30] + 1
        i = (i + 1) % 30
    return x


def twice(x):
    """A turn changes what it read, so that what the next but one reads is not what this one did."""
    x = x.copy()
    for i in range(2, len(x)):
        before, last = x[i - 2], x[i - 1]
        x[i - 1] = last * 0.5
        x[i] = before + last
    return x


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (twice, (40,)),
        (gauss_seidel, (20, 21)),
        (tridiagonal, (4, 33)),
        (fibonacci, (40,)),
        (along_columns, (20, 7)),
        (around, (30,)),
        (at_places_of_data, (30,)),
    ],
)
def test_programs(function, shape):
    check(function, 2 + RNG.uniform(size=shape))


def test_integers_that_are_long_sums():
    """They are looked at one after the other, and no further than a few terms."""

    def f(x, k):
        x = x.copy()
        for i in range(1, 30):
            places = [k * 0, k // 2, k // 3, k // 4, k // 5, k // 6, k // 7, k // 8, k // 9]
            place = reduce(lambda total, part: total + part, places * 150, i - 1)
            x[i] = x[i - 1] * 0.5 + x[place]
        return x

    check(f, RNG.normal(size=40), np.int64(1))


def test_any_size_and_no_turn():
    compiled = lw.function(fibonacci, experimental_compile=True, reduce_retracing=True)
    for size in (40, 30, 3, 2, 50):
        x = RNG.normal(size=size)
        np.testing.assert_array_equal(compiled(x), fibonacci(x))
