"""A ``raise`` that every example reaches which has not raised before: the earlier one counts."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import lanewise as lw


def branches(v):
    if v > 0:
        raise ValueError("positive")
    raise KeyError("end")


def asserts(v):
    assert v <= 0, "positive"
    raise KeyError("end")


def nested(v):
    return lw.vmap(branches)(v * np.ones(2)).sum()


def caught(v):
    if v > 0:
        raise ValueError("positive")
    try:
        raise KeyError("inner")
    except KeyError:
        return v * 3


ERRORS = {branches: ValueError, asserts: AssertionError, nested: ValueError}
WAYS = {
    "map": lambda f: lambda v: lw.vmap(f)(np.array([v, v])),
    "function": lambda f: lambda v: lw.function(f)(np.array(v)),
    "map of a function": lambda f: lambda v: lw.vmap(lw.function(f))(np.array([v, v])),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("func", ERRORS)
def test_the_error_is_that_of_plain_python(func, way):
    with pytest.raises(ERRORS[func], match="positive"):
        way(func)(1.0)
    with pytest.raises(KeyError, match="end"):
        way(func)(-1.0)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_one_that_is_caught_ends_nothing(way):
    np.testing.assert_array_equal(way(caught)(-1.0), np.full_like(way(caught)(-1.0), -3))
    with pytest.raises(ValueError, match="positive"):
        way(caught)(1.0)


def test_the_first_example_that_raises_counts():
    with pytest.raises(KeyError):
        lw.vmap(branches)(np.array([-1.0, 1.0]))
    with pytest.raises(ValueError, match="positive\n  in example 0"):
        lw.vmap(branches)(np.array([1.0, -1.0]))


def test_what_was_printed_before_is_printed(capsys):
    def f(v):
        print("at", v)
        raise KeyError("end")

    with pytest.raises(KeyError):
        lw.vmap(f)(np.array([1.0, 2.0]))
    assert capsys.readouterr().out == "at 1.0\n"


def test_a_function_with_a_rule_of_its_own_says_so():
    with pytest.raises(lw.UnsupportedError, match="branches raises whatever it is given"):
        lw.grad(lambda v: lw.checkpoint(branches)(v) * 2)(1.0)


def test_an_exit_raises():
    def divided(x):
        if x == 0:
            sys.exit("cannot divide by zero")
        if x < 0:
            sys.exit()
        return 1 / x

    xs = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(lw.vmap(divided)(xs), 1 / xs)
    for x, status in ((0.0, "cannot divide by zero"), (-1.0, None)):
        for call in (lw.function(divided), lambda x: lw.vmap(divided)(np.array([1.0, x]))):
            with pytest.raises(SystemExit) as caught:
                call(x)
            assert caught.value.code == status
    with pytest.raises(SystemExit, match="3"):
        lw.vmap(lambda x: sys.exit(3))(xs)
