"""Between memory and lanes: how the examples of a block become elements in lanes, and back.

A vector holds one element of many examples. An array has its examples in one of two layouts:

* As *columns*: examples stand side by side, example i of element e at ``e * N + i``. Each vector is
  one load, at a distance between elements that is known when the kernel is called.
* As *rows*: an example is a row of memory. Loading it lane by lane would touch a cache line for
  each. Instead square blocks are loaded row by row and transposed in registers, by exchanges of
  ever smaller halves (J. O. Eklundh, "A fast computer method for matrix transposing", IEEE
  Transactions on Computers C-21, 1972). The functions that do so are the same for all kernels, so
  they are compiled once; kernels call them by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache

from lanewise.codegen import rows
from lanewise.codegen.addresses import (
    Affine,
    Index,
    address,
    as_index,
    load_number,
    load_row,
    size_of,
    store_row,
)
from lanewise.codegen.arrays import Array, Given, Stored, items_of
from lanewise.codegen.builder import Builder
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.llvm import provide
from lanewise.codegen.loops import Loops
from lanewise.codegen.numbers import Number, kinds_of
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import Vec

#: Rows of at most so many bytes in all are moved to stand side by side.
MOST_ACROSS = 4 << 20
#: So many bytes ahead of what is read of a column is fetched; more of many would not be kept.
AHEAD = 512


def is_columns(x: Given) -> bool:
    """Whether the examples of an operand or a result stand side by side."""
    return any([isinstance(stride, Vec) for stride in x.strides])


def packed(k: Builder, x: Given, row: Affine, stop: Vec, uses: int = 2) -> Array:
    """Return the examples of a block as an array in lanes.

    An example is columns, or a row without gaps; `row` are their numbers, one in each lane, and
    `stop` that behind the last: lanes from there on get anything. Elements of columns lie far
    apart, so each is loaded once: at its place in the only operation, or where there are more
    `uses`, to registers or local memory.
    """
    if is_columns(x):
        # Of many columns those of the examples to come are fetched ahead, which processors do by
        # themselves for some dozens only. Of few, not all may be read: loads of the others are
        # dropped later, but what is fetched ahead is fetched.
        ahead = 0 if is_small(x.shape) else AHEAD

        def at(*i: Index) -> Number:
            return load_number(k.e, x.pointer, x.offset(*i), x.dtype, k.mask, ahead)

        return k.fusion.settled(k.lazy(x.dtype, x.shape, at, (x,)), uses)
    if rows.fits(k, x):
        return k.elements(x.dtype, x.shape, rows.load(k, x, row, stop))
    result = k.storage.local(x.dtype, x.shape)
    _move(k, "pack", x, result, row, stop)
    if not is_small(x.shape):
        return result
    return k.elements(x.dtype, x.shape, [result.load(place) for place in range(x.size)])


def unpack(k: Builder, value: Array, target: Given, row: Affine, stop: Vec) -> None:
    """Write the examples of a block, in lanes, to where they lie in memory.

    The mask at hand must be that of the lanes before `stop`.
    """
    if is_columns(target):
        k.loops.each(target.shape, lambda *i: target.store(i, value.at(*i), k.mask))
        return
    if rows.fits(k, target):
        rows.store(k, items_of(value), target, row, stop)
        return
    if not isinstance(value, Stored) or value.buffer.beside > 1:
        value = k.storage.materialized(value)
    _move(k, "unpack", target, value, row, stop)


def across(k: Builder, x: Array) -> Array:
    """Return an array whose rows stand side by side in memory, so that lanes can read across them.

    It is read outside of the lanes: all rows are moved at once.
    """
    e = k.e
    kinds = kinds_of(x.dtype)
    count, length = x.shape[0], x.size // max(x.shape[0], 1)
    if not isinstance(x, Given) or length < 2 or len(kinds) == 2 or x.varies:
        return x
    size, side = size_of(kinds[0]), rows.side_of(e, kinds[0])
    width = -(-count // side) * side
    if width * length * size > MOST_ACROSS:
        return x
    with k.loops.ahead(not x.lead):
        columns = k.storage.local(x.dtype, (*x.shape[1:], width))
        source = address(e, x.pointer, x.offset(*(0,) * x.ndim))
        for first in k.loops.range(0, width, side):
            at = as_index(e, first)
            row = address(e, source, at * (length * size)), length * size
            place = [address(e, columns.buffer.pointers[0], at * size)]
            _call(e, "pack", kinds[0], row, count - 1 - at, place, width * size, length)
    return k.lazy(x.dtype, x.shape, lambda j, *i: columns.at(*i, j), (columns,), ready=True)


def _move(k: Builder, verb: str, x: Given, columns: Stored, row: Affine, stop: Vec) -> None:
    """Call what moves a block between its rows in memory and its columns in lanes."""
    e = k.e
    kind = kinds_of(x.dtype)[0]
    size, length = size_of(kind), x.size * x.dtype.itemsize
    for lane in range(0, e.lanes, rows.side_of(e, kind)):
        first = as_index(e, row.base) + lane
        last = stop - 1
        # Rows behind the last are not read: the last is, again and again. Nor are they written.
        start = first.least(last) if verb == "pack" else first
        place = address(e, x.pointer, start * length), length
        pointers = [address(e, pointer, lane * size) for pointer in columns.buffer.pointers]
        _call(e, verb, kind, place, last - start, pointers, e.lanes * size, x.size)


def _call(
    e: Emitter,
    verb: str,
    kind: str,
    row: tuple[str, int],
    last: Vec,
    columns: Sequence[str],
    step: int,
    count: int,
) -> None:
    """Call a function of this module; see `library`. The first row is a place and its bytes."""
    name = require(f"{verb}{'2' * (len(columns) - 1)}", 8 * size_of(kind), rows.side_of(e, kind))
    given = [("ptr", row[0]), ("i64", row[1]), ("i64", last.parts[0]), ("ptr", columns[0])]
    given += [("i64", step), ("i64", count), *[("ptr", column) for column in columns[1:]]]
    e.external("void", name, *given)


@cache
def require(verb: str, bits: int, side: int) -> str:
    """Make sure that a function of this module can be called from kernels; return its name."""
    name = f"lw_{verb}_{bits}x{side}"
    provide(library(verb, bits, side, name), name)
    return name


def library(verb: str, bits: int, side: int, name: str) -> str:
    """Return the text of a function that moves a block of `side` rows to columns, or back.

    It takes the first row, the bytes from row to row, the number of the last valid row, where the
    columns begin, the bytes from column to column, how many there are, and of complex numbers where
    the columns of the imaginary parts begin.
    """
    module = Module()
    e, kind = Emitter(module, side, 1), f"i{bits}"
    columns = ("%columns", "%others")[: 2 if verb.endswith("2") else 1]
    width, size = len(columns), size_of(kind)
    count = e.uniform("i64", "%count") * width
    last = e.uniform("i64", "%last")
    stride, step = e.uniform("i64", "%stride"), e.uniform("i64", "%step")
    packs = verb.startswith("pack")
    numbers = [last.least(lane) if packs else e.constant("i64", lane) for lane in range(side)]
    rows = [address(e, "%rows", stride * number) for number in numbers]

    def column(first: Vec, j: int, rest: Vec | None = None) -> str:
        """Return where the column stands that is `j` behind `first`, a multiple of the lanes.

        With `rest`, the number of those that are there, it is one of them.
        """
        behind = e.constant("i64", j // width)
        if rest is not None:
            behind = behind.least((rest if width == 1 else rest >> 1) - 1)
        number = (first if width == 1 else first >> 1) + behind
        return address(e, columns[j % width], number * step)

    def pack(first: Vec, rest: Vec | None) -> None:
        lanes = "" if rest is None else (e.lane_index() < rest).parts[0]
        found = [load_row(e, kind, side, address(e, row, first * size), lanes) for row in rows]
        for j, moved in enumerate(transposed(e, kind, found)):
            with nullcontext() if rest is None else e.when(rest > j):
                store_row(e, kind, side, column(first, j), moved)

    def unpack(first: Vec, rest: Vec | None) -> None:
        # What is read beyond the end, again of the last columns, is not written.
        found = [load_row(e, kind, side, column(first, j, rest)) for j in range(side)]
        inside = None if rest is None else e.lane_index() < rest
        for lane, moved in enumerate(transposed(e, kind, found)):
            valid = last >= lane
            lanes = (valid.spread() if inside is None else inside & valid).parts[0]
            store_row(e, kind, side, address(e, rows[lane], first * size), moved, lanes)

    move = pack if packs else unpack
    whole = count - (count & (side - 1))
    for first in Loops(e).range(0, whole, side):
        move(first, None)
    rest = count - whole
    with e.when(rest > 0):
        move(whole, rest)
    e.do("ret void")
    arguments = ["ptr %rows", "i64 %stride", "i64 %last", "ptr %columns", "i64 %step", "i64 %count"]
    arguments += ["ptr %others"][: width - 1]
    module.functions[name] = e.finish(name, "void", arguments, "nounwind")
    return module.text()


def transposed(e: Emitter, kind: str, rows: Sequence[str]) -> list[str]:
    """Return the columns of a square block, given its rows: as many vectors as each has lanes."""
    count = len(rows)
    blocks = list(rows)
    half = count // 2
    while half:
        # Elements whose place has the bit `half` change places with those of the partner row.
        low = [j if not j & half else count + (j ^ half) for j in range(count)]
        high = [j + half if not j & half else count + j for j in range(count)]
        for i in range(count):
            if not i & half:
                pair = blocks[i], blocks[i | half]
                blocks[i] = e.shuffled(kind, count, low, *pair)
                blocks[i | half] = e.shuffled(kind, count, high, *pair)
        half //= 2
    return blocks
