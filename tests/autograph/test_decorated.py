"""What decorators of Python's and NumPy's make of functions is known by its code."""

from __future__ import annotations

import contextlib
import functools

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.calls import DECORATED
from lanewise.autograph.decorated import type_

X = np.array([[4.0, -1.0], [0.0, 2.0]])


@functools.singledispatch
def named(v):
    return 0.0


@named.register(np.ndarray)
def _(v):
    return v.sum()


@np.errstate(all="ignore")
def divided(v):
    return 1 / v[0]


@contextlib.contextmanager
def doubled(v):
    yield v * 2


class Named:
    @functools.singledispatchmethod
    def of(self, v):
        return 0.0


@pytest.mark.parametrize("made", [named, divided, doubled, Named().of])
def test_they_are_known(made):
    assert getattr(made, "__code__", type(made)) in DECORATED


def managed(x):
    with doubled(x) as y:
        return y[0]


@pytest.mark.parametrize("f", [named, divided, managed, lambda x: named(x) + named("text")])
def test_they_follow_data(f):
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lw.vmap(f)(X), [f(x) for x in X])


def test_a_call_without_arguments_is_pythons_error():
    with pytest.raises(TypeError, match="1 positional argument"):
        lw.vmap(lambda x: named())(X)
    assert type_(3) is int
