"""Numbers of which the data choose the class: what the loop has, kept, printed and computed with.

``y = 1 if c else 2.0`` is an int in some examples and a float in others.
"""

from __future__ import annotations

import json
import logging
import numbers
from collections import abc

import numpy as np
import pytest

import lanewise as lw

ROWS = np.array([[1.5, 2.0], [-1.0, 3.0], [0.0, -4.0], [2.0, 0.0]])


def int_or_float(x, log):
    y = 1 if x[0] > 0 else 2.0
    print(y, f"{y}", f"{y!r:>5}")
    log.append(y)
    return y


def bool_or_int(x, log):
    y = True if x[0] > 0 else 2
    log.append(y)
    log.append((y + y, [y * 2, -y, not y]))
    print(y + 1, ~y if y > 1 else y)
    return y


def python_or_numpy(x, log):
    y = 1.0 if x[0] > 0 else x[1]
    print(repr(y), repr(y * 2), repr(y > 0))
    log.append(y)
    return y


def two_dtypes(x, log):
    y = np.int64(3) if x[0] > 0 else x[1]
    log.append(y // 2)
    print(repr(y), repr(-y))
    return y


def single_or_double(x, log):
    y = x[0].astype(np.float32) if x[0] > 0 else x[1]
    z = y * np.float32(0.1)
    log.append(z)
    return z


def rounded_in_each(x, log):
    y = np.float32(0.1) if x[0] > 0 else np.float64(0.1)
    return np.sqrt(y) + y * 3 - np.exp(y)


def narrow_or_wide(x, log):
    y = np.uint8(250) if x[0] > 0 else np.int64(250)
    z = y + np.uint8(10)
    log.append(z)
    return z


def truth_or_int(x, log):
    b = (x[0] > 0) if x[1] > 0 else 5
    return b + b


def truths(x, log):
    b = True if x[1] > 0 else (x[0] > 0)
    log.append(b + b)
    print(b + b, b & True)
    return b


def inverted(x, log):
    b = (x[0] > 0) if x[1] > 0 else True
    return ~b


def three_classes(x, log):
    y = 1
    if x[0] > 0:
        y = 2.5 if x[1] > 1 else x[0]
    log.append(y)
    print(y, y * 2, y + y)
    log.append([y, y * 2, y == 1])
    return y


def in_a_loop(x, log):
    n = 0
    while n < 3 and x[0] > 0:
        n = n + 0.5
    log.append(n)
    print(n)
    total = 0
    for v in x:
        if v > 1:
            total += v
    log.append(total)
    return n


def counted_on(x, log):
    n = 0 if x[0] > 0 else 0.5
    for _ in range(3):
        n += 1
    log.append(n)
    print(n, n % 2, n // 2, n / 2)
    return n


def asked(x, log):
    y = 1 if x[0] > 0 else 2.0
    if isinstance(y, int):
        log.append(10)
        return 1.0
    print(isinstance(y, float), isinstance(y, (int, float)))
    log.append(20)
    return 0.0


def computed_after_a_choice(x, log):
    y = max(1, x[0])
    z = abs(y) ** 2
    log.append(z)
    print(repr(z), repr(y - 1))
    return z


def by_a_helper(x, log):
    def half(v):
        if v > 1:
            return v / 2
        return 0

    found = [half(v) for v in x]
    log.append(found)
    log.append(sum(found))
    return found[0] + found[1]


def nested_choice(x, log):
    a = 1 if x[0] > 0 else 2.0
    b = a if x[1] > 0 else False
    c = a + b
    log.append({"a": a, "b": b, "c": c})
    return c


def divided(x, log):
    y = 1 if x[0] > 0 else 2.0
    try:
        return y / 0
    except ZeroDivisionError as error:
        print(error)
        return 0.0


PROGRAMS = [
    int_or_float, bool_or_int, python_or_numpy, two_dtypes, single_or_double, rounded_in_each,
    narrow_or_wide, truth_or_int, truths, inverted, three_classes, in_a_loop, counted_on, asked,
    computed_after_a_choice, by_a_helper, nested_choice, divided,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_each_example_has_the_class_of_the_loop(program, backend, monkeypatch, capsys):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    log: list = []
    with np.errstate(all="ignore"):
        want = np.stack([program(row, log) for row in ROWS])
    left, printed = repr(log), capsys.readouterr().out
    for mapped in (lw.vmap, lambda f: lambda rows: lw.map_fn(f, rows)):
        log.clear()
        got = mapped(lambda row: program(row, log))(ROWS)
        assert repr(got) == repr(want)
        assert repr(log) == left
        assert capsys.readouterr().out == printed


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_traced_function_returns_the_class(program):
    traced = lw.function(lambda row: program(row, []))
    for row in ROWS:
        for _ in range(2):
            want, got = program(row, []), traced(row)
            assert (type(got), repr(got)) == (type(want), repr(want))


def test_within_another_trace_and_saved(tmp_path):
    chosen = lw.function(lambda x: {"y": 1 if x > 0 else 2.0, "x": x})
    log: list = []

    def outer(x):
        y = chosen(x)["y"]
        log.append(y + 1)
        return y

    for run in (lambda xs: [outer(x) for x in xs], lw.vmap(outer)):
        log.clear()
        run(np.array([1.0, -1.0]))
        assert repr(log) == "[2, 3.0]"
    saved = lw.function(lambda x: (1 if x > 0 else 2.0, x))
    saved(np.float64(1.0))
    path = tmp_path / "chosen.lanewise"
    lw.save(saved, path)
    loaded = lw.load(path)
    assert repr(loaded(np.float64(1.0))[0]) == "1"
    assert repr(loaded(np.float64(-1.0))[0]) == "2.0"


def test_host_calls_get_the_class(caplog):
    def seen(x):
        y = 1 if x > 0 else 2.0
        logging.getLogger("lanewise-test").warning("%s %r", y, y)
        lw.py_func(lambda v: kinds.append(v.dtype.kind), [y], None)
        return y

    rows, kinds = np.array([1.0, -1.0, 3.0]), []
    lw.vmap(seen)(rows)
    assert [record.getMessage() for record in caplog.records] == ["1 1", "2.0 2.0", "1 1"]
    assert kinds == ["i", "f", "i"]


def test_state_from_example_to_example(capsys):
    kept = {"last": None}

    def follow(x):
        kept["last"] = 1 if x > 0 else 2.0
        print(json.dumps([1]), kept["last"])
        return x

    rows = np.array([1.0, -1.0])
    lw.vmap(follow)(rows)
    assert repr(kept["last"]) == "2.0"
    lw.vmap(follow)(rows[::-1])
    assert repr(kept["last"]) == "1"
    assert capsys.readouterr().out == "[1] 1\n[1] 2.0\n[1] 2.0\n[1] 1\n"


def test_a_format_that_fails_for_some(capsys):
    def shown(x):
        y = 1 if x > 0 else 2.0
        print(f"{y:d}")
        return y

    with pytest.raises(ValueError, match="Unknown format code 'd' for object of type 'float'"):
        lw.vmap(shown)(np.array([1.0, -1.0]))
    assert capsys.readouterr().out == "1\n"


def test_what_fails_for_some_classes_only():
    def masked(x):
        y = 3 if x > 0 else 2.0
        return y & 1

    got, failures = lw.vmap(masked, on_error="collect", fill_value=-1)(np.array([1.0, -1.0]))
    assert got.tolist() == [1, -1]
    assert type(failures[1]) is TypeError


def test_type_of_a_number_of_two_classes_is_refused():
    def asks(x):
        y = 1 if x > 0 else 2.0
        return 1.0 if type(y) is int else 0.0

    with pytest.raises(lw.ConcretizationError, match="a number that is int or float"):
        lw.vmap(asks)(np.array([1.0, -1.0]))


def test_derivatives_and_nesting():
    def chosen(x):
        y = 2 if x > 0 else x
        return y * x

    np.testing.assert_allclose(lw.vmap(lw.grad(chosen))(np.array([3.0, -1.0])), [2.0, -2.0])
    rows = np.array([[1.0, -1.0], [2.0, -3.0]])
    nested = lw.vmap(lw.vmap(chosen))(rows)
    np.testing.assert_array_equal(nested, [[chosen(v) for v in row] for row in rows])


def test_whether_a_value_is_a_number():
    answers = []

    def func(x, n):
        y = n if x[0] > 0 else 2.5
        answers.append(
            [np.isscalar(v) for v in (x, x[0], x[:1], x.sum(), n, y, x[0] > 0, "a", None, 3)]
        )
        return x

    x = np.ones((2, 3))
    expected = [False, True, False, True, True, True, True, True, False, True]
    func(x[0], np.int64(3))
    lw.vmap(func)(x, np.arange(2))
    lw.function(func)(x[0], np.int64(3))
    assert len(answers) >= 3
    assert all(each == expected for each in answers)


def test_classes_and_attributes_are_those_of_what_a_value_stands_for():
    answers = []

    def func(x):
        kinds = (
            numbers.Real,
            abc.Iterable,
            abc.Sized,
            abc.Sequence,
            abc.Hashable,
            (int, (list, np.ndarray)),
            float | int,
        )
        names = ("__len__", "__iter__", "shape", "dtype", "append", "__array__", "__float__")
        values = (x, x[0], x.argmax(), x > 0)
        answers.append([[isinstance(v, kind) for kind in kinds] for v in values])
        answers.append([[hasattr(v, name) for name in names] for v in values])
        return x

    x = np.ones((2, 3))
    func(x[0])
    expected = answers[:]
    lw.vmap(func)(x)
    lw.function(func)(x[0])
    assert len(answers) >= 6
    assert all(answers[i : i + 2] == expected for i in range(0, len(answers), 2))
