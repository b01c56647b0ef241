"""Dynamic programming over tables that the function makes itself."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from programs.corpus.case import Case, lengths, padded

RNG = np.random.default_rng(12)


def edit_distance(a, n, b, m):
    table = np.zeros((9, 9), dtype=np.int64)
    for i in range(n + 1):
        table[i, 0] = i
    for j in range(m + 1):
        table[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1]
            else:
                best = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
                table[i, j] = 1 + best
    return table[n, m]


def longest_common_subsequence(a, b):
    rows, columns = len(a), len(b)
    length = np.zeros((rows + 1, columns + 1), dtype=int)
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            if x == y:
                length[i, j] = length[i - 1, j - 1] + 1
            else:
                length[i, j] = max(length[i - 1, j], length[i, j - 1])
    # Walk back.
    found = np.full(min(rows, columns), -1)
    i, j, k = rows, columns, length[rows, columns]
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            k -= 1
            found[k] = a[i - 1]
            i -= 1
            j -= 1
        elif length[i - 1, j] >= length[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return length[-1, -1], found


def knapsack(weights, values, capacity):
    best = np.zeros(31)
    for w, v in zip(weights, values):  # noqa: B905
        for c in range(capacity, w - 1, -1):
            candidate = best[c - w] + v
            if candidate > best[c]:
                best[c] = candidate
    return best[capacity]


def coin_change(coins, amount):
    infinity = 10**6
    fewest = np.full(40, infinity)
    fewest[0] = 0
    for total in range(1, amount + 1):
        for coin in coins:
            if coin <= total and fewest[total - coin] + 1 < fewest[total]:
                fewest[total] = fewest[total - coin] + 1
    return -1 if fewest[amount] == infinity else fewest[amount]


def longest_increasing_subsequence(x):
    tails = np.zeros_like(x)
    size = 0
    for v in x:
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            if tails[middle] < v:
                low = middle + 1
            else:
                high = middle
        tails[low] = v
        if low == size:
            size += 1
    return size


def max_subarray(x):
    best, current = x[0], x[0]
    start = best_start = best_end = 0
    for i in range(1, len(x)):
        if current < 0:
            current = x[i]
            start = i
        else:
            current += x[i]
        if current > best:
            best, best_start, best_end = current, start, i
    return best, best_start, best_end


def matrix_chain(dims):
    n = len(dims) - 1
    cost = np.zeros((n, n))
    split = np.zeros((n, n), dtype=int)
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            cost[i, j] = np.inf
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                if c < cost[i, j]:
                    cost[i, j] = c
                    split[i, j] = k
    return cost[0, n - 1], split[0, n - 1]


def viterbi(observations, n):
    start = np.log([0.6, 0.4])
    move = np.log([[0.7, 0.3], [0.4, 0.6]])
    emit = np.log([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    score = start + emit[:, observations[0]]
    back = np.zeros((len(observations), 2), dtype=int)
    for t in range(1, n):
        through = score[:, None] + move
        back[t] = through.argmax(axis=0)
        score = through.max(axis=0) + emit[:, observations[t]]
    path = np.full(len(observations), -1)
    path[n - 1] = np.argmax(score)
    for t in range(n - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


def time_warping(a, b, window):
    n, m = len(a), len(b)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(max(1, i - window), min(m, i + window) + 1):
            d = abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


def subset_sum(x, target):
    reachable = np.zeros(64, dtype=bool)
    reachable[0] = True
    for v in x:
        for total in range(target, v - 1, -1):
            if reachable[total - v]:
                reachable[total] = True
        if reachable[target]:
            return True
    return False


def rod_cutting(prices, length):
    best = [0.0]
    for n in range(1, len(prices) + 1):
        best.append(max(prices[cut - 1] + best[n - cut] for cut in range(1, n + 1)))
    cuts, rest = 0, length
    while rest > 0:
        piece = 1
        while prices[piece - 1] + np.array(best)[rest - piece] < np.array(best)[rest]:
            piece += 1
        rest -= piece
        cuts += 1
    return np.array(best)[length], cuts


def needleman_wunsch(a, b, gap=-2, match=1, mismatch=-1):
    previous = np.arange(len(b) + 1) * gap
    for x in a:
        row = np.empty_like(previous)
        row[0] = previous[0] + gap
        for j, y in enumerate(b):
            diagonal = previous[j] + (match if x == y else mismatch)
            row[j + 1] = max(diagonal, previous[j + 1] + gap, row[j] + gap)
        previous = row
    return previous[-1]


def _levenshtein(a, n, b, m):
    @functools.cache
    def d(i, j):
        if not i or not j:
            return i + j
        if a[i - 1] == b[j - 1]:
            return d(i - 1, j - 1)
        return 1 + min(d(i - 1, j), d(i, j - 1), d(i - 1, j - 1))

    return d(int(n), int(m))


def _knapsack(weights, values, capacity):
    choices = itertools.product([0, 1], repeat=len(weights))
    return max(np.dot(c, values) for c in choices if np.dot(c, weights) <= capacity)


def _increasing(x):
    n = len(x)
    return max(
        len(c)
        for size in range(1, n + 1)
        for c in itertools.combinations(x.tolist(), size)
        if all(p < q for p, q in itertools.pairwise(c))
    )


def _subarray(x):
    spans = [(x[i : j + 1].sum(), i, j) for i in range(len(x)) for j in range(i, len(x))]
    return max(spans, key=lambda s: (s[0], -s[2]))


def _subset(x, target):
    sums = {sum(c) for size in range(len(x) + 1) for c in itertools.combinations(x.tolist(), size)}
    return int(target) in sums


WORDS = "kitten sunday . flaw intent abc saturday lawn gumbo a book x".split()
OTHERS = "sitting saturday abc lawn action abc sunday flaw gambol . back y".split()
WORDS[2] = OTHERS[9] = ""
TEXTS = RNG.integers(0, 3, (12, 7))
HEALTH = RNG.integers(0, 3, (14, 6))

CASES = [
    Case(
        edit_distance,
        [padded(WORDS, 8), lengths(WORDS), padded(OTHERS, 8), lengths(OTHERS)],
        _levenshtein,
    ),
    Case(
        longest_common_subsequence,
        [TEXTS, RNG.integers(0, 3, (12, 5))],
        [
            ((np.array([1, 2, 3, 4]), np.array([2, 4, 3])), (2, np.array([2, 3, -1]))),
            ((np.array([1, 1]), np.array([2])), (0, np.array([-1]))),
        ],
    ),
    Case(
        knapsack,
        [RNG.integers(1, 12, (14, 6)), RNG.uniform(1, 9, (14, 6)), RNG.integers(0, 30, 14)],
        _knapsack,
    ),
    Case(
        coin_change,
        [RNG.integers(2, 12, (14, 3)), RNG.integers(0, 39, 14)],
        [
            ((np.array([1, 5, 10]), 27), 5),
            ((np.array([5, 7, 9]), 8), -1),
            ((np.array([3, 4, 7]), 0), 0),
        ],
    ),
    Case(longest_increasing_subsequence, [RNG.integers(0, 30, (14, 9)).astype("i4")], _increasing),
    Case(max_subarray, [RNG.normal(size=(16, 10))], _subarray),
    Case(
        matrix_chain,
        [RNG.integers(1, 40, (14, 6))],
        [
            ((np.array([10, 30, 5, 60]),), (4500, 1)),
            ((np.array([40, 20, 30, 10, 30]),), (26000, 2)),
        ],
    ),
    Case(
        viterbi,
        [HEALTH, RNG.integers(1, 7, 14)],
        [((np.array([0, 1, 2]), 3), (np.array([0, 0, 1]), np.log(0.01512)))],
    ),
    Case(
        time_warping,
        [RNG.normal(size=(12, 7)), RNG.normal(size=(12, 6)), RNG.integers(1, 7, 12)],
        [
            ((np.array([0.0, 1, 2]), np.array([0.0, 1, 1, 2]), 4), 0.0),
            ((np.array([1.0, 2, 3]), np.array([2.0, 2, 2]), 3), 2.0),
        ],
    ),
    Case(subset_sum, [RNG.integers(3, 25, (20, 5)), RNG.integers(0, 60, 20)], _subset),
    Case(
        rod_cutting,
        [RNG.uniform(0, 9, (12, 6)), RNG.integers(0, 7, 12)],
        [
            ((np.array([1.0, 5, 8, 9, 10, 17]), 4), (10.0, 2)),
            ((np.array([1.0, 5, 8]), 0), (0.0, 0)),
        ],
    ),
    Case(
        needleman_wunsch,
        [TEXTS, RNG.integers(0, 3, (12, 6))],
        [((np.array([1, 2, 3]), np.array([1, 3])), 0), ((np.array([1]), np.array([1])), 1)],
    ),
]
