"""Arrays of unknown size: one trace gives what NumPy gives, at every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lanewise as lw
from support.searching import searching
from support.sized_programs import CORE, OTHERS, Program, arguments, assert_same, outcome

SPEC = lw.TensorSpec
SIZES = (5, 0, 1, 2, 17)
ALL = {**CORE, **OTHERS}


def check(program: Program, sizes: tuple[int, ...], calls: int = 1) -> None:
    """Trace once, and compare what it gives at each size."""
    specs = [SPEC(shape) for shape in program.shapes]
    f = lw.function(program.function, input_signature=specs)
    for size in [n for n in sizes if n not in program.unless] * calls:
        args = arguments(program, size)
        assert_same(outcome(f, args), outcome(program.function, args))
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("name", ALL)
def test_programs(name, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    check(ALL[name], SIZES)


@pytest.mark.parametrize("name", ALL)
def test_programs_natively(name, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    if [*ALL].index(name) % 2:
        monkeypatch.setenv("LANEWISE_LANES", "1")  # one vector in flight, or several
    check(ALL[name], (4, 0, 1, 33), calls=2)


BOUND = st.one_of(st.none(), st.integers(-7, 7))
SLICE = st.builds(slice, BOUND, BOUND, st.sampled_from([None, 1, 2, 3, -1, -2, -3]))


@searching(15)
@given(SLICE, SLICE)
@example(slice(-5, -2, None), slice(None, None, -1))
def test_slices(monkeypatch_module, first, second):
    f = lw.function(
        lambda x: (x[first], x[first][second], x[first].shape[0]), input_signature=[SPEC([None])]
    )
    for n in (4, 0, 1, 2, 3, 9):
        x = np.arange(float(n))
        assert_same(f(x), (x[first], x[first][second], len(x[first])))
    assert f.experimental_get_tracing_count() == 1


@searching(10)
@given(SLICE, st.integers(-4, 4))
def test_writing_to_slices(monkeypatch_module, part, shift):
    def write(x):
        y = x * 10
        y[part] += 1
        y[len(x) + shift :] -= x[len(x) + shift :]
        return y

    f = lw.function(write, input_signature=[SPEC([None])])
    for n in (4, 0, 1, 2, 3, 9):
        x = np.arange(float(n))
        assert_same(f(x), write(x))


@pytest.fixture(scope="module")
def monkeypatch_module():
    """Interpret all: what slices mean is decided while tracing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANEWISE_BACKEND", "interpret")
        yield


def test_a_size_is_a_python_int_that_is_data(backend):
    def f(x):
        n = x.shape[0]
        assert isinstance(n, int) and len(x) == n == x.size == np.size(x)
        return n, n // 2, n / 2, [n, -n], x * n

    g = lw.function(f, input_signature=[SPEC([None], np.int8)])
    n, half, ratio, pair, scaled = g(np.ones(7, np.int8))
    assert (n, half, ratio, pair) == (7, 3, 3.5, [7, -7])
    assert type(n) is type(half) is int and type(ratio) is float
    assert scaled.dtype == np.int8 and (scaled == 7).all()
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        g(np.ones(300, np.int8))


def test_what_is_known_of_a_size_decides_at_once(backend):
    def f(x):
        if len(x) + 1 > len(x) >= 0 and len(x[1:]) <= len(x):
            return x[:1]
        return x[:2]  # of another shape, so not recorded

    g = lw.function(f, input_signature=[SPEC([None])])
    assert _shape(g) == "min(x_0, 1)"
    np.testing.assert_array_equal(g(np.arange(3.0)), [0.0])
    np.testing.assert_array_equal(g(np.zeros(0)), [])


def _shape(function: Any) -> str:
    """Return the sizes of a traced function's result, as text."""
    (value,) = function.get_concrete_function().graph.outputs
    return ", ".join(map(str, value.type.shape))


def test_equal_sizes_have_one_form():
    def shape(func):
        return _shape(lw.function(func, input_signature=[SPEC(["n"])]))

    assert shape(lambda x: np.concatenate([x[:1], x[1:]])) == "n"
    assert shape(lambda x: np.pad(x, 1)[1:-1]) == "n"
    assert shape(lambda x: (x[1:-1] + x[2:] + x[:-2]) / 3) == "max(n-2, 0)"
    assert shape(lambda x: x[1::2]) == "floordiv(n, 2)"
    assert shape(lambda x: np.zeros(len(x) - 1 + 1)) == "n"
    assert shape(lambda x: x[len(x) // 2 :][: len(x)]) == "n-floordiv(n, 2)"


def test_relaxed_shapes_follow_sizes_too(backend):
    def total(x):
        s = 0.0
        for i in range(x.shape[0]):
            s = s + x[i]
        return s, x[1:] - x[:-1], np.zeros(len(x) + 1)

    f = lw.function(total, experimental_relax_shapes=True)
    for n in (3, 4, 5, 9, 0, 2):
        x = np.arange(float(n)) ** 2
        assert_same(f(x), total(x))
    assert f.experimental_get_tracing_count() == 2  # for 3, and for any size


def test_extremes_from_a_first_value_of_no_elements(backend):
    def extremes(x):
        return np.max(x, initial=-1.5), np.min(x, axis=0, initial=7), x.max(where=x > 1, initial=0)

    f = lw.function(extremes, input_signature=[SPEC([None])])
    for n in (3, 1, 0):
        x = np.arange(float(n))
        assert_same(f(x), extremes(x))
