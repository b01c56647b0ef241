"""Views of arrays in a kernel, and what moves their elements: an index instead of a copy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.addresses import Index, linear, plus, times
from lanewise.codegen.arrays import (
    Array,
    Elements,
    Given,
    Lazy,
    Stored,
    Within,
    items_of,
    row_major,
)
from lanewise.codegen.builder import Builder
from lanewise.codegen.numbers import Number
from lanewise.codegen.sizes import is_unknown, varies
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import Vec, is_within, known_span, select
from lanewise.ops.paths import step_shape


class Views:
    """What moves elements; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def reshaped(self, x: Array, shape: tuple[int, ...]) -> Array:
        """Return the same elements in row-major order under another shape."""
        k = self.k
        if isinstance(x, Elements):
            return k.elements(x.dtype, shape, x.items)
        is_alike = [n for n in x.shape if n != 1] == [n for n in shape if n != 1]
        if any([varies(size, k.e.counted) for size in (*x.shape[1:], *shape[1:])]):
            if not is_alike:
                k.leave("the lanes have rows of different sizes")
            return k.view(x, shape, lambda *i: _through_ones(x.shape, shape, i))
        if isinstance(x, Stored):
            return Stored(k.loops, x.dtype, shape, x.buffer)
        if isinstance(x, Given) and not any([isinstance(s, Vec) for s in x.strides]):
            strides = tuple([s * x.dtype.itemsize for s in row_major(shape)])
            lead = x.strides[: len(x.lead)]
            return Given(k.loops, x.dtype, shape, x.pointer, x.lead, (*lead, *strides))
        if is_unknown((*x.shape, *shape)):
            if not is_alike:
                return self.reshaped(k.storage.materialized(x), shape)
            return k.view(x, shape, lambda *i: _through_ones(x.shape, shape, i))
        groups = _groups(x.shape, shape)

        def source(*index: Index) -> list[Index]:
            found: list[Index] = []
            for old, new in groups:
                whole = linear([index[i] for i in new], row_major([shape[i] for i in new]))
                sizes = [x.shape[i] for i in old]
                for stride, size in zip(row_major(sizes), sizes, strict=True):
                    found.append(_digit(whole, stride, size, len(sizes)))
            return found

        return k.view(x, shape, source)

    def converted(self, x: Array, dtype: np.dtype) -> Array:
        """Return an array as one of a dtype, each element converted where it is read."""
        if x.dtype == dtype:
            return x
        return self.k.lazy(dtype, x.shape, lambda *i: self.k.convert(x.at(*i), dtype), (x,))

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
        k = self.k
        dtype, shape = type_.dtype, type_.shape
        if is_small(shape):
            items: dict[tuple[Index, ...], Any] = {}
            for x, corner in pieces:
                for i, item in zip(np.ndindex(*x.shape), items_of(x), strict=True):
                    items[tuple(map(plus, i, corner))] = item
            found = [items.get(i, border) for i in np.ndindex(*shape)]
            return k.elements(dtype, shape, [k.convert(item, dtype) for item in found])
        result = k.storage.local(dtype, shape)
        if border is not None:
            k.loops.each(shape, lambda *i: result.put(i, border, k.storage.tail(result)))
        for x, corner in pieces:

            def body(*i: Index, x: Array = x, corner: Any = corner) -> None:
                # What stands behind the last element of a lane may be there already.
                is_whole = result.buffer.mask is k.mask
                mask = k.storage.tail(result) if is_whole else k.mask
                result.put([*map(plus, i, corner)], k.convert(x.at(*i), dtype), mask)

            k.loops.each(x.shape, body)
        return result

    def between(self, x: Array, axis: int, low: Number, high: Number, fill: Number) -> Array:
        """Return an array that is `fill` but from `low` to before `high` along an axis."""
        size = x.shape[axis]
        (first,), (last,) = numbers.vecs(low), numbers.vecs(high)

        def at(*i: Index) -> Number:
            place = self.k.index(i[axis])
            return numbers.choose((place >= first) & (place < last), x.at(*i), fill)

        result = self.k.lazy(x.dtype, x.shape, at, (x,), ready=True)
        if isinstance(result, Lazy) and not first.varying and not last.varying:
            ends = first.greatest(0), last.least(size)
            result.within = Within(x, axis, *ends, fill)
        return result

    # --- parts whose places are data ----------------------------------------------------------

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
        extent = self.k.index(size)
        first = self.slice_bound(start, extent, step < 0)
        last = self.slice_bound(stop, extent, step < 0)
        span = (last - first if step > 0 else first - last) + (abs(step) - 1)
        found = span.greatest(0)
        if abs(step) != 1:
            found = found.quotient(abs(step))
        self.k.fail(found.ne(length))
        return first

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
                found = [self.k.place(next(taken), shape[axis + n]) for n in range(count)]
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
