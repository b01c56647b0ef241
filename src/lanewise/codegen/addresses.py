"""Where numbers lie: loading and storing them: one place, a row, or a place for each lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from lanewise.codegen.emitter import Emitter
from lanewise.codegen.llvm import machine
from lanewise.codegen.memory import LINE
from lanewise.codegen.numbers import Number, kinds_of, of_vecs, vecs
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

    __slots__ = ("_parts", "base", "step")

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
            other = self._other(other)
        if isinstance(other, Affine):
            return Affine(self.e, self.base + other.base, self.step + other.step)
        if isinstance(other, Vec) and other.varying:
            return Vec.__add__(self, other)
        return Affine(self.e, self.base + other, self.step)

    def __radd__(self, other: Vec | float | bool) -> Vec:
        return self + other

    def __sub__(self, other: Vec | float | bool) -> Vec:
        if isinstance(other, Dim):
            other = self._other(other)
        if isinstance(other, Vec) and other.varying:
            return Vec.__sub__(self, other)
        return Affine(self.e, self.base - other, self.step)

    def __mul__(self, other: Vec | float | bool) -> Vec:
        other = self._other(other)
        known = other.value
        if known is None:
            return Vec.__mul__(self, other)
        return Affine(self.e, self.base * known, self.step * int(known))

    def __rmul__(self, other: Vec | float | bool) -> Vec:
        return self * other


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
    if isinstance(left, Vec) and not isinstance(left, Affine) and isinstance(right, Affine):
        return right + left
    return left + right if isinstance(left, Vec) else right + left


def times(left: Index, right: Index) -> Index:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, int):
            if one == 1:
                return other
            if one == 0:
                return 0
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


def _stored(kind: str) -> str:
    return "u8" if kind == "b" else kind


def _loaded(value: Vec, kind: str) -> Vec:
    return value.ne(0) if kind == "b" else value


def load(
    e: Emitter, pointer: str, offset: Index, kind: str, mask: Vec | None, ahead: int = 0
) -> Vec:
    """Load numbers at byte offsets from a pointer; lanes off the mask load nothing, and give zeros.

    A uniform offset gives a uniform number. What lies so many bytes `ahead` is likely to be read
    soon, too.
    """
    if isinstance(offset, Dim):
        offset = as_index(e, offset)
    memory = _stored(kind)
    scalar, size = LLVM[memory], size_of(kind)
    if isinstance(offset, int) or not offset.varying:
        where = _at(e, pointer, offset)
        found = e.uniform(
            memory, e.write(f"load {scalar}, ptr {where}, align {_align(offset, size)}")
        )
        return _loaded(found, kind)
    type_ = e.type(memory, True)
    parts = []
    if isinstance(offset, Affine) and offset.step == size:
        for part in range(e.parts):
            where = _at(e, pointer, plus(offset.base, part * e.group * size))
            if ahead and part * e.group * size % LINE == 0:
                fetch(e, where, ahead)
            if mask is None:
                text = f"load {type_}, ptr {where}, align {min(size, 8)}"
            else:
                suffix = f"v{e.group}{_suffix(memory)}"
                name = f"llvm.masked.load.{suffix}.p0"
                mask_type = e.type("b", True)
                e.module.declare(name, type_, "ptr", "i32", mask_type, type_)
                text = (
                    f"call {type_} @{name}(ptr {where}, i32 {size}, "
                    f"{mask_type} {mask.spread().parts[part]}, {type_} zeroinitializer)"
                )
            parts.append(e.write(text))
        return _loaded(Vec(e, memory, True, tuple(parts)), kind)
    mask_parts = (mask or e.constant("b", True)).spread().parts
    mask_type, pointers_type = e.type("b", True), f"<{e.group} x ptr>"
    name = f"llvm.masked.gather.v{e.group}{_suffix(memory)}.v{e.group}p0"
    e.module.declare(name, type_, pointers_type, "i32", mask_type, type_)
    for pointers, lanes in zip(_pointers(e, pointer, offset), mask_parts, strict=True):
        parts.append(
            e.write(
                f"call {type_} @{name}({pointers_type} {pointers}, i32 {size}, "
                f"{mask_type} {lanes}, {type_} zeroinitializer)"
            )
        )
    return _loaded(Vec(e, memory, True, tuple(parts)), kind)


def fetch(e: Emitter, where: str, ahead: int) -> None:
    """Have the caches fetch what lies ahead of a place; that need not be memory of anybody's."""
    e.module.declare("llvm.prefetch.p0", "void", "ptr", "i32", "i32", "i32")
    at = e.write(f"getelementptr i8, ptr {where}, i64 {ahead}")
    e.do(f"call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 3, i32 1)")


def store(e: Emitter, pointer: str, offset: Index, value: Vec, mask: Vec | None) -> None:
    """Store numbers at byte offsets from a pointer, where the mask holds.

    At a uniform offset the value must be uniform, and the mask is not looked at.
    """
    if isinstance(offset, Dim):
        offset = as_index(e, offset)
    kind = value.kind
    size = size_of(kind)
    if kind == "b":
        value = value.to("u8")
    if isinstance(offset, int) or not offset.varying:
        if value.varying:
            raise ValueError("numbers that vary need a place for each lane")
        where = _at(e, pointer, offset)
        e.do(
            f"store {LLVM[value.kind]} {value.parts[0]}, ptr {where}, align {_align(offset, size)}"
        )
        return
    value = value.spread()
    type_, mask_type = e.type(value.kind, True), e.type("b", True)
    if isinstance(offset, Affine) and offset.step == size:
        for part in range(e.parts):
            where = _at(e, pointer, plus(offset.base, part * e.group * size))
            if mask is None:
                e.do(f"store {type_} {value.parts[part]}, ptr {where}, align {min(size, 8)}")
                continue
            name = f"llvm.masked.store.v{e.group}{_suffix(value.kind)}.p0"
            e.module.declare(name, "void", type_, "ptr", "i32", mask_type)
            given = _held(e, value, value.parts[part])
            e.do(
                f"call void @{name}({type_} {given}, ptr {where}, i32 {size}, "
                f"{mask_type} {mask.spread().parts[part]})"
            )
        return
    mask_parts = (mask or e.constant("b", True)).spread().parts
    pointers_type = f"<{e.group} x ptr>"
    name = f"llvm.masked.scatter.v{e.group}{_suffix(value.kind)}.v{e.group}p0"
    e.module.declare(name, "void", type_, pointers_type, "i32", mask_type)
    rows = zip(_pointers(e, pointer, offset), value.parts, mask_parts, strict=True)
    for pointers, part, lanes in rows:
        e.do(
            f"call void @{name}({type_} {part}, {pointers_type} {pointers}, i32 {size}, "
            f"{mask_type} {lanes})"
        )


def _held(e: Emitter, value: Vec, part: str) -> str:
    """Return what is stored under a mask so that LLVM keeps the store and what narrowed it apart.

    Where the mask turns out to have a single known lane, LLVM 22 writes all bytes of the wide lane
    that was narrowed, and so over what lies behind. (A row of 33 bytes, of integers of 32 bits.)
    """
    if is_float(value.kind) or BITS[value.kind] == 64 or "+avx512f" not in machine().features:
        return part
    scalar, lanes = LLVM[value.kind], e.group
    room = max(lanes, 128 // BITS[value.kind])  # of a register
    own, wide = f"<{lanes} x {scalar}>", f"<{room} x {scalar}>"
    if room > lanes:
        places = ", ".join([f"i32 {min(lane, lanes - 1)}" for lane in range(room)])
        part = e.write(f"shufflevector {own} {part}, {own} poison, <{room} x i32> <{places}>")
    part = e.write(f'call {wide} asm "", "=v,0"({wide} {part})')
    if room > lanes:
        places = ", ".join([f"i32 {lane}" for lane in range(lanes)])
        part = e.write(f"shufflevector {wide} {part}, {wide} poison, <{lanes} x i32> <{places}>")
    return part


def stream(e: Emitter, pointer: str, offset: Affine, value: Vec) -> None:
    """Store a row of numbers past the caches; the place must be aligned to a vector."""
    size = size_of(value.kind)
    type_ = e.type(value.kind, True)
    for part, vector in enumerate(value.spread().parts):
        where = _at(e, pointer, plus(offset.base, part * e.group * size))
        e.do(f"store {type_} {vector}, ptr {where}, align {e.group * size}, !nontemporal !1")


def load_number(
    e: Emitter,
    pointer: str,
    offset: Index,
    dtype: np.dtype,
    mask: Vec | None,
    ahead: int = 0,
) -> Number:
    """Load numbers as NumPy has them, the parts of complex ones side by side; see `load`."""
    kinds = kinds_of(dtype)
    if len(kinds) == 2 and isinstance(offset, Affine) and offset.step == dtype.itemsize:
        return of_vecs(load_pairs(e, pointer, offset, kinds[0], mask, ahead))
    places = [plus(offset, i * size_of(kind)) for i, kind in enumerate(kinds)]
    parts = [
        load(e, pointer, place, kind, mask, ahead)
        for place, kind in zip(places, kinds, strict=True)
    ]
    return of_vecs(parts)


def store_number(e: Emitter, pointer: str, offset: Index, value: Number, mask: Vec | None) -> None:
    """Store numbers as NumPy has them in memory; see `store`."""
    both = vecs(value)
    is_row = isinstance(offset, Affine) and offset.step == 2 * size_of(both[0].kind)
    if len(both) == 2 and is_row:
        store_pairs(e, pointer, offset, both, mask)
        return
    for i, part in enumerate(vecs(value)):
        store(e, pointer, plus(offset, i * size_of(part.kind)), part, mask)


def load_pairs(
    e: Emitter, pointer: str, offset: Affine, kind: str, mask: Vec | None, ahead: int = 0
) -> list[Vec]:
    """Load a row of pairs of numbers, which are taken apart in registers; see `load`."""
    size, row = size_of(kind), f"<{2 * e.group} x {LLVM[kind]}>"
    evens, odds = [], []
    for part in range(e.parts):
        where = _at(e, pointer, plus(offset.base, 2 * part * e.group * size))
        if ahead and 2 * part * e.group * size % LINE == 0:
            fetch(e, where, ahead)
        if mask is None:
            both = e.write(f"load {row}, ptr {where}, align {size}")
        else:
            mask_type, twice = _twice(e, mask, part)
            name = f"llvm.masked.load.v{2 * e.group}{_suffix(kind)}.p0"
            e.module.declare(name, row, "ptr", "i32", mask_type, row)
            given = f"ptr {where}, i32 {size}, {mask_type} {twice}, {row} zeroinitializer"
            both = e.write(f"call {row} @{name}({given})")
        for found, first in ((evens, 0), (odds, 1)):
            order = _order(2 * lane + first for lane in range(e.group))
            found.append(e.write(f"shufflevector {row} {both}, {row} poison, {order}"))
    return [Vec(e, kind, True, tuple(parts)) for parts in (evens, odds)]


def store_pairs(
    e: Emitter, pointer: str, offset: Affine, pair: Sequence[Vec], mask: Vec | None
) -> None:
    """Store a row of pairs of numbers; see `store`."""
    kind = pair[0].kind
    type_, size, row = e.type(kind, True), size_of(kind), f"<{2 * e.group} x {LLVM[kind]}>"
    order = _order(lane + e.group * i for lane in range(e.group) for i in (0, 1))
    for part, (left, right) in enumerate(zip(*[x.spread().parts for x in pair], strict=True)):
        where = _at(e, pointer, plus(offset.base, 2 * part * e.group * size))
        both = e.write(f"shufflevector {type_} {left}, {type_} {right}, {order}")
        if mask is None:
            e.do(f"store {row} {both}, ptr {where}, align {size}")
            continue
        mask_type, twice = _twice(e, mask, part)
        name = f"llvm.masked.store.v{2 * e.group}{_suffix(kind)}.p0"
        e.module.declare(name, "void", row, "ptr", "i32", mask_type)
        e.do(f"call void @{name}({row} {both}, ptr {where}, i32 {size}, {mask_type} {twice})")


def _twice(e: Emitter, mask: Vec, part: int) -> tuple[str, str]:
    """Return a part of a mask with each lane twice, and its type."""
    type_, order = e.type("b", True), _order(lane // 2 for lane in range(2 * e.group))
    text = f"shufflevector {type_} {mask.spread().parts[part]}, {type_} poison, {order}"
    return f"<{2 * e.group} x i1>", e.write(text)


def _order(lanes: Iterable[int]) -> str:
    """Return which lanes a shuffle takes."""
    places = [f"i32 {lane}" for lane in lanes]
    return f"<{len(places)} x i32> <{', '.join(places)}>"


def _at(e: Emitter, pointer: str, offset: Index) -> str:
    if isinstance(offset, int) and offset == 0:
        return pointer
    text = str(offset) if isinstance(offset, int) else offset.parts[0]
    return e.write(f"getelementptr i8, ptr {pointer}, i64 {text}")


def _align(offset: Index, size: int) -> int:
    return min(size, 8)


def _suffix(kind: str) -> str:
    return {"half": "f16", "float": "f32", "double": "f64"}.get(LLVM[kind], LLVM[kind])


def _pointers(e: Emitter, pointer: str, offset: Vec) -> list[str]:
    type_ = e.type("i64", True)
    return [
        e.write(f"getelementptr i8, ptr {pointer}, {type_} {part}")
        for part in offset.spread().parts
    ]
