"""Functions that call themselves: plain numbers end that, data alone do not."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.trace import trace

X = np.array([1.0, 2.0, 30.0])


def data_or_depth(x, d=0):
    if x > 9 or d >= 3:
        return x
    return data_or_depth(x + 1, d + 1)


def depth_or_data(x, d=0):
    if d >= 3 or x > 9:
        return x
    return depth_or_data(x + 1, d + 1)


def data_and_depth(x, d=0):
    if x < 9 and d < 3:
        return data_and_depth(x + 1, d + 1)
    return x


def kept_in_a_variable(x, d=0):
    stop = x > 9 or d >= 3
    if stop:
        return x
    return kept_in_a_variable(x + 1, d + 1)


def in_an_expression(x, d=0):
    return x if x > 9 or not d < 3 else in_an_expression(x + 1, d + 1)


def negated(x, d=0):
    if not (x > 9 or d >= 3):
        return negated(x + 1, d + 1)
    return x


def one_after_the_other(x, d=0):
    if x > 9:
        return x
    if d >= 3:
        return x
    return one_after_the_other(x + 1, d + 1)


def number_or_depth(x, d=0):
    if (x - 30) * 0 or d >= 3:
        return x
    return number_or_depth(x + 1, d + 1)


def int_and_depth(x, d=0):
    if int(x) and d < 3:
        return int_and_depth(x + 1, d + 1)
    return x


def of_a_list(x, d=0):
    if any([x > 9, d >= 3]):
        return x
    return of_a_list(x + 1, d + 1)


def twice(x, d=0):
    if x > 9 or x < -5 or d >= 3:
        return x
    return twice(x + 1, d + 1) + twice(x - 1, d + 1)


def of_parts(x, d=0):
    if x > 9 or (x < 3 and d >= 3) or d >= 6:
        return x
    return of_parts(x + 1, d + 1)


def in_a_loop(x, d=0):
    while x < 9 and d < 3:
        return in_a_loop(x + 1, d + 1)
    return x


def deep(x, d=40):
    if x > 50 or d == 0:
        return x
    return deep(x + 1, d - 1)


@pytest.mark.parametrize("func", [
    data_or_depth, depth_or_data, data_and_depth, kept_in_a_variable, in_an_expression, negated,
    one_after_the_other, number_or_depth, int_and_depth, of_a_list, twice, of_parts, in_a_loop,
    deep,
])  # fmt: skip
def test_plain_numbers_end_it(func):
    want = np.stack([func(x) for x in X])
    np.testing.assert_array_equal(lw.vmap(func)(X), want)
    traced = lw.function(func)
    np.testing.assert_array_equal([traced(x) for x in X], want)
    if func is not int_and_depth:
        np.testing.assert_array_equal(lw.vmap(lw.grad(func))(X), np.where(want == want, 1, 0) * (
            1 if func is not twice else [8, 8, 1]))  # fmt: skip


def once(x):
    return 1 if x < 2 else x * once(x - 1)


def within_a_loop(x):
    for k in range(20):
        if x > k:
            x = within_a_loop(x - 1)
    return x


def both(x):
    return x if x < 2 else both(x - 1) + both(x - 2)


def through_a_map(x):
    return x if x < 2 else lw.vmap(through_a_map)(np.ones(2) * x).sum()


def one(x):
    return other(x - 1) if x > 0 else 0.0


def other(x):
    return one(x - 1) if x > 0 else 1.0


@pytest.mark.parametrize("func", [once, within_a_loop, both, through_a_map, one])
def test_data_alone_do_not(func):
    for call in (lw.vmap(func), lambda xs: lw.function(func)(xs[0]), lw.vmap(lw.grad(func))):
        with pytest.raises(lw.EndlessRecursionError) as caught:
            call(X)
        text = str(caught.value)
        assert text.startswith(f"{func.__name__} calls itself ({__file__}")
        assert "only data end a recursion" in text


def test_truth_of_operands_is_exact():
    """What is known of a condition does not change what the operators return."""

    def func(x, n):
        return (x > 1 or True), (x > 1 and False), (n or True), (n and 0), (n or 5)

    n = np.array([0, 1, 2])
    want = [func(x, k) for x, k in zip(X, n, strict=True)]
    for got, column in zip(lw.vmap(func)(X, n), zip(*want, strict=True), strict=True):
        np.testing.assert_array_equal(got, np.stack([np.asarray(value) for value in column]))


def search(x, a, b, depth=30):
    if depth == 0:
        return a
    middle = (a + b) / 2
    if x < middle:
        return search(x, a, middle, depth - 1)
    return search(x, middle, b, depth - 1)


def halves():
    size = 0.5
    while True:
        try:
            yield size
        finally:
            size /= 2


def steps(x):
    total = 0.0
    for size in halves():
        if total + size > x:
            break
        total = total + size
    return total


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (lambda x: search(x, 0.0, 1.0), "^search calls itself .*test_recursion.py.*return search"),
        (steps, "^steps records more than .*test_recursion.py"),
    ],
)
@pytest.mark.parametrize("wrap", [lw.grad, lambda f: lambda x: lw.vmap(f)(np.ones(2) * x)])
def test_what_would_hardly_end_is_refused(func, message, wrap, monkeypatch):
    monkeypatch.setattr(trace, "MOST_RECORDED", 2000)
    with pytest.raises(lw.UnsupportedError, match=message):
        wrap(func)(0.3)
    assert lw.vmap(lambda x: x + 1)(X)[0] == X[0] + 1
