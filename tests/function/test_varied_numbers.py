"""Calls that differ in the values of Python numbers, which traces have as constants."""

import math
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.api import kept, mapping
from lanewise.api.plain import loop, may_repeat

XS = np.arange(12.0).reshape(3, 4)


@pytest.fixture(autouse=True)
def plain_is_open(monkeypatch):
    """Let functions run themselves."""
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.PlainLoopWarning)
        warnings.simplefilter("ignore", lw.RetracingWarning)
        yield


@pytest.fixture
def traced(monkeypatch):
    """Give a list with an item for each map that was traced."""
    found, example = [], mapping._example

    def counted(*args):
        found.append(1)
        return example(*args)

    monkeypatch.setattr(mapping, "_example", counted)
    return found


def halved(x):
    if x > 1:
        return x / 2
    return -x


def squared(z):
    return z * z + 1


def summed(xs, by, options):
    total = 0.0
    for x in xs:
        total += x * by + options["add"][0]
    return total


def rounded(xs, by):
    return sum(sorted(set([round(float(x) * by, 1) for x in xs])))


def same(found, expected):
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)
    assert math.copysign(1, np.real(found)) == math.copysign(1, np.real(expected))


@pytest.mark.parametrize("func", [halved, squared])
@pytest.mark.parametrize("kind", [float, int, complex])
def test_no_more_traces_after_a_few_numbers(func, kind):
    if (func, kind) == (halved, complex):
        pytest.skip("complex numbers have no order")
    f = lw.function(func)
    numbers = [kind(k) for k in range(-20, 20)]
    for x in numbers[:10]:
        same(f(x), func(x))
    traced = f._traces.count
    assert traced < 10
    special = [kind(0), kind(10**9)]
    if kind is not int:
        special += [kind("nan"), kind("inf"), -kind(0), kind("1e-320")]
    for x in numbers + special + special:
        same(f(x), func(x))
    assert f._traces.count == traced
    assert type(f(True)) is type(func(True))  # no number of that class
    assert f(np.float64(3.0)) == func(3.0)
    assert f._traces.count > traced


def test_numbers_among_arrays_and_in_containers():
    f = lw.function(summed)
    for k in range(30):
        options = {"add": (0.5 * k, "text")}
        assert f(XS[0], 0.1 * k, options) == pytest.approx(summed(XS[0], 0.1 * k, options))
    assert f._traces.count < 15
    assert f(XS[0], 0.2, {"add": (1.0, "text")}) == pytest.approx(
        summed(XS[0], 0.2, {"add": (1.0, "text")})
    )
    traced = f._traces.count
    f(XS[0], 0.2, {"add": (1.0, "other")})
    assert f._traces.count > traced


def test_what_the_function_reads_may_change():
    scale = 2.0

    def func(x):
        return x * scale

    f = lw.function(func)
    for k in range(40):
        scale = float(k // 10)
        assert f(0.1 * k) == 0.1 * k * scale


def test_errors_and_arguments_are_as_in_plain_calls():
    def func(x, into):
        into[0] = x
        if x == 20:
            raise ValueError("twenty")
        return 1 / (x - 21)

    f = lw.function(func)
    into = np.zeros(2)
    for k in range(30):
        if k in (20, 21):
            kept = into.copy()
            with pytest.raises(ValueError if k == 20 else ZeroDivisionError):
                f(k, into)
            assert np.array_equal(into, kept)  # as of a trace, an error leaves nothing behind
        else:
            assert f(k, into) == 1 / (k - 21)
            assert into[0] == k


def test_refused_functions_are_not_traced_for_each_number():
    f = lw.function(rounded)
    for k in range(20):
        assert f(XS[0], 0.3 * k) == rounded(XS[0], 0.3 * k)
    assert f._traces.count < 10


@pytest.mark.parametrize("place", ["argument", "closure", "default"])
def test_maps_are_not_traced_for_each_number(place, traced):
    def func(xs, by):
        total = 0.0
        for x in xs:
            total += x * by if x > by else 1.0
        return total

    for k in range(30):
        by = 0.3 * k
        if place == "argument":
            found = lw.vmap(func, in_dims=(0, None))(XS, by)
        elif place == "closure":
            found = lw.vmap(lambda xs, by=by: func(xs, by))(XS)
        else:
            found = lw.vmap(lambda xs: func(xs, by))(XS)  # noqa: B023
        np.testing.assert_allclose(found, [func(xs, by) for xs in XS], rtol=1e-14)
    assert len(traced) < 25


class Bus:
    def __init__(self, voltage):
        self.voltage, self.angle = voltage, 0.0


def test_maps_of_functions_that_may_reach_anything(traced):
    """Nobody can say whether an earlier trace is as good as a new one."""

    def func(x, names=("voltage", "angle")):
        bus = Bus(x[0])
        for value in x:
            for name in names:
                setattr(bus, name, getattr(bus, name) + value * 0.5)
        return bus.voltage, (1 if bus.angle > 10 else 0.5), [bus.angle]

    mapped = lw.vmap(func)
    for _ in range(20):
        first, second, (third,) = mapped(XS)
        expected = [func(x) for x in XS]
        np.testing.assert_allclose(first, [row[0] for row in expected])
        np.testing.assert_array_equal(second, [row[1] for row in expected])
        np.testing.assert_allclose(third, [row[2][0] for row in expected])
        assert second.dtype == float
        assert mapped(XS[:1])[1].dtype == float
        assert mapped(XS[2:])[1].dtype == float  # of the trace, whatever ran
    assert len(traced) < 25


def test_refused_maps_are_not_traced_for_each_number(traced):
    for k in range(60):
        found = lw.vmap(rounded, in_dims=(0, None))(XS, 0.3 * k)
        np.testing.assert_array_equal(found, [rounded(xs, 0.3 * k) for xs in XS])
    assert len(traced) < 25


def test_no_example_runs_twice_where_nobody_knows_what_that_does():
    seen = Bus(0.0)

    def func(x, shared):
        for name in ("voltage",):
            setattr(seen, name, getattr(seen, name) + 1.0)
        shared[0] += x
        return shared[0] * 2

    varied = kept.Varied()
    varied.traced = 1e12
    xs, shared = np.arange(5.0), np.zeros(1 << 20)  # so large that it is lent

    def plain():
        return loop([xs, shared], (0, None), 5, lambda row: func(*row), one_axis, may_repeat())

    found = varied.looped(5, plain, math.inf)
    np.testing.assert_array_equal(found, 2 * xs)
    assert seen.voltage == 5


def one_axis(result, count):
    return [0] * count
