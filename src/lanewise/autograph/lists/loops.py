"""What is done with a list of the graph element by element, written as loops, which are converted.

A list as arrays is another one after each change, of a size that nothing bounds; as a loop it is
changed where it lies, in kernels, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.autograph.calls import HOOKS, ROWS
from lanewise.autograph.convert import convert
from lanewise.autograph.iterators import begun
from lanewise.autograph.values import less, require
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.tensor import weak

#: More elements than any memory holds.
_MOST_REPEATS = 1 << 40


def written(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loop as it follows data; other loops may call it by its own name."""

    def call(*args: Any, **options: Any) -> Any:
        found = convert(loop, HOOKS[0])
        is_generator = inspect.isgeneratorfunction(loop)
        return begun(found, *args, **options) if is_generator else found(*args, **options)

    ROWS[loop] = call
    return call


def _open(items: Any, place: Any, value: Any) -> None:
    """Put an element in at a place: those behind it move up."""
    at = len(items)
    items.append(value)
    while at > place:
        items[at] = items[at - 1]
        at -= 1
    items[at] = value


def _close(items: Any, place: Any) -> None:
    """Take the element out at a place: those behind it move down."""
    last = len(items) - 1
    while place < last:
        items[place] = items[place + 1]
        place += 1
    items.pop()


def _bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle] if key is None else key(a[middle])
        if less(item, x):
            lo = middle + 1
        else:
            hi = middle
    return lo


def _bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle] if key is None else key(a[middle])
        if less(x, item):
            hi = middle
        else:
            lo = middle + 1
    return lo


def _clamped(place: Any, size: Any) -> Any:
    """Return where an end of a slice lies."""
    if place < 0:
        place += size
        if place < 0:
            place = 0
    if place > size:
        place = size
    return place


def _put_part(items: Any, start: Any, stop: Any, values: Any) -> None:
    """Put elements in the place of those of a slice."""
    size = len(items)
    start = 0 if start is None else _clamped(start, size)
    stop = size if stop is None else _clamped(stop, size)
    if stop < start:
        stop = start
    rest = []
    while stop < size:
        rest.append(items[stop])
        stop += 1
    while size > start:
        items.pop()
        size -= 1
    for value in values:
        items.append(value)
    for value in rest:
        items.append(value)


def reduced(function: Any, items: Any, *start: Any) -> Any:
    """``functools.reduce(function, items)``."""
    if start:
        total = start[0]
        rest = items
    else:
        total = items[0]
        rest = items[1:]
    for item in rest:
        total = function(total, item)
    return total


def mapped(function: Any, items: Any) -> Any:
    """``map(function, items)``, as a list."""
    return [function(item) for item in items]


def filtered(function: Any, items: Any) -> Any:
    """``filter(function, items)``, as a list."""
    if function is None:
        return [item for item in items if item]
    return [item for item in items if function(item)]


def largest(items: Any, *default: Any, key: Any = None) -> Any:
    """``max(items)``: the first than which no other is greater."""
    if not items:
        if default:
            return default[0]
        raise ValueError("max() arg is an empty sequence")
    best = 0
    at = items[0] if key is None else key(items[0])
    for n in range(1, len(items)):
        found = items[n] if key is None else key(items[n])
        if less(at, found):
            best = n
            at = found
    return items[best]


def smallest(items: Any, *default: Any, key: Any = None) -> Any:
    """``min(items)``: the first than which no other is less."""
    if not items:
        if default:
            return default[0]
        raise ValueError("min() arg is an empty sequence")
    best = 0
    at = items[0] if key is None else key(items[0])
    for n in range(1, len(items)):
        found = items[n] if key is None else key(items[n])
        if less(found, at):
            best = n
            at = found
    return items[best]


def summed(items: Any, start: Any = 0) -> Any:
    """``sum(items, start)``."""
    total = start
    for item in items:
        total = total + item
    return total


def any_of(items: Any) -> Any:
    return any(item for item in items)


def all_of(items: Any) -> Any:
    return all(item for item in items)


def _repeated(items: Any, count: Any) -> Any:
    """``items * count``."""
    found = []
    for _ in range(count):
        for item in items:
            found.append(item)
    return found


def _repeat(items: Any, count: Any) -> None:
    """``items *= count``."""
    found = _repeated(items, count)
    items.clear()
    for item in found:
        items.append(item)


written(_clamped)
repeated, repeat = written(_repeated), written(_repeat)
opened, closed, part_put = written(_open), written(_close), written(_put_part)
bisect_left, bisect_right = written(_bisect_left), written(_bisect_right)


# --- how often ------------------------------------------------------------------------------------


def times(items: Any, count: Any) -> Any:
    """Return the number of times that a list or tuple is repeated, which is data."""
    if count.dtype.kind not in "iu":
        kind = "int" if count._weak is int else f"numpy.{count.dtype.name}"
        raise TypeError(f"can't multiply sequence by non-int of type {kind!r}")
    if type(items) is not list:
        raise UnsupportedError(
            f"a {type(items).__name__} is repeated as often as the data say{at(here())}. Repeat a "
            "list"
        )
    number = weak(count, int)
    require(np.less_equal(number, _MOST_REPEATS), MemoryError("a list is repeated too often"))
    return number
