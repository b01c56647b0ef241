"""What plain code raises in a branch, for the examples that get there and for no others."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

X = np.array([1.0, 2.0, 3.0])
N = np.array([3, 1, 2])
ZERO, ENTRIES, FEW = 0, {"a": 1}, [1, 2]
CASES = []


def case(*args):
    def enter(func):
        CASES.append(pytest.param(func, args, id=func.__name__))
        return func

    return enter


def outcome(func, args):
    try:
        return func(*args)
    except Exception as error:
        return error


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize(("func", "args"), CASES)
def test_as_the_loop(func, args, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    wanted = [outcome(func, row) for row in zip(*args, strict=True)]
    raised = [w for w in wanted if isinstance(w, Exception)]
    for mapped in (lw.vmap(func), lw.function(lw.vmap(func))):
        got = outcome(mapped, args)
        if raised:
            assert type(got) is type(raised[0])
            assert "in example" in "".join([str(got), *getattr(got, "__notes__", ())])
        else:
            expected = np.stack([np.asarray(w) for w in wanted])
            assert not isinstance(got, Exception), got
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype
    traced = lw.function(func)
    for row, want in zip(zip(*args, strict=True), wanted, strict=True):
        got = outcome(traced, [np.asarray(x) for x in row])
        assert type(got) is type(want) or np.asarray(got).dtype == np.asarray(want).dtype
        assert isinstance(want, Exception) or got == want


# --- variables that have no value -----------------------------------------------------------------


@case(X, N)
def bound_in_the_first_iteration(a, n):
    i = 0
    while i < n:
        i += 1
        if i == 1:
            x = a
        else:
            a = a + x
    return a


@case(X, N)
def bound_at_the_end_of_an_iteration(a, n):
    i = 0
    while i < n:
        i += 1
        if i > 1:
            a = a + x  # noqa: F821
        x = a  # noqa: F841
    return a


@case(X, N)
def bound_in_the_second_iteration(a, n):
    i = 0
    while i < n:
        i += 1
        if i == 2:
            x = a
        else:
            a = a + x
    return a


@case(X, N)
def bound_in_nested_loops(a, n):
    for i in range(n):
        for j in range(i + 1):
            if i == 0:
                q = a + j
            else:
                a = a + q
    return a


@case(X, N)
def bound_in_an_inner_loop(a, n):
    i = 0
    while i < n:
        i += 1
        while True:
            if i == 1:
                x = a
                y = i
            else:
                a = a + x * y
            break
    return a + i


@case(X, N)
def never_bound(a, n):
    for i in range(n):
        if i == 5:
            return z  # noqa: F821
        if i == 7:
            z = i * 2  # noqa: F841
        last = i
    return a + last


@case(X, N)
def bound_by_a_helper(a, n):
    def add(k):
        nonlocal total
        if k == 0:
            total = a
        if k > 0:
            total = total + a

    total = None
    for i in range(n):
        add(i)
    return total


# --- constants that raise -------------------------------------------------------------------------


@case(X)
def modulo_in_a_loop(x):
    s = 0.0
    for i in range(4):
        if x > i and ZERO != 0:
            s = s + i % ZERO
    return s


@case(X)
def modulo_in_a_branch(x):
    if x > 5:
        return 1 % ZERO
    return x


@case(X)
def missing_entry(x):
    if x > 2:
        return ENTRIES["b"] + x
    return x


@case(X)
def index_in_an_expression_not_taken(x):
    return x if x < 5 else FEW[7]


@case(X)
def index_in_an_expression_taken(x):
    return x if x < 2.5 else FEW[7]


@case(X)
def division_in_an_expression(x):
    return x * 2 if x < 5 else np.sqrt(x + 1 % ZERO)


@case(X)
def division_in_a_condition(x):
    return x if x < 5 or 1 // ZERO else 0.0


@case(X)
def index_in_a_condition(x):
    return (x > 10 and FEW[5]) or x


@case(X)
def text_that_is_no_number(x):
    y = int("a") if x > 9 else 1
    if x > 8:
        y = float("b")
    return y * x


@case(X)
def singular_matrix(x):
    y = x
    if x > 9:
        y = np.linalg.inv(np.zeros((2, 2)))[0, 0]
    return y * x


@case(X)
def in_a_while_loop(x):
    while x < 3:
        x = x + 1
        if x > 10:
            x = x + 1 / ZERO
    return x


@case(X)
def first_thing_in_a_while_loop(x):
    while x < 3:
        x = x + FEW[8]
    return x


@case(X)
def in_a_long_loop(x):
    for i in range(40):
        if x > i + 10:
            x = x + FEW[8]
        x = x + 1 if x < 40 else x - 1
    return x


def helper(k):
    if k > 3:
        raise ValueError("own")
    return k


@case(X)
def helper_that_raises_for_nobody(x):
    return helper(2) + x if x < 2 else (helper(5) if x > 100 else x)


@case(X)
def helper_that_raises(x):
    return helper(2) + x if x < 2 else helper(5)


def careful(k):
    try:
        return FEW[k]
    except IndexError:
        return -1


@case(X)
def helper_that_handles_it(x):
    return x + careful(7) if x > 1 else careful(1) + x


@case(X)
def shapes_that_do_not_fit(x):
    if x > 10:
        return np.ones(3) @ np.ones(4)
    return x


@case(X)
def assertion(x):
    if x > 1:
        assert ZERO, "no"
    return x


@case(X)
def pattern(x):
    match 1 if x > 1 else 2:
        case 1:
            y = FEW[0]
        case 2:
            y = FEW[1]
        case _:
            y = FEW[2]
    return y * x


@case(X)
def in_a_generator(x):
    return sum(FEW[k] if x > 100 else x for k in range(4))


@case(X)
def attribute_in_a_branch(x):
    if x > 100:
        return x.nothing
    return x


def test_refusals_are_refused():
    """What Lanewise does not follow is said before anything runs, whoever gets there."""
    with pytest.raises(lw.errors.UnsupportedError):
        lw.vmap(lambda x: np.array2string(x) if x > 100 else x)(X)
    with pytest.raises(lw.errors.ConcretizationError):
        lw.vmap(lambda x: float("1" * x) if x > 100 else x)(X)


def test_derivatives():
    def f(x):
        if x > 5:
            x = x * (1 / ZERO)
        return x**2 if x < 7 else FEW[9]

    np.testing.assert_array_equal(lw.vmap(lw.grad(f))(X), 2 * X)
    with pytest.raises(ZeroDivisionError):
        lw.grad(f)(6.0)
