"""Iterators that variables hold: how many items were taken of them is what data may tell."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import Programs, assert_like_the_loop

X = np.random.default_rng(0).normal(size=(20, 7)).round(2)
PROGRAMS = Programs()


@PROGRAMS.note(X)
def an_enumerate_left_by_data(x):
    pairs, s = enumerate(x), 0.0
    for _, v in pairs:
        if v > 0.3:
            break
    for i, v in pairs:
        s += i * v
    return s


@PROGRAMS.note(X)
def a_zip_left_by_data(x):
    pairs, s = zip(x, x * 2, strict=False), 0.0
    for _, v in pairs:
        if v > 0.3:
            break
    for u, v in pairs:
        s += u * v
    return s


@PROGRAMS.note(X)
def a_reversed_left_by_data(x):
    values, s = reversed(x), 0.0
    for v in values:
        if v > 0.3:
            break
    for v in values:
        s += v
    return s


@PROGRAMS.note(X)
def a_map_left_by_data(x):
    values, s = map(abs, x), 0.0
    for v in values:
        if v > 0.8:
            break
    for v in values:
        s += v
    return s


@PROGRAMS.note(X)
def an_enumerate_of_a_list(x):
    pairs, s = enumerate([x[0], x[1], x[2] * 3, 4.0]), 0.0
    for _, v in pairs:
        if v > 0.8:
            break
    for k, v in pairs:
        s += v * k
    return s


@PROGRAMS.note(X)
def left_at_a_known_place(x):
    pairs, s = enumerate(x), 0.0
    for i, v in pairs:
        s += v
        if i == 2:
            break
    for i, v in pairs:
        s += i * v
    return s


@PROGRAMS.note(X)
def begun_in_a_branch(x):
    pairs, s = enumerate(x), 0.0
    if x[0] > 0:
        next(pairs)
    for i, v in pairs:
        s += i * v
    return s


@PROGRAMS.note(X)
def taken_in_the_loop(x):
    pairs, s = zip(x, x, strict=False), 0.0
    for _, v in pairs:
        if v > 0.3:
            s += next(pairs, (0.0, 0))[0] * 10
        s += v
    return s


@PROGRAMS.note(X)
def taken_in_the_loop_of_another(x):
    rest, s = iter(x), 0.0
    for v in x:
        if v > 0.5:
            s += next(rest)
    return s


@PROGRAMS.note(X)
def skipping(x):
    items, c = iter(list(x)), 0
    for v in items:
        c += 1
        if v < -0.5:
            for _ in range(1 if v > -1 else 2):
                next(items, None)
    return c


@PROGRAMS.note(X)
def in_pairs(x):
    values = iter(x.tolist())
    return sum(a * b for a, b in zip(values, values, strict=False))


@PROGRAMS.note(X)
def behind_those_that_differ(x):
    values = iter(x)
    if x[0] > 0:
        next(values)
    return [a * b for a, b in zip([1.0, 2.0, 3.0], values, strict=False)][-1], next(values)


@PROGRAMS.note(X)
def until_there_is_none(x):
    values, s = iter(x), 0.0
    while (v := next(values, None)) is not None:
        s = s * 0.7 + v
        if v > 0.5:
            next(values, None)
    return s


@PROGRAMS.note(X)
def one_loop_in_the_other(x):
    values, n = iter(x), 0
    for v in values:
        if v > 0.0:
            for w in values:
                if w < 0:
                    break
                n += 1
    return n


@PROGRAMS.note(X)
def some_asked_for_by_data(x):
    values = iter(x)
    head = list(itertools.islice(values, int(abs(x[0]) * 3) + 1))
    return len(head), sum(values)


@PROGRAMS.note(X)
def found_and_found_again(x):
    values = iter(x)
    first = next((v for v in values if v > 0.2), -1.0)
    return first, next((v for v in values if v > 0.2), -1.0), 0.5 in x, sum(values)


@PROGRAMS.note(X)
def searched(x):
    values = iter(np.round(x))
    return 0.0 in values, 1.0 in values, next(values, 7.0)


@PROGRAMS.note(X)
def numbered(x):
    ids, free, last = itertools.count(5, 3), [], 0
    for v in x:
        last = free.pop() if free else next(ids)
        if v > 0:
            free.append(last)
    return last, next(ids)


@PROGRAMS.note(X)
def in_turns(x):
    players, scores = itertools.cycle([0, 1, 2]), [0.0, 0.0, 0.0]
    who = next(players)
    for v in x:
        scores[who] += v
        if v < 0:
            who = next(players)
    return scores


@PROGRAMS.note(np.array([0.3, 1.5, 2.2, 0.7, 3.9]))
def in_pairs_in_each_turn(x):
    r, values = 0.0, itertools.cycle([1.0, 2.0, 5.0])
    for _ in range(int(x)):
        for a, b in zip((1.0, 2.0), values, strict=False):
            r += a * b
        for a, b in zip((1.0, 2.0), iter([x, 2.0, 3.0]), strict=False):
            r += a * b
    return r


class Counted:
    """An iterator of a user's own, by position."""

    def __init__(self, source):
        self.source, self.position = source, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.position >= len(self.source):
            raise StopIteration
        self.position += 1
        return self.source[self.position - 1]


@PROGRAMS.note(X)
def a_users_own(x):
    values, s = Counted(x), 0.0
    for v in values:
        if v > 0:
            s += next(values, 0.5) * 10
        s += v
    return s


@PROGRAMS.note(X)
def a_users_own_left_by_data(x):
    values = Counted(x)
    for v in values:
        if v > 0.3:
            break
    return sum(values), next(values, 2.0)


@PROGRAMS.note(X)
def growing_behind_it(x):
    items, n = [1.0], 0
    values = iter(items)
    for v in values:
        n += 1
        if n < len(x) and x[n] > 0:
            items.append(v + x[n])
    return n, next(values, -1.0)


class Pair:
    """What can be gone through, compared and added."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __iter__(self):
        yield self.a
        yield self.b

    def __add__(self, other):
        return Pair(self.a + other.a, self.b + other.b)

    def __lt__(self, other):
        return self.a < other.a


@PROGRAMS.note(X)
def objects_that_can_be_gone_through(x):
    pairs = [Pair(v, v * 2) for v in x]
    together = sum(pairs, Pair(0.0, 1.0))
    reduced = functools.reduce(lambda p, q: p + q, pairs, Pair(1.0, 1.0))
    products = [p * q for p, q in zip(pairs[0], pairs[1], strict=True)]
    return sum(together), min(pairs[0], pairs[1]).b, sum(reduced), max(pairs).b, products[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def reached_by_another_name(x):
    values, s = enumerate(x), 0.0
    others = [values]
    for _, v in values:
        s += v + others[0].__next__()[1]
    return s


def changed_behind_a_cycle(x):
    items = [1.0, 2.0, 3.0]
    values = itertools.cycle(items)
    items[0] = x[0]
    return next(values)


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (reached_by_another_name, r"of a enumerate .*test_cursors.py:.* by another name"),
        (changed_behind_a_cycle, r"a list is changed that itertools.cycle.*test_cursors.py"),
    ],
)
def test_what_is_not_known_is_refused(func, message):
    with pytest.raises(lw.UnsupportedError, match=message):
        lw.vmap(func)(X)


def shared_with_a_function(x):
    clock = k = 0

    def attempt():
        nonlocal clock, k
        for a in range(2):
            k += 1
            if x[k - 1] > 0:
                return 1
            clock += a
        return 0

    while k < 5:
        attempt()
        clock += 1
    return clock


def test_a_variable_of_a_loop_that_a_function_within_assigns_in_some_turns():
    assert_like_the_loop(shared_with_a_function, X)
