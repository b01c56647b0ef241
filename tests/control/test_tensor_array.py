"""`TensorArray`: lists that loops and branches append to, against the function run on each example.

Outside of traces a `TensorArray` is a Python list, so the function itself is the oracle.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.draws import seeds
from support.oracle import assert_maps

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(7, 40))


# --- outside of traces ----------------------------------------------------------------------------


def test_it_is_a_list():
    values = lw.TensorArray()
    assert len(values) == values.length == 0 and list(values) == []
    values.append(1.0)
    values.append(2.0)
    assert len(values) == 2 and list(values) == [1.0, 2.0] and values[-1] == values.read(1) == 2.0
    assert values.stack().tolist() == [1.0, 2.0] and values[:1].tolist() == [1.0]
    assert repr(values) == "<TensorArray of 2 elements>"


def test_writing_extends_with_zeros():
    values = lw.TensorArray().write(2, [1, 2])
    assert values.stack().tolist() == [[0, 0], [0, 0], [1, 2]]
    values.write(-3, [5, 6]).write(1, np.array([7, 8]))
    assert values.stack().tolist() == [[5, 6], [7, 8], [1, 2]]


@pytest.mark.parametrize(
    ("elements", "dtype"),
    [
        ([1, 2], int),
        ([1, 2.5], float),
        ([True, False], bool),
        ([np.float32(1), 2.5], np.float32),
        ([1, np.uint8(2)], np.uint8),
        ([np.int32(1), np.float32(2)], np.float64),
        ([1, 2j], complex),
        ([], float),
    ],
)
def test_elements_promote_and_python_numbers_give_way(elements, dtype):
    values = lw.TensorArray()
    for element in elements:
        values.append(element)
    assert values.stack().dtype == dtype
    assert values.stack().tolist() == elements


def test_elements_are_copied():
    x, values = np.zeros(2), lw.TensorArray()
    values.append(x)
    x[0] = 1
    values.read(0)[1] = 2
    assert values.stack().tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("index", [1, -2])
def test_an_index_out_of_range(index):
    values = lw.TensorArray().write(0, 1.0)
    with pytest.raises(IndexError, match=f"index {index} is out of range .* of length 1"):
        values.read(index)


def test_a_negative_index_does_not_extend():
    with pytest.raises(IndexError, match="index -1 is out of range"):
        lw.TensorArray().write(-1, 1.0)


def test_elements_of_another_shape_are_refused():
    values = lw.TensorArray().write(0, [1, 2])
    with pytest.raises(ValueError, match=r"one of \(\) was given to one of \(2,\)"):
        values.append(1.0)


def test_elements_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="an element of a TensorArray has dtype"):
        lw.TensorArray().append("text")


# --- known numbers of elements --------------------------------------------------------------------


def test_straight_code():
    def func(x):
        values = lw.TensorArray()
        values.append(x)
        values.append(2)
        values.write(3, x * 3)
        assert len(values) == 4
        return values.stack(), values.read(-1), values[0], values[1:3], sum(list(values))

    assert_maps(func, ROWS[:, 0])
    assert_maps(func, ROWS[:, 0].astype(np.float32))


def test_arrays_as_elements():
    def func(row):
        values = lw.TensorArray()
        for start in range(3):
            values.append(row[start : start + 2])
        return values.stack()

    assert_maps(func, ROWS)


def test_elements_are_copied_in_traces():
    def func(row):
        values, part = lw.TensorArray(), row.copy()
        values.append(part)
        part[0] = 7.0
        values.append(part)
        return values.stack()

    assert_maps(func, ROWS)


@pytest.mark.parametrize("length", [7, 40, 1000])
def test_running_sums(length):
    """A short loop is unrolled, a long one is recorded: the length is known in both."""

    def func(row):
        sums, total = lw.TensorArray(), 0.0
        for value in row:
            total = total + value
            sums.append(total)
        return sums.stack()

    rows = RNG.normal(size=(5, length))
    assert_maps(func, rows)
    assert_maps(func, rows.astype(np.float32))


def test_several_elements_a_turn():
    def func(row):
        values = lw.TensorArray()
        values.append(-1.0)
        for value in row:
            values.append(value)
            values.append(value * 2)
        values.append(row.sum())
        return values.stack(), len(values)

    assert_maps(func, ROWS)


def test_an_element_in_either_branch():
    def func(row):
        values = lw.TensorArray()
        for value in row:
            if value > 0:
                values.append(value)
            else:
                values.append(0.0)
        return values.stack()

    assert_maps(func, ROWS)


def test_arrays_in_a_recorded_loop():
    def func(row):
        values, state = lw.TensorArray(), np.zeros(3)
        for value in row:
            state = state * 0.5 + value
            values.append(state)
        return values.stack(), values.read(-1), values.read(3)

    assert_maps(func, ROWS)


def test_nested_loops():
    def func(row):
        values = lw.TensorArray()
        for i in range(20):
            inner = lw.TensorArray()
            for value in row:
                inner.append(value * i)
            values.append(inner.stack().sum())
            for j in range(18):
                values.append(row[j])
        return values.stack()

    assert_maps(func, ROWS[:3])


def test_writing_in_order():
    def func(row):
        values = lw.TensorArray()
        for i in range(len(row)):
            values = values.write(i, row[i] * 2)
        return values.stack()

    assert_maps(func, ROWS)


def test_writing_again():
    def func(row):
        values = lw.TensorArray()
        for i in range(len(row)):
            values.write(i, row[i])
        for i in range(1, len(row)):
            values.write(i, values.read(i - 1) + values.read(i))
        return values.stack()

    assert_maps(func, ROWS)


def test_reading_back_in_a_loop():
    def func(x):
        values = lw.TensorArray()
        values.append(x)
        values.append(x)
        for i in range(2, 60):
            values.append((values.read(i - 1) + values.read(-2)) % 1.0)
        return values.stack()

    assert_maps(func, ROWS[:, 0])


def test_a_loop_over_the_elements():
    def func(row):
        values = lw.TensorArray()
        for value in row:
            values.append(value * 2)
        total = 0.0
        for value in values:
            total = total + value
        return total

    assert_maps(func, ROWS)


def test_promotion_in_a_recorded_loop():
    def func(row):
        values = lw.TensorArray()
        values.append(1)
        for value in row:
            values.append(values.read(-1) * value)
        return values.stack()

    assert_maps(func, ROWS)
    assert_maps(func, ROWS.astype(np.float32))


# --- numbers of elements that are data ------------------------------------------------------------


def halves(x):
    values = lw.TensorArray()
    while x > 1:
        values.append(x)
        x = x / 2
    return values


@pytest.mark.parametrize(
    "use",
    [
        lambda values: values.stack().sum(),
        lambda values: values.stack().max(),
        lambda values: values.stack().mean(),
        lambda values: (values.stack() * 2 + 1).sum(),
        lambda values: np.sqrt(values.stack()).prod(),
        lambda values: values.read(0),
        lambda values: values[-1],
        lambda values: len(values),
        lambda values: values.stack()[0],
        lambda values: np.argmin(values.stack()),
    ],
)
def test_a_while_loop(use):
    assert_maps(lambda x: use(halves(x)), np.array([2.0, 3.0, 5.0, 1000.0, 10.0]))


def test_elements_of_some_turns():
    def func(row):
        values = lw.TensorArray()
        for value in row:
            if value > 0:
                values.append(value)
        return values.stack().sum(), len(values)

    assert_maps(func, ROWS)
    assert_maps(func, np.abs(ROWS))
    assert_maps(func, RNG.normal(size=(1000, 30)))


def test_no_elements():
    def func(row):
        values = lw.TensorArray()
        for value in row:
            if value > 100:
                values.append(value)
        return values.stack().sum(), len(values)

    assert_maps(func, ROWS)


def test_elements_in_one_branch_only():
    def func(x):
        values = lw.TensorArray()
        values.append(x)
        if x > 0:
            values.append(x * 2)
        return values.stack().sum(), values.read(-1), len(values)

    assert_maps(func, ROWS[:, 0])


def test_a_loop_that_is_left():
    def func(row):
        values = lw.TensorArray()
        for value in row:
            if value < -1:
                break
            values.append(value)
        return values.stack().sum(), len(values)

    assert_maps(func, ROWS)


def test_arrays_of_data_dependent_number():
    def func(row):
        values, state = lw.TensorArray(), np.ones(2)
        while state.sum() < 10 + row[0]:
            state = state * 2 + row[:2] ** 2
            values.append(state)
        return values.stack().sum(axis=0), values.read(-1)

    assert_maps(func, ROWS)


def test_a_loop_over_elements_of_data_dependent_number():
    def func(x):
        total = 0.0
        for value in halves(x):
            total = total + value * value
        return total

    assert_maps(func, np.array([2.0, 3.0, 1000.0]))


def test_reading_at_an_index_that_is_data():
    def func(row, index):
        values = lw.TensorArray()
        for value in row:
            values.append(value)
        return values.read(index)

    assert_maps(func, ROWS, RNG.integers(-40, 40, 7))


def test_writing_at_an_index_that_is_data():
    def func(row, index):
        values = lw.TensorArray()
        for value in row:
            values.append(value)
        values.write(index, 5.0)
        return values.stack().sum(), values.read(index), len(values)

    assert_maps(func, ROWS, RNG.integers(-40, 45, 7))


def test_an_index_out_of_range_names_the_example():
    def func(x, index):
        return halves(x).read(index)

    with pytest.raises(IndexError, match=r"index 3 is out of range .* of length 2\n  in example 1"):
        lw.vmap(func)(np.array([10.0, 3.0]), np.array([3, 3]))


def test_what_is_changed_in_a_branch_that_is_not_taken():
    def func(row):
        values = lw.TensorArray()
        for value in row:
            values.append(value)
            if value > 0:
                values.write(-1, 0.0)
                if value > 1:
                    values.write(0, value)
        return values.stack()

    assert_maps(func, ROWS)


def test_nested_maps():
    def func(rows):
        def inner(row):
            values = lw.TensorArray()
            for value in row:
                if value > 0:
                    values.append(value)
            return values.stack().sum()

        return lw.vmap(inner)(rows)

    assert_maps(func, RNG.normal(size=(4, 3, 30)))


def test_the_executable_is_found_again():
    from lanewise.runtime import dispatch

    mapped = lw.vmap(lambda x: halves(x).stack().sum())
    mapped(np.array([3.0]))
    before = len(dispatch._cache)
    assert mapped(np.array([3.0, 5.0])).tolist() == [4.5, 8.75]
    assert len(dispatch._cache) == before


# --- refusals -------------------------------------------------------------------------------------


def test_returning_elements_of_data_dependent_number():
    with pytest.raises(lw.DataDependentShapeError):
        lw.vmap(lambda x: halves(x).stack())(np.array([2.0, 3.0]))


def test_counting_them_outside_of_converted_code():
    def func(x):
        return float(sorted(halves(x))[0])

    with pytest.raises(lw.ConcretizationError, match="the number of elements of a TensorArray"):
        lw.vmap(func)(np.array([2.0, 3.0]))


def test_a_list_of_the_function_around_a_map():
    def func(row):
        values = lw.TensorArray()

        def inner(x):
            values.append(x)
            return x

        lw.vmap(inner)(row)
        return values.stack()

    with pytest.raises(lw.UnsupportedError, match="made outside of it"):
        lw.vmap(func)(ROWS)
    values = lw.TensorArray()

    def outside(x: Any) -> Any:
        values.append(x)
        return x

    with pytest.raises(lw.UnsupportedError, match="made outside of it"):
        lw.vmap(outside)(ROWS)


def test_elements_of_another_shape_in_a_loop():
    def func(row):
        values = lw.TensorArray()
        values.append(row[:2])
        for value in row:
            values.append(value)
        return values.stack()

    with pytest.raises(ValueError, match=r"one of \(\) was given to one of \(2,\)"):
        lw.vmap(func)(ROWS)


# --- bounded and unbounded lengths ----------------------------------------------------------------


def test_a_filter_is_bounded_by_its_loop():
    """Slices and the like need a bound of the length."""

    def func(row):
        values = lw.TensorArray()
        for value in row:
            if value > 0:
                values.append(value)
        rest = values.stack()
        return rest[1:3].sum(), rest[::-1].max(), rest[rest > 0.5].sum(), np.median(rest)

    assert_maps(func, ROWS)


def test_no_examples():
    def func(row):
        values = lw.TensorArray()
        for value in row:
            if value > 0:
                values.append(value)
        return values.stack()[:3].sum(), halves(row[0]).stack().sum()

    first, second = lw.vmap(func)(np.zeros((0, 40)))
    assert first.shape == second.shape == (0,)


def test_a_loop_that_is_left_is_bounded():
    def func(row):
        values = lw.TensorArray()
        for value in row:
            if value < -1.5:
                break
            values.append(value)
            values.append(value * 2)
        return values.stack()[:7].sum(), len(values)

    assert_maps(func, np.abs(ROWS) - 1.6)


def test_a_while_loop_that_counts_is_bounded():
    def func(row):
        values, i = lw.TensorArray(), 0
        while i < 30 and row[i] < 1:
            values.append(row[i])
            i += 1
        return values.stack()[:5].sum(), len(values)

    assert_maps(func, ROWS)


def test_clearing():
    def func(row):
        values, total = lw.TensorArray(), 0.0
        for value in row:
            if value > 1:
                total += values.stack().sum() * len(values)
                values.clear()
            values.append(value)
        return total, len(values)

    assert_maps(func, ROWS)
    values = lw.TensorArray().write(3, 1.0)
    values.clear()
    assert len(values) == 0

    def empty(x):
        values = lw.TensorArray()
        values.append(x)
        if x > 0:
            values.clear()
        return len(values)

    assert_maps(empty, ROWS[:, 0])


@pytest.mark.parametrize("seed", seeds(12))
def test_random_programs(seed):
    """Loops and branches in each other, with appends, writes and reads in all of them."""
    rng = np.random.default_rng(seed)
    lines = ["def func(row):", "    values = lw.TensorArray()", "    values.append(row[0])"]

    def block(indent, depth):
        for _ in range(int(rng.integers(1, 3))):
            loop = f"i{depth}"
            choice = rng.integers(8) if depth < 3 else rng.integers(3)
            match choice:
                case 0 | 3:
                    lines.append(f"{indent}values.append(row[{rng.integers(4)}] * 0.5)")
                case 1:
                    lines.append(f"{indent}values.write({rng.integers(-1, 4)}, row.sum())")
                case 2:
                    lines.append(f"{indent}values.append(values.read(-1) * 0.25 + 1)")
                case 4 | 5:
                    lines.append(f"{indent}if row[{rng.integers(4)}] > values.read(0):")
                    block(indent + "    ", depth + 1)
                    if rng.random() < 0.5:
                        lines.append(f"{indent}else:")
                        block(indent + "    ", depth + 1)
                case 6:
                    lines.append(f"{indent}for {loop} in range({rng.choice([2, 3, 20])}):")
                    block(indent + "    ", depth + 1)
                    if rng.random() < 0.5:
                        lines.append(f"{indent}    if values.read(-1) > row[{rng.integers(4)}]:")
                        lines.append(f"{indent}        {rng.choice(['break', 'continue'])}")
                        lines.append(f"{indent}    values.append(1.0 * {loop})")
                case _:
                    lines.append(f"{indent}{loop} = 0")
                    lines.append(
                        f"{indent}while {loop} < 3 and values.read(0) < {rng.random():.2f}:"
                    )
                    lines.append(f"{indent}    {loop} += 1")
                    block(indent + "    ", depth + 1)

    block("    ", 0)
    lines.append("    return values.stack().sum(), len(values), values.read(-1), values.read(0)")
    source = "\n".join(lines)
    name = f"<random program {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"lw": lw}
    exec(compile(source, name, "exec"), names)
    assert_maps(names["func"], RNG.normal(size=(6, 4)), rtol=1e-9)
