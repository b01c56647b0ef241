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
from lanewise.codegen.algorithms.networks import Form, form_of
from lanewise.codegen.arrays import Array, Lazy, Stored
from lanewise.codegen.builder import Builder
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.numbers import Number, kinds_of, vecs
from lanewise.codegen.vector import BITS, NUMPY, select
from lanewise.ir.dims import DimLike, product

#: Of more places that are asked for, rows are sorted.
FEW = 16


def columns_of(dtype: np.dtype, places: bool) -> Form:
    """Return what stands for elements of a dtype, or for their `places`: signed integers."""
    if dtype.kind == "c":
        raise CannotCompile("long rows of complex numbers are sorted by NumPy")
    (kind,) = kinds_of(dtype)
    return form_of(dtype, places, 32, "i32" if BITS[kind] <= 32 else "i64")


def sorted_rows(
    k: Builder, type_: Any, x: Array, axis: int, places: bool, kth: Sequence[DimLike] | None
) -> Array:
    """Return rows sorted, or the places that they had; with `kth`, those are where they would be.

    Of lanes each has rows of its own: what lies lane by lane is brought to lie row by row.
    """
    form = columns_of(x.dtype, places)
    is_shared = not k.has_batch and k.is_outermost and kth is None
    if is_shared and not quicksort.pays(form.kinds[0], places):
        raise CannotCompile("NumPy sorts long rows faster on this processor, on one thread")
    k.storage.prepare_loops(x, x.shape, x.work if isinstance(x, Lazy) else 1)
    # Axes in memory are the lanes, all others, and that of the rows, which have as much room as
    # those of any lane. Loops over elements may be in lanes where rows are not.
    lane: Index = k.e.lane_index() if k.in_lanes else 0
    lanes, (*others, size) = k.e.lanes if k.in_lanes else 1, _moved(x.shape, axis)
    shape = tuple([k.storage.most(each) for each in (lanes, *others, size)])
    columns = [_memory(k, kind, shape) for kind in form.kinds]
    spare = [_memory(k, kind, shape[-1:]) for kind in form.kinds]

    def enter(*i: Index) -> None:
        item = form.enter(x.at(*i), k.index(i[axis]))
        for column, part in zip(columns, item, strict=True):
            column.put((lane, *_moved(i, axis)), part, k.storage.tail(column))

    def at(*i: Index) -> Number:
        return form.leave([vecs(column.at(lane, *_moved(i, axis)))[0] for column in columns])

    k.loops.each(x.shape, enter)
    asked = () if kth is None or len(kth) > FEW else kth
    _sort(k, columns, spare, _of_lanes(k, lane, lanes, (size, *asked)))
    found = k.lazy(type_.dtype, x.shape, at, (*columns, *spare), ready=True)
    # Of a partition few elements are read; where lanes have rows of their own, others are gathered
    # once.
    return k.storage.materialized(found) if k.in_lanes and kth is None else found


def _moved(along: Sequence[Any], axis: int) -> Sequence[Any]:
    """Return what there is for each axis, with that of one axis last."""
    return (*along[:axis], *along[axis + 1 :], along[axis])


def _memory(k: Builder, kind: str, shape: tuple[DimLike, ...]) -> Stored:
    """Return memory with room behind the last row."""
    memory = k.storage.local(NUMPY[kind], (product(shape) + quicksort.PADDING,), False)
    return Stored(k.loops, memory.dtype, shape, memory.buffer)


def _of_lanes(k: Builder, lane: Index, lanes: int, numbers: Sequence[DimLike]) -> Stored:
    """Store a size and places in it for each lane; lanes that are not active have none."""
    table = k.storage.local(NUMPY["i64"], (lanes, len(numbers)), False)
    size = k.index(numbers[0])
    for at, given in enumerate(numbers):
        value = k.index(given)
        if at and isinstance(given, int) and given < 0:
            value = size + given
        if k.mask is not None:
            value = select(k.mask, value, 0)
        with k.loops.masked(None):
            table.put((lane, at), value.spread_if(k.in_lanes), None)
    return table


def _sort(k: Builder, columns: Sequence[Stored], spare: Sequence[Stored], table: Stored) -> None:
    """Sort all rows, one after the other: told of their size, and of places asked for."""
    name = quicksort.require(columns[0].buffer.kinds[0], len(columns) == 2)

    def pointer(column: Stored, *index: Index) -> tuple[str, str]:
        place = times(linear(index, column.strides), column.dtype.itemsize)
        return "ptr", address(k.e, column.buffer.pointers[0], place)

    for lane, *row in k.loops.indices(columns[0].shape[:-1], unroll=False):
        (size,) = vecs(table.at(lane, 0))
        first = [pointer(column, lane, *row, 0) for column in columns]
        working = [pointer(column, 0) for column in spare]
        asked = pointer(table, lane, 1), ("i64", table.shape[1] - 1 or -1)
        k.e.external("void", name, *first, ("i64", size.parts[0]), *working, *asked)
        k.loops.poll(size + 64)
