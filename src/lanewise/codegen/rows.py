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
from dataclasses import dataclass

import numpy as np

from lanewise.codegen.addresses import Affine, fetch, size_of
from lanewise.codegen.arrays import Given
from lanewise.codegen.llvm import machine
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.memory import LINE
from lanewise.codegen.numbers import Number, kinds_of, of_vecs, vecs
from lanewise.codegen.vector import LLVM, Vec

#: Bytes of a vector within which numbers are exchanged by one instruction without a table.
LANE = 16
#: Rows of at most so many numbers are (de)interleaved as a whole.
FEW = 3


def fits(k: Lowering, x: Given) -> bool:
    """Whether the rows of an operand or a result are short enough, and not too short."""
    form = _form(k, x)
    return k.is_small(x.shape) and (form.count <= FEW or form.count >= form.lane)


def load(k: Lowering, x: Given, row: Affine, stop: Vec) -> list[Number]:
    """Return the elements of a block's examples.

    Parameters
    ----------
    x
        One example.
    row
        The numbers of the examples, one in each lane.
    stop
        The number behind the last example; lanes from there on get that of the last.
    """
    e, form = k.e, _form(k, x)
    first, near, whole = _place(k, x, row, stop, form)
    spare, labels = _spare(k, form), [e.label(hint) for hint in ("rest", "rows")]
    before = e.label("before")
    e.jump(before)
    e.begin(before)
    e.branch(whole, labels[1], labels[0])
    e.begin(labels[0])
    last = stop - first - 1
    for lane in k.range(0, e.lanes, unroll=False):
        source = e.uniform("i64", lane.parts[0]).least(last) * form.count
        for j in k.range(form.count, unroll=False):
            _copy(k, form, (near, source + j), (spare, lane * form.count + j))
    ends = e.block
    e.jump(labels[1])
    e.begin(labels[1])
    start = e.write(f"phi ptr [ {near}, %{before} ], [ {spare}, %{ends} ]")
    _ask_for_next(k, form, near)
    columns = [_Columns(k, form, start, block).load() for block in range(e.lanes // form.side)]
    step = e.group // form.side
    found = []
    for j in range(form.count):
        parts = [
            _side_by_side(k, form, [block[j] for block in columns[at : at + step]])
            for at in range(0, len(columns), step)
        ]
        number = Vec(e, form.kind, True, tuple(parts))
        found.append(number.ne(0) if form.is_truth else number)
    return [of_vecs(found[j : j + form.width]) for j in range(0, form.count, form.width)]


def store(k: Lowering, items: Sequence[Number], target: Given, row: Affine, stop: Vec) -> None:
    """Write the elements of a block's examples; see `load`."""
    e, form = k.e, _form(k, target)
    first, near, whole = _place(k, target, row, stop, form)
    spare = _spare(k, form)
    start = e.write(f"select i1 {whole.parts[0]}, ptr {near}, ptr {spare}")
    parts = [(v.to("u8") if form.is_truth else v).spread() for x in items for v in vecs(x)]
    step = e.group // form.side
    for block in range(e.lanes // form.side):
        part, at = divmod(block, step)
        columns = [_piece(k, form, v.parts[part], at * form.side, e.group) for v in parts]
        _Columns(k, form, start, block).store(columns)
    rest, after = e.label("rest"), e.label("after")
    e.branch(whole, after, rest)
    e.begin(rest)
    for j in k.range((stop - first) * form.count, unroll=False):
        _copy(k, form, (spare, j), (near, j))
    e.jump(after)
    e.begin(after)


@dataclass(frozen=True, slots=True)
class _Form:
    """How rows are made.

    Attributes
    ----------
    kind
        What they consist of in memory.
    width
        How many of it a number takes: two, if it is complex.
    count
        How many there are in a row.
    side
        How many rows a register holds a column of.
    lane
        How many stand in a lane of 16 bytes.
    is_truth
        Whether they are truth values.
    """

    kind: str
    width: int
    count: int
    side: int
    lane: int
    is_truth: bool

    @property
    def size(self) -> int:
        return size_of(self.kind)

    @property
    def length(self) -> int:
        return self.count * self.size


def _form(k: Lowering, x: Given) -> _Form:
    kinds = kinds_of(x.dtype)
    size = size_of(kinds[0])
    side = min(k.e.group, machine().register_bits // (8 * size))
    kind = "u8" if kinds[0] == "b" else kinds[0]
    count = len(kinds) * x.size
    return _Form(kind, len(kinds), count, side, min(LANE // size, side), kinds[0] == "b")


def _place(k: Lowering, x: Given, row: Affine, stop: Vec, form: _Form) -> tuple[Vec, str, Vec]:
    """Return the first row's number and place, and whether all rows of the block are there."""
    e, first = k.e, k.e.uniform("i64", row.base.parts[0])
    at = (first * form.length).parts[0]
    return first, e.write(f"getelementptr i8, ptr {x.pointer}, i64 {at}"), first + e.lanes <= stop


def _ask_for_next(k: Lowering, form: _Form, near: str) -> None:
    """Have the rows of the next block on their way while this one is computed."""
    block = k.e.lanes * form.length
    for offset in range(block, 2 * block, LINE):
        fetch(k.e, near, offset)


def _spare(k: Lowering, form: _Form) -> str:
    memory = k.local(np.dtype(np.uint8), (k.e.lanes * form.length,), False)
    return memory.buffer.pointers[0]


def _copy(k: Lowering, form: _Form, source: tuple[str, Vec], target: tuple[str, Vec]) -> None:
    """Copy a number from a place to another."""
    e, type_ = k.e, LLVM[form.kind]
    places = [
        e.write(f"getelementptr {type_}, ptr {pointer}, i64 {number.parts[0]}")
        for pointer, number in (source, target)
    ]
    found = e.write(f"load {type_}, ptr {places[0]}, align {form.size}")
    e.do(f"store {type_} {found}, ptr {places[1]}, align {form.size}")


class _Columns:
    """The rows of as many examples as a register has lanes, at `block` times as many rows."""

    def __init__(self, k: Lowering, form: _Form, start: str, block: int) -> None:
        self.k, self.form, self.start = k, form, start
        self.first = block * form.side
        #: Columns that are moved at once: two lanes of them, where registers have four.
        several = form.side // form.lane >= 4 and form.count >= 2 * form.lane
        self.piece = 2 * form.lane if several else form.lane

    def load(self) -> list[str]:
        """Return the columns, each an element of all examples."""
        form = self.form
        if form.count <= FEW:
            whole = self._load(0, 0, form.count * form.side)
            rows = [range(j, form.count * form.side, form.count) for j in range(form.count)]
            return [self._shuffled(whole, whole, form.count * form.side, row) for row in rows]
        found = [""] * form.count
        for begin in self._pieces():
            # For each row of a lane: what it and those at its place in other lanes have there.
            rows = [self._gathered(r, begin) for r in range(form.lane)]
            for part in range(len(rows[0])):
                columns = self._transposed([row[part] for row in rows])
                first = begin + part * form.lane
                found[first : first + form.lane] = columns
        return found

    def store(self, columns: Sequence[str]) -> None:
        """Write the columns to the rows."""
        form = self.form
        if form.count <= FEW:
            self._store_few(columns)
            return
        for begin in self._pieces():
            parts = [
                self._transposed(columns[first : first + form.lane])
                for first in range(begin, begin + self.piece, form.lane)
            ]
            for r in range(form.lane):
                self._scatter(r, begin, [part[r] for part in parts])

    def _pieces(self) -> list[int]:
        """Return where pieces begin; the last may have some columns of the one before."""
        last = self.form.count - self.piece
        return [min(begin, last) for begin in range(0, self.form.count, self.piece)]

    def _gathered(self, r: int, begin: int) -> list[str]:
        """Return vectors of one lane of columns of the rows `r`, `r + lane`, `r + 2 * lane`..."""
        form, lane = self.form, self.form.lane
        pieces = [self._load(row, begin, self.piece) for row in range(r, form.side, lane)]
        width = self.piece
        while len(pieces) > 1 and width < form.side:
            pieces = [
                self._shuffled(a, b, width, range(2 * width))
                for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            width *= 2
        if len(pieces) == 1:
            return pieces
        a, b = pieces
        return [
            self._shuffled(a, b, width, _lanes(range(part, 2 * width // lane, 2), lane))
            for part in range(2)
        ]

    def _scatter(self, r: int, begin: int, parts: Sequence[str]) -> None:
        """Store what `_gathered` would give."""
        lane, side = self.form.lane, self.form.side
        vectors = list(parts)
        if len(parts) == 2:
            count = side // lane  # lanes of a vector: those of both are put in turn
            order = [lane_of for i in range(count) for lane_of in (i, count + i)]
            vectors = [
                self._shuffled(*parts, side, _lanes(half, lane))
                for half in (order[:count], order[count:])
            ]
        rows = range(r, side, lane)
        per_vector = len(rows) // len(vectors)
        for number, row in enumerate(rows):
            vector, at = divmod(number, per_vector)
            first = at * self.piece
            place = range(first, first + self.piece)
            self._store(row, begin, self._shuffled(vectors[vector], "poison", side, place))

    def _transposed(self, rows: Sequence[str]) -> list[str]:
        """Return the columns of as many rows, in each lane of 16 bytes."""
        side, lane = self.form.side, self.form.lane
        found, half = list(rows), lane // 2
        for _ in range(lane.bit_length() - 1):
            mixed = []
            for a, b in zip(found[:half], found[half:], strict=True):
                for begin in (0, half):
                    order = [
                        first + begin + i + other
                        for first in range(0, side, lane)
                        for i in range(half)
                        for other in (0, side)
                    ]
                    mixed.append(self._shuffled(a, b, side, order))
            found = mixed
        return found

    def _store_few(self, columns: Sequence[str]) -> None:
        """Store rows of two or three numbers as a whole."""
        side, count = self.form.side, self.form.count
        pair = self._shuffled(columns[0], columns[1], side, range(2 * side))
        if count == 2:
            whole = self._shuffled(pair, "poison", 2 * side, _in_turn(2, side))
        else:
            third = self._shuffled(columns[2], "poison", side, range(2 * side))
            whole = self._shuffled(pair, third, 2 * side, _in_turn(3, side))
        self._store(0, 0, whole, count * side)

    # --- instructions -------------------------------------------------------------------------

    def _at(self, row: int, column: int) -> str:
        offset = (self.first + row) * self.form.length + column * self.form.size
        return self.k.e.write(f"getelementptr i8, ptr {self.start}, i64 {offset}")

    def _load(self, row: int, column: int, width: int) -> str:
        type_ = f"<{width} x {LLVM[self.form.kind]}>"
        at = self._at(row, column)
        return self.k.e.write(f"load {type_}, ptr {at}, align {self.form.size}")

    def _store(self, row: int, column: int, vector: str, width: int = 0) -> None:
        type_ = f"<{width or self.piece} x {LLVM[self.form.kind]}>"
        at = self._at(row, column)
        self.k.e.do(f"store {type_} {vector}, ptr {at}, align {self.form.size}")

    def _shuffled(self, a: str, b: str, width: int, order: Sequence[int]) -> str:
        return _shuffled(self.k, self.form, a, b, width, order)


def _shuffled(k: Lowering, form: _Form, a: str, b: str, width: int, order: Sequence[int]) -> str:
    """Return elements of two vectors of a width, those of the second counted behind the first's."""
    if list(order) == list(range(width)):
        return a
    type_ = f"<{width} x {LLVM[form.kind]}>"
    text = ", ".join([f"i32 {i}" for i in order])
    return k.e.write(f"shufflevector {type_} {a}, {type_} {b}, <{len(order)} x i32> <{text}>")


def _side_by_side(k: Lowering, form: _Form, vectors: Sequence[str]) -> str:
    """Return vectors of a register each, a power of two of them, as one."""
    found, width = list(vectors), form.side
    while len(found) > 1:
        found = [
            _shuffled(k, form, a, b, width, range(2 * width))
            for a, b in zip(found[::2], found[1::2], strict=True)
        ]
        width *= 2
    return found[0]


def _piece(k: Lowering, form: _Form, vector: str, first: int, width: int) -> str:
    """Return a register's part of a vector."""
    return _shuffled(k, form, vector, "poison", width, range(first, first + form.side))


def _lanes(lanes: Sequence[int], width: int) -> list[int]:
    """Return the numbers of the elements of some lanes."""
    return [lane * width + i for lane in lanes for i in range(width)]


def _in_turn(count: int, side: int) -> list[int]:
    """Return the order in which vectors side by side are interleaved."""
    return [j * side + i for i in range(side) for j in range(count)]
