"""`while` loops that numbers of Python's own end: recorded as a ``for`` loop is, and right."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.counted import names_in

X = np.random.default_rng(3).normal(size=(3, 60))


def decayed(x):
    i = 0
    s = 0.0
    while i < len(x):
        s = s * 0.5 + x[i]
        i += 1
    return s, i


def best_sum(x):
    i, s, best = 0, 0.0, -np.inf
    while i < x.shape[0]:
        s = max(s + x[i], 0.0)
        best = max(best, s)
        i += 1
    return best


def filtered(x):
    y = np.zeros(len(x))
    i, n = 2, len(x)
    while i < n:
        y[i] = x[i] + 0.3 * y[i - 1] - 0.1 * y[i - 2]
        i += 1
    return y


def two_numbers_down_and_up(x):
    i, k, s = len(x) - 1, 0, 0.0
    while i >= 0 and k < 25:
        s = s * 0.5 + x[i]
        i -= 2
        k = k + 1
    return s, i, k


def reversed_in_place(x):
    lo, hi = 0, len(x) - 1
    x = x.copy()
    while lo < hi:
        t = x[lo]
        x[lo] = x[hi]
        x[hi] = t
        lo += 1
        hi -= 1
    return x


def skipping(x):
    i, s = 0, 0.0
    while i < len(x):
        i += 1
        if i % 3 == 0:
            continue
        s = s + x[i - 1]
    return s, i


def nested(x):
    i, s = 0, 0.0
    while i < len(x):
        j = 0
        while j < i and j < 20:
            s = s + x[i] * x[j]
            j += 1
        i += 1
    return s


def ended_by_data(x):
    i, s = 0, 0.0
    while i < len(x):
        s = s + x[i]
        i += 1
        if s > 3:
            break
    else:
        s = s + 100
    return s, i


def by_branches(x):
    i, s = 0, 0.0
    while i < len(x):
        if x[i] > 0:
            s = s + x[i]
        i += 1
    return s


def ended_by_a_break_in_front(x):
    i, s = 0, 0.0
    while True:
        if i >= len(x):
            break
        s = s * 0.5 + x[i]
        i += 1
    return s, i


def ended_by_a_break_with_an_alternative(x):
    i, s = 0, 0.0
    while 1:
        if i == len(x):
            break
        elif x[i] > 0:
            s = s + x[i]
        i += 1
        if s > 1e9:
            continue
        s = s * 0.5
    return s, i


RECORDED = [
    ended_by_a_break_in_front, ended_by_a_break_with_an_alternative,
    decayed, best_sum, filtered, two_numbers_down_and_up, reversed_in_place, skipping, nested,
    ended_by_data, by_branches,
]  # fmt: skip


# --- others, which are not what they look like at first


def used_as_a_size(x):
    i, s, total = 0, 0.0, 0
    while i < len(x):
        s = s * 0.5 + x[i]
        total += i
        i += 1
    return s, total, np.zeros(i)


def jumping(x):
    i, s = 0, 0.0
    while i < len(x):
        if i == 20:
            i += 5
        s = s * 0.5 + x[i]
        i += 1
    return s, i


def growing_list(x):
    queue, i, s = [0], 0, 0.0
    while i < len(queue):
        s = s + x[i]
        if i < 30:
            queue.append(i)
        i += 1
    return s, i


def shrinking_list(x):
    items, i, s = list(range(40)), 0, 0.0
    while i < len(items):
        items.pop()
        s = s + x[i]
        i += 1
    return s, i, len(items)


def list_that_grows_for_long(x):
    items, i, s = [0] * 30, 0, 0.0
    while i < len(items):
        s = s + x[i]
        if i < 20:
            items.append(i)
        i += 1
    return s, i, len(items)


def shrinking_array(x):
    i, y = 0, x
    while i < len(y):
        y = y[1:]
        i += 1
    return y.sum(), i


def doubling(x):
    i, k, s = 0, 1, 0.0
    while i < 40 and k < 1000:
        s = s + x[i]
        i += 1
        k *= 2
    return s, i, k


def ended_by_another_number(x):
    i, left, s = 0, 7, 0.0
    while i < 50 and left:
        s = s + x[i]
        i += 1
        if i % 4 == 0:
            left -= 1
    return s, i, left


def forever(x):
    i, s = 0, 0.0
    while True:
        s = s + x[i]
        i += 1
        if i >= len(x):
            break
    return s, i


def becoming_data(x):
    i, n, s = 0, 50, 0.0
    while i < n:
        s = s + x[i]
        if i == 10:
            n = n - int(x[0] > 0)
        i += 1
    return s, i


def becoming_a_float(x):
    i, s = 0, 0.0
    while i < 40:
        s = s + i * x[0]
        i = i + 1 if i < 20 else i + 1.0
    return s, i


def taking_items(x):
    items, s, i = iter(range(100)), 0.0, 0
    while i < next(items) + 5 and i < 30:
        s = s + x[i]
        i += 1
    return s, i, next(items)


def printing(x):
    i, s = 0, 0.0
    while i < len(x):
        s = s + x[i]
        print(i)
        i += 1
    return s


def ended_by_data_in_front(x):
    i, s = 0, 0.0
    while True:
        if s > 1.0:
            break
        s = s * 0.9 + abs(x[i])
        i += 1
    return s, i


def ended_in_front_or_by_data(x):
    i, s = 0, 0.0
    while True:
        if i >= len(x):
            break
        s = s * 0.5 + x[i]
        if s > 1.0:
            break
        i += 1
    return s, i


def ended_with_another_end(x):
    i, s = 0, 0.0
    while True:
        if i >= len(x):
            break
        s = s * 0.5 + x[i]
        i += 1
    else:
        s = 7.0
    return s, i


def ended_by_what_may_raise(x):
    i, s = 0, 0.0
    try:
        while True:
            if 9 // (i - 50) == -9:
                break
            s, i = s + x[i], i + 1
    except ZeroDivisionError:
        s = 3.0
    return s, i


def ended_by_nothing_but_a_break(x):
    n = 0
    while True:
        if n == 0:
            break
    return x[n]


ALL = [
    *RECORDED, ended_by_data_in_front, ended_in_front_or_by_data, ended_with_another_end,
    ended_by_what_may_raise, ended_by_nothing_but_a_break, used_as_a_size, jumping,
    growing_list, shrinking_list,
    list_that_grows_for_long, shrinking_array, doubling,
    ended_by_another_number, forever, becoming_data, becoming_a_float, taking_items, printing,
]  # fmt: skip


def is_same(found, wanted):
    if isinstance(wanted, (tuple, list)):
        return len(found) == len(wanted) and all(map(is_same, found, wanted))
    if type(found) is not type(wanted):
        return False
    return np.allclose(found, wanted) and np.shape(found) == np.shape(wanted)


@pytest.mark.parametrize("f", ALL)
def test_it_gives_what_plain_python_gives(f, capsys):
    wanted = [f(x.copy()) for x in X]
    printed = capsys.readouterr().out
    traced = lw.function(f)
    assert is_same([traced(x.copy()) for x in X], wanted)
    capsys.readouterr()
    found = lw.vmap(f)(X)
    assert capsys.readouterr().out == printed
    rows = zip(*wanted, strict=True) if isinstance(wanted[0], tuple) else [wanted]
    columns = found if isinstance(wanted[0], tuple) else (found,)
    for column, row in zip(columns, rows, strict=True):
        assert is_same(np.asarray(column), np.stack([np.asarray(x) for x in row]))


def operations(f, x):
    return len(lw.function(f).get_concrete_function(x).graph.operations)


@pytest.mark.parametrize("f", RECORDED)
def test_it_is_recorded_once_however_long_it_is(f):
    long = np.concatenate([X[0]] * 3)
    assert operations(f, long) == operations(f, X[0]) < 70


@pytest.mark.parametrize("f", [decayed, filtered, skipping, nested])
def test_derivatives(f):
    def summed(x):
        found = f(x)
        return found[0] if isinstance(found, tuple) else np.sum(found)

    x = X[0]
    places = [7, 50, 58, 59]
    step = 1e-6 * np.eye(len(x))[places]
    wanted = [(summed(x + d) - summed(x - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(lw.grad(summed)(x)[places], wanted, rtol=1e-5, atol=1e-8)


def test_an_error_is_that_of_the_loop():
    def f(x):
        i = 0
        s = 0.0
        while i < 100:
            s = s + x[i]
            i += 1
        return s

    with pytest.raises(IndexError, match="index 60 is out of bounds for axis 0 with size 60"):
        lw.vmap(f)(X)


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("i < n", {"i", "n"}),
        ("0 <= i and not i >= len(x) - k * 2", {"i", "x", "k"}),
        ("i < x.shape[0] or j != x.size", {"i", "x", "j"}),
        ("True", set()),
        ("i < next(n)", None),
        ("i < n.pop()", None),
        ("x[i] > 0", None),
        ("i < len(x[1])", None),
        ("(i := i + 1) < n", None),
        ("i < n / 2", None),
        ("await_(i)", None),
        ("a.b.c < i", None),
    ],
)
def test_which_tests_only_compute(test, names):
    found = names_in(ast.parse(test, mode="eval").body)
    assert found == (None if names is None else frozenset(names))
