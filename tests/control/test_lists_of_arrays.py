"""Lists of arrays, of which elements may be one array: written to, that shows in all of them."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError
from support.everywhere import assert_like_the_loop

#: Of a loop of few turns each is recorded.
BATCHES = {n: np.linspace(-1, 2, 2 * n).reshape(2, n) for n in (6, 30)}
PROGRAMS = []


def program(func):
    """Note a function that is compared with the loop."""
    PROGRAMS.append(func)
    return func


@program
def one_array_each_turn(x):
    y = np.array([1.0, 2.0])
    rows = [np.zeros(2)]
    for _ in x:
        rows.append(y)
    rows[-1][1] = 7.0
    return np.array(rows)


@program
def written_before_it_is_appended(x):
    y = np.array([1.0, 2.0])
    rows = [np.zeros(2)]
    for v in x:
        rows[-1][1] = v
        rows.append(y)
    return np.array(rows)


@program
def one_array_in_some_turns(x):
    y = np.array([1.0, 2.0])
    rows = [np.zeros(2)]
    for v in x:
        rows.append(y)
        if v > 0:
            y = y + v
    rows[-1][1] = 7.0
    return np.array(rows)


@program
def one_array_in_two_turns(x):
    y = np.array([1.0, 2.0])
    rows = [np.zeros(2)]
    for v in x:
        rows.append(y)
        y = y + v
        rows.append(y)
    rows[-2][1] = 7.0
    return np.array(rows)


@program
def its_own_last(x):
    rows = [np.zeros(2)]
    for _ in x:
        rows.append(rows[-1])
    rows[-2][1] = 7.0
    return np.array(rows)


@program
def its_own_last_written_in_the_loop(x):
    rows = [np.zeros(2)]
    for v in x:
        rows.append(rows[-1])
        rows[-1][0] += v
    return np.array(rows)


@program
def its_own_last_again(x):
    rows = [np.zeros(2)]
    for v in x:
        rows.append(rows[-1] + v)
        rows.append(rows[-1])
    rows[3][0] = 7
    return np.array(rows)


@program
def written_in_the_next_loop(x):
    rows = [np.zeros(2)]
    for v in x:
        y = rows[-1] + v
        rows.append(y)
        rows.append(y)
    for v in x:
        rows[2] += v
    return np.array(rows)


@program
def swapped(x):
    y = np.zeros(2)
    z = np.ones(2)
    rows = [y]
    for v in x:
        y = y + v
        y, z = (z, y)
        rows.append(y)
    rows[-1][0] = 3
    rows[-3] *= 3
    return np.array(rows)


@program
def an_element_of_before(x):
    rows = []
    for v in x:
        rows.append(np.array([v, 2 * v]))
    r = rows[4]
    for _ in x:
        rows.append(r)
    r[0] = 5.0
    return np.array(rows)


@program
def an_element_written(x):
    rows = []
    for v in x:
        rows.append(np.array([v, 2 * v]))
    r = rows[4]
    r[0] = 5.0
    for v in x:
        rows.append(r + v)
    r[1] = 6.0
    rows[2][0] = r[0]
    return (np.array(rows), r)


@program
def an_element_of_a_part(x):
    rows = []
    for v in x:
        rows.append(np.array([v, 2 * v]))
    other = rows[1:4]
    other[0][0] = 5.0
    rows[2][0] = 6
    for _ in x:
        rows.append(other[0])
    rows[-1][1] = 8
    return (np.array(rows), np.array(other))


@program
def views_of_one_array(x):
    rows = [x[:2], x[:2]]
    for v in x:
        rows.append(np.array([v, 2 * v]))
    rows[0][0] = 5.0
    return np.array(rows)


@program
def windows_written(x):
    x = x.copy()
    rows = []
    for i in range(len(x) - 2):
        rows.append(x[i : i + 2])
    rows[0][1] = 5.0
    return (np.array(rows), x)


@program
def windows_of_what_is_written(x):
    x = x.copy()
    rows = []
    for i in range(len(x) - 2):
        rows.append(x[i : i + 2])
    x[1] = 5.0
    return (np.array(rows), x)


@program
def in_tuples(x):
    pairs = []
    y = np.zeros(2)
    for v in x:
        pairs.append((v, y))
    pairs[-1][1][0] = 3.0
    return (np.array([p[1] for p in pairs]), y)


@program
def never_written(x):
    y = np.array([1.0, 2.0])
    rows = [y, y]
    for v in x:
        rows.append(y)
        rows.append(rows[-1])
        y = y + v
    return (np.array(rows), rows[0], np.mean(rows, axis=0))


@program
def each_its_own(x):
    rows = []
    for v in x:
        rows.append(np.array([v, 2 * v]))
    rows[-1][0] = 7.0
    rows[2] += 1
    row = rows[3]
    row[1] = -1
    rows[1] = row.copy()
    return np.array(rows)


#: Those of which a loop of many turns is refused, where an array is written to that may be several.
REFUSED = frozenset((
    "one_array_in_some_turns", "written_in_the_next_loop", "swapped", "windows_written",
    "windows_of_what_is_written", "in_tuples",
))  # fmt: skip


@pytest.mark.parametrize("turns", BATCHES)
@pytest.mark.parametrize("func", PROGRAMS)
def test_is_like_the_loop(func, turns):
    if turns > 6 and func.__name__ in REFUSED:
        with pytest.raises(ControlFlowError, match=r"test_lists_of_arrays\.py:.*Assign a copy"):
            lw.function(func)(BATCHES[turns][0])
    else:
        assert_like_the_loop(func, BATCHES[turns])
