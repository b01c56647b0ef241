"""Numbers that a mapped function uses are operands of its kernel: other ones, the same kernel."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import kernel_cache
from lanewise.codegen.lift import lift
from lanewise.ir.text import parse_graph
from lanewise.ops.registry import REGISTRY
from lanewise.runtime import dispatch
from support.backends import assert_same_outcome

X = np.linspace(0.1, 3.0, 37)


@pytest.fixture(autouse=True)
def _native(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(dispatch, "_cache", {})
    kernel_cache.KERNELS.clear()


def straight(a, b):
    return lambda x: (x * a + b) / 3.7 - np.maximum(x, a)


def branching(a, b):
    def func(x):
        if x > a:
            y = x * b
            if y > 2 * b:
                y = y - a * 7
        elif x > 2 * a:
            y = x + b
        else:
            y = a
        return y

    return func


def looping(a, b):
    def func(x):
        y, n = x, 0
        while y < a:
            y = y * 1.3 + b
            n += 1
            for k in range(n):
                y = y + k * b
        return y, n

    return func


def scanning(a, b):
    def func(x):
        y = np.zeros(5)
        s = a
        for i in range(5):
            s = s * b + x
            y[i] = s - a
        return y, s

    return func


def mapping(a, b):
    def func(x):
        return lw.vmap(lambda v, w: v * a + w * b + x, in_dims=(0, None))(np.arange(4.0), x).sum()

    return func


def choosing(a, b):
    def func(x):
        cases = [lambda: x * a, lambda: x - b, lambda: x * b + a]
        return lw.switch_case(np.int64(x * 1.7) % 3, cases)

    return func


PROGRAMS = [straight, branching, looping, scanning, mapping, choosing]
USUAL = [(0.7, 0.3), (1.1, 0.9), (2.3, 0.013)]
SPECIAL = [
    (0.7, -0.0), (0.7, 0.0), (np.inf, 0.3), (-np.inf, 0.3), (np.nan, 0.3), (0.7, np.nan),
    (1.0, 0.5), (5e-324, 0.3), (-0.7, -0.3), (1e308, 0.25),
]  # fmt: skip


def count() -> int:
    return len(kernel_cache.KERNELS)


@pytest.mark.parametrize("make", PROGRAMS)
def test_another_number_is_no_other_kernel(make):
    for numbers in USUAL:
        assert_same_outcome(lambda numbers=numbers: lw.vmap(make(*numbers))(X))
        assert count() == 1


def ends(make, a, b) -> bool:
    return make is not looping or (a < 10 and b >= 0)


@pytest.mark.parametrize(
    ("make", "numbers"), [(make, n) for make in PROGRAMS for n in SPECIAL if ends(make, *n)]
)
def test_all_numbers_mean_the_same(make, numbers):
    assert_same_outcome(lambda: lw.vmap(make(*numbers))(X))
    assert count() == 1


def test_the_sign_of_zero():
    for zero in (0.0, -0.0):
        got = lw.vmap(lambda x, zero=zero: np.copysign(x, zero))(X)
        assert np.signbit(got).all() == np.signbit(zero)
        got = lw.vmap(lambda x, zero=zero: (x - x) * -1.0 + zero)(X)
        assert np.signbit(got).all() == np.signbit(zero)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64, np.complex128])
def test_all_kinds_of_numbers(dtype):
    x = X.astype(dtype)
    for number in (0.3, 0.7):
        assert_same_outcome(lambda number=number: lw.vmap(lambda x: x * number + dtype(0.9))(x))
        assert count() == 1
    if np.dtype(dtype).kind == "c":
        for number in (0.3j, 1 + 7j):
            assert_same_outcome(lambda number=number: lw.vmap(lambda x: x - number)(x))
        assert count() == 2


def test_whole_numbers_and_truth_values_stay():
    x = np.arange(10)
    lw.vmap(lambda x: x * 3)(x)
    lw.vmap(lambda x: x * 4)(x)
    assert count() == 2


def test_numbers_that_fold_stay():
    for number in (0.0, 1.0, 2.0, 0.5, -1.0):
        lw.vmap(lambda x, number=number: x * number)(X)
    assert count() == 5
    for exponent in (3.0, 2.5):
        assert_same_outcome(lambda e=exponent: lw.vmap(lambda x: x**e)(X), exact=False)
    assert count() == 7
    # A quotient by a power of two is a product.
    for divisor in (8.0, 0.125, 3.0, 7.0):
        assert_same_outcome(lambda d=divisor: lw.vmap(lambda x: x / d)(X))
    assert count() == 10


def test_an_exponent_from_outside_of_a_loop_stays():
    def power(exponent):
        def func(x):
            s = 0.0
            while s < 3:
                s += 0.4 + (x**exponent + exponent) * 0.01
            return s

        return func

    for exponent in (3.0, 4.0):
        lw.vmap(power(exponent))(X)
    assert count() == 2


def test_each_number_is_one_input():
    graph = parse_graph(
        """
        graph(%0: f64[]) {
          %1: f64[] = constant(0.1)
          %2: f64[] = multiply(%0, %1)
          %3: f64[] = constant(2.0)
          %4: f64[] = add(%2, %1)
          %5: f64[] = add(%4, %3)
          return %5
        }
        """,
        REGISTRY,
    )
    lifted, numbers, origin = lift(graph)
    assert [np.frombuffer(number.params["data"])[0] for number in numbers] == [0.1]
    assert len(lifted.inputs) == 2
    names = [op.primitive.name for op in lifted.operations]
    assert names == ["multiply", "constant", "add", "add"]
    assert [origin[op] for op in lifted.operations] == list(graph.operations[1:])


def test_another_number_does_not_put_off_compiling(monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND")
    x = np.linspace(-1, 1, 60_000)

    def step(rate):
        with dispatch.observing() as programs:
            lw.vmap(lambda x: np.tanh(x * rate) + x)(x)
        return programs[0].executable

    executables = [step(0.001 * (number + 1)) for number in range(200)]
    first = [executable.native is not None for executable in executables].index(True)
    assert 5 < first < 195  # and not at the first, nor for each number anew
    assert all(executable.native is not None for executable in executables[first:])
    assert count() == 1
    # An exponent is part of the kernel, so another one is another kernel.
    assert step(0.5).native is None


def test_numbers_that_stay_are_counted_apart(monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND")
    for exponent in np.linspace(2.1, 2.9, 50):
        with dispatch.observing() as programs:
            lw.vmap(lambda x, e=float(exponent): x**e)(np.linspace(0, 1, 20_000))
        assert programs[0].executable.native is None
