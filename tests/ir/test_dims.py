"""Symbolic dimensions: polynomials computed with symbols must evaluate to what ints give."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.ir.dims import (
    Dim,
    DimLike,
    bounds,
    differ,
    dim_broadcast,
    dim_if_negative,
    dim_max,
    dim_min,
    product,
    substitute,
    symbols,
)
from lanewise.ir.evaluation import evaluate
from support.searching import searching

N, M = Dim.symbol("n"), Dim.symbol("m")
SIZES = st.fixed_dictionaries({"n": st.integers(1, 9), "m": st.integers(1, 9)})

#: An expression is a leaf, or (name, left, right); both ways to compute with it are below.
OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": dim_min,
    "max": dim_max,
    "negative": dim_if_negative,
}
EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from(["n", "m"]), st.integers(-3, 5)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 4)),
    ),
    max_leaves=8,
)


#: The same with choices by sign, of one size.
CHOICES = st.recursive(
    st.one_of(st.just("n"), st.integers(-3, 5)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "min", "max"]), inner, inner),
        st.tuples(st.just("negative"), inner, inner, inner),
        st.tuples(st.just("//"), inner, st.integers(1, 3)),
    ),
    max_leaves=10,
)


def compute(expression: object, leaves: dict[str, DimLike]) -> DimLike:
    if isinstance(expression, tuple):
        name, *args = expression
        return OPERATIONS[name](*[compute(arg, leaves) for arg in args])
    return leaves[expression] if isinstance(expression, str) else expression  # type: ignore


@searching(100)
@given(EXPRESSIONS, SIZES)
def test_polynomials_evaluate_as_integers_do(expression, sizes):
    symbolic = compute(expression, {"n": N, "m": M})
    assert evaluate(symbolic, sizes) == compute(expression, sizes)
    assert set(symbols(symbolic)) <= {"n", "m"}


@searching(100)
@given(CHOICES, CHOICES)
def test_functions_of_one_size(first, second):
    x, y = (compute(e, {"n": N}) for e in (first, second))
    for n in (*range(8), 30):
        for dim, expression in ((x, first), (y, second)):
            value = compute(expression, {"n": n})
            assert evaluate(dim, {"n": n}) == substitute(dim, {"n": n}) == value
            least, most = bounds(dim)
            assert (least is None or least <= value) and (most is None or value <= most)
        if differ(x, y):
            assert compute(first, {"n": n}) != compute(second, {"n": n})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (dim_min(N, 1) + dim_max(N - 1, 0), N),
        (dim_max(dim_max(N - 1, 0) - dim_min(N, 1), 0), dim_max(N - 2, 0)),
        (dim_max(dim_max(N, 3) - 3, 0), dim_max(N - 3, 0)),
        ((dim_max(N - 1, 0) + 1) // 2, N // 2),
        ((dim_max(N - 3, 0) + 1) // 2, dim_max((N - 2) // 2, 0)),
        (dim_if_negative(N - 3, N - 3 + N, N - 3), dim_if_negative(N - 3, 2 * N - 3, N - 3)),
        (dim_min(dim_min(N, M), M), dim_min(M, N)),
        (dim_broadcast(dim_broadcast(N, M), N, 1), dim_broadcast(M, N)),
        (dim_broadcast(N, 3), 3),
        ((N + 5) // 4 - 1, (N + 1) // 4),
    ],
)
def test_equal_sizes_have_one_form(one, other):
    assert one == other and hash(one) == hash(other)


def test_sizes_that_do_not_broadcast():
    with pytest.raises(ValueError, match="3 and 4 could not be broadcast"):
        dim_broadcast(3, N, 4)
    with pytest.raises(ValueError, match="could not be broadcast"):
        evaluate(dim_broadcast(N, M), {"n": 3, "m": 4})


@searching(100)
@given(EXPRESSIONS, EXPRESSIONS, SIZES)
def test_what_is_decided_holds_for_every_size(left, right, sizes):
    first, second = (compute(e, {"n": N, "m": M}) for e in (left, right))
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq):
        try:
            decided = compare(first, second)
        except TypeError:
            continue  # it depends on the sizes
        if compare is operator.eq and not decided:
            continue  # "not the same for every size"
        assert decided == compare(evaluate(first, sizes), evaluate(second, sizes))


@searching(100)
@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS)
def test_arithmetic_has_one_normal_form(a, b, c):
    x, y, z = (compute(e, {"n": N, "m": M}) for e in (a, b, c))
    assert x + y == y + x and hash(x + y) == hash(y + x)
    assert x * y == y * x
    assert (x + y) * z == x * z + y * z
    assert (x + y) + z == x + (y + z)
    assert x - x == 0 and isinstance(x - x, int)


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (N, "n"),
        (2 * N + 1, "2*n+1"),
        (N * M - 3, "m*n-3"),
        (1 - N, "-n+1"),
        (N * N, "n*n"),
        ((N + 1) // 2, "floordiv(n+1, 2)"),
        (dim_min(N, 4) * 2, "2*min(n, 4)"),
        ((2 * N + 1) % 2, "mod(2*n+1, 2)"),
    ],
)
def test_printed(dim, text):
    assert str(dim) == text


def test_what_cancels_is_an_int_again():
    assert (N + 3) - N == 3 and isinstance((N + 3) - N, int)
    assert N * 0 == 0 and isinstance(N * 0, int)
    assert (6 * N) // 3 == 2 * N
    assert (N * M) // N == M
    assert (4 * N) % 2 == 0
    assert product([2, N, 3]) == 6 * N
    assert dim_min(N, N) is N and dim_max(2, 5) == 5


def test_comparisons_that_sizes_decide_are_refused():
    assert N >= 0 and N + 1 > 0 and not N < 0 and -N <= 0
    for compare in (lambda: N > 0, lambda: N < 4, lambda: bool(N), lambda: N - 1 >= 0):
        with pytest.raises(TypeError, match="known only when the graph runs"):
            compare()


def test_a_symbol_is_no_integer():
    for use in (int, range, operator.index):
        with pytest.raises(TypeError, match="symbolic dimension n has no integer value"):
            use(N)
    with pytest.raises(ZeroDivisionError):
        N // 0


@dataclass(frozen=True)
class Holder:
    """Compares its dimension by code that Python makes."""

    size: DimLike


def test_whether_sizes_are_equal_is_told_only_where_it_is_known():
    assert N == N + 1 - 1 and N + 1 != N and N != "n"
    assert N + np.int64(2) == N + 2 and (N * np.int8(3)) == 3 * N
    for compare in (lambda: N == 3, lambda: N == M, lambda: (N,) == (3,), lambda: np.int64(3) == N):
        with pytest.raises(TypeError, match="known only when the graph runs"):
            compare()
    assert Holder(N) != Holder(M) and Holder(N) == Holder(N)


def test_sizes_that_are_nearly_alike_are_told_apart_by_their_hashes():
    n = Dim.symbol("n")
    shorter = [n - 1, n - 2, dim_max(n - 1, 0), dim_max(n - 2, 0), n * -1, n * -2]
    assert len({hash(dim) for dim in shorter}) == len(shorter)
