"""Kernels on memory between inaccessible pages: no access is out of bounds, however data are.

The cases run in a process of their own, because an access out of bounds ends it; see `guarded`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.special

import lanewise as lw
from support.backends import assert_equal, assert_same_error, backend, outcome
from support.guarded import PAGE, Block, assert_done, guarding, run_apart

#: One of each size and form.
DTYPES = "? i1 u2 f2 f4 i8 c8 c16".split()
SIZES = (1, 7, 9, 33)
CASES: dict[str, Callable[[], None]] = {}


def case(function: Callable[[], None]) -> Callable[[], None]:
    """Enter a function that the process of the guarded kernels is to run."""
    CASES[str(getattr(function, "__name__", function))] = function
    return function


def check(function: Callable[..., Any], *args: Any, in_dims: Any = 0) -> None:
    """Assert that guarded kernels give, or raise, what the interpreter does."""
    check_all(function, [args], in_dims)


def check_all(
    function: Callable[..., Any],
    batches: Sequence[Sequence[Any]],
    in_dims: Any = 0,
    out_dims: Any = 0,
) -> None:
    """Assert `check` for several batches, of which the kernel is one."""
    mapped = lw.vmap(function, in_dims, out_dims)
    with backend("interpret"):
        wanted = [outcome(lambda a=args: mapped(*a)) for args in batches]
    with backend("native"), guarding() as guarded:
        found = [outcome(lambda a=args: mapped(*a)) for args in batches]
    assert guarded.calls == len(batches), "nothing was compiled"
    for (got, other), (want, error) in zip(found, wanted, strict=True):
        assert_same_error(other, error)
        if error is None:
            assert_equal(got, want)


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return (np.random.default_rng(0).normal(size=shape) * 20).astype(dtype)


def places(high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(-high, high, shape)


def _rows(dtype: str, first: int) -> Callable[[], None]:
    """Return a case: rows of every other length are packed into lanes, and unpacked."""

    def rows() -> None:
        # One program for several lengths: each is an operand, and a result, of its own.
        lengths = [*range(first, 41, 2), 62 + first, 65, 200]
        for start in range(0, len(lengths), 11):
            some = lengths[start : start + 11]
            batches = [[numbers(dtype, size, n) for n in some] for size in SIZES]
            check_all(lambda *xs: tuple([x[::-1] for x in xs]), batches)

    rows.__name__ = f"rows_{np.dtype(dtype).name}"
    return rows


def _columns(dtype: str) -> Callable[[], None]:
    """Return a case: examples that stand side by side, of few and many elements."""

    def columns() -> None:
        lengths = [2, 3, 7, 40, 41, 64, 200]
        batches = [[numbers(dtype, n, size) for n in lengths] for size in SIZES]
        check_all(lambda *xs: tuple([x[::-1] for x in xs]), batches, -1, -1)
        mixed = [(numbers(dtype, 5, s), places(5, s, 3), numbers(dtype, 50, s)) for s in SIZES]
        check_all(lambda a, i, b: (a[i], b[i]), mixed, (-1, 0, -1), (0, -1))

    columns.__name__ = f"columns_{np.dtype(dtype).name}"
    return columns


for _number, _dtype in enumerate(DTYPES):
    case(_rows(_dtype, 1 + _number % 2))
    case(_columns(_dtype))


@case
def gathers() -> None:
    """Places that are data; those of lanes that are not active are wrong."""
    for dtype in ("f8", "f4", "i1", "c16"):
        table = numbers(dtype, 7)
        right = [(numbers(dtype, size, 50), places(50, size, 30)) for size in SIZES]
        check_all(lambda a, i: (a[i], np.take_along_axis(a[:30], i % 30, 0)), right)
        check_all(lambda a, i: a[i % 7], [(table, i) for _, i in right], (None, 0))
        wrong = [(x, np.where(np.arange(len(x)) % 3 == 1, 10**12, i[:, 0])) for x, i in right]

        def guarded(a: Any, k: Any) -> Any:
            if -50 <= k < 50:
                return a[k]
            return a[0]

        check_all(guarded, wrong)
        check_all(guarded, [(x[0], k) for x, k in wrong], (None, 0))
        check_all(lambda a, k: a[k], wrong)


@case
def scatters() -> None:
    """Writes at places that are data, in registers and in memory."""

    def write(a: Any, k: Any) -> Any:
        a = a.copy()
        if -len(a) <= k < len(a):
            a[k] = 1
        return a

    def each(a: Any, i: Any) -> Any:
        a = a.copy()
        a[i] = i
        np.add.at(a, i, 2)
        return a

    for length in (5, 50):
        right = [(numbers("f8", size, length), places(length, size, 9)) for size in SIZES]
        wrong = [(x, np.where(np.arange(len(x)) % 3 == 1, -(2**62), i[:, 0])) for x, i in right]
        check_all(write, wrong)
        check_all(each, right)


@case
def slices() -> None:
    """Slices whose ends are data, full or empty, read and written."""

    def ends(a: Any, n: Any, m: Any) -> Any:
        b = a.copy()
        b[n:] = 0
        return a[n : n + 5], a[:m].sum(dtype=int), b

    batches = [(numbers("i4", size, 60), np.arange(size)) for size in SIZES]
    check_all(ends, [(x, n % 56, n * 9 - 20) for x, n in batches])
    check_all(lambda a, n: a[n : n + 5], [(x, n + 50) for x, n in batches])


@case
def loops() -> None:
    """Loops that lanes leave at different turns, with arrays in registers and in memory."""

    def sort(a: Any, n: Any) -> Any:
        a = a.copy()
        for i in range(n):
            j = i
            while j > 0 and a[j - 1] > a[j]:
                a[j - 1], a[j] = a[j], a[j - 1]
                j -= 1
        return a

    def swap(a: Any, n: Any) -> Any:
        b = a[::-1]
        for _ in range(n):
            a, b = b, a * 0.5
        return a, b

    for length in (6, 50):
        batches = [(numbers("f8", size, length), places(3, size) + 3) for size in SIZES]
        check_all(sort, batches)
        check_all(swap, batches)


@case
def large() -> None:
    """Elements in lanes, of one example after the other."""

    def function(a: Any) -> Any:
        return (a[1:] - a[:-1]).ravel()[::3], a.max(0), a.T, np.argmax(a, 1), a[::-1, ::2]

    def rows(a: Any) -> Any:
        return lw.vmap(lambda row: (row * 2, row[::-1] + 1))(a)

    def borders(a: Any) -> Any:
        x, y = (np.pad(a, ((0, 0), (0, 1)), constant_values=n) for n in (7, 5))
        return x.T, y[::-1], lw.vmap(np.multiply)(x, y)

    for shape in ((67, 67), (65, 129), (70, 64)):
        check(function, numbers("f4", 3, *shape))
    for length in (578, 579, 583):  # whole blocks of lanes, and of all the rest
        check(rows, numbers("f8", 3, 3, length))
    check(borders, numbers("f4", 3, 67, 66))
    check(lambda a: lw.vmap(lambda e: e * e if e > 0 else e)(a), numbers("f8", 3, 5001))
    check(lambda a, i: a[i], numbers("f8", 3, 5001), places(5001, 3, 4999))


@case
def long_rows() -> None:
    """Rows that are sorted one by one: of elements in lanes, of examples, and of data length."""

    def ordered(a: Any) -> Any:
        return np.sort(a), np.argsort(a, kind="stable"), np.partition(a, (3, -2))[[3, -2]]

    def again(a: Any, n: Any) -> Any:
        while n > 0:
            a = np.sort(a)[::-1] - a
            n -= 1
        return a

    def some(a: Any, n: Any) -> Any:
        part = a[n % 5 : n]
        return np.median(part), np.sort(part).sum(), part[np.argsort(part, kind="stable")][:1].sum()

    for dtype in "? i1 u2 f2 f4 i8 u8".split():
        for length in (33, 129, 700):
            check(ordered, numbers(dtype, 3, length))
    check(lambda a: np.sort(a, 0), numbers("f4", 2, 130, 3))
    for length in (40, 300):
        batches = [(np.rint(numbers("f8", size, length)), np.arange(size) % 3) for size in SIZES]
        check_all(again, batches)
        check_all(some, [(x, n * 13 + 1) for x, n in batches])
        check_all(some, [(x[0], n + 5) for x, n in batches], (None, 0))


@case
def loops_of_libraries() -> None:
    """Transforms, LAPACK and special functions, of all lanes, of some, and of elements."""

    def some(a: Any, k: Any) -> Any:
        for _ in range(3):
            if k > 0:
                a = np.fft.irfft(np.fft.rfft(a) + 0.5j, 33) + scipy.special.jv(1.0, a)
            k = k - scipy.special.j0(k)
        return a, k

    for dtype in ("f4", "c16", "i2"):
        batches = [(numbers(dtype, size, n),) for size in SIZES for n in (1, 5, 66)]
        check_all(np.fft.fft, batches)
        check_all(lambda a: np.fft.irfft(a, 9), batches)
        check_all(lambda a: scipy.special.jv(1.0, a + 0.5), batches)
    check_all(some, [(numbers("f8", size, 33), places(3, size) + 0.5) for size in SIZES])
    check_all(lambda a: tuple(np.linalg.eigh(a)), [(numbers("f4", s, 5, 5),) for s in SIZES])
    check(np.linalg.inv, numbers("f8", 3, 34, 34))
    check(lambda a: np.fft.rfft(a[::-1] * 2), numbers("f8", 2, 20000))
    check(lambda a: np.fft.rfft(a[::-1]), numbers("f8", 2, 8000))


@case
def inner_maps() -> None:
    """Maps in maps, over examples and over elements."""
    batches, y = [(numbers("f8", size, 21),) for size in SIZES], numbers("f8", 19)
    pairs = [(x, y) for (x,) in batches]
    check_all(lambda a, b: lw.vmap(lambda e: np.maximum(a, e))(b), pairs, (0, None))
    check_all(lambda a: lw.vmap(lambda e: (e, e > a))(a), batches)


@case
def shapes() -> None:
    """Joining, padding, and reshaping, of few and many elements."""
    for shape in ((1, 1), (2, 3), (7, 9), (0, 4)):
        x = numbers("u2", 9, *shape)
        check(lambda a: (np.pad(a, 2), np.concatenate([a, a.T.reshape(a.shape)])), x)
        check(lambda a: (np.repeat(a, 3, 0), np.roll(a, 1), a.reshape(-1, 1), a.sum(1)), x)


def run_guarded() -> None:
    """Run the cases; what the last line names is what the process ended in."""
    for name, function in CASES.items():
        print("BEGIN", name, flush=True)
        function()
    print("DONE", flush=True)


def run_wrong() -> None:
    """Make a kernel's buffers smaller than it was told, so that it leaves them."""
    allocate = Block.__init__

    def smaller(block: Block, size: int, at_end: bool) -> None:
        allocate(block, size, at_end)
        if sys.argv[1] == "forbid" and size == 8 * 33 * 5:
            block.forbid(PAGE)
        if sys.argv[1] == "canary" and size == 8 * 33 * 5:
            block.open -= 8

    Block.__init__ = smaller  # ty: ignore[invalid-assignment]
    with backend("native"), guarding(False):
        lw.vmap(lambda a: a[:5] + 1)(numbers("f8", 33, 9))
    print("DONE", flush=True)


def test_kernels_stay_within_their_memory():
    assert_done(run_apart("codegen.test_guard_pages", "run_guarded"))


@pytest.mark.parametrize("way", ["forbid", "canary"])
def test_an_access_out_of_bounds_is_noticed(way):
    done = run_apart("codegen.test_guard_pages", "run_wrong", way)
    assert "DONE" not in done.stdout
    assert (done.returncode < 0) if way == "forbid" else ("behind a buffer" in done.stderr)
