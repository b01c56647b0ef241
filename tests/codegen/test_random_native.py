"""Random programs in both backends: what kernels give is what the interpreter gives.

Integers, truth values and correctly rounded floats must be the same to the bit, the results of
mathematical functions up to `backends.ULP`, and what sums of floats have a part in up to rounding.
The local memory of what is drawn is written over when it is handed on: see `poisoned`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import lanewise as lw
from compose.test_random_control_flow import Notes
from compose.test_random_programs import _assert_close, _cut
from control import test_random_writes
from lanewise.runtime.dispatch import compile
from support import random_control_flow, random_numerics, random_programs
from support.backends import (
    Kernels,
    assert_close,
    assert_equal,
    assert_same_error,
    assert_same_outcome,
    backend,
    layouts,
    outcome,
    watched,
)
from support.draws import seeds
from support.random_graphs import random_graph
from support.searching import searching

SIZES = (0, 1, 7, 8, 9, 31, 33, 100)
DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
#: One of each size and form, for what moves numbers and does not look at them.
MOVED = "? i2 f4 u8 c8 c16".split()


def anything(dtype: str, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    """Return numbers of all sizes, and of floats the special ones."""
    rng = np.random.default_rng([seed, *dtype.encode()])
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        limits = np.iinfo(dtype)
        low = max(limits.min, -9)
        wide = rng.integers(limits.min, limits.max, shape, kind, endpoint=True)
        return np.where(rng.random(shape) < 0.5, wide, rng.integers(low, 10, shape).astype(kind))
    if kind.kind == "c":
        real = f"f{kind.itemsize // 2}"
        parts = [anything(real, shape, seed + part) for part in (1, 2)]
        result = np.empty(shape, kind)
        result.real, result.imag = parts
        return result
    limits = np.finfo(dtype)
    special = [np.nan, np.inf, -np.inf, -0.0, 0.0, limits.max, limits.tiny, limits.tiny / 4, 1.0]
    with np.errstate(all="ignore"):
        usual = (4 * rng.normal(size=shape)).astype(kind)
        return np.where(rng.random(shape) < 0.25, rng.choice(np.array(special, kind), shape), usual)


# --- programs -------------------------------------------------------------------------------------


def check_graph(seed: int, depth: int, length: int) -> Kernels:
    """Assert that a random graph gives the same in both backends; return what was compiled."""
    graph, arguments = random_graph(seed, depth, length, SIZES)
    executable = compile(graph)
    with backend("interpret"):
        want = executable(*arguments)
    with watched() as seen:
        got = executable(*arguments)
    assert not seen.cautious, seed
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, 1e-12, 1e-12, err_msg=f"seed {seed}")
    return seen


@pytest.mark.usefixtures("poison")
@pytest.mark.parametrize(("depth", "length", "count"), [(3, 3, 12), (3, 50, 12), (4, 9, 12)])
def test_graphs(depth, length, count):
    """Control flow in maps in control flow; vectors in registers, and in memory."""
    assert sum(bool(check_graph(seed, depth, length).maps) for seed in seeds(count)) >= count / 2


#: Programs of NumPy's functions on all dtypes, on arrays in registers and in memory.
PROGRAMS = random_programs.cases() | random_programs.cases(st.sampled_from([2, 6, 17, 45, 1, 2]))
#: Those with loops, inner maps, writes and algebra among them.
NUMERICS = random_numerics.cases()
#: Branches, loops, writes and errors; arrays in registers, and in memory.
CONTROL_FLOW = random_control_flow.cases() | random_control_flow.cases(random_control_flow.LONG)


def check_program(case: random_programs.Case) -> None:
    """Assert that a program does the same in both backends.

    See `compose.test_random_programs` for how results compare.
    """
    assume("partition" not in case.program.source)  # NumPy leaves the order of the rest open
    with backend("interpret"):
        mapped = case.program.function()
    for level in case.maps:
        mapped = lw.vmap(mapped, tuple(level.in_dims), level.out_dims, chunk_size=level.chunk)
    arrays = [_cut(a, position, case.maps) for position, a in enumerate(case.arrays)]
    before = [a.copy() for a in arrays]
    with backend("interpret"):
        want, error = outcome(lambda: mapped(*arrays))
    with watched() as seen:
        got, other = outcome(lambda: mapped(*arrays))
    assert_same_error(other, error)
    assert not seen.cautious
    for x, y in zip(arrays, before, strict=True):
        assert x.tobytes() == y.tobytes(), "an argument was changed"
    if error is not None:
        return
    # The absolute value of a complex number, and so its sign, is rounded otherwise.
    is_complex = any([array.dtype.kind == "c" for array in case.arrays])
    exact = not re.search(r"np\.absolute" + r"|np\.sign\b" * is_complex, case.program.source)
    for name, g, w in zip(case.program.outputs, got, want, strict=True):
        if name in case.program.rough and w.dtype.kind in "fc":
            assert (g.dtype, g.shape) == (w.dtype, w.shape)
            _assert_close(name, g, w)
        else:
            assert_equal(g, w, exact=exact)


@pytest.mark.usefixtures("poison")
@searching(30)
@given(PROGRAMS)
def test_programs(case):
    check_program(case)


@pytest.mark.usefixtures("poison")
@searching(20)
@given(NUMERICS)
def test_numerics(case):
    check_program(case)


def check_control_flow(case: random_control_flow.Case) -> None:
    """Assert that a program gives the same in both backends, to the bit."""
    notes = Notes()
    with backend("interpret"):  # (it also keeps Python from warning of odd programs)
        mapped = case.function(notes)
    for level in case.maps:
        mapped = lw.vmap(mapped, level.in_dims, chunk_size=level.chunk)
    with backend("interpret"):
        want, error = outcome(lambda: mapped(*case.arrays))
    calls, notes.calls = notes.calls, []
    with watched():
        got, other = outcome(lambda: mapped(*case.arrays))
    assert_same_error(other, error)
    if error is None:
        assert notes.calls == calls
        assert_equal(got, want)


@pytest.mark.usefixtures("poison")
@searching(10)
@given(CONTROL_FLOW)
def test_control_flow(case):
    check_control_flow(case)


def check_writes(program: Any, seed: int) -> None:
    """Assert that a program of views and writes gives in kernels what NumPy does."""
    with watched() as seen:
        test_random_writes.check_program(program, seed, lambda graph, *x: compile(graph)(*x))
    assert not seen.cautious


@pytest.mark.usefixtures("poison")
@searching(15)
@given(test_random_writes.programs(2), st.integers(0, 2**32))
def test_writes(program, seed):
    check_writes(program, seed)


# --- arguments ------------------------------------------------------------------------------------


def moved(a: Any, b: Any) -> Any:
    """Read, reorder and join two arrays, in ways that do not round."""
    return (
        a[::-1], a.T, np.concatenate([a, b]), np.where(a == b, a, b), a.reshape(-1)[1::2],
        np.maximum(a, b), np.repeat(a, 2, 1), np.pad(a, 1), a[-1, 0], np.roll(b, 1),
    )  # fmt: skip


def native(call: Callable[[], Any], exact: bool = True) -> Kernels:
    """Assert that a call gives the same in both backends, without an error."""
    with backend("interpret"):
        call()
    return assert_same_outcome(call, exact)


@pytest.mark.parametrize("dtype", MOVED)
def test_sizes(dtype):
    """Batches that are no multiple of the lanes; arrays in registers and in memory, empty ones."""
    for shape in ((2, 3), (5, 11), ((1, 1), (41, 1))[MOVED.index(dtype) % 2]):
        mapped = lw.vmap(moved)
        for size in SIZES:
            native(lambda m=mapped, s=(size, *shape): m(anything(dtype, s), anything(dtype, s, 1)))
    empty = lw.vmap(lambda a, b: (a[::-1], a.T, np.concatenate([a, b]), a == b, a.sum(0), a.all()))
    for size in SIZES:
        native(lambda s=(size, 0, 3): empty(anything(dtype, s), anything(dtype, s)))


@pytest.fixture
def one_vector(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one vector in flight, for most dtypes: kernels are half as long."""
    if DTYPES.index(dtype) % 3:
        monkeypatch.setenv("LANEWISE_LANES", "1")


@pytest.mark.parametrize("dtype", MOVED)
def test_layouts(dtype, one_vector):
    """Inputs as they lie in memory, mapped over any axis, and those that are not mapped."""
    x = anything(dtype, (9, 3, 4))
    for number, layout in enumerate(layouts(x)):
        np.testing.assert_array_equal(layout, x)
        for axis in (0, 1, 2, -1, -3):
            mapped = lw.vmap(lambda a: (a, a | a if a.dtype.kind == "b" else a + a, a[::-1]), axis)
            seen = native(lambda m=mapped, y=layout: m(y))
            assert number or axis < 0 or seen.maps
    product = lw.vmap(lambda a, b: (a * b, b[1], a == b[0]), (0, None))
    for layout in layouts(x[0]):
        native(lambda y=layout: product(x, y), exact=x.dtype.kind != "c")
    scalar = lw.vmap(lambda a, b: (np.maximum(a, b), b), (0, None))
    assert native(lambda: scalar(x, np.array(x[1, 2, 3]))).maps
    native(lambda: scalar(x, x[0, 1, 2]))


@pytest.mark.parametrize("dtype", MOVED)
def test_nested(dtype, one_vector):
    """Maps in maps, with operands that one of them, or none, maps."""
    x, y, z = anything(dtype, (9, 3, 4)), anything(dtype, (4, 9), 1), anything(dtype, (3,), 2)

    def both(a: Any, b: Any) -> Any:
        return np.maximum(a, b), a == b, b

    calls = [
        lambda: lw.vmap(lw.vmap(both, (0, None)), (0, 1))(x, y),
        lambda: lw.vmap(lw.vmap(both, (1, 0)), (2, None), 1)(x, z),
        lambda: lw.vmap(lw.vmap(both, (1, None)), (0, None))(x, z),
        lambda: lw.vmap(lw.vmap(lw.vmap(both), (1, 0)), (1, None))(x, y),
        lambda: lw.vmap(lambda a: lw.vmap(both, (0, None))(a, a[0]), 2)(x),
        lambda: lw.vmap(lambda a: both(a, lw.vmap(np.max, 1)(a)))(x),
    ]
    for call in calls:
        assert native(call).maps


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(dtype, one_vector):
    """Every dtype as every other, and two of them together."""
    x = few = anything(dtype, (33, 3))
    if x.dtype.kind in "fc":  # beyond, C leaves it open
        few = (np.nan_to_num(x.real, posinf=3, neginf=3) % 100).astype(dtype)
    native(lambda: lw.vmap(lambda a: [a.astype(d) for d in DTYPES if d[0] not in "iu"])(x))
    native(lambda: lw.vmap(lambda a: [a.astype(d) for d in DTYPES if d[0] in "iu"])(few))
    others = [anything(d, (33, 3), 1) for d in DTYPES[DTYPES.index(dtype) :]]
    joined = lw.vmap(lambda a, *bs: [(np.concatenate([a, b]), np.where(a == b, a, b)) for b in bs])
    native(lambda: joined(x, *others))


# --- found by these tests -------------------------------------------------------------------------

RNG = np.random.default_rng(0)
LONG, MORE = RNG.normal(size=(2, 9, 50))
TURNS, PLACES = RNG.integers(0, 6, 9), RNG.integers(0, 50, 9)


def swapped(a: Any, b: Any, n: Any) -> Any:
    """Carry two arrays in memory, each of which becomes the other."""
    for _ in range(n):
        a, b = b, a
    return a, b


def rotated(a: Any, b: Any, n: Any) -> Any:
    c = a + b
    for i in range(n):
        a = a.copy()
        a[i] = b[i + 1]
        a, b, c = b, c, a
    return a, b, c


def begun_alike(a: Any, b: Any, n: Any) -> Any:
    """Carry an array twice: it must be two in memory."""
    c = a + b
    d = c
    for i in range(n):
        d = d.copy()
        d[i] = 7.0
    return c, d


def written_by_the_test(a: Any, b: Any, n: Any) -> Any:
    """Write, in the test of a loop, to a copy of what is carried."""

    def low(x: Any) -> Any:
        x = x.copy()
        x[n] = -9.0
        return x.min() < -8.0

    i = 0
    while low(a) and i < n:
        a = a + 1.0
        i += 1
    return a, i


def looped_aside(a: Any, b: Any, n: Any) -> Any:
    """Loop over what the lanes of the other branch still need."""
    c = a + b
    if n > 2:
        for _ in range(3):
            c = c * 2.0
    else:
        c = c[::-1]
    return c


def looked_up(a: Any, b: Any, n: Any) -> Any:
    """Read a table of constants at an index that lanes share, in a loop that they do not."""
    table = np.array([3.0, 1.0, 4.0, 1.5])
    total = last = 0.0
    i = 0
    while i < n:
        last = table[i % 4]
        total += last * a[i]
        i += 1
    return total, last


def mapped_in_a_loop(a: Any, b: Any, n: Any) -> Any:
    """Carry what a map gives though it is the same for all lanes."""
    x = np.array([0.5, 1.0, 1.5])
    for _ in range(n):
        x = lw.vmap(lambda e: e * 0.5 + 1.0)(x)
    return x


def sorted_by_hand(a: Any, b: Any, n: Any) -> Any:
    a = a.copy()
    for _ in range(n):
        for j in range(49):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


@pytest.mark.parametrize(
    "function",
    [swapped, rotated, begun_alike, written_by_the_test, looped_aside, looked_up, mapped_in_a_loop,
     sorted_by_hand],
)  # fmt: skip
def test_loops(function):
    seen = native(lambda: lw.vmap(function)(LONG, MORE, TURNS))
    assert {"while", "scan", "cond"} & seen.primitives


def test_a_loop_outside_of_lanes():
    """Elements of a large example run in lanes; loops in its branches do not."""

    def function(a: Any, n: Any) -> Any:
        x = a * 2.0
        if n > 2:
            total, i = 0.0, 0
            while i < n + 5:
                total = total + np.sort(a[:20])[i]
                i += 1
            x = x + total
        return x

    large = RNG.normal(size=(5, 5000))
    assert "while" in native(lambda: lw.vmap(function)(large, np.arange(5))).primitives


@pytest.mark.parametrize(
    "function",
    [lambda a, i: a[i][0], lambda a, i: (a[i] * 2.0)[3:5], lambda a, i: np.take(a, i)[::2][1:],
     lambda a, i: np.diagonal(np.take_along_axis(a, i, 0).reshape(5, 10))],
)  # fmt: skip
def test_indices_of_elements_that_nobody_reads(function):
    """A wrong index is one whether or not its element is read."""
    places = np.tile(np.arange(-50, 0), (9, 1))
    native(lambda: lw.vmap(function)(LONG, places))
    places[4, 7] = 50
    call = lambda: lw.vmap(function)(LONG, places)  # noqa: E731
    with backend("native"), pytest.raises(IndexError, match="example 4"):
        call()
    assert_same_outcome(call)


def test_handing_on_what_has_no_native_form():
    x = np.array([1.5, 2.5], "g")
    results = [
        (lambda a, b: np.tanh(b), np.array([True, False])),
        (lambda a, b: b * 2, x),
        (lambda a, b: (a, b), x),
    ]
    for function, operand in results:
        native(lambda f=function, y=operand: lw.vmap(f, (0, None))(np.arange(3), y))
    native(lambda: lw.vmap(lambda a: a)(x))
    native(lambda: lw.vmap(lambda a, b: (a, b + 1))(x, np.arange(2)))
    native(lambda: lw.vmap(lambda a: (a + a, a))(x))


def test_sums_are_close():
    """Sums are taken in another order; they are as good as NumPy's own."""
    tolerances = {"f8": 1e-15, "f4": 1e-6, "c16": 1e-15, "f2": 1e-2}
    some = {"f8": (1, 7, 17, 50, 300, 5000), "f4": (7, 300), "c16": (17, 50), "f2": (17, 5000)}
    for dtype, tolerance in tolerances.items():
        for size in some[dtype]:
            x = RNG.normal(size=(9, size))
            y = x.astype(dtype)
            mapped = lw.vmap(lambda a: (a.sum(), a.mean(), a @ a, np.cumsum(a)))
            with backend("interpret"):
                want = mapped(y)
            with watched() as seen:
                got = mapped(y)
            assert "reduce" in seen.primitives
            scale = max(1.0, float(np.abs(x).sum(1).max()))
            assert_close(got, want, tolerance * scale)
