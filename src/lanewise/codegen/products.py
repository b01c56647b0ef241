"""Sums of products in a kernel: dot products, products of matrices, and sliding ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index, plus
from lanewise.codegen.arrays import Array, Stored, filled
from lanewise.codegen.builder import Builder
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import NOWHERE, Ends
from lanewise.codegen.numbers import Complex, Number
from lanewise.codegen.sizes import is_empty, is_unknown
from lanewise.codegen.uniformity import is_small
from lanewise.ir.dims import product

#: Products of matrices keep blocks of so many rows and columns of sums in registers.
BLOCK = 4


class Products:
    """Adds products up; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def sum_of_products(
        self,
        dtype: np.dtype,
        inner: Sequence[int],
        left: Callable[..., Number],
        right: Callable[..., Number],
        within: Ends = NOWHERE,
    ) -> Number:
        """Return the sum of ``left(*j) * right(*j)`` over all indices `j` of a shape.

        Along the axes that `within` names, only from one place to before another.
        """
        k = self.k
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype

        def factors(j: Sequence[Index]) -> tuple[Number, Number]:
            return k.convert(left(*j), wide), k.convert(right(*j), wide)

        if not inner:
            return k.convert(k.ufunc(np.multiply, *factors(())), dtype)
        start = k.constant(wide, 0 if is_empty(inner) or wide.kind not in "fc" else -0.0)
        if is_unknown(inner):  # what has no terms is 0
            is_none = k.index(product(inner)).eq(0)
            start = numbers.choose(is_none, k.constant(wide, 0), start)

        def step(j: Sequence[Index], total: Number) -> list[Number]:
            return [_added_product(total, *factors(j))]

        def combine(a: Sequence[Number], b: Sequence[Number]) -> list[Number]:
            return [k.ufunc(np.add, a[0], b[0])]

        work = 8 if wide.kind == "c" else 2
        return k.convert(k.loops.fold(inner, [start], step, combine, within, work)[0], dtype)

    def factors_within(
        self, x: Array, y: Array, contract: Sequence[tuple[int, int]]
    ) -> tuple[Array, Array, dict[int, tuple[Index, Index]]]:
        """Return the operands of a sum of products, and between which ends there are any.

        Both must be zeros beyond: what one holds there may be infinite where the other is zero.
        """
        a, b = filled(x, 0), filled(y, 0)
        if a is None or b is None or (a.axis, b.axis) not in contract:
            return x, y, {}
        ends = a.low.greatest(b.low), a.high.least(b.high)
        return a.of, b.of, {list(contract).index((a.axis, b.axis)): ends}

    def matrix_product(
        self,
        type_: Any,
        inner: int,
        left: Callable[[Index, Index], Number],
        right: Callable[[Index, Index], Number],
    ) -> Stored:
        """Return the sums of ``left(i, p) * right(p, j)`` over p, as a matrix in memory.

        Blocks of sums are kept in registers: a number that was loaded is used for all of them.
        There are at least eight at work where there are so many: a sum waits for the one before.
        """
        k = self.k
        dtype, (rows, columns) = type_.dtype, type_.shape
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype
        result = k.storage.local(dtype, type_.shape)
        start = k.constant(wide, -0.0 if wide.kind in "fc" and inner else 0)

        def block(i: Index, height: int, j: Index, width: int) -> None:
            places = np.ndindex(height, width)
            sums = {place: k.loops.variable(wide, first=start) for place in places}
            for p in k.loops.range(inner, unroll=False):
                factors = [k.convert(right(p, plus(j, c)), wide) for c in range(width)]
                for r in range(height):
                    factor = k.convert(left(plus(i, r), p), wide)
                    for c, other in enumerate(factors):
                        sums[r, c].set(_added_product(sums[r, c].get(), factor, other))
            for (r, c), total in sums.items():
                item = k.convert(total.get(), dtype)
                result.put((plus(i, r), plus(j, c)), item, k.storage.tail(result))

        def strip(j: Index, width: int) -> None:
            height = BLOCK if k.in_lanes and columns > 1 else 2 * BLOCK
            for i, count in self._in_blocks(rows, height):
                block(i, count, j, width)

        if not k.in_lanes and columns >= k.e.group:
            with k.loops.lane_loop(0, columns) as j:
                strip(j, 1)
            return result
        for j, width in self._in_blocks(columns, BLOCK if rows > 1 else 2 * BLOCK):
            strip(j, width)
        return result

    def _in_blocks(self, count: int, size: int) -> Iterator[tuple[Index, int]]:
        """Write loops over so many places in blocks: where each begins, and its size."""
        rest = count % size
        for first in self.k.loops.range(0, count - rest, size, unroll=False):
            yield first, size
        if rest:
            yield count - rest, rest

    def correlated(self, type_: Any, x: Array, v: Array, before: int) -> Array:
        """Return sliding dot products; see `correlate` among the operations."""
        k = self.k
        if x.ndim != 1 or v.ndim != 1:
            raise CannotCompile("sliding products of stacks have no native form")
        x, v = k.ready(x), k.ready(v)
        size, count, total = x.shape[0], v.shape[0], type_.shape[0]
        dtype = type_.dtype

        def product(i: Index, first: int, last: int) -> Number:
            shift = plus(i, -before)
            return self.sum_of_products(
                dtype,
                [last - first],
                lambda j: x.at(plus(shift, plus(j, first))),
                lambda j: v.at(plus(j, first)),
            )

        def edge(i: int) -> Number:
            return product(i, max(0, before - i), min(count, size + before - i))

        if is_small(type_.shape):
            return k.elements(dtype, type_.shape, [edge(i) for i in range(total)])
        result = k.storage.local(dtype, type_.shape)
        inside = size - count + 1
        for i in (*range(before), *range(before + inside, total)):
            result.store(i, edge(i), None)

        def put(i: Index) -> None:
            place = plus(i, before)
            result.store(place, product(place, 0, count), k.storage.tail(result))

        k.loops.each([inside], put)
        return result


def _added_product(total: Any, a: Any, b: Any) -> Number:
    if isinstance(total, Complex):
        re = a.re.fma(b.re, (-a.im).fma(b.im, total.re))
        im = a.re.fma(b.im, a.im.fma(b.re, total.im))
        return Complex(re, im)
    if total.kind == "b":
        return total | (a & b)
    if total.kind[0] == "f":
        return a.fma(b, total)
    return total + a * b
