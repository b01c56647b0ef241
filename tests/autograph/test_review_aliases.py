"""Arrays that are reached by several names, entries or attributes, where branches and loops join.

Each program gives what the loop over examples gives, or is refused by name: never something else.
"""

# ruff: noqa: SIM102 -- nested branches are what is tested

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError
from support.control_flow_oracle import assert_follows

ROWS = (np.arange(96).reshape(6, 4, 4) * 37) % 11 - 5
K = np.array([0, 3, -1, 2, 1, 3])
REFUSED = r"an array that .* was once is used|may be \(a view of\)"


class Holder:
    pass


@dataclasses.dataclass
class Pair:
    x: object
    y: object


# --- followed -------------------------------------------------------------------------------------


def a_view_or_none(a, k):
    row = None
    if k > 1:
        row = a[0]
    if row is None:
        return 1000
    return row.sum()


def the_last_row_or_none(a, k):
    found = None
    for row in a:
        if row[0] > k:
            found = row
    return 1000 if found is None else found.sum()


def a_view_or_none_of_a_loop(a, k):
    row, i = None, 0
    while i < 4:
        if a[i, 0] > k:
            row = a[i]
        i += 1
    return 1000 if row is None else row.sum()


def an_entry_becomes_a_view_of_what_changed(a, k):
    entries = [a[1]]
    if k > 0:
        a[0] += 1
        entries[0] = a[0]
    return entries[0].sum()


def swapped_before_the_write(a, k):
    x, y, i = a[0].copy(), a[1].copy(), 0
    while i < k:
        x, y = y, x
        x[i] += 1
        i += 1
    return x, y


def two_rows_of_a_table(a, k):
    previous, current, i = a[0].copy(), np.zeros(4, int), 0
    while i < k:
        current[0] = previous[-1]
        for j in range(1, 4):
            current[j] = previous[j - 1] + current[j - 1] // 2
        previous, current = current, previous
        i += 1
    return previous, current


def two_rows_of_a_long_loop(a, k):
    p, q = a[0].copy(), a[1].copy()
    for i in range(20):
        q[0] = p[1] + i
        q[1:] = p[:3] % 97
        p, q = q, p
    return p, q


def two_attributes_of_a_long_loop(a, k):
    o = Holder()
    o.p, o.q = a[0].copy(), a[1].copy()
    for i in range(20):
        o.q[0] = o.p[1] + i
        o.q[1:] = o.p[:3] % 97
        o.p, o.q = o.q, o.p
    return o.p, o.q


def an_entry_is_another_view_each_turn(a, k):
    d = {"row": a[0]}
    for i in range(20):
        d["row"] = a[i % 4]
        d["row"][0] += i
    return a, d["row"]


def part_of_a_length_that_is_data(a, k):
    part = a[0][1 : abs(k)]
    for i in range(4):
        if i < k:
            part = a[i][1 : abs(k)]
    return part.sum()


def a_field(a, k):
    pair = Pair(a[0], a[1])
    if k > 0:
        pair = Pair(a[1], a[2])
    pair.x[0] = 8
    return a


def a_rotated_deque(a, k):
    rows = collections.deque([a[0], a[1], a[2]])
    if k > 0:
        rows.rotate(1)
    rows[0][0] = 5
    return a


def an_entry_read(a, k):
    entries = [a[0]]
    if k > 0:
        entries[0] = entries[0] * 3
    a[0] += 1
    return entries[0]


def an_entry_written(a, k):
    entries = [a[0]]
    if k > 0:
        entries[0] = a[1]
    entries[0] += 1
    return a


def a_reversed_list(a, k):
    rows = [a[0], a[1]]
    if k > 0:
        rows.reverse()
    rows[0][0] = 9
    return a


def a_view_of_an_array_made_inside(a, k):
    z = np.zeros((3, 4))
    rows = [z[0]]
    if k > 0:
        rows[0] = z[1]
    rows[0][0] = 5
    return z


def an_attribute(a, k):
    o = Holder()
    o.row = a[0]
    if k > 0:
        o.row = a[1]
    o.row[0] = 77
    return a


def an_attribute_for_a_copy(a, k):
    o = Holder()
    o.x = a[0].copy()
    o.y = o.x
    if k > 0:
        o.y = o.x * 2
    o.x[0] = 3
    return o.y


def a_nonlocal_variable(a, k):
    row = a[0]

    def choose():
        nonlocal row
        if k > 0:
            row = a[1]

    choose()
    row[0] = 77
    return a


def a_variable_of_one_side(a, k):
    if k > 0:
        row = a[0]
    a[0] = 0
    if k > 0:
        return row.sum()
    return 0


def a_variable_of_one_side_written(a, k):
    if k > 0:
        row = a[0]
    if k > 0:
        row[0] = 77
    return a


def a_row_or_none_written(a, k):
    row = None
    if k > 0:
        row = a[0]
    if row is not None:
        row[0] = 77
    return a


def a_choice_of_a_choice(a, k):
    x = a[0] if k > 0 else a[1]
    y = x if k > 1 else x * 2
    a[0] = 0
    a[1] = 0
    return y


def a_part_read(a, k):
    row = a[0]
    part = row[: abs(k)]
    if k > 2:
        part = part * 2
    row[0] = 99
    return part.sum()


def bound_under_two_ifs(a, k):
    if k < 5:
        if k != 1:
            w = a[0]
    if k != 1:
        w[0] = 0
    return a


def bound_before_and_under_two_ifs(a, k):
    w = np.zeros(4, int)
    if k < 5:
        if k != 1:
            w = a[0]
    w[0] = 9
    return a, w


def read_after_two_ifs(a, k):
    w = a[1]
    if k < 5:
        if k != 1:
            w = a[0]
    a[0] = 0
    a[1, 0] += 1
    return w


def bound_in_a_loop_under_an_if(a, k):
    w = a[1]
    if k < 3:
        for i in range(3):
            if k != i:
                w = a[i]
    w[0] = 99
    return a


def in_a_list_under_two_ifs(a, k):
    w = [a[0], 1]
    if k > 0:
        if k != 2:
            w = [a[1], 1]
    w[0][0] = 99
    return a


def through_a_helper(a, k):
    def choose(v):
        if k != 1:
            return v
        return v.copy()

    w = np.zeros(4, int)
    if k < 5:
        w = choose(a[0])
    w[0] = 99
    return a


def nested_conditional_expressions(a, k):
    w = (a[0] if k != 1 else np.zeros(4, int)) if k < 3 else a[1]
    w[0] = 99
    w[1:][0] -= 1
    return a, w


def two_names_of_an_array_made_in_a_branch(a, k):
    x, y = a[0], a[1]
    if k > 0:
        z = a[2] * 2
        x, y = z, z[::-1]
    x[0] = 99
    y[1] = 77
    x[2] += y[3]
    return a, x, y


def a_row_at_data(a, k):
    w = a[0]
    if k >= 0:
        w = a[k]
    w[0] = 99
    a[1] += 1
    return a, w


def views_of_a_joined_array(a, k):
    w = a[0] if k > 0 else a[1]
    part = w[1:]
    flipped = w[::-1]
    part[0] = 99
    flipped[0] += 5
    a[0, 1] -= 1
    return a, part, flipped


def written_in_many_ways(a, k):
    w = a[0] if k > 0 else a[1]
    np.copyto(w, k, where=w > 0)
    np.add(w, 1, out=w)
    np.add.at(w, [0, 0], k)
    w.sort()
    w[1:3] = [8, 9]
    w -= a[2]
    return a


def written_in_a_later_branch_and_loop(a, k):
    w = a[0] if k > 0 else a[1]
    if k != 2:
        w[0] = 99
    i = 0
    while i < k:
        w[i % 4] += i
        a[1, 0] += w[1]
        i += 1
    return a, w


def an_entry_that_one_branch_leaves(a, k):
    entries = [a[0]]
    if k > 0:
        a[0, 0] += 1
    else:
        entries[0] = a[1]
    return entries[0]


def views_at_data_read_within_a_loop(a, k):
    w, i, total = a[k % 2], 0, 0
    a[0, 1] = 2
    while i < k:
        i += 1
        total += w.sum()
    w[-1] += 1
    return a, total


def a_last_row_or_none_again(a, k):
    found = None
    for row in a:
        if row[0] > k:
            found = row
    if found is not None:
        found[1] = 99
    return a


@pytest.mark.parametrize(
    "program",
    [
        a_view_or_none,
        the_last_row_or_none,
        a_view_or_none_of_a_loop,
        an_entry_becomes_a_view_of_what_changed,
        swapped_before_the_write,
        two_rows_of_a_table,
        two_rows_of_a_long_loop,
        two_attributes_of_a_long_loop,
        an_entry_is_another_view_each_turn,
        part_of_a_length_that_is_data,
        a_field,
        a_rotated_deque,
        an_entry_read,
        an_entry_written,
        a_reversed_list,
        a_view_of_an_array_made_inside,
        an_attribute,
        an_attribute_for_a_copy,
        a_nonlocal_variable,
        a_variable_of_one_side,
        a_variable_of_one_side_written,
        a_row_or_none_written,
        a_choice_of_a_choice,
        a_part_read,
        bound_under_two_ifs,
        bound_before_and_under_two_ifs,
        read_after_two_ifs,
        bound_in_a_loop_under_an_if,
        in_a_list_under_two_ifs,
        through_a_helper,
        nested_conditional_expressions,
        two_names_of_an_array_made_in_a_branch,
        a_row_at_data,
        views_of_a_joined_array,
        written_in_many_ways,
        written_in_a_later_branch_and_loop,
        an_entry_that_one_branch_leaves,
        views_at_data_read_within_a_loop,
        a_last_row_or_none_again,
    ],
    ids=lambda program: program.__name__,
)
def test_followed(program):
    for repeats in (1, 9):
        assert_follows(program, np.tile(ROWS, (repeats, 1, 1)), np.tile(K, repeats))


# --- refused --------------------------------------------------------------------------------------


def an_attribute_of_a_loop(a, k):
    o = Holder()
    o.current, i = a[0], 0
    while i < k:
        o.current = a[i]
        i += 1
    o.current[1] = 5
    return a


def what_is_carried_was_a_view(a, k):
    row, i = a[0], 0
    while i < k:
        a[0] += 1
        if i == 1:
            row = row * 3
        i += 1
    return row


def what_is_carried_has_two_names(a, k):
    p = a[0].copy()
    q, i = p, 0
    while i < k:
        p[0] += 1
        if i == 1:
            q = q * 2
        i += 1
    return p, q


def an_entry_that_is_carried_was_a_view(a, k):
    rows, i = [a[0]], 0
    while i < k:
        a[0] += 1
        if i == 1:
            rows[0] = rows[0] * 3
        i += 1
    return rows[0]


def a_part_written(a, k):
    row = a[0]
    part = row[: abs(k)] if k > 0 else row[1 : abs(k) + 1]
    part[...] = 5
    return a


@pytest.mark.parametrize(
    "program",
    [
        an_attribute_of_a_loop,
        what_is_carried_was_a_view,
        what_is_carried_has_two_names,
        an_entry_that_is_carried_was_a_view,
        a_part_written,
    ],
    ids=lambda program: program.__name__,
)
def test_refused(program):
    with pytest.raises(ControlFlowError, match=REFUSED):
        lw.vmap(program)(ROWS, K)


# --- containers that a variable may be ------------------------------------------------------------


@dataclasses.dataclass
class Spot:
    x: float
    y: float


def changed_row(a, c):
    rows = [[a, 1.0], [2.0, a]]
    row = rows[1] if c else rows[0]
    row[0] = 7.0
    return rows[0][0] + rows[1][0]


def appended_row(a, c):
    rows = [[a, 1.0], [2.0, a]]
    row = rows[1] if c else rows[0]
    row.append(7.0)
    return rows[0][0] + rows[1][0]


def changed_original(a, c):
    rows = [[a, 1.0], [2.0, a]]
    row = rows[1] if c else rows[0]
    rows[0][0] = 9.0
    return row[0]


def extended_in_a_branch(a, c):
    rows = {"p": [a, 1.0], "q": [2.0, a]}
    row = rows["p"] if c else rows["q"]
    if a > 1:
        row += [2.0]
    else:
        row += [3.0]
    return sum(rows["p"])


@pytest.mark.parametrize(
    "func", [changed_row, appended_row, changed_original, extended_in_a_branch]
)
def test_containers_that_may_be_one_of_several_are_not_changed(func):
    with pytest.raises(lw.ControlFlowError, match="as the data decide"):
        lw.vmap(func)(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))


def read_row(a, c):
    rows = [[a, 1.0], [2.0, a]]
    row = rows[1] if c else rows[0]
    return row[0] + row[1]


def changed_where_the_data_decide(a, c):
    p, q = Spot(a, 1.0), Spot(2.0, a)
    if c:
        p.y += 5
    else:
        q.y += 5
    return p.y + q.y


def made_in_the_branches(a, c):
    row = [a, 2.0] if c else [1.0, a]
    row[0] += 1
    row.append(a)
    return sum(row)


@pytest.mark.parametrize("func", [read_row, changed_where_the_data_decide, made_in_the_branches])
def test_containers_of_ones_own(func):
    assert_follows(func, np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))


def test_an_array_made_inside_that_is_read_before_it_is_one_of_several():
    def f(a, k):
        z = np.zeros(3)
        t = z[k % 3]
        a += 1
        row = z if k > 1 else a
        row[0] = 5.0
        return t + z.sum()

    for k in (0, 2):
        ours, theirs = np.ones(3), np.ones(3)
        assert lw.function(f)(ours, np.int64(k)) == f(theirs, np.int64(k))
        np.testing.assert_array_equal(ours, theirs)
