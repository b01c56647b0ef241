"""Sorting short rows in a kernel, a row in each lane, and finding places in sorted tables.

A sorting network compares the same places whatever the numbers are, so lanes never part. Numbers
are compared by integer keys that order as NumPy sorts: NaN last. Places break ties, so that
sorting is stable. Longer rows are sorted one after the other; see long_rows.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lanewise.codegen.addresses import Index, load, plus
from lanewise.codegen.algorithms.long_rows import sorted_rows
from lanewise.codegen.algorithms.networks import (
    Form,
    before,
    exchange,
    form_of,
    greatest,
    key,
    keys,
    merge_exchange,
    pairs,
)
from lanewise.codegen.arrays import Array, Stored
from lanewise.codegen.builder import Builder
from lanewise.codegen.numbers import Complex, Number, choose, convert, dtype_of, of_vecs, vecs
from lanewise.codegen.sizes import is_long, room
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import NUMPY, Vec, is_float, select
from lanewise.ir.dims import Dim, DimLike, bounds
from lanewise.ops.facts import usual
from lanewise.ops.lists import INTP
from lanewise.ops.sorting import LONGEST_ACROSS, LONGEST_IN_LANES

#: A network of at most so many instructions is written out in registers.
WRITTEN_OUT = 500
#: In tables of at most so many numbers all are compared with; longer ones are bisected.
COMPARED = 16
#: Bits that the size of a table has at most, where it is not known.
MOST_BITS = 40


def sorts_before(a: Number, b: Number) -> Vec:
    """Return whether a number sorts before another."""
    if isinstance(a, Complex) or isinstance(b, Complex):
        return before(keys(a), keys(b))
    if not is_float(a.kind):
        return key(a) < key(b)
    return (a < b) | (b.isnan() & ~a.isnan())


def in_order(items: Sequence[Number]) -> list[Number]:
    """Return numbers in registers, sorted."""
    if not items:
        return []
    form, no_place = form_of(dtype_of(items[0]), False, 0), vecs(items[0])[0]
    return _sorted_items(form, [form.enter(item, no_place) for item in items])


def _sorted_items(form: Form, rows: list[list[Vec]]) -> list[Number]:
    size = len(rows)
    for one in merge_exchange(size):
        for i, j in pairs(size, *one):
            rows[i], rows[j] = exchange(rows[i], rows[j], form.count)
    return [form.leave(row) for row in rows]


def _sorted_memory(
    k: Builder, form: Form, size: int, enter: Callable[[Index], list[Vec]]
) -> Callable[[Index], Number]:
    """Sort a row in local memory; return what reads it."""
    columns = [k.storage.local(NUMPY[kind], (size,)) for kind in form.kinds]

    def put(place: Index, row: Sequence[Vec]) -> None:
        for column, part in zip(columns, row, strict=True):
            column.store(place, part, None)

    def get(place: Index) -> list[Vec]:
        return [vecs(column.load(place))[0] for column in columns]

    def ordered(i: Index, j: Index) -> None:
        low, high = exchange(get(i), get(j), form.count)
        put(i, low)
        put(j, high)

    for i in k.loops.range(size, unroll=False):
        put(i, enter(i))
    _passes(k, size, ordered)
    return lambda place: form.leave(get(place))


def _passes(k: Builder, size: int, exchange: Callable[[Index, Index], None]) -> None:
    """Write the passes of `merge_exchange` as loops that run, over a table of what they are."""
    e, rows = k.e, []
    for run, first, distance in merge_exchange(size):
        runs = -(-(size - distance - first) // (2 * run))
        rows.append((run, first, distance, runs))
    table, numbers = f"@lw_passes_{size}", ", ".join([f"i64 {n}" for row in rows for n in row])
    text = f"{table} = internal constant [{4 * len(rows)} x i64] [{numbers}]"
    e.module.declarations[table] = text
    for row in k.loops.range(len(rows), unroll=False):
        places = [row * 32 + 8 * i for i in range(4)]
        run, first, distance, runs = [load(e, table, place, "i64", None) for place in places]
        for number in k.loops.range(runs):
            start = first + number * run * 2
            for i in k.loops.range(start, (start + run).least(size - distance)):
                exchange(i, i + distance)


def search(k: Builder, x: Array, value: Number, side: str) -> Vec:
    """Return where a number belongs in a sorted table: how many of it go before.

    It is found bit by bit from the highest: one is kept when the element before the place that it
    leads to still goes before the number. Of a table of unknown size bits are counted when it runs.
    """
    size, end, dtype = x.shape[0], k.index(x.shape[0]), dtype_of(value)
    zero, one = k.e.constant("i64", 0), k.e.constant("i64", 1)

    def goes_before(place: Index) -> Vec:
        item = convert(x.at(place), dtype)
        return sorts_before(item, value) if side == "left" else ~sorts_before(value, item)

    def further(at: Vec, step: Vec | int) -> Vec:
        place = at + step
        is_before = goes_before(place.least(end) - 1)
        return select((place <= end) & is_before, place, at)

    if isinstance(size, Dim):
        (most,) = room(x.shape, k.e.counted)
        count = MOST_BITS if isinstance(most, Dim) else most.bit_length()
        bits = sum([(end >= 1 << bit).to("i64") for bit in range(count)], zero)

        def turn(i: Sequence[Index], at: Vec) -> list[Number]:
            return [further(at, one << (bits - 1 - k.index(i[0])))]

        return vecs(k.loops.fold([count], [zero], turn, None, {0: (0, bits)})[0])[0]
    if size <= COMPARED:
        return sum((goes_before(i).to("i64") for i in range(size)), zero)
    at = zero
    for bit in reversed(range(size.bit_length())):
        at = further(at, 1 << bit)
    return at


def _work(size: DimLike) -> int:
    """Return about how many operations a search is."""
    size = usual([size])
    return 3 * size if size <= COMPARED else 10 * size.bit_length()


def _between(x: Vec, x0: Vec, x1: Vec, y0: Vec, y1: Vec, by_inverse: bool) -> Vec:
    """Return the height of a line; from its other end where infinities make it NaN."""
    slope = (y1 - y0) * (1.0 / (x1 - x0)) if by_inverse else (y1 - y0) / (x1 - x0)
    found = slope * (x - x0) + y0
    other = slope * (x - x1) + y1
    other = select(other.isnan() & y0.eq(y1), y0, other)
    return select(found.isnan(), other, found)


class Sorting:
    """Sorting, and searching in what is sorted; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def sorted_along(
        self,
        type_: Any,
        x: Array,
        axis: int,
        places: bool = False,
        kth: Sequence[DimLike] | None = None,
    ) -> Array:
        """Return the rows along an axis sorted, or the `places` that they had.

        If only some are asked for, the `kth` are where sorting puts them, and no others need be.
        Where it is known only how many there may be, as many are sorted, those that are none last.
        """
        k = self.k
        shape, size = x.shape, bounds(x.shape[axis])[1]
        most = LONGEST_IN_LANES if k.in_lanes or x.dtype.kind == "c" else LONGEST_ACROSS
        if size is None or size > most:
            return sorted_rows(k, type_, x, axis, places, kth)
        form = form_of(x.dtype, places, LONGEST_IN_LANES.bit_length() - 1)
        # What is sorted behind the last element of a row is read, too: memory is there for it.
        is_known = isinstance(x.shape[axis], int)
        x = k.ready(x) if is_known or isinstance(x, Stored) else k.storage.materialized(x)
        others = (*shape[:axis], *shape[axis + 1 :])
        comparisons = sum(len(pairs(size, *one)) for one in merge_exchange(size))
        in_registers = comparisons * form.cost <= WRITTEN_OUT

        def at(i: Sequence[Index], j: Index) -> tuple[Index, ...]:
            return (*i[:axis], j, *i[axis:])

        def enter(i: Sequence[Index], j: Index) -> list[Vec]:
            row = form.enter(x.at(*at(i, j)), k.index(j))
            if is_known:
                return row
            inside = k.index(x.shape[axis]) > j
            compared = [select(inside, part, greatest(part.kind)) for part in row[: form.count]]
            return [*compared, *row[form.count :]]

        def sorted_row(i: Sequence[Index]) -> Callable[[Any], Number]:
            if in_registers:
                return _sorted_items(form, [enter(i, j) for j in range(size)]).__getitem__
            return _sorted_memory(k, form, size, partial(enter, i))

        if in_registers and is_small(shape):
            rows = {i: sorted_row(i) for i in np.ndindex(*others)}
            found = [rows[*i[:axis], *i[axis + 1 :]](i[axis]) for i in np.ndindex(*shape)]
            return k.elements(type_.dtype, shape, found)
        result = k.storage.local(type_.dtype, shape)

        def body(*i: Index) -> None:
            read = sorted_row(i)
            for j in k.loops.range(size, unroll=in_registers):
                result.put(at(i, j), read(j), k.storage.tail(result))

        k.loops.each(others, body, unroll=False)
        return result

    def searchsorted(self, type_: Any, x: Array, values: Array, side: str) -> Array:
        """Return where each number belongs in a sorted table."""
        dtype = np.result_type(x.dtype, values.dtype)
        x = self.k.addressable(x) if is_long(x.shape[0], COMPARED + 1) else self.k.ready(x)

        def at(*i: Index) -> Number:
            return search(self.k, x, convert(values.at(*i), dtype), side)

        return self.k.lazy(type_.dtype, type_.shape, at, (x, values), work=_work(x.shape[0]))

    def interp(
        self, type_: Any, x: Array, xp: Array, fp: Array, left: Array, right: Array
    ) -> Array:
        """Return linear interpolations in a table, step by step as NumPy computes them."""
        k = self.k
        real, dtype = np.dtype(float), type_.dtype
        size, count, is_complex = xp.shape[0], k.index(xp.shape[0]), dtype.kind == "c"
        if isinstance(size, Dim):
            k.fail(count.eq(0))
        may_be_one = isinstance(size, Dim) or size == 1
        xp, fp, x = k.addressable(xp), k.addressable(fp), k.ready(x)
        outside = [convert(edge.at(), dtype) for edge in (left, right)]

        def point(place: Index) -> tuple[Vec, Number]:
            return vecs(convert(xp.at(place), real))[0], convert(fp.at(place), dtype)

        def at(*i: Index) -> Number:
            (value,) = vecs(convert(x.at(*i), real))
            first, low = point(0)
            last, high = point(plus(count, -1))
            place = (search(k, xp, value, "right") - 1).least(count - 2).greatest(0)
            after = (place + 1).least(count - 1) if may_be_one else place + 1
            (x0, y0), (x1, y1) = point(place), point(after)
            ends = zip(vecs(y0), vecs(y1), strict=True)
            lines = [_between(value, x0, x1, *pair, is_complex) for pair in ends]
            found = choose(value.eq(x0), y0, choose(value.eq(last), high, of_vecs(lines)))
            found = choose(count.eq(1), low, found) if may_be_one else found
            found = choose(value < first, outside[0], choose(value > last, outside[1], found))
            is_nan = value.isnan() & (count > 1) if may_be_one and not is_complex else value.isnan()
            return choose(is_nan, convert(value, dtype), found)

        return k.lazy(dtype, type_.shape, at, (x, xp, fp, left, right), work=20 + _work(size))

    def places_of(self, mask: Array, length: DimLike) -> Array:
        """Return the places where a mask of one axis holds, of which there are `length`.

        Each place is written behind those that were found, whether it holds or not, so there is one
        more in memory than there are.
        """
        k = self.k
        mask = k.ready(mask)
        found = k.storage.local(INTP, (length + 1,))
        count = k.e.slot("i64", k.in_lanes, k.index(0))
        for i in k.loops.range(mask.shape[0], unroll=False):
            (holds,) = vecs(mask.at(i))
            behind = count.get()
            # As many were counted; memory is for no more, whatever happens.
            k.storage.write(found, behind.least(k.index(length)), k.index(i))
            count.set(select(k.loops.both(holds), behind + 1, behind))
        return k.lazy(INTP, (length,), lambda i: found.at(i), (found,), ready=True)
