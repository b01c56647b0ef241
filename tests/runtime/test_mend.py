"""Examples that fail in a kernel are interpreted, and no others; what raises does so at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import refill
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.runtime import diagnose, dispatch, few, kernels, mend
from lanewise.runtime.pool import get_threads, set_threads
from support.backends import assert_equal, backend
from support.leaks import blocks_left


@pytest.fixture
def interpreted(monkeypatch) -> list[int]:
    """How many examples were interpreted each time; those of a whole call count as -1."""
    counts: list[int] = []
    some, every = mend._Examples._attempt, dispatch._interpret

    def interpret(self: Any, numbers: np.ndarray) -> Any:
        counts.append(len(numbers))
        return some(self, numbers)

    def interpret_all(*arguments: Any) -> Any:
        counts.append(-1)
        return every(*arguments)

    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(mend._Examples, "_attempt", interpret)
    monkeypatch.setattr(dispatch, "_interpret", interpret_all)
    return counts


@pytest.fixture
def refilled(monkeypatch):
    """Let all loops be refilled."""
    monkeypatch.setattr(refill, "LEAST", 0)
    _forget()
    yield
    _forget()


def _forget() -> None:
    KERNELS.clear()
    dispatch._cache.clear()


def matrices(size: int, bad: Any, order: int = 3) -> np.ndarray:
    """Return matrices that kernels invert, but for some that are NumPy's to decide."""
    found = np.random.default_rng(size).normal(size=(size, order, order)) + 4 * np.eye(order)
    found[bad, 0, 1] = np.nan
    return found


def same_as_interpreted(
    func: Callable[..., Any], *args: Any, in_dims: Any = 0, rtol: float = 1e-11
) -> None:
    """Assert that a map gives natively what the interpreter does, about."""
    mapped = lw.vmap(func, in_dims=in_dims)
    with np.errstate(all="ignore"):
        got = mapped(*args)
    with backend("interpret"):
        want = mapped(*args)
    for g, w in zip(*[x if isinstance(x, tuple) else (x,) for x in (got, want)], strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-13)


# --- how few are interpreted ----------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 1, 15, 16, 17_123, 39_999])
def test_one_of_many(place, interpreted, monkeypatch):
    def searched(*arguments: Any) -> Any:
        raise AssertionError("nothing raises here, so there is nothing to search for")

    monkeypatch.setattr(diagnose, "_locate_in_map", searched)
    same_as_interpreted(np.linalg.inv, matrices(40_000, place))
    assert interpreted == [1]


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 100, 1001])
def test_several(size, interpreted):
    bad = np.unique(np.random.default_rng(size).integers(0, size, max(size // 50, 2)))
    same_as_interpreted(np.linalg.inv, matrices(size, bad))
    assert interpreted == [1] + [len(bad) - 1] * (len(bad) > 1)


def test_results_of_all_kinds(interpreted):
    def func(a, x, scale):
        inverse = np.linalg.inv(a)
        return inverse[0], inverse.sum() > x, (x * scale).astype(np.int16), x + 1j * scale

    a, x = matrices(5000, [7, 4000]), np.linspace(-3, 3, 5000)
    same_as_interpreted(func, a, x, 2.5, in_dims=(0, 0, None))
    assert interpreted == [1, 1]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("layout", [np.asarray, np.ascontiguousarray, np.asfortranarray])
def test_other_axes(axis, layout, interpreted):
    x = layout(np.moveaxis(matrices(900, [3, 800]), 0, axis))
    got = lw.vmap(np.linalg.inv, in_dims=axis, out_dims=axis)(x)
    want = np.moveaxis(np.linalg.inv(np.moveaxis(x, axis, 0)), 0, axis)
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
    assert interpreted == [1, 1]


def test_numbers_of_python_beyond_64_bits(interpreted):
    def power(n, modulus):
        return pow(int(n), 5, int(modulus))

    n, modulus = np.arange(2, 3002), np.full(3000, 1009)
    modulus[[5, 2000]] = 2**62 - 57  # products have more than 64 bits
    got = lw.vmap(power)(n, modulus)
    assert got.tolist() == list(map(power, n, modulus))
    assert interpreted == [1, 1]


def test_inner_maps(interpreted):
    x = matrices(3000, [10, 2999]).reshape(1000, 3, 3, 3)
    same_as_interpreted(lw.vmap(np.linalg.inv), x)
    assert interpreted == [1, 1]


def test_elements_in_lanes(interpreted):
    def func(x, a):
        return x * 2 + np.linalg.inv(a)[0, 0]

    _forget()
    x = np.random.default_rng(0).normal(size=(300, 2000))
    same_as_interpreted(func, x, matrices(300, [4, 250]))
    assert [kernel.in_lanes for kernel in KERNELS.values() if kernel] == [False]
    assert interpreted == [1, 1]


def test_several_kernels(interpreted):
    """Each is mended by itself: what the others computed stays."""

    def func(a, b, c):
        first = np.linalg.inv(a)
        between = np.linalg.eigvals(b).real  # what NumPy computes lies between two kernels
        return first[0, 0] + np.linalg.inv(c + between.sum())[1, 1]

    a, b, c = matrices(2000, 40), matrices(2001, [])[1:], matrices(2000, [1, 1999])
    _forget()
    same_as_interpreted(func, a, b, c)
    assert len([kernel for kernel in KERNELS.values() if kernel]) == 2
    assert interpreted == [1, 1, 1]


def test_turns_of_a_loop(interpreted, monkeypatch):
    """Of few examples the turns of a loop are what kernels run over: some of them are mended."""
    monkeypatch.setattr(few, "AHEAD", np.inf)
    _forget()

    def func(a):
        found = np.zeros(len(a))
        for i in range(len(a)):
            if a[i, 0, 0] > 90:
                raise ValueError(f"large: {a[i, 0, 0]}")
            found[i] = np.linalg.inv(a[i])[0, 0]
        return found

    x = matrices(5000, [77, 4000])[None]
    same_as_interpreted(func, x)
    assert interpreted == [1, 1]  # two turns; of a kernel over examples it would be the only one
    x[0, [300, 200], 0, 0] = 91, 92
    with pytest.raises(ValueError, match=r"large: 92.0\n  in example 0 "):
        lw.vmap(func)(x)


def test_too_many(interpreted):
    x = matrices(4000, slice(None))
    same_as_interpreted(np.linalg.inv, x)
    assert interpreted == [1, -1]


def test_a_part_in_a_row(interpreted):
    """Not so many that all are interpreted."""
    same_as_interpreted(np.linalg.inv, matrices(4000, slice(1000, 2600)))
    assert interpreted == [1, 1599]


# --- refilled lanes -------------------------------------------------------------------------------


def halving(x, a):
    n = 0
    while x > 1.0:
        x = x * 0.75
        n += 1
    return np.linalg.inv(a * (n + 1))[0, 0] + x


@pytest.mark.parametrize("size", [1, 7, 16, 33, 3000])
def test_refilled_lanes(size, interpreted, refilled):
    rng = np.random.default_rng(size)
    bad = np.unique(rng.integers(0, size, max(size // 100, 1)))
    same_as_interpreted(halving, rng.lognormal(0, 5, size), matrices(size, bad))
    assert any(kernel.refills for kernel in KERNELS.values() if kernel)
    assert interpreted == [1] + [len(bad) - 1] * (len(bad) > 1)


def test_a_failure_in_the_loop_of_refilled_lanes(interpreted, refilled):
    def func(x, a):
        s = 0.0
        while x > 1.0:
            x = x * 0.75
            s = s + np.linalg.det(a + x)
        return s

    x = np.random.default_rng(3).lognormal(0, 5, 2000)
    x[[100, 1900]] = 10
    same_as_interpreted(func, x, matrices(2000, [100, 1900], 2), rtol=1e-8)
    assert interpreted == [1, 1]


# --- what raises ----------------------------------------------------------------------------------


def test_what_is_behind_an_error_is_not_run(interpreted):
    """It may never end."""

    def func(x):
        if x == 2:
            raise ValueError("two")
        while x == 3:
            x = x + 0 * np.sin(x)
        return x

    x = np.zeros(50_000)
    x[5], x[17:] = 2, 3
    with pytest.raises(ValueError, match=r"two\n  in example 5 "):
        lw.vmap(func)(x)
    assert interpreted == [1]


def judged(a, x):
    if x > 1:
        raise ValueError(f"too large: {x}")
    return np.linalg.inv(a)[0, 0] + x


@pytest.mark.parametrize("bad", [(3, 40_000), (40_000, 3), (16, 17), (17, 16)])
def test_an_error_among_examples_that_are_left_to_numpy(bad, interpreted):
    left, wrong = bad
    x = np.zeros(50_000)
    x[[wrong, wrong + 5, 49_000]] = 2, 3, 4
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"too large: 2.0\n  in example {wrong} ") as info:
            lw.vmap(judged)(matrices(50_000, left), x)
        assert not isinstance(info.value.__context__, dispatch.KernelFailed)
    assert max(interpreted) <= 4


def test_singular_matrices_raise(interpreted):
    x = matrices(1000, 3)
    x[777] = 1
    with pytest.raises(np.linalg.LinAlgError, match="in example 777 "):
        lw.vmap(np.linalg.inv)(x)


def test_no_memory_is_no_failing_example(interpreted, monkeypatch):
    def fail(*arguments: Any) -> Any:
        raise MemoryError("no memory")

    monkeypatch.setattr(mend._Examples, "_attempt", fail)
    with pytest.raises(MemoryError, match="no memory"):
        lw.vmap(np.linalg.inv)(matrices(1000, 3))


# --- threads, signals, memory ---------------------------------------------------------------------


def test_a_result_depends_on_its_own_example_only(interpreted):
    x = matrices(30_000, slice(100, None, 5000))
    rolled = np.roll(x, 12_345, axis=0)
    got = lw.vmap(np.linalg.inv)(x)
    np.testing.assert_array_equal(np.roll(got, 12_345, axis=0), lw.vmap(np.linalg.inv)(rolled))


@pytest.mark.parametrize("func", ["inv", "halving"])
def test_the_number_of_threads_does_not_matter(func, interpreted):
    x = matrices(30_000, slice(100, None, 5000))
    y = np.random.default_rng(0).lognormal(0, 5, 30_000)
    before, found = get_threads(), []
    try:
        for count in (1, 2, 5):
            set_threads(count)
            found.append(lw.vmap(np.linalg.inv)(x) if func == "inv" else lw.vmap(halving)(y, x))
    finally:
        set_threads(before)
    assert len({x.tobytes() for x in found}) == 1
    assert set(interpreted) == {1, 5}


def test_several_python_threads_at_once(interpreted):
    mapped = lw.vmap(np.linalg.inv)
    cases = [matrices(5000, [i, 4000 + i]) for i in range(4)]
    wanted, wrong = [mapped(x) for x in cases], []

    def work(i: int) -> None:
        for _ in range(20):
            if mapped(cases[i]).tobytes() != wanted[i].tobytes():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_endless_loop_behind_is_interrupted(interpreted):
    def func(a, x):
        while x > 0.0:
            x = x + np.exp(-x)
        return np.linalg.inv(a)[0, 0] + x

    x = np.full(5000, -1.0)
    lw.vmap(func)(matrices(5000, 3), x)
    x[4000] = 1
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        lw.vmap(func)(matrices(5000, 3), x)
    timer.join()


def test_nothing_leaks(interpreted):
    def func(a):
        return np.linalg.inv(a), np.linalg.det(a) > 0

    x = matrices(200, [3, 150])

    def turn():
        lw.vmap(func)(x)
        interpreted.clear()

    turn()
    before = sys.getrefcount(x)
    assert blocks_left(turn, 100) < 0.5
    assert sys.getrefcount(x) == before


def test_only_kernels_that_fail_are_made_interpretable(monkeypatch):
    """Steady calls have nothing to do with it."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    menders: list[mend.Mender] = []

    class Watched(mend.Mender):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            menders.append(self)

    monkeypatch.setattr(kernels, "Mender", Watched)
    _forget()
    lw.vmap(np.linalg.inv)(matrices(100, []))
    assert [vars(mender).get("plan") for mender in menders] == [None]
    lw.vmap(np.linalg.inv)(matrices(100, 3))
    assert "plan" in vars(menders[0])


# --- anything -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_failures(seed, interpreted, monkeypatch):
    """Some examples are left to NumPy, some raise: it is as in the loop over them."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([1, 9, 40, 257, 3000]))
    if seed % 2:
        monkeypatch.setattr(refill, "LEAST", 0)
        _forget()

    def func(x, a, limit):
        n = 0
        while x > 1.0:
            x = x * 0.8
            n += 1
            if n > limit:
                raise OverflowError(f"{n} turns")
        return np.linalg.det(a) + n, n

    x = rng.lognormal(0, 3, size)
    a = matrices(size, rng.uniform(size=size) < rng.choice([0.0, 0.01, 0.4]), 2)
    limit = np.where(rng.uniform(size=size) < rng.choice([0.0, 0.001, 0.1]), 5, 10_000)
    try:
        want = [np.stack(y) for y in zip(*map(func, x, a, limit), strict=True)]
    except OverflowError as error:
        with pytest.raises(OverflowError, match=str(error)):
            lw.vmap(func)(x, a, limit)
    else:
        got = lw.vmap(func)(x, a, limit)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-12, atol=1e-12)
        assert_equal(got[1], want[1])
    _forget()
