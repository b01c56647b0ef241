"""Traces that are given up, whatever ends them, leave nothing behind in their thread."""

from __future__ import annotations

import contextlib
import types

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from lanewise.trace.limits import TookTooLong
from lanewise.trace.trace import state

XS = np.array([1.0, -2.0, 3.0])
ERRORS = [KeyboardInterrupt, TookTooLong, RecursionError, GeneratorExit]
#: What is raised now where a function is traced.
raised: list[type[BaseException]] = []


def stop():
    """Raise as an interrupt does: no matter which code runs."""
    if raised and state.trace is not None:
        raise raised[0]


def without_source(function):
    """Return a function that nobody converts."""
    code = function.__code__.replace(co_filename="<no file>")
    return types.FunctionType(code, function.__globals__)


stop = without_source(stop)


def in_try(x):
    y = 0.0
    try:
        y = 1 / int(x)
        stop()
    except ZeroDivisionError:
        y = 2.0
    return y


def in_tries(x):
    y = 0.0
    try:
        y = 1 / int(x)
        with contextlib.suppress(IndexError):
            try:
                stop()
            finally:
                y += 1
    except (ZeroDivisionError, ValueError) as error:
        y = len(error.args)
    finally:
        y += 2
    return y


def in_handler(x):
    y = 0.0
    try:
        y = 1 / int(x)
        if x < 0:
            raise ValueError("negative")
    except ValueError:
        stop()
    return y


def in_errstate(x):
    with np.errstate(divide="raise"):
        y = 1 / np.abs(x)
        stop()
    return y


def in_branch(x):
    y = x
    try:
        if x > 0:
            with np.errstate(invalid="raise"):
                y = np.sqrt(x)
                stop()
    except FloatingPointError:
        y = -1.0
    return y


def in_loop(x):
    try:
        while x < 5:
            for _ in range(int(abs(x))):
                x = x + 1 / int(x) ** 2
                stop()
            x = x + 1
    except ZeroDivisionError:
        x = 7.0
    return x


def in_message(x):
    try:
        if x > 0:
            raise ValueError(f"{x} and {stop()}")
    except ValueError:
        return 1.0
    return 0.0


def in_map(x):
    def inner(z):
        try:
            z = z / int(z)
            stop()
        except ZeroDivisionError:
            z = 0.0
        return z

    try:
        return lw.vmap(inner)(np.ones(2) * x).sum()
    except IndexError:
        return 0.0


FUNCTIONS = [
    in_try, in_tries, in_handler, in_errstate, in_branch, in_loop, in_message, in_map,
]  # fmt: skip


def after(a):
    return a[a < 0].sum() + np.sort(a)[0]


@pytest.fixture
def raising():
    yield raised.append
    raised.clear()


def held():
    """Return what this thread keeps for tracing, but for what only an open trace asks for."""
    names = [name for name in vars(type(state)) if not name.startswith("__")]
    return {name: getattr(state, name) for name in names if name != "has_contents"}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("wrap", [lw.vmap, lambda f: lw.function(lw.vmap(f))])
def test_nothing_is_left_of_a_trace_that_is_given_up(f, error, wrap, raising):
    before = held()
    raising(error)
    expected = (error, UnsupportedError) if issubclass(error, Exception) else error
    with pytest.raises(expected) as kept:  # with its traceback, and all that the frames hold
        wrap(f)(XS)
    assert held() == before, kept
    raised.clear()
    assert lw.function(after)(XS) == after(XS)
    np.testing.assert_array_equal(lw.function(lw.vmap(f))(XS), [f(x) for x in XS])


def test_what_is_caught_in_the_trace_leaves_nothing_of_the_tries_within(raising):
    def f(x):
        y = 0.0
        try:
            try:
                y = 1 / int(x)
                stop()
            except IndexError:
                y = 5.0
        except KeyboardInterrupt:
            y = 2.0
        return y + np.array([1.0, 2.0])[int(x)]

    raising(KeyboardInterrupt)
    with pytest.raises(IndexError):
        lw.vmap(f)(np.array([1.0, 2.0]))
