"""Arrays that data choose are the arrays that they are chosen of: writes to either are seen."""

from __future__ import annotations

import heapq

import numpy as np
import optree
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError
from support.backends import backend

X = np.random.default_rng(0).normal(size=(9, 3, 3))


def greatest(x):
    rows = [x[0].copy(), x[1].copy(), x[2].copy()]
    b = max(rows, key=lambda r: r[0])
    b *= 10
    return rows


def first_of_sorted(x):
    rows = [x[0].copy(), x[1].copy(), x[2].copy()]
    b = sorted(rows, key=lambda r: r[0])[0]
    b *= 10
    return rows


def least_of_two(x):
    a = x[0].copy()
    c = x[1].copy()
    b = min(a, c, key=lambda r: r[0])
    b += 1
    return (a, c)


def greatest_of_values(x):
    d = {"a": x[0].copy(), "b": x[1].copy()}
    k = max(d.values(), key=lambda v: v[0])
    k += 1
    return d


def within_tuples(x):
    _, b = max([(i, r) for i, r in enumerate(x)], key=lambda t: t[1][0])
    b += 1
    return x


def both_of_sorted(x):
    lo, hi = sorted([x[0], x[1]], key=lambda r: r[0])
    lo -= 1
    hi += 1
    return x


def some_of_sorted(x):
    for r in sorted(x, key=lambda r: r[0])[:2]:
        r *= 2
    return x


def of_nlargest(x):
    for r in heapq.nlargest(1, x, key=lambda r: r[0]):
        r *= 2
    return x


def all_but_one(x):
    rows = list(x)
    rows.pop(int(x[:, 0].argmax()))
    for r in rows:
        r += 1
    return x


def sorted_in_place(x):
    rows = [r.copy() for r in x]
    first = rows[0]
    rows.sort(key=lambda r: r[0])
    rows[0] += 5
    return (first, rows)


def swapped(x):
    rows = [r.copy() for r in x]
    first = rows[0]
    i = int(np.argmax([r[0] for r in rows]))
    rows[0], rows[i] = (rows[i], rows[0])
    rows[0] += 5
    return (first, rows)


def itself_scaled(x):
    m = min(x, key=np.linalg.norm)
    m /= np.linalg.norm(m)
    return x


def overlapping(x):
    s = max(x[:, :2], x[:, 1:], key=np.sum)
    s -= 1
    return x


def enumerated(x):
    for i, r in enumerate(sorted(x, key=lambda r: r[0])):
        r[0] = i
    return x


def written_over(x):
    rows = sorted(list(x), key=lambda r: r.sum())
    rows[-1][:] = rows[0]
    return x


def set_to_zero(x):
    rows = list(x)
    rows.sort(key=lambda r: r.sum())
    rows[-1][:] = 0
    return x


def by_an_iterator(x):
    first = next(iter(sorted(x, key=lambda v: v[1])))
    first[:] = 0
    return x


def of_items(x):
    _, r = max({i: r for i, r in enumerate(x)}.items(), key=lambda kv: kv[1][0])
    r[0] = 0
    return x


def written_before_it_is_read(x):
    a = x[0].copy()
    c = x[1].copy()
    b = a if x[0, 0] > 0 else c
    a += 1
    return (b.sum(), a, c)


def sorted_before_it_changes(x):
    rows = [r * 1 for r in x]
    s = sorted(rows, key=lambda r: r[0])
    rows[0] += 100
    return s


def reversed_before(x):
    rows = [r for r in x]
    rows.reverse()
    rows[int(x[0].argmax())][0] = 3
    return x


def popped(x):
    q = list(x)
    i = int(x[0].argmax())
    r = q.pop(i)
    r[0] = 9
    return x


def into_what_is_sorted(x):
    x[:] = sorted(x, key=lambda v: v[1])
    return x


def made_in_the_function(x):
    a = np.zeros(3)
    c = np.ones(3)
    b = min(a, c, key=lambda r: r[0] * x[0, 0])
    b += 1
    return (a, c)


WRITING = [
    greatest,     first_of_sorted,     least_of_two,     greatest_of_values,     within_tuples,
    both_of_sorted,     some_of_sorted,     of_nlargest,     all_but_one,     sorted_in_place,
    swapped,     itself_scaled,     overlapping,     enumerated,     written_over,
    set_to_zero,     by_an_iterator,     of_items,     written_before_it_is_read,
    sorted_before_it_changes,     reversed_before,     popped,     into_what_is_sorted,
    made_in_the_function,
]  # fmt: skip


def assert_alike(found, wanted):
    found, wanted = optree.tree_leaves(found), optree.tree_leaves(wanted)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("name", ["interpret", "native"])
@pytest.mark.parametrize("f", WRITING)
def test_writes_go_to_the_array_that_was_chosen(f, name):
    with backend(name):
        check(f)


def check(f):
    each = [f(x.copy()) for x in X]
    assert_alike(lw.vmap(f)(X.copy()), optree.tree_map(lambda *xs: np.stack(xs), *each))
    for x, wanted in zip(X, each, strict=True):
        given = x.copy()
        assert_alike(lw.function(f)(given), wanted)
        plain = x.copy()
        f(plain)
        np.testing.assert_allclose(given, plain, rtol=1e-14)


def test_derivatives_of_arrays_that_are_chosen_and_changed():
    def f(x):
        low = min(x[0] * 1, x[1] * 1, key=lambda r: r[0])
        low *= 3
        return (low * x[2]).sum()

    given = lw.grad(f)(X[0])
    step = 1e-6
    for i in np.ndindex(3, 3):
        up, down = X[0].copy(), X[0].copy()
        up[i] += step
        down[i] -= step
        np.testing.assert_allclose(given[i], (f(up) - f(down)) / (2 * step), rtol=1e-6, atol=1e-9)


def test_of_many_arrays_a_write_to_one_is_refused(monkeypatch):
    def f(x):
        rows = [x * k for k in range(20)]
        low = min(rows, key=lambda r: abs(r[0] - 1))
        sorted(rows, key=lambda r: r[1])[3][:] = 0
        low[0] = 7
        return rows[3]

    with pytest.raises(ControlFlowError, match="Assign a copy"):
        lw.vmap(f)(X[:, 0])
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    with pytest.warns(lw.PlainLoopWarning):
        np.testing.assert_array_equal(lw.vmap(f)(X[:, 0]), [f(x) for x in X[:, 0]])


# --- tuples with arrays ---------------------------------------------------------------------------


def by_a_heap(x):
    heap = []
    for i, row in enumerate(x):
        heapq.heappush(heap, (row[0], i, row))
    return heapq.heappop(heap)[2]


def by_min_in_a_loop(x):
    best = (np.inf, -1, x[0] * 0)
    for i, row in enumerate(x):
        best = min(best, (row[0], i, row))
    return best[2]


def by_max(x):
    return max((row[0], i, row) for i, row in enumerate(x))[2]


def without_counters(x):
    return (x[0, 0], x[1]) < (x[0, 1], x[2])


@pytest.mark.parametrize("f", [by_a_heap, by_min_in_a_loop, by_max, without_counters])
def test_arrays_in_tuples_are_compared_only_where_all_before_are_the_same(f):
    np.testing.assert_array_equal(lw.vmap(f)(X), [f(x) for x in X])


def test_arrays_in_tuples_are_ambiguous_where_they_are_compared():
    same = X.copy()
    same[4, 0, 1] = same[4, 0, 0]
    with pytest.raises(ValueError, match="truth value of an array"):
        lw.vmap(without_counters)(same)
    with pytest.raises(ValueError, match="truth value of an array"):
        lw.vmap(lambda x: min((0.0, row) for row in x)[1])(X)
