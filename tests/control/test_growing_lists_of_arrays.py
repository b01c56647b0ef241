"""Lists to which arrays are appended as the data say."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support.everywhere import Programs, assert_like_the_loop

RNG = np.random.default_rng(7)
A = RNG.normal(size=(6, 9))
A[:, 0] = 1 + np.abs(A[:, 0])
PROGRAMS = Programs()
program = PROGRAMS.note


@program(A)
def trajectory(x):
    y = x[:3].copy()
    path = [y]
    while np.abs(y).sum() > 0.5 and len(path) < 20:
        y = y * 0.7
        path.append(y)
    table = np.array(path)
    return table[-1], len(path), table.sum(axis=0), np.max(path, axis=0), table.shape[1]


@program(A)
def halving(x):
    points = [x[:2], x[1:3]]
    while np.abs(points[-1] - points[-2]).max() > 1e-2 and len(points) < 30:
        points.append((points[-1] + points[-2]) / 2)
    return points[-1], len(points), points[0]


@program(A)
def rows_that_are_kept(x):
    rows, total = [], np.zeros(2)
    for i in range(6):
        if x[i] > 0:
            rows.append(x[i : i + 2])
    for row in rows:
        total = total + row
    doubled = [row * 2 for row in rows if row[0] > 0.5]
    return (
        total,
        sum(rows),
        np.mean(rows, axis=0),
        len(doubled),
        doubled[-1],
        np.array(rows)[:, 0].max(),
    )


@program(A)
def written_before(x):
    rows = []
    for v in x:
        row = np.zeros(2)
        if v > 0:
            row[0] = v
            rows.append(row)
    return rows[-1], sum(rows)


@program(A)
def pairs(x):
    found = []
    for i in range(6):
        if x[i] > 0:
            found.append((x[i], x[i : i + 2]))
    found[0] = (x[1], x[:2])
    return found[0][1], sum(value for value, _ in found), found[-1][0]


@program(A)
def put_in_order(x):
    rows = []
    for i in range(6):
        if x[i] > 0:
            rows.append(x[i : i + 2])
    rows.insert(0, x[2:4])
    rows.sort(key=lambda row: row[1])
    last = rows.pop()
    rows.append(last * 2)
    return last, sorted(rows, key=lambda row: -row[0])[0], len(rows)


@program(A)
def copies(x):
    y = x[:2].copy()
    path = []
    while y.sum() < 4:
        y += 1
        path.append(y.copy())
    return len(path), y


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


# --- what is refused: an element shows what is written to it later --------------------------------


def later(x):
    rows, y = [], x[:2] + 1
    for v in x:
        if v > 0:
            rows.append(y)
    y[0] = 7
    return rows[0]


def under_another_name(x):
    rows, y = [], x[:2] + 1
    z = y
    for v in x:
        if v > 0:
            rows.append(y)
            y = y + v
    z[0] = 7
    return rows[0]


def next_turn(x):
    y, path = x[:3].copy(), []
    while y.sum() > 0.1 and len(path) < 20:
        y *= 0.7
        path.append(y)
    return path[0]


def one_buffer(x):
    buffer, rows = np.zeros(2), []
    for v in x:
        buffer[0] = v
        if v > 0:
            rows.append(buffer)
    return rows[0]


def one_buffer_in_the_branch(x):
    buffer, rows = np.zeros(2), []
    for v in x:
        if v > 0:
            buffer[0] = v
            rows.append(buffer[:1])
    return rows[0]


def after_the_append(x):
    rows = []
    for v in x:
        if v > 0:
            row = np.zeros(2)
            rows.append(row)
            row[0] = v
    return rows[0]


def to_an_element(x):
    rows = []
    for v in x:
        if v > 0:
            rows.append(x[:2] * v)
    rows[0][0] = 5
    return rows[0]


def while_going_through(x):
    rows = []
    for v in x:
        if v > 0:
            rows.append(x[:2] * v)
    for row in rows:
        row += 1
    return rows[0]


def to_what_it_is_a_view_of(x):
    rows = []
    for i in range(3):
        if x[i] > 0:
            rows.append(x[i : i + 2])
    x[0] = 5
    return rows[0]


def before_it_grew(x):
    y = x[:2] + 1
    rows = [y]
    for v in x:
        if v > 0:
            rows.append(x[:2])
    y += 1
    return rows[0]


WRITING = [
    later, under_another_name, next_turn, one_buffer, one_buffer_in_the_branch, after_the_append,
    to_an_element, while_going_through, to_what_it_is_a_view_of, before_it_grew,
]  # fmt: skip


@pytest.mark.parametrize("func", WRITING)
def test_writes_to_elements_are_refused(func):
    with pytest.raises(ControlFlowError, match=r"written to.*_of_arrays\.py:.*\.copy\(\)"):
        lw.vmap(func)(A)


def of_lengths_that_are_data(x):
    rows = []
    for i in range(6):
        if x[i] > 0:
            rows.append(x[x > x[i]])
    return len(rows)


def of_two_shapes(x):
    rows = []
    for i in range(6):
        if x[i] > 0:
            rows.append(x[: 1 + i])
    return len(rows)


@pytest.mark.parametrize("func", [of_lengths_that_are_data, of_two_shapes])
def test_elements_have_one_shape(func):
    with pytest.raises((ControlFlowError, UnsupportedError), match=r"list.*_of_arrays\.py:"):
        lw.vmap(func)(A)


def test_arrays_of_no_elements_have_another_shape():
    def func(x):
        rows = []
        for i in range(3):
            if x[i] > 9:
                rows.append(x[:2])
        return np.array(rows).sum(), len(rows)

    with pytest.raises(
        UnsupportedError, match=r"another shape.*_of_arrays\.py:|_of_arrays\.py:.*another shape"
    ):
        lw.vmap(func)(A)


JOINS = {
    "stack": lambda rows: np.stack(rows),
    "stack behind": lambda rows: np.stack(rows, axis=-1),
    "concatenate": lambda rows: np.concatenate(rows),
    "concatenate along 1": lambda rows: np.concatenate(rows, axis=1),
    "concatenate flat": lambda rows: np.concatenate(rows, axis=None),
    "vstack": lambda rows: np.vstack(rows),
    "hstack": lambda rows: np.hstack(rows),
    "column_stack": lambda rows: np.column_stack(rows),
    "dstack": lambda rows: np.dstack(rows),
}


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 1, 2)])
@pytest.mark.parametrize("join", JOINS)
def test_rows_are_joined_of_which_the_data_say_how_many_there_are(join, shape):
    """Rows of an array are joined where they are, as nobody can take them one by one."""

    def func(x):
        joined = JOINS[join](np.ones(shape) * x[x > 0].reshape(-1, *[1] * len(shape)))
        weighted = joined * np.arange(1, joined.shape[-1] + 1)
        return weighted.sum(), joined.ndim, joined.shape[0]

    x = np.random.default_rng(2).normal(size=(5, 9))
    x[:, 3] = 1
    try:
        func(x[0])
    except ValueError as error:  # of NumPy's, of numbers, and of axes that are not there
        with pytest.raises(type(error)) as found:
            lw.vmap(func)(x)
        assert str(error).split(":")[0] in str(found.value)
        return
    for compiled in (False, True):
        found = lw.function(lw.vmap(func), jit_compile=compiled)(x)
        for got, want in zip(found, zip(*[func(row) for row in x], strict=True), strict=True):
            np.testing.assert_allclose(got, want)
    with pytest.raises(ValueError, match="need at least one array to"):
        lw.vmap(func)(-np.abs(x))


def test_a_list_of_rows_is_joined():
    def func(x):
        rows = []
        for v in x:
            if v > 0:
                rows.append(np.array([v, v * v]))
        return np.vstack(rows).sum(axis=0), np.concatenate(rows)[-1], np.stack(rows)[0]

    assert_like_the_loop(func, A)
