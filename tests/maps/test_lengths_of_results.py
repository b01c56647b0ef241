"""Results of which the data say how long they are, and that are as long in all examples."""

from __future__ import annotations

import itertools

import numpy as np
import optree
import pytest

import lanewise as lw
from lanewise.api.lengths import First
from lanewise.errors import ConcretizationError, DataDependentShapeError, UnsupportedError
from support.backends import backend
from support.everywhere import assert_like_the_loop

RNG = np.random.default_rng(4)
X = RNG.normal(size=(6, 12))
K = RNG.integers(0, 12, (6, 20))


def parted(x):
    above, below = x[x > 0], x[x <= 0]
    return np.concatenate([above, below]), {"sorted": np.sort(np.concatenate([below, above]))}


def padded(x):
    out = []
    for v in x:
        if v > 0:
            out.append((float(v), 1))
    while len(out) < 12:
        out.append((0.0, 0))
    return out, len(out)


def order(k):
    waits = [0] * 12
    for i in range(0, 20, 2):
        if k[i] < k[i + 1]:
            waits[k[i + 1]] += 1
    found, ready = [], [i for i in range(12) if not waits[i]]
    while ready:
        at = ready.pop(0)
        found.append(at)
        for i in range(0, 20, 2):
            if k[i] == at and k[i + 1] > at:
                waits[k[i + 1]] -= 1
                if not waits[k[i + 1]]:
                    ready.append(int(k[i + 1]))
    return found


def merged(k):
    def ordered(a):
        if len(a) < 2:
            return a
        left, right = ordered(a[: len(a) // 2]), ordered(a[len(a) // 2 :])
        out, i, j = [], 0, 0
        while i < len(left) and j < len(right):
            if left[i] <= right[j]:
                out.append(left[i])
                i += 1
            else:
                out.append(right[j])
                j += 1
        return out + left[i:] + right[j:]

    return ordered(k.tolist()[:8])


def repeated(x):
    counts = np.where(x > 0, 2, 0)
    counts[0] += 24 - counts.sum()
    return np.repeat(x, counts).reshape(2, 12) if x.size < 0 else np.repeat(x, counts)


@pytest.mark.parametrize("func", [parted, repeated], ids=lambda func: func.__name__)
def test_arrays(func):
    assert_like_the_loop(func, X)


@pytest.mark.parametrize(
    ("func", "batch"), [(padded, X), (order, K), (merged, K)], ids=["padded", "order", "merged"]
)
def test_lists(func, batch):
    want = optree.tree_map(lambda *xs: np.stack(xs), *map(func, batch))
    for name in ("interpret", "native"):
        for called in (lw.vmap(func), lw.function(lw.vmap(func))):
            with backend(name):
                found = called(batch)
            assert optree.tree_structure(found) == optree.tree_structure(want)
            for x, y in zip(optree.tree_leaves(found), optree.tree_leaves(want), strict=True):
                np.testing.assert_array_equal(x, y, strict=True)


def test_lengths_that_differ_are_refused_as_before():
    with pytest.raises(DataDependentShapeError, match="returning it from a mapped function"):
        lw.vmap(lambda x: x[x > 0])(X)
    with pytest.raises(UnsupportedError, match="returns a list whose length is data"):
        lw.vmap(lambda x: [v for v in x if v > 0])(X)
    same = np.abs(X)
    called = lw.function(lw.vmap(lambda x: x[x > 0]))
    np.testing.assert_array_equal(called(same), same)
    with pytest.raises(DataDependentShapeError):
        called(X)
    np.testing.assert_array_equal(called(same[:, ::-1]), same[:, ::-1])


def test_what_does_more_than_to_return_is_not_called(monkeypatch):
    noted, asked, stream = [], [], np.random.default_rng(1)
    monkeypatch.setattr(First, "result", lambda self: asked.append(self))

    def noting(x):
        noted.append(1)
        return x[x > 0]

    def drawing(x):
        return x[x + stream.normal() > 0]

    for func in (noting, drawing, lambda x: lw.print(x[0]) or x[x > 0]):
        with pytest.raises(UnsupportedError):
            lw.vmap(func, randomness="different")(np.abs(X))
    assert not asked
    with pytest.raises(UnsupportedError):
        lw.vmap(lambda x: x[x > 0])(np.abs(X))
    assert len(asked) == 1


def test_the_first_example_is_known_of_arrays_alone():
    assert First([X], [0], 6, lambda rows: rows[0].sum()).result() == (X[0].sum(),)
    assert First([X[:0]], [0], 0, lambda rows: rows[0].sum()).result() is None
    assert First([X], [0], 6, lambda rows: rows[0][99]).result() is None


def test_nobody_knows_which_list_is_which_once_elements_are_given_back():
    def func(k):
        rows = [[0] * 5] * 5
        for i in k % 5:
            rows[i][0] += 1
            if rows[i][0] > 2:
                rows[i] = rows[i][:]
            for row in itertools.chain(rows):
                row[1] += 1
        return rows[0] is rows[1]

    with pytest.raises(ConcretizationError, match="one object"):
        lw.vmap(func)(K[:, :6])


def test_of_no_example_nothing_is_known():
    for called in (lw.vmap(parted), lw.function(lw.vmap(parted))):
        with pytest.raises(DataDependentShapeError):
            called(X[:0])
    called = lw.function(lw.vmap(parted))
    np.testing.assert_array_equal(called(X[:1])[0], [parted(X[0])[0]])
    np.testing.assert_array_equal(called(X[::-2])[0], [parted(x)[0] for x in X[::-2]])
