"""``with np.errstate(divide="ignore")`` on data: NumPy warns as in the loop, of nothing else."""

import io
import warnings

import numpy as np
import pytest

import lanewise as lw

A = np.array([[1.0, 2.0], [3.0, 0.0], [-1.0, 4.0]])
B = np.array([[0.0, 1.0], [0.0, 0.0], [2.0, 2.0]])


def in_branches(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        c = a / b
        if c[0] > 2:
            c = c / (b * 0)
        else:
            c = -c
            c = np.log(c)
    return c


def in_a_loop(a, b):
    with np.errstate(all="ignore"):
        c = a / b
        for _ in range(3):
            c = np.log(c - 1) if c[1] > 0 else c * 1e308
    return c


def behind_the_block(a, b):
    with np.errstate(all="ignore"):
        c = a / b
    return c + 1 / b


def within_a_loop(a, b):
    n = 0
    while n < 4:
        with np.errstate(over="ignore"):
            a = a * 1e200
        n += 1
        if a[0] > 1e100:
            n += 1
    return a / b


def one_in_another(a, b):
    with np.errstate(divide="ignore"):
        c = a / b
        with np.errstate(invalid="ignore"):
            d = (a + 1 - 1) / (b * 0)
        return c + d


def in_try(a, b):
    try:
        with np.errstate(divide="ignore"):
            c = a / b
            if b[0] == 0:
                raise ValueError
    except ValueError:
        return a
    return c


def in_place(a, b):
    a = a + 0
    try:
        with np.errstate(over="raise", divide="raise", invalid="ignore"):
            a /= b
    except FloatingPointError:
        a[0] = 7
    return a


def divided(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


def in_a_helper(a, b):
    return divided(a, b) + np.log(a)


PROGRAMS = [
    in_branches,
    in_a_loop,
    behind_the_block,
    within_a_loop,
    one_in_another,
    in_try,
    in_place,
    in_a_helper,
]


def told(function):
    """Return what a call gives, and of what it warns at which lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = np.array(function())
    return result, {(str(each.message), each.lineno) for each in caught}


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")  # kernels do not warn


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_warnings_are_those_of_the_loop(program):
    pairs = list(zip(A, B, strict=True))
    expected, warned = told(lambda: [program(a, b) for a, b in pairs])
    traced = lw.function(program)
    for call in (
        lambda: lw.vmap(program)(A, B),
        lambda: lw.function(lw.vmap(program))(A, B),
        lambda: [traced(a.copy(), b) for a, b in pairs],
        lambda: lw.vmap(lw.vmap(program))(A[None], B[None])[0],
    ):
        got, seen = told(call)
        np.testing.assert_allclose(got, expected, rtol=1e-15)
        assert seen == warned


def test_what_is_saved_keeps_it():
    saved = io.BytesIO()
    spec = lw.TensorSpec([2])
    lw.save(lw.function(behind_the_block).get_concrete_function(spec, spec), saved)
    saved.seek(0)
    loaded = lw.load(saved)
    _, warned = told(lambda: behind_the_block(A[0], B[0]))
    _, seen = told(lambda: loaded(A[0], B[0]))
    assert {message for message, _ in seen} == {message for message, _ in warned} != set()


def test_what_is_asked_around_the_call_holds_outside_of_blocks():
    traced = lw.function(behind_the_block)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        traced(A[0], B[0])
    with np.errstate(divide="ignore"):
        assert told(lambda: traced(A[0], B[0]))[1] == set()
