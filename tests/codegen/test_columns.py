"""Maps of arrays whose examples stand side by side in memory: kernels take and give them so.

What results are is compared with the interpreter; that nothing was copied, with what was run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from codegen.test_refill import choosing, refilling
from lanewise.codegen.kernel import Kernel
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.errors import function_name
from lanewise.runtime import dispatch, kernels
from support.backends import assert_equal, assert_same_outcome, backend, watched

#: One of each size and form.
DTYPES = "? i1 u2 i4 u8 f2 f4 f8 c8 c16".split()
#: Fewer examples than lanes, as many, a few more, and many times as many.
SIZES = (0, 1, 2, 8, 9, 33, 1001)


@pytest.fixture(autouse=True)
def _fresh():
    """Begin without kernels, so that those that are there are of this test."""
    KERNELS.clear()
    dispatch._cache.clear()


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return (np.random.default_rng(0).normal(size=shape) * 20).astype(dtype)


def made() -> list[Kernel]:
    """Return the kernels whose code was made."""
    return [x for x in KERNELS.values() if x is not None and kernels.known_code(x) is not None]


def columns_of(*call: Any, in_dims: Any = -1, out_dims: Any = -1) -> tuple[bool, ...]:
    """Return what of the operands and results of a call's kernel is columns."""
    func, *args = call
    KERNELS.clear()
    kernels._recent.clear()
    dispatch._cache.clear()
    with backend("native"):
        lw.vmap(func, in_dims, out_dims)(*args)
    return made()[-1].columns


def few(a, b):
    return a[::-1] + b, b[0] * 2


def matrices(a, b):
    return (a @ b).T, a[1:, 0]


def in_place(a, b):
    a[1] = b[0]
    a[b[1] > 0] += 1
    return a


def many(a, b):
    a[3:30] *= 2
    return a[::2] - b.max(), a, np.maximum.accumulate(b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_kinds_of_numbers(dtype):
    for size in SIZES:
        x, y = numbers(dtype, 5, size), numbers(dtype, 5, size)[::-1]
        assert_same_outcome(lambda x=x, y=y: lw.vmap(few, -1, -1)(x, y))
        long = numbers(dtype, 61, size)
        assert_same_outcome(lambda x=long: lw.vmap(lambda a: (a[::-1], a[:7]), -1, -1)(x))


@pytest.mark.parametrize("func", [few, matrices, in_place, many], ids=function_name)
def test_all_axes(func):
    shape = {matrices: (3, 3), many: (60,)}.get(func, (6,))
    outs = (0, 1, -1) if func is not few else ((0, 0), (1, -1), (-1, 0))
    # All axes of operands, and all of results, one after the other; all sizes with each of them.
    for i, axes in enumerate(itertools.product(range(len(shape) + 1), repeat=2)):
        for size in reversed(SIZES):
            x, y = numbers("f8", size, *shape), numbers("f8", size, *shape)[..., ::-1].copy()
            args = [
                np.ascontiguousarray(np.moveaxis(a, 0, axis))
                for a, axis in zip((x, y), axes, strict=True)
            ]
            o = outs[(i + i // 3) % 3]
            assert_same_outcome(lambda a=args, o=o, i=axes: lw.vmap(func, i, o)(*a), exact=False)


@pytest.mark.parametrize(
    ("number", "change"),
    list(
        enumerate(
            [
                np.asfortranarray,
                lambda x: x[::-1],
                lambda x: x[:, ::-1],
                lambda x: x[:, :, 2:-3],
                lambda x: x[:, :, ::2],
                lambda x: x[:, :, ::-1],
                lambda x: np.swapaxes(x, 0, 1),
                lambda x: np.broadcast_to(x[:1], x.shape),
                lambda x: np.broadcast_to(x[:, :, :1], x.shape),
                lambda x: x.astype(x.dtype.newbyteorder()),
                lambda x: np.repeat(x, 2, 0)[::2],
                lambda x: (
                    np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
                ),
            ]
        )
    ),
    ids="fortran back back1 part gaps backwards swapped same same_examples bytes spread "
    "unaligned".split(),
)
def test_whatever_lies_around(number, change):
    """Strides of the other axes are whatever they are; what is not columns is copied."""
    for i, shape in enumerate([(4, 4, 37), (7, 7, 21)], number):
        x = change(numbers(("f8", "i2", "c8")[i % 3], *shape))
        assert_same_outcome(lambda x=x: lw.vmap(lambda a: a.T + a[0], -1, -1)(x))
        assert_same_outcome(lambda x=x: lw.vmap(lambda a: (a[1], a.reshape(-1)[3:]), -1)(x))


def test_columns_are_neither_copied_nor_turned(monkeypatch):
    def refuse(*args: Any) -> Any:
        raise AssertionError("an operand was copied")

    x, y = numbers("f8", 6, 6, 1000), numbers("f8", 6, 1000)
    func = lambda a, b: a @ b + b  # noqa: E731
    want = lw.vmap(func, -1, -1)(x, y)
    assert columns_of(func, x, y) == (True, True, True)
    with backend("native"):
        # From the second call on, Python is not asked how operands lie.
        monkeypatch.setattr(kernels._Runner, "__call__", refuse)
        for part in (slice(None), slice(3, 900)):  # of another size, and with gaps: not again
            got = lw.vmap(func, -1, -1)(x[..., part], y[:, part])
            assert got.flags.c_contiguous and got.flags.writeable
            assert not np.shares_memory(got, x) and not np.shares_memory(got, y)
            np.testing.assert_allclose(got, want[..., part], 1e-12)
        assert len(made()) == 1


def test_what_is_mapped_along_its_fastest_axis_is_columns():
    x = numbers("f8", 5, 4, 100)
    assert columns_of(lambda a: a * 2, x) == (True, True)
    assert columns_of(lambda a: a * 2, x, out_dims=0) == (True, False)
    assert columns_of(lambda a: a * 2, x.transpose(2, 0, 1), in_dims=0) == (True, True)
    assert columns_of(lambda a: a * 2, np.asfortranarray(x.T), in_dims=0, out_dims=0)[0]
    assert columns_of(lambda a: a * 2, x[:, ::2, 7:-7]) == (True, True)
    assert columns_of(lambda a: a * 2, np.ascontiguousarray(x.T), in_dims=0) == (False, True)
    # Numbers are columns and rows; what is not mapped is neither.
    assert columns_of(lambda a, b: a * b, x[0, 0], x[:, :, 0], in_dims=(0, None))[:2] == (0, 0)


def test_results_share_no_memory():
    x = numbers("f8", 5, 400_000)
    for backend_ in ("native", "interpret"):
        with backend(backend_):
            got = lw.vmap(lambda a: (a, a, a * 2), -1, -1)(x)
        for one, other in itertools.combinations((*got, x), 2):
            assert not np.shares_memory(one, other)
        for array in got:
            array[...] = 0
        assert x.any()


def test_nested_maps():
    """Inner maps run within the kernel; arrays of an outer one pass from kernel to kernel."""
    x, y = numbers("f8", 3, 11, 50), numbers("f8", 3, 50)

    def outer(a, b):
        inner = lw.vmap(lambda e: e * 2 + b, in_dims=-1, out_dims=-1)(a)
        values = np.linalg.pinv(inner)[0]  # NumPy's
        return inner, values * b

    seen = assert_same_outcome(lambda: lw.vmap(outer, -1, -1)(x, y), exact=False)
    assert len(seen.maps) == 2
    twice = lw.vmap(lw.vmap(lambda a, b: a.sum() + b, (0, None), 0), (-1, -1), -1)
    assert_same_outcome(lambda: twice(numbers("f8", 9, 4, 20), numbers("f8", 20)), exact=False)


def test_loops_and_places_that_are_data():
    def search(a, i, key):
        at = 0
        while at < len(a) and a[at] != key:
            at += 1
        return at, a[i], np.take(a, np.argsort(a[:5]))

    for size in SIZES:
        x = numbers("i4", 50, size)
        i = np.random.default_rng(1).integers(-50, 50, (6, size))
        key = x[np.arange(size) % 50, np.arange(size)] if size else x[0]
        assert_same_outcome(lambda a=(x, i, key): lw.vmap(search, -1, -1)(*a))


def newton(p, start):
    x, turns = start[0], 0
    while abs(p[0] * x * x * x + p[1] * x + p[2]) > 1e-9 and turns < 60:
        x = x - (p[0] * x * x * x + p[1] * x + p[2]) / (3 * p[0] * x * x + p[1])
        turns += 1
    return np.array([x, turns]), turns


@pytest.mark.parametrize("size", SIZES)
def test_lanes_that_are_refilled(size):
    p = abs(numbers("f8", 3, size)) + 0.1
    start = numbers("f8", 1, size)
    with backend("interpret"):
        want = lw.vmap(newton, -1, -1)(p, start)
    for patience in (0.0, None):
        with choosing(0, patience), watched():
            got = lw.vmap(newton, -1, -1)(p, start)
            assert refilling() and (size < 2 or made()[-1].columns.count(True) == 2)
        assert_equal(got, want)


def test_elements_in_lanes_take_rows():
    """A kernel that goes through large arrays row by row takes columns as rows."""
    x = numbers("f4", 50, 50, 9)
    func = lambda a: (a[1:] - a[:-1]).max(0)  # noqa: E731
    assert_same_outcome(lambda: lw.vmap(func, -1, -1)(x))
    assert columns_of(func, x) == (False, False)
    # Of moderate ones it goes example by example, if they are rows.
    y = numbers("f4", 64, 1000)
    assert columns_of(lambda a, b: a @ b, y, y) == (True, True, False)
    assert columns_of(lambda a, b: a @ b, y.T.copy(), y.T.copy(), in_dims=0) == (False,) * 3


def checked(a):
    if a[0] > 100:
        raise ValueError("too large")
    return a * 2


@pytest.mark.parametrize("place", [0, 5, 63, 700, 999])
def test_errors_name_the_example(place):
    x = numbers("f8", 3, 1000).clip(-90, 90)
    x[0, place] = x[0, 999] = 200
    assert_same_outcome(lambda: lw.vmap(checked, -1, -1)(x))
    with backend("native"), pytest.raises(ValueError, match=f"in example {place} "):
        lw.vmap(checked, -1, -1)(x)


def test_what_is_left_to_numpy_is_written_in_between():
    """Matrices that a kernel leaves to NumPy: their results stand where those of others do."""
    x = numbers("f8", 3, 3, 1000)
    x[..., [4, 77, 998]] = np.nan
    y = numbers("f8", 3, 1000)
    got = []
    for name in ("interpret", "native"):
        with backend(name):
            got.append(lw.vmap(np.linalg.solve, -1, -1)(x, y))
    assert columns_of(np.linalg.solve, x, y) == (True, True, True)
    np.testing.assert_allclose(got[1], got[0], 1e-6)


def test_explain_tells_of_columns():
    x = numbers("f8", 6, 1000)
    mapped = lw.vmap(lambda a: a[::-1] * 3, -1, -1)
    with backend("native"):
        mapped(x)
        (kernel,) = lw.explain(mapped, x).kernels
    assert kernel.columns == 2 and "2 arrays in columns" in str(kernel)
    assert kernel.seconds is not None


def compiled(call: Callable[[], Any]) -> int:
    """Return how many kernels a call makes."""
    before = len(made())
    call()
    return len(made()) - before


def test_another_size_is_not_compiled_again():
    mapped = lw.vmap(lambda a: a[::-1] * 3, -1, -1)
    with backend("native"):
        sizes = [compiled(lambda s=s: mapped(numbers("f8", 6, s))) for s in (64, 7, 1, 0, 1000)]
    assert sizes == [1, 0, 0, 0, 0]


def test_another_layout_is_compiled_when_copying_has_cost_as_much(monkeypatch):
    """Ski rental: a few small calls in another layout are copied, many or large ones are not."""
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    monkeypatch.setattr("lanewise.runtime.tiers.compiling", lambda *args: 0.0)
    mapped = lw.vmap(lambda a: np.sin(a[::-1]) * 3)
    x = numbers("f8", 200_000, 6)
    turned = np.asfortranarray(x)
    assert compiled(lambda: mapped(x)) == 1
    monkeypatch.setattr(kernels, "COPIED", 1e30)  # copying costs nothing
    assert [compiled(lambda: mapped(turned)) for _ in range(3)] == [0, 0, 0]
    monkeypatch.setattr(kernels, "COPIED", 1e6)  # copying takes ten seconds
    assert [compiled(lambda: mapped(turned)) for _ in range(3)] == [1, 0, 0]
    np.testing.assert_array_equal(mapped(turned), mapped(x))
    assert made()[-1].columns == (True, False, False)


def test_there_are_not_too_many_kernels():
    arrays = numbers("f8", 4, 3, 50)
    both = [(a, np.asfortranarray(a.T).T) for a in arrays]
    mapped = lw.vmap(lambda *xs: sum(xs[1:], xs[0]) * 2, -1)

    def total(choice: Sequence[int]) -> np.ndarray:
        args = [
            np.ascontiguousarray(p.T).T if c else p for (p, _), c in zip(both, choice, strict=True)
        ]
        return mapped(*args)

    with backend("native"):
        found = [total(choice) for choice in itertools.product((0, 1), repeat=4)]
    for other in found:
        np.testing.assert_array_equal(other, found[0])
    assert len(made()) == kernels.MOST_VARIANTS


def test_layouts_of_copies():
    """A copy has the layout that it was asked for, whatever the array was."""
    x = numbers("i2", 3, 40)
    for array, axis in ((x, 1), (x[:, ::2], 1), (x.T, 0), (x, 0), (x[::-1, ::-3], 1)):
        for dtype in (np.dtype("i2"), np.dtype("f8")):
            column = kernels.columns(array, axis, dtype)
            assert kernels.is_columns(column, axis) and column.dtype is dtype
            np.testing.assert_array_equal(column, array)
            row = kernels.rows(array, axis, dtype)
            assert kernels.is_rows(row, 0) and row.dtype is dtype
            np.testing.assert_array_equal(row, np.moveaxis(array, axis, 0))
