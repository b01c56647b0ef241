"""Lists whose length is data: sorted, joined, searched, and changed anywhere but at the end."""

from __future__ import annotations

import bisect
import math

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.everywhere import Programs, assert_like_the_loop

RNG = np.random.default_rng(3)
A = RNG.normal(size=(6, 9))
A[:, 0] = 1 + np.abs(A[:, 0])
K = RNG.integers(0, 4, size=(6, 9))
PROGRAMS = Programs()
program = PROGRAMS.note


@program(A)
def sorted_numbers(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    up, down = sorted(kept), sorted(kept, reverse=True)
    middle = up[len(up) // 2]
    return sorted(kept)[0], middle, down[0], sum(i * v for i, v in enumerate(down)), kept[0]


@program(K)
def sorted_by_a_key(x):
    kept = []
    for i, v in enumerate(x):
        if v > 0:
            kept.append((v, i))
    first = sorted(kept, key=lambda p: (p[0], -p[1]))
    last = sorted(kept, key=lambda p: p[0], reverse=True)
    plain = sorted(kept)
    kept.sort(key=lambda p: -p[1])
    total = 0
    for rank, (v, i) in enumerate(last):
        total += rank * (10 * v + i)
    return len(first), total, sum([r * p[1] for r, p in enumerate(plain)]), sum(p[0] for p in first)


@program(np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0]], np.uint8))
def equal_to_an_arrays_list(s):
    kept = []
    for v in s:
        if v > 0:
            kept.append(int(v))
    return kept == s.tolist(), s.tolist() == kept, kept == list(s), kept != [1, 1, 1]


@program(A, K)
def in_order_at_all_times(prices, amounts):
    """An order book: sorted where something was appended, shortened and changed at its front."""
    asks, traded = [], 0
    for price, amount in zip(prices, amounts, strict=True):
        if price < 0:
            while amount > 0 and asks and asks[0][0] <= -price:
                best = asks[0]
                taken = min(amount, best[1])
                traded += taken
                amount -= taken
                if taken == best[1]:
                    asks.pop(0)
                else:
                    asks[0] = (best[0], best[1] - taken)
        elif amount > 0:
            asks.append((price, amount))
            asks.sort()
    return traded, len(asks), sum(price * amount for price, amount in asks)


@program(A)
def in_place(x):
    kept = [v for v in x if v > 0]
    kept.sort(reverse=True)
    largest = kept[0]
    kept.sort(key=lambda v: abs(v - 1))
    return largest, kept[0], len(kept)


@program(A)
def three_smallest(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    if len(kept) > 3:
        kept = sorted(kept)[:3]
    return sum(kept)


@program(A)
def sorted_generators(x):
    kept = list(v for v in x if v > 0)
    return sorted(v for v in x if v > 0)[0], len(kept), sorted([v * v for v in x if v > 0])[-1]


@program(A)
def lists_of_iterables(x):
    kept = list(x[x > 0])
    if kept[0] > 1.5:
        kept.append(x[1])
    back = list(reversed(kept))
    pairs = list(zip(kept, back))  # noqa: B905
    return back[0], len(pairs), pairs[0][1], sum(kept)


@program(A)
def joined(x):
    low, high = [0.0], []
    for v in x:
        if v < 0:
            low.append(v)
        else:
            high = high + [v]  # noqa: RUF005
    both = low + high
    both += [1.0]
    both.extend(v for v in x if v > 1)
    both.extend(high[1:])
    both.extend(x[:2])
    low += high
    return sum(both), len(both), len(low + [1.0, 2.0]), low[-1]  # noqa: RUF005


@program(A)
def copies(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    first, second = kept[:], kept.copy()
    first.append(1.0)
    second.append(2.0)
    third = list(kept)
    third.pop()
    return sum(first) - sum(second), len(first), len(third), len(kept)


@program(K)
def distinct(x):
    seen = []
    for v in x:
        if v not in seen:
            seen.append(v)
    return len(seen), sum(seen), 2 in seen, 17 in seen


@program(K)
def distinct_pairs(x):
    seen = []
    steps = 0
    for i in range(len(x) - 1):
        pair = (x[i], x[i + 1])
        if pair in seen:
            continue
        seen.append(pair)
        steps += i
    return len(seen), steps, (1, 1) in seen


@program(K)
def found(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    kept.append(1)
    return kept.index(1), kept.count(1), kept.index(max(kept)), kept.count(99)


@program(A)
def insertion_sort(x):
    out = []
    for v in x:
        if v > -1:
            i = 0
            while i < len(out) and out[i] < v:
                i += 1
            out.insert(i, v)
    return out[0], out[len(out) // 2], out[-1]


@program(A)
def bisected(x):
    out = []
    for v in x:
        out.insert(bisect.bisect_left(out, v), v)
        if v > 1:
            out.insert(-1, v)
            out.insert(100, v / 2)
            out.insert(0, 0.5)
    return out[0], out[1], out[-1], out[-2], bisect.bisect(sorted(out), 0.2)


@program(A)
def taken_out(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    kept.append(3.0)
    kept.append(4.0)
    n = len(kept)
    popped = kept.pop(n // 2)
    kept.remove(max(kept))
    del kept[-1]
    return popped, len(kept), sum(kept)


@program(K)
def of_known_length(x):
    items = [3, 1, 2, 0, 5]
    items.insert(x[0], 9)
    items.remove(x[1] + 9 - x[1])
    value = items.pop(x[2])
    del items[x[3]]
    return value, items[0], items[1], items[2], len(items), items.index(5) if 5 in items else -1


@program(A)
def products(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    return math.prod(kept), math.fsum(kept), np.median(sorted(kept))


@program(A)
def looked_at_by_numpy_as_it_grows(x):
    kept, total = [1.0], 0.0
    for v in x:
        total += np.mean(kept)
        if v > 0:
            total += np.searchsorted(kept, v)
            kept.append(v)
        while len(kept) > 3:
            total += np.max(kept)
            kept.pop(0)
    return total, len(kept)


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


# --- errors of examples ---------------------------------------------------------------------------


def test_what_is_not_there_raises_as_in_python():
    def removes(x):
        kept = [v for v in x if v > 0]
        kept.remove(2)
        return len(kept)

    def finds(x):
        kept = [v for v in x if v > 0]
        return kept.index(2)

    def pops(x):
        kept = [v for v in x if v > 1]
        return kept.pop(4), len(kept)

    def deletes(x):
        kept = [v for v in x if v > 1]
        del kept[-4]
        return len(kept)

    for func in (removes, finds, pops, deletes):
        assert_like_the_loop(func, K)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("use", [sorted, max])
def test_nan_has_no_place_in_an_order(use):
    def func(x):
        kept = [v for v in x if not v < 0]
        return sorted(kept)[0] if use is sorted else float(np.nan in kept)

    with pytest.raises(UnsupportedError, match=r"NaN.*test_lists_as_wholes\.py:"):
        lw.vmap(func)(np.array([[1.0, np.nan, -1.0]]))


def test_a_list_that_somebody_else_has():
    def func(x):
        kept = []
        for v in x:
            if v > 0:
                kept.append(v)
        other = kept
        other.insert(0, 1.0)
        return len(kept)

    assert lw.vmap(func)(A).tolist() == [func(x) for x in A]


def test_a_function_of_another_kind_of_that_name():
    def sorted(items):
        return [next(iter(items)), 7.0]

    def func(x):
        return sorted(v for v in x)[1]

    assert_like_the_loop(func, A)


# --- slices that are put somewhere ----------------------------------------------------------------

SLICED = np.random.default_rng(3).normal(size=(7, 9))


def merged(x):
    points, i = sorted(x), 0
    while i < len(points) - 1:
        if points[i + 1] - points[i] < 0.3:
            points[i : i + 2] = [(points[i] + points[i + 1]) / 2]
        else:
            i += 1
    return len(points), points[0], points[-1]


def spliced(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    del kept[1:3]
    kept[:0] = [9.0, 8.0]
    kept[-1:] = (3.0, x[0])
    return len(kept), kept[0], sum(kept)


def at_places_of_data(x):
    kept = [1.0, 2.0, 3.0, 4.0, 5.0]
    i, j = int(x[0] * 3), int(x[1] * 3)
    kept[i:j] = [7.0]
    del kept[int(x[2] * 3) :]
    return len(kept), sum([k * v for k, v in enumerate(kept)])


@pytest.mark.parametrize("func", [merged, spliced, at_places_of_data], ids=lambda f: f.__name__)
def test_slices_that_are_assigned(func):
    assert_like_the_loop(func, SLICED)
