"""Dicts and sets whose keys are data: counts, groups, what was seen."""

from __future__ import annotations

import copy
import warnings
from collections import Counter, defaultdict, deque
from functools import partial

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support import random_dicts
from support.backends import backend, outcome
from support.comparing import define
from support.everywhere import assert_like_the_loop

rng = np.random.default_rng(7)
KEYS = rng.integers(0, 5, size=(6, 12))
ONE = KEYS[:, 0] + 2


def counts(x):
    c = {}
    for v in x:
        c[v] = c.get(v, 0) + 1
    return max(c.values()), len(c), max(c, key=c.get)


def counts_with_a_test(x):
    c = {}
    for v in x:
        if v in c:
            c[v] += 1
        else:
            c[v] = 1
    best, n = None, 0
    for k, m in c.items():
        if m > n:
            best, n = k, m
    return best, n, sum(c.values()), sorted(c)[0]


def counter(x):
    c = Counter()
    for v in x:
        c[v] += 1
    return len(c), c[2], c[77], c.most_common(1)[0][1], c.most_common()[-1][0], c.total()


def counter_of(x):
    c = Counter(x)
    return c.most_common(1)[0][0], len(c), c.get(3, 0)


def weights(x):
    w = defaultdict(float)
    for i, v in enumerate(x):
        w[v] += 1.0 / (i + 1)
    s = 0.0
    for k in w:
        s += k * w[k]
    return s, max(w.values()), len(w), w[99]


def seen(x):
    found, out = set(), []
    for v in x:
        if v not in found:
            found.add(v)
            out.append(v)
    return len(out), out[-1], len(found), max(found), sorted(found)[0], len(set(x))


def toggled(x):
    s = set()
    for v in x:
        if v in s:
            s.remove(v)
        else:
            s.add(v)
        s.discard(v + 1)
    return len(s), max(s) if s else -1


def two_that_sum(x, target):
    found = {}
    for i, v in enumerate(x):
        if target - v in found:
            return found[target - v], i
        found[v] = i
    return -1, -1


def longest_without_repeats(x):
    window, left, best = {}, 0, 0
    for r, v in enumerate(x):
        window[v] = window.get(v, 0) + 1
        while window[v] > 1:
            window[x[left]] -= 1
            if window[x[left]] == 0:
                del window[x[left]]
            left += 1
        best = max(best, r - left + 1)
    return best, len(window)


def factors(n):
    f, p = {}, 2
    while p * p <= n:
        while n % p == 0:
            f[p] = f.get(p, 0) + 1
            n //= p
        p += 1
    if n > 1:
        f[n] = f.get(n, 0) + 1
    total = 1
    for _, e in f.items():
        total *= e + 1
    return total, len(f)


def until_it_repeats(x):
    found, n = set(), 0
    while x not in found:
        found.add(x)
        x = (x * x + 1) % 11
        n += 1
    return n, x


def breadth_first(x):
    n, count = 3, 0
    found, todo = {(0, 0)}, [(0, 0)]
    while todo:
        i, j = todo.pop(0)
        count += 1
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = i + di, j + dj
            if 0 <= a < n and 0 <= b < n and x[a * n + b] < 4 and (a, b) not in found:
                found.add((a, b))
                todo.append((a, b))
    return count, len(found)


def places(x):
    pos, visits = (0, 0), {}
    for i in range(0, len(x), 2):
        pos = (pos[0] + x[i] - 2, pos[1] + x[i + 1] - 2)
        visits[pos] = visits.get(pos, 0) + 1
    return len(visits), max(visits.values())


def in_an_attribute(x):
    class Cache:
        def __init__(self):
            self.store, self.hits = {}, 0

        def get(self, k):
            if k in self.store:
                self.hits += 1
                return self.store[k]
            self.store[k] = k * k + 1
            return self.store[k]

    c, s = Cache(), 0
    for v in x:
        s += c.get(v)
    return s, c.hits, len(c.store)


def other_methods(x):
    d, t = {0: 10}, 0.0
    if x[0] > 2:
        d[x[1]] = 5
    for v in x:
        t = t * 0.5 + d.setdefault(v, 3) + d.pop(v + 1, 0)
        d.update({1: 2})
    e = dict(d)
    e[100] = 1
    d.clear()
    return t, len(d), len(e), sum(e.values()), bool(d), e.get(101) is None


def replaced(x):
    d, t = {}, 0.0
    for v in x:
        d[v] = d.get(v, 0) + 1
        if d[v] > 1:
            t = t * 2 + len(d)
            d = {}
    return t, len(d)


def comprehended(x):
    large = {int(v) for v in x if v > 1}
    last = {v: i for i, v in enumerate(x)}
    often = {k: n for k, n in Counter(v for v in x if v > 0).items() if n > 1}
    queue = deque(v for v in x if v > 2)
    t = 0
    while queue:
        t = t * 3 + queue.popleft()
    return len(large), 2 in large, sum(last[v] for v in x), sum(often.values()), t


def made_of_others(x):
    table = dict(zip(x, range(len(x)), strict=True))
    first = list(dict.fromkeys(x))
    pairs = dict([(v, 1) for v in x if v != 3])
    large = set([v for v in x if v > 2])
    ends = {x[0], x[-1], 2}
    known = {x[0]: 1, 2: 5, x[1]: 3}
    return (
        table[x[3]],
        len(first),
        first[-1],
        len(pairs),
        len(large),
        len(ends),
        known[2],
        len(known),
    )


def counted_at_once(x):
    v = x[0]
    return len({v * 0.5, 1}), len([*{v: 1}]), max({v, 2})


def of_two_sets(x):
    a, b = set(), {2, 7}
    for v in x[:4]:
        a.add(v)
    for v in x[3:7]:
        b.add(v)
    made = len(a | b), len(a & b), len(a - b), len(b - a), len(a ^ b)
    compared = a <= b, a < b, a >= b, a == b, a != b, a == set(x[:4]), a.isdisjoint(b)
    compared += a | b == b | a, a - b <= a & b, a & b == {2}, 2 * [x[0]] == [*x[:2]]
    methods = len(a.union(b, [9])), a.issubset(a | b), a.issuperset(b), len(a.intersection(x[5:]))
    return made, compared, methods, max(a.difference(b), default=-1), 3 in a | b


def changed_by_another(x):
    a, b, fixed = set(x[:3]), {3, 4}, {0, 1}
    a |= {x[5], 8}
    b.update(a, x[6:8])
    fixed -= {x[0]}
    if x[1] > 2:
        a &= b
        b ^= {x[2]}
    b.difference_update([x[3]])
    return len(a), len(b), sum(k in b for k in range(9)), len(fixed), sorted(a)[0] if a else -1


def of_two_dicts(x):
    a, b = {1: 10}, {}
    for v in x[:4]:
        a[v] = v
    for i, v in enumerate(x[4:]):
        b[v] = i
    c, d, e = {**a, **b, 5: 0}, a | b, copy.copy(a)
    a.update(b)
    a[77] = 1
    b |= {x[0]: 9}
    tally = Counter(x[:5])
    tally.update(x[5:])
    tally.update({1: 5})
    keys = [*b]
    return (
        len(c), sum(c.values()), len(d), len(e), len(a), a == d, d == {**e, **b}, b[x[0]],
        tally[1], keys[-1], list(c)[-1],
    )  # fmt: skip


def in_another_order(x):
    d = {}
    if x[0] > 2:
        d[1] = x[1]
        d[2] = x[2]
    else:
        d[2] = x[2]
        d[1] = x[1]
    c = Counter()
    if x[3] > 2:
        c.update([2, 2])
    return next(iter(d)), next(iter(d.values())) * 2, len(c), c[2]


PROGRAMS = [
    counts, counts_with_a_test, counter, counter_of, weights, seen, toggled,
    longest_without_repeats, breadth_first, places, in_an_attribute, other_methods, replaced,
    comprehended, made_of_others, counted_at_once, of_two_sets, changed_by_another, of_two_dicts,
    in_another_order,
]  # fmt: skip


@pytest.mark.parametrize("func", PROGRAMS, ids=lambda f: f.__name__)
def test_like_the_loop(func):
    assert_like_the_loop(func, KEYS)


def test_of_several_arguments():
    assert_like_the_loop(two_that_sum, KEYS, ONE)


@pytest.mark.parametrize("func", [factors, until_it_repeats], ids=lambda f: f.__name__)
def test_of_numbers(func):
    assert_like_the_loop(func, rng.integers(1, 60, size=8))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    func = define(random_dicts.draw(seed), np=np, **random_dicts.HELPERS)
    batches = random_dicts.arguments(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wants = [outcome(partial(func, *row)) for row in zip(*batches, strict=True)]
        good = [i for i, (_, error) in enumerate(wants) if error is None]
        for name in ("interpret", "native") if good else ():
            try:
                with backend(name):
                    got = lw.vmap(func)(*[batch[good] for batch in batches])
            except (ControlFlowError, UnsupportedError) as error:
                pytest.skip(f"refused by name: {error}")
            for column, want in zip(
                got, zip(*[wants[i][0] for i in good], strict=True), strict=True
            ):
                np.testing.assert_allclose(column.astype(float), np.array(want, float), 1e-9)


# --- what is refused ------------------------------------------------------------------------------


def test_a_missing_key_raises():
    def f(x):
        d = {}
        d[x[0]] = 1
        return d[x[1]]

    same = np.stack([KEYS[0], KEYS[1]])
    same[:, 1] = same[:, 0]
    assert lw.vmap(f)(same).tolist() == [1, 1]
    with pytest.raises(KeyError):
        lw.vmap(f)(np.array([[1, 2], [3, 3]]))


OUTER: dict = {}


def returned(x):
    d = {}
    d[x[0]] = 1
    return d


def gone_through(x):
    s, t = set(), 0.0
    s.add(x[0])
    for v in s:
        t = t * 0.5 + v
    return t


def from_outside(x):
    OUTER[x[0]] = 1
    return x[1]


def shown(x):
    d = {}
    d[x[0]] = 1
    return len(f"{d}")


def without_values(x):
    d = dict.fromkeys(x)
    return d[x[0]] is None


def in_a_tuple(x):
    s = set(x)
    return len((*s,))


@pytest.mark.parametrize(
    "func",
    [returned, gone_through, from_outside, shown, without_values, in_a_tuple],
)
def test_what_is_refused(func):
    with pytest.raises(UnsupportedError, match=r"dict|set"):
        lw.vmap(func)(KEYS)
    assert not OUTER


def test_an_array_is_no_key():
    def f(x):
        d = {}
        d[x] = 1
        return len(d)

    with pytest.raises(TypeError, match="hash"):
        lw.vmap(f)(KEYS)


def test_nan_is_refused():
    def f(x):
        s = set()
        s.add(x[0])
        return len(s)

    assert lw.vmap(f)(np.array([[1.0], [2.0]])).tolist() == [1, 1]
    with pytest.raises(ValueError, match="NaN is a key"):
        lw.vmap(f)(np.array([[1.0], [np.nan]]))
