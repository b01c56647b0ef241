"""assert, raise, print and errors: what they say, of which example, at which line."""

from __future__ import annotations

import math
import re
import traceback
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import lanewise as lw

X = np.array([1.0, 4.0, -2.0, 9.0, -3.0])
N = np.array([3, 0, 2, 5, 1])


class OwnError(Exception):
    def __init__(self, value, *, code=7):
        super().__init__(f"own: {value}")
        self.value, self.code = value, code


def asserts(x):
    y = x * 2
    assert y > 0, f"y is {y}, not positive"  # the assert
    return y


def asserts_plainly(x):
    assert x > 0  # the assert
    return x


def raises(x):
    if x < 0:
        raise ValueError(f"no root of {x:.1f}")  # the raise
    return math.sqrt(x)


def raises_own(x):
    if x < 0:
        raise OwnError(x, code=3)
    return x


def raises_class(x):
    if x < 0:
        raise ValueError
    return x


def raises_in_else(x):
    if x >= 0:
        y = x
    else:
        raise ValueError("negative")
    return y


def raises_in_loop(x, n):
    for k in range(n):
        if x + k < -1.5:
            raise RuntimeError(f"turn {k} of x = {x}")
        x += 1
    return x


def raises_in_while(x, n):
    while n > 0:
        n -= 1
        if n == 1 and x < 0:
            raise RuntimeError("in the loop")
    return n


def raises_in_helper(x):
    return raises(x) + 1


def raises_in_lambda(x):
    check = lambda v: v if v > 0 else raises(v)  # noqa: E731
    return check(x)


def fail(x):
    raise ValueError(f"no {x}")


def raises_in_conditional_expression(x):
    y = fail(x) if x < 0 else 0.5
    return y + x


def raises_in_or(x):
    x > 0 or fail(x)
    return x


def raises_in_and(x):
    return x < 0 and fail(x)


def raises_in_argument(x):
    return abs(x + (fail(x) if x < 0 else 1.0))


def raises_in_nested_expression(x):
    return 1.0 if x > 5 else (2.0 if x > 0 else fail(x))


def raises_from(x):
    if x < 0:
        raise ValueError("outer") from KeyError("inner")
    return x


def raises_in_match(x):
    match int(x):
        case 1 | 4 | 9:
            return x
        case other:
            raise LookupError(f"unknown {other}")


def raises_if_all_but_one(x):
    if x != 9:
        raise ValueError("not nine")
    return x


@pytest.mark.parametrize(
    ("func", "error", "message"),
    [
        (asserts, AssertionError, r"y is -4.0, not positive(?s:.)*example 2(?s:.)*# the assert"),
        (asserts_plainly, AssertionError, r"example 2"),
        (raises, ValueError, r"no root of -2.0(?s:.)*example 2(?s:.)*# the raise"),
        (raises_own, OwnError, r"own: -2.0"),
        (raises_class, ValueError, None),
        (raises_in_else, ValueError, r"negative(?s:.)*example 2"),
        (raises_in_helper, ValueError, r"no root of -2.0(?s:.)*example 2(?s:.)*# the raise"),
        (raises_in_lambda, ValueError, r"no root of -2.0(?s:.)*example 2"),
        (raises_in_conditional_expression, ValueError, r"no -2.0(?s:.)*example 2"),
        (raises_in_or, ValueError, r"no -2.0(?s:.)*example 2"),
        (raises_in_and, ValueError, r"no -2.0(?s:.)*example 2"),
        (raises_in_argument, ValueError, r"no -2.0(?s:.)*example 2"),
        (raises_in_nested_expression, ValueError, r"no -2.0(?s:.)*example 2"),
        (raises_from, ValueError, "outer"),
        (raises_in_match, LookupError, r"unknown -2(?s:.)*example 2"),
        (raises_if_all_but_one, ValueError, r"not nine(?s:.)*example 0"),
    ],
)
@pytest.mark.parametrize("chunk", [None, 2])
def test_raised_for_the_example_that_comes_there(func, error, message, chunk):
    with pytest.raises(error, match=message) as info:
        lw.vmap(func, chunk_size=chunk)(X)
    assert type(info.value) is error
    good = X[X > 0] if func is not raises_if_all_but_one else X[3:4]
    np.testing.assert_array_equal(lw.vmap(func)(good), [func(x) for x in good])
    with pytest.raises(error):
        func(X[2])
    with pytest.raises(error):
        lw.map_fn(func, X)


@pytest.mark.parametrize("func", [raises_in_loop, raises_in_while])
def test_raised_in_loops(func):
    with pytest.raises(RuntimeError, match=r"example 2") as info:
        lw.vmap(func)(X, N)
    assert func is not raises_in_loop or "turn 0 of x = -2.0" in str(info.value)
    good = X > 0
    np.testing.assert_array_equal(
        lw.vmap(func)(X[good], N[good]), [func(x, n) for x, n in zip(X[good], N[good], strict=True)]
    )


def test_attributes_of_an_own_exception():
    with pytest.raises(OwnError) as info:
        lw.vmap(raises_own)(X)
    assert info.value.code == 3 and float(info.value.value) == -2.0
    assert "example 2" in str(info.value) or "example 2" in str(info.value.__notes__)


def test_cause():
    with pytest.raises(ValueError, match="outer") as info:
        lw.vmap(raises_from)(X)
    assert isinstance(info.value.__cause__, KeyError)


def test_the_first_example_that_raises_is_named_whatever_is_raised_first():
    def func(x):
        if x < -2.5:
            raise KeyError("late example, early line")
        if x < 0:
            raise ValueError("early example, late line")
        return x

    with pytest.raises((KeyError, ValueError), match=r"example [24]"):
        lw.vmap(func)(X)


def test_nobody_raises_in_an_empty_batch():
    assert lw.vmap(raises)(np.zeros(0)).shape == (0,)


def test_nested_maps_name_both_indices_or_the_outer_one():
    with pytest.raises(ValueError, match=r"example"):
        lw.vmap(lw.vmap(raises))(X.reshape(5, 1))


def test_a_raise_that_catches_itself_or_is_refused():
    def func(x):
        try:
            if x < 0:
                raise ValueError("negative")
            y = x
        except ValueError:
            y = 0.0
        return y

    try:
        got = lw.vmap(func)(X)
    except lw.UnsupportedError as error:
        assert "test_constructs_messages.py:" in str(error)
    else:
        np.testing.assert_array_equal(got, [func(x) for x in X])


def test_an_error_that_every_example_would_raise():
    def func(x):
        if x > -100:
            raise OwnError("always")
        return x

    with pytest.raises(OwnError, match="always"):
        lw.vmap(func)(X)


# --- print ----------------------------------------------------------------------------------------


def prints(x, n):
    if x < 0:
        print("negative", x, f"{n:3d}|{x:.2f}")
    elif n:
        print(f"n={n}", end=";\n")
    for k in range(n):
        if k == 1:
            print(k, x + k, sep=",")
    return x


def test_print_once_for_each_example_in_order(capsys):
    lw.vmap(prints)(X, N)
    got = capsys.readouterr().out
    for x, n in zip(X, N, strict=True):
        prints(x, n)
    want = capsys.readouterr().out
    assert got == want and "negative -2.0   2|-2.00" in want


def test_print_of_what_does_not_depend_on_the_data(capsys):
    def func(x):
        print("hello", 3)
        return x

    lw.vmap(func)(X)
    got = capsys.readouterr().out
    assert got.count("hello 3\n") in (1, len(X))


def test_print_of_an_array_and_of_an_unmapped_number(capsys):
    def func(row, k):
        if row[0] > 0:
            print(row, k, {"a": row[0]}, [k])
        return row

    rows = np.arange(6.0).reshape(3, 2) - 1
    lw.vmap(func, (0, None))(rows, 4)
    got = capsys.readouterr().out
    for row in rows:
        func(row, 4)
    assert got == capsys.readouterr().out


# --- where ----------------------------------------------------------------------------------------


def fails_in_function(x):
    y = x + 1
    if x > 0:
        y = np.linalg.inv(np.ones((2, 2)) * y)[0, 0]  # singular
    return y


def test_the_line_of_an_operation_in_a_branch():
    with pytest.raises(np.linalg.LinAlgError, match=r"Singular(?s:.)*example 0 \(.*# singular"):
        lw.vmap(fails_in_function)(X)
    assert lw.vmap(fails_in_function)(X[[2, 4]]).tolist() == [-1, -2]
    with pytest.raises(np.linalg.LinAlgError, match=r"example 2"):
        lw.vmap(fails_in_function)(X[[2, 4, 1]])


def wrong_while_tracing(x):
    total = x
    for k in range(3):
        if x > k:
            total = total + undefined_name  # noqa: F821
    return total


def test_errors_of_the_code_itself_name_its_line_and_the_example():
    line = wrong_while_tracing.__code__.co_firstlineno + 4
    place = rf"example 0 \(.*test_constructs_messages\.py:{line}: total = total \+ undefined_name"
    with pytest.raises(NameError, match=rf"undefined_name(?s:.)*{place}"):
        lw.vmap(wrong_while_tracing)(X)


def deep(x):
    return wrong_in_call(x) if x > 0 else x


def wrong_in_call(x):
    return np.reshape(x, (2, 2))  # the reshape


def test_errors_of_shapes_in_branches_of_helpers():
    with pytest.raises(ValueError, match=r"reshape") as info:
        lw.vmap(deep)(X)
    rows = traceback.extract_tb(info.tb)
    assert any("# the reshape" in str(row.line) for row in rows)


def index_out_of_bounds(x, n):
    a = np.arange(3.0)
    if n != 5:
        x = x + a[n]  # the index
    return x


def test_indices_out_of_bounds_in_a_branch_taken():
    with pytest.raises(IndexError, match=r"(?s)(bounds|range).*example 0.*# the index"):
        lw.vmap(index_out_of_bounds)(X, N)
    ok = N != 3
    np.testing.assert_array_equal(
        lw.vmap(index_out_of_bounds)(X[ok], N[ok]),
        [index_out_of_bounds(x, n) for x, n in zip(X[ok], N[ok], strict=True)],
    )


def test_python_numbers_divide_by_zero_as_in_python():
    def func(n):
        k = int(n)
        return 10 // k if k < 5 else 0

    with pytest.raises(ZeroDivisionError, match="example 1"):
        lw.vmap(func)(N)
    assert lw.vmap(func)(N[[0, 2, 3]]).tolist() == [3, 5, 0]


def test_math_domain_errors():
    def func(x):
        return math.sqrt(x) if x > -2.5 else 0.0

    with pytest.raises(ValueError, match=r"(?s)(domain|nonnegative).*example 2"):
        lw.vmap(func)(X)
    assert lw.vmap(func)(X[[0, 1, 4]]).tolist() == [1, 2, 0]


def test_no_warnings_of_lanewises_own():
    def func(x, n):
        total = 0.0
        for k in range(n):
            total += x / (k + 1) if x > 0 else -x
        return total

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.vmap(func)(X, N)


def test_messages_name_no_inner_names():
    def func(x):
        if x > 0:  # noqa: SIM108
            pair = (x,)
        else:
            pair = (x, x)
        return pair

    with pytest.raises(TypeError) as info:
        lw.vmap(func)(X)
    assert "ag__" not in str(info.value) and "pair" in str(info.value)
    assert re.search(r"test_constructs_messages\.py:\d+", str(info.value))


class Asking:
    def __init__(self, a):
        self.a = a

    def __getattr__(self, name):
        return name


def chosen_that_ask(x):
    return (Asking(x) if x > 0 else Asking(1.0)).a


def chosen_sets(x):
    both = {x} & {1.0, 2.0}
    return len(both if x > 0 else {x} | {1.0})


def an_entry_that_differs(x):
    kept = {"v": [x, 1.0, x, 3.0]}
    if x > 0:
        kept["v"][2] = {"a": 1}
    return len(kept)


def an_attribute_that_differs(x):
    return [Row((x, 1), 2) if x > 0 else Row((x, {"a": x}), 2), 1.0]


@dataclass
class Row:
    cells: tuple
    count: int


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (
            chosen_that_ask,
            "of type Asking in one branch and another Asking in another .* a dataclas",
        ),
        (chosen_sets, "is a set with keys .* in one branch and another set with keys "),
        (
            an_entry_that_differs,
            r"is a list of 4, of which \[2\] is a dict of 1 \('a'\) in one branch and float64 in ",
        ),
        (
            an_attribute_that_differs,
            r"is of type Row, of which .cells\[1\] is a Python int in one branch and a dict of 1 ",
        ),
    ],
)
def test_what_cannot_be_chosen_by_data_is_named_and_what_to_write_instead(func, message):
    with pytest.raises(lw.ControlFlowError, match=message) as raised:
        lw.vmap(func)(np.array([-1.0, 2.0]))
    assert "test_constructs_messages.py:" in str(raised.value)


def of_other_values(x):
    counts = {}
    if x > 0:
        counts[x] = []
    else:
        counts[x] = 1.0
    return len(counts)


def of_other_keys(x):
    seen = set()
    if x > 0:
        seen.add(x)
    else:
        seen.add((x, 1))
    return len(seen)


def keyed_or_not(x):
    found = {1: 2.0}
    if x > 0:
        found[x] = 3.0
    else:
        found = {"a": 1}
    return len(found)


def rows_or_not(x):
    rows = [[1.0, 2.0], [3.0, 4.0], [x, 1.0]]
    rows.sort(key=lambda row: row[0])
    first = rows[0]
    if x > 0:
        first = {"a": 1}
    return len(first)


def list_or_dict(x):
    kept = [v for v in (1.0, 2.0, 3.0) if v < x]
    kept = kept if x > 1 else {"a": 1}
    return len(kept)


def range_or_list(x):
    return sum(range(int(x)) if x > 1 else [1])


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (
            of_other_values,
            r"values \(a list of 0\) in one .* and values \(a Python float\) in another",
        ),
        (of_other_keys, r"a set is one with keys that are data \(float64\) in .* \(a tuple of 2 "),
        (keyed_or_not, r"'found' is a dict with keys that are data .* \('a'\) and values \("),
        (rows_or_not, r"'first' is a dict of 1 \('a'\) in one branch and a list of 2 \("),
        (list_or_dict, r"a value is a list whose length is data in one branch and a dict of 1 "),
        (range_or_list, r"conditional expression is a range in one branch and a list of 1 "),
    ],
)
def test_what_stands_for_lists_and_dicts_is_called_what_it_stands_for(func, message):
    with pytest.raises(lw.ControlFlowError, match=message) as raised:
        lw.vmap(func)(np.array([-1.0, 2.5]))
    assert not re.search("Entries|Picked|Keyed|Grown|Traced|ag__", str(raised.value))


FIELDS = [("u", float), ("v", float)]


def writes_a_field(x):
    z = np.zeros(3, FIELDS)
    z["u"] = x
    return z["u"] + z["v"]


def writes_to_a_field(x):
    z = np.zeros(3, FIELDS)
    z["u"][1:] = x
    return z["u"] + z["v"]


def writes_a_record(x):
    z = np.zeros(3, FIELDS)
    if x > 0:
        z[0] = (1.0, 2.0)
    return z["u"] + z["v"]


def fills_a_field(x):
    z = np.zeros(3, FIELDS)
    z["u"].fill(x)
    return z["u"]


def writes_an_object(x):
    z = np.zeros(3, object)
    z[0] = x
    return z[0]


@pytest.mark.parametrize(
    ("func", "what", "instead"),
    [
        (writes_a_field, r"a\[i\] = v", "an array for each field"),
        (writes_to_a_field, r"a\[i\] = v", "an array for each field"),
        (writes_a_record, r"a\[i\] = v", "an array for each field"),
        (fills_a_field, r"\.fill\(\)", "an array for each field"),
        (writes_an_object, r"a\[i\] = v", "an array of numbers"),
    ],
)
def test_writing_to_arrays_of_other_than_numbers_says_so(func, what, instead):
    message = rf"{what} writes to an array of dtype .*test_constructs_messages.* Use {instead}"
    with pytest.raises(lw.UnsupportedError, match=message):
        lw.vmap(func)(X)


def falls(row, i):
    return row[i + 1] < row[i]


def falling(row):
    i = 0
    try:
        while row[i] > 0 and falls(row, i):
            i += 1
    except IndexError:
        return -1
    return i


def test_a_condition_that_may_raise_is_not_said_to_change_something():
    with pytest.raises(lw.UnsupportedError, match="condition of a loop may raise what a try "):
        lw.vmap(falling)(np.array([[3.0, 2.0, 4.0], [3.0, 2.0, 1.0]]))
