"""Lists of which the data say how long they are, of records that are changed in place.

Records are lists, dicts, objects of users' classes and of dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, ControlFlowError, UnsupportedError
from support.everywhere import Programs, assert_like_the_loop

RNG = np.random.default_rng(0)
A = np.sort(RNG.integers(0, 60, size=(6, 9, 2)).astype(float), axis=2)
A[4] = 7.0

PROGRAMS = Programs()
program = PROGRAMS.note


@program(A)
def merged_intervals(intervals):
    merged = []
    for start, end in intervals[np.argsort(intervals[:, 0], kind="stable")]:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return len(merged), sum(end - start for start, end in merged), merged[-1][0]


@program(A)
def intervals_by_a_variable(intervals):
    merged = []
    for start, end in intervals[np.argsort(intervals[:, 0], kind="stable")]:
        last = merged[-1] if merged else None
        if last is not None and start <= last[1]:
            last[1] = max(last[1], end)
        else:
            merged.append([start, end])
    return len(merged), sum(end - start for start, end in merged)


@program(A)
def last_of_some(intervals):
    merged = []
    for start, end in intervals[np.argsort(intervals[:, 0], kind="stable")]:
        if merged:
            last = merged[-1]
            if start <= last[1]:
                last[1] = max(last[1], end)
                continue
        merged.append([start, end])
    return len(merged), max(end for _, end in merged)


@program(A)
def dicts(intervals):
    merged = []
    for start, end in intervals[np.argsort(intervals[:, 0], kind="stable")]:
        if merged and start <= merged[-1]["end"]:
            merged[-1]["end"] = max(merged[-1]["end"], end)
            merged[-1]["count"] += 1
        else:
            merged.append({"start": start, "end": end, "count": 1})
    return len(merged), max(each["count"] for each in merged), merged[0]["end"]


@program(A)
def run_lengths(x):
    runs = []
    for v in np.sort(x[:, 0] // 10):
        if runs and runs[-1][0] == v:
            runs[-1][1] += 1
        else:
            runs.append([v, 1])
    return len(runs), max(n for _, n in runs), sum(v * n for v, n in runs)


@program(A)
def counted(x):
    found = []
    for v in x[:, 0] // 10:
        for pair in found:
            if pair[0] == v:
                pair[1] += 1
                break
        else:
            found.append([v, 1])
    return len(found), max(pair[1] for pair in found)


@program(A)
def counted_by_index(x):
    found = []
    for v in x[:, 0] // 10:
        for i in range(len(found)):
            if found[i][0] == v:
                found[i][1] += 1
                break
        else:
            found.append([v, 1])
    return len(found), sum([n for _, n in found])


@program(A)
def nearest(x):
    groups = []
    for a, b in x:
        best = None
        for each in groups:
            if abs(each[0] - a) < 9 and (best is None or abs(each[0] - a) < abs(best[0] - a)):
                best = each
        if best is None:
            groups.append([a, b, 1])
        else:
            best[2] += 1
            best[0] += (a - best[0]) / best[2]
            best[1] = best[1] + b
    return len(groups), groups[0][0], sum(total for _, total, _ in groups)


@program(A)
def numbered(x):
    groups = [[0.0, 0]]
    at = 0.0
    for v in x[:, 1]:
        if v > 30 + 5 * len(groups):
            groups.append([v, 1])
        for i, group in enumerate(groups):
            group[1] += i
            at += group[0]
    return at, groups[-1][1], groups[-1][0]


@program(A)
def an_order_book(x):
    book, filled = [], 0.0
    for price, limit in x:
        left = limit - price
        i = 0
        while i < len(book) and left > 0:
            if book[i]["price"] <= limit:
                taken = min(left, book[i]["left"])
                book[i]["left"] -= taken
                left -= taken
                filled += taken
                if book[i]["left"] == 0:
                    book.pop(i)
                    continue
            i += 1
        if left > 0:
            book.append({"price": price, "left": left})
    return filled, len(book), sum(each["left"] for each in book)


@program(A)
def popped(x):
    stack, out = [], 0
    for a, b in x:
        n = 1
        while stack and stack[-1][0] <= a:
            top = stack.pop()
            n += top[1]
        stack.append([a, n])
        stack[-1][1] += b > 50
        out += n
    return out, len(stack)


@program(A)
def several_at_once(x):
    rows = [[0.0, 1.0]]
    for a, b in x:
        if a < b - 10:
            rows.append([a, b])
        rows[0][0], rows[-1][1] = rows[-1][1], rows[0][0] + 1
        (rows[-1][0], a), b = (b, a), 0.0
        first, second = rows[0]
        rows[-1][0] += first * 0.5 + second + a + b
    return rows[0][0], rows[-1][0], len(rows)


@program(A)
def the_current_one(intervals):
    intervals = intervals[np.argsort(intervals[:, 0], kind="stable")]
    merged, current = [], list(intervals[0])
    for start, end in intervals[1:]:
        if start <= current[1]:
            current[1] = max(current[1], end)
        else:
            merged.append(current)
            current = [start, end]
    merged.append(current)
    return len(merged), sum(end - start for start, end in merged)


@program(A)
def one_that_is_looked_for_later(x):
    rows = [[x[0, 0], 0]]
    for a, b in x:
        if a > 25:
            rows.append([b, 0])
        rows[-1][1] += 1
    best = max(rows, key=lambda row: row[1])
    return best[0], sorted(rows)[0][0], rows[-1]


class Run:
    """So many of a value, one after another."""

    def __init__(self, value, count=1):
        self.value = value
        self.count = count

    def add(self, more=1, *, scale=1):
        self.count += more * scale
        return self

    def total(self):
        return self.value * self.count


@dataclass
class Interval:
    start: float
    end: float
    count: int = 1

    def widen(self, end):
        self.end = max(self.end, end)
        self.count += 1


def a_run(value):
    return Run(value, 1)


@program(A)
def runs_of_objects(x):
    runs = []
    for v in np.sort(x[:, 0] // 10):
        if runs and runs[-1].value == v:
            runs[-1].count += 1
        else:
            runs.append(Run(v))
    return len(runs), max(run.count for run in runs), sum(run.total() for run in runs)


@program(A)
def changed_by_methods(x):
    runs = [Run(0.0, 0)]
    for v in np.sort(x[:, 0] // 10):
        if runs[-1].value == v:
            runs[-1].add(2, scale=len(runs))
        else:
            runs.append(a_run(v))
    for run in runs:
        run.add()
    return len(runs), max(run.count for run in runs), runs[-1].total()


@program(A)
def intervals_of_a_dataclass(intervals):
    merged = []
    for start, end in intervals[np.argsort(intervals[:, 0], kind="stable")]:
        last = merged[-1] if merged else None
        if last is not None and start <= last.end:
            last.widen(end)
        else:
            merged.append(Interval(start, end))
    longest = max(each.end - each.start for each in merged)
    return len(merged), longest, sum(each.count for each in merged)


@program(A)
def found_objects(x):
    found = []
    for v in x[:, 0] // 10:
        known = None
        for run in found:
            if run.value == v:
                known = run
                break
        if known is None:
            found.append(Run(v))
        else:
            known.count += 1
    return len(found), max(run.count for run in found)


@program(A)
def changed_before_the_list_grows(x):
    total = 0.0
    for a, b in x:
        runs = [Run(a)]
        if b > 30:
            runs[0].count = 7
            runs.append(Run(b))
        total += sum(run.total() for run in runs)
    return total


@program(A)
def lists_within_objects_go_on(x):
    groups = []
    for v in np.sort(x[:, 1]):
        if groups and v - groups[-1][-1] < 5:
            groups[-1].append(v)
        else:
            groups.append([v])
    return len(groups), max(len(group) for group in groups), sum(p for p, *_ in groups)


@program(A)
def taken_apart(x):
    rows = []
    for a, b in x:
        row = [a]
        if b > 20:
            row.append(b)
        row.append(a + b)
        if len(row) == 3:
            rows.append(row)
    total = 0.0
    for first, _, last in rows:
        total += first * last
    return len(rows), sum(q for _, q, _ in rows), total


@program(A)
def sorted_later(x):
    rows = []
    for a, b in x:
        if rows and rows[-1][0] == a:
            rows[-1][1] += 1
        else:
            rows.append([a, 1])
        last = rows[-1]
        last[1] += b
    rows.sort(key=lambda row: -row[1])
    return rows[0][0], rows[0][1], len(rows)


@program(A)
def sorted_first(x):
    rows = [[a, b] for a, b in x if a < 40 or b < 45]
    rows.sort(key=lambda row: row[0])
    total = 0
    for row in rows:
        row[1] += total
        total += row[0]
    return sum(row[1] for row in rows), len(rows)


@program(A)
def filtered(x):
    rows = []
    for a, b in x:
        rows.append([a, b, 3])
        for row in rows:
            row[2] -= 1
        rows = [row for row in rows if row[2] > 0]
    return len(rows), sum(row[0] for row in rows)


@program(A)
def births_and_deaths(x):
    runs = []
    for a, b in x:
        if a < 40:
            runs.append(Run(a, 3))
        for run in runs:
            if run.value < b:
                run.count -= 1
        runs = [run for run in runs if run.count > 0]
    return len(runs), sum(run.value for run in runs)


@program(A)
def merged_where_they_are(x):
    rows = [[a, b] for a, b in x]
    i = 0
    while i + 1 < len(rows):
        if rows[i + 1][0] <= rows[i][1]:
            rows[i][1] = max(rows[i][1], rows[i + 1][1])
            del rows[i + 1]
        else:
            i += 1
    return len(rows), rows[0][1]


@program(A)
def named_first(x):
    rows = []
    for a, b in x:
        row = [a, 1]
        row[1] += 1
        if b > 30:
            rows.append(row)
        if rows:
            rows[-1][1] += 1
    return len(rows), sum(row[1] for row in rows)


@program(A)
def an_object_named_first(x):
    runs = []
    for a, b in x:
        run = Run(a)
        if b > 40:
            run.count = 5
        if b > 30:
            runs.append(run)
        if runs:
            runs[-1].count += 1
    return len(runs), sum(each.count for each in runs)


@program(A)
def in_two_phases(x):
    rows = []
    for a, _ in x:
        for row in rows:
            if abs(row[0] - a) < 10:
                row[1] += 1
                break
        else:
            rows.append([a, 1])
    rows = [row for row in rows if row[1] > 1]
    for row in rows:
        row[1] *= 2
    return len(rows), sum(row[1] for row in rows)


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def escaping(x):
    rows, kept = [], []
    for a, b in x:
        if a < b - 10:
            rows.append([a, b])
            kept.append(rows[-1])
            rows[-1][0] = 100.0
    return len(rows), sum(row[0] for row in kept)


def held_by_two(x):
    rows, row = [], [0.0, 0.0]
    for a, b in x:
        if a < b - 10:
            rows.append(row)
        row[0] += 1
    return sum([row[0] for row in rows])


def moved_while_held(x):
    rows = []
    for a, b in x:
        if a < b - 10:
            rows.append([a, b])
        if rows:
            last = rows[-1]
            if len(rows) > 2:
                rows.pop()
            last[0] += 1
    return len(rows), sum([row[0] for row in rows])


def given_away(x):
    def bump(row):
        row[0] += 1

    rows = []
    for a, b in x:
        if a < b - 10:
            rows.append([a, b])
        if rows:
            bump(rows[-1])
    return len(rows), sum([row[0] for row in rows])


def read_late(x):
    rows = [[0.0, 0.0]]
    seen = 0.0
    for a, b in x:
        if a < b - 10:
            rows.append([a, b])
        now = rows[0]
        rows[0][0] += a
        seen += sum(now)
        later = [now, now]
        rows[0][0] += b
        seen += later[1][0]
    return seen


class Listed:
    """Enters itself in a list."""

    def __init__(self, value, everyone):
        self.value = value
        everyone.append(self)


def entered_elsewhere(x):
    rows, everyone = [], []
    for a, b in x:
        if a < b - 10:
            rows.append(Listed(a, everyone))
            rows[-1].value += 100.0
    return len(rows), sum(row.value for row in everyone)


def returned_again(x):
    kept = Run(0.0)

    def same():
        return kept

    rows = []
    for a, b in x:
        if a < b - 10:
            rows.append(same())
            rows[-1].value += a
    return kept.value, len(rows)


class Parent:
    """Changes another object in a method."""

    def __init__(self, other):
        self.other = other
        self.count = 0

    def meet(self):
        self.count += 1
        self.other.count += 1


def changed_beyond(x):
    one = Run(1.0)
    rows = []
    for a, b in x:
        if a < b - 10:
            rows.append(Parent(one))
        if rows:
            rows[-1].meet()
    return one.count, sum(row.count for row in rows)


def more_than_fields(x):
    rows = []
    for a, b in x:
        if a < b - 10:
            rows.append(Interval(a, b))
            rows[-1].more = 1.0
        if rows:
            rows[-1].end += 1
    return len(rows), sum(row.end for row in rows), sum(row.more for row in rows)


def of_another_list(x):
    rows = [[1.0, 0.0]]
    last = rows[0]
    for a, b in x:
        if a > 30:
            rows.append([a, b])
    rows = [[5.0, 5.0]]
    last[0] += 1
    return rows[0][0], last[0]


def moved_under_it(x):
    rows = [[1.0, 0.0]]
    for a, b in x:
        last = rows[-1]
        if a > 30:
            rows.append([a, b])
        rows.reverse()
        last[0] += 1
    return rows[0][0], rows[-1][0], len(rows)


def named_and_kept(x):
    rows = []
    row = [0.0, 0.0]
    for a, b in x:
        if a > 30:
            row = [a, b]
            rows.append(row)
        row[1] += 1
        if rows:
            rows[0][0] += 1
    return sum([each[0] + each[1] for each in rows])


OTHERS_HAVE = [escaping, entered_elsewhere, returned_again, changed_beyond, more_than_fields]


@pytest.mark.parametrize(
    "func", [*OTHERS_HAVE, held_by_two, moved_while_held, given_away, read_late]
)
def test_elements_that_others_have(func):
    """They are followed as what they are, or refused."""
    wants = [func(x) for x in A]
    try:
        got = lw.vmap(func)(A)
    except (ControlFlowError, ConcretizationError, UnsupportedError) as error:
        assert "test_records.py:" in str(error)
    else:
        np.testing.assert_allclose(np.transpose(np.array(got, float)), np.array(wants, float))


@pytest.mark.parametrize("index", [-3, 2])
def test_an_index_out_of_range(index):
    def func(x):
        rows = []
        for v in x:
            if v > 0:
                rows.append([v, 1.0])
        rows[index][1] += 1
        return rows[0][1]

    assert_like_the_loop(func, np.array([[1.0, 2.0, 3.0], [3.0, -1.0, 4.0], [3.0, -1.0, -4.0]]))


@dataclass
class Span:
    start: float
    end: float
    label: int = 0

    @property
    def length(self):
        return self.end - self.start


def spans(x):
    """Return spans that are merged where they meet."""
    merged: list[Span] = []
    for v in x:
        if merged and v - merged[-1].end <= 0.4:
            merged[-1].end = max(merged[-1].end, v + 0.3)
        else:
            merged.append(Span(v, v + 0.2, len(merged) % 3))
    totals = [0.0] * 3
    for span in merged:
        totals[span.label] += span.length
    longest = max(merged, key=lambda span: span.length)
    last = min(merged, key=lambda span: -span.start)
    return len(merged), np.array(totals), longest.start, longest.label, last.end


def test_records_index_what_is_changed_and_are_chosen_by_keys():
    x = np.sort(np.random.default_rng(0).uniform(0, 9, (7, 11)), axis=1)
    assert_like_the_loop(spans, x)


def nothing_chosen(x):
    found = []
    for v in x:
        if v > 1:
            found.append(Span(v, v))
    if found:
        found[-1].end += 1.0
    best = max(found, key=lambda span: span.end)
    return best.end


def test_nothing_is_chosen_of_nothing():
    with pytest.raises(ValueError, match="empty"):
        nothing_chosen(np.zeros(3))
    assert_like_the_loop(nothing_chosen, np.array([[0.0, 0.5], [2.0, 3.0], [0.0, 4.0]]))
