"""Lists of lists of different lengths, of which the data choose one: adjacency lists, buckets."""

from __future__ import annotations

from collections import deque

import numpy as np
import optree
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
def compared(x):
    row = NEXT[int(np.argmax(x))]
    return row == [1, 2], row != [5], row == [0, 6], row == []


@program(A)
def of_one_length(x):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    rows[int(x[0] > 0)].append(x[1])
    return np.array([sum(row) for row in rows]), len(rows[0])


@PROGRAMS.note(A[0])
def changed_while_it_is_gone_through(x):
    rows = [[1.0], [2.0, 3.0]]
    for v in rows[int(x > 0)]:
        if len(rows[0]) < 5:
            rows[0].append(v)
    return len(rows[0]), sum(rows[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_what_has_no_common_form_is_refused():
    def func(x):
        return [[1], ["a", "b"]][int(x > 0)].count("a")

    with pytest.raises(UnsupportedError, match=r"a list is indexed by a traced .*_of_lists\.py:"):
        lw.vmap(func)(A[0])


def picked(x):
    rows = [[1, x[0]], [3, 4.5]]
    return rows[int(x[0] > 0)]


def picked_within(x):
    rows = [[1, x[0]], [3, 4.5]]
    row = rows[int(x[0] > 0)]
    row[0] = 9
    return [row, rows[0]], {"best": (row, 1)}


def picked_of_lists(x):
    rows = [[[x[0]], (1, [2])], [[x[1]], (3, [4])]]
    return rows[int(x[0] > 0)]


def popped(x):
    rows = [[1, x[0]], [3, 4.5]]
    return rows.pop(int(x[0] > 0)), rows


def first_of_sorted(x):
    return sorted([[1, x[0]], [3, 0.1]], key=lambda row: row[1])[0]


def in_another_order(x):
    rows = [[v, v * v] for v in x[:3]]
    return [rows[i] for i in np.argsort(x[:3])], np.array(x).reshape(6, 2).tolist()[int(x[0] > 0)]


def parts_that_grow(x):
    rows = [[1, x[0]], [3, 4.5]]
    i = int(x[0] > 0)
    made = [rows[i].copy(), rows[i][1:], rows[i] + [1], [7] + rows[i], rows[i] * 2]
    for row in made:
        row.append(x[1])
    made[0][0] = 5
    return made, rows


def arrays_of_picked(x):
    rows = [[1, x[0]], [3, 4.5]]
    i = int(x[0] > 0)
    both = np.array([rows[i], rows[1 - i]])
    return both, np.sum(rows[i]), np.mean(rows[i], axis=0), np.dot(rows[i], rows[0])


@pytest.mark.parametrize(
    "func",
    [
        picked,
        picked_within,
        picked_of_lists,
        popped,
        first_of_sorted,
        in_another_order,
        parts_that_grow,
        arrays_of_picked,
    ],
)
def test_a_list_that_the_data_choose_is_a_list_where_it_goes(func):
    got = lw.vmap(func)(A)
    for x, one in zip(A, _examples(got), strict=True):
        want = func(x)
        assert_same(want, lw.function(func)(x))
        assert_same(want, one)


def _examples(results):
    leaves, structure = optree.tree_flatten(results)
    return [optree.tree_unflatten(structure, each) for each in zip(*leaves, strict=True)]


def assert_same(want, got):
    """Two nests of lists, tuples, dicts and numbers are the same."""
    assert optree.tree_structure(want) == optree.tree_structure(got)
    for one, other in zip(optree.tree_leaves(want), optree.tree_leaves(got), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_list_of_a_length_that_the_data_choose_is_not_returned():
    with pytest.raises(UnsupportedError, match="returns a list whose length is data"):
        lw.explain(lw.vmap(lambda x: NEXT[int(np.argmax(x))]), A)


# --- joined with others ---------------------------------------------------------------------------

B = np.random.default_rng(9).normal(size=(7, 3))


def simplex(x):
    points = [[x[0], x[0] ** 2], [x[1], x[1] ** 2], [x[2], x[2] ** 2]]
    for _ in range(5):
        points.sort(key=lambda p: p[1])
        if points[0][1] > 0.1:
            del points[-1]
            points.append([points[0][0] * 0.5, points[0][1] * 0.25])
        else:
            points = [[p * 0.9, s * 0.81] for p, s in points]
    return points[0]


def put_in_order(x):
    rows = [[x[0], 1.0], [x[1], 2.0], [x[2], 3.0]]
    order = sorted(range(3), key=lambda i: x[i])
    rows = [rows[i] for i in order]
    if x[0] > 0:
        rows[-1] = [0.0, 0.0]
    return rows[2][0] + rows[0][1]


def one_or_the_other(x):
    rows = [[x[0], 1.0], [x[1], 2.0], [x[2], 3.0]]
    i, j = np.argmin(x), np.argmax(x)
    row = rows[i] if x[0] > 0 else rows[j]
    return row[0] + row[1]


def the_best_so_far(x):
    rows = [[x[0], 1.0], [x[1], 2.0], [x[2], 3.0]]
    best = rows[np.argmin(x)]
    for k in range(3):
        if x[k] > best[0]:
            best = rows[k]
    return best[0] + best[1]


def of_another_length(x):
    rows = [[1.0, 2.0], [3.0, 4.0], [x[0], 1.0]]
    rows.sort(key=lambda row: row[0])
    if x[1] > 0:
        rows[0] = [5.0]
    return rows[0][0], len(rows[0]), sum(rows[1])


@pytest.mark.parametrize(
    "func", [simplex, put_in_order, one_or_the_other, the_best_so_far, of_another_length]
)
def test_chosen_lists_are_joined_with_others(func, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    assert_like_the_loop(func, B)


def changed_by_its_other_name(x):
    rows = [[x[0], 1.0], [x[1], 2.0], [x[2], 3.0]]
    row = rows[np.argmin(x)] if x[0] > 0 else rows[np.argmax(x)]
    row[0] = 7.0
    return row[0] + rows[0][0]


def read_by_its_other_name(x):
    rows = [[x[0], 1.0], [x[1], 2.0], [x[2], 3.0]]
    best = rows[0]
    for k in range(3):
        row = rows[np.argmin(np.abs(x - k))]
        if row[0] > best[0]:
            best = row
    rows[1][0] = 9.0
    return best[0]


def changed_in_a_branch(x):
    rows = [[x[0], 1.0], [x[1], 2.0], [x[2], 3.0]]
    row = rows[int(x[1] > 0)]
    if x[0] > 0:
        row = row.copy()
    else:
        rows[0][1] = 7.0
    return row[0] + 10 * row[1]


def changed_in_a_turn(x):
    rows = [[x[0], 1.0], [x[1], 2.0], [x[2], 3.0]]
    row = [0.0, 0.0]
    for k in range(3):
        if x[k] > 0:
            row = rows[int(x[1] > 0)]
        rows[k][1] = 7.0 + k
    return row[0] + 10 * row[1]


@pytest.mark.parametrize(
    "func",
    [changed_by_its_other_name, read_by_its_other_name, changed_in_a_branch, changed_in_a_turn],
)
@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_what_may_have_changed_is_not_used(func, monkeypatch):
    monkeypatch.delenv("LANEWISE_STRICT", raising=False)  # which runs plain
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    np.testing.assert_array_equal(lw.vmap(func)(B), [func(x) for x in B])


def picked_in_a_branch(x):
    rows = [[1.0, x[0]], [3.0, 4.5]]
    if x[0] > -5:
        row = rows[int(x[0] > 0)]
    else:
        raise ValueError("too small")
    return row[0] + row[1]


def picked_in_one_branch(x):
    rows = [[1.0, x[0]], [3.0, 4.5]]
    if x[0] > -5:
        row = rows[int(x[0] > 0)]
    return row[0] + row[1]


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("func", [picked_in_a_branch, picked_in_one_branch])
def test_what_is_picked_in_the_only_branch_that_ends_does_not_leak(func, monkeypatch):
    monkeypatch.delenv("LANEWISE_STRICT", raising=False)
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    np.testing.assert_array_equal(lw.vmap(func)(A), [func(x) for x in A])
