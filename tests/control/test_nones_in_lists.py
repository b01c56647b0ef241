"""Lists of which the data say which elements are None: tables that are filled, growing lists."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.everywhere import assert_like_the_loop

RNG = np.random.default_rng(7)
KEYS = RNG.integers(0, 12, (6, 20))
X = RNG.normal(size=(6, 20))


def gaps(keys, x):
    last, total = [None] * 12, 0
    for i in range(len(keys)):
        if last[keys[i]] is not None:
            total += i - last[keys[i]]
        last[keys[i]] = i
    return total, sum(1 for v in last if v is None), last.count(None)


def largest_of_each(keys, x):
    best = [None] * 12
    for k, v in zip(keys, x, strict=True):
        if best[k] is None or v > best[k]:
            best[k] = float(v)
    return [-1.0 if b is None else b for b in best]


def largest_of_few(keys, x):
    best = [None] * 5
    for k, v in zip(keys % 5, x, strict=True):
        best[k] = float(v) if best[k] is None else max(best[k], float(v))
    return [b or 0.0 for b in best]


def pairs(keys, x):
    best = [None] * 12
    for i, k in enumerate(keys):
        if best[k] is None or x[i] > best[k][0]:
            best[k] = (float(x[i]), i)
        if x[i] < -1:
            best[(k + i) % 12] = None
    total = sum(b[0] * b[1] for b in best if b is not None)
    return total, best.count(None), (0.5, 3) in best, best.count(best[keys[0]])


def table(keys, x):
    rows = [[None for _ in range(12)] for _ in range(9)]
    for i, k in enumerate(keys):
        r, c = (k * 3 + i) % 9, (i * k) % 12
        if rows[r][c] is None:
            rows[r][c] = i
        else:
            rows[r][c] += k
    return [sum(v for v in row if v is not None) for row in rows]


def small_table(keys, x):
    rows = [[None] * 4 for _ in range(3)]
    for i, k in enumerate(keys):
        rows[i % 3][k % 4] = None
        if rows[k % 3][i % 4] is None:
            rows[k % 3][i % 4] = x[i]
    return sum(v for row in rows for v in row if v is not None)


def coins(keys, x):
    amount = keys[0] + 25
    fewest = [None] * (amount + 1)
    fewest[0] = 0
    for a in range(1, amount + 1):
        for c in (3, 5, 7):
            if c <= a and fewest[a - c] is not None:
                found = fewest[a - c] + 1
                if fewest[a] is None or found < fewest[a]:
                    fewest[a] = found
    return -1 if fewest[amount] is None else fewest[amount]


def tree(keys, x):
    n = len(keys)
    key, parent, done = [None] * n, [-1] * n, [False] * n
    key[0] = 0
    for _ in range(n):
        u = None
        for v in range(n):
            if not done[v] and key[v] is not None and (u is None or key[v] < key[u]):
                u = v
        done[u] = True
        for v in range(n):
            w = abs(x[u] - x[v])
            if v != u and not done[v] and (key[v] is None or w < key[v]):
                key[v], parent[v] = w, u
    return parent


def growing(keys, x):
    out = []
    for v in x:
        if v > -1:
            out.append(float(v) if v > 0 else None)
    first = out.index(None) if None in out else -1
    return len(out), out.count(None), first, sum([v for v in out if v is not None])


def searched(keys, x):
    out = [None, 3]
    for k in keys:
        if k > 5:
            out.append(int(k) if k < 9 else None)
    return 7 in out, out.count(7), out.index(3), out.count(None), None in out[2:]


def parts(keys, x):
    out = []
    for i, k in enumerate(keys):
        if k > 3:
            out.append((i, None if x[i] > 0 else float(x[i])))
    return sum(i for i, v in out if v is None), sum(v for _, v in out if v is not None)


def swapped(keys, x):
    out = [None] * 10
    for i, k in enumerate(keys):
        out[k % 10] = x[i] if out[k % 10] is None else None
        out[i % 10], out[k % 10] = out[k % 10], out[i % 10]
    return [v is None for v in out], sum(v or 0.0 for v in out)


ALL = [
    gaps, largest_of_each, largest_of_few, pairs, table, small_table, coins, tree, growing,
    searched, parts, swapped,
]  # fmt: skip


@pytest.mark.parametrize("func", ALL, ids=lambda func: func.__name__)
def test_like_the_loop(func):
    assert_like_the_loop(func, KEYS, X)


def filled(keys, x):
    out = [None] * 12
    for k, v in zip(keys, x, strict=True):
        out[k] = float(v)
    return out


USES = {
    "sum": sum,
    "max": max,
    "sorted": lambda items: sorted(items)[0],
    "add": lambda items: items[3] + 1.0,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_none_in_the_place_of_a_number_is_an_error_where_it_is_used(use):
    def func(keys, x):
        return use(filled(keys, x))

    every = np.array([np.arange(12)] * 2)
    assert_like_the_loop(func, every, X[:2, :12])
    with pytest.raises(TypeError):
        func(KEYS[0] % 3, X[0])
    with pytest.raises(TypeError):
        lw.vmap(func)(KEYS % 3, X)


def test_no_array_holds_none():
    every = np.array([np.arange(12)] * 2)

    def func(keys, x):
        return np.array(filled(keys, x)).sum()

    assert_like_the_loop(func, every, X[:2, :12])
    with pytest.raises(UnsupportedError, match=r"np.array\(\) of a list with None in it"):
        lw.vmap(func)(KEYS % 3, X)
    with pytest.raises(UnsupportedError, match="tuples with None in them"):
        lw.vmap(lambda keys, x: (1, 2.0) in [*parted(keys, x)])(KEYS, X)


def parted(keys, x):
    out = []
    for i, k in enumerate(keys):
        if k > 3:
            out.append((i, None if x[i] > 0 else float(x[i])))
    return out
