"""``x[:] = [x[1], x[0]]``: NumPy writes the arrays of a list one after another."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

X = np.random.default_rng(0).normal(size=(9, 3, 3))


def rows(x):
    x[:] = [x[1], x[0], x[2]]
    return x


def some_rows(x):
    x[:2] = (x[1], x[0])
    return x


def blocks(x):
    x = x[:2].reshape(1, 2, 3) * 1
    y = np.concatenate([x, x + 10])
    y[:] = [[y[1, 1], y[1, 0]], [y[0, 1], y[0, 0]]]
    return y


def nested(x):
    y = np.stack([x, x + 10])
    y[:] = [y[1], [y[0, 1], y[0, 0], y[0, 2]]]
    return y


def everything(x):
    x[...] = [x[1], x[0], x[2]]
    return x


def backward(x):
    x[::-1] = [x[1], x[0], x[2]]
    return x


def columns_backward(x):
    x[:, ::-1] = [x[1], x[0], x[2]]
    return x


def one_row(x):
    x[:] = [x[1]]
    return x


def a_copy(x):
    x[:2] = [x[1], x[0].astype(int)]
    return x


def an_array(x):
    x[:] = np.array([x[1], x[0], x[2]])
    return x


def elements(x):
    y = x[0] * 1
    y[:] = [y[1], y[0], y[2]]
    return y


def columns(x):
    y = x.reshape(9, 1)
    y[:3] = [y[1], y[0], y[2]]
    return y


def made_here(x):
    y = np.zeros((3, 3))
    y[:] = x
    y[:] = [y[1], y[0], y[2]]
    return y


def computed(x):
    x[:] = [x[1], x[0] * 1.0, x[0]]
    return x


def by_places(x):
    x[[0, 1]] = [x[1], x[0]]
    return x


def sorted_rows(x):
    x[:, :] = sorted(x, key=lambda v: v[1])
    return x


def turned(x):
    x[:] = [r for r in x[::-1]]
    return x


def swapped_columns(x):
    x[:, 0], x[:, 1] = (x[:, 1], x[:, 0])
    return x


def a_part(x):
    x[:3, :2] = [x[1, :2], [x[0, 1], x[0, 0]], x[2, 1:]]
    return x


LISTS = [
    rows, some_rows, blocks, nested, everything, backward, columns_backward, one_row, a_copy,
    an_array, elements, columns, made_here, computed, by_places, sorted_rows, turned,
    swapped_columns, a_part,
]  # fmt: skip


@pytest.mark.parametrize("f", LISTS)
def test_lists_of_views_of_what_is_written_to(f):
    np.testing.assert_array_equal(lw.vmap(f)(X.copy()), [f(x.copy()) for x in X])
    np.testing.assert_array_equal(lw.function(f)(X[0].copy()), f(X[0].copy()))
