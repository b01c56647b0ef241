"""Slices between traced ends of which the length is known: ``a[i:i + 3]``."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from tests.oracle import assert_maps, assert_maps_everywhere, loop

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
def test_a_slice_that_is_cut_off_is_an_error(start):
    assert A[0][start : start + 3].shape != (3,)
    for func in (lambda a, i: a[i : i + 3], write_three):
        message = r"(?s)3 elements.*does not lie within.*depends on the data.*np\.minimum"
        with pytest.raises(IndexError, match=message):
            lw.vmap(func)(A[:2], np.array([0, start]))


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
    with pytest.raises(TypeError, match="step that is data"):
        lw.vmap(lambda a, i: a[0:3:i])(A, I)
    with pytest.raises(IndexError, match="too many"):
        lw.vmap(lambda a, i: a[i : i + 3, 0])(A, I)
    with pytest.raises(ValueError, match="broadcast"):
        lw.vmap(lambda a, i: a.__setitem__(slice(i, i + 3), np.zeros(2)))(A.copy(), I)
