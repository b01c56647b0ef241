"""Users' classes, of which operators and properties follow data as long as one traces."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.following import Following
from lanewise.trace.trace import ON_OUTERMOST
from support.everywhere import assert_like_the_loop


class Box:
    def __init__(self, width, height):
        self.width, self.height = width, height

    @property
    def area(self):
        return self.width * self.height if self.width > 0 else 0.0

    @area.setter
    def area(self, value):
        self.width = value / self.height

    def __lt__(self, other):
        return self.area < other.area

    def __add__(self, other):
        if self < other:
            return Box(self.width + other.width, other.height)
        return Box(self.width, self.height + other.height)


class Taller(Box):
    @property
    def area(self):
        return 2 * super().area


def sums(x):
    one, other = Box(x[0], x[1]), Taller(x[2], x[3])
    total = one + other
    total.area = 3.0
    return total.area, total.height


X = np.random.default_rng(0).normal(size=(9, 4))
MEMBERS = {cls: dict(vars(cls)) for cls in (Box, Taller)}


def test_like_the_loop():
    assert_like_the_loop(sums, X)


def test_classes_are_as_they_were_when_nothing_is_traced():
    lw.vmap(sums)(X)
    for cls, members in MEMBERS.items():
        assert all(vars(cls)[name] is value for name, value in members.items())
    with pytest.raises(ZeroDivisionError):
        lw.vmap(lambda x: Box(x[0], 1 / 0).area)(X)
    for cls, members in MEMBERS.items():
        assert all(vars(cls)[name] is value for name, value in members.items())


def test_what_is_assigned_to_a_class_meanwhile_stays():
    class Own(Box):
        @property
        def area(self):
            return self.width

    def changes(x):
        found = Own(x[0], x[1]).area
        Own.area = property(lambda self: 7.0)
        return found

    Own.label = "kept"
    first = Own.area
    following = Following(lambda cls, name, value: None)
    ON_OUTERMOST.pop()
    following.add(Own)
    assert Own.area is first and Own.label == "kept"
    try:
        changes(X[0])
        assert Own(1, 2).area == 7.0
        lw.vmap(lambda x: Own(x[0], x[1]).area)(X)
        assert Own(1, 2).area == 7.0
    finally:
        Own.area = first


def test_a_trace_in_one_thread_does_not_end_that_in_another():
    inside, leave = threading.Event(), threading.Event()
    found = []

    def slow(x):
        inside.set()
        leave.wait(10)
        return sums(x)

    thread = threading.Thread(target=lambda: found.append(lw.vmap(slow)(X)))
    thread.start()
    inside.wait(10)
    lw.vmap(lambda x: sums(x)[0])(X)  # opens a trace, and ends it
    leave.set()
    thread.join()
    np.testing.assert_allclose(found[0], np.array([sums(x) for x in X]).T)
    assert vars(Box)["area"] is MEMBERS[Box]["area"]
