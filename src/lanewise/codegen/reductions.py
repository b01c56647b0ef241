"""Reductions in a kernel: sums, extremes, running and sliding ones, and sums of products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index, plus, times
from lanewise.codegen.arrays import Array, Lazy, Stored, Within
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import NOWHERE, Ends
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.numbers import Complex, Number
from lanewise.codegen.sizes import is_empty, is_long, is_unknown
from lanewise.codegen.vector import Vec, select
from lanewise.ir.dims import Dim, product
from lanewise.ir.types import array_type
from lanewise.ops.facts import usual
from lanewise.ops.ufuncs import row_of
from lanewise.passes.numbers import neutral

#: A sum of floats is taken in runs of so many, and a sum of these: errors grow by the root only.
RUN = 128
#: Products of matrices keep blocks of so many rows and columns of sums in registers.
BLOCK = 4

#: Combines two sets of numbers, each of one with its like.
Step: TypeAlias = Callable[[Sequence[Number], Sequence[Number]], list[Number]]


@dataclass(frozen=True, slots=True)
class _Fold:
    """A reduction of an array over axes of `inner` sizes.

    ``element(i, j)`` is that of `x` which is at j along these, and at i along the others; `first`
    is the neutral element, if there is one, and `ends` say between which places there are others.
    """

    fn: np.ufunc
    dtype: np.dtype
    x: Array
    inner: Sequence[Any]
    element: Callable[[Sequence[Index], Sequence[Index]], Number]
    first: Any
    ends: Ends
    work: int

    @property
    def is_rounded(self) -> bool:
        """Whether each step of a sum is rounded, so that elements are taken in order."""
        return self.fn is np.add and self.dtype == np.float16

    @property
    def is_grouped(self) -> bool:
        """Whether elements may be grouped at will."""
        is_any = self.first is not None and row_of(self.fn).is_associative
        return is_any and not self.is_rounded

    @property
    def is_sum(self) -> bool:
        return self.fn is np.add and self.dtype.kind in "fc" and not self.is_rounded


class Reductions(Lowering):
    """What takes an array to fewer numbers."""

    convert = staticmethod(numbers.convert)
    truth = staticmethod(numbers.truth)

    def at(self, x: Array, axes: Sequence[int], index: Sequence[Index]) -> Number:
        """Return the element at an index of ``x.transpose(axes)``."""
        return x.at(*[index[list(axes).index(axis)] for axis in range(len(axes))])

    def converted(self, x: Array, dtype: np.dtype) -> Array:
        """Return an array as one of a dtype, each element converted where it is read."""
        if x.dtype == dtype:
            return x
        return self.lazy(dtype, x.shape, lambda *i: self.convert(x.at(*i), dtype), (x,))

    def reduced(self, type_: Any, x: Array, fn: np.ufunc, axes: tuple[int, ...]) -> Array:
        """Return the reduction of an array by a ufunc over some axes, which go."""
        is_behind = bool(axes) and max(axes) < x.ndim - 1
        # NumPy sums halves in single precision; along axes before the last, it rounds each sum.
        if fn is np.add and type_.dtype == np.float16 and not is_behind:
            wide = array_type(np.dtype(np.float32), type_.shape)
            return self.converted(self.reduced(wide, x, fn, axes), type_.dtype)
        fold = self._fold_of(type_.dtype, x, fn, axes)
        cost = fold.work * max(usual(fold.inner), 1)
        return self.lazy(
            type_.dtype, type_.shape, lambda *i: self._totals([fold], i)[0], (x,), work=cost
        )

    def reduced_together(
        self, types: Sequence[Any], xs: Sequence[Array], params: Sequence[Mapping[str, Any]]
    ) -> list[Array]:
        """Return reductions over the same axes of arrays of one shape, all found in one loop."""
        folds = [
            self._fold_of(type_.dtype, x, given["fn"], given["axes"])
            for type_, x, given in zip(types, xs, params, strict=True)
        ]
        work = sum([fold.work for fold in folds]) * max(usual(folds[0].inner), 1)
        return self.several(types, types[0].shape, lambda *i: self._totals(folds, i), work)

    def _fold_of(self, dtype: np.dtype, x: Array, fn: np.ufunc, axes: tuple[int, ...]) -> _Fold:
        order = (*[axis for axis in range(x.ndim) if axis not in axes], *axes)
        first = _neutral(fn, dtype)
        known, part, ends = _filled(x, first), x, NOWHERE
        if known is not None and known.axis in axes:  # elsewhere it is neutral
            part, ends = known.of, {axes.index(known.axis): (known.low, known.high)}

        def element(i: Sequence[Index], j: Sequence[Index]) -> Number:
            return self.at(part, order, (*i, *j))

        work = 1 + (x.work if isinstance(x, Lazy) and not x.is_ready else 0)
        inner = [x.shape[axis] for axis in axes]
        return _Fold(fn, dtype, part, inner, element, first, ends, work)

    def _totals(self, folds: Sequence[_Fold], i: Sequence[Index]) -> Sequence[Number]:
        """Return an element of each of several reductions over axes of the same sizes."""
        inner, ends = folds[0].inner, folds[0].ends
        if is_empty(inner):
            return [self.constant(fold.dtype, fold.fn.identity) for fold in folds]
        if len(folds) > 1 and any([fold.ends or not fold.is_grouped for fold in folds]):
            return [self._totals([fold], i)[0] for fold in folds]
        work = sum([fold.work for fold in folds])
        if not self.is_written_out(inner, work):
            for fold in folds:
                self.prepare_loops(fold.x, inner, work)
        loops = [self._loop(fold.fn, fold.dtype) for fold in folds]

        def element(j: Sequence[Index]) -> list[Number]:
            read = {fold.x: fold.element for fold in folds}  # each array once
            items = {x: at(i, j) for x, at in read.items()}
            return [self.convert(items[fold.x], fold.dtype) for fold in folds]

        def combine(a: Sequence[Number], b: Sequence[Number]) -> list[Number]:
            return [loop(x, y) for loop, x, y in zip(loops, a, b, strict=True)]

        if folds[0].first is None or not row_of(folds[0].fn).is_associative:
            return self._in_sequence(folds[0].fn, folds[0].dtype, inner, element, combine)
        start = [self.constant(fold.dtype, fold.first) for fold in folds]
        if any([fold.is_sum for fold in folds]) and is_long(product(inner), 2 * RUN + 1):
            return self._long_sum(start, inner, element, combine, ends)
        is_rounded = not folds[0].is_grouped  # one after the other
        return self._folded(combine, inner, start, element, is_rounded, ends, work)

    def _loop(self, fn: np.ufunc, dtype: np.dtype) -> Callable[[Number, Number], Number]:
        """Return what combines two numbers."""
        return lambda a, b: self.convert(self.ufunc(fn, a, b), dtype)

    def _folded(
        self,
        combine: Step,
        shape: Sequence[int],
        start: Sequence[Number],
        element: Callable[[Sequence[Index]], Sequence[Number]],
        in_order: bool = False,
        within: Ends = NOWHERE,
        work: int = 1,
    ) -> list[Number]:
        """Return what elements at all indices of a shape combine to; see `fold`."""

        def step(j: Sequence[Index], *before: Number) -> Sequence[Number]:
            return combine(before, element(j))

        return self.fold(shape, start, step, None if in_order else combine, within, work)

    def _in_sequence(
        self, fn: np.ufunc, dtype: np.dtype, inner: Sequence[int], element: Any, loop: Step
    ) -> Sequence[Number]:
        if is_unknown(inner) and fn.identity is not None:  # there may be no first element
            start = [self.constant(dtype, fn.identity)]
            return self._folded(loop, inner, start, element, in_order=True)
        first = element([0] * len(inner))
        if self.is_small(inner):
            for j in list(np.ndindex(*inner))[1:]:
                first = loop(first, element(j))
            return first
        if len(inner) > 1:
            raise CannotCompile("this reduction over several axes has no native form")
        return self._folded(loop, inner, first, element, True, {0: (1, inner[0])})

    def _long_sum(
        self,
        start: Sequence[Number],
        inner: Sequence[int],
        element: Any,
        add: Step,
        ends: Ends,
    ) -> list[Number]:
        """Return sums in runs, so that rounding errors do not pile up.

        A run takes places along one axis, and all of the short ones behind it.
        """
        axis = max([k for k in range(len(inner)) if is_long(product(inner[k:]), 2 * RUN + 1)])
        outer, size, short = inner[:axis], inner[axis], inner[axis + 1 :]
        each = max(RUN // usual(short), 1)
        runs, rest = size // each, size % each
        around = {k: end for k, end in ends.items() if k < axis}
        within = {k - axis: end for k, end in ends.items() if k > axis}
        low, high = ends.get(axis, (0, None))
        if high is not None:
            runs, rest = -(-size // each), 0
            around[axis] = 0, (self.index(high) - low + (each - 1)).greatest(0).quotient(each)

        def run(lead: Sequence[Index], first: Index, count: int) -> list[Number]:
            def item(j: Sequence[Index]) -> Sequence[Number]:
                return element((*lead, plus(j[0], first), *j[1:]))

            own = {} if high is None else {0: (0, (self.index(high) - first).least(each))}
            return self._folded(add, [count, *short], start, item, within=within | own)

        def row(i: Sequence[Index]) -> list[Number]:
            return run(i[:-1], plus(low, times(i[-1], each)), each)

        total = self._folded(add, [*outer, runs], start, row, True, around, each * usual(short))
        if isinstance(rest, Dim) or rest:
            total = self._folded(
                add, outer, total, lambda i: run(i, runs * each, rest), True, around
            )
        return total

    def accumulated(self, type_: Any, x: Array, fn: np.ufunc, axis: int) -> Array:
        """Return the running reduction of an array by a ufunc along an axis."""
        dtype, shape = type_.dtype, x.shape
        loop = self._loop(fn, dtype)

        def element(i: Sequence[Index]) -> Number:
            return self.convert(x.at(*i), dtype)

        if self.is_small(shape):
            found: dict[tuple[int, ...], Number] = {}
            for i in np.ndindex(*shape):
                before = (*i[:axis], i[axis] - 1, *i[axis + 1 :])
                found[i] = loop(found[before], element(i)) if i[axis] else element(i)
            return self.elements(dtype, shape, list(found.values()))
        result = self.local(dtype, shape)
        for index in self.indices((*shape[:axis], *shape[axis + 1 :])):
            running = self.variable(dtype)
            for i in self.range(shape[axis], unroll=False):
                where = (*index[:axis], i, *index[axis:])
                item = element(where)
                if not isinstance(i, int):
                    item = numbers.choose(i.eq(0), item, loop(running.get(), item))
                running.set(item)
                result.put(where, item, self.tail(result))
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
        within: Ends = NOWHERE,
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
            return [_added_product(total, *factors(j))]

        def combine(a: Sequence[Number], b: Sequence[Number]) -> list[Number]:
            return [self.ufunc(np.add, a[0], b[0])]

        work = 8 if wide.kind == "c" else 2
        return self.convert(self.fold(inner, [start], step, combine, within, work)[0], dtype)

    def factors_within(
        self, x: Array, y: Array, contract: Sequence[tuple[int, int]]
    ) -> tuple[Array, Array, dict[int, tuple[Index, Index]]]:
        """Return the operands of a sum of products, and between which ends there are any.

        Both must be zeros beyond: what one holds there may be infinite where the other is zero.
        """
        a, b = _filled(x, 0), _filled(y, 0)
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
        dtype, (rows, columns) = type_.dtype, type_.shape
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype
        result = self.local(dtype, type_.shape)
        start = self.constant(wide, -0.0 if wide.kind in "fc" and inner else 0)

        def block(i: Index, height: int, j: Index, width: int) -> None:
            places = np.ndindex(height, width)
            sums = {place: self.variable(wide, first=start) for place in places}
            for p in self.range(inner, unroll=False):
                factors = [self.convert(right(p, plus(j, c)), wide) for c in range(width)]
                for r in range(height):
                    factor = self.convert(left(plus(i, r), p), wide)
                    for c, other in enumerate(factors):
                        sums[r, c].set(_added_product(sums[r, c].get(), factor, other))
            for (r, c), total in sums.items():
                item = self.convert(total.get(), dtype)
                result.put((plus(i, r), plus(j, c)), item, self.tail(result))

        def strip(j: Index, width: int) -> None:
            height = BLOCK if self.in_lanes and columns > 1 else 2 * BLOCK
            for i, count in self._in_blocks(rows, height):
                block(i, count, j, width)

        if not self.in_lanes and columns >= self.e.group:
            with self.lane_loop(0, columns) as j:
                strip(j, 1)
            return result
        for j, width in self._in_blocks(columns, BLOCK if rows > 1 else 2 * BLOCK):
            strip(j, width)
        return result

    def _in_blocks(self, count: int, size: int) -> Iterator[tuple[Index, int]]:
        """Write loops over so many places in blocks: where each begins, and its size."""
        rest = count % size
        for first in self.range(0, count - rest, size, unroll=False):
            yield first, size
        if rest:
            yield count - rest, rest

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
        for i in (*range(before), *range(before + inside, total)):
            result.store(i, edge(i), None)

        def put(i: Index) -> None:
            place = plus(i, before)
            result.store(place, product(place, 0, count), self.tail(result))

        self.each([inside], put)
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


def _filled(x: Array, number: Any) -> Within | None:
    """Return between which ends an array may be other than a number, if that is known."""
    known = x.within if isinstance(x, Lazy) else None
    if known is None or number is None:
        return None
    return known if all([part.value == number for part in numbers.vecs(known.fill)]) else None


def _neutral(fn: np.ufunc, dtype: np.dtype) -> Any:
    """Return a number that a reduction may start from without changing its result."""
    if fn in (np.fmax, np.fmin) and dtype.kind == "f":  # of NaN alone they give NaN
        return np.nan
    extreme = {np.fmax: np.maximum, np.fmin: np.minimum}.get(fn, fn)
    return neutral(extreme, dtype) if extreme in (np.maximum, np.minimum) else fn.identity
