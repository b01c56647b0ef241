"""Traced functions that traced functions call: once for each key, and otherwise as plain ones."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lanewise as lw

X = np.array([1.0, 2.0, -3.0])


@pytest.fixture
def calls():
    return []


def same(make, *args):
    """Assert that traced functions within a traced one give what plain ones give in a plain one.

    ``make(function)`` makes the function, with `function` as the decorator of those within.
    """
    want = make(lambda func: func)(*args)
    np.testing.assert_allclose(lw.function(make(lw.function))(*args), want)


def test_once_for_each_key(calls):
    @lw.function
    def g(x, k=1):
        calls.append(k)
        if x > 0:
            return x * k
        return -x

    @lw.function
    def f(x):
        return g(x) + g(x + 1) + g(x, 2) + g(x=x, k=2) + g(x, k=1)

    assert f(np.float64(3.0)) == 22
    assert f(np.float64(-3.0)) == 14
    np.testing.assert_array_equal(lw.vmap(f)(np.array([3.0, -3.0])), [22, 14])
    assert lw.grad(f)(3.0) == 7
    assert calls == [1, 2]
    assert g.experimental_get_tracing_count() == 2
    lw.function(lambda x: g(x.astype("f4")) + g(x.astype("f4")))(X[0])
    assert calls == [1, 2, 1]


def test_in_loops_and_branches(calls):
    @lw.function
    def g(x, k):
        calls.append(k)
        return x * k if x > 0 else x - k

    @lw.function
    def f(x):
        i = 0
        while i < 3:
            x = g(x, 2) - 0.5
            i += 1
        for _ in range(40):
            x = g(x, 1)
        return x

    def plain(x):
        inner = g.__wrapped__
        for _ in range(3):
            x = inner(x, 2) - 0.5
        for _ in range(40):
            x = inner(x, 1)
        return x

    got = lw.vmap(f)(X)
    assert calls == [2, 1]
    np.testing.assert_allclose(got, [plain(x) for x in X])


def test_writes_to_arguments_reach_the_caller():
    @lw.function
    def write(a, value):
        a[0] = value

    def f(a):
        write(a, 1.0)
        write(a[1:], 2.0)
        write(a[2:], a[0] + 5)
        return a.sum()

    a = np.zeros(4)
    assert lw.function(f)(a) == 9
    np.testing.assert_array_equal(a, [1, 2, 6, 0])


def test_results_that_are_arguments_or_views_of_them():
    def make(function):
        same_one = function(lambda x: x)
        rest = function(lambda x: x[1:])
        fresh = function(lambda x: (x * 2)[1:])

        def f(x):
            y = x * 1
            z = same_one(same_one(y))
            z[0] = 7
            first = rest(y)
            first[0] = 9
            second = rest(y)
            second[1] = 8
            one, two = fresh(x), fresh(x)
            one[0] = 0
            return np.concatenate([y, one, two])

        return f

    same(make, X)


def test_tensors_from_around_are_read_each_time():
    def make(function):
        def f(x):
            t = x * 2

            @function
            def inner(y):
                return y + t

            @function
            def with_x(y):
                return y + x

            first = inner(x)
            t = t * 2
            return first + inner(x) + with_x(x) + with_x(x * 2)

        return f

    same(make, X)


def test_variables_of_functions_around():
    def make(function):
        def f(x):
            k = 1

            @function
            def times(y):
                return y * k

            total = 0
            for k in range(4):  # noqa: B007
                total = total + times(x)
            return total

        return f

    same(make, X)


def test_objects_that_keep_tensors():
    class Model:
        def __init__(self):
            self.h = None

        @lw.function
        def step(self, x):
            self.h = x if self.h is None else self.h
            return self.h + x

    def f(x):
        model = Model()
        return model.step(x) + model.step(x * 3)

    assert lw.function(f)(np.float64(1.0)) == 6


def test_variables_effects_and_random_numbers(capsys):
    v = lw.Variable(1.0)

    @lw.function
    def count(x):
        v.assign_add(1.0)
        return x * v

    noise = lw.function(lambda x: x + lw.random.normal())
    show = lw.function(lambda x: lw.print("x =", x))

    @lw.function
    def f(x):
        show(x)
        show(x + 1)
        return count(x) + count(x), noise(x) - noise(x)

    total, difference = f(np.float64(1.0))
    assert (total, float(v.value)) == (5, 3)
    assert difference != 0
    assert capsys.readouterr().out == "x = 1.0\nx = 2.0\n"


def test_containers_that_are_written_to(calls):
    def make(function):
        @function
        def double(d):
            calls.append(1)
            d["n"] = d["x"] * 2

        def f(x):
            one, two = {"x": x}, {"x": x + 1}
            double(one)
            double(two)
            return one["n"] + two["n"]

        return f

    same(make, X)


def test_arrays_that_are_not_traced(calls):
    def make(function):
        @function
        def g(x, table):
            calls.append(1)
            return x * table[0] if table.sum() > 2 else x

        def f(x):
            return g(x, np.array([1.0, 0])) + g(x, np.array([3.0, 4])) + g(x, np.array([3.0, 4]))

        return f

    same(make, X)
    assert calls[:2] == [1, 1]


def test_errors_leave_nothing_behind(calls):
    @lw.function
    def g(x):
        calls.append(1)
        if len(calls) == 1:
            raise KeyError("mine")
        return x

    f = lw.function(lambda x: g(x) + g(x))
    with pytest.raises(KeyError):
        f(X)
    np.testing.assert_array_equal(f(X), 2 * X)
    assert len(calls) == 2


def test_many_keys_are_bounded():
    g = lw.function(lambda x, k: x + k)
    f = lw.function(lambda x: sum(g(x, k) for k in range(200)))
    np.testing.assert_allclose(f(X), sum(X + k for k in range(200)))


def test_wrapped_functions_share_traces(calls):
    def logged(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            calls.append(1)
            return func(*args, **kwargs)

        return wrapper

    @lw.function
    @logged
    def f(x, k=2, *, shift=0):
        return x * k + shift

    for _ in range(2):
        for result in (f(X), f(X, 2), f(x=X), f(X, k=2), f(k=2, x=X), f(X, shift=0)):
            np.testing.assert_array_equal(result, X * 2)
    assert len(calls) == 1
    np.testing.assert_array_equal(f(X, 3, shift=1), X * 3 + 1)
    with pytest.raises(TypeError, match="missing"):
        f()


def test_wrappers_that_look_at_their_arguments_keep_them():
    def scaling(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            kwargs.setdefault("k", 5)
            return func(*args, **kwargs)

        return wrapper

    @lw.function
    @scaling
    def f(x, k=1):
        return x * k

    np.testing.assert_array_equal(f(X), X * 5)
    np.testing.assert_array_equal(f(X, k=1), X)

    def popping(func):
        @functools.wraps(func)
        def wrapper(x, *, times=1, **kwargs):
            return func(x, **kwargs) * times

        return wrapper

    g = lw.function(popping(lambda x, k=1: x * k))
    np.testing.assert_array_equal(g(X, times=3), X * 3)
    np.testing.assert_array_equal(g(X, k=2, times=3), X * 6)
