"""What a ``for`` loop can go through when data steer it: ranges, rows, and pairs of these.

An `Items` has a `length`, an int or a traced one, and gives the item at any position, which may be
traced too. It behaves like the `range`, `enumerate`, `zip` or `reversed` that it stands for: where
its length is known it can be iterated natively, which unrolls the loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from lanewise.autograph.describe import STANDING
from lanewise.autograph.tables import Picked, Table, in_range, list_index
from lanewise.autograph.values import choose, ensure, traced, truth
from lanewise.errors import ConcretizationError, at
from lanewise.ir.dims import Dim, DimLike, dim_min
from lanewise.ir.location import here
from lanewise.ops.movement import slice_length
from lanewise.trace.contents import ON_CONTENTS, Chosen, concerns
from lanewise.trace.data_indexing import require_whole
from lanewise.trace.mixed import is_mixed
from lanewise.trace.origins import origin_of
from lanewise.trace.regions import Region
from lanewise.trace.sizes import dim_of, number_of
from lanewise.trace.slots import ContainerSlot
from lanewise.trace.tensor import Tensor, as_tensor, read, weak
from lanewise.trace.tensor_array import TensorArray
from lanewise.trace.trace import require_trace


class Items(ABC):
    """A sequence of items by position.

    Attributes
    ----------
    length : int or Tensor
        How many items there are; a tensor stands for a Python int.
    stands_for : str
        What it is in plain Python, or what an iterator is that goes through it.
    """

    __slots__ = ("length",)

    stands_for = "range"
    length: Any

    def __init__(self, length: Any) -> None:
        self.length = length

    @abstractmethod
    def at(self, position: Any) -> Any:
        """Return the item at a position, an int or a traced one, within the length."""

    @property
    def can_roll(self) -> bool:
        """Whether `at` takes positions that are traced."""
        return True

    def known_length(self) -> int:
        """Return the length as an int, or raise where it is data."""
        if isinstance(self.length, (Tensor, Dim)):
            self._refuse_length()
        return self.length

    def _refuse_length(self) -> NoReturn:
        raise ConcretizationError(
            f"the length of a {self.stands_for} depends on the data{at(here())}, and is needed as "
            "a number. A for loop in the traced function can go through it; list() and other "
            "code that is not converted cannot. Use the greatest length that there can be, and a "
            "condition"
        )

    def __len__(self) -> int:
        return self.known_length()

    def __bool__(self) -> bool:
        return self.known_length() > 0

    def __iter__(self) -> Iterator[Any]:
        return map(self.at, range(self.known_length()))

    def __repr__(self) -> str:
        return f"<{self.stands_for} of {self.length} items>"


class TracedRange(Items):
    """``range(start, stop, step)`` with ends or steps that are data."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, start: Any, stop: Any, step: Any = 1) -> None:
        if traced(step) is None and step == 0:
            raise ValueError("range() arg 3 must not be zero")
        if isinstance(step, Tensor):
            step = ensure(step, step != 0, ValueError("range() arg 3 must not be zero"))
        self.start = start
        self.stop = stop
        self.step = step
        super().__init__(_count(start, stop, step))

    def at(self, position: Any) -> Any:
        if _is(self.start, 0) and _is(self.step, 1):
            return position
        offset = position if _is(self.step, 1) else position * self.step
        return offset if _is(self.start, 0) else offset + self.start

    def ends(self) -> tuple[DimLike, DimLike] | None:
        """Return sizes that all of its numbers lie between; None where they are data."""
        start, length = dim_of(self.start), dim_of(self.length)
        if start is None or length is None or type(self.step) is not int:
            return None
        last = start + (length - 1) * self.step
        return (start, last) if self.step > 0 else (last, start)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            self._refuse_length()
        return self.at(_position(key, self.length, "range object index out of range"))

    def contains(self, item: Any) -> Any:
        """Return whether a number is one of the range, which is data."""
        offset = item - self.start
        if isinstance(self.step, Tensor):
            inside = choose(self.step > 0, _within(item, self.start, self.stop),
                            _within(-item, -self.start, -self.stop))  # fmt: skip
        elif self.step > 0:
            inside = _within(item, self.start, self.stop)
        else:
            inside = _within(-item, -self.start, -self.stop)
        if _is(self.step, 1) and getattr(item, "dtype", np.dtype(int)).kind in "iu":
            return truth(inside)
        return truth(np.logical_and(inside, offset % self.step == 0))

    def total(self) -> Any:
        """Return the sum of the range."""
        twice = self.length * (2 * self.start + (self.length - 1) * self.step)
        return twice // 2

    def __repr__(self) -> str:
        return f"range({self.start}, {self.stop}, {self.step})"


def _is(x: Any, number: int) -> bool:
    return type(x) is int and x == number


def _within(item: Any, start: Any, stop: Any) -> Any:
    return np.logical_and(item >= start, item < stop)


def _count(start: Any, stop: Any, step: Any) -> Any:
    """Return how many numbers a range has."""
    known = [dim_of(x) for x in (start, stop, step)]
    if None not in known and type(known[2]) is int:
        return number_of(slice_length((known[0], known[1], known[2])))
    if isinstance(step, Tensor):
        size = abs(step)
        span = choose(step > 0, stop - start, start - stop)
        span = (span + (size - 1)) // size
    else:
        span = stop - start if step > 0 else start - stop
        if abs(step) > 1:
            span = (span + (abs(step) - 1)) // abs(step)
    if not isinstance(span, Tensor):
        return max(span, 0)
    return weak(np.maximum(span, 0), int)


def _position(key: Any, length: Any, message: str) -> Any:
    """Return an index counted from the front, checked when the graph runs."""
    if traced(key) is not None:
        key = list_index(key)
    if isinstance(key, Tensor) or isinstance(length, Tensor):
        key = as_tensor(key) if not isinstance(key, Tensor) else key
        return in_range(weak(key, int), length, message)
    if not -length <= key < length:
        raise IndexError(message)
    return key % length


class Rows(Items):
    """The rows of an array, or its elements if it has one dimension."""

    __slots__ = ("array",)
    stands_for = "array"

    def __init__(self, array: Any) -> None:
        shape = array.shape
        if not shape:
            raise TypeError("iteration over a 0-d array")
        if type(array) is Tensor:
            require_whole(array)
        self.array = array
        super().__init__(number_of(shape[0]))

    def at(self, position: Any) -> Any:
        if isinstance(position, Tensor) and traced(self.array) is None:
            return as_tensor(self.array)[position]
        return self.array[position]


class Numbered(Rows):
    """The elements of ``array.tolist()``, a list that nobody else has."""

    __slots__ = ()
    stands_for = "list"

    @classmethod
    def of(cls, array: Tensor) -> Numbered | None:
        """Return those of an array as it is now; None if it is to be asked for its list."""
        trace = require_trace("a list")
        if trace.is_eager or not array.shape or is_mixed(array):
            return None
        return cls(Tensor(trace, read(array)))

    def at(self, position: Any) -> Any:
        return super().at(position).tolist()


class Elements(Items):
    """The elements that a `TensorArray` has when a loop begins."""

    __slots__ = ("array",)
    stands_for = "TensorArray"

    def __init__(self, array: TensorArray) -> None:
        self.array = array
        super().__init__(array.length)

    def at(self, position: Any) -> Any:
        return self.array.read(position)


class Listed(Items):
    """The elements of a list or tuple, as they are when each is its turn."""

    __slots__ = ("items",)
    stands_for = "list"

    def __init__(self, items: Any) -> None:
        self.items = items

    @property
    def length(self) -> Any:  # ty: ignore[incompatible-property-override]
        """The present length: the body of a loop may change a list that it goes through."""
        return self._arrays.length if concerns(self.items) else len(self.items)

    @property
    def _arrays(self) -> Items:
        """The elements of a list that holds arrays of them by now."""
        return ON_CONTENTS["sequence"](self.items)

    @property
    def can_roll(self) -> bool:
        if concerns(self.items):
            return self._arrays.can_roll
        try:
            Table(self.items)
        except TypeError:
            return False
        return True

    def at(self, position: Any) -> Any:
        if concerns(self.items):
            return self._arrays.at(position)
        if isinstance(position, Tensor):
            return Table(self.items).at(position)  # of what they hold by now
        return self.items[position]


class Numbers(Items):
    """A plain `range`."""

    __slots__ = ("range",)

    def __init__(self, numbers: range) -> None:
        self.range = numbers
        super().__init__(len(numbers))

    def at(self, position: Any) -> Any:
        if not isinstance(position, Tensor):
            return self.range[position]
        offset = position if self.range.step == 1 else position * self.range.step
        return offset if not self.range.start else offset + self.range.start


class Enumerated(Items):
    """``enumerate(items, start)``."""

    __slots__ = ("items", "start")
    stands_for = "enumerate"

    def __init__(self, items: Items, start: Any = 0) -> None:
        self.items = items
        self.start = start

    @property
    def length(self) -> Any:  # ty: ignore[incompatible-property-override]
        """The present length."""
        return self.items.length

    @property
    def can_roll(self) -> bool:
        return self.items.can_roll

    def at(self, position: Any) -> tuple[Any, Any]:
        number = position if _is(self.start, 0) else position + self.start
        return number, self.items.at(position)


class Zipped(Items):
    """``zip(*parts)``."""

    __slots__ = ("_known", "parts")
    stands_for = "zip"

    def __init__(self, parts: list[Items], strict: bool = False) -> None:
        self.parts = parts
        lengths = [part.length for part in parts]
        if strict:
            _check_equal(lengths)
        self._known = lengths, _least(lengths)

    @property
    def length(self) -> Any:  # ty: ignore[incompatible-property-override]
        """The length, that of lists as it is at present."""
        lengths = [part.length for part in self.parts]
        if any([now is not before for now, before in zip(lengths, self._known[0], strict=True)]):
            self._known = lengths, _least(lengths)
        return self._known[1]

    @property
    def can_roll(self) -> bool:
        return all(part.can_roll for part in self.parts)

    def at(self, position: Any) -> tuple[Any, ...]:
        return tuple([part.at(position) for part in self.parts])


def _least(lengths: list[Any]) -> Any:
    known = [length for length in lengths if isinstance(length, int)]
    rest = [length for length in lengths if not isinstance(length, int)]
    dims = [dim_of(length) for length in lengths]
    if rest and None not in dims:
        return number_of(reduce(dim_min, dims))
    length = min(known) if known else rest.pop()
    for other in rest:
        length = weak(np.minimum(length, other), int) if isinstance(other, Tensor) else length
    return length


def _check_equal(lengths: list[Any]) -> None:
    for number, other in enumerate(lengths[1:], 2):
        if other is lengths[0]:
            continue
        if isinstance(other, Tensor) or isinstance(lengths[0], Tensor):
            raise ConcretizationError(
                f"zip(strict=True) of lengths that depend on the data{at(here())} is not followed. "
                "Leave out strict, and check the lengths themselves"
            )
        if other != lengths[0]:
            than = "shorter" if other < lengths[0] else "longer"
            before = "argument 1" if number == 2 else f"arguments 1-{number - 1}"
            raise ValueError(f"zip() argument {number} is {than} than {before}")


class Mapped(Items):
    """``map(function, *parts)``."""

    __slots__ = ("function", "parts")
    stands_for = "map"

    def __init__(self, function: Callable[..., Any], parts: Zipped) -> None:
        self.function, self.parts = function, parts

    @property
    def length(self) -> Any:  # ty: ignore[incompatible-property-override]
        """The present length."""
        return self.parts.length

    @property
    def can_roll(self) -> bool:
        return self.parts.can_roll

    def at(self, position: Any) -> Any:
        return self.function(*self.parts.at(position))


class Reversed(Items):
    """``reversed(items)``."""

    __slots__ = ("items",)
    stands_for = "reversed"

    def __init__(self, items: Items) -> None:
        self.items = items
        super().__init__(items.length)

    @property
    def can_roll(self) -> bool:
        return self.items.can_roll

    def at(self, position: Any) -> Any:
        return self.items.at(self.length - 1 - position)


class ListChanged(Exception):  # noqa: N818 (nothing went wrong)
    """Raised where a loop is not recorded at once, as it changes the list that it goes through."""


def check_unchanged(sequence: Items, region: Region, size: Any) -> None:
    """Raise `ListChanged` where a region changed a list that a loop goes through.

    Or how many items there are, which were `size` when it began.
    """
    parts = getattr(sequence, "parts", ())
    for part in [parts] if isinstance(parts, Items) else parts:
        check_unchanged(part, region, part.length)
    if isinstance(items := getattr(sequence, "items", None), Items):
        check_unchanged(items, region, items.length)
    owner = None if type(size) is int else getattr(sequence, "owner", None)
    lists = owner.lists if isinstance(owner, Chosen) else () if owner is None else (owner,)
    is_changed = any([ContainerSlot(each).key in region.changes for each in lists])
    if is_changed or (type(size) is int and not _is(sequence.length, size)):
        raise ListChanged


# --- what a loop goes through ---------------------------------------------------------------------


def as_sequence(iterable: Any) -> Items | None:
    """Return what a ``for`` loop over `iterable` goes through by position; None for iterators."""
    if isinstance(iterable, Items):
        return iterable
    tensor = traced(iterable)
    if tensor is not None:
        return Rows(tensor)
    if concerns(iterable):
        return ON_CONTENTS["sequence"](iterable)
    kind = type(iterable)
    if kind is range:
        return Numbers(iterable)
    if kind is list or kind is tuple:
        return Listed(iterable)
    if kind is Picked:
        return Listed(list(iterable))
    if isinstance(iterable, np.ndarray):
        return Rows(iterable)
    if kind is TensorArray:
        return Elements(iterable)
    return None


def is_data(iterable: Any) -> bool:
    """Whether an iterable is an array that is traced, or has a length that is data."""
    is_items = isinstance(iterable, (Items, TensorArray))
    return is_items or traced(iterable) is not None or concerns(iterable)


def length_of(iterable: Any) -> Any:
    """Return how many elements something has that can be gone through by position, else None."""
    if isinstance(iterable, Items):
        return iterable.length
    array = traced(iterable)
    return None if array is None or not array.shape else array.shape[0]


def has_data_length(iterable: Any) -> bool:
    """Whether the number of elements of something that can be gone through is data.

    A size that is no data is known where the function is traced for it.
    """
    length = length_of(iterable)
    if length is None or type(length) is int:
        return False
    size = length if isinstance(length, Dim) else dim_of(length)
    return size is None or origin_of((size,), require_trace("a length")) is not None


STANDING.update({TracedRange: "a range", Enumerated: "an enumerate", Zipped: "a zip"})

__all__ = ["Enumerated", "Items", "Reversed", "TracedRange", "Zipped", "as_sequence", "is_data"]
