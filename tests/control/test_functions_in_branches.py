"""Functions that are defined where the data steer, and assign to variables around them."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.everywhere import assert_like_the_loop

X = np.array([[0.0, 1.0, -2.0], [1.0, -1.0, 0.5], [2.0, 2.0, 3.0], [-1.0, -1.0, -1.0]])


def assigned_in_a_branch(x):
    s = 0.0
    if x[0] > 0:

        def g(z):
            nonlocal s
            s = 7.0

        g(x[1])
    return s


def changed_in_a_branch(x):
    s = 0.0
    if x[0] > 0:

        def g(z):
            nonlocal s
            s += z

        g(x[1])
    return s


def in_branches_of_a_loop(x):
    s = 0
    for i in range(3):
        if x[i] > 0:

            def g(z):
                nonlocal s
                s += z

            g(2)
    return s


def in_a_loop_that_data_end(x):
    s, i = 0.0, 0
    while i < x[2]:

        def g():
            nonlocal s
            s = s + 2.0

        g()
        i += 1
    return s


def behind_continue(x):
    count = 0
    for i in range(3):
        if x[i] < 0:
            continue

        def add(k):
            nonlocal count
            count += k

        add(1)
    return count


def arrays_under_other_names(x):
    a, b = x[:2].copy(), x[1:3].copy()
    if x[0] > 0:

        def g():
            nonlocal a
            a = b

        g()
        a[0] = 9
    return a, b


def in_a_function_that_is_called_in_a_branch(x):
    def counter(n):
        c = 0.0

        def add(k):
            nonlocal c
            c += k
            return c

        for k in range(3):
            if n > k:
                add(n)
        return c

    total = 0.0
    for v in x:
        if v > 0:
            total += counter(v)
    return total


def read_in_the_other_branch(x):
    b = 1.0
    if x[0] >= 0:
        i = 0
        while i < 3 and x[1] < 0:
            b = x[2]
            i += 1
        found = b
    else:

        def g(z):
            return b + z

        found = g(1.0)
    return found


def a_loop_of_no_use(x):
    a, c, i = x[1:], x[1:], 0
    while i < x[2]:
        c = a
        i += 1
    return c


@pytest.mark.parametrize(
    "func",
    [
        assigned_in_a_branch, changed_in_a_branch, in_branches_of_a_loop, in_a_loop_that_data_end,
        behind_continue, arrays_under_other_names, in_a_function_that_is_called_in_a_branch,
        read_in_the_other_branch, a_loop_of_no_use,
    ],
)  # fmt: skip
def test_like_the_loop(func):
    assert_like_the_loop(func, X)


def a_mask_or_places(x):
    chosen = x > 0
    if x[0] > 0:
        chosen = np.array([0, 2, 1])
    return x[chosen].sum()


def written_by_a_mask_or_places(x):
    chosen = x > 0
    y = x.copy()
    if chosen[0]:
        chosen = chosen + 0
    y[chosen] = 7
    return y


@pytest.mark.parametrize("func", [a_mask_or_places, written_by_a_mask_or_places])
def test_what_is_a_mask_or_an_index_is_refused(func):
    with pytest.raises(UnsupportedError, match=r"an index or a mask.*_in_branches\.py:\d+.*astype"):
        lw.vmap(func)(X)


def left_by_break(x):
    rest = iter(x)
    for v in rest:
        if v > 1:
            break
    return sum(rest)


def left_by_any(x):
    rest = iter(x)
    return any(v > 1 for v in rest), sum(rest)


def left_by_next(x):
    rest = iter(x)
    return next((v for v in rest if v > 0), -5.0), sum(rest)


def assigned_in_any(x):
    hit = -1.0
    return hit if any((hit := v) > 0 for v in x) else -2.0


def summed_in_all(x):
    total = 0.0
    return all((total := total + v) < 1 for v in x), total


@pytest.mark.parametrize("func", [left_by_break, left_by_any, left_by_next])
def test_what_is_left_of_iterators_is_gone_on_with(func):
    assert_like_the_loop(func, X)


@pytest.mark.parametrize("func", [assigned_in_any, summed_in_all])
def test_what_is_left_of_iterators_is_not_known(func, monkeypatch):
    with pytest.raises(UnsupportedError, match=r"the data decide where.*_in_branches\.py:\d+|"
                       r"_in_branches\.py:\d+.*the data decide where"):  # fmt: skip
        lw.vmap(func)(X)
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    with pytest.warns(lw.PlainLoopWarning):
        got = lw.vmap(func)(X)
    want = [func(x) for x in X]
    np.testing.assert_array_equal(np.transpose(np.array(got, float)), np.array(want, float))


def left_where_nobody_else_has_it(x):
    for a, b in zip(x, x[1:], strict=False):  # noqa: RUF007 - an iterator without a name
        if a > b:
            break
    for v in iter(x):
        if v > 0.5:
            return v + a
    if any((y := k) > 2 for k in range(5)):
        return y * x[0]
    return b


def test_iterators_without_a_name_may_be_left():
    assert_like_the_loop(left_where_nobody_else_has_it, X)
