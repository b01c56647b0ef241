"""Sorting, selecting and searching by hand: swaps in place, indices that the data moves."""

from __future__ import annotations

import itertools

import numpy as np

from programs.corpus.case import Case

RNG = np.random.default_rng(15)


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


def bubble_sort(a):
    swaps = 0
    n = len(a)
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
                swaps += 1
        n -= 1
    return a, swaps


def selection_sort(a):
    a = a.copy()
    order = np.arange(len(a))
    for i in range(len(a) - 1):
        smallest = i
        for j in range(i + 1, len(a)):
            if a[j] < a[smallest]:
                smallest = j
        if smallest != i:
            a[i], a[smallest] = a[smallest], a[i]
            order[i], order[smallest] = order[smallest], order[i]
    return a, order


def partition(a, low, high):
    pivot = a[high]
    i = low - 1
    for j in range(low, high):
        if a[j] <= pivot:
            i += 1
            a[i], a[j] = a[j], a[i]
    a[i + 1], a[high] = a[high], a[i + 1]
    return i + 1


def quickselect(a, k):
    low, high = 0, len(a) - 1
    while low < high:
        p = partition(a, low, high)
        if p == k:
            return a[p]
        elif p < k:
            low = p + 1
        else:
            high = p - 1
    return a[low]


def quicksort(a):
    """Quicksort with a stack of its own."""
    stack = np.zeros((len(a) + 1, 2), dtype=int)
    stack[0] = 0, len(a) - 1
    top = 1
    while top:
        top -= 1
        low, high = stack[top]
        if low >= high:
            continue
        p = partition(a, low, high)
        stack[top] = low, p - 1
        stack[top + 1] = p + 1, high
        top += 2
    return a


def heap_sort(a):
    def sift(start, end):
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                return
            a[root], a[child] = a[child], a[root]
            root = child

    n = len(a)
    for start in range(n // 2 - 1, -1, -1):
        sift(start, n)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift(0, end)
    return a


def merge(a, b):
    out = np.empty(len(a) + len(b), dtype=a.dtype)
    i = j = 0
    for k in range(len(out)):
        if j >= len(b) or (i < len(a) and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


def binary_search(a, value):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] == value:
            return middle
        if a[middle] < value:
            low = middle + 1
        else:
            high = middle
    return -1


def interpolation_search(a, value):
    low, high = 0, len(a) - 1
    probes = 0
    while low <= high and a[low] <= value <= a[high]:
        probes += 1
        if a[low] == a[high]:
            return (low if a[low] == value else -1), probes
        guess = low + int((value - a[low]) * (high - low) / (a[high] - a[low]))
        if a[guess] == value:
            return guess, probes
        if a[guess] < value:
            low = guess + 1
        else:
            high = guess - 1
    return -1, probes


def shell_sort(a):
    gap = len(a) // 2
    while gap > 0:
        for i in range(gap, len(a)):
            value = a[i]
            j = i
            while j >= gap and a[j - gap] > value:
                a[j] = a[j - gap]
                j -= gap
            a[j] = value
        gap //= 2
    return a


def counting_sort(a):
    counts = np.zeros(10, dtype=int)
    for v in a:
        counts[v] += 1
    position = 0
    for v, count in enumerate(counts):
        for _ in range(count):
            a[position] = v
            position += 1
    return a


def dutch_flag(a, pivot):
    low, middle, high = 0, 0, len(a) - 1
    while middle <= high:
        if a[middle] < pivot:
            a[low], a[middle] = a[middle], a[low]
            low += 1
            middle += 1
        elif a[middle] > pivot:
            a[middle], a[high] = a[high], a[middle]
            high -= 1
        else:
            middle += 1
    return low, high


def two_sum(a, target):
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i] + a[j] == target:
                return i, j
    return -1, -1


def three_way_majority(a):
    """The element that more than half are, or -1: Boyer and Moore's vote, then a count."""
    candidate, votes = -1, 0
    for v in a:
        if votes == 0:
            candidate = v
        votes += 1 if v == candidate else -1
    if sum(1 for v in a if v == candidate) * 2 > len(a):
        return candidate
    return -1


def next_permutation(p):
    i = len(p) - 2
    while i >= 0 and p[i] >= p[i + 1]:
        i -= 1
    if i < 0:
        return p[::-1]
    j = len(p) - 1
    while p[j] <= p[i]:
        j -= 1
    p[i], p[j] = p[j], p[i]
    left, right = i + 1, len(p) - 1
    while left < right:
        p[left], p[right] = p[right], p[left]
        left += 1
        right -= 1
    return p


def _swaps(a):
    return np.sort(a), sum(p > q for p, q in itertools.combinations(a, 2))


def _selection(a):
    values, order = selection_sort(a)
    assert (a[order] == values).all()
    return np.sort(a), order


def _two_sum(a, target):
    pairs = itertools.combinations(range(len(a)), 2)
    return next(((i, j) for i, j in pairs if a[i] + a[j] == target), (-1, -1))


def _position(a, value):
    return np.searchsorted(a, value) if value in a else -1


def _majority(a):
    values, counts = np.unique(a, return_counts=True)
    return values[counts.argmax()] if counts.max() * 2 > len(a) else -1


def _next_permutation(p):
    rows = sorted(set(itertools.permutations(p.tolist())))
    return np.array(rows[(rows.index(tuple(p.tolist())) + 1) % len(rows)])


FLOATS = RNG.normal(size=(14, 9))
INTS = RNG.integers(-9, 10, (14, 8))
SORTED = np.sort(RNG.choice(40, (16, 10)), axis=1)
VALUES = np.where(RNG.random(16) < 0.6, SORTED[np.arange(16), RNG.integers(0, 10, 16)], 41)

CASES = [
    Case(insertion_sort, [FLOATS], np.sort),
    Case(insertion_sort, [INTS.astype("i1")], np.sort),
    Case(bubble_sort, [INTS], _swaps),
    Case(selection_sort, [FLOATS.astype("f4")], _selection),
    Case(quickselect, [FLOATS, RNG.integers(0, 9, 14)], lambda a, k: np.sort(a)[k]),
    Case(quicksort, [INTS], np.sort),
    Case(heap_sort, [FLOATS], np.sort),
    Case(
        merge,
        [np.sort(INTS), np.sort(RNG.integers(-9, 10, (14, 5)))],
        lambda a, b: np.sort(np.concatenate([a, b])),
    ),
    Case(
        binary_search,
        [np.sort(RNG.permuted(np.tile(np.arange(20), (16, 1)), axis=1)[:, :9]), VALUES % 20],
        _position,
    ),
    Case(
        interpolation_search,
        [SORTED, VALUES],
        [((np.arange(10) * 3, 12), (4, 1)), ((np.array([1, 5, 9]), 4), (-1, 1))],
    ),
    Case(shell_sort, [FLOATS], np.sort),
    Case(counting_sort, [RNG.integers(0, 10, (14, 9))], np.sort),
    Case(
        dutch_flag,
        [RNG.integers(0, 5, (14, 9)), RNG.integers(0, 5, 14)],
        lambda a, p: ((a < p).sum(), (a <= p).sum() - 1),
    ),
    Case(two_sum, [INTS, RNG.integers(-12, 12, 14)], _two_sum),
    Case(three_way_majority, [RNG.integers(0, 3, (20, 5)).astype("u1").astype("i2")], _majority),
    Case(next_permutation, [RNG.integers(0, 4, (14, 5))], _next_permutation),
]
