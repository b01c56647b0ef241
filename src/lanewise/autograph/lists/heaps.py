"""`heapq` and `bisect.insort` on data: their functions written as loops, which are converted.

They leave the elements in the places that Python's do (Williams' heap, Floyd's way down: to a leaf,
and up again). References: J. W. J. Williams, Algorithm 232, CACM 7 (1964); R. W. Floyd, Algorithm
245, CACM 7 (1964).
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable
from typing import Any

from lanewise.autograph.calls import fn, replaces
from lanewise.autograph.lists.columns import columns_of
from lanewise.autograph.lists.grown import element_of_all
from lanewise.autograph.lists.loops import _bisect_left, _bisect_right, written
from lanewise.autograph.subscripts import getitem
from lanewise.autograph.values import compares_by_data, less
from lanewise.trace.contents import fill, holds
from lanewise.trace.regions import is_made_here, note_container
from lanewise.trace.scratch import is_traced


def _up(heap: Any, start: Any, at: Any) -> None:
    """Move an element up to its place, below `start`."""
    item = heap[at]
    is_low = True
    while at > start and is_low:
        parent = (at - 1) // 2
        above = heap[parent]
        is_low = less(item, above)
        if is_low:
            heap[at] = above
            at = parent
    heap[at] = item


def _down(heap: Any, start: Any) -> None:
    """Move an element down to a leaf, by the smaller child each time, and up to its place."""
    at = start
    size = len(heap)
    item = heap[at]
    child = 2 * at + 1
    while child < size:
        other = child + 1
        if other < size:  # noqa: SIM102 (what is compared there must be there)
            if not less(heap[child], heap[other]):
                child = other
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    _up(heap, start, at)


def _push(heap: Any, item: Any) -> None:
    heap.append(item)
    _up(heap, 0, len(heap) - 1)


def _pop(heap: Any) -> Any:
    last = heap.pop()
    if len(heap) > 0:
        first = heap[0]
        heap[0] = last
        _down(heap, 0)
        last = first
    return last


def _replace(heap: Any, item: Any) -> Any:
    first = heap[0]
    heap[0] = item
    _down(heap, 0)
    return first


def _push_and_pop(heap: Any, item: Any) -> Any:
    if len(heap) > 0:
        first = heap[0]
        if less(first, item):
            heap[0] = item
            _down(heap, 0)
            item = first
    return item


def _heapify(heap: Any) -> None:
    size = len(heap) // 2
    for i in range(size):
        _down(heap, size - 1 - i)


def _insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(_bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def _insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(_bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


for _loop in (_up, _down):
    written(_loop)


def _follow(function: Any, loop: Callable[..., Any]) -> None:
    """Have a function that changes a list run as a loop where elements are data."""
    loop = written(loop)

    @replaces(function)
    def call(heap: Any, *item: Any, **options: Any) -> Any:
        if type(heap) is not list or not (holds(heap) or compares_by_data(heap, item)):
            note_container(heap)
            return function(heap, *item, **options)
        if heap and not holds(heap) and is_made_here(heap):
            element = element_of_all([heap])
            if element is not None:
                note_container(heap)
                fill(heap, columns_of(heap, element))
        return loop(heap, *item, **options)


for _function, _loop in (
    (heapq.heappush, _push), (heapq.heappop, _pop), (heapq.heapreplace, _replace),
    (heapq.heappushpop, _push_and_pop), (heapq.heapify, _heapify),
    (bisect.insort_left, _insort_left), (bisect.insort_right, _insort_right),
):  # fmt: skip
    _follow(_function, _loop)


def _best(function: Any, is_least: bool) -> None:
    @replaces(function)
    def call(n: Any, iterable: Any, key: Any = None) -> Any:
        if not (holds(iterable) or is_traced(n) or compares_by_data(iterable)):
            return function(n, iterable, key=None if key is None else fn(key))
        ordered = fn(sorted)(iterable, key=key, reverse=not is_least)
        return getitem(ordered, slice(n))


_best(heapq.nsmallest, True)
_best(heapq.nlargest, False)
