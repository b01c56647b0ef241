"""Updates of arrays in a kernel: in place, where nobody reads any more what they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index, linear
from lanewise.codegen.arrays import Array, Elements, Stored, items_of, row_major
from lanewise.codegen.builder import Builder
from lanewise.codegen.loops import NOWHERE, Ends
from lanewise.codegen.numbers import Number
from lanewise.codegen.sizes import is_empty, is_few, is_unknown
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import Vec
from lanewise.ir.dims import Dim

#: Numbers are picked from at most so many by comparing; from more in memory.
COMPARED = 64

#: Gives the index at which a value at an index goes.
Place: TypeAlias = Callable[[Sequence[Index]], Sequence[Index]]


class Write(NamedTuple):
    """Values that are written to an array, or combined with its elements by a ufunc."""

    x: Array
    values: Array
    fn: np.ufunc | None = None


class Updates:
    """Writes values to arrays; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def written(self, x: Array, values: Array, place: Place, **options: Any) -> Array:
        """Return `x` with values written at places; the options are those of `together`."""
        (result,) = self.together([(x, values)], place, **options)
        return result

    def together(
        self,
        writes: Sequence[tuple[Any, ...]],
        place: Place,
        *,
        is_known: bool = False,
        of: Sequence[Array] = (),
        within: Ends = NOWHERE,
        is_written: Callable[[Sequence[Index]], Vec] | None = None,
    ) -> Sequence[Array]:
        """Return arrays of one shape, each with values of one shape written at the same places.

        The `writes` are rows of what a `Write` has. ``place(i)`` is where the values at index `i`
        go, which is found `of` arrays, and `is_known` whether all are numbers. Only those `within`
        ends are written, for which ``is_written(i)`` holds.
        """
        k, memory = self.k, self.k.storage
        writes = [Write(*write) for write in writes]
        targets, size, shape = [w.x for w in writes], writes[0].x.shape, writes[0].values.shape
        is_compared = is_few((*size, *shape), COMPARED) or (is_known and not is_unknown(shape))
        if is_compared and is_small(size) and not within and is_written is None:
            return [self._chosen(write, place) for write in writes]
        if is_empty(shape):
            return targets
        buffers = {x.buffer for x in targets if isinstance(x, Stored)}
        values = [
            # What is written to is not read meanwhile.
            memory.materialized(w.values, within=within) if buffers & w.values.buffers else w.values
            for w in writes
        ]
        results = [
            memory.owned(x, *values, *of, *targets[n + 1 :], number=n)
            for n, x in enumerate(targets)
        ]

        def body(*i: Index) -> None:
            where = linear(place(i), results[0].strides)
            for write, own, result in zip(writes, values, results, strict=True):
                value = own.at(*i)
                if write.fn is not None:
                    old = result.load(where, k.mask)
                    value = self._combined(write.fn, old, value, write.x.dtype)
                if is_written is not None:
                    value = numbers.choose(is_written(i), value, result.load(where, k.mask))
                memory.write(result, where, value)

        if k.in_lanes or all([write.fn is None for write in writes]):
            k.loops.each(shape, body, within=within)
        else:  # places may repeat: one after the other
            for index in k.loops.indices(shape):
                body(*index)
        return results

    def _chosen(self, write: Write, place: Place) -> Elements:
        """Return a small array with values written where an element's place is theirs."""
        x, values = write.x, write.values
        items, strides = list(items_of(x)), row_major(x.shape)
        for i, value in zip(np.ndindex(*values.shape), items_of(values), strict=True):
            self._set(items, linear(place(i), strides), value, write.fn)
        return self.k.elements(x.dtype, x.shape, items)

    def view_written(
        self,
        x: Array,
        values: Array,
        path: Sequence[Any],
        integers: Sequence[Number],
        span: int | None,
        ends: Sequence[Number],
    ) -> Array:
        """Return `x` with values written to a view; see `update_view` among the operations."""
        place = self.k.views.place_of_view(x.shape, path, integers)
        if span is None:
            return self.written(x, values, place)
        low, high = (v for number in ends for v in numbers.vecs(number))
        if not (low.varying or high.varying):
            inside = low.greatest(0), high.least(values.shape[span])
            return self.written(x, values, place, within={span: inside})

        def is_written(i: Sequence[Index]) -> Vec:
            at = self.k.index(i[span])
            return (at >= low) & (at < high)

        return self.written(x, values, place, is_written=is_written)

    def _combined(self, fn: np.ufunc, old: Number, value: Number, dtype: np.dtype) -> Number:
        operands = (old,) if fn.nin == 1 else (old, value)
        return self.k.convert(self.k.ufunc(fn, *operands), dtype)

    def _set(self, items: list[Number], where: Index, value: Number, fn: Any) -> None:
        def new(item: Number) -> Number:
            dtype = numbers.dtype_of(item)
            return value if fn is None else self._combined(fn, item, value, dtype)

        where = self.k.index(where) if isinstance(where, Dim) else where
        if isinstance(where, Vec) and where.value is not None:
            where = int(where.value)
        if isinstance(where, int):
            items[where] = new(items[where])
            return
        for number, item in enumerate(items):
            items[number] = numbers.choose(where.eq(number), new(item), item)
