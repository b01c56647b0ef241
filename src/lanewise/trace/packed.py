"""Arrays of sizes that are data, or that change, as the state of a branch or a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, DimLike, bounds, symbols
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ops.boxes import box, unbox
from lanewise.trace import tree
from lanewise.trace.mixed import ONE_DTYPE
from lanewise.trace.origins import origin_of
from lanewise.trace.regions import Region, resumed
from lanewise.trace.sizes import dim_of, number_of, size_of
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.trace import Trace, require_trace
from lanewise.trace.views import view


class TurnsMade:
    """How many turns of a loop were made before what is shown now: a number, or data."""

    def __init__(self) -> None:
        self.made: Any = 0


@dataclass(frozen=True, slots=True)
class Stepped:
    """How long an axis is that each turn of a loop makes longer, or shorter, by as much."""

    first: DimLike
    step: int
    most: int
    turns: TurnsMade

    def size(self, later: int = 0) -> Any:
        """Return how long it is now, or so many turns later."""
        return number_of(self.first) + self.step * (self.turns.made + later)


class Packed:
    """An array as it passes from one region to another in which it may have another size.

    What is known in one region means nothing outside of it, so it is handed on with the numbers of
    elements along some axes: in a larger array, of as many elements as there may be, or in a box
    where that is not known. Numbers that the turns of a loop count are not handed on.

    Attributes
    ----------
    data
        The elements, in front of others or in a box.
    origin
        The array; `x` is what it holds.
    """

    __slots__ = ("counts", "data", "dtype", "origin", "shape", "stepped")

    def __init__(
        self, origin: Tensor, x: Tensor, most: Mapping[int, Most], place: Tensor | None = None
    ) -> None:
        self.stepped = {axis: end for axis, end in most.items() if isinstance(end, Stepped)}
        room = [_room(most.get(axis, size)) for axis, size in enumerate(x.shape)]
        self.origin = origin
        self.data: Any
        #: Of the axes that are not packed; None in place of the others.
        self.shape = tuple([None if axis in most else size for axis, size in enumerate(x.shape)])
        self.counts = [
            number_of(size) if axis in most and axis not in self.stepped else None
            for axis, size in enumerate(x.shape)
        ]
        #: Of what is in a box.
        self.dtype = x.dtype if None in room else None
        if self.dtype is not None:
            if x._mixed is not None:
                raise UnsupportedError(
                    "the data choose the dtype of an array that is handed on from a branch or a "
                    f"loop{at(here())}, and how long it may be is not known. {ONE_DTYPE}"
                )
            self.data = emit(box, x)
            return
        if place is None or place.shape != tuple(room) or place.dtype != x.dtype:
            place = as_tensor(np.zeros(tuple(map(int, room)), x.dtype))
        data: Any = place
        data[self._front(x.shape)] = x
        self.data = data

    def _front(self, shape: Sequence[DimLike]) -> tuple[slice, ...]:
        pairs = zip(self.shape, shape, strict=True)
        return tuple([slice(None if own is not None else size) for own, size in pairs])

    def state_leaves(self) -> list[Any]:
        """Return what says all of it."""
        return [self.data, *[count for count in self.counts if count is not None]]

    def from_leaves(self, leaves: Sequence[Any]) -> Tensor:
        """Return the array of other leaves, bounded alike."""
        data, *counts = leaves
        numbers = iter(counts)
        room = self.shape if self.dtype is not None else data.shape
        shape: Any = tuple([
            self.stepped[axis].size() if axis in self.stepped
            else most if own is None else size_of(as_tensor(next(numbers)), most, "an array")
            for axis, (own, most) in enumerate(zip(self.counts, room, strict=True))
        ])  # fmt: skip
        if self.dtype is None:
            return data[self._front(shape)]
        return view(data, unbox, _boxed, dtype=self.dtype, shape=shape)

    @property
    def state_key(self) -> tuple[Any, ...]:
        """What arrays must have in common for one to take the other's place."""
        return (self.dtype, self.shape, self.data.shape)

    def __repr__(self) -> str:
        return repr(self.origin)


def _boxed(base: Value, values: Value) -> Value:
    """Return what a box holds once an array was written to."""
    return require_trace("a view").record(box, (values,), {"lead": 0})[0]


#: How long an axis may be, and None where that is not known.
Most = int | None | Stepped
#: For the positions of leaves that are packed, along which axes, and how long these may be.
Packing = dict[int, dict[int, Most]]


def _room(most: Any) -> Any:
    return most.most if isinstance(most, Stepped) else most


def packing(ends: Sequence[Any], regions: Sequence[Trace], only_data: bool = False) -> Packing:
    """Return which leaves of what branches or turns leave have to be packed.

    Those are arrays of a size that is known in one of the regions only, or of which one has another
    size than others. `only_data` says that of such sizes one must be data.
    """
    rows = [tree.flatten(end)[0] for end in ends]
    found: Packing = {}
    if len({len(row) for row in rows}) != 1:
        return found
    for position, column in enumerate(zip(*rows, strict=True)):
        shapes = [x.shape for x in column if isinstance(x, (Tensor, np.ndarray))]
        if len(shapes) < len(column) or len({len(shape) for shape in shapes}) > 1:
            continue
        axes: dict[int, Most] = {
            axis: _most(sizes) for axis, sizes in enumerate(zip(*shapes, strict=True))
            if any([is_inner(size, region) for size, region in zip(sizes, regions, strict=True)])
            or (any([size != sizes[0] for size in sizes])
                and ((not only_data and _most(sizes) is not None)
                     or any([_is_of_data(size, regions[0]) for size in sizes])))
        }  # fmt: skip
        if axes:
            found[position] = axes
    return found


def stepping(before: Any, after: Any, turns: int, made: TurnsMade) -> Packing:
    """Return which leaves of a variable a turn made longer or shorter, if so many more do so too.

    It held `before` and holds `after` it.
    """
    rows = [tree.flatten(value)[0] for value in (before, after)]
    found: Packing = {}
    for position, column in enumerate(zip(*rows, strict=False)):
        if not all([isinstance(x, (Tensor, np.ndarray)) for x in column]):
            continue
        first, second = [x.shape for x in column]
        axes: dict[int, Most] = {}
        for axis, (size, then) in enumerate(zip(first, second, strict=False)):
            step = then - size
            if not isinstance(step, int) or not step:
                continue
            ends = [bounds(end) for end in (then, then + step * turns)]
            longest = [m for least, m in ends if least is not None and least >= 0 and m is not None]
            if len(longest) < len(ends):
                return {}
            axes[axis] = Stepped(then, step, max(longest), made)
        if axes and len(first) == len(second):
            found[position] = axes
    return found if len(rows[0]) == len(rows[1]) else {}


def steps_on(value: Any, found: Packing) -> bool:
    """Return whether a turn leaves a variable with arrays that are as long as `found` says."""
    leaves = tree.flatten(value)[0]
    return all([
        leaves[position].shape[axis] == dim_of(stepped.size(1))
        for position, axes in found.items()
        for axis, stepped in axes.items()
        if isinstance(stepped, Stepped)
    ])  # fmt: skip


def _most(sizes: Sequence[DimLike]) -> int | None:
    """Return what sizes are at most, None where it is not known."""
    ends = [bounds(size)[1] for size in sizes]
    known = [end for end in ends if end is not None]
    return max(known) if len(known) == len(ends) else None


def joined_bounds(first: Mapping[int, Most], second: Mapping[int, Most]) -> dict[int, Most]:
    """Return how long axes may be that may be as long as either says."""
    found = {**first, **second}
    for axis in first.keys() & second.keys():
        ends = first[axis], second[axis]
        found[axis] = None if None in ends else max(ends)  # ty: ignore[invalid-argument-type]
    return found


def unbounded(before: Mapping[int, Most], now: Mapping[int, Most]) -> dict[int, Most]:
    """Return how long axes may be, of which those that are longer than before grow for ever."""
    return {axis: end if before.get(axis, -1) == end else None for axis, end in now.items()}


def packed(
    value: Any, found: Packing, region: Trace, places: Mapping[int, Tensor] = MappingProxyType({})
) -> Any:
    """Return what a variable holds at the end of a region, with leaves packed.

    Of the leaves of that, `places` are arrays of the region that nobody needs any more.
    """
    leaves, structure = tree.flatten(value)
    counts = 0
    with resumed(region):
        for position in sorted(found):
            array, place = as_tensor(leaves[position]), places.get(position + counts)
            leaf = Packed(array, _held(array, region), found[position], place)
            leaves[position] = leaf
            counts += len(leaf.state_leaves()) - 1
    return tree.unflatten(structure, leaves)


def _held(array: Tensor, region: Trace) -> Tensor:
    """Return what an array held at the end of a region, of which the changes may be undone."""
    seen = region.seen.get(id(array)) if isinstance(region, Region) else None
    if seen is None:
        return array
    held = Tensor(region, seen[1], None, array._weak)
    held._mixed = array._mixed
    return held


def _is_of_data(size: Any, trace: Trace) -> bool:
    return isinstance(size, Dim) and origin_of((size,), trace) is not None


def is_inner(size: Any, region: Trace) -> bool:
    """Whether a size is known in a region, or one within, and not outside."""
    if not isinstance(size, Dim):
        return False
    origins = region.outermost().origins
    return any(
        [name in origins and not _is_around(origins[name][0], region) for name in symbols(size)]
    )


def _is_around(trace: Trace, region: Trace) -> bool:
    """Whether a trace is one of those around a region."""
    around = region.parent
    while around is not None and around is not trace:
        around = around.parent
    return around is not None
