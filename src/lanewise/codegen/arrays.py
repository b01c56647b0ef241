"""Arrays in a kernel: in registers, in memory, or not computed until somebody reads them.

An array knows its dtype and shape, and gives its element at an index. Three kinds differ in where
the element comes from. `Elements` holds each one in registers; `Lazy` computes it when asked, which
is how operations fuse; `Stored` loads it. Only a `Stored` array can be written to, and only while
nobody else refers to its buffer; a `Buffer` counts who does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np

from lanewise.codegen import addresses
from lanewise.codegen.addresses import AHEAD, Affine, Index, as_index, linear, plus, size_of, times
from lanewise.codegen.loops import Loops
from lanewise.codegen.numbers import Number, of_vecs, vecs
from lanewise.codegen.sizes import spaced
from lanewise.codegen.vector import Vec
from lanewise.ir.dims import Dim, DimLike, product

#: Of ints, and of Dims where a kernel is told of sizes.
Shape = tuple[Any, ...]


def row_major(shape: Iterable[Any]) -> tuple[Any, ...]:
    """Return the distance between neighbours along each axis, in elements.

    Examples
    --------
    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    sizes = accumulate(reversed(tuple(shape)), operator.mul, initial=1)
    return tuple([*sizes][-2::-1])  # the last of them is that of the whole


class Array:
    """An array of a kernel. Abstract; see the module's docstring."""

    __slots__ = ("dtype", "shape")

    dtype: np.dtype
    shape: Shape
    #: What must stay as it is while somebody may still read this array.
    buffers: frozenset[Buffer] = frozenset()
    #: Whether reading an element twice costs no more than finding it twice.
    is_ready: bool = True
    #: Whether it is an operand of the kernel that all examples read alike.
    is_shared: bool = False
    #: Whether lanes may differ in it, as far as can be told without computing it.
    varies: bool = True
    #: Whether finding an element may end the run, so that each must be found.
    may_fail: bool = False

    @property
    def size(self) -> Any:
        """How many elements there are: an int, where sizes are known."""
        return product(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def at(self, *index: Index) -> Number:
        """Return the element at an index."""
        raise NotImplementedError

    def transposed_at(self, axes: Sequence[int], index: Sequence[Index]) -> Number:
        """Return the element at an index of it with its axes in another order."""
        return self.at(*[index[axes.index(axis)] for axis in range(len(axes))])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype}{list(self.shape)}>"


@dataclass(eq=False, repr=False, slots=True)
class Elements(Array):
    """Each element in registers, in row-major order; read at known places.

    If `spill` has put them into memory, they are `stored` there, in a scope of the code.
    """

    dtype: np.dtype
    shape: Shape
    items: list[Number]
    spill: Callable[[Elements], Stored] | None = None
    stored: Stored | None = None
    scope: int = 0

    @property
    def varies(self) -> bool:
        return any([item.varying for item in self.items])

    def at(self, *index: Index) -> Number:
        place = linear(index, row_major(self.shape))
        if isinstance(place, int):
            return self.items[place]
        if place.value is not None:
            return self.items[int(place.value)]
        assert self.spill is not None
        return self.spill(self).at(*index)


@dataclass(frozen=True, slots=True)
class Within:
    """Along one axis an array is another one from `low` to before `high`, and else a number.

    The ends are the same in all lanes and lie on the axis, but the last may be before the first.
    """

    of: Array
    axis: int
    low: Vec
    high: Vec
    fill: Number


class Lazy(Array):
    """An element is computed when it is read."""

    __slots__ = (
        "_at",
        "buffers",
        "depth",
        "is_ready",
        "is_shared",
        "may_fail",
        "of",
        "within",
        "work",
    )

    def __init__(
        self,
        dtype: np.dtype,
        shape: Shape,
        at: Callable[..., Number],
        of: tuple[Array, ...] = (),
        ready: bool = False,
        fails: bool = False,
        work: int = 1,
    ) -> None:
        #: The arrays that it reads are `of`.
        self.dtype, self.shape, self._at, self.of = dtype, shape, at, of
        #: Where it is known to be one number but between two ends.
        self.within: Within | None = None
        #: About how many operations an element takes.
        self.work = work + sum([x.work for x in of if isinstance(x, Lazy) and not x.is_ready])
        #: Through how many others an element is computed.
        self.depth = 1 + max([x.depth for x in of if isinstance(x, Lazy)], default=0)
        self.may_fail = fails or any([x.may_fail for x in of])
        self.buffers = frozenset().union(*[x.buffers for x in of])
        self.is_ready = ready and all([x.is_ready for x in of])
        self.is_shared = self.is_ready and all([x.is_shared for x in of])

    def at(self, *index: Index) -> Number:
        return self._at(*index)


def filled(x: Array, number: Any) -> Within | None:
    """Return between which ends an array may be other than a number, if that is known."""
    known = x.within if isinstance(x, Lazy) else None
    if known is None or number is None:
        return None
    return known if all([part.value == number for part in vecs(known.fill)]) else None


def items_of(x: Array) -> list[Number]:
    """Return all elements of a small array, in row-major order."""
    return x.items if isinstance(x, Elements) else [x.at(*i) for i in np.ndindex(*x.shape)]


@dataclass(eq=False, slots=True)
class Buffer:
    """Local memory of a kernel: an element for each lane if it is wide, else one for all."""

    #: Where each component of a number begins, or all of them; see `kinds_of` and `beside`.
    pointers: tuple[str, ...]
    kinds: tuple[str, ...]
    #: Whether it holds a vector for each element.
    wide: bool
    #: The mask under which it was made: whoever writes under another one must mind it.
    mask: Vec | None
    #: How many values that are still to be used refer to it.
    readers: int = 0
    #: Where its parts lie in the kernel's memory, and how many bytes they have; none if nobody else
    #: may have them later.
    places: tuple[tuple[DimLike, DimLike], ...] = ()
    #: Within how many regions it was made.
    depth: int = 0
    #: How many components of a number lie side by side, as NumPy has them: 1 if each component has
    #: memory of its own.
    beside: int = 1


class Stored(Array):
    """Elements in a buffer of the kernel, row-major; `strides` count elements.

    Places are counted by another shape where axes have `room` for more elements than they have.
    """

    __slots__ = ("buffer", "buffers", "loops", "strides", "varies")

    def __init__(
        self,
        loops: Loops,
        dtype: np.dtype,
        shape: Shape,
        buffer: Buffer,
        room: Sequence[DimLike] | None = None,
    ) -> None:
        self.loops, self.dtype, self.shape, self.buffer = loops, dtype, shape, buffer
        self.strides = row_major(spaced(shape, loops.e.counted) if room is None else room)
        self.varies, self.buffers = buffer.wide, frozenset((buffer,))

    def _offset(self, place: Index, kind: str) -> Index:
        """Return the byte offset of the element at a place of the row-major order."""
        e, size = self.loops.e, size_of(kind) * self.buffer.beside
        if not self.buffer.wide:
            return times(place, size)
        row = times(place, e.lanes * size)
        lanes = Affine(e, e.constant("i64", 0), size)
        return plus(lanes, row)

    def at(self, *index: Index) -> Number:
        return self.load(linear(index, self.strides))

    def _masked(self, place: Index, mask: Vec | None) -> tuple[Index, Vec | None]:
        """Return a place, and a mask if lanes that are not active may ask for any."""
        if isinstance(place, Dim):
            place = as_index(self.loops.e, place)
        is_data = isinstance(place, Vec) and place.varying
        return place, self.loops.mask if is_data and mask is None else mask

    def load(self, place: Index, mask: Vec | None = None) -> Number:
        """Return the element at a place of the row-major order, which must be within bounds."""
        buffer = self.buffer
        place, mask = self._masked(place, mask)
        if buffer.beside > 1:  # as NumPy has them
            where = self._offset(place, buffer.kinds[0])
            return addresses.load_number(self.loops.e, buffer.pointers[0], where, self.dtype, mask)
        return of_vecs(
            [
                addresses.load(self.loops.e, pointer, self._offset(place, kind), kind, mask)
                for pointer, kind in zip(buffer.pointers, buffer.kinds, strict=True)
            ]
        )

    def put(self, index: Sequence[Index], value: Number, mask: Vec | None) -> None:
        """Write the element at an index, in the lanes of the mask."""
        self.store(linear(index, self.strides), value, mask)

    def store(self, place: Index, value: Number, mask: Vec | None) -> None:
        """Write the element at a place of the row-major order, in the lanes of the mask."""
        buffer = self.buffer
        place, mask = self._masked(place, mask)
        if buffer.beside > 1:
            where = self._offset(place, buffer.kinds[0])
            addresses.store_number(self.loops.e, buffer.pointers[0], where, value, mask)
            return
        rows = zip(buffer.pointers, buffer.kinds, vecs(value), strict=True)
        for pointer, kind, piece in rows:
            addresses.store(self.loops.e, pointer, self._offset(place, kind), piece, mask)


@dataclass(eq=False, repr=False, slots=True)
class Given(Array):
    """An array that the kernel is called with: a pointer, and strides in bytes.

    It stands at the indices `lead` of axes that the kernel runs over, whose strides come first.
    """

    loops: Loops
    dtype: np.dtype
    shape: Shape
    pointer: str
    lead: tuple[Index, ...]
    strides: tuple[Index, ...]
    varies: bool = field(init=False)
    is_shared: bool = field(init=False)

    def __post_init__(self) -> None:
        self.varies = any([isinstance(i, Vec) and i.varying for i in self.lead])
        self.is_shared = not self.lead

    def offset(self, *index: Index) -> Index:
        indices = [as_index(self.loops.e, i) if isinstance(i, int) and i else i for i in self.lead]
        return linear((*indices, *index), self.strides)

    def at(self, *index: Index) -> Number:
        place, ahead = self.offset(*index), AHEAD if self.lead else 0
        return addresses.load_number(
            self.loops.e, self.pointer, place, self.dtype, self.loops.mask, ahead
        )

    def store(self, index: tuple[Index, ...], value: Number, mask: Vec | None) -> None:
        addresses.store_number(self.loops.e, self.pointer, self.offset(*index), value, mask)

    def stream(self, index: tuple[Index, ...], value: Number, aligned: Vec) -> None:
        """Write an element past the caches, if the memory is `aligned`: nobody reads it soon."""
        e, offset = self.loops.e, self.offset(*index)
        (number,) = vecs(value)
        assert isinstance(offset, Affine)
        assert offset.step == size_of(number.kind)
        with e.when(aligned):
            addresses.stream(e, self.pointer, offset, number)
        with e.when(~aligned):
            addresses.store(e, self.pointer, offset, number, None)
