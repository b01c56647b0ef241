"""Arrays of sizes that are data as the state of a branch or a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lanewise.errors import DataDependentShapeError, at
from lanewise.ir.dims import Dim, DimLike, bounds, symbols
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.origins import origin_of, root_trace
from lanewise.trace.regions import resumed
from lanewise.trace.sizes import number_of, size_of
from lanewise.trace.tensor import Tensor, as_tensor
from lanewise.trace.trace import Trace


class Packed:
    """An array of sizes that are data as it passes from one region to another: in a larger one.

    What is known in one region means nothing outside of it, so it is handed on as an array of as
    many elements as there may be, with the numbers of those that count along some axes.

    Attributes
    ----------
    data
        The elements, in front of others.
    origin
        The array.
    """

    __slots__ = ("counts", "data", "origin")

    def __init__(self, x: Tensor, most: Mapping[int, int | None]) -> None:
        room = [most.get(axis, size) for axis, size in enumerate(x.shape)]
        if None in room:
            raise DataDependentShapeError(
                "an array of a length that is data is handed on from a branch or a loop"
                f"{at(here())}, and how long it may be is not known. Make it a slice of an array, "
                "np.zeros(100)[:n]"
            )
        self.origin = x
        self.counts = [
            number_of(size) if axis in most else None for axis, size in enumerate(x.shape)
        ]
        self.data: Any = as_tensor(np.zeros(tuple(map(int, room)), x.dtype))  # ty: ignore[invalid-argument-type]
        self.data[self._front(x.shape)] = x

    def _front(self, shape: Sequence[DimLike]) -> tuple[slice, ...]:
        pairs = zip(self.counts, shape, strict=True)
        return tuple([slice(None if count is None else size) for count, size in pairs])

    def state_leaves(self) -> list[Any]:
        """Return what says all of it."""
        return [self.data, *[count for count in self.counts if count is not None]]

    def from_leaves(self, leaves: Sequence[Any]) -> Tensor:
        """Return the array of other leaves, bounded alike."""
        data, *counts = leaves
        numbers = iter(counts)
        shape = list(data.shape)
        for axis, own in enumerate(self.counts):
            if own is not None:
                shape[axis] = size_of(as_tensor(next(numbers)), shape[axis], "an array")
        return data[self._front(shape)]

    @property
    def state_key(self) -> tuple[Any, ...]:
        """What arrays must have in common for one to take the other's place."""
        return (self.data.shape, tuple([count is None for count in self.counts]))

    def __repr__(self) -> str:
        return repr(self.origin)


#: For the positions of leaves that are packed, along which axes, and how long these may be.
Packing = dict[int, dict[int, int | None]]


def packing(ends: Sequence[Any], regions: Sequence[Trace]) -> Packing:
    """Return which leaves of what branches or turns leave have to be packed.

    Those are arrays of a size that is known in one of the regions only, or of which one has another
    size than others, and that is data.
    """
    rows = [tree.flatten(end)[0] for end in ends]
    found: Packing = {}
    if len({len(row) for row in rows}) != 1:
        return found
    for position, column in enumerate(zip(*rows, strict=True)):
        shapes = [x.shape for x in column if isinstance(x, (Tensor, np.ndarray))]
        if len(shapes) < len(column) or len({len(shape) for shape in shapes}) > 1:
            continue
        axes = {
            axis: _most(sizes) for axis, sizes in enumerate(zip(*shapes, strict=True))
            if any([is_inner(size, region) for size, region in zip(sizes, regions, strict=True)])
            or (Dim in map(type, sizes) and any([size is not sizes[0] for size in sizes])
                and any([_is_of_data(size, regions[0]) for size in sizes]))
        }  # fmt: skip
        if axes:
            found[position] = axes
    return found


def _most(sizes: Sequence[DimLike]) -> int | None:
    """Return what sizes are at most, None where it is not known."""
    ends = [bounds(size)[1] for size in sizes]
    known = [end for end in ends if end is not None]
    return max(known) if len(known) == len(ends) else None


def packed(value: Any, found: Packing, region: Trace) -> Any:
    """Return what a variable holds at the end of a region, with leaves packed."""
    leaves, structure = tree.flatten(value)
    with resumed(region):
        for position, most in found.items():
            leaves[position] = Packed(as_tensor(leaves[position]), most)
    return tree.unflatten(structure, leaves)


def _is_of_data(size: Any, trace: Trace) -> bool:
    return isinstance(size, Dim) and origin_of((size,), trace) is not None


def is_inner(size: Any, region: Trace) -> bool:
    """Whether a size is known in a region, or one within, and not outside."""
    if not isinstance(size, Dim):
        return False
    origins = root_trace(region).origins
    return any(
        [name in origins and not _is_around(origins[name][0], region) for name in symbols(size)]
    )


def _is_around(trace: Trace, region: Trace) -> bool:
    """Whether a trace is one of those around a region."""
    around = region.parent
    while around is not None and around is not trace:
        around = around.parent
    return around is not None
