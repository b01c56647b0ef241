"""Objects in lists that grow with the data, which others have, too, or of which the data choose."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, ControlFlowError
from support.everywhere import Programs, assert_like_the_loop

A = np.array([1.5, 2.0, 0.5, -1.0, 0.0])
B = np.array([1.5, 1.0, -0.25, 3.0, -2.0])
PROGRAMS = Programs()


@dataclass(order=True)
class Event:
    time: float
    order: int


class Job:
    def __init__(self, time, order):
        self.time, self.order = time, order

    def __lt__(self, other):
        return self.time < other.time


def queue(kind):
    def func(a, b):
        heap = []
        for i, time in enumerate((a, b, a - b, 0.25)):
            heapq.heappush(heap, kind(time, i))
        total, n = 0.0, 0
        while heap and n < 30:
            first = heapq.heappop(heap)
            total = total * 2 + first.order
            n += 1
            if first.time < 2 and a > 0:
                heapq.heappush(heap, kind(first.time + 1 + a, first.order + 3))
        return total, n

    func.__name__ = f"a_queue_of_{kind.__name__}"
    return func


def known_queue(kind):
    def func(a, b):
        heap = []
        for i, time in enumerate((a, b, a - b, 0.25)):
            heapq.heappush(heap, kind(time, i))
        return [heapq.heappop(heap).order for _ in range(4)]

    func.__name__ = f"a_known_queue_of_{kind.__name__}"
    return func


for _kind in (Event, Job):
    PROGRAMS.note(A, B)(queue(_kind))
    PROGRAMS.note(A, B)(known_queue(_kind))


@PROGRAMS.note(A, B)
def changed_before_the_list_grows(a, b):
    first = Job(a, 0)
    jobs = [first, Job(b, 1)]
    if a > b:
        jobs[0], jobs[1] = jobs[1], jobs[0]
    first.time = 50.0
    for i in range(3 + int(a > 0)):
        if b > i:
            jobs.append(Job(a * i, i + 5))
    return sum(x.time for x in jobs), first.time, len(jobs)


@PROGRAMS.note(A, B)
def chosen_and_changed_in_turns(a, b):
    jobs = [Job(a, 0), Job(b, 1)]
    for i in range(3 + int(a > 0)):
        x = jobs[0] if a > b else jobs[1]
        x.order += 1
        if b > i:
            jobs.append(Job(a * i, i + 5))
    return sum(x.order for x in jobs), x.order


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def changed_where_one_was_swapped(a, b):
    first = Job(a, 0)
    jobs = [first, Job(b, 1)]
    if a > b:
        jobs[0], jobs[1] = jobs[1], jobs[0]
    if b > 0:
        jobs.append(Job(a, 5))
    first.time = 100.0
    return sum(x.time for x in jobs)


def changed_behind_a_loop(a, b):
    first = Job(a, 0)
    jobs = [first, Job(b, 1)]
    if a > b:
        jobs[0], jobs[1] = jobs[1], jobs[0]
    for i in range(3 + int(a > 0)):
        if b > i:
            jobs.append(Job(a * i, i + 5))
    first.time = 100.0
    return sum(x.time for x in jobs)


def changed_in_another_list(a, b):
    first = Job(a, 0)
    jobs, others = [first, Job(b, 1)], [first]
    if a > b:
        jobs[0], jobs[1] = jobs[1], jobs[0]
    for i in range(3 + int(a > 0)):
        if b > i:
            jobs.append(Job(a * i, i + 5))
    others[0].order = 9
    return sum(x.order for x in jobs)


class Around:
    def __init__(self, inner):
        self.inner = inner


def changed_in_another_object(a, b):
    first, second = Job(a, 0), Job(b, 1)
    held = [Around(first), Around(second)]
    if a > b:
        held[0].inner, held[1].inner = second, first
    if b > 0:
        held.append(Around(Job(a, 5)))
    first.time = 100.0
    return sum(x.inner.time for x in held)


def changed_that_was_chosen(a, b):
    first = Job(a, 0)
    x = first if a > b else Job(b, 1)
    jobs = []
    for i in range(3 + int(a > 0)):
        jobs.append(x if b > i else Job(a, i))
    first.time = 100.0
    return sum(x.time for x in jobs)


class Linked:
    def __init__(self, v):
        self.v, self.next = v, None


def linked_in_a_ring(a, b):
    x, y = Linked(a), Linked(b)
    x.next, y.next = y, x
    z, out = x if a > b else y, []
    for i in range(3 + int(a > 0)):
        out.append(z if b > i else Linked(a + i))
    return sum(each.v for each in out)


def whether_a_list_is_an_element(a, b):
    row = [a, 1.0]
    rows = [row, [b, 2.0]]
    if b > 0:
        rows.append([a, 5.0])
    return 1 if rows[0] is row else 0


def whether_a_dict_is_an_element(a, b):
    row = {"a": 1.0}
    rows = [row, {"a": b}]
    if b > 0:
        rows.append({"a": a})
    return 1 if rows[0] is row else 0


def whether_a_dataclass_is_an_element(a, b):
    first = Event(a, 0)
    events = [first, Event(b, 1)]
    if b > 0:
        events.append(Event(a, 5))
    return 1 if events[0] is first else 0


@pytest.mark.parametrize(
    "func",
    [
        changed_where_one_was_swapped, changed_behind_a_loop, changed_in_another_list,
        changed_in_another_object, changed_that_was_chosen, linked_in_a_ring,
        whether_a_list_is_an_element,
        whether_a_dict_is_an_element, whether_a_dataclass_is_an_element,
    ],
)  # fmt: skip
def test_where_it_matters_that_the_list_keeps_what_they_held(func):
    with pytest.raises((ControlFlowError, ConcretizationError)):
        lw.vmap(func)(A, B)
