"""Lengths that are data: which places of an axis an array takes, and how many they are.

Such a length is a bounded symbolic dimension: a symbol that is at most the static size of the axis
that the elements lie on. They are not moved together: an extent says where they are. A `Span` are
the places between two ends (``a[i:j]``), `Chosen` are those where a mask holds (``x[mask]``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.errors import at
from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.location import here
from lanewise.ops.checks import checked
from lanewise.ops.creation import iota
from lanewise.ops.elementwise import where
from lanewise.ops.reduction import argreduce
from lanewise.ops.slicing import slice_bound
from lanewise.ops.sorting import argsort
from lanewise.trace.mixed import NO_INDEX, as_integer
from lanewise.trace.provenance import same
from lanewise.trace.tensor import Tensor, as_tensor, emit, read
from lanewise.trace.trace import require_trace, state

INTP = np.dtype(np.intp)
#: What Python says of a bound of a slice that is no integer.
NO_BOUND = "slice indices must be integers or None or have an __index__ method"


INSTEAD = (
    "Use np.where(mask, x, fill), or a reduction with where=mask, on the whole array; reduce it "
    "(sum, max, mean, ...), or write through it"
)


class Extent(ABC):
    """The places that an array of a length that is data takes on an axis of `bound` elements.

    Attributes
    ----------
    bound : int
        The size of the axis: the length is at most that.
    what, place
        What made it, for messages, and where.
    instead
        What to write where the length would escape.
    """

    __slots__ = ("_known", "bound", "instead", "place", "what")

    def __init__(self, bound: int, what: str, place: Any) -> None:
        self.bound = bound
        self.what = what
        self.place = here() if place is None else place
        self.instead = INSTEAD
        self._known: dict[str, Tensor] = {}

    #: Whether the places are the first ones, and whether they are in ascending order.
    in_front = False
    ascending = True

    @property
    def dim(self) -> Dim:
        """The symbol of the length; it is the same where the length is the same value."""
        return Dim.symbol(f"n{self._origin().index}")

    @abstractmethod
    def _origin(self) -> Any: ...

    def __str__(self) -> str:
        return f"{self.dim}<={self.bound}"

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what is computed once a trace, and again where that is out of reach."""
        known = self._known.get(name)
        around = state.trace
        while known is not None and around is not None:
            if around is known._trace:
                return known
            around = around.parent
        result = self._known[name] = compute()
        return result

    def count(self) -> Any:
        """Return the length."""
        return self.once("count", self._count)

    def mask(self) -> Any:
        """Return for each place of the axis whether it is taken."""
        return self.once("mask", self._mask)

    def is_any(self) -> Any:
        """Return whether any place is taken."""
        return self.once("is_any", lambda: self.count() > 0)

    def first(self) -> Any:
        """Return the first place that is taken; any place where there is none."""
        return self.once("first", self._first)

    def order(self) -> Any:
        """Return the places that are taken, in order, then others, until `most` are listed."""
        return self.once("order", self._order)

    def rank(self) -> Any:
        """Return for each place that is taken the how-manieth it is; any number elsewhere."""
        return self.once("rank", self._rank)

    @property
    def most(self) -> int:
        """How many places there are at most."""
        return self.bound

    def place_of(self, k: Any, axis: int = 0) -> Any:
        """Return where the element number `k` lies, from the end where negative; checked."""
        k = plain(k)
        if k.dtype != INTP:
            k = k.astype(INTP)
        count = self.count()
        inside = np.logical_and(k >= -count, k < count)
        message = (
            f"an index is out of bounds for axis {axis}, of a length that is data, of "
            f"{self.what}{at(self.place)}"
        )
        k = emit(checked, k + (k < 0) * count, inside, error="IndexError", message=message)
        return self.located(k)

    @abstractmethod
    def located(self, k: Any) -> Any:
        """Return where the elements of these numbers lie, which must be within the length."""

    @abstractmethod
    def agrees(self, other: Any) -> bool:
        """Whether `other` surely has the same places, in the same order."""

    @abstractmethod
    def _count(self) -> Any: ...

    @abstractmethod
    def _mask(self) -> Any: ...

    @abstractmethod
    def _first(self) -> Any: ...

    @abstractmethod
    def _order(self) -> Any: ...

    @abstractmethod
    def _rank(self) -> Any: ...


class Span(Extent):
    """The places start, start + step, ..., before `stop`: ends that lie on the axis already."""

    __slots__ = ("start", "step", "stop")

    def __init__(
        self,
        bound: int,
        start: Any,
        stop: Any,
        step: int = 1,
        *,
        what: str = "a slice",
        place: Any = None,
    ) -> None:
        super().__init__(bound, what, place)
        self.start = start
        self.stop = stop
        self.step = step

    @property
    def in_front(self) -> bool:  # type: ignore[override]
        return self.step == 1 and not isinstance(self.start, Tensor) and self.start == 0

    @property
    def ascending(self) -> bool:  # type: ignore[override]
        return self.step > 0

    @property
    def most(self) -> int:
        return -(-self.bound // abs(self.step))

    def _origin(self) -> Any:
        return (self.stop if isinstance(self.stop, Tensor) else self.start)._value

    def agrees(self, other: Any) -> bool:
        return other is self or (
            type(other) is Span
            and (self.bound, self.step) == (other.bound, other.step)
            and same(self.start, other.start)
            and same(self.stop, other.stop)
        )

    def _count(self) -> Any:
        if self.in_front:
            return as_tensor(self.stop)
        low, high = (self.start, self.stop) if self.step > 0 else (self.stop, self.start)
        span = high - low
        if abs(self.step) > 1:
            span = (span + (abs(self.step) - 1)) // abs(self.step)
        return np.maximum(span, 0)

    def _mask(self) -> Any:
        places = _iota(self.bound)
        # The places lie in a run of the axis, and within it every so many-th.
        low, high = (self.start, self.stop) if self.step > 0 else (self.stop + 1, self.start + 1)
        masks = []
        if isinstance(low, Tensor) or low > 0:
            masks.append(places >= low)
        if isinstance(high, Tensor) or high < self.bound:
            masks.append(places < high)
        if abs(self.step) > 1:
            masks.append((places - self.start) % abs(self.step) == 0)
        result = masks[0] if masks else places >= 0
        for mask in masks[1:]:
            result = np.logical_and(result, mask)
        return result

    def _first(self) -> Any:
        # The start of a slice of no elements may lie beyond an end.
        if self.in_front:
            return number(0)
        if not isinstance(self.start, Tensor):
            return number(min(max(self.start, 0), self.bound - 1))
        return np.minimum(np.maximum(self.start, 0), self.bound - 1)

    def _order(self) -> Any:
        return np.minimum(np.maximum(self.located(_iota(self.most)), 0), self.bound - 1)

    def _rank(self) -> Any:
        return (_iota(self.bound) - self.start) // self.step

    def located(self, k: Any) -> Any:
        scaled = k if self.step == 1 else k * self.step
        return scaled if self.in_front else scaled + self.start

    def sliced(self, entry: slice) -> Span:
        """Return the extent of a slice of the array."""
        step = step_of(entry)
        start, stop = ends(entry, self.count(), step)
        return Span(
            self.bound,
            self.located(start),
            self.located(stop),
            self.step * step,
            what="a slice of it" if self.what == "a slice" else f"a slice of {self.what}",
        )


class Chosen(Extent):
    """The places where a mask holds, in ascending order."""

    __slots__ = ("chosen",)

    def __init__(
        self, mask: Tensor, *, what: str = "x[mask]", place: Any = None, instead: str = INSTEAD
    ) -> None:
        super().__init__(mask.shape[0], what, place)  # ty: ignore[invalid-argument-type]
        self.instead = instead
        self.chosen = mask.copy()  # as it is now: who writes to it later means another

    def _origin(self) -> Any:
        return self.chosen._value

    def agrees(self, other: Any) -> bool:
        return other is self or (type(other) is Chosen and same(self.chosen, other.chosen))

    def _count(self) -> Any:
        return np.count_nonzero(self.chosen)

    def _mask(self) -> Any:
        return self.chosen

    def _first(self) -> Any:
        return emit(argreduce, self.chosen, fn="argmax", axis=0)

    def _order(self) -> Any:
        return emit(argsort, np.logical_not(self.chosen), axis=0, kind="stable")

    def _rank(self) -> Any:
        return np.cumsum(self.chosen, dtype=INTP) - 1

    def located(self, k: Any) -> Any:
        return self.order()[k]


def front(bound: int, count: Tensor, like: Extent) -> Span:
    """Return the extent of the first `count` places of an axis, made where `like` was."""
    return Span(bound, 0, count, what=like.what, place=like.place)


def plain(index: Any) -> Any:
    """Return an integer as a tensor that stands for a NumPy scalar, not for a Python number."""
    tensor = as_tensor(as_integer(index, IndexError(NO_INDEX)))
    if tensor.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return Tensor(require_trace("an index"), read(tensor))


def _iota(length: DimLike) -> Any:
    return emit(iota, length=length, dtype=INTP)


def axis_places(bound: DimLike) -> Any:
    """Return the places of an axis."""
    return np.arange(bound) if isinstance(bound, int) else _iota(bound)


def step_of(entry: slice) -> int:
    """Return the step of a slice, which must not be data."""
    if isinstance(entry.step, Tensor):
        raise TypeError(
            f"a slice with a step that is data{at(here())}: write a[start:stop] with the places "
            "that count chosen by a mask, (np.arange(len(a)) - start) % step == 0"
        )
    step = 1 if entry.step is None else int(entry.step.__index__())
    if step == 0:
        raise ValueError("slice step cannot be zero")
    return step


def ends(entry: slice, size: Any, step: int) -> tuple[Any, Any]:
    """Return start and stop of a slice as they lie on an axis, whose size may be data too."""
    backward = step < 0

    def end(bound: Any, default: Any) -> Any:
        if bound is None:
            return default
        check_bound(bound)
        if not isinstance(bound, Tensor) and not isinstance(size, Tensor):
            bound = bound.__index__()
            return min(max(bound + size if bound < 0 else bound, -backward), size - backward)
        if isinstance(bound, Tensor) and bound._weak is bool:
            bound = bound.astype(INTP)
        bound = plain(bound) if isinstance(bound, Tensor) else number(bound.__index__())
        last = size if isinstance(size, Tensor) else number(size)
        return emit(slice_bound, bound, last, backward=backward)

    if backward:
        return end(entry.start, size - 1), end(entry.stop, -1)
    return end(entry.start, 0), end(entry.stop, size)


def check_bound(bound: Any) -> None:
    """Raise what NumPy raises for a bound of a slice that is no integer."""
    if isinstance(bound, Tensor):
        if bound.dtype.kind not in "iu" and bound._weak is not bool:
            raise TypeError(NO_BOUND)
        if bound.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
    elif not hasattr(type(bound), "__index__") or isinstance(bound, np.bool_):
        raise TypeError(NO_BOUND)


def number(value: Any, dtype: np.dtype = INTP) -> Tensor:
    """Return a number in a dtype, written into the graph."""
    trace = require_trace("a number")
    return Tensor(trace, trace.scalar(value, dtype))


def equal_counts(extents: Sequence[Extent]) -> Any:
    """Return whether all lengths are the same."""
    ok = extents[0].count() == extents[1].count()
    for extent in extents[2:]:
        ok = np.logical_and(ok, extents[0].count() == extent.count())
    return ok


def choose(mask: Any, x: Any, y: Any, dtype: np.dtype) -> Tensor:
    """Return x where the mask holds and y elsewhere, which may be a number, in one dtype."""
    return emit(where, mask, x, y if isinstance(y, Tensor) else number(y, dtype))
