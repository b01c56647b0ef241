"""Lists, dicts and objects that have several names, or are one or another as the data say."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError
from support.everywhere import assert_like_the_loop

X = np.array([1.0, -1.0, 2.0, 0.5])
ROWS = np.array([[1, -1, 2], [2, 3, -1], [0.5, 0.2, 1.5], [-1, 1, 1], [2, 2, 0.4]])


class Box:
    """Has a list."""

    def __init__(self, b: Any) -> None:
        self.b = b


@dataclass
class Pair:
    v: float
    w: list[float]


def put(items, value):
    items[0] = value


def put_last(items, value):
    items.append(value)


# --- changed in one branch, replaced in another ---------------------------------------------------


def attribute(x):
    o = Box([x])
    if x > 0:
        o.b[0] = 5.0
    else:
        o.b = [7.0]
    return o.b[0]


def entry(x):
    o = {"b": [x]}
    if x > 0:
        o["b"][0] = 5.0
    else:
        o["b"] = [7.0]
    return o["b"][0]


def dict_within(x):
    o = {"b": {"q": x}}
    if x > 0:
        o["b"]["q"] = 5.0
    else:
        o["b"] = {"q": 7.0}
    return o["b"]["q"]


def dict_of_a_name(x):
    d = {"q": x}
    if x > 0:
        d["q"] = 5.0
    else:
        d = {"q": 7.0}
    return d["q"]


def list_of_a_name(x):
    d = [x]
    if x > 0:
        put(d, 5.0)
    else:
        d = [7.0]
    return d[0]


def dataclass_of_a_name(x):
    d = Pair(x, [x])
    if x > 0:
        d.v = 5.0
        d.w[0] = 3.0
    else:
        d = Pair(7.0, [2.0])
    return d.v, d.w[0]


def dataclass_within(x):
    d = Pair(x, [x])
    o = {"d": d}
    if x > 0:
        o["d"].v = 5.0
        d.w[0] = 3.0
    else:
        o["d"] = Pair(7.0, [2.0])
    return o["d"].v, o["d"].w[0], d.v, d.w[0]


def within_a_tuple(x):
    t = (x, [x, 2.0])
    if x > 0:
        t[1][0] = 4.0
    else:
        t = (1.0, [5.0, 6.0])
    return t[1][0]


def queue(x):
    a, b = deque([x]), deque([1.0])
    if x > 0:
        a.append(2.0)
    else:
        a = b
    return a[-1], len(a)


def nothing_or_a_list(x):
    r = None
    a = [x]
    if x > 0:
        a[0] = 4.0
        r = a
    if r is None:
        return 0.0
    return r[0]


def under_another_name(x):
    a = [x]
    if x > 0:
        a[0] = 4.0
        r = a
    else:
        r = [1.0]
    return r[0] + a[0]


def returned(x):
    a = [x]

    def h():
        if x > 0:
            a[0] = 4.0
            return a
        return [9.0]

    return h()[0] + a[0]


def operand(x):
    a = [x]
    r = (a.append(2.0) or a) if x > 0 else [3.0, 4.0]
    return r[1] + len(a)


def swapped(x):
    a, b = [x], [0.0]
    if x > 0:
        a.append(1.0)
        a, b = b, a
    else:
        b.append(2.0)
    return b[0], b[1], len(a), sum(b)


def entries_made_one(x):
    d = {"a": [x], "b": [0.0]}
    if x > 0:
        d["a"].append(1.0)
        d["b"] = d["a"]
    else:
        d["b"].append(2.0)
    return d["b"][1], len(d["a"]), sum(d["b"])


def raised_in_between(x):
    o = {"b": [0.0]}
    e = o["b"]
    try:
        if x > 1:
            e[0] = 9.0
            raise ValueError
        o["b"] = [x]
    except ValueError:
        pass
    return o["b"][0], e[0]


BRANCHES = [
    attribute, entry, dict_within, dict_of_a_name, list_of_a_name, dataclass_of_a_name,
    dataclass_within, within_a_tuple, queue, nothing_or_a_list, under_another_name, returned,
    operand, swapped, entries_made_one, raised_in_between,
]  # fmt: skip


@pytest.mark.parametrize("func", BRANCHES, ids=lambda f: f.__name__)
def test_what_a_branch_changed(func):
    assert_like_the_loop(func, X)


# --- in loops -------------------------------------------------------------------------------------


def name_in_a_loop(x):
    d = [0.0]
    i = 0
    while i < len(x) and x[i] > 0:
        if x[i] > 1:
            d[0] = d[0] + x[i]
        else:
            d = [x[i] + 1]
        i += 1
    return d[0]


def entry_in_a_loop(x):
    o = {"b": [0.0]}
    i = 0
    while i < len(x) and x[i] > 0:
        if x[i] > 1:
            o["b"][0] = o["b"][0] + x[i]
        else:
            o["b"] = [x[i] + 1]
        i += 1
    return o["b"][0]


def replaced_in_each(x):
    o = Box([0.0])
    i = 0
    while i < len(x) and x[i] > 0:
        o.b[0] = o.b[0] + x[i]
        o.b = [x[i] + 1]
        i += 1
    return o.b[0]


def nonlocal_list(x):
    e = [0.0]

    def inner(v):
        nonlocal e
        if v > 1:
            e[0] = 9.0
        else:
            e = [v]

    for v in x:
        inner(v)
    return e[0]


def buffer_that_is_flushed(x):
    o, total = Box([]), 0.0
    for _ in range(4):
        for v in x:
            o.b.append(v)
            if sum(o.b) > 1.5:
                total = total * 0.5 + len(o.b)
                o.b = []
    return total, len(o.b), sum(o.b)


def entries_of_a_dict(x):
    groups = {"low": [], "high": []}
    for v in x:
        if v > 1:
            groups["high"].append(v)
        elif v < 0:
            groups["high"] = groups["low"]
            groups["low"] = []
        else:
            groups["low"] += [v, -v]
    return len(groups["low"]), len(groups["high"]), sum(groups["high"])


def emptied_by_name(x):
    b, t, i = [], 0.0, 0
    while i < len(x) and x[i] > 0:
        put_last(b, x[i])
        t = t * 2 + len(b)
        b = []
        i += 1
    return t


def emptied_in_a_tuple(x):
    b, t, i = ([], 1), 0.0, 0
    while i < len(x) and x[i] > 0:
        put_last(b[0], x[i])
        t = t * 2 + len(b[0])
        b = ([], 1)
        i += 1
    return t


def emptied_in_an_attribute(x):
    o, t, i = Box([]), 0.0, 0
    while i < len(x) and x[i] > 0:
        put_last(o.b, x[i])
        t = t * 2 + len(o.b)
        o.b = []
        i += 1
    return t


LOOPS = [
    emptied_by_name, emptied_in_a_tuple, emptied_in_an_attribute,
    name_in_a_loop, entry_in_a_loop, replaced_in_each, nonlocal_list, buffer_that_is_flushed,
    entries_of_a_dict,
]  # fmt: skip


@pytest.mark.parametrize("func", LOOPS, ids=lambda f: f.__name__)
def test_what_turns_changed(func):
    assert_like_the_loop(func, ROWS)


# --- one or another -------------------------------------------------------------------------------


def made_in_a_branch(x):
    if x > 0:
        m = [1.0]
        a = m
        b = m
    else:
        a = [2.0]
        b = [3.0]
    put(a, 7.0)
    return a[0], b[0]


def made_in_a_turn(x):
    a, b, i = [0.0], [1.0], 0
    while i < x:
        a = b = [1.0]
        i += 1
    put(a, 7.0)
    return a[0], b[0]


def dicts(x):
    if x > 0:
        a = b = {"q": 1.0}
    else:
        a, b = {"q": 1.0}, {"q": 2.0}
    a["q"] = 7.0
    return a["q"], b["q"]


def taken_from_outside(x):
    b, a, i = [0.0, 1.0], [1.0, x], 0
    while i < x:
        i += 1
        a = b
    b[-1] = 9.0
    return a[-1], b[-1]


@pytest.mark.parametrize(
    "func", [made_in_a_branch, made_in_a_turn, dicts, taken_from_outside], ids=lambda f: f.__name__
)
def test_a_change_under_another_name_is_refused(func):
    with pytest.raises(ControlFlowError, match=r"as the data decide.*|may have been, changed"):
        lw.vmap(func)(X)


def one_in_all_branches(x):
    if x > 0:
        a = b = [1.0]
    else:
        a = b = [x]
    a[0] += 2.0
    return b[0]


def two_in_all_branches(x):
    p, q = [x], [0.0]
    if x > 0:
        p, q = q, p
    p[0] = 4.0
    return p[0], q[0]


@pytest.mark.parametrize("func", [one_in_all_branches, two_in_all_branches])
def test_names_that_are_known_to_be_one_or_two(func):
    assert_like_the_loop(func, X)


def kept_as_it_was(x):
    runs, now = [], [-9.0, 0]
    for v in x:
        if now[0] == v:
            now[1] += 1
        else:
            now = [v, 1]
            runs.append(now)
    return len(runs), runs[-1][1]


def kept_of_a_while_loop(x):
    runs, now, i = [], [-9.0, 0], 0
    while i < len(x) and x[i] < 3:
        if now[0] == x[i]:
            now[1] += 1
        else:
            now = [x[i], 1]
            runs.append(now)
        i += 1
    return len(runs), runs[-1][1]


@pytest.mark.parametrize("func", [kept_as_it_was, kept_of_a_while_loop])
def test_a_change_of_what_a_list_keeps_is_refused(func):
    with pytest.raises(ControlFlowError, match=r"a list is changed .* stands for"):
        lw.vmap(func)(np.floor(ROWS))


def changed_after(x):
    rows = []
    for i in range(len(x)):
        row = [x[i], 1.0]
        rows.append(row)
        row[1] += x[i]
    return rows[3][1], rows[-1][1]


def one_for_all(x):
    rows, row = [], [0.0, 0.0]
    for i in range(len(x)):
        row[0] += x[i]
        rows.append(row)
    return rows[3][0], rows[-1][0]


@pytest.mark.parametrize("func", [changed_after, one_for_all])
def test_elements_of_a_list_of_many_turns_are_changed_under_their_names(func):
    assert_like_the_loop(func, np.linspace(0.0, 3.0, 1200).reshape(3, 400))


def entries_of_a_table(x):
    rows = [[v, 0.0] for v in x]
    for i in range(len(x)):
        rows[i][1] = x[i] * 2
    for row in rows:
        row[0] += row[1]
    last = rows[-1]
    last[1] += 1
    return rows[-1][1], rows[0][0], rows[5][1]


def test_elements_of_a_long_list_are_changed():
    assert_like_the_loop(entries_of_a_table, np.linspace(0.0, 3.0, 1200).reshape(3, 400))
