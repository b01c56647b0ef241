"""Arrays of which the data decide whether they are as long as each other, where they must be."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import assert_like_the_loop

#: In each row as many are greater than 0 as are less than 1.
SAME = np.array([[0.5, 2.0, -1.0, 0.25], [0.5, 0.1, 0.2, 0.75], [-3.0, 3.0, 0.6, 0.7]])
#: Here not.
OTHERS = np.array(
    [[0.5, 2.0, 1.5, 0.25, 0.1], [0.5, 0.1, 0.2, 0.75, -1.0], [-3.0, -1.0, 0.6, 0.7, 0.1]]
)

CALLS = {
    "array": lambda a, b: np.array([a, b]).sum(axis=1),
    "array_reversed": lambda a, b: np.array([a[::-1], b]).max(),
    "stack": lambda a, b: np.stack([a, b]).sum(axis=1),
    "lexsort": lambda a, b: np.lexsort((a, b))[0],
    "sorter": lambda a, b: np.searchsorted(a, 0.5, sorter=np.argsort(b)),
    "average": lambda a, b: np.average(a, weights=b * b),
    "average_along": lambda a, b: np.average(a, axis=0, weights=b * b),
    "vdot": np.vdot,
    "bincount": lambda a, b: np.bincount((a * 2).astype(int), b, minlength=9)[:9],
    "histogram": lambda a, b: np.histogram(a, bins=4, range=(0, 3), weights=b)[0],
    "histogram2d": lambda a, b: np.histogram2d(a, b, bins=2, range=((0, 3), (-3, 1)))[0],
    "interp": lambda a, b: np.interp(0.5, np.sort(a), b),
    "trapezoid": lambda a, b: np.trapezoid(a, b),
    "polyfit": lambda a, b: np.polyfit(a, a + 1, 0, w=b * b),
}


def parts(call):
    return lambda x: call(x[x > 0], x[x < 1])


def lists(x):
    first, second = [], []
    for value in x:
        if value > 0:
            first.append(value)
        if value < 1:
            second.append(value)
    return np.array([first[::-1], second]).sum(axis=0).max()


FUNCS = {**{name: parts(call) for name, call in CALLS.items()}, "lists": lists}


@pytest.mark.parametrize("func", FUNCS.values(), ids=FUNCS)
def test_they_are(func):
    assert_like_the_loop(func, SAME, rtol=1e-12)
    np.testing.assert_allclose(lw.function(func)(SAME[0]), func(SAME[0]), rtol=1e-12)


@pytest.mark.parametrize("func", FUNCS.values(), ids=FUNCS)
def test_they_are_not(func):
    with pytest.raises((ValueError, TypeError)) as plain:
        func(OTHERS[0])
    with pytest.raises(type(plain.value)):
        lw.vmap(func)(OTHERS)
    with pytest.raises(type(plain.value)):
        lw.function(func)(OTHERS[0])
