"""State outside that changes behind what Python calls: properties, operators, ``with``."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest

import lanewise as lw

XS = np.array([1.0, -2.0, 3.0, 4.0])


class Counter:
    def __init__(self):
        self.n = 0

    @property
    def value(self):
        self.n += 1
        return self.n

    @value.setter
    def value(self, v):
        self.n = self.n + v

    def _counted(self, other=0):
        self.n += 1
        return self.n + other

    __add__ = __radd__ = __matmul__ = __getitem__ = _counted
    __neg__ = __abs__ = __enter__ = __len__ = __int__ = _counted

    def __exit__(self, *error):
        self.n += 1

    def __setitem__(self, k, v):
        self.n = self.n + v

    def __delitem__(self, k):
        self.n += 1

    def __call__(self, x):
        self.n += x
        return self.n

    def __contains__(self, x):
        self.n += 1
        return self.n > 2

    def __eq__(self, other):
        self.n += 1
        return self.n > 2

    def __lt__(self, other):
        self.n += 1
        return self.n > 2

    def __bool__(self):
        self.n += 1
        return self.n > 2

    def __float__(self):
        self.n += 1
        return float(self.n)

    def __iter__(self):
        self.n += 1
        return iter([self.n])

    def __iadd__(self, other):
        self.n = self.n + other
        return self

    __hash__ = None


class Getattr:
    def __init__(self):
        object.__setattr__(self, "n", 0)

    def __getattr__(self, name):
        object.__setattr__(self, "n", self.n + 1)
        return self.n


class Setattr:
    def __init__(self):
        object.__setattr__(self, "n", 0)

    def __setattr__(self, name, v):
        object.__setattr__(self, "n", self.n + v)


class Frozen:
    def __init__(self):
        object.__setattr__(self, "n", 0)

    def __setattr__(self, name, v):
        raise AttributeError("frozen")

    def hit(self):
        object.__setattr__(self, "n", self.n + 1)
        return self.n


class Getattribute:
    n = 0

    def __getattribute__(self, name):
        if name == "foo":
            self.n = self.n + 1
            return self.n
        return object.__getattribute__(self, name)


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    @property
    def next(self):
        self.n += 1
        return self.n


class Described:
    """A descriptor keeps the number at the object that it is asked for."""

    class Next:
        def __get__(self, owner, kind):
            owner.n += 1
            return owner.n

        def __set__(self, owner, v):
            owner.n = owner.n + v

    next = Next()

    def __init__(self):
        self.n = 0


class Holder:
    def __init__(self):
        self.one, self.some, self.named = Counter(), [Counter()], {"a": Counter()}

    @property
    def n(self):
        return self.one.n + self.some[0].n + self.named["a"].n


def sets_a_property(o, x):
    o.value = x
    return x + o.n


def adds_to_a_property(o, x):
    o.value += x
    return o.n + 0.0


def adds_in_place(o, x):
    o += x
    return o.n + 0.0


def sets_an_entry(o, x):
    o[0] = x
    return o.n + 0.0


def deletes_an_entry(o, x):
    del o[0]
    return x + o.n


def enters(o, x):
    with o as k:
        return x + k


def sets_an_attribute(o, x):
    o.foo = x
    return o.n + 0.0


def sets_by_a_descriptor(o, x):
    o.next = x
    return o.n + 0.0


FORMS = {
    "property": (Counter, lambda o, x: x + o.value),
    "property by name": (Counter, lambda o, x: x + getattr(o, "value")),  # noqa: B009
    "property in a branch": (Counter, lambda o, x: x + o.value if x > 0 else x),
    "property set": (Counter, sets_a_property),
    "property added to": (Counter, adds_to_a_property),
    "+": (Counter, lambda o, x: o + x),
    "1 +": (Counter, lambda o, x: x + (1.0 + o)),
    "@": (Counter, lambda o, x: o @ x),
    "operator.add": (Counter, lambda o, x: operator.add(o, x)),
    "+=": (Counter, adds_in_place),
    "-": (Counter, lambda o, x: x + (-o)),
    "abs": (Counter, lambda o, x: x + abs(o)),
    "float": (Counter, lambda o, x: x + float(o)),
    "int": (Counter, lambda o, x: x + int(o)),
    "len": (Counter, lambda o, x: x + len(o)),
    "in": (Counter, lambda o, x: x if 3 in o else -x),
    "==": (Counter, lambda o, x: x if o == 3 else -x),
    "<": (Counter, lambda o, x: x if o < 3 else -x),
    "bool": (Counter, lambda o, x: x if o else -x),
    "not": (Counter, lambda o, x: x if not o else -x),
    "entry": (Counter, lambda o, x: o[x]),
    "entry set": (Counter, sets_an_entry),
    "entry deleted": (Counter, deletes_an_entry),
    "call": (Counter, lambda o, x: o(x)),
    "with": (Counter, enters),
    "iteration": (Counter, lambda o, x: x + sum([v for v in o])),
    "getattr": (Getattr, lambda o, x: x + o.foo),
    "setattr": (Setattr, sets_an_attribute),
    "frozen": (Frozen, lambda o, x: x + o.hit()),
    "getattribute": (Getattribute, lambda o, x: x + o.foo),
    "slot": (Slotted, lambda o, x: x + o.next),
    "descriptor": (Described, lambda o, x: x + o.next),
    "descriptor set": (Described, sets_by_a_descriptor),
    "of an attribute": (Holder, lambda o, x: x + o.one.value),
    "of a list": (Holder, lambda o, x: x + o.some[0].value),
    "of a dict": (Holder, lambda o, x: o.named["a"] + x),
}


@pytest.mark.parametrize("name", FORMS)
def test_state_behind_a_protocol_is_seen(name):
    """``vmap`` refuses before anything has changed, ``map_fn`` hands it on."""
    make, f = FORMS[name]
    plain = make()
    want = np.array([f(plain, x) for x in XS])
    outer = make()
    with pytest.raises(lw.UnsupportedError, match="is changed"):
        lw.vmap(lambda x: f(outer, x))(XS)
    assert outer.n == 0
    np.testing.assert_allclose(lw.map_fn(lambda x: f(outer, x), XS), want)
    assert outer.n == plain.n


class Steered:
    def __init__(self, w):
        self.w = w

    @property
    def sign(self):
        if self.w > 0:
            return 1.0
        return -1.0

    @functools.cached_property
    def twice(self):
        return 2.0 * self.w if self.w > 0 else 0.0

    def __add__(self, other):
        if other > 0:
            return other + self.w
        return other - self.w

    def __getattr__(self, name):
        if name.startswith("times"):
            return self.w * int(name[5:]) if self.w > 0 else self.w
        raise AttributeError(name)

    def __getitem__(self, k):
        return self.w * k if k > 0 else 0.0

    def __float__(self):
        if self.w > 0:
            return float(self.w)
        return 0.0

    def __call__(self, x):
        return x if x > self.w else self.w

    def __enter__(self):
        return self.w if self.w > 0 else 0.0

    def __exit__(self, *error):
        return None


def enters_steered(o, x):
    with o as k:
        return k * x


STEERED = {
    "property": lambda o, x: o.sign * x,
    "cached": lambda o, x: o.twice * x + o.twice,
    "+": lambda o, x: o + x,
    "getattr": lambda o, x: o.times3 + x,
    "entry": lambda o, x: o[x],
    "float": lambda o, x: float(o) + x,
    "call": lambda o, x: o(x),
    "with": enters_steered,
}


@pytest.mark.parametrize("name", STEERED)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_what_python_calls_by_itself_follows_data(name, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    f = STEERED[name]
    want = np.array([f(Steered(x - 1), x) for x in XS])
    np.testing.assert_allclose(lw.vmap(lambda x: f(Steered(x - 1), x))(XS), want)
    outer = Steered(0.5)  # the class is known by an object from outside alone
    want = np.array([f(outer, x) for x in XS])
    np.testing.assert_allclose(lw.vmap(lambda x: f(outer, x))(XS), want)


def test_what_is_not_traced_is_as_before():
    o = Counter()
    assert (o + 1, o.value, -o, o.n) == (2, 2, 3, 3)
    assert Getattr().foo == 1 and float(Steered(2.0)) == 2.0
    with pytest.raises(AttributeError):
        _ = Steered(1.0).missing
