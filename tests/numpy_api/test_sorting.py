"""Sorting, searching, membership and picking by a condition."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import DataDependentShapeError
from support.oracle import assert_maps, assert_maps_everywhere
from support.pairing import in_turn

RNG = np.random.default_rng(0)
X = RNG.choice([0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf, 3.0], (3, 4, 5))
ARRAYS = {
    "f8": X,
    "f4": RNG.normal(size=(3, 4, 5)).astype(np.float32),
    "f2": RNG.normal(size=(3, 4, 5)).astype(np.float16),
    "i1": RNG.integers(-5, 5, (3, 4, 5)).astype(np.int8),
    "i8": RNG.integers(-5, 5, (3, 4, 5)),
    "u8": RNG.integers(0, 5, (3, 4, 5)).astype(np.uint64),
    "bool": RNG.random((3, 4, 5)) < 0.5,
    "c16": X + 1j * RNG.choice([0.0, 1.0, -1.0, np.nan], X.shape),
}


def in_place(change):
    def func(x):
        y = x.copy()
        change(y)
        return y

    return func


PLAIN = {
    "sort": np.sort,
    "sort-axis": lambda x: np.sort(x, axis=0, kind="stable"),
    "sort-none": lambda x: np.sort(x, axis=None),
    "sort-stable": lambda x: np.sort(x, stable=True),
    "sort-heap": lambda x: np.sort(x, kind="heapsort", stable=None),
    "sort-method": in_place(lambda y: y.sort()),
    "sort-method-axis": in_place(lambda y: y.sort(0, kind="stable")),
    "sort-view": in_place(lambda y: y[1].sort()),
    "argsort": lambda x: np.argsort(x, kind="stable"),
    "argsort-axis": lambda x: np.argsort(x, axis=0, stable=True),
    "argsort-none": lambda x: np.argsort(x, axis=None, kind="stable"),
    "argsort-method": lambda x: x.argsort(-1, "stable"),
    "argsort-scalar": lambda x: np.argsort(x[0, 0]),
    "partition": lambda x: np.partition(x, 2)[:, 2],
    "partition-negative": lambda x: np.partition(x, -1, axis=0)[-1],
    "partition-several": lambda x: np.partition(x, (1, 3), axis=None)[[1, 3]],
    "partition-array": lambda x: np.partition(x, np.array([0, 2]), kind="introselect")[:, :3:2],
    # (in which order the lesser elements are left is nobody's promise)
    "partition-method": in_place(lambda y: (y.partition(4), y[:, :4].sort())),
    "argpartition": lambda x: np.take_along_axis(x, np.argpartition(x, 2), -1)[:, 2],
    "argpartition-axis": lambda x: np.take_along_axis(x, np.argpartition(x, 1, axis=0), 0)[1],
    "argpartition-none": lambda x: x.ravel()[np.argpartition(x, 3, axis=None)][3],
    "lexsort": np.lexsort,
    "lexsort-keys": lambda x: np.lexsort((x[0], x[1], x[2])),
    "lexsort-axis": lambda x: np.lexsort((x, x[::-1]), axis=0),
    "lexsort-static": lambda x: np.lexsort((x[0], [1, 0, 1, 0, 1])),
    "lexsort-scalars": lambda x: np.lexsort((x[0, 0], x[0, 1])),
    "sort_complex": np.sort_complex,
    "isin": lambda x: np.isin(x, [0, 1.5, 3]),
    "isin-many": lambda x: np.isin(x, np.arange(-20, 20) * 0.5),
    "isin-traced": lambda x: np.isin(x, x[0]),
    "isin-traced-many": lambda x: np.isin(x, np.concatenate([x[0], x[2], x[2], x[2]])),
    "isin-element": lambda x: np.isin(np.arange(5), x, invert=True),
    "isin-empty": lambda x: x == x if np.isin(x, []) is None else np.isin(x, [], invert=True),
    "isin-scalar": lambda x: np.isin(x[0, 0], x[1], assume_unique=True),
    "compress": lambda x: np.compress([True, False, True], x, axis=0),
    "compress-flat": lambda x: np.compress(np.arange(20) % 3 == 0, x),
    "compress-method": lambda x: x.compress([0, 1, 0, 1, 1], axis=-1),
    "extract": lambda x: np.extract(np.eye(4, 5), x),
}


@pytest.mark.parametrize(("name", "dtype"), in_turn(PLAIN, ARRAYS))
def test_plain(name, dtype):
    assert_maps(PLAIN[name], ARRAYS[dtype])


EVERYWHERE = ["sort-axis", "argsort-axis", "partition-negative", "argpartition-axis",
              "lexsort-axis", "isin-traced", "isin-traced-many", "compress"]  # fmt: skip


@pytest.mark.parametrize("name", EVERYWHERE)
def test_everywhere(name):
    assert_maps_everywhere(PLAIN[name], ARRAYS["f4"])


@pytest.mark.parametrize("name", ["sort", "sort-none", "argsort-axis", "sort_complex"])
@pytest.mark.parametrize("shape", [(3, 0, 2), (3, 2, 0), (3, 1, 1)])
def test_empty_and_single(name, shape):
    assert_maps(PLAIN[name], np.ones(shape))


def test_integers_in_a_table():
    x = ARRAYS["i8"]
    assert_maps(lambda x: np.isin(x, [1, 2, -3], kind="table"), x)
    assert_maps(lambda x: np.isin(x, [1, 2, -3], kind="sort", assume_unique=True), x)


def tables(char, size):
    """Return four sorted tables of that size, and what to search for."""
    if char == "D":
        parts = RNG.choice([0.0, 1.0, np.nan, np.inf], (2, 4, size + 6))
        values = parts[0] + 1j * parts[1]
    elif char in "efd":
        values = RNG.choice([-np.inf, -0.0, 0.0, 1.0, 2.5, np.nan, np.inf], (4, size + 6))
    elif char == "?":
        values = RNG.random((4, size + 6)) < 0.5
    else:
        values = RNG.integers(0, 9, (4, size + 6))
    values = values.astype(char)
    return np.sort(values[:, :size], axis=1), values[:, size:].reshape(4, 2, 3)


@pytest.mark.parametrize("char", "?bQefdD")
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(char, side):
    for size in (0, 1, 2, 3, 4, 7, 8, 9):
        table, values = tables(char, size)
        func = lambda a, v: np.searchsorted(a, v, side)  # noqa: E731
        assert_maps(func, table, values)
        assert_maps(func, table[0], values, in_dims=(None, 0))
        assert_maps(func, table, values[0], in_dims=(0, None))


def test_searchsorted_everywhere():
    table, values = tables("d", 5)
    assert_maps_everywhere(lambda a, v: np.searchsorted(a, v, side="right"), table, values)


def test_searchsorted_dtypes_and_forms():
    table = np.sort(RNG.normal(size=(3, 6)).astype(np.float32))
    unsorted = RNG.integers(0, 99, (3, 6))
    assert_maps(lambda a: np.searchsorted(a, 0.1), table)
    assert_maps(lambda a: np.searchsorted(a, 1), table)
    assert_maps(lambda a: np.searchsorted(a, [[0, 1], [2, -1]]), table)
    assert_maps(lambda a: a.searchsorted([0.5], side="right"), table)
    assert_maps(lambda a: np.searchsorted(np.arange(-2, 3), a), table)
    assert_maps(lambda a: np.searchsorted([-1, 0, 1], a, sorter=[0, 1, 2]), table)
    assert_maps(lambda a: np.searchsorted(a, 50, sorter=np.argsort(a)), unsorted)
    assert_maps(lambda a: np.searchsorted(a, a[:2], "right", np.argsort(a)), unsorted)
    assert_maps(lambda a, v: np.searchsorted(a, v), np.sort(unsorted.astype(np.uint64)), unsorted)


def test_a_table_for_each_example_needs_no_loop():
    table, values = tables("d", 9)
    lw.vmap(lambda a, v: np.searchsorted(a, v))(table, values)
    nested = lw.vmap(lw.vmap(lambda a, v: np.searchsorted(a, v), in_dims=(None, 0)))
    got = nested(table, values)
    for i in range(4):
        np.testing.assert_array_equal(got[i], np.searchsorted(table[i], values[i]))


ERRORS = {
    "sort-axis": (lambda x: np.sort(x, axis=2), np.exceptions.AxisError),
    "sort-scalar": (lambda x: np.sort(x[0, 0]), np.exceptions.AxisError),
    "sort-kind": (lambda x: np.sort(x, kind="x"), ValueError),
    "sort-order": (lambda x: np.sort(x, order="x"), ValueError),
    "sort-both": (lambda x: np.sort(x, kind="stable", stable=True), ValueError),
    "argsort-scalar": (lambda x: np.argsort(x[0, 0], axis=1), np.exceptions.AxisError),
    "partition-range": (lambda x: np.partition(x, 9), ValueError),
    "partition-float": (lambda x: np.partition(x, 1.0), TypeError),
    "partition-bool": (lambda x: np.partition(x, True), ValueError),
    "partition-kind": (lambda x: np.partition(x, 1, kind="x"), ValueError),
    "argpartition-deep": (lambda x: np.argpartition(x, [[1]]), ValueError),
    "lexsort-none": (lambda x: np.lexsort(x[:0]), TypeError),
    "lexsort-shapes": (lambda x: np.lexsort((x[0], x[0, :2])), ValueError),
    "searchsorted-side": (lambda x: np.searchsorted(x[0], 1, side="x"), ValueError),
    "searchsorted-deep": (lambda x: np.searchsorted(x, 1), ValueError),
    "searchsorted-scalar": (lambda x: np.searchsorted(x[0, 0], 1), ValueError),
    "sorter-floats": (lambda x: np.searchsorted(x[0], 1, sorter=np.zeros(5)), TypeError),
    "sorter-size": (lambda x: np.searchsorted(x[0], 1, sorter=[0, 1]), ValueError),
    "sorter-range": (lambda x: np.searchsorted(x[0], 1, sorter=[-1] * 5), ValueError),
    "sorter-traced": (
        lambda x: np.searchsorted(x[0], 1, sorter=np.argsort(x[0]) - 9), ValueError,
    ),
    "isin-kind": (lambda x: np.isin(x, [1], kind="x"), ValueError),
    "isin-table": (lambda x: np.isin(x, [1], kind="table"), ValueError),
    "compress-range": (lambda x: np.compress([0, 0, 0, 0, 1], x, axis=0), IndexError),
    "compress-deep": (lambda x: np.compress([[True]], x), ValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    func, error = ERRORS[name]
    with pytest.raises(error):
        func(ARRAYS["f4"][0].copy())
    with pytest.raises(error):
        lw.vmap(func)(ARRAYS["f4"])


REFUSED = {
    "nonzero": (np.nonzero, "np.where"),
    "nonzero-method": (lambda x: x.nonzero(), "np.where"),
    "argwhere": (np.argwhere, "np.where"),
    "flatnonzero": (np.flatnonzero, "np.where"),
    "unique": (np.unique, "np.sort"),
    "unique_all": (np.unique_all, "np.sort"),
    "unique_counts": (np.unique_counts, "np.bincount"),
    "unique_inverse": (lambda x: np.unique_inverse(x).values, "np.sort"),
    "unique_values": (np.unique_values, "np.sort"),
    "union1d": (lambda x: np.union1d(x[0], x[1]), "np.sort"),
    "setxor1d": (lambda x: np.setxor1d(x[0], x[1]), "np.where"),
    "intersect1d": (lambda x: np.intersect1d(x[0], x[1]), "np.where"),
    "setdiff1d": (lambda x: np.setdiff1d(x[0], x[1]), "np.where"),
    "trim_zeros": (lambda x: np.trim_zeros(x[0]), "np.where"),
    "compress": (lambda x: np.compress(x[0] > 0, x, axis=1), "np.where"),
    "extract": (lambda x: np.extract(x > 0, x), "np.where"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_shapes_that_are_data_are_refused(name):
    func, instead = REFUSED[name]
    with pytest.raises(DataDependentShapeError, match=rf"(?s)depend.* on the data.*{instead}"):
        batch = ARRAYS["f4"].copy()
        batch[1], batch[2] = 1, 0  # of other lengths than the first
        lw.vmap(func)(batch)


def test_traced_places_are_refused():
    with pytest.raises(TypeError, match=r"places kth that are not traced.*sort instead"):
        lw.vmap(lambda x, k: np.partition(x, k))(ARRAYS["f4"], np.array([1, 2, 0]))
