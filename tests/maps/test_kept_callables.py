"""Traces of maps are kept whatever a function is called as, while all it reaches is as it was."""

import dataclasses
import functools
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise.api import remembered

X = np.arange(8.0).reshape(4, 2)


class Scaled:
    def __init__(self, by):
        self.by = by

    def method(self, x):
        return np.sin(x) * self.by

    def __call__(self, x):
        return np.sin(x) * self.by

    @classmethod
    def of_class(cls, x):
        return np.sin(x) * 2


class Derived(Scaled):
    pass


class Slotted:
    __slots__ = ("by",)

    def __init__(self, by):
        self.by = by

    def method(self, x):
        return np.sin(x) * self.by


@dataclasses.dataclass
class Data:
    by: float

    def method(self, x):
        return np.sin(x) * self.by


def scale(x, by):
    return np.sin(x) * by


scaled, slotted, data, derived = Scaled(2.0), Slotted(2.0), Data(2.0), Derived(3.0)
CALLABLES = {
    "method": lambda: scaled.method,
    "object": lambda: scaled,
    "inherited": lambda: derived,
    "class method": lambda: Scaled.of_class,
    "slots": lambda: slotted.method,
    "dataclass": lambda: data.method,
    "partial": lambda: functools.partial(scale, by=2.0),
    "partial of an object": lambda: functools.partial(scaled.method),
    "closure": lambda: (lambda by: lambda x: scale(x, by))(float("2.5")),
    "nested map": lambda: lw.vmap(lambda v: v * 2),
    "map of a method": lambda: lw.vmap(scaled.method),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_is_traced_once(name, monkeypatch):
    from lanewise.api import mapping

    made, count = mapping._run_traced, [0]

    def counted(*args, **kwargs):
        count[0] += 1
        return made(*args, **kwargs)

    monkeypatch.setattr(mapping, "_run_traced", counted)
    batch = np.stack([X, X]) if "map" in name else X
    results = [lw.vmap(CALLABLES[name]())(batch) for _ in range(4)]
    inner = count[0]
    assert inner <= 2, "the map, and one within it"
    func = CALLABLES[name]()
    for result in results:
        np.testing.assert_allclose(result, np.stack([func(x) for x in batch]))


@pytest.mark.parametrize("holder", [scaled, slotted, data, derived], ids=lambda x: type(x).__name__)
def test_what_is_kept_is_of_the_object_as_it_is(holder):
    before = holder.by
    for by in (2.0, 3.0, 3.0, 4.0):
        holder.by = by
        np.testing.assert_allclose(lw.vmap(holder.method)(X), np.sin(X) * by)
    holder.by = before


def test_objects_of_one_class_do_not_share():
    objects = [Scaled(float(n)) for n in range(5)]
    for _ in range(3):
        for n, each in enumerate(objects):
            np.testing.assert_allclose(lw.vmap(each)(X), np.sin(X) * n)
            np.testing.assert_allclose(lw.vmap(each.method)(X), np.sin(X) * n)


def test_partials_differ_in_what_they_give():
    for by in (1.0, 2.0, -0.0, 0.0, 1):
        for _ in range(3):
            result = lw.vmap(functools.partial(scale, by=by))(X)
            expected = np.sin(X) * by
            np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
            np.testing.assert_allclose(result, expected)
    whole = np.arange(4)
    for by in (1, True, 1.0, np.float32(1), 1 + 0j):
        for _ in range(2):
            result = lw.vmap(functools.partial(lambda x, by: x * by, by=by))(whole)
            assert result.dtype == (whole[0] * by).dtype


def test_keywords_of_a_partial_that_change():
    bound = functools.partial(scale, by=2.0)
    np.testing.assert_allclose(lw.vmap(bound)(X), np.sin(X) * 2)
    bound.keywords["by"] = 5.0
    np.testing.assert_allclose(lw.vmap(bound)(X), np.sin(X) * 5)


def test_a_map_with_other_axes_is_another():
    batch = np.arange(24.0).reshape(2, 3, 4)
    for axis in (0, 1, 0, 1):
        func = lw.vmap(lambda v: v.sum(), in_dims=axis)
        np.testing.assert_allclose(lw.vmap(func)(batch), batch.sum(axis=2 - axis))


def test_a_method_that_is_refused_is_refused_once(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)

    class Texts:
        def length(self, x):
            text = ""
            for each in x:
                text = text + chr(97 + int(each > 0))
            return float(len(text))

    texts = Texts()
    with pytest.warns(lw.PlainLoopWarning):
        assert lw.vmap(texts.length)(X).tolist() == [2.0] * 4
    from lanewise.api import mapping

    monkeypatch.setattr(mapping, "mapped", lambda *_: pytest.fail("it was traced again"))
    assert lw.vmap(texts.length)(X).tolist() == [2.0] * 4


@pytest.mark.any_backend
def test_the_oldest_is_forgotten():
    store = remembered.Remembered(3)
    functions = [lambda x, n=n: n for n in range(5)]
    for n, func in enumerate(functions):
        store.put(func, "call", n)
    assert [store.get(func, "call") for func in functions] == [None, None, 2, 3, 4]
    assert store.get(functions[4], "another") is None
    assert store.get(len, "call") is None
    store.put(len, "call", 1)
    assert store.get(len, "call") is None


def test_arguments_of_other_structures_are_others():
    def total(d, scale=1.0):
        result = 0.0
        for x in d.values() if isinstance(d, dict) else d:
            result = 10 * result + (np.sum(x) if np.ndim(x) else x * scale)
        return result

    arrays = [X[:, 0], X[:, 1]]
    given = [
        {"a": arrays[0], "b": arrays[1]}, {"b": arrays[1], "a": arrays[0]}, arrays, tuple(arrays),
        {"a": {"c": arrays[0], "d": arrays[1]}, "b": arrays[1]},
    ]  # fmt: skip
    for _ in range(2):
        for each in given[:4]:
            rows = each.values() if isinstance(each, dict) else each
            expected = [total(list(row)) for row in zip(*rows, strict=True)]
            np.testing.assert_allclose(lw.vmap(total)(each), expected)
        for scale in (1.0, 2.0, 2, True, np.float32(2)):
            found = lw.vmap(total, in_dims=(0, None))(given[0], scale)
            expected = [total(list(row), scale) for row in zip(*arrays, strict=True)]
            np.testing.assert_allclose(found, expected)
            assert found.dtype == np.asarray(expected).dtype


@pytest.mark.any_backend
def test_orders_of_dicts():
    first, second = {"a": X, "b": [X, 1]}, {"b": [X, 1], "a": X}
    assert remembered.orders_in(first) != remembered.orders_in(second)
    assert remembered.orders_in([first]) == remembered.orders_in([dict(first)])
    assert remembered.orders_in([first, {1, 2}]) is None
    assert remembered.orders_in(Data(3.0)) is not None


@pytest.mark.any_backend
def test_threads_remember_at_once():
    store, errors = remembered.Remembered(2), []

    def work(n):
        try:
            for k in range(3000):
                store.put(scale, (n, k), k)
                store.get(scale, (n, k - 1))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
