"""Objects and lists that stay where they are while others beside them are made anew, or chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, ControlFlowError, UnsupportedError
from support.everywhere import assert_like_the_loop

X = np.array([[0.0, 1.0, -2.0], [1.0, -1.0, 0.5], [2.0, 2.0, 3.0], [-1.0, -1.0, -1.0]])


class M:
    """Has an attribute."""

    def __init__(self, b):
        self.b = b


class Box:
    """Has an object."""

    def __init__(self, item, k):
        self.item = item
        self.k = k


@dataclass
class D:
    b: float


def handed_on_beside_a_new_one(x):
    p = M(0.0)
    t = (p, M(-1.0))
    n = 0
    while n < x[0]:
        p.b += 1
        t = (p, M(n))
        n += 1
    return p.b, t[0].b, t[1].b


def beside_one_that_is_replaced(x):
    p = M(0.0)
    rows = [p, M(1.0)]
    if x[0] > 0:
        p.b += 1
        rows[1] = M(9.0)
    return rows[0].b, rows[1].b, p.b


def within_a_new_object(x):
    p = M(0.0)
    box = Box(p, 0)
    if x[0] > 0:
        p.b = 3.0
        box = Box(p, 1)
    else:
        p.b = 4.0
        box = Box(p, 2)
    return box.item.b, box.k, p.b


def within_one_of_two(x):
    p = M(0.0)
    box = Box(p, 0)
    if x[0] > 0:
        p.b = 3.0
        box = Box(p, 1)
    p.b += 1
    return box.item.b, box.k, p.b


def within_one_of_a_loop(x):
    p = M(0.0)
    box = Box(p, 0)
    for v in x:
        if v > 0:
            box = Box(p, v)
        p.b += 1
    return box.item.b, box.k, p.b


def within_one_or_another_of_a_loop(x):
    p, q = M(0.0), M(5.0)
    box = Box(p, 0)
    for v in x:
        if v > 0:
            box = Box(q, v)
        p.b += 1
    return box.item.b, box.k, p.b


def a_new_one_or_it(x):
    p = M(0.0)
    cur = p
    for v in x:
        if v > 0:
            cur = M(v)
        cur.b += 1
    return cur.b, p.b


def beside_a_new_one_in_both_branches(x):
    p = M(0.0)
    rows = [p]
    for v in x:
        rows = [p, M(v)] if v > 0 else [p, M(-v)]
        p.b += v
        rows[1].b += 1
    return rows[0].b, p.b, rows[-1].b


def in_a_dict(x):
    p = M(0.0)
    d = {"a": p, "b": M(0.0)}
    if x[0] > 0:
        p.b = 2.0
        d["b"] = M(3.0)
    else:
        d["b"] = M(4.0)
        p.b = 1.0
    d["a"].b += 1
    return p.b, d["a"].b, d["b"].b


def one_or_another_beside_a_new_one(x):
    a, b = M(1.0), M(2.0)
    t = (a, b)
    if x[0] > 0:
        t = (b, M(3.0))
        a.b = 7.0
    else:
        t = (a, M(4.0))
        a.b = 8.0
    return t[0].b, a.b, b.b


def changed_after_it_was_one_of_two(x):
    a, b = M(1.0), M(2.0)
    t = (a, b)
    t = (b, M(3.0)) if x[0] > 0 else (a, M(4.0))
    a.b += 10
    return t[0].b, a.b, b.b


def dataclasses_in_a_log(x):
    rows = [D(0.0), D(1.0)]
    log = [D(9.0)]
    for v in x:
        if v > 0:
            log.append(rows[0])
        else:
            log.append(rows[1])
        log[-1].b += v
    return rows[0].b, rows[1].b, log[0].b


def lists_in_a_log(x):
    rows = [[0.0], [4.0]]
    log = [[1.0], [2.0]]
    if x[0] > 0:
        log[0] = rows[0]
    else:
        log[0] = rows[1]
    rows[0][0] += 10
    return log[0][0], rows[0][0], rows[1][0]


def appended_in_both_branches(x):
    rows = [[0.0], [4.0]]
    log = []
    if x[0] > 0:
        log.append(rows[0])
    else:
        log.append(rows[1])
    rows[1][0] += 10
    return log[0][0]


def appended_in_each_turn(x):
    rows = [[0.0], [4.0]]
    log = []
    for v in x:
        if v > 0:
            log.append(rows[0])
        else:
            log.append(rows[1])
        rows[0][0] += v
    return sum(r[0] for r in log)


def appended_in_some_turns(x):
    rows = [[0.0], [4.0]]
    log = []
    for v in x:
        if v > 0:
            log.append(rows[0])
        rows[0][0] += v
    return sum(r[0] for r in log), len(log)


def changed_after_both_changed_it(x):
    row = [1.0, 0.0]
    rows = [row]
    if x[1] > 0:
        rows[0][0] += 2.0
        rows.append([3.0, 0.0])
    else:
        rows[0][0] = 7.0
    row[0] += 3.0
    return sum([each[0] for each in rows])


def changed_in_one_and_new_in_the_other(x):
    p = M(1.0)
    r = p
    if x[0] > 0:
        r.b += 1.0
    else:
        p = M(5.0)
    return p.b


def changed_after_a_loop_of_new_ones(x):
    p = M(1.0)
    r, i = p, 0
    while i < x[2]:
        p = M(2.0)
        i += 1
    r.b = 5.0
    return p.b


def of_two_lists_of_which_one_grows(x):
    q = M(x[0])
    rows, log, i = [q], [q], 0
    while i < x[0]:
        log.append(M(x[1]))
        i += 1
    rows[0].b += 1.0
    return sum([each.b for each in log])


def changed_while_its_list_grows(x):
    r = D(1.0)
    rows, i = [r], 0
    while i < x[2]:
        r.b = x[1]
        rows.append(D(3.0))
        i += 1
    return rows[0].b


class T:
    """Has two attributes."""

    def __init__(self, v):
        self.v = v
        self.n = 0.0


@dataclass
class F:
    v: float
    n: float = 0.0


def changed_and_appended_in_each_turn(x):
    p, log, i = [1.0, 0.0], [], 0
    while i < x[1]:
        p[1] += 7.0
        log.append(p)
        i += 1
    return sum([each[1] for each in log])


def changed_and_appended_dataclass(x):
    p, log, i = F(1.0), [], 0
    while i < x[1]:
        p.n += 7.0
        log.append(p)
        i += 1
    return sum([each.n for each in log])


def chosen_and_then_new_in_one_branch(x):
    p, q = F(1.0), F(x[0])
    r = p if x[2] > 0 else q
    if x[1] > 0:
        p.v += 1.0
    else:
        r = F(4.0)
    return r.v


def swapped_and_then_new_in_one_branch(x):
    p, q = T(1.0), T(x[0])
    if x[0] > 0:
        p, q = q, p
    if x[0] > 1:
        q = T(5.0)
    else:
        q.n = 2.0
    return q.n


def chosen_where_it_is_changed(x):
    p, q = T(1.0), T(x[0])
    if x[1] > 1:
        p.v += 1.0
        r = p if x[2] > 0 else q
    else:
        r = T(5.0)
    return r.v


def chosen_into_a_list_that_grows(x):
    q = T(x[0])
    rows, log = [T(1.0), q], [T(6.0)]
    if x[0] > 1:
        log[-1] = rows[1]
    if x[1] > 1:
        log.append(T(2.0))
    else:
        log[0].v += 7.0
    return sum([each.v for each in log])


def found(rows, v):
    if v > 1:
        return T(v)
    rows[0].v += 1
    return rows[0] if v > 0 else rows[1]


def returned_by_a_function(x):
    return found([T(1.0), T(2.0)], x[0]).v


def turned_about_and_changed(x):
    rows, i = [T(1.0), T(x[0])], 0
    q = rows[1]
    while i < x[1]:
        rows[0], rows[1] = rows[1], rows[0]
        i += 1
    if x[1] > 1:
        q.n = 3.0
    else:
        rows.append(T(1.0))
    return sum([(k + 1) * each.n for k, each in enumerate(rows)])


def of_plain_numbers(x):
    p = M(1.0)
    log = [p]
    for v in x:
        if v > 0:
            log.append(M(1.0))
    p.b += 2.0
    return sum([each.b for each in log])


def dicts_from_turn_to_turn(x):
    p, q, i = {"v": 2.0}, {"v": 1.0}, 0
    while i < x[2]:
        p["v"] += 1.0
        p = q
        i += 1
    return q["v"]


def swapped_in_one_branch(x):
    rows = [T(1.0), T(4.0)]
    if x[2] > 0:
        if x[0] > 1:
            rows[0], rows[1] = rows[1], rows[0]
    else:
        rows.append(T(2.0))
    return len(rows)


def set_in_some_branches_only(x):
    if x[0] >= -9:  # noqa: SIM102 - two branches
        if x[2] > -9:
            r = T(x[2])
    return r.v


def the_best_of_those_that_are_left(x):
    rows = [T(1.0)]
    for v in x:
        best = None
        for row in rows:
            if best is None or row.v > best.v:
                best = row
        rows = [row for row in rows if row.v > v]
    return len(rows)


def the_best_is_changed(x):
    rows = []
    for v in x:
        best = None
        for row in rows:
            if best is None or row.v > best.v:
                best = row
        if best is not None:
            best.n = 0.5
        if v == 0:
            rows.append(T(2.0))
    return len([i for i, each in enumerate(rows) if each.v > 0])


def made_anew_by_a_loop(x):
    cell = T(0.0)
    for v in x:
        cell.v += v
        if cell.v > 1:
            cell = T(0.5)
    return cell.v


def put_in_a_list_and_made_anew(x):
    out, cell = [], F(0.0)
    for v in x:
        cell.v += v
        cell.n += 1
        if cell.v > 1:
            out.append(cell)
            cell = F(0.0)
    return len(out), sum(each.n for each in out), cell.v


def asked_for_after_it_was_lost(x):
    first = cell = T(0.0)
    for v in x:
        cell.v += v
        if cell.v > 1:
            cell = T(0.5)
    return first.v if first.v is not None else 0.0


class Held:
    """Has an array."""

    def __init__(self, u):
        self.u = u

    def copy(self):
        return Held(self.u.copy())


@dataclass
class HeldField:
    u: object

    def copy(self):
        return HeldField(self.u.copy())


def arrays_written_where_they_are_chosen(x):
    h = Held(x.copy())
    if x[0] > 0:
        other = Held(x * 2)
        h.u[1] += 1
        if x[1] > 0:
            h = other
    return h.u.sum()


def views_written_where_they_are_chosen(x):
    x = x.copy()
    h = Held(x[:2])
    if x[0] > 0:
        other = Held(x[:2])
        other.u[1] += 1
        if x[1] > 0:
            h = other
    return h.u.sum()


def swapped_and_written(x):
    x = x.copy()
    h = o = Held(x)
    o = Held(x)
    if x[0] > 0:
        h = o.copy()
    else:
        if x[1] > 0:
            h, o = o, h
        x[2] += 1
    return h.u.sum()


def chosen_and_copied(x):
    x = x.copy()
    h, o = HeldField(x), HeldField(x)
    if x[0] > 0:
        o = h
    if x[1] > 0:
        x[2] = 5
    else:
        o = o.copy()
    return o.u.sum()


def chosen_and_written(x):
    h, o = HeldField(x.copy()), HeldField(x * 2)
    if x[0] > 0:
        o = h
    if x[1] > 0:
        o.u[2] = 7
    else:
        o = o.copy()
    return o.u.sum()


def a_list_of_dataclasses_grows(x):
    p = D(0.0)
    rows = [p]
    if x[0] > 0:
        rows.append(1.0)
    else:
        rows.append(2.0)
    p.b += 1
    rows[0].b += 1
    return rows[0].b, p.b, rows[1]


@pytest.mark.parametrize(
    "func",
    [
        handed_on_beside_a_new_one, beside_one_that_is_replaced, within_a_new_object,
        within_one_of_two, within_one_of_a_loop, within_one_or_another_of_a_loop,
        beside_a_new_one_in_both_branches, in_a_dict, one_or_another_beside_a_new_one,
        a_list_of_dataclasses_grows, chosen_and_then_new_in_one_branch,
        swapped_and_then_new_in_one_branch, chosen_where_it_is_changed,
        chosen_into_a_list_that_grows, returned_by_a_function, turned_about_and_changed,
        swapped_in_one_branch, set_in_some_branches_only, the_best_of_those_that_are_left,
        made_anew_by_a_loop, put_in_a_list_and_made_anew,
    ],
)  # fmt: skip
def test_what_stays_in_its_place_is_the_same_object(func):
    assert_like_the_loop(func, X)


@pytest.mark.parametrize(
    "func",
    [
        a_new_one_or_it, changed_after_it_was_one_of_two, dataclasses_in_a_log, lists_in_a_log,
        appended_in_both_branches, appended_in_each_turn, appended_in_some_turns,
        changed_after_both_changed_it, changed_in_one_and_new_in_the_other,
        changed_after_a_loop_of_new_ones, of_two_lists_of_which_one_grows,
        changed_while_its_list_grows, changed_and_appended_in_each_turn,
        changed_and_appended_dataclass, of_plain_numbers, dicts_from_turn_to_turn,
        the_best_is_changed,
        asked_for_after_it_was_lost, arrays_written_where_they_are_chosen,
        views_written_where_they_are_chosen, swapped_and_written, chosen_and_copied,
        chosen_and_written,
    ],
)  # fmt: skip
def test_what_may_be_another_is_followed_or_refused(func):
    wants = [func(x) for x in X]
    try:
        got = lw.vmap(func)(X)
    except (ControlFlowError, ConcretizationError, UnsupportedError) as error:
        assert "test_objects_in_place.py:" in str(error)
    else:
        np.testing.assert_allclose(np.transpose(np.array(got, float)), np.array(wants, float))
