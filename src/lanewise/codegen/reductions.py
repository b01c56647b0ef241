"""Reductions in a kernel: sums, extremes, what is greatest, running ones, and those of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index, plus, times
from lanewise.codegen.arrays import Array, Lazy, filled
from lanewise.codegen.builder import Builder
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import NOWHERE, Ends
from lanewise.codegen.numbers import Number
from lanewise.codegen.sizes import is_empty, is_long, is_unknown
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import Vec, select
from lanewise.ir.dims import Dim, product
from lanewise.ir.types import array_type
from lanewise.ops.facts import usual
from lanewise.ops.ufuncs import row_of
from lanewise.passes.numbers import neutral

#: A sum of floats is taken in runs of so many, and a sum of these: errors grow by the root only.
RUN = 128

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


class Reductions:
    """Takes arrays to fewer numbers; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def reduced(self, type_: Any, x: Array, fn: np.ufunc, axes: tuple[int, ...]) -> Array:
        """Return the reduction of an array by a ufunc over some axes, which go."""
        is_behind = bool(axes) and max(axes) < x.ndim - 1
        # NumPy sums halves in single precision; along axes before the last, it rounds each sum.
        if fn is np.add and type_.dtype == np.float16 and not is_behind:
            wide = array_type(np.dtype(np.float32), type_.shape)
            return self.k.views.converted(self.reduced(wide, x, fn, axes), type_.dtype)
        fold = self._fold_of(type_.dtype, x, fn, axes)
        cost = fold.work * max(usual(fold.inner), 1)
        return self.k.lazy(
            type_.dtype, type_.shape, lambda *i: self._totals([fold], i)[0], (x,), work=cost
        )

    def together(
        self, types: Sequence[Any], xs: Sequence[Array], params: Sequence[Mapping[str, Any]]
    ) -> list[Array]:
        """Return reductions over the same axes of arrays of one shape, all found in one loop."""
        folds = [
            self._fold_of(type_.dtype, x, given["fn"], given["axes"])
            for type_, x, given in zip(types, xs, params, strict=True)
        ]
        work = sum([fold.work for fold in folds]) * max(usual(folds[0].inner), 1)
        return self.k.fusion.several(types, types[0].shape, lambda *i: self._totals(folds, i), work)

    def _fold_of(self, dtype: np.dtype, x: Array, fn: np.ufunc, axes: tuple[int, ...]) -> _Fold:
        order = (*[axis for axis in range(x.ndim) if axis not in axes], *axes)
        first = _neutral(fn, dtype)
        known, part, ends = filled(x, first), x, NOWHERE
        if known is not None and known.axis in axes:  # elsewhere it is neutral
            part, ends = known.of, {axes.index(known.axis): (known.low, known.high)}

        def element(i: Sequence[Index], j: Sequence[Index]) -> Number:
            return part.transposed_at(order, (*i, *j))

        work = 1 + (x.work if isinstance(x, Lazy) and not x.is_ready else 0)
        inner = [x.shape[axis] for axis in axes]
        return _Fold(fn, dtype, part, inner, element, first, ends, work)

    def _totals(self, folds: Sequence[_Fold], i: Sequence[Index]) -> Sequence[Number]:
        """Return an element of each of several reductions over axes of the same sizes."""
        k = self.k
        inner, ends = folds[0].inner, folds[0].ends
        if is_empty(inner):
            return [k.constant(fold.dtype, fold.fn.identity) for fold in folds]
        if len(folds) > 1 and any([fold.ends or not fold.is_grouped for fold in folds]):
            return [self._totals([fold], i)[0] for fold in folds]
        work = sum([fold.work for fold in folds])
        if not k.loops.unrolling.is_written_out(inner, work):
            for fold in folds:
                k.storage.prepare_loops(fold.x, inner, work)
        loops = [self._loop(fold.fn, fold.dtype) for fold in folds]

        def element(j: Sequence[Index]) -> list[Number]:
            read = {fold.x: fold.element for fold in folds}  # each array once
            items = {x: at(i, j) for x, at in read.items()}
            return [k.convert(items[fold.x], fold.dtype) for fold in folds]

        def combine(a: Sequence[Number], b: Sequence[Number]) -> list[Number]:
            return [loop(x, y) for loop, x, y in zip(loops, a, b, strict=True)]

        if folds[0].first is None or not row_of(folds[0].fn).is_associative:
            return self._in_sequence(folds[0].fn, folds[0].dtype, inner, element, combine)
        start = [k.constant(fold.dtype, fold.first) for fold in folds]
        if any([fold.is_sum for fold in folds]) and is_long(product(inner), 2 * RUN + 1):
            return self._long_sum(start, inner, element, combine, ends)
        is_rounded = not folds[0].is_grouped  # one after the other
        return self._folded(combine, inner, start, element, is_rounded, ends, work)

    def _loop(self, fn: np.ufunc, dtype: np.dtype) -> Callable[[Number, Number], Number]:
        """Return what combines two numbers."""
        return lambda a, b: self.k.convert(self.k.ufunc(fn, a, b), dtype)

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

        return self.k.loops.fold(shape, start, step, None if in_order else combine, within, work)

    def _in_sequence(
        self, fn: np.ufunc, dtype: np.dtype, inner: Sequence[int], element: Any, loop: Step
    ) -> Sequence[Number]:
        if is_unknown(inner) and fn.identity is not None:  # there may be no first element
            start = [self.k.constant(dtype, fn.identity)]
            return self._folded(loop, inner, start, element, in_order=True)
        first = element([0] * len(inner))
        if is_small(inner):
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
            around[axis] = 0, (self.k.index(high) - low + (each - 1)).greatest(0).quotient(each)

        def run(lead: Sequence[Index], first: Index, count: int) -> list[Number]:
            def item(j: Sequence[Index]) -> Sequence[Number]:
                return element((*lead, plus(j[0], first), *j[1:]))

            own = {} if high is None else {0: (0, (self.k.index(high) - first).least(each))}
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
        k = self.k
        dtype, shape = type_.dtype, x.shape
        loop = self._loop(fn, dtype)

        def element(i: Sequence[Index]) -> Number:
            return k.convert(x.at(*i), dtype)

        if is_small(shape):
            found: dict[tuple[int, ...], Number] = {}
            for i in np.ndindex(*shape):
                before = (*i[:axis], i[axis] - 1, *i[axis + 1 :])
                found[i] = loop(found[before], element(i)) if i[axis] else element(i)
            return k.elements(dtype, shape, list(found.values()))
        result = k.storage.local(dtype, shape)
        for index in k.loops.indices((*shape[:axis], *shape[axis + 1 :])):
            running = k.loops.variable(dtype)
            for i in k.loops.range(shape[axis], unroll=False):
                where = (*index[:axis], i, *index[axis:])
                item = element(where)
                if not isinstance(i, int):
                    item = numbers.choose(i.eq(0), item, loop(running.get(), item))
                running.set(item)
                result.put(where, item, k.storage.tail(result))
        return result

    def found_best(self, type_: Any, x: Array, greatest: bool, axis: int) -> Array:
        """Return the index of the first greatest or least element along an axis; of NaN, if any."""
        k = self.k
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
                return [select(better, item, best), select(better, k.index(j[0]), where)]

            start = [element(0), k.e.constant("i64", 0)]
            return k.loops.fold([x.shape[axis]], start, step)[1]

        return k.lazy(type_.dtype, type_.shape, at, (k.ready(x),))

    def in_runs(
        self, type_: Any, x: Array, fn: np.ufunc, indices: Sequence[int], axis: int
    ) -> Array:
        """Return the reductions over runs of an axis, each from an index to the next one."""
        k = self.k
        x = k.ready(x)
        before, behind = x.shape[:axis], x.shape[axis + 1 :]
        reduced = array_type(type_.dtype, (*before, *behind))
        rows = []
        for start, end in zip(indices, [*indices[1:], x.shape[axis]], strict=False):
            run = k.view(
                x,
                (*before, max(end - start, 1), *behind),
                lambda *i, n=start: (*i[:axis], plus(i[axis], n), *i[axis + 1 :]),
            )
            row = k.ready(self.reduced(reduced, run, fn, (axis,)))
            rows.append(k.views.reshaped(row, (*before, 1, *behind)))
        return k.views.concatenated(type_, rows, axis)


def _neutral(fn: np.ufunc, dtype: np.dtype) -> Any:
    """Return a number that a reduction may start from without changing its result."""
    if fn in (np.fmax, np.fmin) and dtype.kind == "f":  # of NaN alone they give NaN
        return np.nan
    extreme = {np.fmax: np.maximum, np.fmin: np.minimum}.get(fn, fn)
    return neutral(extreme, dtype) if extreme in (np.maximum, np.minimum) else fn.identity
