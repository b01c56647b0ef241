"""Numbers that are None in some examples: printed, kept outside, compared, asked for."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

ROWS = np.array([[1.5, 2.0], [-1.0, 3.0], [0.0, -4.0], [2.0, 0.0]])


def last_above(x):
    y = None
    for v in x:
        if v > 1:
            y = v
    return y


def printed(x, log):
    y = last_above(x)
    print(y, f"{y} {y!r:>8}", [y], repr(y), "{}".format(y))  # noqa: UP032
    return 0.0 if y is None else y


def kept(x, log):
    y = last_above(x)
    log.append(y)
    log.append((1, {"y": y}))
    return 0.0


def kept_of_two_classes(x, log):
    y = None
    if x[0] > 0:
        y = 1
    elif x[1] > 0:
        y = 2.5
    log.append(y)
    print(y)
    return 0.0


def asked(x, log):
    y = None if x[0] > 0 else 1.0
    found = 1.0 if isinstance(y, float) else 2.0 if isinstance(y, type(None)) else 3.0
    return found + isinstance(y, (int, float, type(None)))


def compared(x, log):
    y = None if x[0] > 0 else x[1]
    first = 1 if y == 3.0 else 2 if y == None else 3  # noqa: E711
    print(y != 3.0, y != x[1], x[1] == y)
    return first * 10 + (y in (3.0, 7.0))


def attribute(x, log):
    class Kept:
        value = None

    kept = Kept()
    if x[0] > 0:
        kept.value = x[0]
    log.append(kept.value)
    print(kept.value)
    return 0.0


PROGRAMS = [printed, kept, kept_of_two_classes, asked, compared, attribute]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_each_example_has_what_the_loop_has(program, backend, monkeypatch, capsys):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    log: list = []
    want = np.stack([program(row, log) for row in ROWS])
    left, text = repr(log), capsys.readouterr().out
    for mapped in (lw.vmap, lambda f: lambda rows: lw.map_fn(f, rows)):
        log.clear()
        got = mapped(lambda row: program(row, log))(ROWS)
        assert repr(got) == repr(want)
        assert repr(log) == left
        assert capsys.readouterr().out == text


def test_a_format_that_none_has_not(capsys):
    def shown(x):
        y = x if x > 0 else None
        print(f"{y:.1f}")
        return 0.0

    with pytest.raises(TypeError, match="unsupported format string passed to NoneType"):
        lw.vmap(shown)(np.array([1.0, -1.0]))
    assert capsys.readouterr().out == "1.0\n"


def test_its_class_is_refused():
    def asks(x):
        y = x if x > 0 else None
        return 1.0 if type(y) is float else 0.0

    with pytest.raises(lw.ConcretizationError, match="float64 or NoneType"):
        lw.vmap(asks)(np.array([1.0, -1.0]))


def test_it_is_still_no_number():
    def adds(x):
        y = x if x > 0 else None
        return y + 1

    with pytest.raises(TypeError, match="None is used where a number is needed"):
        lw.vmap(adds)(np.array([1.0, -1.0]))


def first_of_three(x):
    n = 0
    while n < 3:
        if x > n:
            if x > 2:
                return n
            return None
        n += 1
    return None


def assigned_in_a_branch(x):
    for i in range(3):
        if x > i:
            k = i if x > 2 else None
    return k


def none_at_first(x):
    for i in range(3):
        if x > i:
            k = None if i == 0 else x
    return k


def arrays_assigned_in_a_branch(x):
    for i in range(3):
        if x > i:
            k = np.arange(2) + x if x > 2 else None
    return None if k is None else k.sum()


@pytest.mark.parametrize(
    "func", [first_of_three, assigned_in_a_branch, none_at_first, arrays_assigned_in_a_branch]
)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_what_a_loop_assigns_in_some_examples_is_none_in_some_of_these(func, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)

    def program(x):
        k = func(x)
        return -1 if k is None else k

    xs = np.array([1, 2, 3, 4])
    np.testing.assert_array_equal(lw.vmap(program)(xs), [program(x) for x in xs])
    if func is not first_of_three:
        with pytest.raises(UnboundLocalError, match="local variable 'k'"):
            lw.vmap(program)(np.array([1, -1]))
