"""Slices whose sizes differ between lanes: examples with arrays of sizes of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import choices
from support.backends import backend
from support.guarded import assert_done, guarding, run_apart

DTYPES = ("f4", "f8", "i4", "i8", "?", "c16")
#: Fewer examples than there are lanes, some blocks of them and not quite some.
BATCHES = (1, 7, 32, 45)


# --- programs -------------------------------------------------------------------------------------


def first(x, n):
    return x[:n].sum()


def rest(x, n):
    return x[n:].sum(), x[n:].any()


def within(x, n):
    return x[n : n + 3].sum() + x[2:n].sum()


def split(x, n):
    first, second, last = np.split(x, [n, 4])
    left, right = np.hsplit(np.array([x, x]), (n,))
    return first.sum(), second[::-1].sum(), len(last), left.sum(axis=1), right.sum(axis=1)


def strided(x, n):
    return x[:n:2].sum() + 2 * x[n::3].sum()


def backward(x, n):
    return (x[:n][::-1] * x[:n]).sum() + x[n::-1].sum()


def extremes(x, n):
    real = np.real(x)
    return real[:n].max(initial=0), real[n:].min(initial=1)


def running(x, n):
    y = np.zeros_like(x)
    y[:n] = np.add.accumulate(x[:n], dtype=x.dtype)
    return y


def products(x, n):
    return x[:n].prod(), x[:n] @ x[:n], np.outer(x[:n], x[:n]).sum()


def by_steps(x, n):
    real = np.real(x).astype(float)
    return np.hypot.reduce(real[:n]), np.logaddexp.reduce(real[n:])


def in_order(x, n):
    y = x.copy()
    y[:n] = np.sort(x[:n])
    y[n:] = np.sort(x[n:])
    return y


def order(x, n):
    y = np.zeros(len(x), int)
    y[:n] = np.argsort(x[:n], kind="stable")
    return y


def scaled(x, n):
    y = x.copy()
    y[:n] *= x[0]
    y[n:] = x[1]
    return y


def square(x, n):
    y = np.zeros((len(x), len(x)), x.dtype)
    y[:n, :n] = np.outer(x[:n], x[:n])
    return y[:, :n].sum(1)


def joined(x, n):
    return np.cumsum(np.concatenate([x[n:], x[:n], x[1:3]]), axis=0).sum()


def padded(x, n):
    return np.cumsum(np.pad(x[:n], (1, 2), constant_values=3), axis=0).sum()


def matrix(x, n):
    part = x[:8].reshape(4, 2)[:n]
    return (part * part.sum(0)).sum(1).sum(), part.T.sum(0).sum(), (part + 1).reshape(-1).sum()


def columns(x, n):
    part = x[:8].reshape(2, 4)[:, :n]
    return part.sum(1), (part.T @ part).sum()


def at_places(x, n):
    y = np.zeros_like(x)
    np.add.at(y, np.arange(len(x))[:n] % 3, x[:n])
    y[np.arange(len(x))[n:][::-1]] = x[n:]
    return y


def means(x, n):
    part = x[:n] - x[:n].mean()
    return (part * part).sum() / (1 + len(part))


def places(x, n):
    i = np.arange(len(x))[: abs(n) + 1]
    return x[i[-1]] + (x[:n] * np.arange(len(x))[:n]).sum() + x[: abs(n) + 1][-1]


def counted(x, n):
    total = np.zeros_like(x[0])
    for i in range(6):
        total = total * 2 + x[i:n].sum()
    return total


def item_by_item(x, n):
    total = np.zeros_like(x[0])
    for value in x[:n]:
        total = total + value * value
    return total


def while_loop(x, n):
    total, k = 0.0, 0
    while k < n:
        total += np.real(x[:k].sum() + x[k:n].sum())
        k += 1
    return total


def after_a_loop(x, n):
    k, z = 0, 0.0
    while abs(z) < 4 and k < 50:
        z = z * z + 0.2 + np.real(x[0]) * 0.1
        k += 1
    return k + x[:n].sum()


def slices_in_a_loop(x, n):
    total, k = 0.0, 0
    while total < 9 and k < 20:
        part = x[k % 3 : n]
        total += abs(part.sum()) + 0.5 * len(part) + 0.1
        k += 1
    return total, k


def branches(x, n):
    if np.real(x[0]) > 0:
        return np.sqrt(np.abs(x[:n])).sum()
    return np.abs(x[n:]).sum() * 2


def a_slice_from_a_branch(x, n):
    part = x[:n]
    part = part[::-1] * 2 if np.real(x[0]) > 0 else part + 1
    return (part * x[:n]).sum()


PROGRAMS = [
    first, rest, within, split, strided, backward, extremes, running, products, by_steps, in_order,
    order, scaled, square, joined, padded, matrix, columns, at_places, means, places, counted,
    item_by_item, while_loop, after_a_loop, slices_in_a_loop, branches, a_slice_from_a_branch,
]  # fmt: skip
#: With operators that truth values or complex numbers do not have.
EXCEPT = {
    "?": {slices_in_a_loop, extremes, products, branches, a_slice_from_a_branch, padded, means,
          columns},
    "c16": {by_steps},
}  # fmt: skip


def batch(dtype: str, size: int, width: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and ends of slices of them: negative ones, and beyond the row, among them."""
    rng = np.random.default_rng(size)
    x = np.round(rng.normal(size=(size, width)) * 3)
    if dtype[0] == "c":
        x = x + 1j * np.round(rng.normal(size=x.shape))
    return x.astype(dtype), rng.integers(-width - 2, width + 3, size)


def assert_alike(got: Any, wants: list[Any], exact: bool = False) -> None:
    wants = [want if isinstance(want, tuple) else (want,) for want in wants]
    got = got if isinstance(got, tuple) else (got,)
    for part, *want in zip(got, *wants, strict=True):
        if exact:
            assert part.dtype == np.stack(want).dtype
        rtol = 1e-4 if part.dtype.itemsize <= 4 else 1e-9
        np.testing.assert_allclose(part, np.stack(want), rtol=rtol, atol=rtol)


def check(f: Callable[..., Any], *arguments: np.ndarray, in_dims: Any = 0) -> None:
    """Assert that a native map gives what the calls of a loop do."""
    axes = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(arguments)
    size = next(len(x) for x, axis in zip(arguments, axes, strict=True) if axis is not None)
    wants = [
        f(*[x if axis is None else x[i] for x, axis in zip(arguments, axes, strict=True)])
        for i in range(size)
    ]
    assert_alike(lw.vmap(f, in_dims)(*arguments), wants)


def kernels(f: Callable[..., Any], *arguments: np.ndarray) -> str:
    """Return what `explain` says of the kernels of a map."""
    text = str(lw.explain(lw.vmap(f), *arguments))
    return text[text.rindex("\nkernels\n") :]


# --- tests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f, dtype):
    if f in EXCEPT.get(dtype, ()):
        pytest.skip("it has operators that these numbers do not have")
    with backend("native"):
        for size in BATCHES:
            check(f, *batch(dtype, size))
        assert "examples at once" in kernels(f, *batch(dtype, 32))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_rows_that_lie_in_memory(f, monkeypatch):
    """Long rows are not kept in registers; sums of them are taken in runs."""
    monkeypatch.setattr(choices, "_own_sizes_pay", lambda *_: True)
    with backend("native"):
        for width in (50, 300):
            if width < 300 or f not in (in_order, order, square):
                check(f, *batch("f8", 21, width))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_after_the_other(f, monkeypatch):
    """The same with the elements of one example after the other in lanes."""
    monkeypatch.setattr(choices, "_own_sizes_pay", lambda *_: False)
    with backend("native"):
        check(f, *batch("f8", 5, 11))


@pytest.mark.parametrize("f", [scaled, running, square, in_order], ids=lambda f: f.__name__)
def test_the_interpreter_writes_through_slices(f):
    with backend("interpret"):
        check(f, *batch("f8", 9))


@pytest.mark.usefixtures("poison")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_memory_that_is_handed_on_is_not_read(f):
    with backend("native"):
        check(f, *batch("f8", 21, 13))


def test_long_rows_take_the_lanes_and_short_ones_share_them():
    with backend("native"):
        assert "examples at once" in kernels(means, *batch("f8", 40, 8))
        assert "elements at once" in kernels(means, *batch("f8", 40, 800))
        assert "elements at once" in kernels(first, *batch("f8", 40, 200))


def test_empty_rows_are_left_to_numpy_where_it_raises():
    def greatest(x, n):
        return x[:n].max(), np.argmax(x[:n], axis=0)

    x, _ = batch("f8", 40)
    n = 1 + np.arange(40) % 9
    with backend("native"):
        check(greatest, x, n)
        assert "examples at once" in kernels(greatest, x, n)
        n[[3, 20]] = 0
        with pytest.raises(ValueError, match="zero-size array"):
            lw.vmap(greatest)(x, n)

        def guarded(x, n):
            if n > 0:
                return x[:n].max()
            return x[0]

        check(guarded, x, n)


def test_sizes_of_all_examples_and_of_each():
    def both(x, n, m):
        return x[:n][:, :m].sum(), x[m:, n:].sum(0).sum()

    rng = np.random.default_rng(0)
    x, n = rng.normal(size=(37, 5, 4)), rng.integers(-6, 7, 37)
    with backend("native"):
        check(both, x, n, n[::-1])
        check(both, x, n, np.array(3), in_dims=(0, 0, None))
        check(both, x, np.array(2), n, in_dims=(0, None, 0))
        check(both, x[0], n, np.array(1), in_dims=(None, 0, None))


def test_maps_within_maps():
    def rows(x, n):
        return lw.vmap(lambda row, k: row[:k].sum() + row[n:].sum())(x, np.arange(5))

    rng = np.random.default_rng(0)
    x, n = rng.normal(size=(21, 5, 6)), rng.integers(0, 7, 21)
    with backend("native"):
        got = lw.vmap(rows)(x, n)
    want = [[row[:k].sum() + row[m:].sum() for k, row in enumerate(own)]
            for own, m in zip(x, n, strict=True)]  # fmt: skip
    np.testing.assert_allclose(got, want)


# --- sizes that are equal as the data have it ----------------------------------------------------


def shifted(x, n, m):
    y = x.copy()
    y[n:] = np.maximum(x[n:], x[:m] + 1)
    return y


def joined(x, n, m):
    a, b = x[n:], x[:m]
    c = a * b + a
    c = c - x[: len(b)]
    return c.sum(), (c > 0).sum(), c.max(initial=0)


def multiplied(x, n, m):
    return np.dot(x[n:], x[:m]), np.where(x[n:] > x[:m], x[n:], x[:m]).sum()


def spread_out(x, n, m):
    found = x[n:] - x[:m]
    return (found[:, None] * x[n:]).sum(), np.roll(found, 1).sum(), len(found)


def in_turns(x, n, m):
    total = 0.0
    for k in range(3):
        a, b = x[n + k :], x[: max(m - k, 0)]
        if k != 1:
            total += (a * b).sum()
        for p, q in zip(a, np.roll(b, 1), strict=False):
            total = total / 2 + p * q
    return total


def interpolated(x, n, m):
    table = np.sort(x)
    return np.interp(x, table[n:], x[:m]).sum() if n < len(x) or m > 0 else 0.0


def weighted(x, n, m):
    """The length of a range has no bound that is known before."""
    return (x[n:] * np.arange(m)).sum() + np.dot(np.arange(m), x[:m] + x[n:])


def lengths(x, n, m):
    """Only how long parts are is asked for, which nobody computes."""
    steps = len(x[:m] + x[n:])
    return steps, np.zeros(len(np.arange(m) * x[n:])).size, (x[n:] - x[:m]).shape[0]


def as_many_turns(x, n, m):
    total, k = 0.0, 0
    for i in range(len(x[n:] * x[:m])):
        total += x[i]
    while k < len(x[n:] + x[:m]):
        k += 2
    return total, k


def in_a_branch(x, n, m):
    """The length of a range, of which no bound is known, is that of a part from there on."""
    total = np.where(np.arange(m) + x[n:] > 0, np.sort(x[:m]) - np.arange(m), 0.5).sum()
    if x[0] > 0:
        total += np.dot(np.cumsum(np.arange(m) * x[n:]), x[:m][::-1] + np.sort(x[n:]))
    return total, np.concatenate([x[n:] + np.arange(m), x[:2]])[::-1].max()


def looked_up(x, n, m):
    table = np.sort(x)
    behind = np.searchsorted(table[n:], x[0], side="right")
    return np.searchsorted(table[:n], x), np.digitize(x, table[:m]), behind


EQUAL = (
    shifted, joined, multiplied, spread_out, in_turns, interpolated, weighted, lengths,
    as_many_turns, in_a_branch,
)  # fmt: skip


def halves(size: int, width: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, and two numbers for each: behind one is as much as before the other."""
    rng = np.random.default_rng(size)
    n = rng.integers(0, width + 1, size)
    return rng.normal(size=(size, width)), n, width - n


@pytest.mark.parametrize("pays", [True, False], ids=["in lanes", "one by one"])
@pytest.mark.parametrize("f", [*EQUAL, looked_up], ids=lambda f: f.__name__)
def test_sizes_that_are_equal_as_the_data_have_it(f, pays, monkeypatch):
    monkeypatch.setattr(choices, "_own_sizes_pay", lambda *_: pays)
    for size, width in ((1, 6), (33, 6), (33, 40)):
        arguments = halves(size, width)
        wants = [f(*row) for row in zip(*arguments, strict=True)]
        mapped = lw.function(lw.vmap(f), jit_compile=True)
        assert_alike(mapped(*arguments), wants, exact=True)
        assert_alike(mapped(*[x[::-1] for x in arguments]), wants[::-1], exact=True)


@pytest.mark.parametrize("f", [shifted, joined, spread_out], ids=lambda f: f.__name__)
def test_a_size_of_one_where_another_was_expected(f):
    """NumPy repeats it: of these examples it does what kernels are not made for."""
    x, n, m = halves(33)
    m[4:30:5] = 1
    wants = [f(*row) for row in zip(x, n, m, strict=True) if row[1] < 6]
    keep = n < 6
    mapped = lw.function(lw.vmap(f), jit_compile=True)
    assert_alike(mapped(x[keep], n[keep], m[keep]), wants, exact=True)


@pytest.mark.parametrize("f", EQUAL, ids=lambda f: f.__name__)
def test_sizes_that_differ_raise_what_numpy_raises(f):
    x, n, m = halves(33)
    n[20], m[20] = 1, 3
    with pytest.raises(ValueError) as plain:
        f(x[20], n[20], m[20])
    mapped = lw.function(lw.vmap(f), jit_compile=True)
    with pytest.raises(ValueError) as found:
        mapped(x, n, m)
    assert str(plain.value).strip() in str(found.value)
    assert "in example 20" in str(found.value)
    some = x[:20], n[:20], m[:20]
    assert_alike(mapped(*some), [f(*row) for row in zip(*some, strict=True)])


@pytest.mark.parametrize("size", [1, 2, 5, 40, 3000])
def test_tables_of_any_size(size):
    def both(table, x):
        return np.interp(x, table, table**2), np.searchsorted(table, x), np.digitize(x, table)

    spec = lw.TensorSpec((None,), np.float64)
    traced = lw.function(both, input_signature=[spec, spec], jit_compile=True)
    rng = np.random.default_rng(size)
    table = np.sort(rng.normal(size=size))
    x = np.concatenate([rng.normal(size=50), table[:3], table[-1:], [np.nan, np.inf, -np.inf]])
    for got, want in zip(traced(table, x), both(table, x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_an_empty_table_is_left_to_numpy():
    def looked(x, n, v):
        return np.interp(v, x[:n], x[:n])

    x = np.sort(np.random.default_rng(0).normal(size=(9, 4)), axis=1)
    n = np.array([4, 1, 2, 3, 4, 1, 0, 2, 4])
    mapped = lw.function(lw.vmap(looked), jit_compile=True)
    with pytest.raises(ValueError, match="array of sample points is empty"):
        mapped(x, n, x[:, 0])
    some = x[:6], n[:6], x[:6, 0]
    assert_alike(mapped(*some), [looked(*row) for row in zip(*some, strict=True)])


# --- memory ---------------------------------------------------------------------------------------


def table(t, i, n):
    total = t[i : i + n].sum() + t[n:].sum()
    if n > 2:
        total += np.sort(t[i : i + n]).sum() + t[i : i + n].max(initial=0)
    return total


def run_guarded() -> None:
    """Run programs on memory between inaccessible pages."""
    rng = np.random.default_rng(0)
    with backend("native"), guarding() as guarded:
        for size in (1, 9, 33):
            for f in PROGRAMS:
                print("BEGIN", f.__name__, size, flush=True)
                check(f, *batch("f8", size))
                check(f, *batch("f4", size, 43))
            for f in (*EQUAL, looked_up):
                print("BEGIN", f.__name__, size, flush=True)
                check(f, *halves(size))
                x, n, m = halves(size, 43)
                check(f, x, n, m)
                m[-1] += 3
                with contextlib.suppress(ValueError):
                    check(f, x, n, m)
            print("BEGIN table", size, flush=True)
            own = rng.normal(size=(size, 7)), rng.integers(-9, 10, size), rng.integers(-9, 10, size)
            check(table, *own)
            check(table, own[0][0], *own[1:], in_dims=(None, 0, 0))
            check(table, own[0][0], np.array(5), own[2], in_dims=(None, None, 0))
    assert guarded.calls, "nothing was compiled"
    print("DONE", flush=True)


def test_no_access_is_out_of_bounds():
    assert_done(run_apart("codegen.test_varying_sizes", "run_guarded"))
