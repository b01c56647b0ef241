"""Lists whose lengths are data, chosen and ordered by a key: the longest, say."""

from __future__ import annotations

import numpy as np
import pytest

from support.everywhere import Programs, assert_like_the_loop

X = np.random.default_rng(0).normal(size=(8, 3, 7)).round(2)
PROGRAMS = Programs()


def positive(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out


def score(values):
    if len(values) > 3:
        return -1
    return len(values)


def size(v):
    if v > 0:
        return v * v
    return -v


@PROGRAMS.note(X)
def by_length(x):
    parts = [positive(row) for row in x]
    shortest = min(parts, key=len)
    return len(max(parts, key=len)), sum(max(parts, key=len)), len(shortest)


@PROGRAMS.note(X)
def by_a_lambda(x):
    parts = [positive(row) for row in x]
    return sum(min(parts, key=lambda q: -len(q))), max(len(q) for q in parts)


@PROGRAMS.note(X)
def by_a_function(x):
    parts = [positive(row) for row in x]
    return max(score(q) for q in parts), len(max(parts, key=score)), sum(min(parts, key=score))


@PROGRAMS.note(X)
def of_two(x):
    a, b = positive(x[0]), positive(x[1])
    longer = max(a, b, key=len)
    return len(longer), sum(longer), sum(min(a, b, key=len))


@PROGRAMS.note(X)
def in_order(x):
    parts = sorted([positive(row) for row in x], key=len)
    return len(parts[-1]), sum(parts[0])


@PROGRAMS.note(X)
def changed_behind(x):
    parts = [positive(row) for row in x]
    ordered = sorted(parts, key=sum, reverse=True)
    ordered[0].append(5.0)
    max(parts, key=len).append(9.0)
    return [sum(part) for part in parts]


@PROGRAMS.note(X)
def rows_by_what_is_in_them(x):
    rows = [list(r) for r in x]
    return sum(max(rows, key=sum)), max(rows, key=lambda r: r[0])[1], min(rows, key=max)[0]


@PROGRAMS.note(X)
def numbers_by_a_function(x):
    return max((v * 2 for v in x[1]), key=abs), min((v for v in x[2]), key=size)


@PROGRAMS.note(X)
def put_together(x):
    parts = [positive(row) for row in x]
    together = sum(parts, [])  # noqa: RUF017
    return len(together), sum(sum((positive(row) for row in x), []))  # noqa: RUF017


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)
