"""Containers that a function makes are its own, however they are made and held: written freely."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict, deque
from typing import Any

import numpy as np
import pytest

import lanewise as lw

XS = np.random.default_rng(0).normal(size=(3, 4))
OUTSIDE = [0.0, 0.0]


class Bag:
    """An object with attributes."""

    table: Any


def in_a_branch(x):
    rows = [[0.0] * 3 for _ in range(3)]
    if x[0] > 0:
        rows[1][1] = x[0]
    else:
        rows[0][2] = 1.0
    return rows[1][1] + rows[0][2]


def in_a_loop_of_data(x):
    rows = [[0.0] * 3 for _ in range(3)]
    i = 0
    while rows[1][1] < x[1]:
        rows[1][1] += 0.3
        rows[0][1] = rows[1][1] * 2
        i += 1
    return rows[1][1], i, rows[0][1]


def appended(x):
    rows = []
    for _ in range(3):
        rows.append([0] * 3)
    rows[1][1] = x[0]
    return rows[1][1]


def in_a_dict(x):
    rows = {key: [0] * 2 for key in "ab"}
    rows["a"][1] = x[0]
    for v in x:
        rows["b"][0] += v
    return rows["a"][1] + rows["b"][0]


def in_an_object(x):
    bag = Bag()
    bag.table = [[0] * 2] * 2
    bag.table[0][1] = x[0]
    return bag.table[1][1]


def in_a_tuple(x):
    rows = tuple([0] * 2 for _ in range(2))
    rows[0][1] = x[0]
    return rows[0][1]


def of_another_type(x):
    rows = [list(range(3)), [0] * 3 + [1]]
    rows[0][1] = rows[1][2] = x[0]
    return rows[0][1] + rows[1][2]


def copied(x):
    cube = [[[0] * 2 for _ in range(2)] for _ in range(2)]
    cube[1][0][1] = x[2]
    copy = [row[:] for row in cube]
    copy[0][0] = [1] * 2
    copy[0][0][1] = x[1]
    return cube[1][0][1] + copy[0][0][1] + cube[0][0][1]


def of_the_library(x):
    groups = defaultdict(lambda: [0] * 2)
    groups["q"][1] = x[0]
    queue = deque([[0] * 2])
    queue[0][1] = x[1]
    return groups["q"][1] + queue[0][1]


def made_by_a_helper(x):
    def grid(n):
        return [[0.0] * n for _ in range(n)]

    a, b = grid(2), grid(2)
    for i in range(2):
        for j in range(2):
            a[i][j] = x[i] * x[j]
            b[j][i] = a[i][j] + 1
    return sum(sum(row) for row in a) + b[1][0]


def written(x):
    """Return a list of which some items were written."""
    row = [0.0] * 4
    row[1] = x[1] * 2
    row[3] = x[0]
    return row


def zipped(x):
    row, total = written(x), 0.0
    for a, b in zip(row, x, strict=True):
        total += a * b
    return total, sum(a * b for a, b in zip(row[1:], row, strict=False))


def gone_through(x):
    row = written(x)
    steps = iter(row)
    first = next(steps)
    return first + next(steps), sum(i * v for i, v in enumerate(row)), next(reversed(row))


def mapped_by_functions(x):
    row = written(x)
    squares = map(lambda v: v * v, row)
    return sum(squares), functools.reduce(lambda a, b: a * 2 + b, row), sum([*row, *x])


def gone_through_by_a_generator(x):
    row = written(x)

    def twice():
        for v in row:
            yield v * 2

    def add():
        row[0] = row[0] + 1
        return row[0]

    return sum(twice()), add() + add()


def made_of_one_another(x):
    row = written(x)
    other, fixed, found = list(row), tuple(row), dict(zip("abcd", row, strict=True))
    other[0], found["a"] = 5.0, x[2]
    row.sort()
    row.insert(0, x[1])
    row += [1.0]
    return sum(other) + fixed[1] + sum(found.values()), sum(row), sorted(row)[2]


def written_while_gone_through(x):
    row = written(x)
    for i, (a, b) in enumerate(itertools.pairwise(row)):
        row[i] = a + b
    table = [[0] * 3 for _ in range(3)]
    for r, cells in enumerate(table):
        for c, _ in enumerate(cells):
            table[r][c] = x[r] + c
    return sum(row), [list(column) for column in zip(*table, strict=True)][1][2]


def linked(x):
    class Node:
        def __init__(self, value):
            self.value, self.next = value, None

    head = Node(x[0])
    head.next = Node(x[1])
    node, total = head, 0.0
    while node is not None:
        node.value = node.value * 2
        total += node.value
        node = node.next
    return total


FUNCTIONS = [in_a_branch, in_a_loop_of_data, appended, in_a_dict, in_an_object, in_a_tuple,
             of_another_type, copied, of_the_library, made_by_a_helper, zipped, gone_through,
             mapped_by_functions, gone_through_by_a_generator, made_of_one_another,
             written_while_gone_through, linked]  # fmt: skip


def columns(results):
    """Return the results of examples as one array for each that a function returns."""
    rows = [row if isinstance(row, tuple) else (row,) for row in results]
    return [np.array(column) for column in zip(*rows, strict=True)]


def mapped(f, xs):
    got = lw.vmap(f)(xs)
    return list(got) if isinstance(got, tuple) else [got]


def one_by_one(f, xs):
    traced = lw.function(f)
    return columns([traced(x) for x in xs])


def nested(f, xs):
    return [x[:, 0] for x in mapped(lw.vmap(f), xs[:, np.newaxis])]


def in_turn(f, xs):
    got = lw.map_fn(f, xs)
    return list(got) if isinstance(got, tuple) else [got]


@pytest.mark.parametrize("mode", [mapped, one_by_one, nested, in_turn])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_what_is_made_inside_is_written_to(f, mode):
    for got, want in zip(mode(f, XS), columns([f(x) for x in XS]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-15)


def shared(x):
    rows = [[0] * 2, OUTSIDE]
    rows[1][1] = rows[1][1] + x[0]
    return rows[1][1]


def shared_by_an_object(x):
    bag = Bag()
    bag.table = {"a": (OUTSIDE, [0] * 2)}
    bag.table["a"][0][0] += x[0]
    return bag.table["a"][0][0]


def helper(x):
    row = written(x)
    KEPT.append(row)
    return row


KEPT: list[Any] = []


def test_what_was_refused_once_is_looked_at_anew():
    """Another function may let go what the same helper made."""

    def kept(x):
        row = helper(x)
        row[0] = x[2]
        return row[0] + sum(row)

    def let_go(x):
        row = written(x)
        cycle = [row]
        cycle.append(cycle)
        return sum(a * b for a, b in zip(cycle[0], x, strict=True))

    with pytest.raises(lw.UnsupportedError):
        lw.function(kept)(XS[0])
    KEPT.clear()
    np.testing.assert_allclose(lw.vmap(let_go)(XS), [let_go(x) for x in XS])


@pytest.mark.parametrize("f", [shared, shared_by_an_object])
def test_what_was_there_before_is_not(f):
    with pytest.raises(lw.UnsupportedError, match=r"'OUTSIDE'.*is changed"):
        lw.vmap(f)(XS)
    with pytest.raises(lw.UnsupportedError, match="'OUTSIDE'"):
        lw.function(f)(XS[0])
    assert OUTSIDE == [0.0, 0.0]
