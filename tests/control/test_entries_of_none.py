"""Operations of arrays with entries of a list that held None, which a loop filled."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from support.everywhere import assert_like_the_loop

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.matmul, operator.lt, operator.ge, np.maximum, np.hypot, np.arctan2,
    np.add.outer, np.dot, np.minimum, divmod,
]  # fmt: skip
IN_PLACE = [operator.iadd, operator.imul, operator.ipow, operator.itruediv]


def added_at(x, p):
    np.add.at(x, [0, 0, 2], p)
    return x


def clipped(x, p):
    return x.clip(p - 1, p), np.clip(x, p, 3.0), x.dot(p)


def written(x, p):
    x[:] = p
    return x


def written_to_a_part(x, p):
    x[1:] = p[1:]
    x[0] = p[2]
    return x


def written_to_a_new_array(x, p):
    made = np.zeros((2, 3))
    made[0] = p
    made[1] += p
    made[:, 0] = x[:2]
    return made - p


def given_out(x, p):
    return np.subtract(x, p, out=x), np.add(x, p, where=x > 1, out=np.zeros(3))


OTHERS = [added_at, clipped, written, written_to_a_part, written_to_a_new_array, given_out]
X = np.array([[1.5, 2.0, 0.5], [0.25, 3.0, 1.0]])


def filled(entry):
    entries = [None] * 30
    for i in range(29, -1, -1):
        entries[i] = entry(i)
    return entries


def names(f):
    return f.__name__


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", BINARY, ids=names)
def test_of_arrays(function, dtype):
    def func(x):
        y, entries = x * 2, filled(lambda i: x + i)
        return [function(y, entries[i]) for i in range(2)], function(entries[0], y)

    assert_like_the_loop(func, X.astype(dtype), rtol=1e-5)


@pytest.mark.parametrize("function", [*IN_PLACE, *OTHERS], ids=names)
def test_of_arrays_that_are_written(function):
    def func(x):
        entries, made = filled(lambda i: x + i), []
        for i in range(4):
            made.append(function(x * 2, entries[i]))
        return made

    assert_like_the_loop(func, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [float, int, np.float64])
@pytest.mark.parametrize("function", [*BINARY[:7], *BINARY[8:13], operator.iadd], ids=names)
def test_of_numbers(function, kind, dtype):
    def func(x):
        total, entries = 0.0, filled(lambda i: kind(x[0] + i))
        for i in range(4):
            total = total + function(x * 2, entries[i])
        return total, function(x[1] * 2, entries[1]), function(x * 2, entries[1])

    if function is operator.iadd and kind is np.float64 and dtype is np.float32:
        pytest.skip("NumPy refuses to add float64 to what holds float32")
    assert_like_the_loop(func, X.astype(dtype), rtol=1e-5)


def test_an_entry_that_is_none_raises_what_python_raises():
    def func(x):
        entries = [None] * 30
        for i in range(29):
            entries[i] = x * i
        found = entries[28 + int(x[0] > 1)]
        return x == found, found != x, x - found

    assert_like_the_loop(func, X)
