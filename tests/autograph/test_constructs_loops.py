"""Loops that the data steer: while, for over ranges and arrays, break, continue, else, return."""

from __future__ import annotations

import numpy as np
import optree
import pytest

import lanewise as lw
from support.control_flow_oracle import assert_follows

N = np.array([0, 1, 5, 2, 9, 3, 40, 1])
X = np.array([0.5, -3.0, 7.0, 2.5, 0.0, 1.0, 30.0, -0.25])
ROWS = (np.arange(40.0).reshape(8, 5) * 7) % 11 - 4
WIDE = (np.arange(160).reshape(8, 20) * 13) % 17


def countdown(n):
    turns = 0
    while n > 0:
        n -= 1
        turns += 1
    return n, turns


def halving(x):
    steps = 0
    while abs(x) > 0.1 and steps < 50:
        x /= 2
        steps += 1
    return x, steps


def while_of_numbers(n):
    total = 0
    while n:
        total += n % 10
        n //= 10
    return total


def while_true(n):
    total = 0
    while True:
        if n <= 0:
            break
        total += n
        n -= 2
    return total, n


def while_else(n):
    k = 2
    while k * k <= n:
        if n % k == 0:
            kind = k
            break
        k += 1
    else:
        kind = -1
    return kind


def while_continue(n):
    total = 0
    while n > 0:
        n -= 1
        if n % 3 == 0:
            continue
        total += n
    return total


def while_walrus(n):
    total = 0
    while (m := n - 3) > 0:
        total += m
        n = m
    return total, m


def return_from_while(n):
    k = 0
    while True:
        if k * k >= n:
            return k
        k += 1


def return_from_nested(n):
    for i in range(7):
        for j in range(i, 7):
            if i * j > n:
                return i, j
    return -1, -1


def break_outer_by_flag(n):
    found = False
    for i in range(5):
        for j in range(5):
            if i * j == n and i > 1:
                found = True
                break
        if found:
            break
    return i, j, found


def for_range(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def for_range_start_stop(n):
    total = 0
    for i in range(n // 2, n):
        total = 2 * total + i
        total %= 1000
    return total


def for_range_step(n):
    total = 0
    for i in range(0, 10, n + 1):
        total += i
    return total


def for_range_down(n):
    total = 0
    for i in range(n, -1, -2):
        total = 3 * total % 101 + i
    return total


def loop_variable_afterwards(n):
    i = -1
    for i in range(n):
        if i == 4:
            break
    return i


def for_else(n):
    for i in range(2, n):
        if n % i == 0:
            kind = i
            break
    else:
        kind = 0
    return kind


def for_else_without_break(n):
    for _ in range(n):
        n += 1
    else:
        n = -n
    return n


def for_continue(n):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        if i > 6:
            break
        total += i
    return total


def break_in_first_turn(n):
    for i in range(n, 50):  # noqa: B007
        break
    else:
        i = -1
    return i


def nested_loops(n):
    count = 0
    for i in range(n):
        j = i
        while j > 0:
            j //= 2
            count += 1
    return count


def inner_bound_of_outer(n):
    total = 0
    for i in range(n % 7):
        for j in range(i):
            if j > n:
                break
            total += i * j
    return total


def type_changes_in_turn(n):
    y = 0
    for _ in range(n % 4):
        y = y / 2 + 1
    return y


def loop_without_turns(n):
    y = n
    while False:
        y += 1
    for _ in ():
        y += 2
    return y


def swapped(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, (a + b) % 1000
    return a, b


def unbound_before_the_loop(n):
    for i in range(n + 1):
        last = i * 2
    return last


def newton(x):
    x = abs(x) + 1
    guess = x
    for turn in range(50):
        better = (guess + x / guess) / 2
        if abs(better - guess) < 1e-12:
            return better, turn
        guess = better
    return guess, 50


INTS = [countdown, while_of_numbers, while_true, while_else, while_continue, while_walrus,
        return_from_while, return_from_nested, break_outer_by_flag, for_range,
        for_range_start_stop, for_range_step, for_range_down, loop_variable_afterwards, for_else,
        for_else_without_break, for_continue, break_in_first_turn, nested_loops,
        inner_bound_of_outer, type_changes_in_turn, loop_without_turns, swapped,
        unbound_before_the_loop]  # fmt: skip


@pytest.mark.parametrize("func", INTS)
def test_of_an_int(func):
    assert_follows(func, N)
    assert_follows(func, N.astype("i4"))
    assert_follows(func, N[4:5])
    assert_follows(lambda n, _: func(n), N[4], X, in_dims=(None, 0))


@pytest.mark.parametrize("func", [halving, newton])
def test_of_a_float(func):
    assert_follows(func, X)


@pytest.mark.parametrize("func", [for_range, while_true, for_else, nested_loops])
def test_other_ways_to_map(func):
    expected = optree.tree_leaves(lw.vmap(func)(N))
    for mapped in (
        lw.map_fn(func, N),
        lw.vectorized_map(func, N),
        lw.vmap(func, chunk_size=3)(N),
        lw.vmap(lw.vmap(func))(N.reshape(2, 4)),
        lw.vmap(lw.vmap(func), 1)(N.reshape(2, 4).T.copy()),
    ):
        for got, want in zip(optree.tree_leaves(mapped), expected, strict=True):
            np.testing.assert_array_equal(np.ravel(got), want)


# --- how loops are recorded -----------------------------------------------------------------------


def operations(func, *batch):
    """Return how many operations the graph of the mapped function has, regions and all."""
    text = str(lw.explain(lw.vmap(func), *batch))
    return text.count("\n")


def long_loop(x):
    for i in range(10_000):
        if x > i:
            x = x * 0.5 + 0.25
    return x


def longer_loop(x):
    for i in range(20_000):
        if x > i:
            x = x * 0.5 + 0.25
    return x


def test_the_graph_of_a_long_loop_is_small():
    count = operations(long_loop, X)
    assert count == operations(longer_loop, X) and count < 200
    assert_follows(long_loop, X[:3])


def sorted_by_insertion(x):
    x = x.copy()
    for i in range(1, len(x)):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j], x[j - 1]
            j -= 1
    return x


def counting_while(x):
    total = 0.0
    for i in range(len(x)):
        k = 0
        while not (k >= i or x[k] > 3) and (x[i] < 9 or k > 2):
            k += 1
        total += k if i and x[i - 1] > 0 else 0.5
    return total


@pytest.mark.parametrize("func", [sorted_by_insertion, counting_while])
def test_tests_of_a_counter_and_data_are_recorded_once(func):
    """What `and` gives is a bool of Python's or of NumPy's, as the iteration says: none asks."""
    rng = np.random.default_rng(0)
    counts = [operations(func, rng.normal(size=(4, n))) for n in (30, 60)]
    assert counts[1] < counts[0] + 10  # their kernels may differ
    for n in (1, 2, 7, 30):
        assert_follows(func, rng.normal(size=(4, n)) * 5)


@pytest.mark.parametrize("turns", [1, 2, 14, 15, 16, 17, 18, 33])
def test_recorded_loops_equal_unrolled_ones(turns):
    def func(x, row):
        row = row.copy()
        total, k = 0, 1
        for i in range(turns):
            if x > i:
                x -= 0.5
                row[i % 5] += x
            elif k < 3:
                k += 1
                continue
            total += i * k
            if total > 300:
                break
        return x, row, total, k, i

    assert_follows(func, X, ROWS)


def test_a_loop_that_only_one_example_would_leave():
    """Each example ends; by the branches of the others, it would not."""

    def func(n):
        k = n
        while k != 1:
            if n % 2 == 0:  # noqa: SIM108
                k = k // 2 if k % 2 == 0 else k + 1
            else:
                k = max(k - 2, 1)
        return k, n

    assert_follows(func, np.array([1, 2, 3, 7, 8, 12, 100, 99]))

    def by_zero(n):
        turns = 0
        while n != 0:  # a finished example would go on for ever
            n = n - 3 if n > 2 else n - 1
            turns += 1
        return turns

    assert_follows(by_zero, np.array([0, 1, 2, 300, 7, 0]))


def test_finished_examples_are_not_computed_with():
    def func(x):
        total = 0.0
        while x > 0:
            total += 1 / x  # of a finished example: division by zero
            x -= 1
        return total

    with np.errstate(all="raise"):
        got = lw.vmap(func)(np.arange(9.0))
    np.testing.assert_allclose(got, [sum(1 / k for k in range(1, n + 1)) for n in range(9)])


def test_a_loop_in_which_an_index_is_in_bounds_for_live_examples_only():
    def func(row, n):
        i = 0
        while i < len(row) and row[i] != n:
            i += 1
        return i

    assert_follows(func, ROWS, N)


def test_many_examples_that_finish_at_different_times():
    numbers = (np.arange(3000) * 7919) % 1000
    assert_follows(while_of_numbers, numbers)
    assert_follows(for_else, numbers[:300] % 60)


def test_a_map_inside_of_a_loop():
    def func(row, n):
        for k in range(n % 5):
            row = lw.vmap(lambda v, k=k: v / 2 if v > k else v + 1)(row)
        return row

    assert_follows(func, ROWS, N)

    def long(row, n):
        turns = 0
        while row.max() > 1:
            row = lw.vmap(lambda v: v / 2 if v > 1 else v)(row)
            turns += 1
        return row, turns

    assert_follows(long, ROWS, N)


def test_loops_of_unmapped_numbers():
    def func(x, n):
        while n > 0:
            n = n - 1
            if x < n:
                x = x + 1
        return x, n

    assert_follows(func, X, np.array(6), in_dims=(0, None))


def test_breaks_keep_what_was_assigned():
    def func(n):
        a = b = 0
        for i in range(20):
            a = i
            if i == n:
                break
            b = i
        return a, b, i

    assert_follows(func, N)


def lengths_that_change(n):
    x = np.zeros(1)
    for _ in range(n):
        x = np.append(x, 1.0)
    return x.sum()


def test_sizes_that_change_in_a_loop():
    assert_follows(lengths_that_change, N)


def dimensions_that_change(n):
    x = np.zeros(3)
    while n > 0:
        x = x[None]
        n -= 1
    return x.sum()


def test_dimensions_that_change_in_a_loop_are_refused_by_name():
    with pytest.raises(lw.UnsupportedError, match=r"'x'(?s:.)*test_constructs_loops.py:"):
        lw.vmap(dimensions_that_change)(N)


def structure_that_changes(n):
    pair = (0,)
    while n > 0:
        pair = (0, 1)
        n -= 1
    return len(pair)


def test_structures_that_change_in_a_loop_are_refused_by_name():
    with pytest.raises((lw.UnsupportedError, lw.ConcretizationError), match="'pair'"):
        lw.vmap(structure_that_changes)(N)


def test_a_loop_that_may_not_bind_its_variable():
    def func(n):
        for i in range(n):
            last = i
        return last

    assert_follows(func, N + 1)
    with pytest.raises(UnboundLocalError, match=r"last(?s:.)*example 2"):
        lw.vmap(func)(np.array([1, 3, 0, 2]))


def test_without_autograph():
    for func in (countdown, for_range):
        with pytest.raises(lw.ConcretizationError):
            lw.vmap(func, autograph=False)(N)
