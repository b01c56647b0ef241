"""What loops go through: iterators of Python's own, by position where that can be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

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
from lanewise.trace.regions import born
from lanewise.trace.trace import state

#: What a loop goes through by position where nobody else has it: so many items at most.
_COMBINING = (
    itertools.product, itertools.combinations, itertools.permutations,
    itertools.combinations_with_replacement, np.ndindex,
)  # fmt: skip
_MOST_COMBINED = 10_000


#: Iterators of Python's own that say what they go through, and from where on.
_TELLING = (
    zip,
    map,
    enumerate,
    reversed,
    *(type(iter(x)) for x in ([], (), range(1), np.zeros(1))),
)
_REVERSED = type(reversed([]))


def gone_through(iterable: Any) -> Any:
    """Return what a loop goes through that nobody else has: by position, where that can be.

    That is what `zip`, `map`, `enumerate` and `reversed` made of lists, and few combinations.
    """
    if state.trace is None:
        return iterable
    if isinstance(iterable, (*_TELLING, _REVERSED)):
        found = _by_position(iterable)
        return iterable if found is None else born(found)
    if not isinstance(iterable, _COMBINING):
        return iterable
    items = list(itertools.islice(iterable, _MOST_COMBINED + 1))
    return items if len(items) <= _MOST_COMBINED else itertools.chain(items, iterable)


def in_turn(iterable: Any) -> Any:
    """What a loop that is Python's own goes through: what a list holds when each is its turn."""
    if state.trace is None:
        return iterable
    found = as_sequence(iterable) if type(iterable) is list else gone_through(iterable)
    return _taken(found) if isinstance(found, (Listed, Zipped, Enumerated, Mapped)) else iterable


def _taken(items: Items) -> Iterator[Any]:
    position = 0
    while position < items.length:
        yield items.at(position)
        position += 1


def _by_position(iterator: Any) -> Items | None:
    """Return the items of an iterator of Python's that has not begun; None of any other."""
    if isinstance(iterator, Items):
        return None if iterator._taken else iterator
    if not isinstance(iterator, (*_TELLING, _REVERSED)):
        return None
    made_by, parts, *rest = iterator.__reduce__()
    if made_by is iter:
        return None if rest and rest[0] else as_sequence(parts[0])
    if made_by in (zip, map):
        given = parts if made_by is zip else parts[1:]
        items = [each for each in map(_by_position, given) if each is not None]
        if len(items) < len(given) or not items:
            return None
        zipped = Zipped(items, made_by is zip and bool(rest))
        return zipped if made_by is zip else Mapped(parts[0], zipped)
    if made_by is enumerate:
        whole, start = _by_position(parts[0]), parts[1]
        return None if whole is None or traced(start) is not None else Enumerated(whole, start)
    is_new = bool(rest) and rest[0] == len(parts[0]) - 1
    whole = as_sequence(parts[0]) if is_new else None
    return None if whole is None else Reversed(whole)


def taken_at_once(iterable: Any, *lists: Any) -> Any:
    """What a loop goes through by `map` or `filter`, which changes these lists.

    Both take the elements of a list that is data at once, where Python takes one for each turn.
    """
    if type(iterable) in (list, tuple) and any([type(x) is list for x in lists]):
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
    is_iterator = isinstance(iterable, Iterator) and not isinstance(iterable, Items)
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
