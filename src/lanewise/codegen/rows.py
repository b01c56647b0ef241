"""Short rows of memory to elements in lanes and back, without leaving the registers.

The examples of a block lie one behind the other, each a row of a few numbers. They are loaded in
pieces: the same columns of several rows side by side in a vector, so that each of its lanes of 16
bytes (the hardware's, within which exchanges are cheapest) holds the rows of neighbouring examples.
Interleaving the lanes again and again transposes them (the perfect shuffle of H. S. Stone,
"Parallel processing with the perfect shuffle", IEEE Transactions on Computers C-20, 1971).
Distances are known, nothing is called, and what nobody uses is not loaded.

Of the last block some rows are not there. Then the rows go by way of local memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lanewise.codegen.addresses import (
    Affine,
    address,
    fetch,
    load_row,
    size_of,
    store_row,
)
from lanewise.codegen.arrays import Given
from lanewise.codegen.builder import Builder
from lanewise.codegen.emitter import Emitter
from lanewise.codegen.memory import LINE
from lanewise.codegen.numbers import Number, kinds_of, of_vecs, vecs
from lanewise.codegen.processor import machine
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import LLVM, Vec

#: Bytes of a vector within which numbers are exchanged by one instruction without a table.
LANE = 16
#: Rows of at most so many numbers are (de)interleaved as a whole.
FEW = 3


def side_of(e: Emitter, kind: str) -> int:
    """Return how many numbers of a kind a register holds, of at most as many lanes as there are."""
    return min(e.group, machine().register_bits // (8 * size_of(kind)))


def fits(k: Builder, x: Given) -> bool:
    """Whether the rows of an operand or a result are short enough, and not too short."""
    rows = _Rows(k, x)
    return is_small(x.shape) and (rows.count <= FEW or rows.count >= rows.lane)


def load(k: Builder, x: Given, row: Affine, stop: Vec) -> list[Number]:
    """Return the elements of a block's examples; see `blocks.packed`."""
    e, rows = k.e, _Rows(k, x)
    first, near, whole, spare = rows.place(x, row, stop)
    with e.when(~whole):
        rows.copy(near, spare, stop - first)
    start = e.write(f"select i1 {whole.parts[0]}, ptr {near}, ptr {spare}")
    block = e.lanes * rows.length
    for offset in range(block, 2 * block, LINE):  # the next one is on its way meanwhile
        fetch(e, near, offset)
    columns = [rows.load(address(e, start, at)) for at in rows.blocks]
    found = []
    for column in zip(*columns, strict=True):
        parts = rows.joined(column, rows.side, e.group)
        number = Vec(e, rows.kind, True, tuple(parts))
        found.append(number.ne(0) if rows.is_truth else number)
    return [of_vecs(found[j : j + rows.width]) for j in range(0, rows.count, rows.width)]


def store(k: Builder, items: Sequence[Number], target: Given, row: Affine, stop: Vec) -> None:
    """Write the elements of a block's examples."""
    e, rows = k.e, _Rows(k, target)
    first, near, whole, spare = rows.place(target, row, stop)
    start = e.write(f"select i1 {whole.parts[0]}, ptr {near}, ptr {spare}")
    parts = [(v.to("u8") if rows.is_truth else v).spread().parts for x in items for v in vecs(x)]
    for block, at in enumerate(rows.blocks):
        part, piece = divmod(block * rows.side, e.group)
        order = range(piece, piece + rows.side)
        columns = [e.shuffled(rows.kind, e.group, order, own[part]) for own in parts]
        rows.store(address(e, start, at), columns)
    with e.when(~whole):
        rows.copy(spare, near, stop - first)


class _Rows:
    """How rows are moved: as many at once as a register holds numbers."""

    def __init__(self, k: Builder, x: Given) -> None:
        self.k, self.e, kinds = k, k.e, kinds_of(x.dtype)
        self.is_truth = kinds[0] == "b"
        #: What they consist of in memory.
        self.kind = "u8" if self.is_truth else kinds[0]
        #: How many of it a number takes: two, if it is complex.
        #: How many there are in a row, and its bytes.
        self.width, self.count = len(kinds), len(kinds) * x.size
        self.length = self.count * size_of(self.kind)
        #: How many rows a register holds a column of.
        self.side = side_of(k.e, self.kind)
        #: How many numbers stand in a lane of 16 bytes.
        self.lane = min(LANE // size_of(self.kind), self.side)
        several = self.side // self.lane >= 4 and self.count >= 2 * self.lane
        #: How many columns are moved at once: two lanes of them, where registers have four.
        self.piece = 2 * self.lane if several else self.lane
        #: Behind how many bytes the rows begin that are moved at once.
        self.blocks = [first * self.length for first in range(0, k.e.lanes, self.side)]

    def place(self, x: Given, row: Affine, stop: Vec) -> tuple[Vec, str, Vec, str]:
        """Return the first row's number and place, whether all rows of the block are there, and
        memory for when they are not.
        """
        e, first = self.e, self.e.uniform("i64", row.base.parts[0])
        spare = self.k.storage.local(np.dtype(np.uint8), (e.lanes * self.length,), False)
        near = address(e, x.pointer, first * self.length)
        return first, near, first + e.lanes <= stop, spare.buffer.pointers[0]

    def copy(self, source: str, target: str, rows: Vec) -> None:
        """Copy so many rows from a place to another."""
        e, type_, size = self.e, LLVM[self.kind], size_of(self.kind)
        for j in self.k.loops.range(rows * self.count, unroll=False):
            here, there = [address(e, pointer, j * size) for pointer in (source, target)]
            found = e.write(f"load {type_}, ptr {here}, align {size}")
            e.do(f"store {type_} {found}, ptr {there}, align {size}")

    def joined(self, vectors: Sequence[str], width: int, most: int) -> list[str]:
        """Return vectors side by side in pairs, and these again, until they are so wide."""
        found = list(vectors)
        while width < most:
            pairs, order = zip(found[::2], found[1::2], strict=True), range(2 * width)
            found = [self.e.shuffled(self.kind, width, order, *pair) for pair in pairs]
            width *= 2
        return found

    def load(self, start: str) -> list[str]:
        """Return the columns, each an element of the rows from a place on."""
        e, count, whole = self.e, self.count, self.count * self.side
        if count <= FEW:
            rows = load_row(e, self.kind, whole, start)
            return [
                e.shuffled(self.kind, whole, range(j, whole, count), rows) for j in range(count)
            ]
        found = [""] * count
        for begin in self._pieces():
            # For each row of a lane: what it and those at its place in other lanes have there.
            gathered = [self._gathered(start, r, begin) for r in range(self.lane)]
            for part, rows in enumerate(zip(*gathered, strict=True)):
                first = begin + part * self.lane
                found[first : first + self.lane] = self._transposed(rows)
        return found

    def store(self, start: str, columns: Sequence[str]) -> None:
        """Write the columns to the rows."""
        e, kind, count, side = self.e, self.kind, self.count, self.side
        if count <= FEW:
            pair = e.shuffled(kind, side, range(2 * side), *columns[:2])
            third = e.shuffled(kind, side, range(2 * side), *columns[2:]) if count > 2 else "poison"
            order = [j * side + i for i in range(side) for j in range(count)]
            whole = e.shuffled(kind, 2 * side, order, pair, third)
            store_row(e, kind, count * side, start, whole)
            return
        for begin in self._pieces():
            parts = [
                self._transposed(columns[first : first + self.lane])
                for first in range(begin, begin + self.piece, self.lane)
            ]
            for r in range(self.lane):
                self._scatter(start, r, begin, [part[r] for part in parts])

    def _pieces(self) -> list[int]:
        """Return where pieces begin; the last may have some columns of the one before."""
        last = self.count - self.piece
        return [min(begin, last) for begin in range(0, self.count, self.piece)]

    def _at(self, start: str, row: int, column: int) -> str:
        return address(self.e, start, row * self.length + column * size_of(self.kind))

    def _gathered(self, start: str, r: int, begin: int) -> list[str]:
        """Return vectors of one lane of columns of the rows `r`, `r + lane`, `r + 2 * lane`..."""
        e, side, lane = self.e, self.side, self.lane
        places = [self._at(start, row, begin) for row in range(r, side, lane)]
        pieces = [load_row(e, self.kind, self.piece, place) for place in places]
        found = self.joined(pieces, self.piece, side)
        if len(found) == 1:
            return found
        orders = [_lanes(range(part, 2 * side // lane, 2), lane) for part in range(2)]
        return [e.shuffled(self.kind, side, order, *found) for order in orders]

    def _scatter(self, start: str, r: int, begin: int, parts: Sequence[str]) -> None:
        """Store what `_gathered` would give."""
        e, side, lane = self.e, self.side, self.lane
        vectors = list(parts)
        if len(parts) == 2:
            count = side // lane  # lanes of a vector: those of both are put in turn
            order = [lane_of for i in range(count) for lane_of in (i, count + i)]
            halves = [_lanes(half, lane) for half in (order[:count], order[count:])]
            vectors = [e.shuffled(self.kind, side, half, *parts) for half in halves]
        rows = range(r, side, lane)
        per_vector = len(rows) // len(vectors)
        for number, row in enumerate(rows):
            vector, at = divmod(number, per_vector)
            order = range(at * self.piece, (at + 1) * self.piece)
            piece = e.shuffled(self.kind, side, order, vectors[vector])
            store_row(e, self.kind, self.piece, self._at(start, row, begin), piece)

    def _transposed(self, rows: Sequence[str]) -> list[str]:
        """Return the columns of as many rows, in each lane of 16 bytes."""
        side, lane = self.side, self.lane
        found, half = list(rows), lane // 2
        for _ in range(lane.bit_length() - 1):
            mixed = []
            for pair in zip(found[:half], found[half:], strict=True):
                for begin in (0, half):
                    order = [
                        first + begin + i + other
                        for first in range(0, side, lane)
                        for i in range(half)
                        for other in (0, side)
                    ]
                    mixed.append(self.e.shuffled(self.kind, side, order, *pair))
            found = mixed
        return found


def _lanes(lanes: Sequence[int], width: int) -> list[int]:
    """Return the numbers of the elements of some lanes."""
    return [lane * width + i for lane in lanes for i in range(width)]
