"""``x.tolist()`` that a loop goes through, and containers made of an array element by element."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest

import lanewise as lw
from lanewise.api import faster
from support.everywhere import assert_like_the_loop

XS = np.linspace(-1, 1, 120).reshape(3, 40)
LONG = np.linspace(-1, 1, 20_000)


def alone(x):
    s = 0.0
    for v in x.tolist():
        s = 0.5 * s + v
    return s


def in_others(x):
    s = 0.0
    for i, v in enumerate(x.tolist(), 2):
        s = 0.5 * s + i * v
    for v, w in zip(x.tolist(), x[::-1].tolist(), strict=True):
        s += v / (w + 10)
    for v in reversed(x.tolist()):
        s = 0.5 * s + v
    return s


def of_what_it_held(x):
    s = 0.0
    for v in x.tolist():
        x += 1
        s += v
    return s + x[0]


def of_python(x):
    s = 0
    for v in x.tolist():
        if isinstance(v, float) and not isinstance(v, np.floating):
            s += 1
    for n in (x > 0).tolist():
        if n is True:
            s += 1
    return s


def in_comprehensions(x):
    kept = [2 * v for v in x.tolist() if v > 0]
    return sum(kept) + sum(v for v in x.tolist()) + max(v for v in x.tolist())


def of_rows(x):
    s = 0.0
    for row in np.outer(x, x).tolist():
        s = 0.5 * s + row[0] / (row[1] + 10) + len(row)
    return s


def of_another_zip(x):
    def zip(first, second):
        return [first + second]

    s = 0
    for v in zip(x.tolist(), [1.0]):
        s += len(v)
    return s


def of_few(x):
    s = 0.0
    for v in x[:3].tolist():
        s = 0.5 * s + v
    return s


@pytest.mark.parametrize(
    "f",
    [
        alone, in_others, of_what_it_held, of_python, in_comprehensions, of_rows, of_another_zip,
        of_few,
    ],
)  # fmt: skip
def test_loops_go_through_the_elements(f):
    assert_like_the_loop(f, XS)


@pytest.mark.parametrize("f", [alone, in_others])
def test_such_loops_are_recorded_once(f):
    assert len(lw.function(f).get_concrete_function(LONG).graph.operations) < 100


@pytest.mark.parametrize(
    "f",
    [
        lambda x: sum(x.tolist()[:2]),
        lambda x: sum(list(x)[:2]),
        lambda x: sum([*x][:2]),
        lambda x: sum(tuple(iter(x))[:2]),
        lambda x: sum([pair[0] for pair in [*enumerate(x)]]),
        lambda x: sum(list(reversed(x))[:2]),
    ],
)
def test_tracing_is_given_up_where_a_long_container_is_made(f, monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    monkeypatch.setattr(faster, "FIRST", 50e6)
    start = perf_counter()
    assert lw.function(f)(LONG) == f(LONG)
    assert perf_counter() - start < 1.5  # of 6 s that it takes to trace it
