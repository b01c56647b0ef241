"""Symbolic dimensions: polynomials computed with symbols must evaluate to what ints give."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise.ir.dims import Dim, DimLike, dim_max, dim_min, evaluate, product, symbols

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
}
EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from(["n", "m"]), st.integers(-3, 5)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 4)),
    ),
    max_leaves=8,
)


def compute(expression: object, leaves: dict[str, DimLike]) -> DimLike:
    if isinstance(expression, tuple):
        name, *args = expression
        return OPERATIONS[name](*[compute(arg, leaves) for arg in args])
    return leaves[expression] if isinstance(expression, str) else expression  # type: ignore


@settings(deadline=None)
@given(EXPRESSIONS, SIZES)
def test_polynomials_evaluate_as_integers_do(expression, sizes):
    symbolic = compute(expression, {"n": N, "m": M})
    assert evaluate(symbolic, sizes) == compute(expression, sizes)
    assert set(symbols(symbolic)) <= {"n", "m"}


@settings(deadline=None)
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


@settings(deadline=None)
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
        (1 - N, "-1*n+1"),
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
