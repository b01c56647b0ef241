"""Context managers that end exceptions, and what they do at the end of their blocks."""

from __future__ import annotations

import contextlib
import math

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
        self.seen.append(0 if kind is None else 1)
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


def divides(make):
    def f(x):
        y = 0.0
        with make():
            y = 1.0 / int(x - 1)
        return y

    return f


def raises(make):
    def f(x):
        with make():
            if x < 0:
                raise ZeroDivisionError
            x = x + 1
        return x

    return f


def in_a_helper(make):
    def f(x):
        def helper(v):
            return 1.0 / int(v)

        with make():
            return helper(x - 1)
        return 0.0

    return f


@pytest.mark.parametrize("program", [divides, raises, in_a_helper])
def test_what_data_raise_in_a_generator_that_may_end_it_is_refused(program):
    f = program(catching)
    for mapped in (lw.vmap(f), lw.vmap(f, on_error="collect"), lw.function(lw.vmap(f))):
        with pytest.raises(lw.UnsupportedError, match=r"may be raised.*in a with block of a"):
            mapped(XS)


@pytest.mark.parametrize("make", [Ignoring, Matching, lambda: SUPPRESSING])
@pytest.mark.parametrize("program", [divides, raises, in_a_helper])
def test_what_data_raise_there_is_ended(program, make):
    f = program(make)
    wanted = [f(x) for x in XS]
    for mapped in (lw.vmap(f), lw.function(lw.vmap(f))):
        np.testing.assert_array_equal(mapped(XS), wanted)
    found, failures = lw.vmap(f, on_error="collect")(XS)
    np.testing.assert_array_equal(found, wanted)
    assert not failures


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
            return np.partition(np.arange(3.0), x)[0]
        return 0.0

    with pytest.raises(lw.UnsupportedError):
        lw.vmap(f)(np.array([1, 2]))


# --- the end of a block, for the examples that raise ----------------------------------------------


class Ending:
    """Counts how blocks end; its kinds say which exceptions it ends."""

    def __init__(self, *kinds):
        self.kinds = kinds
        self.ends = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.ends.append(1.0 if kind is None else 10.0)
        return kind is not None and issubclass(kind, self.kinds)


class Telling:
    def __enter__(self):
        print("in")
        return self

    def __exit__(self, kind, error, traceback):
        print("out", kind and kind.__name__, error)


class EndingByData:
    def __init__(self, x):
        self.x = x

    def __enter__(self):
        return self.x

    def __exit__(self, kind, error, traceback):
        return self.x < 1


def e1(x):
    m = Ending(ValueError, ZeroDivisionError)
    y = 5.0
    with m:
        y = 1 / int(x)
    return y + sum(m.ends)


def e2(x):
    y = 5.0
    try:
        with Ending(ZeroDivisionError) as m:
            y = math.log(x)
            y = 2.0
    except ValueError:
        y = -1.0
    return y + m.ends[0]


def e3(x):
    try:
        with Telling():
            return 1 / int(x)
    except ZeroDivisionError:
        return 0.0


def e4(x):
    with EndingByData(x) as v:
        y = 1 / int(v)
        return y
    return -7.0


def e5(x):
    with Ending(Exception) as a, Ending(ZeroDivisionError) as b:
        z = 1 / int(x)
        z = math.log(x)
        return z
    return a.ends[0] + 100 * b.ends[0]


def e6(x):
    m = Ending(ZeroDivisionError)
    for i in range(3):
        with m:
            if i == 2:
                continue
            1 / int(x - i)
    return np.array(m.ends)


def e7(x):
    m = Ending(ZeroDivisionError)
    for i in range(20):
        with m:
            1 / int(x - i)
    return sum(m.ends)


def e8(x):
    t = 0.0
    for i in range(4):
        with SUPPRESSING:
            t += 1 / int(x - i)
            if t > 1:
                break
        t += 2.0
    return t


def e9(x):
    def helper(v):
        with Ending(ZeroDivisionError):
            return 1 / int(v)
        return 3.0

    return helper(x) + helper(x - 1)


def e10(x):
    with Ending(ZeroDivisionError):
        try:
            1 / int(x)
        finally:
            x = x + 10
    return x


def e11(x):
    with np.errstate(all="ignore"), Ending(ZeroDivisionError):
        np.log(x)
        return 1 / int(x)
    return 8.0


def e12(x):
    v = 0.0
    while v < 3:
        v += 1
        with Ending(ZeroDivisionError):
            x = x + 1 / int(x - v)
    return x


def e13(x):
    with Ending(Exception) as m:
        if x > 1:
            raise ValueError("big")
        if x > 0:
            return -5.0
    return m.ends[0]


def e14(x):
    try:
        with Ending(Exception) as m:
            raise KeyError(3)
        with Ending(KeyError) as c:
            x = math.log(x)
    except ValueError:
        x = 100.0 + c.ends[0]
    return x + m.ends[0]


ENDS = [e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14]
NUMBERS = np.array([0.0, 1.0, 2.0, -1.0, 3.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", ENDS, ids=lambda f: f.__name__)
def test_ends(f, capsys):
    wanted = np.stack([f(x) for x in NUMBERS])
    said = capsys.readouterr().out
    found = lw.vmap(f)(NUMBERS)
    assert capsys.readouterr().out == said
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    traced = lw.function(f)
    np.testing.assert_allclose([traced(x) for x in NUMBERS], wanted, rtol=1e-14)
    twice = lw.vmap(lw.vmap(f))(np.stack([NUMBERS, NUMBERS[::-1]]))[0]
    np.testing.assert_allclose(twice, wanted, rtol=1e-14)


def test_an_end_that_tells_tells_of_the_examples_that_raise(capsys):
    def f(x):
        with Telling():
            y = 1 / int(x)
            print("got", y)
        return y

    xs = np.array([1.0, 0.0, 2.0])
    for x in xs:
        with contextlib.suppress(ZeroDivisionError):
            f(x)
    wanted = capsys.readouterr().out
    found, failures = lw.vmap(f, on_error="collect")(xs)
    assert capsys.readouterr().out == wanted
    assert found[[0, 2]].tolist() == [1.0, 0.5]
    assert list(failures) == [1]
    assert "y = 1 / int(x)" in str(failures[1])

    with pytest.raises(ZeroDivisionError, match=r"y = 1 / int\(x\)"):
        lw.vmap(f)(xs)
    assert capsys.readouterr().out == wanted[: wanted.index("in", wanted.index("Zero"))]


def test_a_generator_that_tells_at_its_end_is_refused():
    @contextlib.contextmanager
    def telling():
        try:
            yield
        finally:
            print("out")

    def f(x):
        with telling():
            return 1 / int(x)

    with pytest.raises(lw.UnsupportedError, match="and on_error='collect' catches it"):
        lw.vmap(f, on_error="collect")(np.array([1.0, 0.0]))


def test_derivatives():
    def f(x):
        y = 3 * x
        with SUPPRESSING:
            if x > 1:
                raise ZeroDivisionError
            y = x**2
        return y

    assert lw.vmap(lw.grad(f))(np.array([0.5, 2.0])).tolist() == [1.0, 3.0]
