"""Slices of lists at places that are data."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(8).normal(size=(6, 20))
K = np.array([0, 3, 19, 7, 1, 12])


def read(x, k):
    a = x.tolist()
    first = a[k:][0], a[: k + 1][-1], a[k::-1][0]
    return (
        sum(a[k:]),
        sum(a[:k]),
        min(a[k : k + 3]),
        len(a[-k - 1 :]),
        max(a[25:], default=0.5),
        first,
    )


def windows(x, k):
    a = [float(v) for v in x]
    return [min(a[i : i + k + 1]) for i in range(5)], sum(a[k::2]), sum(a[: -k - 1 : -1])


def rotated(x, k):
    a = list(x)
    a[: k + 1] = a[k::-1]
    b = a[k:] + a[:k]
    return sum(v * i for i, v in enumerate(b)), len(b), b[0] == a[k], a[3]


def merged(x, k):
    left, right = sorted(x[:k].tolist()), sorted(x[k:].tolist())
    i = j = 0
    out = []
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    out.extend(left[i:])
    out += right[j:]
    return sum(v * i for i, v in enumerate(out)), len(out), out == sorted(out)


def rows(x, k):
    table, total = x.reshape(10, 2).tolist(), 0.0
    for row in table[k // 2 :]:
        total = total * 0.5 + row[1]
    return total, len(table[k // 2 :]), sum(row[0] for row in table[: k // 2])


@pytest.mark.parametrize("func", [read, windows, rotated, merged, rows], ids=lambda f: f.__name__)
def test_like_the_loop(func):
    assert_like_the_loop(func, X, K)


def test_rows_of_a_slice_are_not_changed():
    def func(x, k):
        table = x.reshape(10, 2).tolist()
        for row in table[k // 2 :]:
            row[0] = 1.0
        return sum(map(sum, table))

    with pytest.raises(ControlFlowError, match="a list is changed"):
        lw.vmap(func)(X, K)


def test_what_no_array_holds_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="a list is sliced at a place that is traced"):
        lw.vmap(lambda x, k: len([object(), x][k:]))(X, K)
    with pytest.raises(UnsupportedError, match="a tuple is sliced at a place that is traced"):
        lw.vmap(lambda x, k: len(tuple(x)[k:]))(X, K)
