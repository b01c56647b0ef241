"""Branches that the data take: if, conditional expressions, and, or, not, chains, match."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import lanewise as lw
from support.control_flow_oracle import assert_follows

X = np.array([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0, np.nan])
N = np.array([-3, -1, 0, 1, 2, 3, 8])
ROWS = np.arange(21.0).reshape(7, 3) - 10


def if_only(x):
    y = x * 2
    if x > 0:
        y = y + 1
    return y


def if_else(x):
    if x > 0:  # noqa: SIM108
        y = np.sqrt(x)
    else:
        y = -x
    return y


def elif_chain(x):
    if x < -1:
        kind = 0
    elif x < 0:
        kind = 1
    elif x == 0:
        kind = 2
    elif x > 2:
        kind = 3
    else:
        kind = 4
    return kind


def nested(x, n):
    y = 0.0
    if n > 0:
        if x > 0:
            y = x
            if n > 2:
                y += 1
        else:
            y = -1.0
    elif x > 0:
        y = -x
    return y


def several_variables(x, n):
    a, b = x, n
    if n % 2:
        a, b = float(n), n * 2
        c = a + b
    else:
        c = x
    return a, b, c


def of_numbers_and_arrays(row, n):
    if n:
        row = row + n
    return row if row.sum() > 0 else -row


def of_different_kinds(n):
    return 1.5 if n > 0 else n


def of_bool_and_int(n):
    if n > 0:
        return n > 1
    return 7


def of_complex(x):
    return complex(x, 1) if x < 0 else x


def of_widths(n):
    return np.float32(1.5) if n > 1 else np.int8(2)


def structures(x):
    if x > 0:
        pair, named = (x, [1, x + 1]), {"k": x}
    else:
        pair, named = (0.0, [2, x]), {"k": 1.0}
    return pair, named


def none_stays(x):
    a = None
    y = x + 1 if x > 0 else x
    return y, 0 if a is None else 1


def nothing_but_pass(x):
    if x > 0:
        pass
    else:
        pass
    return x


def plain_and_traced(x, flag=True):
    if flag:
        x = x + 1
    if flag and x > 0:
        x = -x
    return x


def truth_of_numbers(x, n):
    a = 1 if x else 2
    b = 1 if n else 2
    c = 1 if not n else 2
    return a, b, c


def truth_of_one_element(row):
    if row[:1] > 0:
        return 1
    return 2 if row[1] else 3


def conditional_expressions(x, n):
    a = x if n > 0 else -x if n < 0 else 0.5
    return a, (n if x > 0 else n + 1) + (1 if n else 2), [x if n > 1 else x - 1][0]


def boolean_values(x, n):
    return n and x, n or x, not n, x > 0 and n, n > 0 or x


def boolean_chains(x, n):
    a = x > 0 and n > 1 and x < 2
    b = x < -1 or n == 0 or x > 2
    return a, b, (a or b) and not (a and b), not (x > 0 or n)


def chained(x, n):
    return 0 < x < 2, -2 < n <= 2 != x, 0 < n < 3 < n + x


def chained_as_far_as_needed(x):
    three = np.arange(3.0)
    first = 1.0 if 50 < x <= three[3] else 2.0
    if 50 < x <= int(three[3]) < x:
        first += 1
    while 50 < x + first < three[3]:
        first += 1
    return first, 50 < x < three[int(x) + 40]


def chained_calls_once(n):
    calls = np.zeros(3, dtype=int)

    def value(k, v):
        calls[k] += 1
        return v

    ok = value(0, 0) < value(1, n) < value(2, 3)
    return ok, calls


def membership(n, row):
    return n in (1, 2, 8), n not in [0, 3], n in row, (n in range(3)), n - 10 not in row


def identity(n):
    m = n
    return m is n, m is not None, n is None


def protected_index(row, n):
    if 0 <= n < len(row) and row[n] > -7:
        return row[n]
    return 0.0


def protected_expression(row, n):
    return row[n] if 0 <= n < 3 else row[-1], n >= 3 or row[n] < -5, (n < 3 and row[n])


def protected_division(n):
    a = 10 // n if n else 0
    b = n != 0 and 10 % n == 1
    c = math.sqrt(n) if n >= 0 else -1.0
    d = math.log(int(n)) if n > 0 else 0.0
    return a, b, c, d


def matched(n):
    match n:
        case 0:
            return 10
        case 1 | 2:
            return 20
        case k if k > 5:
            return k
        case _:
            return -1


def matched_sequence(x, n):
    match (x > 0, n):
        case (True, 1):
            y = x
        case (True, m):
            y = x * m
        case (False, 0 | 2):
            y = 100.0
        case _:
            y = -1.0
    return y


def matched_without_default(n):
    y = n
    match n % 3:
        case 0:
            y = 5
        case 1:
            y += 1
    return y


def walrus(x, n):
    if (y := x * 2) > 1:
        y += 1
    z = (m := n + 1) > 0 and m < 3
    return y, z, m


def assignment_in_condition_of_both(n):
    if n > 0 and (k := n * 2) > 2:
        return k
    return n


def bound_and_used_under_one_condition(x, n):
    if n > 0:
        scale = 2.0
    y = x
    if n > 0:
        y = y * scale
    return y


def bound_in_one_branch_and_not_used(x):
    if x > 0:
        unused = x * 2
        y = unused
    else:
        y = x
    return y


def assigned_in_one_branch_read_in_the_other(x, n):
    if n > 1:
        x = x + 100
        y = 1.0
    else:
        y = x * 2
    return y


def assigned_deep_in_one_branch_read_in_the_other(x, n):
    y = x + 1
    if n > 1:
        if n > 2:
            x, y = y, 0.0
    elif n > 0:
        y = y * x
    else:
        return y - x
    return y


def assigned_before_an_early_return(x, n):
    a = x
    if n > 1:
        a = a * 3
    elif n > 0:
        return a
    else:
        return a + 1
    return 0.0


def assigned_in_a_case_read_in_the_else(x, n):
    a = x + 1
    if n > 0:
        match n:
            case 1:
                a *= a
            case _:
                n -= 1
    else:
        return a + x
    return x


ONE = [if_only, if_else, elif_chain, chained_as_far_as_needed, of_complex, structures, none_stays,
       nothing_but_pass, plain_and_traced]  # fmt: skip
OF_N = [of_different_kinds, of_bool_and_int, of_widths, chained_calls_once, identity,
        protected_division, matched, matched_without_default, assignment_in_condition_of_both,
        ]  # fmt: skip
BOTH = [nested, several_variables, truth_of_numbers, conditional_expressions, boolean_values,
        boolean_chains, chained, matched_sequence, walrus, bound_and_used_under_one_condition,
        assigned_in_one_branch_read_in_the_other, assigned_deep_in_one_branch_read_in_the_other,
        assigned_before_an_early_return, assigned_in_a_case_read_in_the_else]  # fmt: skip


@pytest.mark.parametrize("func", [*ONE, bound_in_one_branch_and_not_used])
def test_of_a_float(func):
    assert_follows(func, X)
    assert_follows(func, X.astype("f4"))
    assert_follows(func, X[:1])


@pytest.mark.parametrize("func", OF_N)
@pytest.mark.parametrize("dtype", ["i8", "i4"])
def test_of_an_int(func, dtype):
    assert_follows(func, N.astype(dtype))


@pytest.mark.parametrize("func", BOTH)
def test_of_a_float_and_an_int(func):
    assert_follows(func, X[:6], N[:6])
    assert_follows(func, X[:6], N[4], in_dims=(0, None))
    assert_follows(func, X[4], N, in_dims=(None, 0))


@pytest.mark.parametrize("func", [protected_index, protected_expression, of_numbers_and_arrays])
def test_of_rows_and_an_int(func):
    numbers = N + 3 if func is protected_expression else N
    assert_follows(func, ROWS, numbers)
    assert_follows(func, ROWS[2], numbers, in_dims=(None, 0))


def test_of_rows():
    assert_follows(truth_of_one_element, ROWS - ROWS[3, 1])
    assert_follows(membership, N, ROWS)


def test_all_examples_take_one_branch():
    for rows in (np.ones(5), -np.ones(5), np.ones(1)):
        assert_follows(if_else, rows)
        assert_follows(elif_chain, rows)


def test_no_examples():
    got = lw.vmap(if_else)(np.zeros(0))
    assert got.shape == (0,) and got.dtype == np.float64


def test_a_branch_that_no_example_takes_is_not_run():
    calls = []

    def func(x):
        if x > 100:
            return lw.py_func(lambda v: calls.append(v) or v, [x], float)
        return x

    np.testing.assert_array_equal(lw.vmap(func)(X[:6]), X[:6])
    assert not calls


def inverse(x):
    if x != 0:
        return 1 / x
    return 0.0


def inverse_by_and(x):
    return (x > 0 and math.log(x)) or 0.0


def inverse_by_expression(x):
    return np.sqrt(x) if x >= 0 else np.log(-x)


@pytest.mark.parametrize("func", [inverse, inverse_by_and, inverse_by_expression])
def test_no_warnings_of_branches_not_taken(func):
    values = np.array([0.0, 1.0, -2.0, 0.0, 4.0, -1.0])
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        got = lw.vmap(func)(values)
    np.testing.assert_allclose(got, [func(v) for v in values])
    with np.errstate(all="raise"):
        lw.vmap(func)(values)


def test_warnings_of_branches_taken(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")  # kernels give no warnings

    def func(x):
        return 1 / x if x < 1 else x

    with np.errstate(all="warn"), pytest.warns(RuntimeWarning, match="divide by zero"):
        lw.vmap(func)(np.array([2.0, 0.0, 3.0]))


def test_branches_of_what_is_not_mapped():
    taken = []

    def func(x, flag):
        if flag > 0:
            return x + 1
        return lw.py_func(lambda v: taken.append(1) or v, [x], float)

    got = lw.vmap(func, (0, None))(X[:6], np.array(1.0))
    np.testing.assert_array_equal(got, X[:6] + 1)
    assert not taken
    assert_follows(if_else, np.array(2.0)[None], in_dims=0)


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_in_chunks(chunk):
    got = lw.vmap(elif_chain, chunk_size=chunk)(X)
    np.testing.assert_array_equal(got, [elif_chain(x) for x in X])


def test_other_ways_to_map():
    expected = np.array([elif_chain(x) for x in X])
    np.testing.assert_array_equal(lw.map_fn(elif_chain, X), expected)
    np.testing.assert_array_equal(lw.vectorized_map(elif_chain, X), expected)
    np.testing.assert_array_equal(lw.vectorize(elif_chain)(X), expected)
    np.testing.assert_array_equal(lw.vectorize(elif_chain)(X.reshape(7, 1)), expected[:, None])


def test_nested_maps():
    def outer(row, n):
        if n > 0:
            row = row + n
        return lw.vmap(if_else)(row)

    assert_follows(outer, ROWS, N)
    expected = [[nested(x, n) for n in N] for x in X[:6]]
    got = lw.vmap(lw.vmap(nested, (None, 0)), (0, None))(X[:6], N)
    np.testing.assert_array_equal(got, expected)
    got = lw.vmap(lw.vmap(nested, (0, None)), (None, 0), out_dims=1)(X[:6], N)
    np.testing.assert_array_equal(got, expected)


def test_a_map_inside_of_a_branch():
    def func(row, n):
        if n > 0:
            return lw.vmap(lambda v: v * n if v > 0 else v)(row).sum()
        return -1.0

    assert_follows(func, ROWS, N)


def too_large_for_its_partner(t):
    return 300 if t > 0 else t


def too_large_before(t):
    c = 1000
    if t > 1:
        c = t
    return c


def too_far_for_its_partner(x):
    return 1e300 if x > 0 else x


def test_python_numbers_that_the_other_branch_has_no_room_for():
    for dtype in ("i1", "u1", "i4"):
        for func in (too_large_for_its_partner, too_large_before):
            assert_follows(func, np.array([0, 1, 2, 5], dtype))
    np.testing.assert_array_equal(
        lw.vmap(too_far_for_its_partner)(np.array([1, -1], "f4")), [1e300, -1]
    )


# --- what cannot be followed ----------------------------------------------------------------------


def shapes_differ(row):
    if row[0] > 0:  # noqa: SIM108
        part = row
    else:
        part = row[:2]
    return part.sum()


def structures_differ(x):
    found = (x, x) if x > 0 else (x, x, x)
    return found


def objects_differ(x):
    name = "positive" if x > 0 else 1.0
    return name == 1.0


@pytest.mark.parametrize(
    ("func", "batch", "name"),
    [
        (structures_differ, X, "result|found"),
        (objects_differ, X, "name"),
    ],
)
def test_what_differs_too_much_is_refused_by_name(func, batch, name):
    with pytest.raises((lw.UnsupportedError, lw.ConcretizationError), match=name) as info:
        lw.vmap(func)(batch)
    assert "test_constructs_branches.py:" in str(info.value)


def test_shapes_that_differ_are_followed_or_refused_by_name():
    try:
        got = lw.vmap(shapes_differ)(ROWS)
    except lw.UnsupportedError as error:
        assert "part" in str(error) and "test_constructs_branches.py:" in str(error)
        assert "3" in str(error) and "2" in str(error)
    else:
        np.testing.assert_array_equal(got, [shapes_differ(row) for row in ROWS])


def unbound_on_one_way(x):
    if x > 0:
        y = x * 2
    return y


def deleted_on_one_way(x):
    y = x
    if x > 0:
        del y
    return y


@pytest.mark.parametrize("func", [unbound_on_one_way, deleted_on_one_way])
def test_unbound_variables_raise_for_the_examples_that_use_them(func):
    with pytest.raises(UnboundLocalError, match=r"y.*(?s:.)*example 1"):
        lw.vmap(func)(np.array([1.0, -1.0, 2.0]) * (1 if func is unbound_on_one_way else -1))
    fine = np.array([1.0, 2.0]) * (1 if func is unbound_on_one_way else -1)
    np.testing.assert_array_equal(lw.vmap(func)(fine), [func(v) for v in fine])


def test_the_truth_of_an_array_is_refused_as_numpy_does():
    def func(row):
        return 1 if row > 0 else 2

    with pytest.raises(ValueError, match=r"truth value(?s:.)*test_constructs_branches.py:"):
        lw.vmap(func)(ROWS)


def test_without_autograph():
    with pytest.raises(lw.ConcretizationError, match=r"np\.where instead of if"):
        lw.vmap(if_else, autograph=False)(X)
    np.testing.assert_array_equal(lw.vmap(lambda x: x + 1, autograph=False)(X[:6]), X[:6] + 1)
