"""`heapq` on data: the heap is what Python's is, element by element."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import Programs, assert_like_the_loop

RNG = np.random.default_rng(3)
A = RNG.normal(size=(8, 12))
A[2], A[3], A[4] = -1.0, 2.0, np.arange(12)
B = np.round(A * 2)  # with equal ones

PROGRAMS = Programs()
program = PROGRAMS.note
GRAPH = [
    [(1, 1.0), (2, 4.0)],
    [(3, 2.0)],
    [(3, 1.0), (4, 2.5), (5, 1.0)],
    [(5, 1.0)],
    [],
    [(0, 1.0)],
]


@program(A)
def largest_three(x):
    heap = []
    for v in x:
        if v > 0:
            heapq.heappush(heap, v)
            if len(heap) > 3:
                heapq.heappop(heap)
    return sum(heap), len(heap)


@program(B)
def places_are_those_of_python(x):
    heap = []
    for v in x:
        if v > -1:
            heapq.heappush(heap, v)
        elif len(heap) > 1:
            heapq.heappop(heap)
    return len(heap), np.array([*heap, *np.zeros(12)])[:9]


@program(B)
def of_a_known_length(x):
    heap = list(x)
    heapq.heapify(heap)
    before = np.array(heap)
    least = heapq.heappop(heap), heapq.heapreplace(heap, x[0]), heapq.heappushpop(heap, x[1])
    return before, *least, heapq.heappushpop(heap, -99.0), np.array(heap)


@program(A)
def joined_two_by_two(x):
    heap, total = list(np.abs(x)), 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        total += both
        heapq.heappush(heap, both)
    return total


@program(A[:, :6])
def shortest_paths(x):
    far = [math.inf] * 6
    far[0] = 0.0
    queue = [(0.0, 0)]
    while queue:
        d, u = heapq.heappop(queue)
        if d > far[u]:
            continue
        for v, length in GRAPH[u]:
            through = d + length * abs(x[v])
            if through < far[v]:
                far[v] = through
                heapq.heappush(queue, (through, v))
    return np.array(far)


@program(B)
def best_of_all(x):
    kept = [v for v in x if v > -2]
    most = heapq.nlargest(3, x)
    return sum(most), heapq.nsmallest(2, [*kept, 9.0])[0], heapq.nlargest(1, x, key=abs)[0]


@program(A)
def pushed_by_a_function(x):
    events = []

    def schedule(time, kind):
        heapq.heappush(events, (time, kind))

    schedule(0.0, 0)
    served = 0
    while events and served < 20:
        now, kind = heapq.heappop(events)
        served += 1
        if kind < 11 and x[kind] > -0.5:
            schedule(now + abs(x[kind]), kind + 1)
    return served, len(events)


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_heaps_of_plain_numbers_are_pythons():
    def func(x):
        heap = [3, 1, 2]
        heapq.heapify(heap)
        heapq.heappush(heap, 0)
        return x * heapq.heappop(heap) + heap[0]

    assert lw.vmap(func)(np.arange(3.0)).tolist() == [1, 1, 1]
    assert len(lw.function(func).get_concrete_function(1.0).graph.operations) < 5


def test_errors_are_those_of_heapq():
    def func(x):
        heap = []
        if x > 0:
            heapq.heappush(heap, x)
        return heapq.heappop(heap)

    assert_like_the_loop(func, np.array([1.0, -1.0]))
