"""Sorting rows of any length in a kernel: each lies side by side in memory, for a call to sort it.

What is sorted are integers that order as NumPy sorts the numbers that they stand for. Of at most 32
bits they go with their places in integers of 64; of more, places are moved along with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.codegen.addresses import Index, address, linear, times
from lanewise.codegen.algorithms import quicksort
from lanewise.codegen.algorithms.networks import (
    Form,
    key,
    key_kind,
    keys,
    number,
    places_beside,
    places_within,
)
from lanewise.codegen.arrays import Array, Lazy, Stored
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.numbers import Number, kinds_of, vecs
from lanewise.codegen.sizes import room, spaced
from lanewise.codegen.vector import BITS, NUMPY, Vec, select
from lanewise.ir.dims import DimLike, product

#: Of more places that are asked for, rows are sorted.
FEW = 16


def columns_of(dtype: np.dtype, places: bool) -> Form:
    """Return what stands for elements of a dtype, or for their `places`: signed integers."""
    if dtype.kind == "c":
        raise CannotCompile("long rows of complex numbers are sorted by NumPy")
    (kind,) = kinds_of(dtype)
    wide = "i32" if BITS[kind] <= 32 else "i64"
    turned = -(2 ** (BITS[wide] - 1)) if kind in ("u32", "u64") else 0

    def signed(one: Vec) -> list[Vec]:
        return [one.to(wide) ^ turned]

    if places and wide == "i64":
        return places_beside(lambda x: signed(*keys(x)), wide)
    if places:
        return places_within(lambda x: signed(*keys(x)), "i64", 32)
    return Form(
        lambda x, _: signed(key(vecs(x)[0])),
        lambda found: number((found[0] ^ turned).to(key_kind(kind)), kind),
        1,
        (wide,),
    )


def sorted_rows(
    k: Lowering, type_: Any, x: Array, axis: int, places: bool, kth: Sequence[DimLike] | None
) -> Array:
    """Return rows sorted, or the places that they had; with `kth`, those are where they would be.

    Of lanes each has rows of its own: what lies lane by lane is brought to lie row by row.
    """
    form = columns_of(x.dtype, places)
    is_shared = not k.has_batch and k.is_outermost and kth is None
    if is_shared and not quicksort.pays(form.kinds[0], places):
        raise CannotCompile("NumPy sorts long rows faster on this processor, on one thread")
    k.prepare_loops(x, x.shape, x.work if isinstance(x, Lazy) else 1)
    rows = _Rows(k, form, x.shape, axis)

    def enter(*i: Index) -> None:
        item = form.enter(x.at(*i), k.index(i[axis]))
        for column, part in zip(rows.columns, item, strict=True):
            column.store(linear(rows.index(i), column.strides), part, k.tail(column))

    def at(*i: Index) -> Number:
        return form.leave([vecs(column.at(*rows.index(i)))[0] for column in rows.columns])

    k.each(x.shape, enter)
    rows.sort([x.shape[axis], *(() if kth is None or len(kth) > FEW else kth)])
    found = k.lazy(type_.dtype, x.shape, at, (*rows.columns, *rows.spare), ready=True)
    # Of a partition few elements are read; where lanes have rows of their own, others are gathered
    # once.
    return k.materialized(found) if k.in_lanes and kth is None else found


class _Rows:
    """Rows in memory, each side by side: of an example, or of those in the lanes one by one.

    Attributes
    ----------
    columns
        The integers that stand for elements: axes are the lanes, all others, and that of the rows.
    spare
        For each of them as much as a row takes to work in.
    """

    def __init__(self, k: Lowering, form: Form, shape: Sequence[DimLike], axis: int) -> None:
        self.k, self.form, self.axis = k, form, axis
        #: The number of the row's lane; loops over the elements of a row may be in lanes, too.
        self.lane: Index = k.e.lane_index() if k.in_lanes else 0
        lanes = k.e.lanes if k.in_lanes else 1
        shape = (lanes, *shape[:axis], *shape[axis + 1 :], shape[axis])
        #: A row has as much room as any lane's, and there are as many.
        self.shape = tuple(spaced(shape, k.e.counted))
        self.columns = [self._local(kind, self.shape) for kind in form.kinds]
        self.spare = [self._local(kind, self.shape[-1:]) for kind in form.kinds]

    def _local(self, kind: str, shape: tuple[DimLike, ...]) -> Stored:
        """Return memory with room behind the last row."""
        k = self.k
        size = product(room(shape, k.e.counted)) + quicksort.PADDING
        memory = k.local(NUMPY[kind], (size,), False)
        return Stored(k.e, memory.dtype, shape, memory.buffer, memory.active)

    def index(self, i: Sequence[Index]) -> list[Index]:
        """Return where an element is, of an example or of the ones in the lanes."""
        return [self.lane, *i[: self.axis], *i[self.axis + 1 :], i[self.axis]]

    def sort(self, numbers: Sequence[DimLike]) -> None:
        """Sort all rows, one after the other: told of their size, and of places asked for."""
        k, e = self.k, self.k.e
        name = quicksort.require(self.form.kinds[0], len(self.form.kinds) == 2)
        table = self._of_lanes(numbers)

        def pointer(column: Stored, *index: Index) -> tuple[str, str]:
            place = times(linear(index, column.strides), column.dtype.itemsize)
            return "ptr", address(e, column.buffer.pointers[0], place)

        for lane, *row in k.nest(self.shape[:-1], unroll=False):
            (size,) = vecs(table.at(lane, 0))
            first = [pointer(column, lane, *row, 0) for column in self.columns]
            spare = [pointer(column, 0) for column in self.spare]
            asked = pointer(table, lane, 1), ("i64", len(numbers) - 1 or -1)
            e.external("void", name, *first, ("i64", size.parts[0]), *spare, *asked)
            k.poll(size + 64)

    def _of_lanes(self, numbers: Sequence[DimLike]) -> Stored:
        """Store sizes for each lane, side by side; lanes that are not active have none."""
        k = self.k
        table = k.local(NUMPY["i64"], (self.shape[0], len(numbers)), False)
        size = k.index(numbers[0])
        for at, given in enumerate(numbers):
            value = k.index(given)
            if at and isinstance(given, int) and given < 0:
                value = size + given
            if k.mask is not None:
                value = select(k.mask, value, 0)
            with k.masked(None):
                place = linear((self.lane, at), table.strides)
                table.store(place, value.spread_if(k.in_lanes), None)
        return table
