"""Arrays that branches and loops write to in place, through views and under several names."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.control_flow_oracle import assert_follows

N = np.array([0, 3, 1, 6, 2, 4])
ROWS = (np.arange(30.0).reshape(6, 5) * 7) % 11 - 4


def write_in_branch(a, n):
    if n > 1:
        a[0] = 100.0
        a[1:3] += n
    else:
        a[-1] *= 2
    return a


def write_at_data(a, n):
    if n < 5:
        a[n] = -1.0
        a[n % 3] += 1
    return a


def write_in_loop(a, n):
    for i in range(n):
        if i >= len(a):
            break
        a[i] = a[i - 1] + i
    return a


def swaps(a, n):
    i, j = 0, len(a) - 1
    while i < j and i < n:
        a[i], a[j] = a[j], a[i]
        i += 1
        j -= 1
    return a


def scratch_array(a, n):
    out = np.zeros(5)
    count = 0
    for v in a:
        if v > 0:
            out[count] = v
            count += 1
    return out, count


def scratch_table(a, n):
    table = np.zeros((3, 4), dtype=int)
    for i in range(3):
        for j in range(4):
            if a[i] > j:
                table[i, j] = i + j + n
            elif i and j:
                table[i, j] = max(table[i - 1, j], table[i, j - 1])
    return table


def scratch_like(a, n):
    b = np.empty_like(a)
    c = np.full(len(a), n)
    for i in range(len(a)):
        b[i] = a[i] if a[i] > 0 else c[i]
        if b[i] == n:
            c[i] = -1
    return b, c


def views(a, n):
    tail, back = a[2:], a[::-1]
    if n > 2:
        tail[0] = 50.0
        back[0] += n
    for i in range(n):
        if i < 3:
            tail[i] -= 1
    return a, tail.sum(), back


def view_of_a_row(a, n):
    m = np.zeros((2, 5))
    row = m[1]
    for i in range(5):
        if a[i] > n:
            row[i] = a[i]
    m[0] = row * 2
    return m


def view_made_in_branch(a, n):
    if n > 1:
        part = a[1:4]
        part *= 2
        part[0] = n
    return a


def augmented_array(a, n):
    b = a
    if n % 2:
        b += 1
    b *= 2
    return a, b


def masked_writes(a, n):
    if n > 1:
        a[a < 0] = n
        a[a > 5] -= 1
    return a


def slices_of_data(a, n):
    k = min(n, 5)
    total = a[:k].sum() + a[k:].sum() * 2
    if k > 0:
        total += a[:k].max()
    a[:k] = 0
    return total, a


def argument_of_a_helper(a, n):
    def clear(v, i):
        if v[i] > 0:
            v[i] = 0.0

    for i in range(3):
        clear(a, i)
    clear(a[3:], n % 2)
    return a


def rebound_in_branch(a, n):
    if n > 2:  # noqa: SIM108
        a = a + 1
    else:
        a = a.copy()
    a[0] = n
    return a


def rebound_or_written(a, n):
    if n > 1:
        a = a + 1
    else:
        a[0] = 7
    if n > 2:
        a[1] = 3
    return a


def rebound_or_written_deeper(a, n):
    if n > 2:
        if n > 3:
            a *= 0.5
            return a[0]
        else:
            a = a.copy()
    else:
        a *= 2.0
    return a[1]


def rebound_or_written_in_a_loop(a, n):
    for i in range(3):
        if n > i:
            a = a + 1
        else:
            a[:] = a[::-1]
            return a[0]
    return a[1]


def view_or_written(a, n):
    if a[0] > n:
        return a[::-1]
    a[0] = 99.0
    return a


def rebound_then_written_with_return(a, n):
    if n > 1:
        a = a.copy()
    else:
        a *= 2.0
        return n * 1.0
    return a[0]


def written_then_rebound(a, n):
    if n > 2:
        a[:] = a[::-1]
        if n > 3:
            return a
    if n > 1:
        if a[0] > 0:
            a = np.abs(a) + 1
        else:
            a += 2.0
    return a


def rebound_within_a_branch(a, n):
    if n > 1:
        if n > 2:
            a = a[::-1] * 1.0
        a[0] = 5.0
    elif n > 0:
        a[1] += 1
    return a[0]


def rebound_in_some_turns(a, n):
    while n > 0:
        if n % 2:
            a = a + 1
        a[0] = n
        n -= 1
    return a


def power_steps(a, n):
    v, turns = np.ones(5), 0
    while turns < n:
        w = a * v
        norm = np.abs(w).max()
        if norm == 0:
            return v, turns
        w /= norm
        v = w
        turns += 1
    return v, turns


def out_and_methods(a, n):
    if n > 1:
        np.multiply(a, 2, out=a)
        a.sort()
    else:
        a.fill(n)
    return a


def sorted_in_branch(a, n):
    b = np.sort(a) if n > 2 else a[::-1]
    return b[0], b


def matrix_rows_swapped(a, n):
    m = np.outer(a, a)[:3, :3]
    if n > 2:
        m[[0, 2]] = m[[2, 0]]
    for i in range(3):
        if m[i, i] < 0:
            m[i] *= -1
            m[:, i] += 1
    return m


ARRAYS = [write_in_branch, write_at_data, write_in_loop, swaps, scratch_array, scratch_table,
          scratch_like, views, view_of_a_row, view_made_in_branch, augmented_array, masked_writes,
          slices_of_data, argument_of_a_helper, rebound_in_branch, out_and_methods,
          sorted_in_branch, matrix_rows_swapped, rebound_or_written, rebound_or_written_deeper,
          rebound_or_written_in_a_loop, view_or_written, rebound_then_written_with_return,
          written_then_rebound, rebound_within_a_branch, rebound_in_some_turns,
          power_steps]  # fmt: skip


@pytest.mark.parametrize("func", ARRAYS)
def test_arrays_in_place(func):
    assert_follows(func, ROWS, N)
    assert_follows(func, ROWS, N[3], in_dims=(0, None))
    assert_follows(func, ROWS[1], N, in_dims=(None, 0))


@pytest.mark.parametrize("func", [write_in_branch, write_in_loop, views, scratch_array])
def test_arrays_in_place_in_nested_maps(func):
    expected = [[func(row.copy(), n) for n in N] for row in ROWS]
    got = lw.vmap(lw.vmap(func, (None, 0)), (0, None))(ROWS, N)
    for k, leaf in enumerate(got if isinstance(got, tuple) else (got,)):
        want = [[e[k] if isinstance(e, tuple) else e for e in row] for row in expected]
        np.testing.assert_array_equal(leaf, want)


def alias_or_copy(a, n):
    b = a if n > 2 else a.copy()
    b[0] = 77.0
    return a, b


def test_an_alias_that_depends_on_the_data_is_followed_or_refused():
    try:
        got = lw.vmap(alias_or_copy)(ROWS, N)
    except lw.UnsupportedError as error:
        assert "copy" in str(error) and "test_constructs_arrays.py:" in str(error)
    else:
        want = [alias_or_copy(row.copy(), n) for row, n in zip(ROWS, N, strict=True)]
        for k in (0, 1):
            np.testing.assert_array_equal(got[k], [w[k] for w in want])
