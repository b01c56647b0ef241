"""Lists of lists of different lengths, of which the data choose one: adjacency lists, buckets."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.everywhere import Programs, assert_like_the_loop

A = np.random.default_rng(5).normal(size=(8, 12))
A[2], A[3], A[4] = -1.0, 2.0, np.arange(12) / 10

PROGRAMS = Programs()
program = PROGRAMS.note
NEXT = [[1, 2], [3], [3, 4, 5], [5], [], [0, 6], [7, 8, 9], [10], [11], [2], [], [1]]


@program(A)
def reached(x):
    seen, stack, count = [False] * 12, [int(np.argmax(x))], 0
    while stack:
        u = stack.pop()
        if seen[u]:
            continue
        seen[u] = True
        count += 1
        for v in NEXT[u]:
            if not seen[v]:
                stack.append(v)
    return count


@program(A)
def what_is_chosen(x):
    row = NEXT[int(np.argmax(x))]
    first = row[0] if row else -1
    return len(row), sum(row), first, 3 in row, len(row[1:]), len([*row, 1]), len(row + row)


@program(A)
def components(x):
    near = [[] for _ in range(12)]
    for i in range(12):
        for j in range(i):
            if abs(x[i] - x[j]) < 0.3:
                near[i].append(j)
                near[j].append(i)
    seen, count = [False] * 12, 0
    for start in range(12):
        if seen[start]:
            continue
        count += 1
        queue = deque([start])
        while queue:
            u = queue.popleft()
            if seen[u]:
                continue
            seen[u] = True
            for v in near[u]:
                queue.append(v)
    return count


@program(A)
def buckets(x):
    found = [[] for _ in range(4)]
    for v in x:
        found[min(3, int(abs(v) * 2))].append(v)
    return np.array([len(each) for each in found]), sum(found[0]) + sum(found[3])


@program(A)
def buckets_of_a_dict(x):
    found = {k: [] for k in range(4)}
    for v in x:
        found[min(3, int(abs(v) * 2))].append(v)
    return len(found[0]), sum(found[1])


@program(A)
def changed_where_they_are(x):
    rows = [[1.0], [2.0, 3.0], [4.0, 5.0, 6.0]]
    k = min(2, int(abs(x[0]) * 2))
    row = rows[k]
    row[-1] += 10
    last = row.pop()
    rows[k].insert(0, last)
    row.extend([x[1], x[2]])
    del rows[k][0]
    return len(row), sum(rows[0]) + 10 * sum(rows[1]) + 100 * sum(rows[2]), last


@program(A)
def one_list_in_two_places(x):
    own = [1.0, 2.0]
    rows = [own, [3.0], own]
    rows[min(2, int(abs(x[0]) * 2))].append(x[1])
    return len(own), sum(own), len(rows[1])


@program(A)
def of_one_length(x):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    rows[int(x[0] > 0)].append(x[1])
    return np.array([sum(row) for row in rows]), len(rows[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_what_has_no_common_form_is_refused():
    def func(x):
        return [[1], ["a", "b"]][int(x > 0)].count("a")

    with pytest.raises(UnsupportedError, match=r"a list is indexed by a traced .*_of_lists\.py:"):
        lw.vmap(func)(A[0])


def test_a_chosen_list_does_not_change_while_it_is_gone_through():
    def func(x):
        rows = [[1.0], [2.0, 3.0]]
        for v in rows[int(x > 0)]:
            rows[0].append(v)
        return len(rows[0])

    with pytest.raises(UnsupportedError, match=r"changes the list that it goes through .*\.py:"):
        lw.vmap(func)(A[0])
