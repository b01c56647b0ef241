"""Entries and attributes that show an array which some branches write to, and others replace.

What a branch reads of such an array it may read anew; behind it, the entry is what it was before.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import lanewise as lw

RNG = np.random.default_rng(0)
A, M, K = RNG.normal(size=(24, 3)), RNG.normal(size=(24, 2, 3)), np.arange(24) % 3


def one_writes_one_replaces(a, m, k):
    entries = [m[1]]
    if k != 0:
        if k == 1:
            entries[0] = a
        else:
            m[0] = a[1]
    return entries[0] + m.sum()


def both_in_one_branch(a, m, k):
    entries = [m[1]]
    if k == 0:
        pass
    else:
        if k == 1:
            entries[0] = a
        m[0] = a[1]
    return entries[0] + 0


def written_behind(a, m, k):
    entries = [m[1]]
    if k != 0:
        if k == 1:
            entries[0] = a
        else:
            m[0] = a[1]
        entries[0][0] += 1
    return entries[0] + m.sum()


def one_of_two_views(a, m, k):
    entries = [m[1]]
    if a[0] > 0:
        entries[0] = m[0]
    if k == 0:
        pass
    else:
        if k == 1:
            entries[0] = a
        else:
            m[0] = a[1]
    return entries[0] + 0


def an_attribute(a, m, k):
    holder = SimpleNamespace(x=m[1])
    if a[0] > 0:
        holder.x = m[0]
    if k != 0:
        if k == 1:
            holder.x = a
        else:
            m[:, 0] = a[1]
    holder.x[1] = 7.0
    return m + holder.x


def entries_of_a_dict(a, m, k):
    entries = {"x": m[1], "y": m[0]}
    if a[0] > 0:
        entries["x"] = entries["y"]
    if k != 0:
        if k == 1:
            entries["x"] = a
        else:
            m[0] = a[1]
            entries["y"] += 1
    entries["x"][0] += 1
    return m + entries["x"] * entries["y"] + a


def a_row_that_data_choose(a, m, k):
    entries = [m[k % 2]]
    if k != 0:
        if k == 1:
            entries[0] = a
        else:
            m[0] = a[1]
    return entries[0] + 0


def in_a_try(a, m, k):
    entries = []
    entries.append(m[k % 2])
    if k != 0:
        try:
            if a[0] > 0:
                raise ValueError
            m[0] = a[1]
            entries[0] = a
        except ValueError:
            m[1] *= 2
    return entries[0] + m.sum()


def in_a_loop(a, m, k):
    entries = [m[1], a]
    for _ in range(20):
        if k != 0:
            if k == 1:
                entries[0] = a
            else:
                m[0] = a[1]
    return entries[0] + m.sum()


def three_levels(a, m, k):
    entries = [m[1]]
    if a[0] < 1:
        if k != 0:
            if k == 1:
                if a[1] > 0:
                    entries[0] = a
                else:
                    m[1, 2] = 5.0
            else:
                m[0] = a[1]
        else:
            m[1] += entries[0]
    return entries[0] + m.sum()


def each_alone(f):
    return np.stack([f(a.copy(), m.copy(), k) for a, m, k in zip(A, M, K, strict=True)])


@pytest.mark.parametrize(
    "function",
    [one_writes_one_replaces, both_in_one_branch, written_behind, one_of_two_views, an_attribute,
     entries_of_a_dict, a_row_that_data_choose, in_a_try, in_a_loop, three_levels],
)  # fmt: skip
def test_as_the_loop(function):
    expected = each_alone(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LostWriteWarning)
        np.testing.assert_array_equal(lw.vmap(function)(A, M, K), expected)
    np.testing.assert_array_equal(each_alone(lw.function(function)), expected)
