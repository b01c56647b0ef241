"""Loops without an end of their own, which the data leave: `itertools.count`, and huge ranges."""

from __future__ import annotations

import itertools
import sys
from itertools import count

import numpy as np
import pytest

from support.everywhere import Programs, assert_like_the_loop

X = np.array([5.0, 100.0, 0.2])
PROGRAMS = Programs()


@PROGRAMS.note(X)
def from_zero(x):
    for i in itertools.count():  # noqa: B007
        x = x / 2
        if x < 0.1:
            break
    return i, x


@PROGRAMS.note(X)
def downwards(x):
    for k in count(5, -2):
        x = x - 3
        if x < k:
            break
    return k, x


@PROGRAMS.note(X)
def one_in_another(x):
    t = 0
    for i in count():
        for j in count(1):
            if j * j > abs(x):
                break
        t += j
        if i > 3 or t > x * 3:
            break
    return t, i, j


@PROGRAMS.note(X)
def the_first_that(x):
    return next(i for i in count(1) if i * i > abs(x) * 3)


@PROGRAMS.note(X)
def returned_from(x):
    for i in count(1, step=2):
        if i * i > abs(x) * 3:
            return i


@PROGRAMS.note(X)
def left_by_the_counter(x):
    for i in count(start=1):
        if i > 4:
            break
    return i * x


@PROGRAMS.note(X)
def beside_a_list(x):
    t = 0.0
    for i, v in zip(count(3), [x, 2.0, 3.0], strict=False):
        t += i * v
    return t


@PROGRAMS.note(X)
def another_function_of_that_name(x):
    def count(n):
        return [x] * n

    t = 0.0
    for v in count(3):
        t += v
    return t


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


@pytest.mark.parametrize("turns", [10**6, 2**21, 10**9, 2**40, sys.maxsize // 2])
def test_ranges_of_any_length(turns):
    def func(x):
        for i in range(turns):  # noqa: B007
            x = x / 2
            if x < 0.1:
                break
        return i

    assert_like_the_loop(func, X)
