"""Lists that grow in the graph, against Python's own lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise  # noqa: F401  (fills the registry)
from lanewise.ir.dims import Dim
from lanewise.ir.graph import Builder, Graph
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.types import array_type
from lanewise.ir.verify import verify
from lanewise.ops.lists import (
    INTP,
    Arena,
    list_append,
    list_arena,
    list_read,
    list_stack,
    list_write,
)
from lanewise.ops.regions import map_
from lanewise.ops.registry import REGISTRY
from lanewise.runtime.interpret import interpret

FLOAT = np.dtype(float)
BATCH = Dim.symbol("batch")


def stacked(arena: Arena, lists: Any) -> list[list[Any]]:
    """Return the elements of lists as Python lists."""
    values, taken = arena.stack(np.asarray(lists))
    rows = np.zeros((*taken.shape, *values.shape[1:]), values.dtype)
    if len(values):
        rows[taken] = values
    return [row[:count].tolist() for row, count in zip(rows, taken.sum(1), strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_any_history(seed):
    """Appending, writing and going back to an earlier version, for several lists at once."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    arena, lists = Arena(), np.zeros(count, INTP)
    known: list[list[Any]] = [[] for _ in range(count)]
    versions = [(lists, known)]
    for _ in range(60):
        lists, known = lists.copy(), [row.copy() for row in known]
        values = rng.normal(size=(count, 2)).round(2)
        if rng.random() < 0.6:
            rows = np.nonzero(rng.random(count) < 0.7)[0]
            lists[rows] = arena.append(lists[rows], values[rows])
            for row in rows:
                known[row].append(values[row].tolist())
        elif rng.random() < 0.5:
            sizes = np.array([rng.integers(len(row) + 1) for row in known])
            lists = arena.cut(lists, sizes)
            known = [row[:size] for row, size in zip(known, sizes, strict=True)]
        else:
            index = np.array([rng.integers(-len(row), len(row) + 3) for row in known])
            lists = arena.write(lists, index, values)
            for row, place, value in zip(known, index, values, strict=True):
                place += len(row) if place < 0 else 0
                row += [[0.0, 0.0]] * (place + 1 - len(row))
                row[place] = value.tolist()
        versions.append((lists, known))
        old, expected = versions[rng.integers(len(versions))]
        assert stacked(arena, old) == expected
        assert [arena.elements(int(one)).tolist() for one in old] == expected
        full = [row for row in range(count) if expected[row]]
        if full:
            index = np.array([rng.integers(-len(expected[r]), len(expected[r])) for r in full])
            got = arena.read(old[full], index).tolist()
            assert got == [expected[r][i] for r, i in zip(full, index, strict=True)]
        if rng.random() < 0.2:
            lists, known = old, expected


def test_lists_of_rows():
    arena, rows = Arena(), np.arange(12.0).reshape(2, 3, 2)
    lists = arena.append(arena.of(rows), np.zeros((2, 2)))
    assert stacked(arena, lists) == [[*row.tolist(), [0.0, 0.0]] for row in rows]
    assert stacked(arena, arena.of(rows[:, :0])) == [[], []]
    assert arena.elements(0).shape[0] == 0


def test_a_long_list():
    arena, last = Arena(), np.zeros(1, INTP)
    for i in range(3000):
        last = arena.append(last, np.array([i]))
    assert stacked(arena, last) == [list(range(3000))]
    assert arena.read(np.repeat(last, 3000), np.arange(3000)).tolist() == list(range(3000))


def test_elements_promote():
    arena = Arena()
    one = arena.append(np.zeros(1, INTP), np.array([1]))
    two = arena.append(one, np.array([2.5]))
    assert stacked(arena, two) == [[1.0, 2.5]]
    assert arena.read(one, np.array([0])).tolist() == [1]


@pytest.mark.parametrize("index", [2, -3])
def test_an_index_out_of_range(index):
    arena = Arena()
    lists = arena.append(arena.append(np.zeros(1, INTP), np.array([1])), np.array([2]))
    with pytest.raises(IndexError, match=f"index {index} is out of range for a .* of length 2"):
        arena.read(lists, np.array([index]))


def test_a_negative_index_out_of_range_is_not_written_to():
    with pytest.raises(IndexError, match="index -1 is out of range for a TensorArray of length 0"):
        Arena().write(np.zeros(1, INTP), np.array([-1]), np.array([1.0]))


# --- operations -----------------------------------------------------------------------------------


def scalar(builder: Builder, dtype: Any = INTP) -> Any:
    return builder.input(array_type(np.dtype(dtype), ()))


def lists_of(length: int | None) -> Graph:
    """Return the graph that appends x and y, writes z at an index, and reads and stacks."""
    builder = Builder()
    index, x, y, z = scalar(builder), *[scalar(builder, float) for _ in range(3)]
    (arena,) = builder.emit(list_arena, (), {"name": "list1"})
    empty = builder.input(array_type(INTP, ()))
    (one,) = builder.emit(list_append, (arena, empty, x), {})
    (two,) = builder.emit(list_append, (arena, one, y), {})
    (three,) = builder.emit(list_write, (arena, two, index, z), {})
    (element,) = builder.emit(list_read, (arena, three, index), {"dtype": FLOAT, "shape": ()})
    params = {"dtype": FLOAT, "shape": (), "least": 2, "most": length, "size": "grown"}
    (rows,) = builder.emit(list_stack, (arena, three), params)
    return builder.finish([element, rows])


@pytest.mark.parametrize("mapped", [(1, 1, 1, 1), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1)])
def test_a_map_of_lists(mapped):
    region = lists_of(None)
    builder = Builder()
    for value, is_mapped in zip(region.inputs, (*mapped, 0), strict=True):
        builder.input(array_type(value.type.dtype, (BATCH,) if is_mapped else ()))
    params = {
        "size": BATCH,
        "in_dims": tuple(0 if m else None for m in (*mapped, 0)),
        "out_mapped": (True, True),
    }
    results = builder.emit(map_, tuple(builder.inputs), map_.complete(params), (region,))
    graph = builder.finish(results)
    verify(graph)
    given = [np.array([0, 1, -1]), np.arange(3.0), np.arange(3.0) + 10, np.arange(3.0) + 20]
    arguments = [x if m else x[1] for x, m in zip(given, mapped, strict=True)]
    elements, rows = interpret(graph, *arguments, np.intp(0))
    wide = [x if m else np.repeat(x[1], 3) for x, m in zip(given, mapped, strict=True)]
    for element, row, index, x, y, z in zip(elements, rows, *wide, strict=True):
        expected = [x, y]
        expected[index] = z
        assert element == z and row.tolist() == expected


def test_the_text_of_the_operations():
    graph = lists_of(None)
    assert "%4: object[] = list_arena[name='list1']()" in format_graph(graph)
    assert parse_graph(format_graph(graph), REGISTRY).key == graph.key


def test_a_wrong_length_is_found_out():
    for least, most in ((0, 1), (3, 3)):
        with pytest.raises(AssertionError, match="a length is not what was worked out"):
            arena = Arena()
            one = arena.append(np.zeros(1, INTP), np.zeros(1))
            arena.stack(arena.append(one, np.zeros(1)), most, least)


def test_the_length_of_rows():
    arguments = [np.intp(1), *np.arange(3.0), np.intp(0)]
    assert lists_of(None).outputs[1].type == array_type(FLOAT, (Dim.symbol("grown"),))
    assert lists_of(2).outputs[1].type == array_type(FLOAT, (2,))
    for length in (None, 2):
        assert interpret(lists_of(length), *arguments)[1].tolist() == [0.0, 2.0]


def test_no_list_stacks_to_nothing():
    arena = Arena()
    params = {"dtype": FLOAT, "shape": (2,), "least": 0, "size": "grown"}
    rows = list_stack.numpy(arena, np.zeros((0,), INTP), **params, most=None)
    assert rows.shape == (0, 1, 2)
    rows = list_stack.numpy(arena, np.intp(0), **params, most=0)
    assert rows.shape == (0, 2)


def test_the_type_rules():
    arena, number = array_type(np.dtype(object), ()), array_type(FLOAT, ())
    with pytest.raises(TypeError, match="lists are entries of an arena"):
        list_append.infer([arena, number, number], {})
    lists = array_type(INTP, (3,))
    with pytest.raises(ValueError, match="has not one entry for each of the lists"):
        list_append.infer([arena, lists, number], {})
