"""Generators whose branches and loops follow data, and what takes their items."""

from __future__ import annotations

import collections
import functools
import itertools
import math
from itertools import accumulate, chain, islice, pairwise, takewhile

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import Programs, assert_like_the_loop

X = np.round(np.random.default_rng(3).normal(size=(12, 8)), 2)
X[0], X[1] = np.abs(X[0]), -np.abs(X[1])
PROGRAMS = Programs()


def positives(x):
    for v in x:
        if v > 0:
            yield v


def three(x):
    for k in range(3):
        yield x[k] * (k + 1)


def numbers():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


def collatz(n):
    while n != 1:
        yield n
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    yield 1


def runs(x):
    start = 0
    for i in range(1, len(x)):
        if (x[i] > 0) != (x[i - 1] > 0):
            yield start, i
            start = i
    yield start, len(x)


def walk(x, i, depth):
    if i >= len(x) or depth > 2:
        return
    if x[i] > 0:
        yield from walk(x, 2 * i + 1, depth + 1)
    yield x[i]
    yield from walk(x, 2 * i + 2, depth + 1)


def halving(lo, hi, x):
    while hi - lo > 1e-2:
        mid = (lo + hi) / 2
        yield lo, hi
        if mid * mid > x:
            hi = mid
        else:
            lo = mid


def windows(x, n):
    last = collections.deque(maxlen=n)
    for v in x:
        last.append(v)
        if len(last) == n:
            yield tuple(last)


def scaled(items, by):
    for item in items:
        yield item * by


def total(items, start=0.0):
    for item in items:
        start = start * 0.5 + item
    return start


class Tree:
    """A node of a binary tree."""

    def __init__(self, v, left=None, right=None):
        self.v, self.left, self.right = v, left, right

    def __iter__(self):
        if self.left is not None:
            yield from self.left
        yield self.v
        if self.right is not None:
            yield from self.right


@PROGRAMS.note(X)
def a_loop(x):
    t, last, n = 0.0, -1.0, 0
    for v in positives(x):
        t += v * v
        last, n = v, n + 1
    return t, last, n


@PROGRAMS.note(X)
def reductions(x):
    found = sum(positives(x)), max(positives(x), default=-1.0), len(list(positives(x)))
    return *found, any(v > 1 for v in positives(x)), all(v > 0.1 for v in positives(x))


@PROGRAMS.note(X)
def left_by_break_and_else(x):
    t = 0.0
    for v in positives(x):
        if v > 1:
            break
        t += v
    else:
        t = -t
    return t


@PROGRAMS.note(X)
def left_by_return(x):
    for i, v in enumerate(positives(x)):
        if v > 1:
            return i, v
    return -1, 0.0


@PROGRAMS.note(X)
def without_an_end(x):
    t = 0
    for v in numbers():
        if v > abs(x[0]) * 100:
            break
        if v % 2:
            continue
        t += v
    return t


@PROGRAMS.note(X)
def whiles(x):
    n = int(abs(x[0]) * 10) + 1
    lo = hi = 0.0
    for lo, hi in halving(0.0, 4.0, abs(x[1])):  # noqa: B007
        n += 1
    return n, lo, hi, max(collatz(n)), len(list(collatz(n)))


@PROGRAMS.note(X)
def recursion(x):
    t, w = 0.0, 1.0
    for v in walk(x, 0, 0):
        t, w = t + w * v, w * 0.5
    return t


@PROGRAMS.note(X)
def a_class_that_is_gone_through(x):
    s = 0.0
    for v in Tree(x[0], Tree(x[1]), Tree(x[2], None, Tree(x[3]))):
        if v > 0:
            s = s * 2 + v
    return s


@PROGRAMS.note(X)
def pairs_of_positions(x):
    out = np.zeros(3)
    for k, (a, b) in enumerate(runs(x)):
        if k < 3:
            out[k] = b - a
    return out, max(b - a for a, b in runs(x)), max(runs(x), key=lambda r: r[1] - r[0])


@PROGRAMS.note(X)
def one_after_another(x):
    s = sum(scaled(filter(lambda v: v < 1, positives(x)), 3.0))
    for v in chain(positives(x), positives(-x)):
        s = s * 0.9 + v
    return s, sum(map(lambda v: v * 2, positives(x)))


@PROGRAMS.note(X)
def itertools_of_them(x):
    return (
        sum(islice(positives(x), 2)), sum(islice(positives(x), 1, None, 2)),
        sum(takewhile(lambda v: v < 1, positives(x))), sum(takewhile(lambda v: v > 0, x)),
        sum(itertools.dropwhile(lambda v: v > 0, x)), sum(b - a for a, b in pairwise(positives(x))),
        sum(accumulate(positives(x), func=max)), sum(itertools.filterfalse(lambda v: v > 0, x)),
        sum(v * w for v, w in zip(positives(x), range(3), strict=False)),
        sum(w for w, _ in zip(range(2), positives(x), strict=False)),
        sum(itertools.starmap(lambda a, b: b - a, runs(x))),
    )  # fmt: skip


@PROGRAMS.note(X)
def groups(x):
    s, lengths = 0.0, []
    for key, group in itertools.groupby(x, key=lambda v: v > 0):
        values = list(group)
        lengths.append(len(values))
        s = s + sum(values) if key else s - max(values)
    return s, max(lengths), len(lengths)


@PROGRAMS.note(X)
def expressions(x):
    return (
        total(v * 2 for v in x if v > 0), total((v + w for v in x for w in x[:2] if v > w), 1.0),
        functools.reduce(lambda a, b: a * 0.5 + b, (v for v in x if v > 0), 0.0),
        math.prod(v for v in positives(x)), sum(w * w for w in (v + 1 for v in positives(x))),
    )  # fmt: skip


@PROGRAMS.note(X)
def containers(x):
    values = [v * 2 for v in positives(x)]
    more = [0.5]
    more.extend(positives(x))
    kept = {int(v) for v in positives(x)}
    places = dict(enumerate(positives(x)))
    array = np.fromiter(positives(x), float)
    more += positives(x)
    first, *rest = chain([0.0], positives(x))
    return (
        sum(values), len(values), len(more), len(kept), places.get(1, 0.0), array.sum(), first,
        len(rest), sorted(more)[-1], collections.Counter(int(v) for v in positives(x))[0],
    )  # fmt: skip


@PROGRAMS.note(X)
def first_ones(x):
    return next(positives(x), -1.0), next((v for v in positives(x) if v > 0.5), -1.0)


@PROGRAMS.note(X)
def history(x):
    return max(sum(w) for w in windows(x, 3))


@PROGRAMS.note(X)
def what_both_change(x):
    count, held, a = 0, [1.0, 2.0], x.copy()

    def places():
        nonlocal count
        for i in range(len(a)):
            count += 1
            if a[i] + held[0] > 0.5:
                yield i
            count += 10

    s = 0.0
    for i in places():
        a[(i + 1) % 8] = a[i] - 0.5
        held[0] -= 0.25
        s += count
        if a[i] > 1:
            break
        count += 100
    return s, count, held[0], a


@PROGRAMS.note(X)
def arrays_as_items(x):
    def pairs():
        held = np.zeros(2)
        for v in x:
            if v > 0:
                held[0] += v
                yield held

    acc = kept = np.zeros(2)
    for a in pairs():
        acc = acc + a
        kept = a
    return acc, kept


@PROGRAMS.note(X)
def in_branches_and_loops(x):
    s = 0.0
    if x[0] > 0:
        items = positives(x)
        s += sum(items)
        s += sum(items)  # of which there are none any more
    for i in range(20):
        items = positives(x)
        s += sum(items) * x[0] + i
    return s


@PROGRAMS.note(X)
def gone_on_with_behind_a_loop(x):
    items, s = three(x), 0.0
    for v in items:
        s += v
        break
    for v in items:
        s = s * 2 + v
    return s + sum(items)


@PROGRAMS.note(X)
def none_are_left_in_later_turns(x):
    items, s = positives(x), 0.0
    for i in range(20):
        s += sum(items) * x[0] + i
    return s


@PROGRAMS.note(X)
def raised_within(x):
    def checked():
        for v in x:
            if v > 1:
                raise ValueError("too large")
            if v > 0:
                yield v

    s = 0.0
    try:
        for v in checked():
            s += v
            if v > 0.8:
                break
    except ValueError:
        s = -s
    return s


@PROGRAMS.note(X)
def raised_by_the_loop(x):
    s = 0.0
    try:
        for v in positives(x):
            if v > 1:
                raise ValueError("too large")
            s += v
    except ValueError:
        s = s - 100
    return s


@PROGRAMS.note(X)
def raised_for_all_that_come_there(x):
    for v in positives(x):
        raise ValueError(f"{v} is positive")
    return x.sum()


@PROGRAMS.note(X)
def iterators_within_one_region(x):
    s = 0.0
    if x[0] > 0:
        items = iter([1.0, 2.0, 3.0])
        a, b, c = items
        s = a * x[1] + b + c + len(list(items))
    return s


@PROGRAMS.note(X)
def an_iterator_of_many_turns(x):
    items, s = iter([1.0, 2.0, 3.0]), 0.0
    for _ in range(20):
        s = s + sum(items) * x[0]
    return s


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_each_example_goes_on_only_as_far_as_its_loop(capsys):
    def printing(x):
        for v in x:
            if v > 0:
                print("to", float(v))
                yield v
                print("from", float(v))

    def func(x):
        for v in printing(x):
            if v > 1:
                break
        return x[0]

    for x in X:
        func(x)
    wanted = capsys.readouterr().out
    lw.vmap(func)(X)
    assert capsys.readouterr().out == wanted


def test_derivatives():
    def func(x):
        return sum(v * v for v in positives(x)) + max(accumulate(positives(x)), default=0.0)

    xs = X[:4] + 0.003
    found, step = lw.vmap(lw.grad(func))(xs), 1e-6
    for x, row in zip(xs, found, strict=True):
        ends = [func(x + step * e) - func(x - step * e) for e in np.eye(8)]
        np.testing.assert_allclose(row, np.array(ends) / (2 * step), rtol=1e-6, atol=1e-8)


def in_a_branch(x, items):
    s = 0.0
    if x[0] > 0:
        s = sum(items) * x[1]
    return s + sum(items)


def unpacked_in_a_branch(x, items):
    s = 0.0
    if x[0] > 0:
        a, b, c = items
        s = a + b * c
    return s + len(list(items))


def behind_a_loop_in_a_branch(x, items):
    s = 0.0
    if x[0] > 0:
        for v in items:
            s = s + v
    for v in items:
        s = s - v
    return s


def left_by_data(x, items):
    s = 0.0
    for v in items:
        if v > x[0]:
            break
        s += v
    return s + sum(items)


def caught(x, items):
    s = 0.0
    try:
        for v in items:
            if v > x[0]:
                raise ValueError
            s += v
    except ValueError:
        s += sum(items)
    return s


def in_some_turns(x, items):
    s = 0.0
    for i in range(40):
        if x[i % 8] > 0:
            s += sum(items)
    return s


@pytest.mark.parametrize("made", [lambda x: iter(dict.fromkeys([1.0, 2.0])), three, positives])
@pytest.mark.parametrize(
    "func",
    [in_a_branch, unpacked_in_a_branch, behind_a_loop_in_a_branch, left_by_data, caught,
     in_some_turns],
)  # fmt: skip
def test_iterators_that_examples_have_left_at_different_places_are_refused(func, made):
    with pytest.raises((lw.UnsupportedError, lw.ControlFlowError)) as caught:
        lw.vmap(lambda x: func(x, made(x)))(X)
    assert "test_generators_that_follow.py" in str(caught.value)


def test_what_a_plain_iterator_changes_while_data_have_ended_the_loop_is_refused():
    def func(x):
        a = np.zeros(2)

        def counted(v):
            a[0] += 1
            return v

        for v in (counted(v) for v in x):
            if v > 0.5:
                break
        return a

    with pytest.raises(lw.UnsupportedError, match=r"iterates over has an effect.*decide"):
        lw.vmap(func)(X)


def test_a_generator_that_nothing_loops_over_is_refused_by_name():
    def func(x):
        items = positives(x)
        return next(items, 0.0) + next(items, 0.0)

    with pytest.raises(lw.UnsupportedError, match=r"comes to a yield .*positives|for loop"):
        lw.vmap(func)(X)
