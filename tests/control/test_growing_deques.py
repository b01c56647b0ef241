"""Deques that grow and shrink as the data say: queues, windows and their like."""

from __future__ import annotations

import collections
from collections import deque

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support.everywhere import Programs, assert_like_the_loop

RNG = np.random.default_rng(5)
A = RNG.normal(size=(6, 12))
A[:, 0] = 1 + np.abs(A[:, 0])
K = RNG.integers(0, 4, size=(6, 9))
PROGRAMS = Programs()
program = PROGRAMS.note


@program(A)
def flood_fill(x):
    grid = x.reshape(3, 4)
    queue, seen = deque([(0, 0)]), np.zeros((3, 4), bool)
    seen[0, 0] = True
    order = 0
    while queue:
        i, j = queue.popleft()
        order = (order * 13 + 4 * i + j) % 1009
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = i + di, j + dj
            if 0 <= a < 3 and 0 <= b < 4 and not seen[a, b] and grid[a, b] > -0.7:
                seen[a, b] = True
                queue.append((a, b))
    return order, seen.sum()


@program(A)
def window_of_a_sum(x):
    window = collections.deque()
    total, lengths = 0.0, 0
    for v in x:
        window.append(v)
        total += v
        while total > 1.5 and window:
            total -= window.popleft()
        lengths += len(window)
    return lengths, total


@program(A)
def sliding_maximum(x):
    best, out = deque(), np.zeros(len(x))
    for i in range(len(x)):
        while best and x[best[-1]] <= x[i]:
            best.pop()
        best.append(i)
        if best[0] <= i - 3:
            best.popleft()
        out[i] = x[best[0]]
    return out


@program(A)
def last_kept(x):
    last, total = deque(maxlen=3), 0.0
    for v in x:
        if v > 0:
            last.append(v)
        total += sum(last) / len(last)
    return total, np.array(last).sum(), max(last), last[0], last[-1], len(last)


@program(A)
def at_both_ends(x):
    items, short = deque([0.5]), deque([1.0, 2.0], maxlen=4)
    for v in x:
        if v > 0.5:
            items.appendleft(v)
            short.appendleft(v)
        elif v < -0.5:
            items.append(v)
            short.append(v)
        elif len(items) > 2:
            items.pop()
            items.popleft()
    items[0] += 1.0
    return items[0], items[-1], len(items), sum(short), short[0], short[-1]


@program(A)
def made_of_a_deque(x):
    items = deque()
    for v in x:
        if v > 0:
            items.append(v)
    back = list(reversed(items))
    back.append(1.0)
    other = items.copy()
    other.append(2.0)
    listed = list(items)
    listed.insert(0, 3.0)
    squares = [v * v for v in items if v < 1]
    return sorted(items)[0], back[0], sum(other), listed[:2][1], len(squares), 2.0 in other


@program(K)
def cleared(x):
    items, total = deque(maxlen=3), 0
    for v in x:
        if v == 0:
            items.clear()
        items.append(v)
        total += len(items)
    items.reverse()
    return total, items[0], items.count(0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_errors_are_those_of_a_deque():
    def emptied(x):
        items = deque()
        for v in x:
            if v > 2:
                items.append(v)
        items.popleft()
        return len(items)

    def beyond(x):
        items = deque()
        for v in x:
            if v > 2:
                items.append(v)
        return items[1]

    def sliced(x):
        items = deque()
        for v in x:
            if v > 2:
                items.append(v)
        return sum(items[:2])

    def popped_at(x):
        items = deque()
        for v in x:
            if v > 2:
                items.append(v)
        return items.pop(0)

    for func in (emptied, beyond, sliced, popped_at):
        assert_like_the_loop(func, K)
    with pytest.raises(IndexError, match="pop from an empty deque"):
        lw.vmap(emptied)(np.zeros((2, 3)))
    with pytest.raises(IndexError, match="deque index out of range"):
        lw.vmap(beyond)(np.zeros((2, 3)))


def rotated(x):
    items = deque()
    for v in x:
        if v > 0:
            items.append(v)
    items.rotate(1)
    return items[0]


def inserted_where_it_may_be_full(x):
    items = deque(maxlen=4)
    for v in x:
        if v > 0:
            items.append(v)
    items.insert(1, 0.0)
    return items[0]


def held_by_two(x):
    items = deque()
    other = items
    for v in x:
        if v > 0:
            items.append(v)
    return len(other)


@pytest.mark.parametrize("func", [rotated, inserted_where_it_may_be_full])
def test_other_uses_are_refused(func):
    refusals = ControlFlowError, UnsupportedError
    with pytest.raises(refusals, match=r"(list|deque).*test_growing_deques\.py:"):
        lw.vmap(func)(A)
