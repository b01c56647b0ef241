"""Context managers that end exceptions: on data they are refused by name, else as in Python."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import lanewise as lw

XS = np.array([1.0, -2.0, 3.0])


class Ignoring:
    def __init__(self):
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.seen.append(kind)
        return True


class Matching(Ignoring):
    def __exit__(self, kind, error, traceback):
        return kind is ZeroDivisionError


class Closing(Ignoring):
    def __exit__(self, kind, error, traceback):
        self.seen.append(kind)
        if kind is None:
            return None
        return False


@contextlib.contextmanager
def catching():
    try:
        yield
    except (ValueError, ZeroDivisionError) as error:
        str(error)


@contextlib.contextmanager
def closing():
    try:
        yield
    finally:
        pass


SUPPRESSING = contextlib.suppress(ZeroDivisionError)


@pytest.mark.parametrize("make", [Ignoring, Matching, catching, lambda: SUPPRESSING])
def test_what_data_raise_there_is_refused(make):
    def divides(x):
        y = 0.0
        with make():
            y = 1.0 / int(x - 1)
        return y

    def raises(x):
        with make():
            if x < 0:
                raise ZeroDivisionError
            x = x + 1
        return x

    def in_a_helper(x):
        def helper(v):
            return 1.0 / int(v)

        with make():
            return helper(x - 1)
        return 0.0

    for f in (divides, raises, in_a_helper):
        for mapped in (lw.vmap(f), lw.vmap(f, on_error="collect"), lw.function(lw.vmap(f))):
            with pytest.raises(lw.UnsupportedError, match=r"may be raised.*in a with block of a"):
                mapped(XS)


@pytest.mark.parametrize("make", [Ignoring, Matching, catching, lambda: SUPPRESSING])
def test_what_cannot_raise_is_followed(make):
    def f(x):
        with make():
            x = x * 2 if x > 0 else -x
        return x

    def on_plain_numbers(x):
        y = 5.0
        with make():
            y = 1 / 0
        return x + y

    for g in (f, on_plain_numbers):
        np.testing.assert_allclose(lw.vmap(g)(XS), [g(x) for x in XS])


@pytest.mark.parametrize("make", [Closing, closing])
def test_what_ends_no_exception_is_as_before(make):
    def f(x):
        with make():
            if x < -5:
                raise ValueError("too small")
            x = 1.0 / int(x)
        return x

    np.testing.assert_allclose(lw.vmap(f)(XS), [f(x) for x in XS])
    with pytest.raises(ZeroDivisionError):
        lw.vmap(f)(np.array([1.0, 0.0]))
    _, failures = lw.vmap(f, on_error="collect")(np.array([1.0, 0.0, -6.0]))
    assert [type(error) for error in failures.values()] == [ZeroDivisionError, ValueError]


def test_a_refusal_is_not_ended():
    def f(x):
        with Ignoring():
            return np.zeros(x).sum()
        return 0.0

    with pytest.raises(lw.DataDependentShapeError):
        lw.vmap(f)(np.array([1, 2]))
