"""Methods: each object has traces of its own, which go when it goes."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import lanewise as lw

X = np.arange(4.0)


class Scale:
    traced = 0

    def __init__(self, by):
        self.by = by

    @lw.function
    def apply(self, x):
        Scale.traced += 1
        return x * self.by

    @staticmethod
    @lw.function
    def double(x):
        return x * 2

    @lw.function
    @staticmethod
    def triple(x):
        return x * 3

    @classmethod
    @lw.function
    def name_length(cls, x):
        return x * len(cls.__name__)

    @lw.function
    @classmethod
    def name_length_too(cls, x):
        return x * len(cls.__name__)


class Derived(Scale):
    @lw.function
    def apply(self, x):
        return super().apply(x) + 1


@pytest.fixture(autouse=True)
def no_collector():
    """Run without the garbage collector: what is freed, is freed by reference counts."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_objects_do_not_share_traces(backend):
    one, two = Scale(3), Scale(np.full(4, 5.0))
    for _ in range(3):
        np.testing.assert_array_equal(one.apply(X), X * 3)
        np.testing.assert_array_equal(two.apply(X), X * 5)
    assert one.apply.experimental_get_tracing_count() == 1
    assert two.apply.experimental_get_tracing_count() == 1
    before = Scale.apply.experimental_get_tracing_count()
    np.testing.assert_array_equal(Scale.apply(one, X), X * 3)  # self is an argument like others
    assert Scale.apply.experimental_get_tracing_count() == before + 1


def test_static_and_class_methods(backend):
    for owner in (Scale, Scale(1), Derived):
        np.testing.assert_array_equal(owner.double(X), X * 2)
        np.testing.assert_array_equal(owner.triple(X), X * 3)
        length = len("Derived" if owner is Derived else "Scale")
        np.testing.assert_array_equal(owner.name_length(X), X * length)
        np.testing.assert_array_equal(owner.name_length_too(X), X * length)


def test_super_and_nested_methods(backend):
    derived = Derived(2)
    for _ in range(2):
        np.testing.assert_array_equal(derived.apply(X), X * 2 + 1)


def test_an_object_and_its_traces_go_together():
    one = Scale(2.5)
    one.apply(X)
    one.apply(X + 1)
    concrete = weakref.ref(one.apply.get_concrete_function(X))
    method = one.apply
    gone = weakref.ref(one)
    del one
    assert gone() is not None and concrete() is not None  # a bound method keeps its object
    np.testing.assert_array_equal(method(X), X * 2.5)
    del method
    assert gone() is None and concrete() is None
    assert not Scale.__dict__["apply"]._by_instance


def test_attributes_changed_later_are_not_seen():
    one = Scale(2.0)
    one.apply(X)
    one.by = 7.0
    np.testing.assert_array_equal(one.apply(X), X * 2)


def test_objects_that_are_data():
    class Pair(NamedTuple):
        a: np.ndarray
        b: np.ndarray

        @lw.function
        def total(self, x):
            return (self.a + self.b) * x

    for k in range(4):
        pair = Pair(X + k, X * k)
        np.testing.assert_array_equal(pair.total(X), (X + k + X * k) * X)
    assert Pair.total.experimental_get_tracing_count() == 1


def test_methods_of_dataclasses_and_of_classes_with_slots(backend):
    @dataclass
    class Model:
        w: np.ndarray

        @lw.function
        def __call__(self, x):
            return x @ self.w

    class Slotted:
        __slots__ = ("k",)

        def __init__(self, k):
            self.k = k

        @lw.function
        def apply(self, x):
            return x * self.k

    np.testing.assert_array_equal(Model(X)(X), X @ X)
    np.testing.assert_array_equal(Model(X + 1)(X), X @ (X + 1))
    np.testing.assert_array_equal(Slotted(2).apply(X), X * 2)
    np.testing.assert_array_equal(Slotted(3).apply(X), X * 3)


def test_a_map_of_a_method(backend):
    class Model:
        def __init__(self, w):
            self.w = w

        def one(self, x):
            return x * self.w

        many = lw.function(lw.vmap(one))

    model = Model(3.0)
    np.testing.assert_array_equal(model.many(X), X * 3)
    np.testing.assert_array_equal(lw.function(lw.vmap(model.one))(X), X * 3)
