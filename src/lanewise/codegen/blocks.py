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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from llvmlite import binding

from lanewise.codegen import rows
from lanewise.codegen.addresses import Affine, as_index, load_number, size_of
from lanewise.codegen.arrays import Array, Given, Stored
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.llvm import Code, machine
from lanewise.codegen.loops import Loops
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.numbers import Number, kinds_of
from lanewise.codegen.vector import LLVM, Vec

#: Rows of at most so many bytes in all are moved to stand side by side.
MOST_ACROSS = 4 << 20
#: So many bytes ahead of what is read of a column is fetched; more of many would not be kept.
AHEAD = 512
_ARGUMENTS = ["ptr %rows", "i64 %stride", "i64 %last", "ptr %columns", "i64 %step", "i64 %count"]


def is_columns(x: Given) -> bool:
    """Whether the examples of an operand or a result stand side by side."""
    return any([isinstance(stride, Vec) for stride in x.strides])


def packed(k: Lowering, x: Given, row: Affine, stop: Vec, uses: int = 2) -> Array:
    """Return the examples of a block as an array in lanes.

    Parameters
    ----------
    x
        One example: columns, or a row without gaps.
    row
        The numbers of the examples, one in each lane.
    stop
        The number behind the last example. Of rows, lanes from there on get that of the last; of
        columns, they get zeros.
    uses
        How many operations use them. Elements of columns lie far apart, so each is loaded once: at
        its place in the only operation, or to registers or local memory.
    """
    if is_columns(x):
        return k.settled(k.lazy(x.dtype, x.shape, _column(k, x), (x,)), uses)
    if rows.fits(k, x):
        return k.elements(x.dtype, x.shape, rows.load(k, x, row, stop))
    result = k.local(x.dtype, x.shape)
    _move(k, "pack", x, result, row, stop)
    if not k.is_small(x.shape):
        return result
    return k.elements(x.dtype, x.shape, [result.load(place) for place in range(x.size)])


def unpack(k: Lowering, value: Array, target: Given, row: Affine, stop: Vec) -> None:
    """Write the examples of a block, in lanes, to where they lie in memory.

    The mask at hand must be that of the lanes before `stop`.
    """
    if is_columns(target):
        k.each(target.shape, lambda *i: target.store(i, value.at(*i), k.mask))
        return
    if rows.fits(k, target):
        rows.store(k, k.items(value), target, row, stop)
        return
    if not isinstance(value, Stored) or value.buffer.beside > 1:
        value = k.materialized(value)
    _move(k, "unpack", target, value, row, stop)


def _column(k: Lowering, x: Given) -> Callable[..., Number]:
    """Return what loads an element of columns.

    Of many columns those of the examples to come are fetched ahead, which processors do by
    themselves for some dozens only. Of few, not all may be read: loads of the others are dropped
    later, but what is fetched ahead is fetched.
    """
    ahead = 0 if k.is_small(x.shape) else AHEAD
    return lambda *i: load_number(k.e, x.pointer, x.offset(*i), x.dtype, x.active(), ahead)


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


def _move(k: Lowering, verb: str, x: Given, columns: Stored, row: Affine, stop: Vec) -> None:
    """Call what moves a block between its rows in memory and its columns in lanes."""
    e = k.e
    kinds = kinds_of(x.dtype)
    size = size_of(kinds[0])
    length = x.size * x.dtype.itemsize
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
        pointer = e.write(f"getelementptr i8, ptr {x.pointer}, i64 {at}")
        places = [
            e.write(f"getelementptr i8, ptr {where}, i64 {lane * size}")
            for where in columns.buffer.pointers
        ]
        behind = (last - start).parts[0]
        given = f"ptr {pointer}, i64 {length}, i64 {behind}, ptr {places[0]}, i64 {e.lanes * size}"
        more = "".join([f", ptr {place}" for place in places[1:]])
        e.do(f"call void @{name}({given}, i64 {x.size}{more})")


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
    k = Loops(e)
    packs = verb.startswith("pack")
    width = 2 if verb.endswith("2") else 1
    count = e.uniform("i64", "%count") * width
    last = e.uniform("i64", "%last")
    stride, step = e.uniform("i64", "%stride"), e.uniform("i64", "%step")
    rows = []
    for lane in range(side):
        number = last.least(lane) if packs else e.constant("i64", lane)
        rows.append(e.write(f"getelementptr i8, ptr %rows, i64 {(stride * number).parts[0]}"))
    block = _Block(e, f"i{bits}", tuple(rows), ("%columns", "%others")[:width], step, last)
    move = block.pack if packs else block.unpack
    whole = count - (count & (side - 1))
    for first in k.range(0, whole, side):
        move(first, None)
    rest = count - whole
    with e.when(rest > 0):
        move(whole, rest)
    e.do("ret void")
    arguments = [*_ARGUMENTS, *["ptr %others"][: width - 1]]
    module.functions[name] = e.finish(name, "void", arguments, "nounwind")
    return module.text()


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of memory, as many as a vector has lanes, and the columns of their elements.

    Attributes
    ----------
    kind
        Of the elements.
    rows
        Where each row begins.
    columns
        Where the first column begins; of complex numbers, that of the real and of the imaginary
        parts, which take turns in the rows.
    step
        Bytes from a column to the next.
    last
        The number of the last row that is valid.
    """

    e: Emitter
    kind: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    step: Vec
    last: Vec

    @property
    def type(self) -> str:
        """LLVM's type of a row or a column of the block."""
        return self.e.type(self.kind, True)

    def pack(self, first: Vec, rest: Vec | None) -> None:
        """Write the move to columns of the elements from `first` on: all that fit, or the rest."""
        e, type_, size = self.e, self.type, size_of(self.kind)
        mask_type = e.type("b", True)
        name = f"llvm.masked.load.v{e.group}{self.kind}.p0"
        e.module.declare(name, type_, "ptr", "i32", mask_type, type_)
        lanes = None if rest is None else (e.lane_index() < rest).parts[0]
        found = []
        for row in self.rows:
            where = e.write(f"getelementptr {LLVM[self.kind]}, ptr {row}, i64 {first.parts[0]}")
            text = f"load {type_}, ptr {where}, align {size}"
            if lanes is not None:
                taken = f"ptr {where}, i32 {size}, {mask_type} {lanes}"
                text = f"call {type_} @{name}({taken}, {type_} zeroinitializer)"
            found.append(e.write(text))
        for j, column in enumerate(transposed(e, self.kind, found)):

            def write(j: int = j, column: str = column) -> None:
                e.do(f"store {type_} {column}, ptr {self._column(first, j)}, align {size}")

            self._within(rest, j, write)

    def unpack(self, first: Vec, rest: Vec | None) -> None:
        """Write the move to rows of the elements from `first` on: all that fit, or the rest."""
        e, type_, size = self.e, self.type, size_of(self.kind)
        mask_type = e.type("b", True)
        name = f"llvm.masked.store.v{e.group}{self.kind}.p0"
        e.module.declare(name, "void", type_, "ptr", "i32", mask_type)
        found = []
        for j in range(e.group):
            number = e.constant("i64", j)
            if rest is not None:  # what is read beyond the end is not written
                number = number.least(rest - 1)
            where = self._column(first, j) if rest is None else self._some_column(first + number)
            found.append(e.write(f"load {type_}, ptr {where}, align {size}"))
        inside = None if rest is None else e.lane_index() < rest
        for lane, row in enumerate(transposed(e, self.kind, found)):
            where = e.write(
                f"getelementptr {LLVM[self.kind]}, ptr {self.rows[lane]}, i64 {first.parts[0]}"
            )
            valid = self.last >= lane
            mask = (valid.spread() if inside is None else inside & valid).parts[0]
            e.do(f"call void @{name}({type_} {row}, ptr {where}, i32 {size}, {mask_type} {mask})")

    def _column(self, first: Vec, j: int) -> str:
        """Return where the column stands that is `j` behind `first`, a multiple of the lanes."""
        width = len(self.columns)
        number = (first if width == 1 else first >> 1) + j // width
        at = (number * self.step).parts[0]
        return self.e.write(f"getelementptr i8, ptr {self.columns[j % width]}, i64 {at}")

    def _some_column(self, number: Vec) -> str:
        """Return where a column stands, by its number among all."""
        e, base = self.e, self.columns[0]
        if len(self.columns) == 2:
            odd = (number & 1).ne(0).parts[0]
            base = e.write(f"select i1 {odd}, ptr {self.columns[1]}, ptr {base}")
            number = number >> 1
        return e.write(f"getelementptr i8, ptr {base}, i64 {(number * self.step).parts[0]}")

    def _within(self, rest: Vec | None, j: int, write: Callable[[], None]) -> None:
        if rest is None:
            write()
            return
        with self.e.when(rest > j):
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
