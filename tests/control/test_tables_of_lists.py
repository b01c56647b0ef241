"""Tables as Python lists, and as lists of lists, written where the data or loops say."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support.backends import backend, watched
from support.everywhere import Programs, assert_like_the_loop

A = np.random.default_rng(5).normal(size=(6, 12))
A[2], A[3] = -1.0, 2.0

PROGRAMS = Programs()
program = PROGRAMS.note


def at(v, n):
    return int(abs(v) * 10) % n


@program(A)
def other_name_of_a_row(x):
    d = [[0.0] * 5 for _ in range(4)]
    out = 0.0
    for k in range(12):
        i, j = at(x[k], 4), at(x[11 - k], 5)
        row = d[i]
        d[i][j] += x[k]
        out += row[j] * (k + 1)
        row[0] = 7.0
        out += d[i][0]
    return out, np.array(d)


@program(A)
def a_row_named_before(x):
    d = [[0.0] * 5 for _ in range(4)]
    first = d[0]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
    first[1] = 100.0
    return d[0][1] + sum(first), sum(d[0])


@program(A)
def one_row_in_all_places(x):
    d = [[0.0] * 5] * 4
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
    return d[0], d[3]


@program(A)
def other_name_of_the_table(x):
    d = [[0.0] * 5 for _ in range(4)]
    e = d
    for k in range(12):
        d[at(x[k], 4)][k % 5] += x[k]
        e[k % 4][at(x[k], 5)] -= 1
    return d == e, e


@program(A)
def a_list_of_some_rows(x):
    d = [[0.0] * 5 for _ in range(4)]
    e = [d[1], d[3]]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
        e[k % 2][at(x[k], 5)] *= 2
    return d, e[0][2] + e[1][3]


@program(A)
def copies_of_rows(x):
    d = [[float(i + j) for j in range(5)] for i in range(4)]
    for k in range(12):
        e = [r[:] for r in d]
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
        d[k % 4][0] += e[at(x[k], 4)][1]
    return d


@program(A)
def copies_by_list(x):
    d = [[float(i + j) for j in range(5)] for i in range(4)]
    for k in range(6):
        e = [list(r) for r in d]
        for i in range(4):
            for j in range(5):
                d[i][j] = e[(i + at(x[k], 4)) % 4][(j + 1) % 5] + x[k]
    return d


@program(A)
def deep_copies(x):
    d = [[float(i + j) for j in range(5)] for i in range(4)]
    d[at(x[0], 4)][at(x[1], 5)] = x[0]
    e = copy.deepcopy(d)
    d[at(x[2], 4)][at(x[3], 5)] = x[1]
    return d, e


@program(A)
def looked_at(x):
    d = [[0.0] * 5 for _ in range(4)]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] = round(x[k])
    i = at(x[0], 4)
    return (
        sum(d[i]),
        max(d[i]),
        min(d[i]),
        len(d[i]),
        len(d),
        0.0 in d[i],
        d[i].count(0.0),
        sorted(d[i]),
        d[i][1:3],
        d[i] == d[0],
        max(max(r) for r in d),
        sum(map(sum, d)),
        [sum(c) for c in zip(*d, strict=True)],
        [v for r in d for v in r],
    )


@program(A)
def gone_through(x):
    d = [[0.0] * 5 for _ in range(4)]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
    total = 0.0
    for i, row in enumerate(d):
        for j, v in enumerate(row):
            total += v * (i + 2 * j)
    for row in d:
        row[0] = 1.0
        row[at(x[0], 5)] = 2.0
    for a, b in zip(d, d[1:], strict=False):  # noqa: RUF007
        total += a[0] * b[1]
    for row in reversed(d):
        total += row[2]
    return total, d


@program(A)
def rows_that_come_and_go(x):
    d = [[0.0] * 5 for _ in range(4)]
    for k in range(6):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
    d.append([1.0, 2.0, 3.0, 4.0, x[0]])
    last = d.pop(0)
    d.insert(1, [0.5] * 5)
    d.reverse()
    d[at(x[1], 5)][0] = 9.0
    del d[2]
    return d, last, len(d)


@program(A)
def rows_that_grow(x):
    d = [[0.0] * 3 for _ in range(4)]
    for k in range(12):
        i = at(x[k], 4)
        d[i][at(x[11 - k], 3)] += x[k]
        if x[k] > 0.3:
            d[i].append(x[k])
        elif len(d[i]) > 3:
            d[i].pop()
    return [len(r) for r in d], [sum(r) for r in d]


@program(A)
def from_the_end(x):
    d = [[0.0] * 5 for _ in range(4)]
    for k in range(12):
        d[-1 - at(x[k], 4)][-1 - at(x[11 - k], 5)] += x[k]
        d[-1][at(x[k], 5)] = d[at(x[k], 4)][-1]
    return d[-1][-1], d[-2]


@program(A)
def outside_of_it(x):
    d = [[0.0] * 5 for _ in range(4)]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 6)] += x[k]
    return d


@program(A)
def outside_of_the_rows(x):
    d = [[0.0] * 5 for _ in range(4)]
    for k in range(12):
        d[at(x[k], 5)][2] += x[k]
    return d


@program(A)
def outside_and_caught(x):
    d = [[0.0] * 5 for _ in range(4)]
    missed = 0
    for k in range(12):
        try:
            d[at(x[k], 5)][at(x[11 - k], 6)] += x[k]
        except IndexError:
            missed += 1
    return d, missed


@program(A)
def of_truth_values(x):
    d = [[False] * 5 for _ in range(4)]
    count = 0
    for k in range(12):
        i, j = at(x[k], 4), at(x[11 - k], 5)
        if not d[i][j]:
            d[i][j] = True
            count += 1
    return d, count


@program(A)
def of_texts(x):
    d = [["."] * 5 for _ in range(4)]
    for k in range(12):
        i, j = at(x[k], 4), at(x[11 - k], 5)
        d[i][j] = "#" if d[i][j] == "." else "o"
    return sum(1 for r in d for c in r if c == "#"), sum(r.count("o") for r in d)


@program(A)
def of_pairs(x):
    d = [[(0.0, 0)] * 5 for _ in range(4)]
    for k in range(12):
        i, j = at(x[k], 4), at(x[11 - k], 5)
        v, n = d[i][j]
        d[i][j] = (v + x[k], n + 1)
    return max(v for r in d for v, n in r), sum(n for r in d for v, n in r)


@program(A)
def of_complex(x):
    d = [[0j] * 5 for _ in range(4)]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += complex(x[k], 1.0)
    return d


@program(A)
def triangle(x):
    d = [[0.0] * (i + 1) for i in range(5)]
    for k in range(12):
        i = at(x[k], 5)
        d[i][at(x[11 - k], i + 1)] += x[k]
    return [sum(r) for r in d], d[4], len(d[at(x[0], 5)])


@program(A)
def pascal(x):
    d = [[1.0] * (i + 1) for i in range(8)]
    for i in range(2, 8):
        for j in range(1, i):
            d[i][j] = d[i - 1][j - 1] + d[i - 1][j] * x[i]
    return d[7]


@program(A)
def one_list_two_names(x):
    dp = [0.0] * 12
    other = dp
    for k in range(12):
        dp[at(x[k], 12)] += x[k]
        other[at(x[11 - k], 12)] *= 2
    return dp, other is dp, other[3]


@program(A)
def given_to_a_helper(x):
    dp = [0.0] * 12

    def add(items, k):
        items[at(x[k], 12)] += x[k]
        return items

    for k in range(12):
        add(dp, k)[k] += 1
    return dp, sum(dp), len(dp), dp[::2], max(dp), dp.index(max(dp))


class Grid:
    def __init__(self, n, m):
        self.cells = [[0.0] * m for _ in range(n)]
        self.sums = [0.0] * 10

    def add(self, i, j, v):
        self.cells[i][j] += v
        self.sums[i + j] += v


@program(A)
def in_an_object(x):
    g = Grid(4, 5)
    for k in range(12):
        g.add(at(x[k], 4), at(x[11 - k], 5), x[k])
    return g.cells, g.sums


@program(A)
def in_a_dict(x):
    d = {"a": [0.0] * 12, "b": [[0.0] * 4 for _ in range(3)]}
    for k in range(12):
        d["a"][at(x[k], 12)] += x[k]
        d["b"][at(x[k], 3)][at(x[11 - k], 4)] -= x[k]
    return d


@program(A)
def to_arrays(x):
    d = [[0.0] * 5 for _ in range(4)]
    dp = [0] * 12
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
        dp[at(x[k], 12)] += 1
    return (
        np.array(d),
        np.sum(d),
        np.asarray(d).T,
        np.array(dp),
        np.max(dp),
        np.array(d[1]) + np.array(d[at(x[0], 4)]),
    )


@program(A)
def joined_and_repeated(x):
    dp = [0.0] * 12
    for k in range(12):
        dp[at(x[k], 12)] += x[k]
    return dp + [1.0], dp * 2, [*dp, 2.0], dp == dp[:], dp != [0.0] * 12, dp[2:5] + dp[:1]  # noqa: RUF005


@program(A)
def unpacked(x):
    dp = [0.0] * 10
    for k in range(12):
        dp[at(x[k], 10)] += x[k]
    a, b, *rest = dp
    c, *_, e = dp
    return a + b + c + e, rest


@program(A)
def grows_later(x):
    dp = [0.0] * 10
    for k in range(12):
        dp[at(x[k], 10)] += x[k]
        if x[k] > 0:
            dp.append(x[k])
    return len(dp), sum(dp), dp[-1]


@program(A)
def sorted_and_cleared(x):
    dp = [0.0] * 10
    for k in range(12):
        dp[at(x[k], 10)] += x[k]
    dp.sort()
    first = dp[0]
    dp.reverse()
    e = dp.copy()
    e[at(x[0], 10)] = 50.0
    dp.insert(2, 5.0)
    dp.remove(5.0)
    n = dp.pop(3)
    dp.extend([1.0, 2.0])
    del dp[0]
    return dp, first, e, n


@program(A)
def slices_assigned(x):
    dp = [0.0] * 10
    for k in range(12):
        dp[at(x[k], 10)] += x[k]
    dp[2:4] = [1.0, 2.0]
    d = [[0.0] * 5 for _ in range(4)]
    d[at(x[1], 4)][at(x[0], 5)] = 1.0
    d[1][1:3] = [5.0, 6.0]
    return dp, d


@program(A)
def two_rows_in_turn(x):
    prev = [0.0] * 12
    for k in range(12):
        cur = [0.0] * 12
        for j in range(1, 12):
            cur[j] = max(prev[j - 1] + x[j], cur[j - 1]) if x[k] > 0 else prev[j]
        prev, cur = cur, prev
    return prev, cur


@program(A)
def two_rows_by_parity(x):
    d = [[0.0] * 12 for _ in range(2)]
    for k in range(1, 12):
        for j in range(1, 12):
            d[k % 2][j] = max(d[(k - 1) % 2][j - 1] + x[j] * x[k], d[k % 2][j - 1])
    return d[1][11]


@program(A)
def one_branch_makes_it(x):
    d = [[0.0] * 5 for _ in range(4)]
    if x[0] > 0:
        d = [[x[1]] * 5 for _ in range(4)]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += 1
    return d


@program(A)
def while_it_moves(x):
    d = [[0] * 6 for _ in range(6)]
    i = j = 3
    n = 0
    while 0 <= i < 6 and 0 <= j < 6 and n < 40:
        d[i][j] += 1
        k = (n + d[i][j]) % 12
        if x[k] > 0.4:
            i += 1
        elif x[k] > 0:
            j += 1
        elif x[k] > -0.6:
            i -= 1
        else:
            j -= 1
        n += 1
    return n, d, max(map(max, d))


@program(A)
def three_axes(x):
    d = [[[0.0] * 3 for _ in range(4)] for _ in range(2)]
    for k in range(12):
        d[k % 2][at(x[k], 4)][at(x[11 - k], 3)] += x[k]
    return d


@program(A)
def many_in_three_axes(x):
    d = [[[0.0] * 3 for _ in range(4)] for _ in range(5)]
    for k in range(12):
        d[at(x[k], 5)][at(x[k], 4)][at(x[11 - k], 3)] += x[k]
    return d[2][1][2], d


@program(A)
def shown(x):
    dp = [0.0] * 10
    for k in range(12):
        dp[at(x[k], 10)] += 1
    return len(dp), isinstance(dp, list), type(dp) is list, bool(dp)


@program(A)
def recursion(x):
    memo = [-1.0] * 12

    def f(n):
        if n < 2:
            return x[n]
        if memo[n] < 0:
            memo[n] = abs(f(n - 1)) + abs(f(n - 2)) * 0.5
        return memo[n]

    return f(11), memo


@program(A)
def first_written_at_numbers(x):
    d = [[0.0] * 12 for _ in range(12)]
    for i in range(12):
        d[i][0] = x[i]
        d[0][i] = -x[i]
    for i in range(1, 12):
        for j in range(1, 12):
            d[i][j] = min(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1]) + x[j]
    return d[11], d[3][4], [d[i][i] for i in range(12)]


@program(A)
def comprehensions_of_it(x):
    d = [[0.0] * 5 for _ in range(4)]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
    e = [[v * 2 for v in row] for row in d]
    t = [[d[i][j] for i in range(4)] for j in range(5)]
    f = [row[at(x[0], 5)] for row in d]
    e[at(x[2], 4)][at(x[1], 5)] = 3.0
    return e, t, f, any(any(v > 1 for v in r) for r in d), list(map(max, d))


@program(A)
def rows_as_arguments(x):
    def best(row, k):
        row[k] += 1
        return max(row) - min(row)

    d = [[0.0] * 5 for _ in range(4)]
    s = 0.0
    for k in range(12):
        s += best(d[at(x[k], 4)], at(x[11 - k], 5))
    return s, d


@program(A)
def a_table_returned_by_a_helper(x):
    def table(n, m, v):
        return [[v] * m for _ in range(n)]

    a, b = table(4, 5, 0.0), table(4, 5, 1)
    for k in range(12):
        a[at(x[k], 4)][at(x[11 - k], 5)] += b[at(x[11 - k], 4)][at(x[k], 5)]
        b[k % 4][at(x[k], 5)] += 1
    return a, b


@program(A)
def lists_of_lists_of_arrays(x):
    d = [[np.zeros(3) for _ in range(5)] for _ in range(4)]
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] = x[:3] * k
    return d[1][2], d[at(x[0], 4)][at(x[1], 5)]


@program(A)
def arrays_in_a_list(x):
    d = [np.zeros(3) for _ in range(10)]
    for k in range(12):
        d[at(x[k], 10)][at(x[11 - k], 3)] += x[k]
    return d


@program(A)
def a_list_within_a_tuple(x):
    d = ([0.0] * 10, [0.0] * 10)
    for k in range(12):
        d[k % 2][at(x[k], 10)] += x[k]
        d[at(x[11 - k], 2)][at(x[k], 10)] -= 1
    return d


@program(A)
def swapped_elements(x):
    p = list(range(12))
    for k in range(12):
        j = at(x[k], 12)
        p[k], p[j] = p[j], p[k]
    q = [0] * 12
    for k in range(12):
        q[p[k]] = k
    return p, q, [p[q[k]] for k in range(12)] == list(range(12))


@program(A)
def prefix_sums(x):
    s = [0] * 13
    for k in range(12):
        s[k + 1] = s[k] + x[k]
    i, j = sorted((at(x[0], 12), at(x[1], 12)))
    return s[j] - s[i], s


@program(A)
def prefix_sums_of_integers(x):
    n = (np.abs(x) * 10).astype(int)
    s = [0] * 13
    for k in range(12):
        s[k + 1] = s[k] + n[k]
    return s[12], s, s[at(x[0], 12)]


@program(A)
def named_outside(x):
    d = [[0.0] * 5 for _ in range(4)]
    keep = []
    for k in range(4):
        keep.append(d[k])
    for k in range(12):
        d[at(x[k], 4)][at(x[11 - k], 5)] += x[k]
    keep[2][1] = 4.0
    return d, keep[2], keep[at(x[0], 4)][1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


# --- the usual programs ---------------------------------------------------------------------------


def edit_distance(a, b):
    n, m = len(a), len(b)
    d = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        d[i][0] = i
    for j in range(m + 1):
        d[0][j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
    return d[n][m]


def alignment(a, b):
    score = [[-2 * (i + j) for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = score[i - 1][j - 1] + (1 if a[i - 1] == b[j - 1] else -1)
            score[i][j] = max(same, score[i - 1][j] - 2, score[i][j - 1] - 2)
    i, j, matches = len(a), len(b), 0
    while i > 0 and j > 0:
        if score[i][j] == score[i - 1][j] - 2:
            i -= 1
        elif score[i][j] == score[i][j - 1] - 2:
            j -= 1
        else:
            matches += 1 if a[i - 1] == b[j - 1] else 0
            i, j = i - 1, j - 1
    return matches, score[-1][-1]


def knapsack(a, b):
    dp = [0.0] * 40
    for weight, value in zip(a, b, strict=True):
        for c in range(39, 0, -1):
            if weight + 1 <= c:
                dp[c] = max(dp[c], dp[c - weight - 1] + value)
    return dp[39]


def shortest_paths(a, b):
    n = len(a)
    d = [[abs(a[i] - b[j]) + 0.5 if i != j else 0.0 for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return sum(map(sum, d)), d[0]


def matrix_chain(a, b):
    p, n = [v + 1 for v in a], len(a) - 1
    m = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i][j] = 10**9
            for k in range(i, j):
                m[i][j] = min(m[i][j], m[i][k] + m[k + 1][j] + p[i] * p[k + 1] * p[j + 1])
    return m[0][n - 1] + b[0]


def gauss(a, b):
    n = 5
    rows = [[float(a[i] * (j + 1) % 5) for j in range(n)] + [float(b[i])] for i in range(n)]
    for i in range(n):
        rows[i][i] += 7.0
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(rows[r][c]) > abs(rows[p][c]):
                p = r
        rows[c], rows[p] = rows[p], rows[c]
        for r in range(c + 1, n):
            f = rows[r][c] / rows[c][c]
            for k in range(c, n + 1):
                rows[r][k] -= f * rows[c][k]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        s = rows[i][n]
        for j in range(i + 1, n):
            s -= rows[i][j] * x[j]
        x[i] = s / rows[i][i]
    return x


def components(a, b):
    parent = list(range(10))

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    count = 10
    for u, v in zip(a, b, strict=True):
        u, v = find(u % 10), find(v % 10)
        if u != v:
            parent[u] = v
            count -= 1
    return count


def in_time_steps(a, b):
    t = [[0.0] * 9 for _ in range(3)]
    for i in range(9):
        t[0][i] = float(a[i % len(a)])
    for s in range(1, 20):
        for i in range(1, 8):
            before = t[(s - 1) % 3]
            t[s % 3][i] = before[i] + 0.1 * (before[i - 1] - 2 * before[i] + before[i + 1])
    return t[19 % 3], b[0]


USUAL = [
    edit_distance, alignment, knapsack, shortest_paths, matrix_chain, gauss, components,
    in_time_steps,
]  # fmt: skip
R = np.random.default_rng(7)
PAIRS = R.integers(0, 4, (5, 11)), R.integers(0, 4, (5, 11))


@pytest.mark.parametrize("func", USUAL)
def test_usual_programs(func):
    assert_like_the_loop(func, *PAIRS)


@pytest.mark.parametrize("func", USUAL[:5])
def test_what_is_recorded_does_not_depend_on_the_size(func):
    def length(n):
        graph = lw.function(func).get_concrete_function(np.arange(n) % 3, np.arange(n) % 4).graph
        return len(str(graph).splitlines())

    assert length(16) == length(48)


@pytest.mark.parametrize("func", USUAL)
def test_they_are_compiled(func):
    with watched() as seen:
        lw.vmap(func)(*[each[:, :9] for each in PAIRS])  # of a size of its own
    assert seen.maps
    assert not seen.given_up


def smooth_path(costs):
    n, m = costs.shape
    d = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            if i and j:
                d[i][j] = costs[i, j] - np.log(np.exp(-d[i - 1][j]) + np.exp(-d[i][j - 1]))
            elif i or j:
                d[i][j] = costs[i, j] + (d[i - 1][j] if i else d[i][j - 1])
            else:
                d[i][j] = costs[i, j]
    return d[-1][-1]


@pytest.mark.parametrize("name", ["interpret", "native"])
def test_derivatives(name):
    x = R.random((4, 5))
    with backend(name):
        got = lw.grad(smooth_path)(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        want = (smooth_path(x + step) - smooth_path(x - step)) / 2e-6
        np.testing.assert_allclose(got[place], want, rtol=1e-6, atol=1e-9)


# --- what other branches leave --------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
def test_a_row_that_another_branch_has_changed(first):
    def func(x):
        d = [[float(x[0] > 0)] * 4 for _ in range(3)]
        if (x[0] > 0) == first:
            d[1][at(x[1], 4)] += 1.0
        else:
            d[at(x[2], 3)][1:3] = [x[3], x[4]]
            d[at(x[5], 3)][at(x[6], 4)] -= 2.0
        return d

    assert_like_the_loop(func, A)


def test_a_row_that_a_variable_may_be():
    def func(x):
        d = [[float(i)] * 4 for i in range(3)]
        row = d[0]
        for k in range(12):
            if x[k] > 0.5:
                row = d[at(x[k], 3)]
            d[at(x[11 - k], 3)][at(x[k], 4)] += 1.0
        return row[0], d

    with backend("interpret"), pytest.raises((ControlFlowError, UnsupportedError)):
        lw.function(func)(A[0])  # by name, rather than what it was before


# --- what loops and branches had changed before ---------------------------------------------------


def written_at_a_number_before(x):
    seen, count = [[0.0] * 5 for _ in range(4)], 0.0
    for k in range(12):
        if x[k] > 0:
            seen[1][2] = x[k]  # in a branch that is open when the rows become a table
            for j in range(5):
                seen[at(x[k], 4)][j] += 1.0 + seen[1][2]
            count += seen[1][2] + sum(seen[at(x[11 - k], 4)])
    return count, seen


def written_in_first_turns(x):
    d, dp = [[0.0] * 6 for _ in range(6)], [0.0] * 12
    for i in range(1, 6):
        d[1][0] += x[i]
        dp[3] += 1.0
        for j in range(1, 6):
            d[i][j] = max(d[i - 1][j], d[i][j - 1]) + x[j]
            dp[at(x[j], 12)] += d[1][0]
        d[1][5] -= 1.0
    return d, dp


def written_while_it_goes_on(x):
    d, dp, k = [[0.0] * 6 for _ in range(3)], [0.0] * 12, 0
    while k < 12 and x[k] < 1.5:
        d[0][0] = float(k)
        dp[0] += d[0][0]
        if x[k] > 0:
            dp[at(x[k], 12)] += 1.0
            d[at(x[k], 3)][k % 6] += dp[0]
        d[2][1] = d[0][0] * 2
        k += 1
    return d, dp, k


@pytest.mark.parametrize(
    "func", [written_at_a_number_before, written_in_first_turns, written_while_it_goes_on]
)
def test_what_was_changed_before(func):
    assert_like_the_loop(func, A)
