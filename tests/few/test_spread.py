"""Loops of independent turns become maps over their turns, and mean the same; others stay loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.loops_of_turns import DEPENDENT, SPREAD, time_steps
from support.searching import searching
from support.spreading import loops_left, of_one, one_by_one, plainly

N = 80


@pytest.fixture(autouse=True)
def _recorded_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls that record functions are interpreted; kernels are run by the plans under test."""
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")


def batches(size: int = 2) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    return (
        rng.normal(size=(size, N)),
        rng.normal(size=(size, 36, 40)),
        rng.integers(0, N, (size, N)),
    )


def assert_close(got: list, want: list) -> None:
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)
        if b.dtype.kind in "biu":
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("function", "left"), SPREAD, ids=lambda x: getattr(x, "__name__", ""))
def test_loops_of_independent_turns_are_spread(function, left):
    given_ = batches()
    assert loops_left(function, *given_) == left
    want = plainly(function, *given_)
    for got, exact in zip(one_by_one(function, *given_, native=False), want, strict=True):
        np.testing.assert_array_equal(got, exact)  # totals too: they are taken in order
    assert_close(one_by_one(function, *given_, native=True), want)
    assert_close(
        one_by_one(function, *[x[:1] for x in given_], native=True), [row[:1] for row in want]
    )


def test_a_loop_within_another_is_spread_where_it_is_much_work():
    """Else both are in one kernel, as a kernel for each turn of the outer one costs more."""
    for size, left in ((200, 2), (5000, 1)):
        given_ = [np.linspace(0, 1, 2 * size).reshape(2, size), *batches()[1:]]
        assert loops_left(time_steps, *given_) == left
        want = plainly(time_steps, *given_)
        assert_close(one_by_one(time_steps, *given_, native=True), want)


@pytest.mark.parametrize("function", DEPENDENT, ids=lambda x: x.__name__)
def test_loops_of_dependent_turns_stay(function):
    given_ = batches()
    assert loops_left(function, *given_) == 1
    want = plainly(function, *given_)
    assert_close(one_by_one(function, *given_, native=False), want)
    assert_close(one_by_one(function, *given_, native=True), want)


def test_arguments_do_not_change():
    x, _, _ = batches(1)
    before = x.copy()

    def same(x):
        for i in range(1, N):
            x[i] = x[i] + 1
        return x, x[::-1]

    first, second = one_by_one(same, x, native=True)
    np.testing.assert_array_equal(x, before)
    assert not np.shares_memory(first, x)
    np.testing.assert_array_equal(second, first[:, ::-1])


def test_nothing_is_computed_in_another_order():
    """A total of floats is the loop's own, to the last bit."""
    x = np.random.default_rng(0).normal(size=(1, 5000)) * 10.0 ** np.arange(5000).clip(0, 12)

    def total(x):
        s = 0.1
        for v in x:
            s += v
        return s

    (want,) = plainly(total, x)
    np.testing.assert_array_equal(one_by_one(total, x, native=False)[0], want)
    np.testing.assert_array_equal(one_by_one(total, x, native=True)[0], want)


@pytest.mark.parametrize("fn", [np.add, np.maximum, np.minimum, np.multiply])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, np.int64])
def test_totals(fn, dtype):
    values = np.array([0.0, -0.0, 1, 3, 2, 250]).astype(dtype)
    x = np.random.default_rng(1).choice(values, size=(2, 40))

    def total(x):
        s = x[0]
        for i in range(1, 40):
            if x[i] != 3:
                s = fn(s, x[i])
        return s

    with np.errstate(all="ignore"):
        (want,) = plainly(total, x)
        assert loops_left(total, x) == 0
        (got,) = one_by_one(total, x, native=False)
        (native,) = one_by_one(total, x, native=True)
    assert got.dtype == native.dtype == want.dtype
    assert got.tobytes() == want.tobytes()
    np.testing.assert_array_equal(native, want)


def test_python_ints_are_counted():
    def counts(x):
        n = 2**62
        for i in range(N):
            if x[i] > 0:
                n += 2**40
        return n

    x, _, _ = batches()
    assert loops_left(counts, x) == 0
    want = plainly(counts, x)
    np.testing.assert_array_equal(one_by_one(counts, x, native=False)[0], want[0])
    np.testing.assert_array_equal(one_by_one(counts, x, native=True)[0], want[0])


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 31, 32, 33])
@pytest.mark.parametrize("step", [1, -1, 3, -2])
def test_turns(turns, step):
    x = np.random.default_rng(0).normal(size=(2, 200))

    def loop(x):
        out = np.zeros_like(x)
        for i in range(100, 100 + step * turns, step):
            out[i] = x[i - 1] * 2
        return out

    want = plainly(loop, x)
    assert_close(one_by_one(loop, x, native=False), want)
    if turns in (0, 33):
        assert_close(one_by_one(loop, x, native=True), want)


places = st.tuples(st.sampled_from([0, 1, -1, 2]), st.integers(-3, 6))


@searching(40)
@given(
    write=places,
    own=places,
    other=places,
    start=st.integers(0, 4),
    step=st.sampled_from([1, 1, 2, -1]),
    branch=st.booleans(),
)
def test_index_patterns(write, own, other, start, step, branch):
    """Whatever is read and written where: a spread loop gives what the loop gives."""
    size = 128
    first = start if step > 0 else start + 40
    turns = range(first, first + 40 * step, step)

    def loop(x):
        out = x * 0.5
        for i in turns:
            if branch and x[i] < 0:
                out[write[0] * i + write[1]] += x[i]
            else:
                value = out[own[0] * i + own[1]] + x[other[0] * i + other[1]]
                out[write[0] * i + write[1]] = value
        return out

    x = np.random.default_rng(0).integers(-9, 9, (1, size)).astype(float)
    try:
        want = plainly(loop, x)
    except IndexError:
        assume(False)
    np.testing.assert_array_equal(one_by_one(loop, x, native=False)[0], want[0])
    written = [(write[0] * i + write[1]) % size for i in turns]
    reads = [(own[0] * i + own[1]) % size for i in turns]
    needs = len(set(written)) < 40 or any(
        read in written and written.index(read) != turn for turn, read in enumerate(reads)
    )
    left = loops_left(loop, x)
    assert left in (0, 1)
    if needs and not branch:
        assert left == 1
    if write == own and write[0] in (1, -1):
        ends = [write[0] * i + write[1] for i in turns[1:]]
        assert left == (min(ends) < 0 <= max(ends))


def test_what_is_the_same_in_all_turns_is_computed_once():
    def loop(x, w):
        out = np.zeros_like(x)
        for i in range(N):
            out[i] = x[i] * np.sqrt((w * w).sum())
        return out

    x, _, _ = batches()
    from lanewise.passes.spread import spread

    graph = spread(of_one(loop, x, x))
    assert sum(op.primitive.name == "reduce" for op in graph.operations) == 1
