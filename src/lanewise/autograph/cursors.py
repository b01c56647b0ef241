"""Iterators by position: how many of their items were taken is a number, which data may tell."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lanewise.autograph.sequences import (
    Enumerated,
    Items,
    Listed,
    Mapped,
    Numbers,
    Reversed,
    Rows,
    Zipped,
)
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.contents import ON_CONTENTS, concerns
from lanewise.trace.regions import note_attribute
from lanewise.trace.tensor import Tensor, weak


class Cycled(Items):
    """``itertools.cycle(items)``, which goes on with those that there were."""

    __slots__ = ("items", "now")
    stands_for = "cycle"

    def __init__(self, items: Any) -> None:
        self.now, self.items = items, Listed(tuple(items))
        super().__init__(ENDLESS if len(items) else 0)

    def at(self, position: Any) -> Any:
        before = self.items.items
        if len(self.now) != len(before) or any(map(operator.is_not, self.now, before)):
            raise UnsupportedError(
                f"a list is changed that itertools.cycle() goes through{at(here())}. Give it a copy"
            )
        return self.items.at(position % len(before))


class Rest(Items):
    """What is left of an iterator from which items were taken."""

    __slots__ = ("items", "skipped")

    def __init__(self, items: Items, skipped: Any) -> None:
        self.items = items
        self.skipped = skipped

    @property
    def length(self) -> Any:  # ty: ignore[incompatible-property-override]
        """The present length."""
        left = self.items.length - self.skipped
        return weak(np.maximum(left, 0), int) if isinstance(left, Tensor) else max(left, 0)

    @property
    def can_roll(self) -> bool:
        return self.items.can_roll

    def at(self, position: Any) -> Any:
        return self.items.at(position + self.skipped)


def _is_of_lists(items: Items) -> bool:
    """Whether these are Python's own lists, tuples and ranges, or made of such."""
    if isinstance(items, (Mapped, Numbers)):
        return True
    if isinstance(items, Zipped):
        return all(map(_is_of_lists, items.parts))
    if type(items) is Listed:
        return not concerns(items.items)
    return isinstance(items, (Enumerated, Reversed, Rest, Cycled)) and _is_of_lists(items.items)


#: What iterators of Python's go through.
ITERATING = (Enumerated, Zipped, Mapped, Reversed, Cycled)
#: So many turns a loop does not come to.
ENDLESS = 2**60
#: Where an iterator stands that is through.
_THROUGH = 2 * ENDLESS


class Cursor:
    """An iterator over items by position: how many were taken is a number that data may tell.

    Attributes
    ----------
    items
        What it goes through.
    position
        How many were taken; None while a loop has what is left.
    """

    __slots__ = ("__weakref__", "items", "position")

    def __init__(self, items: Items) -> None:
        self.items = items
        self.position: Any = 0

    @property
    def stands_for(self) -> str:
        """What it is in plain Python."""
        return self.items.stands_for

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> Any:
        self.check()
        return ON_CONTENTS["next"](self)

    def check(self) -> None:
        """Raise where an item is taken in a loop that has been given all of them."""
        if self.position is None:
            raise UnsupportedError(
                f"an item is taken of a {self.items.stands_for}{at(here())} that a loop around "
                "goes through by another name. Use one name for both"
            )

    def move(self, position: Any) -> None:
        """Have so many items taken."""
        note_attribute(self, "position")
        self.position = position

    def rest(self, in_loop: bool = False) -> Items:
        """Return what is left, and leave nothing; until `end`, none may be taken ``in_loop``."""
        self.check()
        position = self.position
        self.move(None if in_loop else _THROUGH)
        return self.items if type(position) is int and position == 0 else Rest(self.items, position)

    def whole(self) -> Any:
        """Return what is left, as a list or array where it is of one; leave nothing."""
        items, first = self.items, self.position
        rest = self.rest()
        if type(first) is int and first <= ENDLESS:
            if type(items) is Rows:
                return items.array[first:]
            if type(items) is Numbers:
                return items.range[first:]
            if _is_of_lists(rest) and type(rest.length) is int:
                return list(rest)
        return rest

    def end(self) -> None:
        """Be through."""
        self.move(_THROUGH)

    def __repr__(self) -> str:
        return f"<{self.items.stands_for} of {self.items.length} items, {self.position} taken>"
