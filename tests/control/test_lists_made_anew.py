"""Lists that each turn makes anew or shifts, and lists repeated as often as the data say."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.comparing import define
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(3).integers(0, 4, (6, 9)).astype(float)
N = X.astype(int)


# --- buffers --------------------------------------------------------------------------------------


def joined_to_the_end(x):
    buffer, i, y = [0.0] * 30, 0, 0.0
    while i < len(x) and y < 20:
        buffer = buffer[1:] + [x[i]]  # noqa: RUF005
        y = y * 0.5 + sum(buffer)
        i += 1
    return y, buffer[0], buffer[-1]


def taken_off_in_front(x):
    buffer, i, y = [0.0] * 30, 0, 0.0
    while i < len(x) and y < 20:
        buffer.pop(0)
        buffer.append(x[i])
        y = y * 0.5 + sum(buffer)
        i += 1
    return y, buffer[0], buffer[-1]


def moved_one_by_one(x):
    buffer, i, y = [0.0] * 30, 0, 0.0
    while i < len(x) and y < 20:
        for k in range(29):
            buffer[k] = buffer[k + 1]
        buffer[29] = x[i]
        y = y * 0.5 + sum(buffer)
        i += 1
    return y, buffer[0], buffer[-1]


def queue_of_so_many(x):
    buffer, i, y = deque([0.0] * 30, maxlen=30), 0, 0.0
    while i < len(x) and y < 20:
        buffer.append(x[i])
        y = y * 0.5 + sum(buffer)
        i += 1
    return y, buffer[0], buffer[-1]


def of_lists(x):
    buffer, i, y = [[0.0, 1] for _ in range(30)], 0, 0.0
    while i < len(x) and y < 20:
        buffer = buffer[1:] + [[x[i], 2]]  # noqa: RUF005
        y = y * 0.5 + sum(b[0] for b in buffer)
        i += 1
    return y, buffer[0][1], buffer[-1][0]


BUFFERS = [joined_to_the_end, taken_off_in_front, moved_one_by_one, queue_of_so_many, of_lists]


@pytest.mark.parametrize("func", BUFFERS, ids=lambda f: f.__name__)
def test_a_buffer_that_shifts(func):
    assert_like_the_loop(func, X)


MADE = [
    "[x[0]] + [x[1]]", "[0.0] * 3", "x.tolist()", "x[:3].tolist()", "list(x)", "sorted(x)",
    "[x[0]] + [x[1]] + [2.0]", "b + b", "b * 2", "x[:2].tolist() * 2", "[*x]",
    "np.array([1.0, 2.0]).tolist()",
]  # fmt: skip


@pytest.mark.parametrize("made", MADE)
def test_a_list_that_each_turn_makes_and_changes(made):
    text = f"""
def f(x):
    i, y, b = 0, 0.0, [x[0], 1.0]
    while i < len(x) and y < 20:
        a = {made}
        a[0] = y
        y = y * 0.5 + sum(a)
        i += 1
    return y
"""
    assert_like_the_loop(define(text, np=np), X)


def kept_by_some(x):
    p, n = [0, 1], x[0]
    while n > 0:
        n -= 1
        c = p[1:] + p[:1]
        if n < x[1]:
            p = c
    return p[0]


def test_a_list_that_some_turns_keep():
    assert_like_the_loop(kept_by_some, X)


# --- repeated -------------------------------------------------------------------------------------


def knapsack(x):
    weights, values, most = [1, 3, 4], [15, 20, 30], x[0] + 4
    best = [0] * (most + 1)
    for i in range(3):
        for c in range(most, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[most]


def decoded(x):
    out = []
    for v in x:
        out += [v] * abs(v)
    return len(out), sum(out)


def in_place(x):
    a = [1, 2]
    b, n = a, x[1]
    a *= n
    return len(a), len(b), sum(b)


def in_other_forms(x):
    n = int(x[1])
    large = [0.0] * (x > 1).sum()
    return len([0] * n), sum(n * [3]), ([5] * n + [7])[0], len(large), len([1] * len(x[x > 1]))


@pytest.mark.parametrize("func", [knapsack, decoded, in_place, in_other_forms])
def test_a_list_repeated_as_often_as_the_data_say(func):
    assert_like_the_loop(func, N)


def test_what_cannot_be_repeated():
    with pytest.raises(TypeError, match="can't multiply sequence by non-int of type"):
        lw.vmap(lambda x: len([0] * x[0]))(X)
    with pytest.raises(UnsupportedError, match="a tuple is repeated"):
        lw.vmap(lambda x: len((0,) * x[0]))(N)


# --- what branches and choices leave --------------------------------------------------------------


def changed_in_the_other_branch(x):
    cur = [x[0], 0.0]
    rows = [cur]
    if x[1] > 2:
        rows.append([1.0, 2.0])
    else:
        cur[1] += 1.0
    return len(rows), cur[1], sum(r[1] for r in rows)


def put_at_an_index_of_data(x):
    a, b = [1.0, 2.0], [3.0, 4.0]
    rows = [a, b]
    rows[int(x[1]) % 2] = [7.0, 7.0]
    total = rows[0][0] + rows[1][0]
    a[0] = 9.0
    return a[0], b[0], total


def compared(x):
    rows = [[1.0, 2.0], [3.0, x[0]]]
    row = rows[int(x[1]) % 2]
    return row == [1.0, 2.0], row < [2.0, 0.0], 2.0 in row, row.count(2.0), row.index(row[1])


def picked_arrays(x):
    points = [x[:2], x[2:4]]
    for _ in range(3):
        points = [points[i] for i in np.argsort(x[:2])]
        if x[1] < 0.5:
            break
        if x[0] < 1:
            points[1] = points[0] + 1
    return points[0]


def of_the_later_ones(x):
    out = []
    for i, v in enumerate(np.append(x, x)):
        if i >= 3:
            out.append(v)
    return np.array(out)


LEFT = [
    changed_in_the_other_branch, put_at_an_index_of_data, compared, picked_arrays,
    of_the_later_ones,
]  # fmt: skip


@pytest.mark.parametrize("func", LEFT, ids=lambda f: f.__name__)
def test_what_branches_and_choices_leave(func):
    assert_like_the_loop(func, X)


def test_a_choice_of_a_list_is_the_list_itself():
    def func(x):
        a, b = [1.0, 2.0], [3.0, 4.0]
        rows = [a, b]
        rows[int(x[1]) % 2] = [7.0, 7.0]
        a[0] = 9.0
        return rows[0][0], rows[1][0]

    assert_like_the_loop(func, X)


def of_what_is_not_none(x):
    last, gaps, best, record = None, [], None, []
    for i, v in enumerate(x):
        if best is None or v > best:
            best = v
            record.append(best)
        if v > 1:
            if last is not None:
                gaps.append(i - last)
            last = i
    return max(gaps, default=-1), len(gaps), len(record), record[-1]


def test_what_may_be_none_is_put_in_a_list():
    assert_like_the_loop(of_what_is_not_none, X)
    assert_like_the_loop(lambda x: sum(1 for v in _some(x) if v is not None), X)


def _some(x):
    last, out = None, []
    for v in x:
        if v > 2:
            last = v
        if v > 0:
            out.append(last)
    return out


# --- combinations ---------------------------------------------------------------------------------


def cells(x):
    grid, s = x.reshape(3, 3).copy(), 0.0
    for i, j in np.ndindex(3, 3):
        if grid[i, j] > 1 and i > 0:
            grid[i - 1, j] += 1
        s = s * 0.5 + grid[i, j]
    for k, (i, j) in enumerate(np.ndindex(3, 3)):
        s = s * 0.5 + k * grid[j, i]
    return s, grid


def pairs(x):
    s, n = 0.0, 0
    for i, j in itertools.combinations(range(9), 2):
        if abs(x[i] - x[j]) > 1:
            s += 1 / (x[i] - x[j])
    for a in itertools.product(*[range(2)] * 3):
        for b in itertools.combinations_with_replacement(a, 2):
            n += b[0] * x[b[1]]
    return s, n, max(x[i] - x[j] for i, j in itertools.product(range(3), range(4, 7)))


def the_first_in_order(x):
    for p in itertools.permutations(range(4)):
        if x[p[0]] <= x[p[1]] <= x[p[2]] <= x[p[3]]:
            return p
    return (-1, -1, -1, -1)


def taken_one_by_one(x):
    it = itertools.product([0, 1], [2, 3])
    first = next(it)
    for k, _ in it:
        if k:
            break
    return first[1], len(list(it)), np.array(list(itertools.permutations([1, 2, 3]))), x[0]


@pytest.mark.parametrize("func", [cells, pairs, the_first_in_order, taken_one_by_one])
def test_combinations(func):
    assert_like_the_loop(func, X)


# --- tolist ---------------------------------------------------------------------------------------

OUTSIDE = np.arange(12.0).reshape(3, 4)


def numbers_in_a_loop(x):
    best = np.zeros(30).tolist()
    for i in range(30):
        if x[i % 9] * i > best[i]:
            best[i] = x[i % 9] * i
    return best


def numbers_that_become_more(x):
    found = np.zeros(3, int).tolist()
    for i in range(30):
        if x[i % 9] > 1:
            found.append(i)
    return len(found), sum(found)


def rows_in_a_loop(x):
    rows = np.zeros((3, 4)).tolist()
    for i in range(30):
        if x[i % 9] > 0:
            rows[i % 3][i % 4] += x[i % 9]
            rows[0], rows[1] = rows[1], rows[0]
    return rows


def rows_from_outside(x):
    rows, least = OUTSIDE.tolist(), OUTSIDE.min(axis=0).tolist()
    for i in range(30):
        if x[i % 9] > 0:
            rows[i % 3][i % 4] = least[i % 4] = x[i % 9]
    return rows, least


def made_in_each_turn(x):
    best = None
    for i in range(30):
        row = np.arange(4.0).tolist()
        if x[i % 9] > 1:
            row[i % 4] += x[i % 9]
            if x[(i + 1) % 9] > 1:
                row.append(1.0)
        if best is None or sum(row) > sum(best):
            best = row
    return sum(best), len(best)


@pytest.mark.parametrize(
    "func",
    [
        numbers_in_a_loop,
        numbers_that_become_more,
        rows_in_a_loop,
        rows_from_outside,
        made_in_each_turn,
    ],
)
def test_tolist(func, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    assert_like_the_loop(func, X)
