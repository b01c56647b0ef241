"""What loops go through: iterators of Python's own, by position where that can be."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lanewise.autograph.calls import fn
from lanewise.autograph.cursors import ENDLESS, ITERATING, Cursor
from lanewise.autograph.iterators import is_new
from lanewise.autograph.sequences import (
    Enumerated,
    Items,
    Listed,
    Mapped,
    Reversed,
    Zipped,
    as_sequence,
)
from lanewise.autograph.values import traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.contents import concerns
from lanewise.trace.regions import born
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import state

#: What a loop goes through by position where nobody else has it: so many items at most.
_COMBINING = (
    itertools.product, itertools.combinations, itertools.permutations,
    itertools.combinations_with_replacement, np.ndindex,
)  # fmt: skip
_MOST_COMBINED = 10_000


def gone_through(iterable: Any) -> Any:
    """Return what a loop goes through that nobody else has: a list of few combinations."""
    if state.trace is None:
        return iterable
    if not isinstance(iterable, _COMBINING):
        is_new(iterable)
        return iterable
    items = list(itertools.islice(iterable, _MOST_COMBINED + 1))
    if len(items) <= _MOST_COMBINED:
        return items
    return born(itertools.chain(items, iterable))


def through(function: Any, *args: Any, **kwargs: Any) -> Any:
    """``zip(a, b)``, and such, which a loop goes through and nobody else has: by position.

    So the loop can be recorded, and what lists hold is read when each is its turn.
    """
    is_known = state.trace is not None and isinstance(function, type)
    make = _MAKING.get(function) if is_known else None
    found = None if make is None else make(*args, **kwargs)
    return fn(function)(*args, **kwargs) if found is None else born(found)


def _items(x: Any) -> Items | None:
    """Return what is gone through by position, unless that is an iterator that others may have."""
    is_sequence = type(x) in (list, tuple, range) or isinstance(x, Items)
    is_array = isinstance(x, (Tensor, np.ndarray)) and x.ndim
    return as_sequence(x) if is_sequence or is_array or concerns(x) else None


def _zipped(*parts: Any, strict: Any = False) -> Items | None:
    items = [each for each in map(_items, parts) if each is not None]
    return Zipped(items, strict) if items and len(items) == len(parts) else None


def _mapped(function: Any, *parts: Any) -> Items | None:
    zipped = _zipped(*parts)
    return Mapped(fn(function), zipped) if isinstance(zipped, Zipped) else None


def _enumerated(items: Any, start: Any = 0) -> Items | None:
    whole = _items(items) if type(start) is int else None
    return None if whole is None else Enumerated(whole, start)


def _reversed(items: Any) -> Items | None:
    whole = None if isinstance(items, ITERATING) else _items(items)
    return None if whole is None else Reversed(whole)


def counting(start: Any = 0, step: Any = 1) -> Any:
    """Return a range for ``itertools.count``, of more numbers than a loop can go through."""
    is_known = type(start) is int and type(step) is int and step != 0
    if not is_known or abs(start) + abs(step) * ENDLESS >= 2**63:
        return None
    return range(start, start + step * ENDLESS, step)


_MAKING: dict[Any, Callable[..., Any]] = {
    zip: _zipped, map: _mapped, enumerate: _enumerated, reversed: _reversed,
    itertools.count: counting,
}  # fmt: skip


def in_turn(iterable: Any) -> Any:
    """What a loop that is Python's own goes through: what a list holds when each is its turn."""
    if state.trace is None:
        return iterable
    found = as_sequence(iterable) if type(iterable) is list else iterable
    return _taken(found) if isinstance(found, (Listed, Zipped, Enumerated, Mapped)) else iterable


def _taken(items: Items) -> Iterator[Any]:
    position = 0
    while position < items.length:
        yield items.at(position)
        position += 1


def taken_at_once(iterable: Any, *lists: Any) -> Any:
    """What a loop goes through by `map` or `filter`, which changes these lists.

    Both take the elements of a list that is data at once, where Python takes one for each turn.
    """
    if type(iterable) in (list, tuple, Cursor) and any([type(x) is list for x in lists]):
        raise UnsupportedError(
            f"a loop changes a list that map() or filter() goes through{at(here())}. Loop over the "
            "list itself, and test or change its elements in the loop's body"
        )
    return iterable


class Named:
    """An iterator that the user's code has, too, and may go on with where a loop has left it."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __iter__(self) -> Named:
        return self

    def __next__(self) -> Any:
        return next(self.items)


def named(iterable: Any) -> Any:
    """What a loop goes through that may be left early, and that a variable holds."""
    is_iterator = isinstance(iterable, Iterator)
    return Named(iterable) if is_iterator and state.trace is not None else iterable


def unstopped(items: Iterator[Any]) -> Iterator[Any]:
    """What `any` or `all` is given, where taking an element assigns variables."""
    for item in items:
        if traced(item) is not None and state.trace is not None:
            raise UnsupportedError(
                f"a generator assigns variables{at(here())}, and the data decide where any() or "
                "all() ends it. Write a loop that is left with break"
            )
        yield item
