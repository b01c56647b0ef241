"""Slices between traced ends of which the length is known: ``a[i:i + 3]``."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_maps, assert_maps_everywhere, loop

RNG = np.random.default_rng(5)
A = RNG.normal(size=(4, 8))
M = RNG.normal(size=(4, 6, 5))
I = np.array([0, 5, 2, 3])  # noqa: E741
J = np.array([1, 0, 2, 3])

READ = {
    "ahead": lambda a, i: a[i : i + 3],
    "behind": lambda a, i: a[i + 3 - 3 : i + 3],
    "from negative": lambda a, i: a[i - 8 : i - 6],
    "computed ends": lambda a, i: a[2 * i - i : (i + 2) * 1 + 1],
    "the other way about": lambda a, i: a[3 + i - 3 : 3 + i],
    "step": lambda a, i: a[i : i + 3 : 2],
    "backward": lambda a, i: a[i + 2 : i : -1],
    "backward by two": lambda a, i: a[i + 2 : i - 8 + 8 : -2],
    "empty": lambda a, i: a[i:i].sum(),
    "negative length": lambda a, i: a[i + 1 : i],
    "cast index": lambda a, i: a[i.astype(np.int32) : i.astype(np.int32) + 2],
    "in two steps": lambda a, i: a[i : i + 3][1:],
    "sum": lambda a, i: a[i : i + 3].sum() * 2,
    "of a slice": lambda a, i: a[1:][i : i + 2],
    "of a slice between traced ends": lambda a, i: a[i : i + 3][i * 0 + 1 : i * 0 + 3],
    "blocks": lambda a, i: a[(i // 4) * 4 : (i // 4 + 1) * 4],
    "of two": lambda a, i: a[i : i + 2] + a[i + 1 : i + 3],
    "with array": lambda a, i: a[i : i + 3][np.array([0, 2])],
}


@pytest.mark.parametrize("name", READ)
def test_reading(name):
    assert_maps(READ[name], A, I)
    assert_maps(READ[name], A[0], I, in_dims=(None, 0))
    assert_maps(READ[name], A, I[1], in_dims=(0, None))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int32])
def test_kinds_of_indices(dtype):
    assert_maps_everywhere(lambda a, i: (a[i : i + 3], a[i + 2 : i : -1]), A, I.astype(dtype))


AXES = {
    "rows": lambda m, i, j: m[i : i + 2],
    "columns": lambda m, i, j: m[:, j : j + 2],
    "block": lambda m, i, j: m[i : i + 2, j : j + 2],
    "row and columns": lambda m, i, j: m[i, j : j + 2],
    "rows and column": lambda m, i, j: m[i : i + 2, j],
    "static column": lambda m, i, j: m[i : i + 2, -1],
    "static slice": lambda m, i, j: m[i : i + 2, 1::2],
    "ellipsis": lambda m, i, j: m[..., j : j + 2],
    "new axis": lambda m, i, j: m[None, i : i + 2, None, j : j + 2],
    "list": lambda m, i, j: m[i : i + 2][:, [0, 2, 2]],
    "transposed": lambda m, i, j: m.T[j : j + 2].T,
    "reshaped": lambda m, i, j: m[i : i + 2].reshape(-1)[j : j + 3],
}


@pytest.mark.parametrize("name", AXES)
def test_axes(name):
    i, j = np.array([0, 4, 2, 3]), np.array([1, 0, 2, 3])
    assert_maps(AXES[name], M, i, j)
    assert_maps(AXES[name], M[0], i, j, in_dims=(None, 0, 0))
    assert_maps(AXES[name], M, i[2], j, in_dims=(0, None, 0))


def writes(a, i):
    a = a.copy()
    a[i : i + 2] = 5
    a[i + 1 : i + 3] += 1
    a[i + 2 : i : -1] *= np.array([2.0, 3.0])
    part = a[i : i + 3]
    part[0] = -1
    part[1:] -= 10
    a[0] = 100
    return a, part, part.sum()


def test_writing():
    assert_maps_everywhere(writes, A, I)


def test_writing_blocks():
    def write(m, i, j, v):
        m = m.copy()
        m[i : i + 2, j : j + 2] = v
        m[i : i + 2, 0] += 1
        m.T[j : j + 2][0] *= 3
        m[i, j : j + 2] = [7, 8]
        return m

    i, j = np.array([0, 4, 2, 3]), np.array([1, 0, 2, 3])
    assert_maps(write, M, i, j, RNG.normal(size=(4, 2, 2)))
    assert_maps(write, M[0], i, j, RNG.normal(size=(4, 2)), in_dims=(None, 0, 0, 0))
    assert_maps(write, M, i[0], j[0], RNG.normal(size=(4, 2)), in_dims=(0, None, None, 0))


def test_overlapping_move():
    def move(a, i):
        a = a.copy()
        a[i + 1 : i + 3] = a[i : i + 2]
        return a

    assert_maps(move, A, I)


def test_nested_maps():
    i = np.array([[0, 5, 2], [1, 1, 4]])
    got = lw.vmap(lambda a, rows: lw.vmap(lambda k: a[k : k + 3])(rows))(A[:2], i)
    expected = [[A[n, k : k + 3] for k in row] for n, row in enumerate(i)]
    np.testing.assert_array_equal(got, expected)
    got = lw.vmap(lambda a, k: lw.vmap(lambda r: r[k : k + 2])(a))(M, np.array([0, 1, 2, 3]))
    np.testing.assert_array_equal(got, loop(lambda m, k: m[:, k : k + 2], (M, J * 0 + [0, 1, 2, 3]),
                                            (0, 0)))  # fmt: skip


def write_three(a, i):
    a = a.copy()
    a[i : i + 3] = 0
    return a


@pytest.mark.parametrize("start", [6, 7, 20, -2, -20])
def test_a_slice_that_is_cut_off_has_no_shape_to_be_returned(start):
    assert A[0][start : start + 3].shape != (3,)
    message = r"(?s)3 elements.*does not lie within.*depends on the data.*np\.minimum"
    with pytest.raises(lw.UnsupportedError, match=message):
        lw.vmap(lambda a, i: a[i : i + 3])(A[:2], np.array([0, start]))


def looked_at(a, i):
    return len(a[i : i + 3])


def largest_or_none(a, i):
    part = a[i : i + 3]
    return part.max() if len(part) > 0 else -1.0


def largest_or_raised(a, i):
    try:
        return a[i : i + 3].max()
    except ValueError:
        return -1.0


def looped_over(a, i):
    total = 0.0
    for value in a[i : i + 3]:
        total += value * 2
    return total


def in_a_while_loop(a, i):
    total = 0.0
    while i < 12:
        total += a[i : i + 3].sum()
        i += 2
    return total


def in_a_branch(a, i):
    return a[i : i + 3].mean() if i < len(a) else 0.0


def sorted_backwards(a, i):
    return np.sort(a[i : i + 3])[::-1][:1].sum()


def every_other(a, i):
    return a[i : i + 5 : 2].sum() + a[i + 3 : i : -1].sum()


def is_handled(a, i):
    try:
        return a[i : i + 3].sum()
    except (IndexError, TypeError):
        return -1.0


CUT_OFF = [
    write_three,
    looked_at,
    largest_or_none,
    largest_or_raised,
    looped_over,
    in_a_while_loop,
    in_a_branch,
    sorted_backwards,
    every_other,
    is_handled,
]


@pytest.mark.parametrize("func", CUT_OFF)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_slices_that_some_examples_cut_off(func, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    starts = np.array([0, 5, 6, 7, 8, 20, 3, 1])
    rows = np.round(8 * A[np.arange(len(starts)) % len(A)])  # sums are exact
    want = np.stack([func(a.copy(), i) for a, i in zip(rows, starts, strict=True)])
    for mapped in (lw.vmap(func), lw.function(lw.vmap(func)), lw.vmap(func, chunk_size=3)):
        got = mapped(rows, starts)
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
        if backend == "native":
            return  # the other ways are other graphs, not other kernels
    nested = lw.vmap(lambda a, i: lw.vmap(func, in_dims=(None, 0))(a, i))(rows, starts[:, None])
    np.testing.assert_array_equal(nested[:, 0], want)
    got, failures = lw.vmap(func, on_error="collect", fill_value=0)(rows, starts)
    np.testing.assert_array_equal(got, want)
    assert not failures
    one = lw.function(func)
    for a, i in zip(rows, starts, strict=True):
        np.testing.assert_array_equal(one(a.copy(), i), func(a.copy(), i))


def counted_by_a_loop(a, i):
    n = 0
    for _ in a[i : i + 4]:
        n += 1
    return n


SIZES = {
    "len": lambda a, i: len(a[i : i + 4]),
    "size": lambda a, i: a[i : i + 4].size,
    "shape": lambda a, i: a[i : i + 4].shape[0],
    "np.size": lambda a, i: np.size(a[i : i + 4]) + np.shape(a[i : i + 4])[0],
    "nbytes": lambda a, i: a[i : i + 4].nbytes,
    "of what is computed of it": lambda a, i: len(a[i : i + 4] * 2) + (a[i : i + 4] + 1).size,
    "of a copy": lambda a, i: a[i : i + 4].copy().size,
    "of a slice of it": lambda a, i: len(a[i : i + 4][1:]),
    "of a column": lambda a, i: len(np.stack([a, a])[:, i : i + 4][0]),
    "ones_like": lambda a, i: np.ones_like(a[i : i + 4]).sum(),
    "full_like": lambda a, i: np.full_like(a[i : i + 4], 3).sum(),
    "a loop": counted_by_a_loop,
    "enumerate": lambda a, i: max([k for k, _ in enumerate(a[i : i + 4])], default=-1),
    "sum": lambda a, i: sum(1 for _ in a[i : i + 4]),
    "a comprehension": lambda a, i: len([0 for _ in a[i : i + 4]]),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_the_size_alone_of_slices_that_are_cut_off(name, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    a, starts = np.arange(8.0), np.array([0, 3, 6, 7, 8])
    want = [SIZES[name](a, i) for i in starts]
    got = lw.vmap(SIZES[name], in_dims=(None, 0))(a, starts)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == np.array(want).dtype
    one = lw.function(SIZES[name])
    np.testing.assert_array_equal([one(a, i) for i in starts], want)


def test_a_slice_that_is_cut_off_where_something_was_printed():
    def func(a, i):
        print(i)
        return a[i : i + 3].sum()

    for called in (
        lambda: lw.vmap(func)(A[:2], np.array([0, 7])),
        lambda: lw.function(func)(A[0], np.int64(7)),
    ):
        with pytest.raises(lw.errors.CutOffError, match=r"does not lie within"):
            called()


def test_a_slice_that_says_where_it_is_cut_off():
    i = np.array([0, 6, 7, 20])
    assert_maps(lambda a, i: a[i : np.minimum(i + 3, 8)].sum(), A, i)
    assert_maps(lambda a, i: a[np.maximum(i - 1, 0) : i + 2].sum(), A, i)
    assert_maps(lambda a, i: a[i : i + 9].sum(), A, i)  # longer than the axis


def test_indices_that_wrap_around_are_found_out():
    a = np.arange(300.0)
    with np.errstate(over="ignore"), pytest.raises(IndexError, match="does not lie within"):
        lw.vmap(lambda i: a_like(i, a)[i : i + np.uint8(3)])(np.array([254], np.uint8))


def a_like(i, a):
    return np.asarray(a, like=i)


def test_bad_bounds():
    with pytest.raises(TypeError, match="slice indices must be integers"):
        lw.vmap(lambda a, i: a[i : i + 3])(A, I.astype(float))
    with pytest.raises(TypeError, match="integer scalar"):
        lw.vmap(lambda a, i: a[i : i + 3])(A, I[:, None])
    with pytest.raises(ValueError, match="step cannot be zero"):
        lw.vmap(lambda a, i: a[i : i + 3 : 0])(A, I)
    with pytest.raises(lw.UnsupportedError, match="step that is data"):
        lw.vmap(lambda a, i: a[0:3:i])(A, I)
    with pytest.raises(IndexError, match="too many"):
        lw.vmap(lambda a, i: a[i : i + 3, 0])(A, I)
    with pytest.raises(ValueError, match="broadcast"):
        lw.vmap(lambda a, i: a.__setitem__(slice(i, i + 3), np.zeros(2)))(A.copy(), I)
