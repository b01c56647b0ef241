"""Loops over arrays, lists, enumerate, zip and the like; comprehensions and what reduces them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from support.control_flow_oracle import assert_follows

N = np.array([0, 1, 5, 2, 9, 3, 40, 1])
ROWS = (np.arange(40.0).reshape(8, 5) * 7) % 11 - 4
WIDE = (np.arange(160).reshape(8, 20) * 13) % 17


def over_rows(a):
    total = 0.0
    for v in a:
        if v < 0:
            continue
        total += v
    return total


def over_matrix(a):
    best = -1.0
    for row in a.reshape(5, 4):
        if row.max() > best and row[0] > 3:
            best = row.max() * 1.0
    return best


def enumerated(a):
    where = -1
    for i, v in enumerate(a):
        if v > 5:
            where = i
            break
    return where


def enumerated_from(a):
    total = 0.0
    for i, v in enumerate(a, 1):
        total += i * v
    return total


def zipped(a):
    longest = run = 0
    for u, v in zip(a, a[1:]):  # noqa: B905, RUF007
        run = run + 1 if v >= u else 0
        if run > longest:
            longest = run
    return longest


def zipped_with_range(a):
    out = 0.0
    for i, (u, v) in enumerate(zip(a[::-1], range(100, 200))):  # noqa: B905
        if u > i:
            out += v
    return out


def reversed_array(a):
    value = 0.0
    for c in reversed(a):
        value = value / 2 + c
        if value > 12:
            return value
    return value


def reversed_range(a):
    for i in reversed(range(len(a))):
        if a[i] < 2:
            return i
    return -1


def over_list(a):
    total = 0.0
    for c, k in [(a[0], 1), (a[1], 2), (a[2], 3)]:
        if c > 0:
            total += c * k
    return total


def over_dict(a):
    total = 0.0
    for name, v in {"x": a[0], "yy": a[1]}.items():
        if v > 0:
            total += v * len(name)
    return total


def over_flat(a):
    total = 0.0
    for v in a.reshape(-1, 5).T.ravel():
        total = v - total if v > total else total
    return total


def over_ndindex(a):
    b = a[:4].reshape(2, 2)
    total = 0.0
    for i, j in np.ndindex(2, 2):
        if b[i, j] > 0:
            total += (i + 2 * j) * b[i, j]
    return total


def over_bools(a):
    count = 0
    for above in a > 2:
        if above:
            count += 1
    return count


ARRAYS = [over_rows, enumerated, enumerated_from, zipped, zipped_with_range, reversed_array,
          reversed_range, over_list, over_dict, over_flat, over_ndindex, over_bools]  # fmt: skip


@pytest.mark.parametrize("func", ARRAYS)
@pytest.mark.parametrize("rows", [ROWS, WIDE, WIDE.astype("f4")], ids=["short", "long", "f4"])
def test_over_arrays(func, rows):
    assert_follows(func, rows)


def test_over_rows_of_a_matrix():
    assert_follows(over_matrix, WIDE)


# --- comprehensions and reductions ----------------------------------------------------------------


def sum_of_generator(a, n):
    return sum(v for v in a), sum(v * v for v in a if v > n), sum((i for i in range(n)), 5)


def sum_over_traced_range(a, n):
    return sum(1 for i in range(n) if i % 3 == 0), sum(
        i * j for i in range(n % 6) for j in range(i)
    )


def min_and_max(a, n):
    return min(v for v in a), max(abs(v) for v in a), min(a), max(n, 3), max(a[0], a[1], n)


def min_with_default(a, n):
    return max((v for v in a if v > n), default=-1.0), min((i for i in range(n)), default=-7)


def any_and_all(a, n):
    return any(v > n for v in a), all(v > -4 for v in a), any(a > n), all(v < n for v in a[:2])


def lists(a, n):
    doubled = [v * 2 for v in a]
    chosen = [v if v > n else 0.0 for v in a]
    return np.array(doubled), np.array(chosen).sum(), len([v for v in a])


def any_protects(a, n):
    return any(i != 0 and n / i > 2 for i in range(5)), all(n % k for k in range(2, n))


def nested_comprehension(a, n):
    return np.array([[u * v if u > v else n for u in a[:3]] for v in a[:2]])


def fsum(a, n):
    return math.fsum(v for v in a), sum([v for v in a]), np.sum([v for v in a if True])


REDUCTIONS = [sum_of_generator, sum_over_traced_range, min_and_max, min_with_default, any_and_all,
              lists, any_protects, nested_comprehension, fsum]  # fmt: skip


@pytest.mark.parametrize("func", REDUCTIONS)
def test_reductions(func):
    assert_follows(func, ROWS, N)
