"""Blocks of rows to columns and back: how examples in memory become elements in lanes.

An example is a row of memory; a vector holds one element of many examples. Loading it lane by lane
would touch a cache line for each. Instead square blocks are loaded row by row and transposed in
registers, by exchanges of ever smaller halves (J. O. Eklundh, "A fast computer method for matrix
transposing", IEEE Transactions on Computers C-21, 1972). The functions that do so are the same for
all kernels, so they are compiled once; kernels call them by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from llvmlite import binding

from lanewise.codegen.addresses import Affine, as_index, size_of
from lanewise.codegen.arrays import Array, Given, Stored
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.llvm import Code, machine
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.numbers import kinds_of
from lanewise.codegen.vector import LLVM, Vec

#: Rows of at most so many bytes in all are moved to stand side by side.
MOST_ACROSS = 4 << 20
_ARGUMENTS = ["ptr %rows", "i64 %stride", "i64 %last", "ptr %columns", "i64 %step", "i64 %count"]


def packed(k: Lowering, x: Given, row: Affine, stop: Vec) -> Array:
    """Return the examples of a block as an array in lanes.

    Parameters
    ----------
    x
        One example: its memory is a row, without gaps.
    row
        The numbers of the examples, one in each lane.
    stop
        The number behind the last example; lanes from there on get that of the last.
    """
    result = k.local(x.dtype, x.shape)
    _move(k, "pack", x, result, row, stop)
    if not k.is_small(x.shape):
        return result
    return k.elements(x.dtype, x.shape, [result.load(place) for place in range(x.size)])


def unpack(k: Lowering, value: Array, target: Given, row: Affine, stop: Vec) -> None:
    """Write the examples of a block, in lanes, to their rows of memory."""
    if not isinstance(value, Stored):
        value = k.materialized(value)
    _move(k, "unpack", target, value, row, stop)


def across(k: Lowering, x: Array) -> Array:
    """Return an array whose rows stand side by side in memory, so that lanes can read across them.

    It is read outside of the lanes: all rows are moved at once.
    """
    e = k.e
    kinds = kinds_of(x.dtype)
    rows, length = x.shape[0], x.size // max(x.shape[0], 1)
    if not isinstance(x, Given) or length < 2 or len(kinds) == 2 or x.varies:
        return x
    size = size_of(kinds[0])
    side = min(e.group, machine().register_bits // (8 * size))
    width = -(-rows // side) * side
    if width * length * size > MOST_ACROSS:
        return x
    with k.ahead(not x.lead):
        columns = k.local(x.dtype, (*x.shape[1:], width))
        name = require("pack", 8 * size, side)
        e.module.declare(name, "void", "ptr", "i64", "i64", "ptr", "i64", "i64")
        start = as_index(e, x.offset(*(0,) * x.ndim)).parts[0]
        source = e.write(f"getelementptr i8, ptr {x.pointer}, i64 {start}")
        for first in k.range(0, width, side):
            at = as_index(e, first)
            row = e.write(f"getelementptr i8, ptr {source}, i64 {(at * (length * size)).parts[0]}")
            place = e.write(
                f"getelementptr i8, ptr {columns.buffer.pointers[0]}, i64 {(at * size).parts[0]}"
            )
            behind = (rows - 1 - at).parts[0]
            e.do(
                f"call void @{name}(ptr {row}, i64 {length * size}, i64 {behind}, ptr {place}, "
                f"i64 {width * size}, i64 {length})"
            )
    return k.lazy(x.dtype, x.shape, lambda j, *i: columns.at(*i, j), (columns,), ready=True)


def _move(k: Lowering, verb: str, rows: Given, columns: Stored, row: Affine, stop: Vec) -> None:
    """Call what moves a block between its rows in memory and its columns in lanes."""
    e = k.e
    kinds = kinds_of(rows.dtype)
    size = size_of(kinds[0])
    length = rows.size * rows.dtype.itemsize
    side = min(e.group, machine().register_bits // (8 * size))
    if len(kinds) == 2:  # real and imaginary parts go to memory of their own
        verb += "2"
    name = require(verb, 8 * size, side)
    extra = ["ptr"] * (len(kinds) - 1)
    e.module.declare(name, "void", "ptr", "i64", "i64", "ptr", "i64", "i64", *extra)
    for lane in range(0, e.lanes, side):
        first = as_index(e, row.base) + lane
        last = stop - 1
        # Rows behind the last are not read: the last is, again and again. Nor are they written.
        start = first.least(last) if verb[0] == "p" else first
        at = (start * length).parts[0]
        pointer = e.write(f"getelementptr i8, ptr {rows.pointer}, i64 {at}")
        places = [
            e.write(f"getelementptr i8, ptr {where}, i64 {lane * size}")
            for where in columns.buffer.pointers
        ]
        behind = (last - start).parts[0]
        given = f"ptr {pointer}, i64 {length}, i64 {behind}, ptr {places[0]}, i64 {e.lanes * size}"
        more = "".join([f", ptr {place}" for place in places[1:]])
        e.do(f"call void @{name}({given}, i64 {rows.size}{more})")


@cache
def require(verb: str, bits: int, side: int) -> str:
    """Make sure that a function of this module can be called from kernels; return its name."""
    name = f"lw_{verb}_{bits}x{side}"
    code = Code(library(verb, bits, side, name))
    binding.add_symbol(name, code.address(name))
    _kept.append(code)
    return name


_kept: list[Code] = []


def library(verb: str, bits: int, side: int, name: str) -> str:
    """Return the text of a function that moves a block of `side` rows to columns, or back.

    It takes the first row, the bytes from row to row, the number of the last valid row, where the
    columns begin, the bytes from column to column, how many there are, and of complex numbers where
    the columns of the imaginary parts begin.
    """
    module = Module()
    e = Emitter(module, side, 1)
    k = _Loops(e)
    kind = f"i{bits}"
    width = 2 if verb.endswith("2") else 1
    count = e.uniform("i64", "%count") * width
    last = e.uniform("i64", "%last")
    stride, step = e.uniform("i64", "%stride"), e.uniform("i64", "%step")
    rows = []
    for lane in range(side):
        number = last.least(lane) if verb.startswith("pack") else e.constant("i64", lane)
        rows.append(e.write(f"getelementptr i8, ptr %rows, i64 {(stride * number).parts[0]}"))
    move = _pack if verb.startswith("pack") else _unpack
    columns = ["%columns", "%others"][:width]
    whole = count - (count & (side - 1))
    for first in k.range(0, whole, side):
        move(e, kind, rows, columns, step, first, None, last)
    rest = count - whole
    with e.when(rest > 0):
        move(e, kind, rows, columns, step, whole, rest, last)
    e.do("ret void")
    arguments = [*_ARGUMENTS, *["ptr %others"][: width - 1]]
    module.functions[name] = e.finish(name, "void", arguments, "nounwind")
    return module.text()


class _Loops(Lowering):
    """Loops only."""

    def fail(self, condition: Vec) -> None:
        raise NotImplementedError

    def poll(self, every: bool = True) -> None:
        raise NotImplementedError


def _column(e: Emitter, columns: Sequence[str], step: Vec, first: Vec, j: int) -> str:
    width = len(columns)
    number = (first if width == 1 else first >> 1) + j // width
    at = (number * step).parts[0]
    return e.write(f"getelementptr i8, ptr {columns[j % width]}, i64 {at}")


def _pack(
    e: Emitter,
    kind: str,
    rows: Sequence[str],
    columns: Sequence[str],
    step: Vec,
    first: Vec,
    rest: Vec | None,
    last: Vec,
) -> None:
    del last
    type_, mask_type, size = e.type(kind, True), e.type("b", True), size_of(kind)
    name = f"llvm.masked.load.v{e.group}{kind}.p0"
    e.module.declare(name, type_, "ptr", "i32", mask_type, type_)
    block = []
    lanes = None if rest is None else (e.lane_index() < rest).parts[0]
    for row in rows:
        where = e.write(f"getelementptr {LLVM[kind]}, ptr {row}, i64 {first.parts[0]}")
        if lanes is None:
            block.append(e.write(f"load {type_}, ptr {where}, align {size}"))
        else:
            block.append(
                e.write(
                    f"call {type_} @{name}(ptr {where}, i32 {size}, {mask_type} {lanes}, "
                    f"{type_} zeroinitializer)"
                )
            )
    for j, column in enumerate(transposed(e, kind, block)):
        store = partial_store(e, type_, column, size)
        _if_within(e, rest, j, lambda j=j, s=store: s(_column(e, columns, step, first, j)))


def _unpack(
    e: Emitter,
    kind: str,
    rows: Sequence[str],
    columns: Sequence[str],
    step: Vec,
    first: Vec,
    rest: Vec | None,
    last: Vec,
) -> None:
    type_, mask_type, size = e.type(kind, True), e.type("b", True), size_of(kind)
    name = f"llvm.masked.store.v{e.group}{kind}.p0"
    e.module.declare(name, "void", type_, "ptr", "i32", mask_type)
    block = []
    for j in range(e.group):
        number = e.constant("i64", j)
        if rest is not None:  # what is read beyond the end is not written
            number = number.least(rest - 1)
        width = len(columns)
        if width == 1:
            at = ((first + number) * step).parts[0]
            where = e.write(f"getelementptr i8, ptr {columns[0]}, i64 {at}")
        else:
            place = first + number
            at = ((place >> 1) * step).parts[0]
            odd = (place & 1).ne(0).parts[0]
            base = e.write(f"select i1 {odd}, ptr {columns[1]}, ptr {columns[0]}")
            where = e.write(f"getelementptr i8, ptr {base}, i64 {at}")
        block.append(e.write(f"load {type_}, ptr {where}, align {size}"))
    inside = None if rest is None else e.lane_index() < rest
    for lane, row in enumerate(transposed(e, kind, block)):
        where = e.write(f"getelementptr {LLVM[kind]}, ptr {rows[lane]}, i64 {first.parts[0]}")
        valid = last >= lane
        mask = (valid.spread() if inside is None else inside & valid).parts[0]
        e.do(f"call void @{name}({type_} {row}, ptr {where}, i32 {size}, {mask_type} {mask})")


def partial_store(e: Emitter, type_: str, value: str, size: int):
    """Return what stores a vector at a place."""
    return lambda where: e.do(f"store {type_} {value}, ptr {where}, align {size}")


def _if_within(e: Emitter, rest: Vec | None, j: int, write) -> None:
    if rest is None:
        write()
        return
    with e.when(rest > j):
        write()


def transposed(e: Emitter, kind: str, rows: Sequence[str]) -> list[str]:
    """Return the columns of a square block, given its rows: as many vectors as each has lanes."""
    count = len(rows)
    type_ = f"<{count} x {LLVM[kind]}>"
    index = f"<{count} x i32>"
    blocks = list(rows)
    half = count // 2
    while half:
        # Elements whose place has the bit `half` change places with those of the partner row.
        low = [j if not j & half else count + (j ^ half) for j in range(count)]
        high = [j + half if not j & half else count + j for j in range(count)]
        masks = [f"{index} <{', '.join(f'i32 {j}' for j in order)}>" for order in (low, high)]
        for i in range(count):
            if not i & half:
                pair = f"{type_} {blocks[i]}, {type_} {blocks[i | half]}"
                blocks[i] = e.write(f"shufflevector {pair}, {masks[0]}")
                blocks[i | half] = e.write(f"shufflevector {pair}, {masks[1]}")
        half //= 2
    return blocks
