"""Lists of lists of lengths that are data, dicts of lists by keys that are data: groups."""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support import random_lists, random_nested
from support.backends import backend, outcome
from support.comparing import define
from support.everywhere import Programs, assert_like_the_loop

A = np.random.default_rng(8).uniform(0.0, 5.0, size=(9, 14))
A[2], A[3], A[4], A[5] = 0.5, 4.5, np.arange(14) / 3, np.nan

PROGRAMS = Programs()
program = PROGRAMS.note


# --- segments -------------------------------------------------------------------------------------


@program(A)
def begun_where_there_is_a_gap(x):
    segments = [[x[0]]]
    for a, b in pairwise(x):
        if abs(a - b) > 1.0:
            segments.append([b])
        else:
            segments[-1].append(b)
    return max(len(s) for s in segments), len(segments), sum(segments[-1])


@program(A)
def handed_over_when_they_end(x):
    segments, current = [], []
    for v in x:
        if v > 2.0:
            current.append(v)
        else:
            if current:
                segments.append(current)
            current = []
    if current:
        segments.append(current)
    return sum(max(s) for s in segments), len(segments)


@program(A)
def begun_empty(x):
    rows = [[]]
    for v in x:
        if v > 2.0:
            rows[-1].append(v)
        else:
            rows.append([])
    return max([sum(r) for r in rows]), len([r for r in rows if r])


@program(A)
def pairs_and_their_lists(x):
    found = []
    for i, v in enumerate(x):
        if not found or v < 1.0:
            found.append((i, [v]))
        else:
            found[-1][1].append(v * i)
    return sum(i * len(values) for i, values in found), found[-1][1][-1]


@program(A)
def the_longest_one(x):
    rows = [[x[0]]]
    for v in x[1:]:
        if v >= rows[-1][-1]:
            rows[-1].append(v)
        else:
            rows.append([v])
    longest = max(rows, key=len)
    best = rows[0]
    for row in rows:
        if len(row) > len(best):
            best = row
    best.append(7.0)
    return sum(longest), len(best), sum(len(r) for r in rows), sorted(rows, key=len)[-1][0]


# --- groups ---------------------------------------------------------------------------------------


@program(A[:5])
def grouped_by_setdefault(x):
    groups = {}
    for v in x:
        groups.setdefault(int(v), []).append(v)
    return sum(max(g) for g in groups.values()), len(groups)


@program(A[:5])
def grouped_by_defaultdict(x):
    groups = defaultdict(list)
    for i, v in enumerate(x):
        groups[int(v)].append(i)
    return max(len(g) for g in groups.values()), sum(k * g[0] for k, g in groups.items())


@program(A[:5])
def grouped_by_if(x):
    groups = {}
    for v in x:
        k = int(v)
        if k in groups:
            groups[k].append(v)
        else:
            groups[k] = [v]
    return sum(sum(g) * k for k, g in groups.items())


@program(A[:5])
def grouped_by_not_in(x):
    groups = {}
    for i, v in enumerate(x):
        k = int(v)
        if k not in groups:
            groups[k] = []
        groups[k].append((i, v))
    return sum(i * v for g in groups.values() for i, v in g)


@program(A[:5])
def grouped_by_two_lists(x):
    keys, rows = [], []
    for v in x:
        k = int(v)
        if k in keys:
            rows[keys.index(k)].append(v)
        else:
            keys.append(k)
            rows.append([v])
    return sum(max(r) for r in rows), len(keys)


@program(A[:5])
def neighbours_of_a_graph(x):
    near = {i: [] for i in range(5)}
    for a, b in pairwise(x):
        near[int(a)].append(int(b))
    queue, seen = [0], [0]
    while queue:
        for v in near[queue.pop(0)]:
            if v not in seen:
                seen.append(v)
                queue.append(v)
    return len(seen), seen[-1]


@program(A)
def lists_of_a_comprehension(x):
    groups = {i: [] for i in range(4) if x[0] > i}
    for i, v in enumerate(x):
        if i in groups:
            groups[i].append(v)
    return len(groups), sum(map(len, groups.values())), max(map(sum, groups.values()), default=0.0)


# --- what can be done with them -------------------------------------------------------------------


def _rows(x):
    rows = [[]]
    for v in x:
        if v > 2.5:
            rows.append([])
        rows[-1].append(v)
    return rows


@program(A)
def one_of_them_is_changed(x):
    rows = _rows(x)
    last = rows[-1]
    last.extend([1.0, 2.0])
    last[0] = 5.0
    last.insert(1, 8.0)
    last.pop()
    last.reverse()
    first = rows[0]
    first.append(3.0)
    first.sort(key=lambda v: -v)
    del first[-1]
    return sum(rows[-1]), rows[-1][0], len(rows[0]), 8.0 in last, last.index(8.0), len(last[1:])


@program(A)
def the_list_of_them_is_changed(x):
    rows = _rows(x)
    kept = rows[0]
    rows.insert(0, [9.0])
    rows.append([4.0, 5.0])
    rows[1] = [6.0]
    taken = rows.pop()
    taken.append(1.0)
    kept.append(2.0)
    rows.reverse()
    more = rows[:2]
    more.append([0.5])
    more[0].append(0.25)
    rows.extend([[1.0], [2.0, 3.0]])
    del rows[0]
    return len(rows), len(more), sum(taken), len(kept), sum(sum(r) for r in rows)


@program(A)
def gone_through_in_many_ways(x):
    rows = _rows(x)
    total = 0.0
    for i, row in enumerate(rows):
        for j, v in enumerate(row):
            total += (i + 1) * (j + 2) * v
    for row in reversed(rows):
        if len(row) > 2:
            total += row[-2]
    lengths = [len(r) for r in rows]
    return total, max(lengths), lengths[-1], any(len(r) == 1 for r in rows), bool(rows)


@program(A)
def compared_and_joined(x):
    rows = _rows(x)
    first, last = rows[0], rows[-1]
    more = last + first
    more += [*last, 1.0]
    more.append(len(last * 2))
    is_same = first == last, first != [x[0]], first == [], rows[0] == rows[0][:]
    return is_same, len(more), sum(more), max(last), sorted(last)[0], sum(last, 1.0), len(last)


@program(A)
def put_in_and_spread(x):
    rows, own = _rows(x), [x[0]]
    rows.append(own)
    other = [*own, 2.0]
    own.append(5.0)
    copies = own[:], list(own), rows[-1] + []
    copies[1].append(1.0)
    return len(other), len(rows[-1]), [len(each) for each in copies], isinstance(rows[0], list)


@program(A)
def an_array_of_each(x):
    rows = _rows(x)
    rows = [r for r in rows if len(r) > 0]
    means = [np.mean(np.array(r)) for r in rows]
    return np.sum(np.array(means)), np.array(rows[-1]).max()


@program(A)
def moved_from_one_to_another(x):
    stacks = [[], [], []]
    for v in x:
        stacks[int(v) % 3].append(v)
    while stacks[0]:
        stacks[1].append(stacks[0].pop())
    return len(stacks[1]), sum(stacks[1]), len(stacks[0]), stacks[1][-1] if stacks[1] else -1.0


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    assert_like_the_loop(*PROGRAMS[name])


def test_a_list_that_is_not_there_is_an_error_whoever_uses_it(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")

    def func(x):
        rows = _rows(x)
        rows[int(x[1]) + 20].append(1.0)
        return len(rows)

    with pytest.raises(IndexError, match="list index out of range"):
        lw.vmap(func)(A[:5])


# --- who has them ---------------------------------------------------------------------------------


def under_another_name(x):
    current = [x[0]]
    rows = [current]
    for v in x[1:]:
        if v > 2.5:
            current = []
            rows.append(current)
        current.append(v)
    return sum(len(r) for r in rows) + 100 * len(rows)


def read_after_it_changed(x):
    current = [x[0]]
    rows = [current]
    if x[1] > 2.0:
        rows.append([x[1], x[3]])
    rows[0].append(x[2])
    return len(current) + 10 * len(rows[0])


def changed_after_it_was_put_in(x):
    current = [x[0]]
    rows = [current]
    if x[1] > 2.0:
        rows.append([x[1], x[3]])
    current.append(x[2])
    return len(current) + 10 * len(rows[0])


def given_to_it_and_changed(x):
    rows = [[x[0]]]
    if x[1] > 2.0:
        rows.append([x[1], x[2]])
    mine = [x[2]]
    rows.append(mine)
    rows[-1].append(x[3])
    mine.append(x[4])
    return len(mine) + 10 * len(rows[-1])


def given_to_it_by_some(x):
    rows, mine = [[x[0]]], [x[2]]
    if x[1] > 2.0:
        rows.append([x[1], x[2]])
    if x[2] > 2.0:
        rows.append(mine)
    rows[-1].append(x[3])
    return len(mine) + 10 * len(rows[-1])


def given_to_it_in_turns(x):
    rows, mine = [[x[0]]], [x[2]]
    for v in x:
        if v > 2.0:
            rows.append(mine)
        elif v > 1.0:
            mine = [v]
            rows.append([v, v])
        else:
            mine.append(v)
        rows[-1].append(v)
    return len(mine) + 10 * sum(len(r) for r in rows)


def chosen_and_changed(x):
    first, second = [x[0]], [x[1], x[2]]
    rows = [first, second]
    rows[int(x[3] > 2.0)].append(x[4])
    return len(first) + 10 * len(second)


def chosen_changed_and_kept(x):
    first, second = [x[0]], [x[1], x[2]]
    rows = [first, second, first]
    for v in x:
        rows[int(v) % 3].append(v)
        if v > 3.0:
            first.append(v)
    second.pop(0)
    return len(first), sum(second), len(rows[0]), len(rows[2]), first[-1]


def in_two_lists(x):
    row = [x[0]]
    rows, others = [row], [row, [x[1]]]
    if x[1] > 2.0:
        rows.append([x[2], x[3]])
    rows[0].append(x[3])
    return len(others[0]) + 10 * len(rows[0])


def in_two_lists_that_both_grow(x):
    row = [x[0]]
    rows, others = [row], [row]
    if x[1] > 2.0:
        rows.append([x[2], x[3]])
    else:
        others.append([x[2], x[3]])
    rows[0].append(x[3])
    others[0].append(x[4])
    return len(others[0]) + 10 * len(rows[0])


def chosen_before_they_move(x):
    rows = [[0.5], [0.6], [0.7]]
    row = rows[int(x[0]) % 3]
    rows.insert(0, [0.1])
    row.append(x[1])
    return sum((i + 1) * len(r) for i, r in enumerate(rows))


def moved_in_a_branch(x):
    rows = [[]]
    if x[1] > 2.0:
        rows.reverse()
    else:
        for v in x:
            rows[-1].append(v)
    return sum(len(r) for r in rows)


def one_list_twice(x):
    row = [x[0]]
    rows = [row, row]
    if x[1] > 2.0:
        rows.append([x[2], x[3]])
    rows[0].append(x[3])
    return len(rows[1]) + 10 * len(rows[0])


def one_list_twice_in_turns(x):
    rows = [[x[0]]]
    for v in x:
        if v > 2.0:
            rows.append(rows[0])
        else:
            rows.append([v, v])
        rows[-1].append(v)
    return sum(len(r) for r in rows)


def in_an_attribute(x):
    class Box:
        pass

    box = Box()
    box.row = [x[0]]
    rows = [box.row]
    if x[1] > 2.0:
        rows.append([x[2], x[3]])
    rows[0].append(x[3])
    return len(box.row) + 10 * len(rows[0])


def a_group_under_another_name(x):
    groups = {}
    for v in x:
        group = groups.setdefault(int(v), [])
        group.append(v)
        if len(group) > 2:
            groups[int(v)] = [v]
            group.append(v)
    return sum(len(g) for g in groups.values())


SHARED = [
    under_another_name, read_after_it_changed, changed_after_it_was_put_in, given_to_it_and_changed,
    given_to_it_by_some, given_to_it_in_turns, chosen_and_changed, chosen_changed_and_kept,
    in_two_lists, in_two_lists_that_both_grow, one_list_twice, one_list_twice_in_turns,
    in_an_attribute, chosen_before_they_move, moved_in_a_branch, a_group_under_another_name,
]  # fmt: skip


@pytest.mark.parametrize("func", SHARED, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_a_list_that_somebody_else_has_is_that(func, monkeypatch):
    monkeypatch.delenv("LANEWISE_STRICT", raising=False)  # some are refused, and run plain
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    results = [np.atleast_1d(func(x)) for x in A[:5]]
    expected = [np.stack(each) for each in zip(*results, strict=True)]
    for mapped in (lw.vmap(func), lw.function(lw.vmap(func))):
        found = mapped(A[:5])
        np.testing.assert_array_equal(found if type(found) is tuple else (found,), expected)


@pytest.mark.parametrize("seed", range(16))
def test_random_functions_are_like_the_loop(seed, monkeypatch):
    func = define(random_nested.draw(seed), np=np, Box=random_lists.Box)
    rng = np.random.default_rng(seed)
    x, n, k = rng.uniform(0, 3, (6, 5)).round(2), rng.integers(0, 6, 6), rng.integers(0, 4, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wants = [outcome(partial(func, *row)) for row in zip(x, n, k, strict=True)]
    good = [i for i, (_, error) in enumerate(wants) if error is None]
    if not good:
        pytest.skip("all examples raise")
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    for name in ("interpret", "native")[: 1 + (seed < 6)]:
        with backend(name):
            try:
                got = lw.vmap(func)(x[good], n[good], k[good])
            except (ControlFlowError, UnsupportedError) as error:
                pytest.skip(f"refused by name: {error}")
        columns = zip(*[wants[i][0] for i in good], strict=True)
        for column, want in zip(got, columns, strict=True):
            np.testing.assert_allclose(np.asarray(column, float), np.array(want, float), 1e-9)


def test_a_list_of_the_callers_is_not_changed_unseen(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    outside = [1.0]

    def func(x):
        rows = [outside]
        if x[0] > 2.0:
            rows.append([x[1]])
        rows[0].append(x[2])
        return len(rows)

    with pytest.raises((UnsupportedError, ControlFlowError)):
        lw.vmap(func)(A)
    assert outside == [1.0]


def test_what_is_not_followed_is_named(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    with pytest.raises(UnsupportedError, match="a list of lists whose lengths are data"):
        lw.vmap(lambda x: sorted(_rows(x))[0][0])(A)
    with pytest.raises(UnsupportedError, match="a list of lists whose lengths are data"):
        lw.vmap(_rows)(A)


# --- derivatives ----------------------------------------------------------------------------------


def largest_group(x):
    groups = defaultdict(list)
    for v in x:
        groups[int(v)].append(v * v)
    return max(sum(g) for g in groups.values())


def largest_segment(x):
    segments = [[x[0]]]
    for u, v in pairwise(x):
        if abs(u - v) > 1.0:
            segments.append([v])
        else:
            segments[-1].append(v * u)
    return max(sum(s) for s in segments)


class Neuron:
    def __init__(self):
        self.spikes = []

    def run(self, x):
        v = 0.0
        for k, current in enumerate(x):
            v = v + 0.3 * (current - v)
            if v > 1.0:
                self.spikes.append(0.1 * k * v)
                v = 0.0
        return v


def spikes_of_an_object(x):
    neuron = Neuron()
    return neuron.run(x) + sum(neuron.spikes)


@pytest.mark.parametrize("func", [largest_group, largest_segment, spikes_of_an_object])
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_derivatives(func, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    x, h = A[0], 1e-6
    wanted = [(func(x + h * e) - func(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(lw.grad(func)(x), wanted, atol=1e-5)
    np.testing.assert_allclose(lw.vmap(lw.grad(func))(A[:2])[0], wanted, atol=1e-5)
