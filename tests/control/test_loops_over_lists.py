"""Loops over lists, by whatever goes through them, that change what they go through."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.turns import Turns
from lanewise.errors import UnsupportedError
from support.comparing import define
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(5).normal(size=(6, 20))


def an_entry(x):
    a, t = x.tolist(), 0.0
    for v in a:
        t += v
        a[-1] = t
    return t, a[-1]


def entries_at_data(x):
    a, t = [float(v) for v in x], 0.0
    k = (x * 7).astype(int) % 20
    for v in a:
        t = t * 0.5 + v
        a[k[int(t > 0)]] = t
    for i, v in enumerate(a):
        t = t * 0.5 + v
        a[k[i]] = t * i
    for u, v in zip(a, a[::-1], strict=True):
        t = t * 0.5 + v - u
        a[k[int(u > v)]] = t
    for v in reversed(a):
        t = t * 0.5 + v
        a[k[3] - int(v > 0)] = t
    b = x.tolist()
    for v in map(float, b):
        t = t * 0.5 + v
        b[k[int(t > 1)]] = t
    return t, sum(a), sum(b)


def of_two(x):
    a, b, t = list(x), x.tolist(), 0.0
    for i, (u, v) in enumerate(zip(a, b, strict=True), 1):
        t = t * 0.5 + v - u * i
        a[int(abs(v) * 7) % len(a)], b[-1] = t, u
    return t, sum(a), sum(b)


def its_length(x):
    a, t, n = list(x), 0.0, 0
    for i, v in enumerate(a):
        if n < 30:
            a.append(v * 0.5)
            n += 1
        t = t * 0.9 + v * i
    for i, v in enumerate(a):
        if i % 2:
            a.pop()
        t += v + a[0]
    return t, len(a)


def rows(x):
    a, t = [x.tolist() for _ in range(3)], 0.0
    for row in a:
        for v in row:
            t = t * 0.5 + v
            a[int(abs(v) * 7) % 3][int(abs(t) * 3) % 20] = t
    for i in range(3):
        for j, v in enumerate(a[i]):
            t = t * 0.5 + v
            a[int(abs(v) * 7) % 3][(j + 1) % 20] = t
    for i, row in enumerate(a):
        row[0] += t
        a[(i + 1) % 3][int(abs(t) * 5) % 20] = row[1]
    others = a[1:]
    for p, q in zip(a, others, strict=False):
        p[int(abs(t) * 9) % 20] += q[2]
        q[0] = p[1] + t
    return t, [sum(row) for row in a]


def rows_that_differ(x):
    a, t = [[0.0] * 5 for _ in range(4)], 0.0
    k = int(abs(x[0]) * 9) % 4
    a[k][k] = 2.0
    for i, row in enumerate(a):
        for j, v in enumerate(row):
            t = t * 0.5 + v + x[i]
            a[int(abs(t) * 9) % 4][(j + 1) % 5] = t
        a[(k + i) % 4][2] = t
    return t, sum(map(sum, a))


def a_generator(x):
    a, t = x.tolist(), 0.0

    def doubled():
        for v in a:
            yield v * 2

    for v in doubled():
        t = t * 0.5 + v
        a[int(abs(v) * 7) % len(a)] = t
    return t


def comprehensions(x):
    a = x.tolist()

    def put(v):
        a[int(abs(v) * 7) % len(a)] = v * 2
        return v

    found = sum([put(v) for v in a]), sum(put(v) for v in a), max(put(v) for _, v in enumerate(a))
    return *found, {i: put(v) for i, v in enumerate(a)}[3], [put(v) for v in a if v > -9][3], sum(a)


def pairs_of_one_iterator(x):
    a, t = x.tolist(), 0.0
    it = iter(a)
    for u, v in zip(it, it, strict=False):
        t = t * 0.5 + u * v
    again = iter(a)
    found = [u * v for u, v in zip(again, again, strict=False)]
    return t, sum(found), len(list(it))


def iterators_that_others_have(x):
    a, t = x.tolist(), 0.0
    others = a[1:]
    it, pairs = iter(a), zip(a, others, strict=False)
    for i, (u, v) in enumerate(pairs):
        t = t * 0.5 + u * v
        if i == 3:
            break
    for u, _ in zip(it, x, strict=False):
        t = t * 0.5 + u
        if t > 99:
            break

    def rest():
        return pairs

    for u, _ in rest():
        t += u
        if u is not None:
            break
    return t, next(pairs)[0], len(list(it))


def of_all_kinds(x):
    a, t = x.tolist(), 0.0
    for i, v in enumerate(reversed(a)):
        t = t * 0.5 + v * i
    for (i, v), w in zip(enumerate(a, 1), map(abs, a), strict=True):
        t = t * 0.5 + v * i - w
    for v in map(lambda p, q: p * q, a, a[1:]):
        t = t * 0.5 + v
    for i, c in enumerate("abc"):
        t += i * ord(c)
    for i, k in enumerate({1: 2, 3: 4}):
        t += i * k
    for u, v in zip(a, itertools.count(), strict=False):
        t += u * v
    return t


def generators_of_iterators(x):
    def differences(a):
        it = iter(a)
        for u, v in zip(it, it, strict=False):
            yield u - v

    def weighted(a):
        for i, v in enumerate(a):
            yield i * v

    t = 0.0
    for v in itertools.chain(differences(x.tolist()), weighted(x.tolist())):
        t = t * 0.5 + v
    return t


ALL = [
    pairs_of_one_iterator, iterators_that_others_have, of_all_kinds, generators_of_iterators,
    an_entry, entries_at_data, of_two, its_length, rows, rows_that_differ, a_generator,
    comprehensions,
]  # fmt: skip


@pytest.mark.parametrize("func", ALL, ids=lambda func: func.__name__)
def test_like_the_loop(func):
    assert_like_the_loop(func, X)


def an_iterator(x):
    a, t = x.tolist(), 0.0
    each = iter(a)
    for v in each:
        t = t * 0.5 + v
        a[int(abs(v) * 7) % len(a)] = t
    return t


def taken_one_by_one(x):
    a, t = x.tolist(), 0.0
    each = iter(a)
    for _ in range(len(a)):
        v = next(each)
        t = t * 0.5 + v
        a[int(abs(v) * 7) % len(a)] = t
    return t


def a_part(x):
    a, t = x.tolist(), 0.0
    for v in itertools.islice(a, 2, None):
        t = t * 0.5 + v
        a[int(abs(v) * 7) % len(a)] = t
    return t


def consumed(x):
    a = x.tolist()

    def put(v):
        a[int(abs(v) * 7) % len(a)] = v * 2
        return v

    return sum(map(put, a))


def as_long_as_data_say(x):
    a, t = [float(v) for v in x if v > -1], 0.0
    for v in a:
        t = t * 0.5 + v
        a[int(abs(v) * 7) % len(a)] = t
    return t


@pytest.mark.parametrize("func", [an_iterator, taken_one_by_one, consumed])
def test_iterators_of_lists_that_become_arrays(func):
    assert_like_the_loop(func, X)


def test_iterators_of_lists_that_become_arrays_are_refused():
    with pytest.raises(UnsupportedError, match="a list that an iterator goes through"):
        lw.vmap(a_part)(X)
    assert_like_the_loop(a_part, X[:, :8])  # of few, each is chosen anew


def taken_at_once(x):
    a, t = x.tolist(), 0.0
    for v in filter(lambda v: v < 9, a):
        t = t * 0.5 + v
        a[int(abs(v) * 7) % len(a)] = t
    return t


def test_a_list_that_is_taken_at_once_must_not_change():
    with pytest.raises(UnsupportedError, match=r"changes a list that map\(\) or filter\(\)"):
        lw.vmap(taken_at_once)(X)


def worklist(x):
    todo, seen = [0], [False] * len(x)
    seen[0] = True
    for u in todo:
        for w in (2 * u + 1, 2 * u + 2):
            if w < len(x) and x[w] > -0.5 and not seen[w]:
                seen[w] = True
                todo.append(w)
    return len(todo), todo[-1]


def in_pairs_with_itself(x):
    items, n = [v for v in x if v > 0], 0.0
    for i, (a, b) in enumerate(zip(items, items, strict=False)):
        n = n * 0.5 + a + b * i
        items[0] = n
        if len(items) < 30:
            items.append(a * 0.5)
    return n, len(items)


def longer_until_it_is_left(x):
    kept = [v for v in x if v > 0]
    for v in kept:
        kept.append(v)
        if len(kept) > 30:
            break
    return len(kept)


def shorter_on_the_way(x):
    items = [v for v in x if v > -1]
    for a in items:
        if a < 1 and len(items) > 1:
            items.pop()
    return len(items), sum(items)


@pytest.mark.parametrize(
    "func",
    [
        as_long_as_data_say,
        worklist,
        in_pairs_with_itself,
        longer_until_it_is_left,
        shorter_on_the_way,
    ],
)
def test_lists_of_data_lengths_that_change_while_they_are_gone_through(func):
    assert_like_the_loop(func, X[:, :8])


HEADS = {
    "zip": "for u, v in zip(x.tolist(), x[::-1].tolist()):",
    "lists": "for u, v in zip(list(x), [float(v) for v in x]):",
    "enumerate": "for u, v in enumerate(x.tolist()):",
    "both": "for u, (v, w) in enumerate(zip(x.tolist(), range(20)), 1):",
    "map": "for u, v in map(lambda u, v: (u, v * 2), x, x[::-1]):",
    "reversed": "for u, v in zip(reversed(x.tolist()), x):",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
def test_loops_are_recorded_whatever_goes_through_lists(head, monkeypatch):
    lines = ["def f(x):", "    t, n, out = 0.0, 0, []", f"    {head}", "        while v > 0.1:"]
    lines += ["            v, n = v * 0.5, n + 1", "        t = t * 0.5 + v + u"]
    lines += ["        out.append(t)", "    return t, n, out"]
    func = define("\n".join(lines))
    times, begin = [], Turns.begin
    monkeypatch.setattr(Turns, "begin", lambda self, *args: times.append(1) or begin(self, *args))
    lw.function(lw.vmap(func)).get_concrete_function(X)
    assert 0 < len(times) < 16
    assert_like_the_loop(func, X)
