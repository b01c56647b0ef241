"""Objects of libraries that a method changes where the data steer: refused, but not lost."""

from __future__ import annotations

import array
import operator
import queue
import re
from collections import ChainMap, Counter, UserDict, UserList, defaultdict
from fractions import Fraction

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph import foreign
from lanewise.errors import ControlFlowError, UnsupportedError
from support.everywhere import assert_like_the_loop

X = np.array([[0.5, 2.0], [3.0, 1.0], [2.0, -1.0]])


def user_list(x):
    items = UserList()
    if x[0] > 1:
        items.append(2)
    return len(items)


def user_dict(x):
    items = UserDict({1: 1})
    if x[0] > 1:
        items.update({1: 2})
    return items[1]


def item_of_a_user_dict(x):
    items = UserDict()
    if x[0] > 1:
        items[1] = 2
    return len(items)


def chain(x):
    items = ChainMap({1: 1})
    for _ in range(int(x[0])):
        items[1] = 5
    return items[1]


def numbers(x):
    items = array.array("d", [1.0, 2.0])
    if x[0] > 1:
        items.append(5.0)
    return len(items)


def deleted(x):
    items = array.array("d", [1.0, 2.0])
    if x[0] > 1:
        del items[0]
    return len(items)


def subtracted(x):
    counts = Counter([2])
    if x[0] > 1:
        counts.subtract([2])
    return counts[2]


REFUSED = [user_list, user_dict, item_of_a_user_dict, chain, numbers, deleted, subtracted]


@pytest.mark.parametrize("func", REFUSED)
def test_what_changes_where_data_steer_is_refused(func):
    with pytest.raises(ControlFlowError, match=r"(changes an object|in one branch).*test_foreign"):
        lw.vmap(func)(X)


@pytest.mark.parametrize("kind", [queue.Queue, queue.LifoQueue, queue.PriorityQueue])
def test_a_queue_is_not_asked_what_is_in_it(kind):
    def func(x):
        todo = kind()
        if x[0] > 1:
            todo.put(3)
        return todo.qsize() if x[1] > 0 else todo.get()

    with pytest.raises(UnsupportedError, match=r"a queue is asked.*test_foreign_objects"):
        lw.vmap(func)(X)


def elsewhere(x):
    items, counts = UserList(), Counter()
    items.append(2)
    total = 0.0
    if x[0] > 1:
        own = array.array("d", [1.0])
        own.append(2.0)
        total = total + len(own) + len(items) + items.count(2)
        total = (
            total + float(Fraction(1, 2).limit_denominator(4)) + len(re.match("a*", "aab").group())
        )
        operator.methodcaller("update", [3, 3])(counts)
    return total, counts[3]


def defaults(x):
    counts = defaultdict(int)
    if x[0] > 1:
        counts[3]
    return len(counts), 3 in counts


@pytest.mark.parametrize("func", [elsewhere, defaults])
def test_what_changes_nothing_of_outside_is_not(func):
    assert_like_the_loop(func, X)


class Remembers:
    """Stands for an object of a library that keeps answers."""

    __module__ = "ipaddress"

    def __init__(self):
        self.items, self._cache = [1], {}
        self.items.append(self.items)

    def asked(self, x):
        self.answer = x
        self._cache[x] = x
        return x

    def changed(self):
        self.items[0] += 1


def test_what_is_remembered_is_no_change():
    one = Remembers()
    before = foreign._contents(one)
    one.asked(3)
    assert foreign._is_same(before, foreign._contents(one))
    one.changed()
    assert not foreign._is_same(before, foreign._contents(one))
    one.items = list(range(foreign._MOST + 1))
    assert foreign._contents(one) is None


@pytest.mark.parametrize("made", [UserDict, lambda x: ChainMap({}, x)])
def test_what_a_loop_changes_in_one_is_as_the_loop_leaves_it(made):
    """Also where recording its turns was tried, and given up."""

    def f(x):
        held, total = made({"a": 0}), 0.0
        for i in range(20):
            held["a"] = held["a"] + 1
            total += held["a"] * x[i % 3]
        return total, held["a"]

    x = np.arange(3.0) + 0.5
    for _ in range(2):
        assert lw.function(f)(x) == f(x)
    np.testing.assert_allclose(lw.vmap(f)(np.stack([x, 2 * x]))[0], [f(x)[0], f(2 * x)[0]])
