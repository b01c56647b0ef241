"""Single functions that are tried in plain Python, and given up where that goes on for too long."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise.api.contained import contained
from lanewise.runtime import race
from lanewise.runtime.race import Race
from lanewise.trace.limits import TookTooLong, interrupted


@pytest.fixture(autouse=True)
def free(monkeypatch):
    """Nothing forces how calls run."""
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)


@pytest.fixture
def tried(monkeypatch):
    """Have each function tried at its third call, and count the tries that were given up."""
    given_up: list[Race] = []
    noted = Race.note_exceeded
    monkeypatch.setattr(
        Race, "_is_to_be_tried", property(lambda self: self._count > 1 and not self._exceeded)
    )
    monkeypatch.setattr(Race, "note_exceeded", lambda self: (given_up.append(self), noted(self)))
    monkeypatch.setattr(race, "SHORT", 0)
    return given_up


def _for_ever():
    while True:
        pass


def _caught():
    try:
        _for_ever()
    except:  # noqa: E722
        return 0


@pytest.mark.parametrize("func", [_for_ever, _caught], ids=["let through", "caught"])
def test_what_goes_on_is_ended(func):
    before = sys.gettrace()
    with pytest.raises(TookTooLong), interrupted(2e6):
        func()
    assert sys.gettrace() is before


def test_what_ends_by_itself_is_left_alone():
    with interrupted(1e12):
        assert sum(range(10)) == 45


def queued(x):
    """Take elements off a queue that grows by data: a loop in which NumPy is called."""
    queue, total = [float(x[0])], 0.0
    while queue:
        v = queue.pop(0)
        total += v
        if v > 0.5:
            queue.extend([v * 0.4, v * 0.3])
    x[1] = total
    return total


@pytest.mark.parametrize("is_slow", [True, False])
def test_a_function_that_writes_is_tried(is_slow, tried, monkeypatch):
    if is_slow:
        monkeypatch.setattr(Race, "bounded", lambda self: interrupted(0))
    called = lw.function(queued)
    for first in (1.0, 2.0, 3.0, 4.0, 5.0):
        given, own = np.array([first, 0.0]), np.array([first, 0.0])
        assert called(given) == queued(own)
        assert given[1] == own[1]
    assert len(tried) == is_slow


def test_who_looks_at_lines_already_is_not_disturbed(monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    graph = lw.function(queued)
    graph(np.array([3.0, 0.0]))
    found = graph.get_concrete_function(np.array([3.0, 0.0])).race
    assert found is None or not found._is_to_be_tried


def test_a_class_whose_operators_are_to_follow_data_is_what_it_was():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def __add__(self, other):
            return Pair(self.a + other.a, self.b + other.b)

    def func(x):
        total = Pair(0.0, 0.0)
        for _ in range(3):
            total = total + Pair(x, 2 * x)
        return total.a * total.b

    unchanged = contained([func], with_data=True)
    assert unchanged is not None
    lw.vmap(func)(np.arange(3.0))
    assert unchanged()
