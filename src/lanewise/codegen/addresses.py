"""Where numbers lie: loading and storing them: one place, a row, or a place for each lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from lanewise.codegen.emitter import Emitter
from lanewise.codegen.memory import LINE
from lanewise.codegen.numbers import Number, kinds_of, of_vecs, vecs
from lanewise.codegen.processor import machine
from lanewise.codegen.vector import BITS, LLVM, Vec, is_float
from lanewise.ir.dims import Dim

#: How many bytes ahead of what is read the caches are told to fetch.
#:
#: Processors see by themselves that memory is read in order, but not beyond a page. Milliseconds of
#: one thread by the distance, for dot products of rows of 256 bytes: none 1.88 to 2.2, 512 bytes
#: 2.04, 1024 1.96, 2048 1.91, 4096 2.11. Where another program uses the memory as well, it is 4.7,
#: 3.7, 3.4, 3.3 and 4.1.
AHEAD = 2048


class Affine(Vec):
    """The integers ``base + step * lane``: an index that lanes take side by side.

    Sums with uniform integers and products with known ones stay so; the vector of them is written
    only where somebody needs it.
    """

    __slots__ = ("base", "step")

    def __init__(self, e: Emitter, base: Vec, step: int) -> None:
        self.e, self.kind, self.varying, self.value = e, base.kind, True, None
        self.base, self.step = base, step
        self.span = None

    @property
    def parts(self) -> tuple[str, ...]:  # ty: ignore[incompatible-property-override]
        lanes = self.e.lane_index(self.kind)
        steps = lanes if self.step == 1 else lanes * self.step
        return (self.base.spread() + steps).parts

    def __add__(self, other: Vec | float | bool) -> Vec:
        if isinstance(other, Dim):
            other = self.operand(other)
        if isinstance(other, Affine):
            return Affine(self.e, self.base + other.base, self.step + other.step)
        if isinstance(other, Vec) and other.varying:
            return Vec.__add__(self, other)
        return Affine(self.e, self.base + other, self.step)

    __radd__ = __add__

    def __sub__(self, other: Vec | float | bool) -> Vec:
        return self + -other

    def __mul__(self, other: Vec | float | bool) -> Vec:
        other = self.operand(other)
        known = other.value
        if known is None:
            return Vec.__mul__(self, other)
        return Affine(self.e, self.base * known, self.step * int(known))

    __rmul__ = __mul__


#: An index or an offset: known, the same for all lanes, or another in each. A size that a kernel is
#: told of is a `Dim` until it meets one of these: a Vec that holds it.
Index: TypeAlias = int | Vec


def as_index(e: Emitter, index: Index | Dim) -> Vec:
    if isinstance(index, Dim):
        return e.size(index)
    return e.constant("i64", index) if isinstance(index, int) else index


def plus(left: Index, right: Index) -> Index:
    if isinstance(left, int) and left == 0:
        return right
    if isinstance(right, int):
        return left if right == 0 else left + right
    if not isinstance(left, Vec) or isinstance(right, Affine):
        return right + left
    return left + right


def times(left: Index, right: Index) -> Index:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, int):
            if one in (0, 1):
                return other if one else 0
            return other * one
    return left * right


def linear(indices: Sequence[Index], strides: Sequence[Index]) -> Index:
    """Return the sum of indices times strides."""
    total: Index = 0
    for index, stride in zip(indices, strides, strict=True):
        total = plus(total, times(index, stride))
    return total


def size_of(kind: str) -> int:
    """Return the bytes that a number of a kind takes in memory."""
    return max(BITS[kind] // 8, 1)


def address(e: Emitter, pointer: str, offset: Index | Dim) -> str:
    """Return the pointer that is so many bytes behind another one."""
    if isinstance(offset, int) and offset == 0:
        return pointer
    return e.write(f"getelementptr i8, ptr {pointer}, i64 {as_index(e, offset).parts[0]}")


def load(
    e: Emitter, pointer: str, offset: Index, kind: str, mask: Vec | None, ahead: int = 0
) -> Vec:
    """Load numbers at byte offsets from a pointer; lanes off the mask load nothing, and give zeros.

    A uniform offset gives a uniform number. What lies so many bytes `ahead` is likely to be read
    soon, too.
    """
    if isinstance(offset, Dim):
        offset = as_index(e, offset)
    if kind == "b":
        return load(e, pointer, offset, "u8", mask, ahead).ne(0)
    size, type_ = size_of(kind), e.type(kind, True)
    if isinstance(offset, int) or not offset.varying:
        where = address(e, pointer, offset)
        return e.uniform(kind, e.write(f"load {LLVM[kind]}, ptr {where}, align {size}"))
    if isinstance(offset, Affine) and offset.step == size:
        places = _rows(e, pointer, offset, mask, 1, ahead)
        parts = [load_row(e, kind, e.group, where, lanes) for where, lanes in places]
    elif mask is not None and mask.varying and not machine().masks:
        parts = [
            _one_by_one(e, kind, _in_place(e, where, lanes, False))
            for where, lanes in _scattered(e, pointer, offset, mask)
        ]
    else:
        name = f"llvm.masked.gather.{_suffix(e.group, kind)}.v{e.group}p0"
        parts = [
            e.external(type_, name, where, ("i32", size), lanes, (type_, "zeroinitializer"))
            for where, lanes in _scattered(e, pointer, offset, mask)
        ]
    return Vec(e, kind, True, tuple(parts))


def fetch(e: Emitter, where: str, ahead: int) -> None:
    """Have the caches fetch what lies ahead of a place; that need not be memory of anybody's."""
    at = ("ptr", address(e, where, ahead))
    e.external("void", "llvm.prefetch.p0", at, ("i32", 0), ("i32", 3), ("i32", 1))


def store(e: Emitter, pointer: str, offset: Index, value: Vec, mask: Vec | None) -> None:
    """Store numbers at byte offsets from a pointer, where the mask holds.

    At a uniform offset the value must be uniform, and the mask is not looked at.
    """
    if isinstance(offset, Dim):
        offset = as_index(e, offset)
    if value.kind == "b":
        value = value.to("u8")
    kind, size = value.kind, size_of(value.kind)
    if isinstance(offset, int) or not offset.varying:
        if value.varying:
            raise ValueError("numbers that vary need a place for each lane")
        where = address(e, pointer, offset)
        e.do(f"store {LLVM[kind]} {value.parts[0]}, ptr {where}, align {size}")
        return
    parts = value.spread().parts
    if isinstance(offset, Affine) and offset.step == size:
        for part, (where, lanes) in zip(parts, _rows(e, pointer, offset, mask, 1), strict=True):
            store_row(e, kind, e.group, where, _held(e, kind, part) if lanes else part, lanes)
        return
    name = f"llvm.masked.scatter.{_suffix(e.group, kind)}.v{e.group}p0"
    for part, (where, lanes) in zip(parts, _scattered(e, pointer, offset, mask), strict=True):
        if mask is not None and mask.varying and not machine().masks:
            _store_one_by_one(e, kind, _in_place(e, where, lanes, True), part)
            continue
        e.external("void", name, (e.type(kind, True), part), where, ("i32", size), lanes)


def _scattered(
    e: Emitter, pointer: str, offset: Vec, mask: Vec | None
) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Give a place for each lane of each part of a Vec, and which lanes are used; with types."""
    lanes = (mask or e.constant("b", True)).spread().parts
    for part, own in zip(offset.spread().parts, lanes, strict=True):
        at = e.write(f"getelementptr i8, ptr {pointer}, {e.type('i64', True)} {part}")
        yield (f"<{e.group} x ptr>", at), (e.type("b", True), own)


def _in_place(
    e: Emitter, where: tuple[str, str], lanes: tuple[str, str], is_written: bool
) -> list[str]:
    """Return the place of each lane; of those that are not used one that nobody else has."""
    spare = e.spare(is_written)
    at = e.write(f"select {' '.join(lanes)}, {' '.join(where)}, {where[0]} {spare}")
    return [e.write(f"extractelement {where[0]} {at}, i32 {lane}") for lane in range(e.group)]


def _one_by_one(e: Emitter, kind: str, places: Sequence[str]) -> str:
    """Return a vector of what lies at some places."""
    type_, row = LLVM[kind], "poison"
    for lane, place in enumerate(places):
        found = e.write(f"load {type_}, ptr {place}, align {size_of(kind)}")
        row = e.write(f"insertelement {e.type(kind, True)} {row}, {type_} {found}, i32 {lane}")
    return row


def _store_one_by_one(e: Emitter, kind: str, places: Sequence[str], row: str) -> None:
    """Store the lanes of a vector at some places."""
    for lane, place in enumerate(places):
        found = e.write(f"extractelement {e.type(kind, True)} {row}, i32 {lane}")
        e.do(f"store {LLVM[kind]} {found}, ptr {place}, align {size_of(kind)}")


def _held(e: Emitter, kind: str, part: str) -> str:
    """Return what is stored under a mask so that LLVM keeps the store and what narrowed it apart.

    Where the mask turns out to have a single known lane, LLVM 22 writes all bytes of the wide lane
    that was narrowed, and so over what lies behind. (A row of 33 bytes, of integers of 32 bits.)
    """
    if is_float(kind) or BITS[kind] == 64 or "+avx512f" not in machine().features:
        return part
    lanes = e.group
    room = max(lanes, 128 // BITS[kind])  # of a register
    wide = f"<{room} x {LLVM[kind]}>"
    part = e.shuffled(kind, lanes, [min(lane, lanes - 1) for lane in range(room)], part)
    part = e.write(f'call {wide} asm "", "=v,0"({wide} {part})')
    return e.shuffled(kind, room, range(lanes), part)


# --- rows -----------------------------------------------------------------------------------------


def _rows(
    e: Emitter, pointer: str, offset: Affine, mask: Vec | None, width: int, ahead: int = 0
) -> Iterator[tuple[str, str]]:
    """Give where the row of each part of a Vec begins, of `width` numbers a lane, and its mask."""
    twice = [lane // width for lane in range(width * e.group)]
    for part in range(e.parts):
        distance = part * e.group * offset.step
        where = address(e, pointer, plus(offset.base, distance))
        if ahead and distance % LINE == 0:
            fetch(e, where, ahead)
        lanes = ""
        if mask is not None:
            lanes = e.shuffled("b", e.group, twice, mask.spread().parts[part])
        yield where, lanes


def load_row(e: Emitter, kind: str, count: int, where: str, lanes: str = "") -> str:
    """Return a vector of so many numbers in a row, zeros where `lanes` are given and are not on."""
    type_, size = f"<{count} x {LLVM[kind]}>", size_of(kind)
    if not lanes:
        return e.write(f"load {type_}, ptr {where}, align {size}")
    given = ("ptr", where), ("i32", size), (f"<{count} x i1>", lanes), (type_, "zeroinitializer")
    return e.external(type_, f"llvm.masked.load.{_suffix(count, kind)}.p0", *given)


def store_row(e: Emitter, kind: str, count: int, where: str, row: str, lanes: str = "") -> None:
    """Store a vector of so many numbers in a row; where `lanes` are given, only those."""
    type_, size = f"<{count} x {LLVM[kind]}>", size_of(kind)
    if not lanes:
        e.do(f"store {type_} {row}, ptr {where}, align {size}")
        return
    given = (type_, row), ("ptr", where), ("i32", size), (f"<{count} x i1>", lanes)
    e.external("void", f"llvm.masked.store.{_suffix(count, kind)}.p0", *given)


def stream(e: Emitter, pointer: str, offset: Affine, value: Vec) -> None:
    """Store a row of numbers past the caches; the place must be aligned to a vector."""
    type_, size = e.type(value.kind, True), e.group * size_of(value.kind)
    places = _rows(e, pointer, offset, None, 1)
    for (where, _), vector in zip(places, value.spread().parts, strict=True):
        e.do(f"store {type_} {vector}, ptr {where}, align {size}, !nontemporal !1")


# --- real and complex numbers ---------------------------------------------------------------------


def load_number(
    e: Emitter, pointer: str, offset: Index, dtype: np.dtype, mask: Vec | None, ahead: int = 0
) -> Number:
    """Load numbers as NumPy has them, the parts of complex ones side by side; see `load`.

    A row of complex numbers is taken apart in registers.
    """
    kinds = kinds_of(dtype)
    if len(kinds) == 1 or not isinstance(offset, Affine) or offset.step != dtype.itemsize:
        places = [plus(offset, i * size_of(kind)) for i, kind in enumerate(kinds)]
        return of_vecs([load(e, pointer, place, kinds[0], mask, ahead) for place in places])
    kind, lanes = kinds[0], e.group
    rows = [
        load_row(e, kind, 2 * lanes, where, own)
        for where, own in _rows(e, pointer, offset, mask, 2, ahead)
    ]
    return of_vecs(
        [
            Vec(e, kind, True, tuple([e.shuffled(kind, 2 * lanes, order, row) for row in rows]))
            for order in (range(0, 2 * lanes, 2), range(1, 2 * lanes, 2))
        ]
    )


def store_number(e: Emitter, pointer: str, offset: Index, value: Number, mask: Vec | None) -> None:
    """Store numbers as NumPy has them in memory; see `load_number` and `store`."""
    parts = vecs(value)
    kind, lanes = parts[0].kind, e.group
    size = size_of(kind)
    if len(parts) == 1 or not isinstance(offset, Affine) or offset.step != 2 * size:
        for i, part in enumerate(parts):
            store(e, pointer, plus(offset, i * size), part, mask)
        return
    order = [lane + lanes * i for lane in range(lanes) for i in (0, 1)]
    rows = zip(*[part.spread().parts for part in parts], strict=True)
    for pair, (where, own) in zip(rows, _rows(e, pointer, offset, mask, 2), strict=True):
        store_row(e, kind, 2 * lanes, where, e.shuffled(kind, lanes, order, *pair), own)


def _suffix(count: int, kind: str) -> str:
    """Return what an intrinsic's name has for a vector."""
    scalar = {"half": "f16", "float": "f32", "double": "f64"}.get(LLVM[kind], LLVM[kind])
    return f"v{count}{scalar}"
