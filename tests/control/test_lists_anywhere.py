"""Lists of which the data say how long they are, wherever they are: in calls, objects, containers.

Functions return them, take and change them, objects and other lists hold them.
"""

from __future__ import annotations

import copy
import functools
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support.everywhere import Programs, assert_like_the_loop

A = np.random.default_rng(0).normal(size=(9, 12))
A[3], A[4], A[5] = -1.0, 1.0, -np.arange(12)

PROGRAMS = Programs()
program = PROGRAMS.note


def above(x, least):
    found = []
    for v in x:
        if v > least:
            found.append(v)
    return found


def split(x):
    low, high = [], []
    for v in x:
        if v < 0:
            low.append(v)
        else:
            high.append(v)
    return low, high


def median(items):
    items = sorted(items)
    n = len(items)
    if n == 0:
        return 0.0
    return items[n // 2] if n % 2 else 0.5 * (items[n // 2 - 1] + items[n // 2])


# --- returned by functions, and given to them -----------------------------------------------------


@program(A)
def returned(x):
    kept = above(x, 0.0)
    total = 0.0
    for v in kept:
        total += v * v
    return len(kept), total, sum(kept), len(above(x, 0.5))


@program(A)
def two_returned(x):
    low, high = split(x)
    return 10 * len(low) + len(high), (max(high) if high else 0.0)


@program(A)
def returned_in_a_branch(x):
    def positive(x):
        if x[0] > 0:
            return above(x, 0.0)
        return []

    return len(positive(x))


@program(A)
def given_to_a_function(x):
    kept = [v for v in x if v > 0]
    return median(kept), median([abs(v - median(kept)) for v in kept])


@program(A)
def changed_by_a_function(x):
    def keep(items, v):
        items.append(v)

    def drop(items):
        return items.pop()

    stack, total = [], 0.0
    for v in x:
        if v > 0:
            keep(stack, v)
        elif stack:
            total += drop(stack)
    return total, len(stack)


@program(A)
def changed_by_a_closure(x):
    sums, state = [], 0.0

    def step(state, v):
        state = 0.9 * state + v
        sums.append(state)
        return state

    for v in x:
        if v > -0.5:
            state = step(state, v)
    return state, max(sums) if sums else 0.0, len(sums)


@program(A)
def recursive(x):
    path = []

    def visit(i, depth):
        if i >= len(x):
            return
        if x[i] > 0:
            path.append(i + depth)
            visit(2 * i + 1, depth + 1)
        visit(2 * i + 2, depth + 1)

    visit(0, 0)
    return len(path), sum(path)


@program(A)
def given_by_name(x):
    def scan(*, into):
        for v in x:
            if v > 1:
                into.append(v)

    found = []
    scan(into=found)
    return len(found)


@program(A)
def assigned_to_a_variable_around(x):
    found = []

    def collect(v):
        nonlocal found
        if v > 0:
            found = [*found, v]

    for v in x:
        collect(v)
    return len(found), sum(found)


@program(A)
def another_name(x):
    kept = above(x, 0.0)
    other = kept
    other.append(1.5)
    return len(kept), kept[-1]


@program(A)
def of_lambdas(x):
    find = lambda z: [k for k in range(len(z)) if z[k] > 0]  # noqa: E731
    return len(find(x)), sum(find(-x))


# --- held by objects and containers ---------------------------------------------------------------


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def pop(self):
        return self.items.pop()

    def peek(self):
        return self.items[-1]

    def __len__(self):
        return len(self.items)


@program(A)
def held_by_an_object(x):
    stack, total = Stack(), 0.0
    for v in x:
        while len(stack) and stack.peek() < v:
            total += stack.pop()
        stack.push(v)
    return total, len(stack), len(stack.items)


@dataclass
class Record:
    xs: list = field(default_factory=list)
    n: int = 0


@program(A)
def held_by_a_dataclass(x):
    record = Record()
    for v in x:
        if v > 0:
            record.xs.append(v)
            record.n += 1
    return len(record.xs) - record.n, sum(record.xs)


class Pair(NamedTuple):
    xs: list
    n: int


@program(A)
def given_to_classes(x):
    record, pair = Record(above(x, 0.0), 1), Pair(above(x, 0.5), 2)
    record.xs.append(1.0)
    return len(record.xs) + record.n, sum(pair.xs) + pair.n, isinstance(pair.xs, list)


@program(A)
def put_into_an_array(x):
    kept = above(x, 0.0)
    padded = np.zeros(13)
    padded[: len(kept)] = kept
    return padded, bool(kept), kept.__len__()


@program(A)
def held_by_a_dict(x):
    groups = {"low": [], "high": []}
    for v in x:
        if v < 0:
            groups["low"].append(v)
        else:
            groups["high"].append(v)
    return len(groups["low"]), sum(groups["high"])


@program(A)
def held_by_a_defaultdict(x):
    groups = defaultdict(list)
    for i, v in enumerate(x):
        if v > 0:
            groups[i % 2].append(v)
    return len(groups[0]), len(groups[1])


@program(A)
def held_by_a_list(x):
    groups = [[], [], []]
    for i, v in enumerate(x):
        group = groups[i % 3]
        if v > 0:
            group.append(v)
    return np.array([len(group) for group in groups]), sum(len(group) for group in groups)


@program(A)
def of_lists(x):
    rows = []
    for i in range(len(x)):
        if x[i] > 0:
            rows.append([i, x[i]])
    return len(rows), np.array(rows).sum() if rows else 0.0, rows[0][1] if rows else 0.0


@program(A)
def of_tuples(x):
    points = [(v, i) for i, v in enumerate(x) if v > 0]
    points.sort()
    best = max(points)[1] if points else -1
    far = min(points, key=lambda point: -point[1])[1] if points else -1
    return points[0][1] if points else -1, best, far


# --- assigned in branches and loops ---------------------------------------------------------------


@program(A)
def the_longest(x):
    best = []
    for i in range(len(x)):
        candidate = above(x, x[i])
        if len(candidate) > len(best):
            best = candidate
    return len(best), sum(best)


@program(A)
def halved(x):
    current, rounds = above(x, 0.0), 0
    while len(current) > 1:
        winners = []
        for i in range(len(current) // 2):
            winners.append(max(current[2 * i], current[2 * i + 1]))
        current = winners
        rounds += 1
    return rounds


@program(A)
def breadth_first(x):
    frontier, depth = [0], 0
    seen = np.zeros(len(x), bool)
    seen[0] = True
    while frontier:
        reached = []
        for u in frontier:
            for v in (2 * u + 1, 2 * u + 2):
                if v < len(x) and not seen[v] and x[v] > -1:
                    seen[v] = True
                    reached.append(v)
        frontier = reached
        depth += 1
    return depth, seen.sum()


@program(A)
def merged_intervals(x):
    intervals = []
    for i in range(0, len(x) - 1, 2):
        if x[i] < x[i + 1]:
            intervals.append((x[i], x[i + 1]))

    def merge(items):
        out = []
        for start, stop in sorted(items):
            if out and start <= out[-1][1]:
                out[-1] = (out[-1][0], max(stop, out[-1][1]))
            else:
                out.append((start, stop))
        return out

    merged = merge(intervals)
    return len(merged), sum([stop - start for start, stop in merged])


# --- what is done with them -----------------------------------------------------------------------


@program(A)
def methods(x):
    kept = above(x, 0.0)
    if kept:
        del kept[0]
    kept.insert(0, 4.0)
    kept.extend(above(-x, 0.5))
    kept.reverse()
    again = kept.copy()
    again.clear()
    found = kept.index(4.0), kept.count(4.0), 4.0 in kept, 5.0 in kept
    kept.sort(key=lambda v: -v)
    kept.remove(4.0)
    return sum(kept), *found, len(again), kept[0] if kept else 0.0


@program(A)
def operators(x):
    kept = above(x, 0.0)
    kept += above(x, 0.5)
    longer = [*kept, 7.0] + [9.0] + kept * 2
    shorter = longer[1:-1][::2]
    shorter[0] = 100.0
    shorter[-1] += 1
    same = kept == above(x, 0.0), kept == kept.copy(), kept == [], kept != []
    return len(longer), sum(longer), len(shorter), sum(shorter), *same


@program(A)
def functions(x):
    kept = above(x, 0.0)
    total = functools.reduce(lambda a, b: a + b, kept, 0.0)
    most = max((v for v in kept), default=0.0) if kept else 0.0
    chosen = sum(filter(lambda v: v < 1, kept)), sum(map(abs, kept)), len(list(map(abs, kept)))
    pairs = list(zip(kept, range(9), strict=False))
    copied = copy.deepcopy(kept)
    copied.append(1.0)
    whole = any(v > 1 for v in kept), all(v < 2 for v in kept), any(kept), all(kept)
    return total, most, *chosen, len(pairs), len(copied), len(kept), *whole


@program(A)
def numpy_functions(x):
    kept = [*above(x, 0.0), 2.0]
    found = np.mean(kept), np.cumsum(kept)[-1], np.array([kept, kept]).sum(), np.dot(kept, kept)
    places = []

    def note(lo, hi):
        for i in range(lo, hi):
            if x[i] > x[i - 1]:
                places.append(i)

    note(1, 6)
    note(6, 12)
    return *found, x[places].sum(), np.sort(np.array(kept))[::-1][:2].sum()


@program(A)
def loops(x):
    first, second = above(x, 0.0), above(x, 0.3)
    total = 0.0
    for u, v in zip(first, second, strict=False):
        total += u * v
    odd = [v * i for i, v in enumerate(first) if i % 2]
    for v in reversed(first):
        total = 0.5 * total + v
    while len(first) > 2:
        first.pop()
    return total, sum(odd), len(first)


@program(A)
def unpacked(x):
    kept = [*above(x, 0.5), 1.0, 2.0][-2:]
    a, b = kept
    (c,) = above(x, 1e9) + [3.0]  # noqa: RUF005
    first, *rest, last = [*above(x, 0.0), 5.0, 6.0]
    return a + 10 * b + 100 * c, first, len(rest), sum(rest), last


@program(A)
def queues(x):
    queue = deque()

    def visit(queue, v):
        if v > 0:
            queue.append(v)

    for v in x:
        visit(queue, v)
    total, size = 0.0, len(deque(above(x, 0.0)))
    while queue:
        total = 0.5 * total + queue.popleft()
    return total, size


@program(A)
def lengths_that_are_data(x):
    n = int(abs(x[0]) * 3) + 1
    kept = list(x[x > 0])
    return sum(list(range(n))), len(kept), sum(sorted(x[x > 0])), sorted(x[x > 0])[:1] == []


@program(A)
def errors_of_examples(x):
    kept = above(x, 0.0)
    try:
        return kept[5]
    except IndexError:
        return -1.0


@program(A)
def too_few(x):
    a, b, c, *_ = [*above(x, 0.0), 1.0, 2.0, 3.0][:3]
    return a + b + c + above(x, 0.0)[2]


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_comprehensions_of_plain_numbers_stay_as_they_are():
    def func(x):
        kept = x[[i for i in range(len(x)) if i != 3]]
        return kept.sum(), x[[i for i in range(len(x)) if i % 2]].shape[0]

    assert_like_the_loop(func, A)
    assert lw.vmap(lambda x: x[[i for i in range(12) if i != 3]])(A).shape == (9, 11)


def test_gradients():
    found = lw.vmap(lw.grad(lambda x: sum([v * v for v in above(x, 0.0)])))(A)
    np.testing.assert_allclose(found, np.where(A > 0, 2 * A, 0))


# --- what is refused ------------------------------------------------------------------------------


def spread_out(x):
    return max(*above(x, 0.0))


def an_element_that_changes_later(x):
    rows, row = [], [0.0, 0.0]
    for v in x:
        if v > 0:
            rows.append(row)
        row[0] += 1
    return sum([row[0] for row in rows])


def one_of_two(x):
    kept = above(x, 0.0)
    other = kept
    if x[0] > 0:
        kept = []
    kept.append(1.0)
    return len(kept), len(other)


def as_a_tuple(x):
    return len(tuple(above(x, 0.0)))


def a_slice_is_assigned(x):
    kept = above(x, 0.0)
    kept[::2] = [1.0]
    return len(kept)


def matched(x):
    match (above(x, 0.0), 1):
        case ([], 1):
            return 0
        case ([_], _):
            return 1
    return 2


@pytest.mark.parametrize(
    "func",
    [
        matched, spread_out, one_of_two,
        an_element_that_changes_later, as_a_tuple, a_slice_is_assigned,
    ],
)  # fmt: skip
def test_other_uses_are_refused(func):
    with pytest.raises((ControlFlowError, UnsupportedError), match=r"list.*_anywhere\.py:"):
        lw.vmap(func)(A)


def test_lists_of_objects_from_outside_are_refused():
    stack = Stack()

    def func(x):
        for v in x:
            if v > 0:
                stack.push(v)
        return len(stack)

    with pytest.raises(ControlFlowError, match=r"a list is a list of .*_anywhere\.py:"):
        lw.vmap(func)(A)
    assert stack.items == []


def test_results_are_of_one_length():
    for func in (lambda x: above(x, 0.0), lambda x: {"kept": above(x, 0.0), "n": 1}):
        with pytest.raises(UnsupportedError, match=r"returns a list whose length is data \(.*py:"):
            lw.vmap(func)(A)
