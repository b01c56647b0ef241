"""The vocabulary of `lanes` rules: moving, writing, reducing and checking arrays in a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index, linear, plus, times
from lanewise.codegen.arrays import Array, Elements, Given, Lazy, Stored, Within, row_major
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import NOWHERE, Ends
from lanewise.codegen.numbers import Complex, Number
from lanewise.codegen.reductions import Reductions
from lanewise.codegen.sizes import is_empty, is_few, is_unknown, varies
from lanewise.codegen.vector import Vec, is_within, known_span, select, span_of
from lanewise.ir.dims import Dim, DimLike, never_below
from lanewise.ops.paths import step_shape

#: Numbers are picked from at most so many by comparing; from more in memory.
COMPARED = 64


@dataclass(frozen=True, slots=True)
class Write:
    """Values that are written to an array, or combined with its elements by a ufunc."""

    x: Array
    values: Array
    fn: np.ufunc | None = None


class Rules(Reductions):
    """What operations are written with, beside numbers and loops."""

    choose = staticmethod(numbers.choose)
    parts = staticmethod(numbers.vecs)
    write_of = Write
    joined = staticmethod(Complex)
    plus = staticmethod(plus)
    times = staticmethod(times)

    def bitcast(self, x: Number, dtype: np.dtype) -> Number:
        """Return the bits of a number as another dtype of the same size."""
        if isinstance(x, Complex) or dtype.kind == "c" or "b" in (x.kind, dtype.kind):
            raise CannotCompile("a view as another dtype of this kind has no native form")
        (kind,) = numbers.kinds_of(dtype)
        if numbers.dtype_of(x).itemsize != dtype.itemsize:
            raise CannotCompile("a view as a dtype of another size has no native form")
        return x.as_kind(kind)

    # --- moving -------------------------------------------------------------------------------

    def view(self, x: Array, shape: Sequence[int], source: Callable[..., Sequence[Index]]) -> Array:
        """Return an array whose element at an index is that of `x` at ``source(*index)``."""
        if x.may_fail and (is_unknown((*x.shape, *shape)) or math.prod(shape) < x.size):
            x = self.ready(x)  # what is not read would not be checked
        if isinstance(x, Elements) and self.is_small(shape):
            items = [x.at(*source(*i)) for i in np.ndindex(*shape)]
            return self.elements(x.dtype, shape, items)
        return self.lazy(x.dtype, shape, lambda *i: x.at(*source(*i)), (x,), ready=True)

    def reshaped(self, x: Array, shape: tuple[int, ...]) -> Array:
        """Return the same elements in row-major order under another shape."""
        if isinstance(x, Elements):
            return self.elements(x.dtype, shape, x.items)
        is_alike = [n for n in x.shape if n != 1] == [n for n in shape if n != 1]
        if any([varies(size, self.e.counted) for size in (*x.shape[1:], *shape[1:])]):
            if not is_alike:
                self.leave("the lanes have rows of different sizes")
            return self.view(x, shape, lambda *i: _through_ones(x.shape, shape, i))
        if isinstance(x, Stored):
            return Stored(self, x.dtype, shape, x.buffer)
        if isinstance(x, Given) and not any([isinstance(s, Vec) for s in x.strides]):
            strides = tuple([s * x.dtype.itemsize for s in row_major(shape)])
            lead = x.strides[: len(x.lead)]
            return Given(self, x.dtype, shape, x.pointer, x.lead, (*lead, *strides))
        if is_unknown((*x.shape, *shape)):
            if not is_alike:
                return self.reshaped(self.materialized(x), shape)
            return self.view(x, shape, lambda *i: _through_ones(x.shape, shape, i))
        groups = _groups(x.shape, shape)

        def source(*index: Index) -> list[Index]:
            found: list[Index] = []
            for old, new in groups:
                whole = linear([index[i] for i in new], row_major([shape[i] for i in new]))
                sizes = [x.shape[i] for i in old]
                for stride, size in zip(row_major(sizes), sizes, strict=True):
                    found.append(_digit(whole, stride, size, len(sizes)))
            return found

        return self.view(x, shape, source)

    def sliced_at(self, index: Sequence[Any], i: Sequence[Index]) -> list[Index]:
        """Return where the element at `i` of a basic slice stands."""
        return [
            j if s is None else plus(times(j, s[2]), s[0]) for j, s in zip(i, index, strict=True)
        ]

    def concatenated(self, type_: Any, operands: Sequence[Array], axis: int) -> Array:
        """Return arrays joined along an axis."""
        pieces, corner = [], [0] * len(type_.shape)
        for x in operands:
            pieces.append((x, tuple(corner)))
            corner[axis] += x.shape[axis]
        return self._assembled(type_, pieces)

    def padded(self, type_: Any, x: Array, value: Number, before: Sequence[int]) -> Array:
        """Return an array within a border of a number."""
        return self._assembled(type_, [(x, before)], value)

    def _assembled(
        self,
        type_: Any,
        pieces: Sequence[tuple[Array, Sequence[int]]],
        border: Number | None = None,
    ) -> Array:
        """Return an array of others, by where each begins; what none has is the border."""
        dtype, shape = type_.dtype, type_.shape
        if self.is_small(shape):
            items: dict[tuple[Index, ...], Any] = {}
            for x, corner in pieces:
                for i, item in zip(np.ndindex(*x.shape), self.items(x), strict=True):
                    items[tuple(map(plus, i, corner))] = item
            found = [items.get(i, border) for i in np.ndindex(*shape)]
            return self.elements(dtype, shape, [self.convert(item, dtype) for item in found])
        result = self.local(dtype, shape)
        if border is not None:
            self.each(shape, lambda *i: result.put(i, border, self.tail(result)))
        for x, corner in pieces:

            def body(*i: Index, x: Array = x, corner: Any = corner) -> None:
                # What stands behind the last element of a lane may be there already.
                is_whole = result.buffer.mask is self.mask
                mask = self.tail(result) if is_whole else self.mask
                result.put([*map(plus, i, corner)], self.convert(x.at(*i), dtype), mask)

            self.each(x.shape, body)
        return result

    # --- indices and checks -------------------------------------------------------------------

    def place(self, index: Number, size: DimLike) -> Index:
        """Return an index as NumPy takes it: negative from the end, checked to be in range."""
        (number,) = numbers.vecs(index)
        is_known = number.value is not None and isinstance(size, int)
        if is_known and int(number.value) in range(-size, size):
            return int(number.value) % size
        found = number.to("i64")
        span = known_span(found)
        if is_within(span, 0, size):
            return found
        if is_within(span, -size, 0):
            return found + self.index(size)
        end = self.index(size)
        if number.kind == "u64":
            self.fail(found < 0)
        elif number.kind[0] == "i" and (is_known or span is None or not never_below(span[0], 0)):
            found = select(found < 0, found + end, found)  # of one that is outside, none known
        self.fail(found.as_kind("u64") >= end.as_kind("u64"))
        return found

    def require(self, ok: Array) -> None:
        """End the run if an element does not hold."""
        if is_empty(ok.shape):
            return
        (found,) = self.fold(
            ok.shape,
            [self.e.constant("b", True)],
            lambda i, known: [known & self.truth(ok.at(*i))],
            lambda a, b: [a[0] & b[0]],
        )
        self.fail(~self.truth(found))

    def slice_bound(self, bound: Number, size: Number, backward: bool) -> Vec:
        """Return where a bound of a slice lies; see `slice_bound` among the operations."""
        (number,), (extent,) = numbers.vecs(bound), numbers.vecs(size)
        if number.kind == "u64":
            number = number.least(extent.as_kind("u64"))
        number = number.to("i64")
        number = select(number < 0, number + extent, number)
        return number.greatest(-int(backward)).least(extent - int(backward))

    def slice_start(self, start: Number, stop: Number, size: int, step: int, length: int) -> Index:
        """Return where a slice between data begins, checked to have `length` elements."""
        extent = self.index(size)
        first = self.slice_bound(start, extent, step < 0)
        last = self.slice_bound(stop, extent, step < 0)
        span = (last - first if step > 0 else first - last) + (abs(step) - 1)
        found = span.greatest(0)
        if abs(step) != 1:
            found = found.quotient(abs(step))
        self.fail(found.ne(length))
        return first

    def exact(self, fn: np.ufunc, *operands: Number) -> Vec:
        """Return a function of 64-bit integers; the run ends where an int would be larger."""
        a, *rest = [v for x in operands for v in numbers.vecs(x)]
        if fn in (np.add, np.subtract, np.multiply):
            return self._with_overflow(fn, a, rest[0])
        if fn in (np.negative, np.absolute):
            self.fail(a.eq(-(2**63)))
            return -a if fn is np.negative else a.abs()
        if fn is np.left_shift:
            shift = rest[0]
            self.fail((shift < 0) | ((shift > 62) & a.ne(0)))
            shift = shift.greatest(0).least(62)
            found = a << shift
            self.fail((found >> shift).ne(a))
            return found
        exponent = rest[0].value
        if fn is np.power and exponent is not None and 0 <= exponent <= 8:
            found = self.e.constant("i64", 1)
            for _ in range(int(exponent)):
                found = self._with_overflow(np.multiply, a, found)
            return found
        raise CannotCompile(f"exact {fn.__name__} has no native form")

    def _with_overflow(self, fn: np.ufunc, a: Vec, b: Vec) -> Vec:
        neutral = {np.add: 0, np.multiply: 1}.get(fn)
        for one, other in ((a, b), (b, a)):
            if neutral is not None and one.value == neutral:
                return other
        verb = {np.add: "add", np.subtract: "sub"}.get(fn, "mul")
        span = span_of(verb, a, b)
        if span is not None:
            if a.value is not None and b.value is not None and isinstance(span[0], int):
                return self.e.constant("i64", span[0])
            return self.ufunc(fn, a, b)
        if fn is np.multiply and (a.varying or b.varying):
            close = a.to("f64") * b.to("f64")
            self.fail(close.abs() >= 2.0**63 * (1 - 2.0**-40))
            return a * b
        if not a.varying and not b.varying:
            return self._scalar_overflow(verb, a, b)
        if fn is np.add:
            found = a + b
            self.fail(((a ^ found) & (b ^ found)) < 0)
        else:
            found = a - b
            self.fail(((a ^ b) & (a ^ found)) < 0)
        return found

    def _scalar_overflow(self, verb: str, a: Vec, b: Vec) -> Vec:
        e, given = self.e, [("i64", x.parts[0]) for x in (a, b)]
        pair = e.external("{ i64, i1 }", f"llvm.s{verb}.with.overflow.i64", *given)
        self.fail(e.uniform("b", e.write(f"extractvalue {{ i64, i1 }} {pair}, 1")))
        return e.uniform("i64", e.write(f"extractvalue {{ i64, i1 }} {pair}, 0"))

    # --- writing ------------------------------------------------------------------------------

    def updated(
        self,
        x: Array,
        values: Array,
        place: Callable[[Sequence[Index]], Sequence[Index]],
        *,
        is_known: bool = False,
        within: Ends = NOWHERE,
        is_written: Callable[[Sequence[Index]], Vec] | None = None,
    ) -> Array:
        """Return `x` with values written at places; see `updated_together`."""
        write = Write(x, values)
        (result,) = self.updated_together(
            [write], place, is_known=is_known, within=within, is_written=is_written
        )
        return result

    def updated_together(
        self,
        writes: Sequence[Write],
        place: Callable[[Sequence[Index]], Sequence[Index]],
        *,
        is_known: bool = False,
        of: Sequence[Array] = (),
        within: Ends = NOWHERE,
        is_written: Callable[[Sequence[Index]], Vec] | None = None,
    ) -> Sequence[Array]:
        """Return arrays of one shape, each with values of one shape written at the same places.

        ``place(i)`` is where the values at index `i` go, which is found `of` arrays, and `is_known`
        whether all are numbers. Only those `within` ends are written, for which ``is_written(i)``
        holds.
        """
        targets, size, shape = [w.x for w in writes], writes[0].x.shape, writes[0].values.shape
        is_compared = is_few((*size, *shape), COMPARED) or (is_known and not is_unknown(shape))
        if is_compared and self.is_small(size) and not within and is_written is None:
            return [self._chosen(write, place) for write in writes]
        if is_empty(shape):
            return targets
        buffers = {x.buffer for x in targets if isinstance(x, Stored)}
        values = [
            # What is written to is not read meanwhile.
            self.materialized(w.values, within=within) if buffers & w.values.buffers else w.values
            for w in writes
        ]
        results = [
            self.owned(x, *values, *of, *targets[number:])
            for number, x in enumerate(targets, start=1)
        ]

        def body(*i: Index) -> None:
            where = linear(place(i), results[0].strides)
            for write, own, result in zip(writes, values, results, strict=True):
                value = own.at(*i)
                if write.fn is not None:
                    old = result.load(where, self.mask)
                    value = self._combined(write.fn, old, value, write.x.dtype)
                if is_written is not None:
                    value = numbers.choose(is_written(i), value, result.load(where, self.mask))
                self.write(result, where, value)

        if self.in_lanes or all([write.fn is None for write in writes]):
            self.each(shape, body, within=within)
        else:  # places may repeat: one after the other
            for index in self.indices(shape):
                body(*index)
        return results

    def _chosen(
        self, write: Write, place: Callable[[Sequence[Index]], Sequence[Index]]
    ) -> Elements:
        """Return a small array with values written where an element's place is theirs."""
        x, values = write.x, write.values
        items, strides = list(self.items(x)), row_major(x.shape)
        for i, value in zip(np.ndindex(*values.shape), self.items(values), strict=True):
            where = linear(place(i), strides)
            self._set(
                items, self.index(where) if isinstance(where, Dim) else where, value, write.fn
            )
        return self.elements(x.dtype, x.shape, items)

    def between(self, x: Array, axis: int, low: Number, high: Number, fill: Number) -> Array:
        """Return an array that is `fill` but from `low` to before `high` along an axis."""
        size = x.shape[axis]
        (first,), (last,) = numbers.vecs(low), numbers.vecs(high)

        def at(*i: Index) -> Number:
            place = self.index(i[axis])
            return numbers.choose((place >= first) & (place < last), x.at(*i), fill)

        result = self.lazy(x.dtype, x.shape, at, (x,), ready=True)
        if isinstance(result, Lazy) and not first.varying and not last.varying:
            ends = first.greatest(0), last.least(size)
            result.within = Within(x, axis, *ends, fill)
        return result

    def updated_view(
        self,
        x: Array,
        values: Array,
        path: Sequence[Any],
        integers: Sequence[Number],
        span: int | None,
        ends: Sequence[Number],
    ) -> Array:
        """Return `x` with values written to a view; see `update_view` among the operations."""
        place = self.place_of_view(x.shape, path, integers)
        if span is None:
            return self.updated(x, values, place)
        low, high = (v for number in ends for v in numbers.vecs(number))
        if not (low.varying or high.varying):
            inside = low.greatest(0), high.least(values.shape[span])
            return self.updated(x, values, place, within={span: inside})

        def is_written(i: Sequence[Index]) -> Vec:
            at = self.index(i[span])
            return (at >= low) & (at < high)

        return self.updated(x, values, place, is_written=is_written)

    def place_of_view(
        self, shape: Sequence[int], path: Sequence[Any], integers: Sequence[Number]
    ) -> Callable[[Sequence[Index]], Sequence[Index]]:
        """Return the function from an index of a view to that of the array it is a view of."""
        taken = iter(integers)
        steps: list[Callable[[Sequence[Index]], Sequence[Index]]] = []
        for step in path:
            kind, *rest = step
            if kind == "slice":
                steps.append(partial(self.sliced_at, rest[0]))
            elif kind == "transpose":
                where = [rest[0].index(axis) for axis in range(len(rest[0]))]
                steps.append(lambda i, where=where: [i[axis] for axis in where])
            elif kind == "reshape":
                steps.append(partial(_through_ones, shape, rest[0]))
            elif kind == "place":
                axis, count = rest
                found = [self.place(next(taken), shape[axis + n]) for n in range(count)]
                steps.append(lambda i, a=axis, found=found: [*i[:a], *found, *i[a:]])
            else:
                axis, stride, length = rest
                first = self.slice_start(next(taken), next(taken), shape[axis], stride, length)
                steps.append(
                    lambda i, a=axis, first=first, stride=stride: [
                        *i[:a], plus(first, times(i[a], stride)), *i[a + 1 :]
                    ]
                )  # fmt: skip
            shape = step_shape(shape, step)

        def place(i: Sequence[Index]) -> Sequence[Index]:
            for step in reversed(steps):
                i = step(i)
            return i

        return place

    def _combined(self, fn: np.ufunc, old: Number, value: Number, dtype: np.dtype) -> Number:
        operands = (old,) if fn.nin == 1 else (old, value)
        return self.convert(self.ufunc(fn, *operands), dtype)

    def _set(self, items: list[Number], where: Index, value: Number, fn: Any) -> None:
        def new(item: Number) -> Number:
            dtype = numbers.dtype_of(item)
            return value if fn is None else self._combined(fn, item, value, dtype)

        if isinstance(where, Vec) and where.value is not None:
            where = int(where.value)
        if isinstance(where, int):
            items[where] = new(items[where])
            return
        for number, item in enumerate(items):
            items[number] = numbers.choose(where.eq(number), new(item), item)


def _through_ones(old: Sequence[int], new: Sequence[int], i: Sequence[Index]) -> list[Index]:
    """Return an index of a shape for one of a shape that differs by axes of size 1 alone."""
    rest = iter([j for j, size in zip(i, new, strict=True) if size != 1])
    return [0 if size == 1 else next(rest) for size in old]


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Return runs of axes of two shapes that hold the same elements."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        first, start = i, j
        i, j = min(i + 1, len(old)), min(j + 1, len(new))
        while i < len(old) or j < len(new):
            left, right = math.prod(old[first:i]), math.prod(new[start:j])
            if left == right:
                break
            is_old = i < len(old) and (left < right or j == len(new))
            i, j = i + is_old, j + (not is_old)
        groups.append(([*range(first, i)], [*range(start, j)]))
    return groups


def _digit(whole: Index, stride: int, size: int, count: int) -> Index:
    """Return one index of several, given their place in row-major order."""
    if count == 1:
        return whole
    if size == 1:
        return 0
    if isinstance(whole, int):
        return whole // stride % size
    if whole.value is not None:
        return int(whole.value) // stride % size
    span = known_span(whole)
    if stride == 1 and is_within(span, 0, size):
        return whole
    number = Vec(whole.e, "u64", whole.varying, whole.parts)
    if stride != 1:
        number = number.quotient(stride)
    if not is_within(span, 0, stride * size):
        number = number.rest(size)
    return number.as_kind("i64")
