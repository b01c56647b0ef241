"""Reductions in a kernel: sums, extremes, running and sliding ones, and sums of products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index, linear, plus, times
from lanewise.codegen.arrays import Array, Lazy, Stored
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.numbers import Complex, Number
from lanewise.codegen.sizes import is_empty, is_long, is_unknown
from lanewise.codegen.vector import Vec, select
from lanewise.ir.dims import Dim, product
from lanewise.ir.types import array_type
from lanewise.ops.facts import usual
from lanewise.ops.ufuncs import row_of

#: A sum of floats is taken in runs of so many, and a sum of these: errors grow by the root only.
RUN = 128
#: Products of matrices keep blocks of so many rows and columns of sums in registers.
BLOCK = 4


class Reductions(Lowering):
    """What takes an array to fewer numbers."""

    convert = staticmethod(numbers.convert)
    truth = staticmethod(numbers.truth)

    def at(self, x: Array, axes: Sequence[int], index: Sequence[Index]) -> Number:
        """Return the element at an index of ``x.transpose(axes)``."""
        source: list[Index] = [0] * len(axes)
        for axis, i in zip(axes, index, strict=True):
            source[axis] = i
        return x.at(*source)

    def reduced(self, type_: Any, x: Array, fn: np.ufunc, axes: tuple[int, ...]) -> Array:
        """Return the reduction of an array by a ufunc over some axes, which go."""
        is_behind = bool(axes) and max(axes) < x.ndim - 1
        # NumPy sums halves in single precision; along axes before the last, it rounds each sum.
        if fn is np.add and type_.dtype == np.float16 and not is_behind:
            wide = array_type(np.dtype(np.float32), type_.shape)
            total = self.reduced(wide, x, fn, axes)
            return self.lazy(
                type_.dtype,
                type_.shape,
                lambda *i: self.convert(total.at(*i), type_.dtype),
                (total,),
            )
        dtype = type_.dtype
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        inner = [x.shape[axis] for axis in axes]
        order = (*kept, *axes)
        combine, loop = self._steps(fn, dtype)
        neutral = _neutral(fn, dtype)

        part, ends = self._within(x, axes, neutral)
        each = 1 + (x.work if isinstance(x, Lazy) and not x.is_ready else 0)

        def at(*i: Index) -> Number:
            def element(j: Sequence[Index]) -> Number:
                item = self.at(part, order, (*i, *j))
                return self.truth(item) if dtype.kind == "b" else self.convert(item, dtype)

            if is_empty(inner):
                return self.constant(dtype, fn.identity)
            if not self.is_written_out(inner, each):
                self.prepare_loops(part, inner, each)
            is_sum = fn is np.add and dtype.kind in "fc"
            is_rounded = is_sum and dtype == np.float16  # one after the other
            if is_sum and not is_rounded and is_long(product(inner), 2 * RUN + 1):
                return self._long_sum(dtype, inner, element, combine, ends)
            if neutral is None or not row_of(fn).is_associative:
                return self._in_sequence(fn, dtype, inner, element, loop)
            start = self.constant(dtype, neutral)

            def step(j: Sequence[Index], a: Number) -> list[Number]:
                return [loop(a, element(j))]

            return self.fold(inner, [start], step, None if is_rounded else combine, ends, each)[0]

        return self.lazy(dtype, type_.shape, at, (x,), work=each * max(usual(inner), 1))

    @staticmethod
    def _within(x: Array, axes: Sequence[int], neutral: Any) -> tuple[Array, dict[int, Any]]:
        """Return what is reduced, and between which ends of which of the axes: elsewhere it is
        neutral.
        """
        known = x.within if isinstance(x, Lazy) else None
        if known is None or known.axis not in axes or neutral is None:
            return x, {}
        (fill,) = numbers.vecs(known.fill) if not isinstance(known.fill, Complex) else (None,)
        if fill is None or fill.value is None or fill.value != neutral:
            return x, {}
        return known.of, {list(axes).index(known.axis): (known.low, known.high)}

    def _steps(self, fn: np.ufunc, dtype: np.dtype) -> tuple[Any, Any]:
        """Return how sets of numbers are combined, and how two numbers are."""

        def loop(a: Number, b: Number) -> Number:
            return self.convert(self.ufunc(fn, a, b), dtype)

        return (lambda a, b: [loop(a[0], b[0])]), loop

    def _in_sequence(
        self, fn: np.ufunc, dtype: np.dtype, inner: Sequence[int], element: Any, loop: Any
    ) -> Number:
        if is_unknown(inner) and fn.identity is not None:  # there may be no first element
            start = self.constant(dtype, fn.identity)
            return self.fold(inner, [start], lambda j, a: [loop(a, element(j))])[0]
        first = element([0] * len(inner))
        if self.is_small(inner):
            found = first
            for j in list(np.ndindex(*inner))[1:]:
                found = loop(found, element(j))
            return found
        if len(inner) > 1:
            raise CannotCompile("this reduction over several axes has no native form")
        variable, outer = self.variable(numbers.dtype_of(first)), self.mask
        variable.set(first)
        for j in self.range(1, inner[0]):
            old = variable.get()
            variable.set(self.changed(outer, old, loop(old, element([j]))))
        return variable.get()

    def _long_sum(
        self,
        dtype: np.dtype,
        inner: Sequence[int],
        element: Any,
        combine: Any,
        ends: Mapping[int, tuple[Index, Index]],
    ) -> Number:
        """Return a sum in runs, so that rounding errors do not pile up.

        A run takes places along one axis, and all of the short ones behind it.
        """
        axis = max([k for k in range(len(inner)) if is_long(product(inner[k:]), 2 * RUN + 1)])
        outer, size, short = inner[:axis], inner[axis], inner[axis + 1 :]
        start = self.constant(dtype, 0.0)

        def add(a: Number, b: Number) -> Number:
            return combine([a], [b])[0]

        if axis in ends and not short:
            return self._sum_between(dtype, inner, element, combine, *ends[axis])
        if axis in ends:
            return self.fold(inner, [start], lambda j, a: [add(a, element(j))], combine, ends)[0]
        each = max(RUN // usual(short), 1)
        runs, rest = size // each, size % each
        around = {k: end for k, end in ends.items() if k < axis}
        within = {k - axis: end for k, end in ends.items() if k > axis}

        def run(lead: Sequence[Index], first: Index, count: int) -> Number:
            return self.fold(
                [count, *short],
                [start],
                lambda j, a: [add(a, element((*lead, plus(j[0], first), *j[1:])))],
                combine,
                within,
            )[0]

        def row(i: Sequence[Index], total: Number) -> Number:
            lead, block = i[:-1], i[-1]
            return add(total, run(lead, times(block, each), each))

        (total,) = self.fold([*outer, runs], [start], lambda i, a: [row(i, a)], within=around)
        if isinstance(rest, Dim) or rest:
            (total,) = self.fold(
                outer, [total], lambda i, a: [add(a, run(i, runs * each, rest))], within=around
            )
        return total

    def _sum_between(
        self,
        dtype: np.dtype,
        inner: Sequence[int],
        element: Any,
        combine: Any,
        low: Index,
        high: Index,
    ) -> Number:
        """Return a sum in runs of what lies between two ends of the last axis."""
        *outer, size = inner
        start = self.constant(dtype, 0.0)
        count = (self.index(high) - low + (RUN - 1)).greatest(0).quotient(RUN)

        def row(i: Sequence[Index], total: Number) -> Number:
            lead, first = i[:-1], plus(low, times(i[-1], RUN))
            behind = (self.index(first) + RUN).least(high)

            def step(j: Sequence[Index], a: Number) -> list[Number]:
                return combine([a], [element((*lead, *j))])

            (found,) = self.fold([RUN], [start], step, combine, {0: (first, behind)})
            return combine([total], [found])[0]

        runs = -(-size // RUN)
        within = {len(outer): (0, count)}
        return self.fold([*outer, runs], [start], lambda i, a: [row(i, a)], within=within)[0]

    def accumulated(self, type_: Any, x: Array, fn: np.ufunc, axis: int) -> Array:
        """Return the running reduction of an array by a ufunc along an axis."""
        dtype, shape = type_.dtype, x.shape
        _, loop = self._steps(fn, dtype)

        def element(i: Sequence[Index]) -> Number:
            item = x.at(*i)
            return self.truth(item) if dtype.kind == "b" else self.convert(item, dtype)

        if self.is_small(shape):
            found: dict[tuple[int, ...], Number] = {}
            for i in np.ndindex(*shape):
                before = (*i[:axis], i[axis] - 1, *i[axis + 1 :])
                found[i] = loop(found[before], element(i)) if i[axis] else element(i)
            return self.elements(dtype, shape, list(found.values()))
        result = self.local(dtype, shape)

        def level(index: tuple[Index, ...]) -> None:
            if len(index) < len(shape) - 1:
                others = [size for other, size in enumerate(shape) if other != axis]
                for i in self.range(others[len(index)]):
                    level((*index, i))
                return
            running = self.variable(dtype)
            for i in self.range(shape[axis], unroll=False):
                where = (*index[:axis], i, *index[axis:])
                if isinstance(i, int):
                    item = element(where)
                else:
                    item = element(where)
                    item = numbers.choose(i.eq(0), item, loop(running.get(), item))
                running.set(item)
                result.store(linear(where, result.strides), item, self.tail(result))

        level(())
        return result

    def found_best(self, type_: Any, x: Array, greatest: bool, axis: int) -> Array:
        """Return the index of the first greatest or least element along an axis; of NaN, if any."""
        if x.dtype.kind == "c":
            raise CannotCompile("the greatest of complex numbers has no native form")

        def at(*i: Index) -> Number:
            def element(j: Index) -> Vec:
                (item,) = numbers.vecs(x.at(*i[:axis], j, *i[axis:]))
                return item.to("u8") if item.kind == "b" else item

            def step(j: Sequence[Index], best: Vec, where: Vec) -> list[Number]:
                item = element(j[0])
                better = item > best if greatest else item < best
                if x.dtype.kind == "f":
                    better = better | (item.isnan() & ~best.isnan())
                return [select(better, item, best), select(better, self.index(j[0]), where)]

            start = [element(0), self.e.constant("i64", 0)]
            return self.fold([x.shape[axis]], start, step)[1]

        return self.lazy(type_.dtype, type_.shape, at, (self.ready(x),))

    def sum_of_products(
        self,
        dtype: np.dtype,
        inner: Sequence[int],
        left: Callable[..., Number],
        right: Callable[..., Number],
        within: Mapping[int, tuple[Index, Index]] = MappingProxyType({}),
    ) -> Number:
        """Return the sum of ``left(*j) * right(*j)`` over all indices `j` of a shape.

        Along the axes that `within` names, only from one place to before another.
        """
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype

        def factors(j: Sequence[Index]) -> tuple[Number, Number]:
            return self.convert(left(*j), wide), self.convert(right(*j), wide)

        if not inner:
            return self.convert(self.ufunc(np.multiply, *factors(())), dtype)
        start = self.constant(wide, 0 if is_empty(inner) or wide.kind not in "fc" else -0.0)
        if is_unknown(inner):  # what has no terms is 0
            is_none = self.index(product(inner)).eq(0)
            start = numbers.choose(is_none, self.constant(wide, 0), start)

        def step(j: Sequence[Index], total: Number) -> list[Number]:
            return [_added_product(self, total, *factors(j))]

        def combine(a: Any, b: Any) -> list[Number]:
            return [self.ufunc(np.add, a[0], b[0])]

        work = 8 if wide.kind == "c" else 2
        return self.convert(self.fold(inner, [start], step, combine, within, work)[0], dtype)

    def factors_within(
        self, x: Array, y: Array, contract: Sequence[tuple[int, int]]
    ) -> tuple[Array, Array, dict[int, tuple[Index, Index]]]:
        """Return the operands of a sum of products, and between which ends there are any.

        Both must be zeros beyond: what one holds there may be infinite where the other is zero.
        """
        a, b = (v.within if isinstance(v, Lazy) else None for v in (x, y))
        if a is None or b is None or (a.axis, b.axis) not in contract:
            return x, y, {}
        for known in (a, b):
            if any(part.value is None or part.value != 0 for part in numbers.vecs(known.fill)):
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
        dtype, (rows, columns) = type_.dtype, type_.shape
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype
        result = self.local(dtype, type_.shape)
        start = self.constant(wide, -0.0 if wide.kind in "fc" and inner else 0)

        def block(i: Index, height: int, j: Index, width: int) -> None:
            sums = [[self.variable(wide) for _ in range(width)] for _ in range(height)]
            for variable in (v for row in sums for v in row):
                variable.set(start)
            for p in self.range(inner, unroll=False):
                factors = [self.convert(right(p, plus(j, c)), wide) for c in range(width)]
                for r, row in enumerate(sums):
                    factor = self.convert(left(plus(i, r), p), wide)
                    for variable, other in zip(row, factors, strict=True):
                        variable.set(_added_product(self, variable.get(), factor, other))
            for r, row in enumerate(sums):
                for c, variable in enumerate(row):
                    place = linear((plus(i, r), plus(j, c)), (columns, 1))
                    result.store(place, self.convert(variable.get(), dtype), self.tail(result))

        breadth = BLOCK if rows > 1 else 2 * BLOCK

        def strip(j: Index, width: int) -> None:
            height = BLOCK if self.in_lanes and columns > 1 else 2 * BLOCK
            for i in self.range(0, rows - rows % height, height, unroll=False):
                block(i, height, j, width)
            if rows % height:
                block(rows - rows % height, rows % height, j, width)

        if not self.in_lanes and columns >= self.e.group:
            with self.lane_loop(0, columns) as j:
                strip(j, 1)
            return result
        for j in self.range(0, columns - columns % breadth, breadth, unroll=False):
            strip(j, breadth)
        if columns % breadth:
            strip(columns - columns % breadth, columns % breadth)
        return result

    def correlated(self, type_: Any, x: Array, v: Array, before: int) -> Array:
        """Return sliding dot products; see `correlate` among the operations."""
        if x.ndim != 1 or v.ndim != 1:
            raise CannotCompile("sliding products of stacks have no native form")
        x, v = self.ready(x), self.ready(v)
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

        if self.is_small(type_.shape):
            return self.elements(dtype, type_.shape, [edge(i) for i in range(total)])
        result = self.local(dtype, type_.shape)
        inside = size - count + 1
        for i in range(before):
            result.store(i, edge(i), None)
        self.each(
            [inside],
            lambda i: result.store(
                plus(i, before), product(plus(i, before), 0, count), self.tail(result)
            ),
        )
        for i in range(before + inside, total):
            result.store(i, edge(i), None)
        return result


def _added_product(k: Lowering, total: Number, a: Number, b: Number) -> Number:
    if isinstance(total, Complex):
        assert isinstance(a, Complex)
        assert isinstance(b, Complex)
        re = a.re.fma(b.re, (-a.im).fma(b.im, total.re))
        im = a.re.fma(b.im, a.im.fma(b.re, total.im))
        return Complex(re, im)
    assert isinstance(a, Vec)
    assert isinstance(b, Vec)
    if total.kind == "b":
        return total | (a & b)
    if total.kind[0] == "f":
        return a.fma(b, total)
    return total + a * b


def _neutral(fn: np.ufunc, dtype: np.dtype) -> Any:
    """Return a number that a reduction may start from without changing its result."""
    if fn.__name__ in ("maximum", "fmax", "minimum", "fmin"):
        least = fn.__name__.endswith("max") or fn.__name__ == "maximum"
        if dtype.kind == "f":
            if fn.__name__ in ("fmax", "fmin"):  # of NaN alone they give NaN
                return np.nan
            return -np.inf if least else np.inf
        if dtype.kind in "iu":
            return np.iinfo(dtype).min if least else np.iinfo(dtype).max
        return not least if dtype.kind == "b" else None
    return fn.identity
