"""Python's builtins on traced values: what they give on each example's numbers."""

from __future__ import annotations

import copy
import functools
import itertools
import numbers
import operator
import re
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.calls import fn
from lanewise.autograph.containers import contains
from lanewise.errors import ConcretizationError, UnsupportedError
from support.oracle import assert_maps

# Outside of a trace `fn` returns what it is given, so that a function is its own oracle.

FLOATS = np.array([-2.5, -0.5, 0.5, 1.5, 2.5, 7.0])
INTS = np.array([-3, 0, 1, 2, 5, 9])
ROWS = np.array([[3.0, 1.0, 2.0, -0.0, 0.0], [5.0, 5.0, 1.0, 9.0, -7.0], [0.0, 0.0, 0.0, 0.0, 0.0]])


def raises(func, xs, error, match=None):
    """Assert that some example raises natively, and that the map raises the same."""
    with pytest.raises(error) as native:
        for x in xs:
            func(x)
    with pytest.raises(error, match=match or re.escape(str(native.value)[:20])):
        lw.vmap(func)(xs)


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float, np.float32, int, np.int8, np.uint8, bool])
@pytest.mark.parametrize("kind", [int, float, complex, bool])
def test_conversions(kind, dtype):
    xs = FLOATS.astype(dtype) if dtype is not np.uint8 else np.arange(6, dtype=np.uint8)
    assert_maps(lambda x: fn(kind)(x), xs)
    assert_maps(lambda x: fn(kind)(x) * 2, xs)


def test_conversion_gives_a_python_number():
    assert_maps(lambda x: fn(int)(x) / 2, FLOATS)
    assert_maps(lambda x: fn(float)(x) * np.float32(2), FLOATS.astype(np.float32))
    assert_maps(lambda x: np.float32(1.5) * fn(int)(x), FLOATS)
    assert_maps(lambda x: fn(bool)(x) + fn(bool)(x), FLOATS)


@pytest.mark.filterwarnings("ignore:complex.. argument:DeprecationWarning")
def test_complex_of_parts():
    assert_maps(lambda x: fn(complex)(x, 2), FLOATS)
    assert_maps(lambda x: fn(complex)(1, x), FLOATS)
    assert_maps(lambda x: fn(complex)(x, x * 2j), FLOATS)
    assert_maps(lambda x: fn(complex)(real=x, imag=1.5), FLOATS)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_int_raises_what_python_raises(bad):
    raises(lambda x: fn(int)(x), np.array([1.0, bad]), (ValueError, OverflowError), "convert float")


def test_int_beyond_64_bits_is_an_error():
    with pytest.raises(OverflowError, match="64 bits"):
        lw.vmap(lambda x: fn(int)(x))(np.array([1.0, 1e300]))


@pytest.mark.parametrize("kind", [int, float])
def test_arrays_are_no_numbers(kind):
    raises(lambda x: fn(kind)(x), np.ones((2, 1)), TypeError)


def test_complex_numbers_lose_their_imaginary_part_with_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_maps(lambda x: fn(float)(x), FLOATS + 1j)
        assert_maps(lambda x: fn(int)(x), FLOATS + 1j)


@pytest.mark.parametrize("digits", [None, 0, 1, -1])
@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_round(digits, dtype):
    xs = (np.array([-25.55, 2.5, 3.5, 0.05, 14.449, 15.0]) * 1).astype(dtype)
    if digits is None:
        assert_maps(lambda x: fn(round)(x), xs)
    else:
        assert_maps(lambda x: fn(round)(x, digits), xs)
        assert_maps(lambda x: fn(round)(fn(float)(x), digits), xs)
        assert_maps(lambda x: fn(round)(fn(int)(x), digits), xs)


def test_round_of_python_floats_is_exact():
    xs = np.array([2.675, 1.005, 0.285, 1e22, 5e-324, 0.5, np.inf])
    assert_maps(lambda x: fn(round)(fn(float)(x), 2), xs)
    assert_maps(lambda x: fn(round)(fn(float)(x), fn(int)(x) % 3), xs[:3])


def test_round_refuses_what_numpy_refuses():
    raises(lambda x: fn(round)(x), np.array([True]), TypeError)
    raises(lambda x: fn(round)(x), np.array([np.nan]), ValueError)


def test_powers_with_a_modulus():
    def power(x):
        return fn(pow)(fn(int)(x), 5, 7), fn(pow)(3, fn(int)(x), 2**61 - 1)

    assert_maps(power, np.array([0, 1, 2, 6, 100]))
    assert_maps(lambda x: fn(pow)(fn(int)(x), -1, 11), np.array([1, 2, 6, 10]))
    raises(lambda x: fn(pow)(fn(int)(x), -1, 12), np.array([1, 2]), ValueError)
    raises(lambda x: fn(pow)(x, 2, 5), np.array([1, 2]), TypeError)
    assert_maps(lambda x: fn(pow)(x, 2), FLOATS)


def test_operators_by_name():
    assert_maps(lambda x: fn(operator.truth)(x), FLOATS)
    assert_maps(lambda x: fn(operator.not_)(x - 1.5), FLOATS)
    assert_maps(lambda x: fn(operator.index)(x), INTS)
    assert_maps(lambda x: fn(operator.add)(x, 2), INTS)
    raises(lambda x: fn(operator.index)(x), FLOATS, TypeError)
    assert_maps(lambda x: fn(operator.getitem)([1, 2, 3], x % 3), INTS)
    assert_maps(lambda x: fn(operator.contains)([1, 2, 3], x), INTS)


def test_abs_and_divmod():
    assert_maps(lambda x: fn(abs)(x), FLOATS)
    assert_maps(lambda x: fn(divmod)(x, 2), INTS)
    assert_maps(lambda x: fn(divmod)(fn(int)(x), 3), FLOATS)
    raises(lambda x: fn(divmod)(3, fn(int)(x)), INTS, ZeroDivisionError, "by zero")


# --- types ----------------------------------------------------------------------------------------

KINDS = [int, float, complex, bool, numbers.Number, numbers.Real, numbers.Integral, np.floating,
         np.integer, np.generic, np.ndarray, np.float64, np.float32, str, (int, np.integer),
         list | np.ndarray]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("dtype", [float, np.float32, int, complex, bool])
def test_isinstance(kind, dtype):
    xs = np.ones(2, dtype)
    assert_maps(lambda x: fn(isinstance)(x, kind), xs)
    assert_maps(lambda x: fn(isinstance)(x, kind), np.ones((2, 3), dtype))
    if dtype is not complex:
        for make in (int, float, bool, complex):
            assert_maps(lambda x, make=make: fn(isinstance)(fn(make)(x), kind), xs)


def test_isinstance_of_a_tensor_is_one_too():
    assert lw.vmap(lambda x: fn(isinstance)(x, lw.Tensor))(FLOATS).all()


# --- least and greatest ---------------------------------------------------------------------------


@pytest.mark.parametrize("function", [min, max])
def test_extremes_of_numbers(function):
    assert_maps(lambda x: fn(function)(x, 0.75), FLOATS)
    assert_maps(lambda x: fn(function)(0, x, 2), FLOATS)
    assert_maps(lambda x: fn(function)(x, 2 * x, -x), INTS)
    assert_maps(lambda x: fn(function)([x, 1.0, 2 * x, -x, 3.0, x]), FLOATS)
    assert_maps(lambda x: fn(function)(fn(int)(x), 1) / 2, FLOATS)
    assert_maps(lambda x: fn(function)([x], default=3), FLOATS)
    assert_maps(lambda x: x + fn(function)([], default=3), FLOATS)
    raises(lambda x: x + fn(function)([]), FLOATS, ValueError)


@pytest.mark.parametrize("function", [min, max])
def test_extremes_of_rows(function):
    assert_maps(lambda x: fn(function)(x), ROWS)
    assert_maps(lambda x: fn(function)(x), ROWS.astype(int))
    assert_maps(lambda x: fn(function)(x), ROWS > 0)
    assert_maps(lambda x: fn(function)(x), ROWS + 1j)
    assert_maps(lambda x: fn(function)(x, key=lambda v: -v), ROWS)
    assert_maps(lambda x: fn(function)(x, key=abs), ROWS)
    raises(lambda x: fn(function)(x), np.ones((2, 3, 2)), ValueError, "ambiguous")


@pytest.mark.parametrize("function", [min, max])
def test_extremes_know_nan_and_signed_zeros_as_python_does(function):
    values = [1.0, 0.0, -0.0, np.nan, np.inf, -np.inf]
    rows = np.array(list(itertools.product(values, repeat=3)))
    for f in (
        lambda x: fn(function)(x),
        lambda x: fn(function)(x[0], x[1], x[2]),
        lambda x: fn(function)(0.0, x[0], x[1]),
        lambda x: fn(function)([x[0], x[1], x[2], 0.0, x[1], 1.0]),
    ):
        got = lw.vmap(f)(rows)
        want = np.array([f(row) for row in rows], float)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_the_place_of_an_extreme():
    assert_maps(lambda x: fn(min)(range(5), key=lambda i: x[i]), ROWS)
    assert_maps(lambda x: fn(max)(range(5), key=lambda i: x[i]), ROWS)
    assert_maps(lambda x: fn(max)([(x[i], i) for i in range(5)]), ROWS)
    assert_maps(lambda x: fn(min)(fn(zip)(x, [4, 3, 2, 1, 0])), ROWS)
    assert_maps(lambda x: fn(max)(fn(enumerate)(x), key=lambda pair: pair[1]), ROWS)


def test_extremes_of_other_things_are_refused():
    with pytest.raises(ConcretizationError, match="Only numbers"):
        lw.vmap(lambda x: fn(max)([np.sin, (1, 2)], key=lambda f: x)[0])(FLOATS)


# --- sums, and truth of many ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float, np.float32, int, np.int8, bool, complex])
def test_sum(dtype):
    rows = (ROWS * 3).astype(dtype)
    assert_maps(lambda x: fn(sum)(x), rows)
    assert_maps(lambda x: fn(sum)(x, 1), rows)
    assert_maps(lambda x: fn(sum)([x[0], 1, x[1]]), rows)
    assert_maps(lambda x: fn(sum)(x), np.stack([rows, rows], -1))
    assert_maps(lambda x: fn(sum)(x, x[0]), rows)


def test_any_and_all():
    rows = np.array([[0.0, 1.0], [0.0, 0.0], [np.nan, 2.0]])
    for function in (any, all):
        assert_maps(lambda x, f=function: fn(f)(x), rows)
        assert_maps(lambda x, f=function: fn(f)([x[0], x[1] > 1]), rows)
        assert_maps(lambda x, f=function: fn(f)(v > 0 for v in x), rows)
        assert_maps(lambda x, f=function: fn(f)([]) + x[0], rows)
        assert_maps(lambda x, f=function: fn(f)([True, x[0]]), rows)
        assert_maps(lambda x, f=function: fn(f)([False, x[0]]), rows)
        raises(lambda x, f=function: fn(f)(x), np.ones((2, 2, 2)), ValueError, "ambiguous")


# --- sorting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_sorted(reverse):
    def order(x):
        return fn(sorted)(x, reverse=reverse)

    for rows in (ROWS, ROWS.astype(int), ROWS.astype(np.float32), ROWS > 0):
        assert_maps(order, rows)
    assert_maps(lambda x: fn(sorted)([x[0], 2.0, x[1]], reverse=reverse), ROWS)
    assert_maps(lambda x: fn(sorted)([fn(int)(x[0]), 2], reverse=reverse)[0] / 2, ROWS)
    signs = lw.vmap(order)(ROWS)
    for row, got in zip(ROWS, np.stack(signs, 1), strict=True):
        np.testing.assert_array_equal(np.signbit(got), np.signbit(order(row)))


@pytest.mark.parametrize("reverse", [False, True])
def test_sorted_by_key(reverse):
    def places(x):
        return fn(sorted)(range(5), key=lambda i: x[i], reverse=reverse)

    assert_maps(places, ROWS)
    assert_maps(lambda x: fn(sorted)(x, key=lambda v: -abs(v), reverse=reverse), ROWS)
    assert_maps(lambda x: fn(sorted)(x, key=lambda v: (v > 1, -v), reverse=reverse), ROWS)
    assert_maps(lambda x: fn(sorted)(fn(zip)(x, range(5)), reverse=reverse), ROWS)
    assert_maps(lambda x: fn(sorted)([(x, 1), (2 * x, 0)], key=lambda p: p[1])[0][0], ROWS)
    assert_maps(lambda x: fn(sorted)(["b", "a"], reverse=reverse)[0] == "a" or x, FLOATS > 9)


def test_sorted_refuses_nan():
    with pytest.raises(ValueError, match="NaN"):
        lw.vmap(lambda x: fn(sorted)(x))(np.array([[1.0, np.nan]]))


# --- membership -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "container",
    [range(5), range(9, -4, -3), [1, 2, 5], (1, 2.5), {1, 5}, {2: "a"}, frozenset({9}), [],
     np.array([1, 2, 5]), [1, "a", None], list(range(0, 40, 3)), range(3, 3),
     {1.0, 2.0, 5.5, 7, 9}],
    ids=str,
)  # fmt: skip
def test_contains(container):
    assert_maps(lambda x: contains(container, x), INTS)
    assert_maps(lambda x: contains(container, x), FLOATS)
    assert_maps(lambda x: contains(container, fn(int)(x)), FLOATS)
    assert_maps(lambda x: contains(container, x), np.array([np.nan, 1.0]))


def test_contains_in_data():
    assert_maps(lambda x: contains(x, 5), ROWS)
    assert_maps(lambda x: contains(x, x[1]), ROWS)
    assert_maps(lambda x: contains([x[0], x[2]], 3.0), ROWS)
    assert_maps(lambda x: contains({(3, 1), (5, 5)}, (x[0], x[1])), ROWS)
    assert_maps(lambda x: contains(fn(range)(fn(int)(x)), 3), np.array([2, 4]))
    assert_maps(lambda x: contains(fn(range)(fn(int)(x), 20, 3), x + 6), np.array([2, 4]))
    assert_maps(lambda x: contains(fn(range)(20, 0, -fn(int)(x)), 16), np.array([2, 3, 4]))


def test_user_classes_answer_themselves():
    class Interval:
        def __init__(self, low, high):
            self.low, self.high = low, high

        def __contains__(self, x):
            return np.logical_and(self.low <= x, x < self.high)

        def __len__(self):
            return 2

    assert_maps(lambda x: contains(Interval(0, 2), x), FLOATS)
    assert_maps(lambda x: x * fn(len)(Interval(0, 2)), FLOATS)


# --- the rest -------------------------------------------------------------------------------------


def test_functions_that_call_back():
    assert_maps(lambda x: fn(list)(fn(map)(int, x)), ROWS)
    assert_maps(lambda x: fn(sum)(fn(map)(lambda v: v * v, x)), ROWS)
    assert_maps(lambda x: fn(functools.reduce)(lambda a, b: a * 2 + b, x), ROWS)
    assert_maps(lambda x: fn(list)(fn(itertools.accumulate)(x)), ROWS)
    assert_maps(lambda x: fn(list)(fn(itertools.accumulate)(x, max)), ROWS)
    assert_maps(lambda x: fn(list)(fn(filter)(lambda i: i > 1, range(4)))[0] + x, FLOATS)


def test_copies():
    def copies(x):
        first = [[x], [2 * x]]
        second = fn(copy.deepcopy)(first)
        second[0][0] = 0
        return first[0][0], second[1][0], fn(list)(first)[0][0], fn(dict)(a=x)["a"]

    assert_maps(copies, FLOATS)


def test_plain_data_are_handed_on():
    def plain(x):
        assert fn(int)("12", 5) == 7 and fn(float)("1.5") == 1.5
        assert fn(sorted)([3, 1, 2], reverse=True) == [3, 2, 1]
        assert fn(max)("abc") == "c" and fn(min)([], default=None) is None
        assert fn(len)([1, 2]) == 2 and fn(range)(3) == range(3)
        assert type(fn(enumerate)({1: 2})) is enumerate and type(fn(zip)({1: 2})) is zip
        assert list(fn(enumerate)([1])) == [(0, 1)] and list(fn(zip)([1], "a")) == [(1, "a")]
        assert fn(isinstance)(3, int) and contains("abc", "b") and not contains([1], 2)
        assert fn(round)(2.567, 1) == 2.6 and fn(sum)([[1], [2]], []) == [1, 2]
        assert fn(next)(fn(iter)([4])) == 4 and fn(any)([0, 1]) is True
        return x

    assert_maps(plain, FLOATS)


def test_what_cannot_be_followed_says_so():
    with pytest.raises(UnsupportedError, match="round"):
        lw.vmap(lambda x: fn(round)(x, fn(int)(x)))(FLOATS)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        lw.vmap(lambda x: fn(range)(x))(FLOATS)
