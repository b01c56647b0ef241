"""Sorting rows of any length in a kernel: each lies side by side in memory, for a call to sort it.

What is sorted are integers that order as NumPy sorts the numbers that they stand for. Of at most 32
bits they go with their places in integers of 64; of more, places are moved along with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.codegen.addresses import Index, plus, times
from lanewise.codegen.algorithms import quicksort
from lanewise.codegen.algorithms.networks import key, number
from lanewise.codegen.arrays import Array, Lazy, Stored
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.numbers import Number, kinds_of, vecs
from lanewise.codegen.sizes import room
from lanewise.codegen.vector import BITS, NUMPY, Vec, is_float, select
from lanewise.ir.dims import Dim, DimLike, product

#: Of more places that are asked for, rows are sorted.
FEW = 16


@dataclass(frozen=True, slots=True)
class Columns:
    """The integers that stand for an element while long rows are sorted.

    Attributes
    ----------
    kind
        What keys are: ``i32`` or ``i64``.
    has_places
        Whether places are beside them.
    enter
        Gives them, of an element and its place.
    leave
        Gives a number of the result.
    """

    kind: str
    has_places: bool
    enter: Callable[[Number, Vec], list[Vec]]
    leave: Callable[[Sequence[Vec]], Number]


def columns_of(dtype: np.dtype, places: bool) -> Columns:
    """Return what stands for elements of a dtype, or for their `places`."""
    if dtype.kind == "c":
        raise CannotCompile("long rows of complex numbers are sorted by NumPy")
    (kind,) = kinds_of(dtype)
    wide = "i32" if BITS[kind] <= 32 else "i64"
    turned = -(2 ** (BITS[wide] - 1)) if kind in ("u32", "u64") else 0

    def signed(x: Number) -> Vec:
        return key(vecs(x)[0]).to(wide) ^ turned

    if not places:
        whole = f"i{BITS[kind]}" if is_float(kind) else "u8" if kind == "b" else kind

        def value(found: Sequence[Vec]) -> Number:
            return number((found[0] ^ turned).to(whole), kind)

        return Columns(wide, False, lambda x, _: [signed(x)], value)

    def equal_zeros(x: Number) -> Vec:
        (one,) = vecs(x)
        return signed(one + 0.0 if is_float(one.kind) else one)

    if wide == "i64":
        return Columns(
            "i64", True, lambda x, place: [equal_zeros(x), place], lambda found: found[1]
        )
    return Columns(
        "i64",
        False,
        lambda x, place: [(equal_zeros(x).to("i64") << 32) | place],
        lambda found: found[0] & 0xFFFF_FFFF,
    )


def sorted_rows(
    k: Lowering, type_: Any, x: Array, axis: int, places: bool, kth: Sequence[DimLike] | None
) -> Array:
    """Return rows sorted, or the places that they had; with `kth`, those are where they would be.

    Of lanes each has rows of its own: what lies lane by lane is brought to lie row by row.
    """
    form = columns_of(x.dtype, places)
    if not k.has_batch and k.is_outermost and kth is None and not quicksort.pays(form.kind, places):
        raise CannotCompile("NumPy sorts long rows faster on this processor, on one thread")
    k.prepare_loops(x, x.shape, x.work if isinstance(x, Lazy) else 1)
    size = x.shape[axis]
    rows = _Rows(k, form, x.shape, axis)
    k.each(x.shape, lambda *i: rows.put(i, form.enter(x.at(*i), k.index(i[axis]))))
    rows.sort(size, kth)

    def at(*i: Index) -> Number:
        return form.leave(rows.get(i))

    found = k.lazy(type_.dtype, x.shape, at, rows.memory, ready=True)
    # Of a partition few elements are read; where lanes have rows of their own, others are gathered
    # once.
    return k.materialized(found) if k.in_lanes and kth is None else found


class _Rows:
    """Rows in memory, each side by side: of an example, or of those in the lanes one by one.

    Attributes
    ----------
    memory
        The columns of integers, and for each as much as a row takes to work in.
    """

    def __init__(self, k: Lowering, form: Columns, shape: Sequence[DimLike], axis: int) -> None:
        self.k, self.form, self.axis = k, form, axis
        self.others = (*shape[:axis], *shape[axis + 1 :])
        counted = k.e.counted
        #: As many elements as a row may have, and all rows of a lane.
        (self.length,) = room(shape[axis : axis + 1], counted)
        self.spaces = room(self.others, counted)
        self.of_lane = product([*self.spaces, self.length])
        self.lanes = k.e.lanes if k.in_lanes else 1
        kinds = (form.kind, "i64")[: 1 + form.has_places]
        padding = quicksort.PADDING
        self.columns = [self._local(kind, self.of_lane * self.lanes + padding) for kind in kinds]
        self.spare = [self._local(kind, self.length + padding) for kind in kinds]
        self.memory = (*self.columns, *self.spare)
        self.is_apart = k.in_lanes

    def _local(self, kind: str, size: DimLike) -> Stored:
        return self.k.local(NUMPY[kind], (size,), False)

    def _place(self, index: Sequence[Index]) -> Index:
        """Return where an element is, of an example or of the ones in the lanes."""
        k = self.k
        others = [*index[: self.axis], *index[self.axis + 1 :]]
        place: Index = 0
        sizes = [*self.spaces[1:], self.length, 1] if others else [1]
        for at, size in zip([*others, index[self.axis]], sizes, strict=True):
            place = times(plus(place, at), self._number(size))
        if self.is_apart:
            place = plus(k.e.lane_index() * k.index(self.of_lane), place)
        return place

    def _number(self, size: DimLike) -> Index:
        return self.k.index(size) if isinstance(size, Dim) else size

    def put(self, index: Sequence[Index], item: Sequence[Vec]) -> None:
        place = self._place(index)
        for column, part in zip(self.columns, item, strict=True):
            column.store(place, part, self.k.tail(column))

    def get(self, index: Sequence[Index]) -> list[Vec]:
        place = self._place(index)
        return [vecs(column.at(place))[0] for column in self.columns]

    def sort(self, size: DimLike, kth: Sequence[DimLike] | None) -> None:
        """Sort all rows, one after the other, as far as it is asked for."""
        k = self.k
        kth = () if kth is None or len(kth) > FEW else tuple(kth)
        sizes = self._of_lanes([size, *kth])
        name = quicksort.require(self.form.kind, self.form.has_places)
        given = [*["ptr"] * len(self.columns), "i64", *["ptr"] * len(self.spare), "ptr", "i64"]
        k.e.module.declare(name, "void", *given)

        def call(lane: Index, row: Vec) -> None:
            at = k.index(times(lane, 1 + len(kth)))
            (n,) = vecs(sizes.load(at))
            first = [self._pointer(column, row) for column in self.columns]
            spare = [column.buffer.pointers[0] for column in self.spare]
            values = [*first, n.parts[0], *spare, self._pointer(sizes, at + 1)]
            values.append(str(len(kth) or -1))
            arguments = [f"{t} {v}" for t, v in zip(given, values, strict=True)]
            k.e.do(f"call void @{name}({', '.join(arguments)})")
            k.poll(n + 64)

        for lane in k.range(self.lanes, unroll=False):
            start = k.index(times(lane, self._number(self.of_lane)))
            rows = k.index(product(self.spaces))
            for row in k.range(rows, unroll=False):
                call(lane, start + row * k.index(self.length))

    def _of_lanes(self, numbers: Sequence[DimLike]) -> Stored:
        """Store sizes for each lane, side by side; lanes that are not active have none."""
        k, e = self.k, self.k.e
        table = self._local("i64", self.lanes * len(numbers))
        size = k.index(numbers[0])
        for at, given in enumerate(numbers):
            value = k.index(given)
            if at and isinstance(given, int) and given < 0:
                value = size + given
            if not self.is_apart:
                table.store(at, value, None)
                continue
            if k.mask is not None:
                value = select(k.mask, value, 0)
            with k.masked(None):
                table.store(e.lane_index() * len(numbers) + at, value.spread(), None)
        return table

    def _pointer(self, column: Stored, at: Vec) -> str:
        (pointer,), (kind,) = column.buffer.pointers, column.buffer.kinds
        offset = at * (BITS[kind] // 8)
        return self.k.e.write(f"getelementptr i8, ptr {pointer}, i64 {offset.parts[0]}")
