"""Ranges, rows, pairs and lists at positions that are data; subscripts and attributes."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.calls import fn
from lanewise.autograph.cursors import Cursor
from lanewise.autograph.sequences import as_sequence
from lanewise.autograph.subscripts import delitem, getitem, setattr, setitem
from lanewise.errors import ConcretizationError, UnsupportedError
from support.oracle import assert_maps

INTS = np.array([0, 2, 1, -1, -3])
ROWS = np.arange(12.0).reshape(3, 4)


def at(iterable, position):
    """Return the item at a position: by the sequence in a trace, by Python's own order outside."""
    items = iterable.rest() if isinstance(iterable, Cursor) else as_sequence(iterable)
    return list(iterable)[position] if not isinstance(position, lw.Tensor) else items.at(position)


# --- ranges ---------------------------------------------------------------------------------------

BOUNDS = [(0, 5, 1), (2, 9, 3), (2, 8, 3), (9, 2, -3), (9, 3, -3), (3, 3, 1), (5, 2, 1), (0, 7, -1)]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_length_of_a_range(bounds):
    start, stop, step = bounds
    near = np.arange(-3, 4)
    assert_maps(lambda d: fn(len)(fn(range)(start, stop + d, step)), near)
    assert_maps(lambda d: fn(len)(fn(range)(start + d, stop, step)), near)
    assert_maps(lambda d: fn(len)(fn(range)(start, stop, step * d)), np.array([1, 2, 3, -1, -2]))
    assert_maps(lambda d: fn(sum)(fn(range)(start + d, stop, step)), near)
    assert_maps(lambda d: fn(len)(fn(range)(fn(int)(d) * 1)), near)


def test_elements_of_a_range():
    assert_maps(lambda n: getitem(fn(range)(n), -1), np.array([1, 5]))
    assert_maps(lambda n: getitem(fn(range)(2, n, 3), n % 2), np.array([8, 9]))
    assert_maps(lambda n: getitem(range(3, 20, 4), n), INTS)
    assert_maps(lambda n: fn(range)(n, 30).start / 2, np.array([1, 5]))
    for bad in (5, -6):
        with pytest.raises(IndexError, match="range object"):
            lw.vmap(lambda n, bad=bad: getitem(fn(range)(n), bad))(np.array([7, 5]))
    with pytest.raises(IndexError):
        lw.vmap(lambda n: getitem(range(3), n))(np.array([2, 3]))
    with pytest.raises(ValueError, match="must not be zero"):
        lw.vmap(lambda n: fn(len)(fn(range)(0, 3, n)))(np.array([1, 0]))


def test_a_range_of_data_cannot_be_unrolled():
    with pytest.raises(ConcretizationError, match="length of a range depends"):
        lw.vmap(lambda n: tuple(fn(range)(n)))(np.array([1, 2]))
    with pytest.raises(UnsupportedError, match="returns a list whose length is data"):
        lw.vmap(lambda n: list(fn(range)(n)))(np.array([1, 2]))
    assert lw.vmap(lambda n: sum(list(fn(range)(n))))(np.array([1, 2])).tolist() == [0, 1]


# --- by position ----------------------------------------------------------------------------------


def test_items_by_position():
    def items(i, row, other):
        return (
            at(row, i % 4),
            at([1.5, 2.5, 3.5, 4.5], i % 4),
            at(range(3, 30, 2), i % 4),
            at(fn(enumerate)(row, 3), i % 4),
            at(fn(zip)(row, [5, 6, 7, 8], range(9), other), i % 4),
            at(fn(reversed)(row), i % 4),
            at([(1, 2.0), (3, 4.0), (5, 6.0), (7, 8.0)], i % 4),
        )

    assert_maps(items, np.array([0, 3, 1]), ROWS, ROWS * 2)


def test_iterating_natively_unrolls():
    def everything(row):
        pairs = [i * v for i, v in fn(enumerate)(row, 1)]
        sums = [v + w for v, w in fn(zip)(row, fn(reversed)(row), strict=True)]
        return pairs, sums, fn(list)(fn(reversed)(row)), fn(len)(row)

    assert_maps(everything, ROWS)


def test_iterators_are_used_up():
    def once(row):
        pairs = fn(zip)(row, row)
        first = fn(next)(pairs)[0]
        return first, fn(len)(fn(list)(pairs)), fn(len)(fn(list)(pairs))

    assert_maps(once, ROWS)
    with pytest.raises(TypeError, match="has no len"):
        lw.vmap(lambda row: fn(len)(fn(zip)(row, row)))(ROWS)
    with pytest.raises(ValueError, match="shorter than"):
        lw.vmap(lambda row: fn(list)(fn(zip)(row, [1], strict=True)))(ROWS)


def test_the_shortest_part_ends_a_zip():
    one = np.ones(3, int)
    assert_maps(
        lambda n, i, row: at(fn(zip)(row, fn(range)(n, 99)), i), np.array([3, 4, 5]), one, ROWS
    )
    lengths = []
    lw.vmap(lambda row: lengths.append(fn(zip)(row, [1, 2]).rest().length) or row)(ROWS)
    assert lengths == [2] * len(ROWS)


# --- lists, tuples and tables at an index that is data --------------------------------------------


@pytest.mark.parametrize(
    "table",
    [[1, 2, 3], [1.5, -0.0, 2], [True, False, True], (1, 2j, 3), [np.float64(1), 2, 3.5],
     [np.ones(2), np.zeros(2), np.arange(2.0)], [(1, 2.0), (3, 4.0), (5, 6.0)], ["a", "a", "a"],
     [[1, 2], [3, 4], [5, 6]], [[[1], [2]], [[3], [4]], [[5], [6]]], np.array([7, 8, 9])],
    ids=str,
)  # fmt: skip
def test_reading(table):
    def read(i):
        found = getitem(table, i)
        if isinstance(found, str):
            return i
        if isinstance(table[0], list):
            found = getitem(getitem(found, i % 2), 0) if isinstance(table[0][0], list) else found
        return list(found) if isinstance(table[0], list) and fn(len)(table[0]) and not isinstance(
            table[0][0], list
        ) else found  # fmt: skip

    assert_maps(read, INTS)
    with pytest.raises(IndexError):
        lw.vmap(lambda i: read(i))(np.array([0, 3]))


def test_reading_gives_python_numbers():
    assert_maps(lambda i: getitem([1, 2, 3], i) / 2, INTS)
    assert_maps(lambda i: getitem([1, 2, 3], i) * np.int8(2), INTS)
    assert_maps(lambda i: getitem([0.5, 1.5, 2.5], i) * np.float32(2), INTS)
    assert_maps(lambda i: getitem([1, 2, 3], fn(int)(i * 1.0)), INTS)


def test_lists_of_data():
    def read(row, i):
        items = [row[0], 2.0, row[2] * 3]
        return getitem(items, i), getitem([[row[0], 1], [2, row[1]]], i % 2)[1]

    assert_maps(read, ROWS, np.array([0, 1, 2]))


def test_what_cannot_be_read():
    for table in (
        ["a", "b", "c"],
        [1, "b", None],
        [[1], [1, 2], [3]],
        {"a": 1},
        "abc",
        [(1,), (1, 2)],
    ):
        with pytest.raises((UnsupportedError, ConcretizationError)):
            lw.vmap(lambda i, table=table: getitem(table, i) and i)(np.array([0, 1]))
    with pytest.raises(UnsupportedError, match="sliced"):
        lw.vmap(lambda i: getitem((1, 2, 3), slice(0, i)) and i)(np.array([0, 1]))
    with pytest.raises(TypeError, match="list indices"):
        lw.vmap(lambda x: getitem([1, 2, 3], x))(np.array([0.0, 1.0]))


def test_writing():
    def write(i, v):
        items = [1.0, 2, 3.0]
        setitem(items, i, v)
        setitem(items, 0, getitem(items, 0) * 2)
        return items

    assert_maps(write, INTS, np.arange(5.0))

    def write_row(i, v):
        grid = [[1, 2], [3, 4], [5, 6]]
        row = getitem(grid, i)
        setitem(row, 1, v)
        setitem(getitem(grid, i - 1), i % 2, -v)
        return grid, list(row)

    assert_maps(write_row, np.array([0, 2, 1, -1, -2]), np.arange(5))

    def delete(i, v):
        items = [v, 2, 3]
        delitem(items, i)
        return items

    assert_maps(delete, INTS, np.arange(5))
    with pytest.raises(IndexError, match="assignment"):
        lw.vmap(lambda i: setitem([1], i, 2) or i)(np.array([0, 1]))


def test_one_list_in_two_places():
    def write(i):
        row = [1, 2]
        grid = [row, [3, 4], row]
        setitem(getitem(grid, i), 0, 9)
        return grid[0], grid[1], grid[2]

    assert_maps(write, INTS)


def test_methods_of_picked_lists():
    def use(i):
        lists = [[1], [2]]
        fn(getitem(lists, i).append)(3)
        return fn(len)(lists[0]), fn(len)(lists[1])

    assert_maps(use, np.array([0, 1]))


def test_methods_of_lists():
    def use(i, v):
        items = [1, v, 3, v]
        place, count = fn(items.index)(v), fn(items.count)(v)
        fn(items.insert)(i, 7)
        taken = fn(items.pop)(i)
        fn(items.remove)(v)
        fn(items.append)(v)
        fn(items.sort)(reverse=True)
        return place, count, taken, items

    assert_maps(use, np.array([0, 2, 1, -1, -3]), np.array([1, 2, 3, 4, 5]))
    assert_maps(lambda v: fn((1, 2, 3).index)(v), np.array([1, 3]))
    with pytest.raises(ValueError, match="not in"):
        lw.vmap(lambda v: fn([1, 2].index)(v))(np.array([1, 3]))
    with pytest.raises(IndexError, match="pop"):
        lw.vmap(lambda v: fn([1, 2].pop)(v))(np.array([1, 2]))


def test_arrays_that_are_not_traced():
    table = np.arange(6.0).reshape(3, 2)
    assert_maps(lambda i: getitem(table, i), INTS)
    assert_maps(lambda i: getitem(table, (i, 1)), INTS)
    assert_maps(lambda i: getitem(table, (slice(None), i % 2)), INTS)
    assert_maps(lambda i: fn(np.take)(table, i % 3, axis=0), INTS)
    assert_maps(lambda i: fn(table.take)(i % 3), INTS)
    assert_maps(lambda x: fn(table.dot)(x), ROWS[:, :2])
    with pytest.raises(UnsupportedError, match=r"a\.copy\(\)"):
        lw.vmap(lambda x: setitem(table, 0, x))(INTS)
    with pytest.raises(UnsupportedError, match=r"a\.copy\(\)"):
        lw.vmap(lambda x: fn(table.fill)(x))(INTS)

    def write(i, v):
        own = fn(table.copy)()
        setitem(own, i, v)
        return own

    assert_maps(write, INTS, np.arange(5.0))


def test_user_classes_answer_themselves():
    class Wave:
        def __init__(self):
            self.last = 0.0

        def __getitem__(self, k):
            return np.sin(k) + self.last

        def __setitem__(self, k, v):
            self.last = k * v

        @property
        def half(self):
            return self.last / 2

        @half.setter
        def half(self, v):
            self.last = fn(max)(2 * v, 1.0)

    def use(x):
        wave = Wave()
        setitem(wave, x, 2.0)
        first = getitem(wave, x)
        setattr(wave, "half", x)
        return first, wave.half

    assert_maps(use, np.array([-1.0, 0.25, 3.0]))


def test_plain_data_are_handed_on():
    def plain(x):
        items, table = [1, 2, 3], {"a": 1}
        setitem(items, slice(0, 2), [7])
        setitem(table, "b", x)
        delitem(table, "a")
        delitem(items, 0)
        assert items == [3] and list(table) == ["b"]
        assert getitem("abc", 1) == "b" and getitem(items, slice(None)) == [3]
        assert getitem((1, 2), -1) == 2 and getitem({(1, 2): 3}, (1, 2)) == 3
        return table["b"]

    assert_maps(plain, INTS)
