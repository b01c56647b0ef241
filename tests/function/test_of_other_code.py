"""What other code asks of numbers, and objects that a function changes: it runs as it stands."""

from __future__ import annotations

import functools
import operator
import statistics
import struct
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError

X = np.random.default_rng(0).normal(size=(5, 4))


@pytest.fixture(autouse=True)
def _usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x[0]))[0] & 0xFF


def ratio(x):
    return float(x[0]).as_integer_ratio()[1] % 7


def deviation(x):
    return statistics.stdev(list(x))


class Item:
    def __init__(self, e):
        self.e = e

    def times(self, k):
        return self.e * k


def by_attribute(x):
    items = [Item(v) for v in x]
    items.sort(key=operator.attrgetter("e"))
    return items[0].e + operator.methodcaller("times", 2)(items[1])


def drawn(x, seed=3):
    rng = np.random.RandomState(seed)
    return statistics.mean([float(v) for v in x * rng.rand(4)])


@pytest.mark.parametrize("f", [bits, ratio, deviation, by_attribute, drawn])
@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_what_other_code_refuses_is_run_plainly(f):
    for _ in range(2):
        np.testing.assert_allclose(lw.vmap(f)(X), [f(x) for x in X])
        np.testing.assert_allclose(lw.function(f)(X[1]), f(X[1]))


def test_seeds_that_are_arguments():
    def shuffled(deck, seed):
        rng = np.random.RandomState(seed)
        for i in range(len(deck) - 1, 0, -1):
            j = rng.randint(0, i + 1)
            deck[i], deck[j] = deck[j], deck[i]

    found, wanted = list(range(10)), list(range(10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lw.function(shuffled)(found, 3)
    shuffled(wanted, 3)
    assert found == wanted


@pytest.mark.parametrize("f", [
    lambda x: x @ np.ones(3), lambda x: x.nothing, lambda x: [1, 2][5], lambda x: int("a"),
])  # fmt: skip
def test_errors_of_the_function_stay_what_they_are(f):
    with pytest.raises(Exception) as plain:
        f(X[0])
    for call in (lambda: lw.vmap(f)(X), lambda: lw.function(f)(X[0])):
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(plain.type):
                    call()


# --- functions that are chosen by the class of an argument ----------------------------------------


@functools.singledispatch
def area(s, k):
    raise TypeError(f"no area of {type(s)}")


@area.register(np.ndarray)
def _(s, k):
    return s.sum() * k


@area.register(float)
def _(s, k):
    return s * k * 2


class Measure:
    @functools.singledispatchmethod
    def of(self, v):
        return 0.0

    @of.register(float)
    def _(self, v):
        return 1.0

    @of.register(np.ndarray)
    def _(self, v):
        return v.sum()


def by_class(x):
    return area(x, 3.0) + area(float(x[0]), 1.0)


def by_class_within(x):
    @functools.singledispatch
    def kind(v):
        return 0.0

    kind.register(float)(lambda v: 1.0)
    kind.register(np.ndarray)(lambda v: 2.0 + v[0])
    return kind(float(x[0])) + 10 * kind(x) + 100 * kind(int(x[0]))


def by_class_of_a_method(x):
    return Measure().of(x) + Measure().of(float(x[0])) + Measure().of(3)


@pytest.mark.parametrize("f", [by_class, by_class_within, by_class_of_a_method])
def test_single_dispatch_goes_by_what_data_stand_for(f, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    np.testing.assert_allclose(lw.vmap(f)(X), [f(x) for x in X], rtol=1e-14)
    np.testing.assert_allclose(lw.function(f)(X[0]), f(X[0]), rtol=1e-14)


# --- objects that are changed ---------------------------------------------------------------------


class Tank:
    def __init__(self, h):
        self.h, self.steps = h, 0

    def fill(self, inflow):
        self.h = self.h + 0.1 * inflow.sum()
        return self.h

    def count(self, x):
        self.steps += 1
        return x * self.steps

    @lw.function
    def filled(self, inflow):
        self.h = self.h + 0.1 * inflow.sum()
        return self.h

    @lw.function
    def empty(self):
        self.h = 0.0


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_objects_among_the_arguments_are_changed_by_each_call():
    for method in (Tank.fill, Tank.count):
        traced, found, wanted = lw.function(method), Tank(1.0), Tank(1.0)
        for x in (*X, *X):
            np.testing.assert_array_equal(traced(found, x), method(wanted, x))
            assert vars(found) == vars(wanted)
        found.h = wanted.h = 7.0
        np.testing.assert_array_equal(traced(found, X[0]), method(wanted, X[0]))


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_methods_change_their_object():
    found, wanted = Tank(1.0), Tank(1.0)
    for x in (*X, *X):
        np.testing.assert_array_equal(found.filled(x), wanted.fill(x))
    assert vars(found) == vars(wanted)
    for _ in range(2):
        found.h = 3.0
        found.empty()
        assert found.h == 0.0


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_maps_change_no_object():
    tank = Tank(1.0)
    with pytest.raises(UnsupportedError):
        lw.vmap(lambda x: tank.fill(x))(X)
    assert tank.h == 1.0


def test_the_refusal_says_what_is_changed(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    with pytest.raises(UnsupportedError, match=r"changes the attribute Tank.steps .*self.steps"):
        lw.function(Tank.count)(Tank(1.0), X[0])


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.filterwarnings("ignore::lanewise.RetracingWarning")
def test_lists_that_grow_from_call_to_call_are_not_traced_each_time():
    def noted(state, x):
        state["log"].append(x)
        return state["log"][-1][1:]

    traced, found, wanted = lw.function(noted), {"log": []}, {"log": []}
    for k in range(40):
        x = X[k % 5] + k
        np.testing.assert_array_equal(traced(found, x), noted(wanted, x))
    np.testing.assert_array_equal(found["log"], wanted["log"])
    assert not np.shares_memory(traced(found, X[0].copy()), found["log"][-1])
    assert traced.experimental_get_tracing_count() < 12


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_containers_that_are_changed_many_times():
    def descend(weights, slopes):
        for name in weights:
            weights[name] = weights[name] - 0.5 * slopes[name]

    traced = lw.function(descend)
    found, wanted, slopes = {"w": X.copy()}, {"w": X.copy()}, {"w": X}
    for _ in range(300):
        traced(found, slopes)
        descend(wanted, slopes)
    np.testing.assert_allclose(found["w"], wanted["w"], rtol=1e-12)
    twice = {"w": X.copy()}
    traced(twice, twice)
    np.testing.assert_array_equal(twice["w"], X - 0.5 * X)


class Inner:
    def __init__(self):
        self.n = 0

    def up(self):
        self.n += 1


class Holder:
    def __init__(self):
        self.d, self.hist, self.buf = {"n": 0}, [], np.zeros(2)
        self.inner, self.last, self.row, self.pair = Inner(), None, [0], ()

    def counts_in_a_dict(self, z):
        self.d["n"] += 1
        return z * self.d["n"]

    def keeps_its_argument(self, z):
        found = 0.0 if self.last is None else (z - self.last).sum()
        self.last = z
        return found

    def counts_within(self, z):
        self.inner.n += 1
        return z * self.inner.n

    def calls_within(self, z):
        self.inner.up()
        return z * self.inner.n

    def counts_in_a_list(self, z):
        self.row[0] += 1
        return z * self.row[0]

    def appends(self, z):
        self.hist.append(z)
        return z * len(self.hist)

    def writes(self, z):
        self.buf[0] += 1
        return z * self.buf[0]

    def adds_data(self, z):
        self.buf += z
        return z + self.buf

    def in_a_tuple(self, z):
        self.pair = (z, 1)
        return z * 1

    def turns(self, z):
        self.d["on"] = not self.d.get("on")
        return z * self.d["on"]


def state_of(holder):
    return repr({k: vars(v) if isinstance(v, Inner) else v for k, v in vars(holder).items()})


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("name", [n for n in vars(Holder) if not n.startswith("_")])
def test_what_objects_hold_is_changed_by_each_call(name):
    given, own, plain = Holder(), Holder(), Holder()
    of_argument, of_method = lw.function(getattr(Holder, name)), lw.function(getattr(own, name))
    for k in range(4):
        z = np.full(2, k + 1.0)
        wanted = getattr(plain, name)(z)
        np.testing.assert_array_equal(of_argument(given, z.copy()), wanted)
        np.testing.assert_array_equal(of_method(z.copy()), wanted)
        assert state_of(given) == state_of(own) == state_of(plain)
