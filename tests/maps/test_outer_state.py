"""State that outlives an example: refused under `vmap`, followed under `map_fn`, never a tensor."""

from __future__ import annotations

import copy
import functools
import gc
import itertools
from collections import Counter, deque

import numpy as np
import pytest

import lanewise as lw

X = np.array([1.0, 2.0, 3.0])
TOTAL = 0.0


class Meter:
    """An outer object with state."""

    shared = 0.0

    def __init__(self):
        self.total, self.history = 0.0, []

    def step(self, x):
        self.total += x
        self.history.append(self.total)
        return self.total


def nonlocal_sum():
    total = 0.0

    def func(x):
        nonlocal total
        total = total + x
        return total

    return func, lambda: total


def global_sum():
    global TOTAL
    TOTAL = 0.0

    def func(x):
        global TOTAL
        TOTAL = TOTAL + x
        return TOTAL

    return func, lambda: TOTAL


def method():
    meter = Meter()
    return meter.step, lambda: (meter.total, meter.history)


def class_attribute():
    Meter.shared = 0.0

    def func(x):
        Meter.shared += x
        return Meter.shared

    return func, lambda: Meter.shared


def of(state, body):
    return lambda: _of(state(), body)


def _of(state, body):
    def func(x):
        return body(state, x)

    return func, lambda: state


def last_and_next(items, x):
    items.append(items[-1] + x)
    return items[-1] * 1


def entry(table, x):
    table["sum"] += x
    return table["sum"] * 1


def window(items, x):
    items.append(x)
    return items[0] + items[1]


def count(table, x):
    table["n"] += 1
    return x * table["n"]


def grow(items, x):
    items.add(len(items))
    return x * len(items)


def first_byte(data, x):
    data[0] += 1
    return x + data[0]


def element(array, x):
    array[0] += 1
    return x + array[0]


def element_of_data(array, x):
    array[0] += x
    return array[0]


def default_argument():
    def func(x, kept=[0.0]):  # noqa: B006
        kept[0] += x
        return kept[0] * 1

    return func, lambda: func.__defaults__


def iterator():
    numbers = itertools.count()

    def func(x):
        return x + next(numbers)

    return func, lambda: repr(numbers)


STATEFUL = {
    "global": global_sum,
    "nonlocal": nonlocal_sum,
    "method": method,
    "class attribute": class_attribute,
    "list": of(lambda: [0.0], last_and_next),
    "dict": of(lambda: {"sum": 0.0}, entry),
    "deque": of(lambda: deque([0.0, 0.0], maxlen=2), window),
    "Counter": of(Counter, count),
    "set": of(set, grow),
    "bytearray": of(lambda: bytearray(2), first_byte),
    "array": of(lambda: np.zeros(2), element),
    "array of data": of(lambda: np.zeros(2), element_of_data),
    "default": default_argument,
    "iterator": iterator,
}


def append(items, x):
    items.append(x)
    return x * 2


def append_constants(items, x):
    items.extend((1, x > 1))
    return x


def keep_last(table, x):
    table["last"] = (x, {"double": x * 2})
    return x


def memoize(table, x):
    if "scale" not in table:
        table["scale"] = 3.0
    return x * table["scale"]


WRITE_ONLY = {
    "append": of(list, append),
    "append constants": of(list, append_constants),
    "last": of(lambda: {"last": None}, keep_last),
    "memo": of(dict, memoize),
}


def looped(make):
    func, state = make()
    return np.stack([func(x) for x in X]), repr(state())


@pytest.mark.parametrize("name", STATEFUL)
@pytest.mark.parametrize(
    "mapped",
    [lw.vmap, lw.vectorize, lambda f: lw.vmap(f, chunk_size=2), lambda f: lw.function(lw.vmap(f))],
    ids=["vmap", "vectorize", "chunks", "function"],
)
def test_maps_refuse_what_is_changed_and_read(name, mapped):
    func, state = STATEFUL[name]()
    before = repr(state())
    with pytest.raises(lw.UnsupportedError, match="test_outer_state"):
        mapped(func)(X)
    assert repr(state()) == before


@pytest.mark.parametrize("name", [*STATEFUL, *WRITE_ONLY])
def test_map_fn_passes_state_from_example_to_example(name):
    make = {**STATEFUL, **WRITE_ONLY}[name]
    want, after = looped(make)
    func, state = make()
    got = lw.map_fn(func, X)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype
    assert repr(state()) == after


@pytest.mark.parametrize("name", WRITE_ONLY)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_what_is_only_written_is_what_the_loop_leaves(name, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    want, after = looped(WRITE_ONLY[name])
    func, state = WRITE_ONLY[name]()
    np.testing.assert_array_equal(lw.vmap(func)(X), want)
    assert repr(state()) == after


def test_the_refusal_names_variable_and_lines():
    func, _ = nonlocal_sum()
    with pytest.raises(lw.UnsupportedError) as info:
        lw.vmap(func)(X)
    text = str(info.value)
    assert "the variable 'total' is changed (" in text
    assert text.count("total = total + x") == 2
    assert "lw.map_fn" in text


def test_a_traced_function_keeps_no_tensor():
    kept = []

    def func(x):
        kept.append(x * 2)
        return x

    with pytest.raises(lw.UnsupportedError, match=r"keeps a traced value in .*kept\.append"):
        lw.function(func)(X)
    assert kept == []


def test_a_traced_function_keeps_the_arguments_of_the_call_that_is_traced():
    kept, last = [], {}

    @lw.function
    def func(x, n):
        kept.append((x, n))
        last["x"] = [x]
        return x + n

    func(X, 2)
    func(X + 1, 2)
    assert len(kept) == 1 and kept[0][0] is X and kept[0][1] == 2 and last["x"][0] is X
    func(np.float64(3.0), np.int64(1))
    assert [repr(x) for x in kept[1]] == ["np.float64(3.0)", "np.int64(1)"]
    lw.vmap(func)(X.astype(np.float32), X)  # a part of the map, it leaves what the loop does
    assert [repr(x) for x, _ in kept[2:]] == [f"np.float32({x})" for x in X]
    with pytest.raises(lw.UnsupportedError, match=r"keeps a traced value in .*kept\.append"):
        func.get_concrete_function(lw.TensorSpec([3], np.float32), 1)
    assert len(kept) == 5


@functools.cache
def rows_of(n):
    return [[1.0 if i == j else 0.0 for i in range(n)] for j in range(n)]


ROWS = [[1.0, 0.0], [0.0, 1.0]]
TABLE = {"a": [1.0, 2.0], "b": [3.0, 4.0]}


def of_a_cache(x):
    rows = rows_of(2)
    if x > 1:
        rows[0], rows[1] = rows[1], rows[0]
    return rows


def of_a_variable(x):
    rows = ROWS
    if x > 1:
        rows[0], rows[1] = rows[1], rows[0]
    return rows


def within_others(x):
    TABLE["a"] = [x, x + 1]
    return {"table": TABLE, "x": x}


@pytest.fixture
def thawed():
    """Python's collector looks at all objects, as it does for users; our tests freeze them."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("thawed")
@pytest.mark.parametrize("f", [of_a_cache, of_a_variable, within_others])
def test_what_is_returned_may_be_somebody_elses_too(f, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    before = copy.deepcopy((rows_of(2), ROWS, TABLE))
    with pytest.raises(lw.UnsupportedError, match=r"a (list|dict) is changed|keeps a traced value"):
        lw.vmap(f)(X) if f is not within_others else lw.function(f)(X)
    with pytest.raises(lw.UnsupportedError, match="keeps a traced value"):
        lw.function(f)(X[1])
    assert (rows_of(2), ROWS, TABLE) == before


def test_what_is_returned_is_the_functions_own():
    def f(x, given):
        rows = [[1.0, 0.0], [0.0, 1.0]]
        if x > 1:
            rows[0], rows[1] = rows[1], rows[0]
        given[0] = x
        return rows, given

    rows, given = lw.vmap(f, in_dims=(0, None))(X, [1.0, 2.0])
    np.testing.assert_array_equal(rows[0][0], [1, 0, 0])
    np.testing.assert_array_equal(given[0], X)
