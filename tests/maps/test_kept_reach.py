"""What functions reach in other ways than by names: no trace is used where that has changed."""

from __future__ import annotations

import builtins
import collections
import enum
import functools
import math
import operator
import types
from abc import ABC
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw
from lanewise.api import kept

XS = np.array([0.5, 1.5])
G = 2.0
m = types.ModuleType("m")


class Slotted:
    __slots__ = ("k",)


class BelowSlots(Slotted):
    pass


class Listed(list):
    pass


class Mapped(dict):
    pass


class Base:
    k = 1.0
    values = [1.0]  # noqa: RUF012

    def scale(self):
        return G

    @staticmethod
    def stat():
        return G


class Sub(Base):
    pass


class Abstract(ABC):  # noqa: B024
    k = 1.0

    @staticmethod
    def stat():
        return G


class Pair(NamedTuple):
    a: float
    values: list = []  # noqa: RUF012

    def scale(self):
        return self.a * G


DEFAULT = [1.0]


class Defaulted(NamedTuple):
    a: list = DEFAULT
    b: float = 2.0


@functools.singledispatch
def dispatched(x):
    return x * 2


class Number(float):
    def scale(self):
        return float(self) * G


class Level(enum.Enum):
    LOW = [1.0]  # noqa: RUF012

    def scale(self):
        return G


@dataclass
class Point:
    a: float

    def scale(self):
        return self.a * G


def helper(x, k=2.0):
    return x * k


def option(x, *, k=2.0):
    return x * k


@functools.wraps(math.sin)
def pretending(x):
    return G * math.sin(x)


def get(q):
    return q.k


def _set(owner, name, value):
    return lambda: setattr(owner, name, value)


def _item(owner, key, value):
    return lambda: owner.__setitem__(key, value)


below, listed, mapped, counter = (
    BelowSlots(),
    Listed([1.0]),
    Mapped(k=1.0),
    collections.Counter(k=1),
)
below.k = 1.0
viewed = np.ones(2).view(type("Viewed", (np.ndarray,), {}))
record = np.ones(1, [("a", float)])[0]
pair, number, point, sub = Pair(1.0), Number(1.0), Point(1.0), Sub()
plain = [1.0, [2.0]]
functions = {"a": lambda x: x + 1, "b": lambda x: x * 2}
instance = Base()
m.k, m.inner = 2.0, types.ModuleType("inner")
m.inner.k = 2.0
holder = [m]


def _reordered():
    functions["a"] = functions.pop("a")


def _shadowed():
    globals()["max"] = np.minimum


CASES = {
    "module, by another function": (lambda x: x * get(m), _set(m, "k", 3.0)),
    "module in a module": (lambda x: x * m.inner.k, _set(m.inner, "k", 3.0)),
    "module as a default": (lambda x, q=m: x * q.k, _set(m, "k", 3.0)),
    "module in a list": (lambda x: x * holder[0].k, _set(m, "k", 3.0)),
    "module by its dict": (lambda x: x * m.__dict__["k"], _set(m, "k", 3.0)),
    "operator": (lambda x: x * operator.attrgetter("k")(m), _set(m, "k", 3.0)),
    "attribute that comes": (lambda x: x * 2 if hasattr(m, "z") else x, _set(m, "z", 3.0)),
    "list": (lambda x: x * listed[0], _item(listed, 0, 5.0)),
    "dict": (lambda x: x * mapped["k"], _item(mapped, "k", 5.0)),
    "counter": (lambda x: x * counter["k"], _item(counter, "k", 5)),
    "array": (lambda x: x * float(viewed[0]), _item(viewed, 0, 5.0)),
    "record": (lambda x: x * record["a"], _item(record, "a", 5.0)),
    "class, derived": (lambda x: x * Sub.k, _set(Sub, "k", 5.0)),
    "class, its list": (lambda x: x * sub.values[0], _item(Base.values, 0, 5.0)),
    "class, by an instance": (lambda x: x * sub.k, _set(Base, "k", 5.0)),
    "class, abstract": (lambda x: x * Abstract.k, _set(Abstract, "k", 5.0)),
    "static": (lambda x: x * Base.stat(), _item(globals(), "G", 3.0)),
    "static, abstract": (lambda x: x * Abstract.stat(), _item(globals(), "G", 3.0)),
    "method": (lambda x: x * sub.scale(), _item(globals(), "G", 3.0)),
    "method, replaced": (lambda x: x * sub.scale(), _set(Sub, "scale", lambda self: 7.0)),
    "named tuple": (lambda x: x * pair.scale(), _item(globals(), "G", 3.0)),
    "named tuple, its list": (lambda x: x * sum(pair.values, 1.0), lambda: pair.values.append(2.0)),
    "named tuple, a default": (lambda x: x * Defaulted().a[0], _item(DEFAULT, 0, 5.0)),
    "named tuple, defaults": (lambda x: x * Defaulted().b,
                              _set(Defaulted.__new__, "__defaults__", ([1.0], 5.0))),
    "dispatch": (lambda x: x * dispatched(2), lambda: dispatched.register(int)(lambda v: v * 9)),
    "number": (lambda x: x * number.scale(), _item(globals(), "G", 3.0)),
    "enum": (lambda x: x * Level.LOW.scale(), _item(globals(), "G", 3.0)),
    "enum, its value": (lambda x: x * Level.LOW.value[0], _item(Level.LOW.value, 0, 3.0)),
    "dataclass": (lambda x: x * point.scale(), _item(globals(), "G", 3.0)),
    "slots": (lambda x: x * below.k, _set(below, "k", 4.0)),
    "other attributes": (lambda x: x * instance.k, _set(instance, "__dict__", {"k": 4.0})),
    "default of a helper": (lambda x: helper(x), _set(helper, "__defaults__", (3.0,))),
    "option of a helper": (lambda x: option(x), _item(option.__kwdefaults__, "k", 3.0)),
    "code of a helper": (lambda x: get_code(x), lambda: _exchange()),
    "builtin, shadowed": (lambda x: max(x, 1.0), _shadowed),
    "builtin": (lambda x: abs(x - 1), _set(builtins, "abs", lambda x: x * 0)),
    "number of a library": (lambda x: x * math.pi, _set(math, "pi", 3.0)),
    "function of a library": (lambda x: np.sinc(x), _set(np, "sinc", np.cos)),
    "wrapped": (lambda x: pretending(x), _item(globals(), "G", 3.0)),
    "order of a dict": (lambda x: _all(x), _reordered),
    "list in a list": (lambda x: x * plain[1][0], _item(plain[1], 0, 9.0)),
    "settings": (lambda x: x + np.get_printoptions()["precision"],
                 lambda: np.set_printoptions(precision=3)),
}  # fmt: skip


def _all(x):
    for name in functions:
        x = functions[name](x)
    return x


def get_code(x):
    return x * 2


def _exchange():
    get_code.__code__ = (lambda x: x * 5).__code__


@pytest.fixture(autouse=True)
def _as_it_was():
    kept.forget()
    pi, sinc, absolute, options = math.pi, np.sinc, builtins.abs, np.get_printoptions()
    yield
    math.pi, np.sinc, builtins.abs = pi, sinc, absolute
    np.set_printoptions(**options)
    globals().pop("max", None)
    globals()["G"] = 2.0
    m.k, m.inner.k = 2.0, 2.0


@pytest.mark.parametrize("name", CASES)
def test_what_changed_between_calls_is_seen(name):
    f, change = CASES[name]
    for _ in range(3):
        np.testing.assert_array_equal(lw.vmap(f)(XS), [f(x) for x in XS])
    change()
    for _ in range(2):
        np.testing.assert_array_equal(lw.vmap(f)(XS), [f(x) for x in XS])


def test_structures_of_arguments():
    def f(d):
        r = 0.0
        for x in d.values():
            r = 10 * r + x
        return r

    for d in ({"a": XS, "b": XS + 1}, {"b": XS + 1, "a": XS}):
        want = [f({key: x[i] for key, x in d.items()}) for i in range(2)]
        np.testing.assert_array_equal(lw.vmap(f)(d), want)


def test_cells_without_contents():
    def make(flag):
        def f(x):
            return x * 2 if flag else x * k

        if not flag:
            k = 3.0
        return f

    np.testing.assert_array_equal(lw.vmap(make(True))(XS), 2 * XS)
    np.testing.assert_array_equal(lw.vmap(make(False))(XS), 3 * XS)
    np.testing.assert_array_equal(lw.vmap(make(True))(XS), 2 * XS)


def test_containers_that_hold_themselves():
    held = {"v": 2.0}
    held["me"] = held
    for _ in range(2):
        np.testing.assert_array_equal(lw.vmap(lambda x: x * held["v"])(XS), 2 * XS)
        np.testing.assert_array_equal(lw.function(lw.vmap(lambda x: x * held["v"]))(XS), 2 * XS)
