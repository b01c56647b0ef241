"""Local memory of a kernel, and what arrays are kept in it.

It is counted while the kernel is written, and handed on: when an operation was the last reader of
an array, the next one may have its memory. What grows while the kernel runs is from the heap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lanewise.codegen.addresses import Index, address, as_index, size_of
from lanewise.codegen.arrays import Array, Buffer, Elements, Given, Lazy, Stored
from lanewise.codegen.emitter import Emitter
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import NOWHERE, Ends, Loops
from lanewise.codegen.memory import Memory
from lanewise.codegen.numbers import Number, kinds_of
from lanewise.codegen.sizes import Counted, is_long, room, varies
from lanewise.codegen.unrolling import UNROLLED
from lanewise.codegen.vector import Vec, select
from lanewise.ir.dims import Dim, DimLike, product

#: For how many elements memory that grows has room at first, and of how many numbers at most.
FIRST, MOST = 16, 1 << 40
#: Tables of data sizes have at most so many elements together that lanes have one each.
MOST_IN_LANES = 1 << 25


class Storage:
    """Writes arrays to local memory; a part of the builder."""

    def __init__(self, loops: Loops, fail: Callable[[Vec], None]) -> None:
        self.loops, self.e, self.fail = loops, loops.e, fail
        #: How much of it is taken.
        self.memory = Memory()
        #: Where results belong that nobody else reads: of values, and of the operation at hand.
        self.targets: dict[Any, Given] = {}
        self.places: list[Given | None] = []
        #: Memory that the kernel is called with, which arrays are kept in.
        self.lent: dict[Buffer, Given] = {}
        #: Variables of the frame that hold memory of lists, to be given back.
        self.arenas: list[str] = []
        #: Within how many regions the code at hand is.
        self.depth = 0
        self._made: list[Buffer] = []
        self._numbers = itertools.count()

    def local(
        self,
        dtype: np.dtype,
        shape: Sequence[DimLike],
        wide: bool | None = None,
        beside: bool = False,
    ) -> Stored:
        """Return an array in local memory whose elements are not yet known.

        It has a place for each lane if it is `wide`, by default where lanes run. The parts of
        complex numbers lie `beside` each other, as NumPy has them, or apart, as lanes want them.
        """
        wide = self.loops.in_lanes if wide is None else wide
        kinds = kinds_of(dtype)
        try:
            size = product(room(shape, self.e.counted))
        except CannotCompile:
            if beside or self.loops.is_ahead:
                raise
            heap, inner = Heap(self, dtype, wide), [self.most(size) for size in shape[1:]]
            heap.reserve(as_index(self.e, shape[0]), inner)
            return Stored(self.loops, dtype, tuple(shape), heap.buffer(), (shape[0], *inner))
        count = len(kinds) if beside else 1
        bytes_of_part = size * (dtype.itemsize * count // len(kinds))
        bytes_of_part *= self.e.lanes if wide else 1
        rows = [self.allocate(bytes_of_part) for _ in kinds[count - 1 :]]
        pointers = tuple([pointer for pointer, _ in rows])
        buffer = Buffer(pointers, kinds, wide, self.loops.mask, depth=self.depth, beside=count)
        if not self.loops.is_ahead:
            buffer.places = tuple([place for _, place in rows if place is not None])
            self._made.append(buffer)
        return Stored(self.loops, dtype, tuple(shape), buffer)

    def most(self, size: DimLike) -> DimLike:
        """Return what a size is at most in the lanes at hand: if need be, found while they run."""
        if not varies(size, self.e.counted):
            return size
        try:
            return room([size], self.e.counted)[0]
        except CannotCompile:
            return self.counted(_greatest(self.loops, as_index(self.e, size)))

    def counted(self, count: Vec) -> Dim:
        """Return a size that is a number which the kernel knows: it is not negative."""
        name = f"counted{next(self._numbers)}"
        self.e.counted[name] = Counted(count, None)
        return Dim.symbol(name)

    def result(self, number: int, dtype: np.dtype, shape: Sequence[DimLike]) -> Stored:
        """Return memory for a result of the operation at hand: where it belongs, if it has a place.

        It is taken before anything else is written that the operation consists of.
        """
        target = self.places[number] if number < len(self.places) else None
        is_ahead = self.loops.is_ahead
        if target is None or is_ahead or (target.dtype, target.shape) != (dtype, tuple(shape)):
            return self.local(dtype, shape)
        if any(target.pointer == other.pointer for other in self.lent.values()):
            return self.local(dtype, shape)
        return self.lend(target) or self.local(dtype, shape)

    def lend(self, given: Given) -> Stored | None:
        """Return memory that the kernel is called with as memory of its own, if that lies so."""
        kinds = kinds_of(given.dtype)
        is_plain = len(kinds) == 1 and given.dtype.kind != "b"
        if self.loops.in_lanes or not is_plain or size_of(kinds[0]) != given.dtype.itemsize:
            return None
        pointer = address(self.e, given.pointer, given.offset(*(0,) * given.ndim))
        buffer = Buffer((pointer,), kinds, False, self.loops.mask)
        stored = Stored(self.loops, given.dtype, given.shape, buffer)
        size = given.dtype.itemsize
        if [stride * size for stride in stored.strides] != [*given.strides[len(given.lead) :]]:
            return None
        self.lent[buffer] = given
        return stored

    def is_at(self, x: Array, target: Given) -> bool:
        """Whether an array is kept where a result belongs."""
        lent = self.lent.get(x.buffer) if isinstance(x, Stored) else x
        return isinstance(lent, Given) and lent.pointer == target.pointer

    def allocate(self, size: DimLike) -> tuple[str, tuple[DimLike, DimLike] | None]:
        """Return a pointer to local memory, and which it is for who hands it on."""
        # What is written ahead of all examples is there while others come and go.
        offset = self.memory.take(size, fresh=self.loops.is_ahead)
        where = str(offset)
        if isinstance(size, Dim):
            (where,) = self.e.size(offset, is_place=True).parts
        return self.e.at_entry(f"getelementptr i8, ptr %scratch, i64 {where}"), (offset, size)

    def materialized(
        self,
        x: Array,
        wide: bool | None = None,
        beside: bool = False,
        within: Ends = NOWHERE,
        number: int | None = None,
    ) -> Stored:
        """Return an array computed into memory of its own; see `local`, `result` and `each`."""
        if number is None:
            result = self.local(x.dtype, x.shape, wide, beside)
        else:
            result = self.result(number, x.dtype, x.shape)
        if isinstance(x, Elements):
            for place, item in enumerate(x.items):
                result.store(place, item, None)
            return result
        work = x.work if isinstance(x, Lazy) else 1
        self.prepare_loops(x, x.shape, work)
        self.loops.each(
            x.shape,
            lambda *i: result.put(i, x.at(*i), self.tail(result)),
            within=within,
            work=work,
        )
        return result

    def spilled(self, x: Elements) -> Stored:
        if x.stored is not None and x.scope in self.loops.scopes:
            return x.stored
        x.stored = self.materialized(x, self.loops.in_lanes and x.varies)
        x.scope = self.loops.scopes[-1]
        x.stored.buffer.places = ()  # it is kept for whoever reads x later
        return x.stored

    def prepare_loops(self, x: Array, shape: Sequence[DimLike], work: int) -> None:
        """Store what loops over a shape read of an array at their indices, unless these are written
        out: else each turn would do so. `work` is about how many operations a turn takes.
        """
        is_short = not any([is_long(size, UNROLLED + 1) for size in shape])
        is_out = is_short and all(self.loops.unrolling.written_out(shape, work))
        if is_out and not self.loops.is_folded_in_lanes(shape, work):
            return
        waiting, seen = [x], set()
        while waiting:
            read = waiting.pop()
            if isinstance(read, Elements):
                if is_long(read.size, 2):
                    self.spilled(read)
            elif isinstance(read, Lazy) and read not in seen:
                seen.add(read)
                waiting += read.of

    def tail(self, x: Stored) -> Vec | None:
        """Return the mask to store with into an array made under the mask at hand."""
        return None if x.buffer.wide or not self.loops.in_lanes else self.loops.mask

    def owned(self, x: Array, *others: Array, number: int = 0) -> Stored:
        """Return memory with the elements of `x` that may be written to.

        It is x itself if nobody reads x any more. `others` are what will be written: where they
        read x, they must have been made `ready` before. The memory is that of a result of the
        operation at hand, by its `number`.
        """
        if (
            isinstance(x, Stored)
            and not x.buffer.readers
            and x.buffer.wide == self.loops.in_lanes
            and not any(x.buffer in other.buffers for other in others)
        ):
            return x
        return self.materialized(x, number=number)

    def write(self, x: Stored, place: Index, value: Number) -> None:
        """Write an element of `owned` memory, in the active lanes."""
        same = x.buffer.mask is self.loops.mask
        x.store(place, value, None if same else self.loops.mask)

    @contextmanager
    def handing_on(self, operands: Sequence[Array]) -> Generator[list[Array]]:
        """Write an operation, and hand on the memory that nobody reads any more after it.

        The caller appends the results to the list that it gets, after they were counted as readers.
        Of what was made outside of the region at hand others may know more: it stays.
        """
        first, results = len(self._made), []
        yield results
        dead = {buffer for x in (*operands, *results) for buffer in x.buffers}
        if not any(isinstance(x, Lazy) for x in results):  # nothing is computed later
            dead.update(self._made[first:])
        for buffer in dead:
            if not buffer.readers and buffer.depth >= self.depth:
                for place in buffer.places:
                    self.memory.give(*place)
                buffer.places = ()
        self._made = [buffer for buffer in self._made if buffer.places]


class Heap:
    """Memory for numbers, in as many pieces as these have parts; of each lane its own, if `wide`.

    It grows by doubling, is used again by the next block of examples, and is given back where the
    kernel ends.
    """

    __slots__ = ("_pointers", "_storage", "_wide", "capacity", "kinds")

    def __init__(self, storage: Storage, dtype: np.dtype, wide: bool) -> None:
        self._storage, self._wide, self.kinds = storage, wide, kinds_of(dtype)
        self._pointers = [_variable(storage.e, "ptr", "null") for _ in self.kinds]
        self.capacity = _variable(storage.e, "i64", "0")
        storage.arenas += self._pointers

    def reserve(self, size: Vec, shape: Sequence[DimLike] = ()) -> None:
        """Make room for so many elements of a shape, in each of the lanes that are active."""
        fail, e = self._storage.fail, self._storage.e
        size = _greatest(self._storage.loops, size)
        most = MOST_IN_LANES // e.lanes if self._wide else MOST
        for other in [as_index(e, axis) for axis in shape if isinstance(axis, Dim)]:
            # Neither is negative, nor are both together more than the most.
            fail(size.to("f64") * other.to("f64") > most)
            size = size * other
        capacity = e.uniform("i64", e.write(f"load i64, ptr {self.capacity}"))
        with e.when(size > capacity):
            elements = math.prod([axis for axis in shape if isinstance(axis, int)])
            fail(size > MOST // max(elements, 1))
            count = (capacity * 2).greatest(FIRST).greatest(size)
            each = elements * (e.lanes if self._wide else 1)
            for name, kind in zip(self._pointers, self.kinds, strict=True):
                old, bytes_ = e.write(f"load ptr, ptr {name}"), count * (each * size_of(kind))
                new = e.external("ptr", "realloc", ("ptr", old), ("i64", bytes_.parts[0]))
                # The old memory is still there where there is no more to be had.
                fail(Vec(e, "b", False, (e.write(f"icmp eq ptr {new}, null"),)))
                e.do(f"store ptr {new}, ptr {name}")
            e.do(f"store i64 {count.parts[0]}, ptr {self.capacity}")

    def buffer(self) -> Buffer:
        """Return the memory as it lies now."""
        e = self._storage.e
        places = tuple([e.write(f"load ptr, ptr {name}") for name in self._pointers])
        return Buffer(places, self.kinds, self._wide, self._storage.loops.mask)


def _variable(e: Emitter, type_: str, first: str) -> str:
    """Return a variable of the function's frame that is set as the function begins."""
    name = e.at_entry(f"alloca {type_}")
    e.entry.append(f"  store {type_} {first}, ptr {name}")
    return name


def _greatest(loops: Loops, size: Vec) -> Vec:
    """Return what a size is at most in the lanes that are active."""
    if not size.varying:
        return size
    mask = loops.mask
    size = size if mask is None else select(mask, size, loops.e.constant("i64", 0))
    return loops.e.extreme(size, True)
