"""Small matrices that algorithms of a kernel work in: in registers, or in local memory.

An algorithm is written once, for a `Tile`. Where the matrix is small its elements are values,
indices are ints, and loops are written out; else they lie in memory, and loops run. An example
stands in each lane, so that a row chosen by the data (a pivot) is another one in each: in memory it
is gathered.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from lanewise.codegen.addresses import Index, linear
from lanewise.codegen.arrays import Array, Stored, items_of, row_major
from lanewise.codegen.builder import Builder
from lanewise.codegen.elementwise.complex_ufuncs import multiply
from lanewise.codegen.loops import Variable
from lanewise.codegen.numbers import (
    COMPLEX,
    Complex,
    Number,
    choose,
    constant,
    convert,
    dtype_of,
    of_vecs,
    vecs,
)
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import Vec, select


class Tile:
    """A matrix to compute in, by default in registers if it is small.

    With `is_adjoint` it is read and written as the conjugate transpose of what it holds. One that
    `is_kept` may be changed by loops that run, not written out.
    """

    def __init__(
        self,
        k: Builder,
        dtype: np.dtype,
        rows: int,
        columns: int,
        *,
        is_adjoint: bool = False,
        is_kept: bool = False,
        in_registers: bool | None = None,
    ) -> None:
        self.k, self.dtype, self.shape = k, dtype, (rows, columns)
        self.is_adjoint = is_adjoint
        self.in_registers = is_small(self.shape) if in_registers is None else in_registers
        self._items: list[Any] = []
        self._variables: list[Variable] = []
        self._memory: Stored | None = None
        self._failing: list[Vec] = []
        if not self.in_registers:
            self._memory = k.storage.local(dtype, self.shape)
        elif is_kept:
            self._variables = [k.loops.variable(dtype) for _ in range(rows * columns)]
        else:
            self._items = [None] * (rows * columns)

    def range(self, start: Index, stop: Index | None = None, step: int = 1) -> Iterable[Any]:
        """Write a loop over indices: turn by turn in registers."""
        return self.k.loops.range(start, stop, step, unroll=self.in_registers)

    def _place(self, index: tuple[Index, Index]) -> Any:
        return linear(index[::-1] if self.is_adjoint else index, row_major(self.shape))

    def __getitem__(self, index: tuple[Index, Index]) -> Any:
        place = self._place(index)
        if self._memory is not None:
            found = self._memory.load(place)
        else:
            found = self._variables[place].get() if self._variables else self._items[place]
        return conjugate(found) if self.is_adjoint else found

    def __setitem__(self, index: tuple[Index, Index], value: Number) -> None:
        place = self._place(index)
        value = conjugate(value) if self.is_adjoint else value
        if self._memory is not None:
            self._memory.store(place, value, None)
        elif self._variables:
            self._variables[place].set(value)
        else:
            self._items[place] = value

    def fill(self, element: Callable[[Any, Any], Number]) -> None:
        """Set every element, by a function of its indices."""
        shape = self.shape[::-1] if self.is_adjoint else self.shape
        for at in self.k.loops.indices(shape, unroll=self.in_registers):
            self[at] = element(*at)

    def column(self, c: Any, first: Index = 0) -> Iterator[tuple[Any, Any]]:
        """Write a loop over the places of a column, from a row on."""
        return ((i, c) for i in self.range(first, self.shape[0]))

    def squares(self, places: Iterable[tuple[Any, Any]], start: Number | None = None) -> Vec:
        """Return the sum of squares of elements, and of a number."""
        start = constant(self.k.e, real_dtype(self.dtype), 0) if start is None else start
        return real(self.total(places, start, lambda at, s: squared(self[at], real(s))))

    def sizes(self, places: Iterable[tuple[Any, Any]]) -> Vec:
        """Return the sum of magnitudes of elements."""
        none = constant(self.k.e, real_dtype(self.dtype), 0)
        return real(self.total(places, none, lambda at, s: magnitude(self[at]) + real(s)))

    def total(
        self, indices: Iterable[Any], start: Number, step: Callable[[Any, Any], Number]
    ) -> Any:
        """Return a number after ``step(index, number)`` for each index of a loop of this tile."""
        return self.totals(indices, [start], lambda i, found: [step(i, found[0])])[0]

    def totals(
        self,
        indices: Iterable[Any],
        start: Sequence[Number],
        step: Callable[[Any, Any], Sequence[Number]],
    ) -> list[Any]:
        """Return numbers after ``step(index, numbers)`` for each index of a loop of this tile."""
        found = list(start)
        if self.in_registers:
            for i in indices:
                found = list(step(i, found))
            return found
        variables = [self.k.loops.variable(dtype_of(x), first=x) for x in start]
        for i in indices:
            after = step(i, [variable.get() for variable in variables])
            for variable, x in zip(variables, after, strict=True):
                variable.set(x)
        return [variable.get() for variable in variables]

    def require(self, ok: Vec) -> None:
        """Let the example fail where something does not hold; see `finish`."""
        if self.in_registers:
            self._failing.append(~ok)
        else:
            self.k.fail(~ok)

    def finish(self) -> Array:
        """Return it as an array, after the checks that were put off until now."""
        if self._failing:
            self.k.fail(reduce(operator.or_, self._failing))
            self._failing = []
        if self._memory is not None:
            return self._memory
        items = [v.get() for v in self._variables] if self._variables else self._items
        return self.k.elements(self.dtype, self.shape, items)


def stacked(
    k: Builder,
    types: Sequence[Any],
    dtype: np.dtype,
    core: Callable[..., Iterable[Array]],
    *operands: Array,
) -> list[Array]:
    """Return arrays of results of `core` for each of the matrices that are stacked in operands.

    `core` gets what reads each operand's matrix, its elements of a dtype.
    """
    lead = types[0].shape[: max([x.ndim for x in operands]) - 2]
    shapes = [type_.shape[len(lead) :] for type_ in types]

    def reader(x: Array, index: tuple[Index, ...]) -> Callable[..., Number]:
        missing = len(lead) - (x.ndim - 2)
        own = [0 if d == 1 else j for d, j in zip(x.shape[:-2], index[missing:], strict=True)]
        return lambda *i: convert(x.at(*own, *i), dtype)

    def at(*index: Index) -> list[Array]:
        found = core(*[reader(x, index) for x in operands])
        return [k.views.reshaped(x, shape) for x, shape in zip(found, shapes, strict=True)]

    if not lead:
        return at()
    if all(is_small(type_.shape) for type_ in types):
        rows = [[items_of(x) for x in at(*index)] for index in np.ndindex(*lead)]
        return [
            k.elements(type_.dtype, type_.shape, [item for row in rows for item in row[n]])
            for n, type_ in enumerate(types)
        ]
    results = [k.storage.local(type_.dtype, type_.shape) for type_ in types]

    def turn(*index: Index) -> None:
        for result, part in zip(results, at(*index), strict=True):

            def put(*i: Index, result: Stored = result, part: Array = part) -> None:
                result.put((*index, *i), part.at(*i), k.storage.tail(result))

            k.loops.each(part.shape, put)

    k.loops.each(lead, turn, unroll=False)
    return list(results)


def identity(k: Builder, dtype: np.dtype) -> Callable[[Any, Any], Number]:
    """Return what gives the elements of a unit matrix."""
    one, zero = constant(k.e, dtype, 1), constant(k.e, dtype, 0)

    def at(i: Any, j: Any) -> Number:
        if isinstance(i, int) and isinstance(j, int):
            return one if i == j else zero
        return choose(k.index(i).eq(k.index(j)), one, zero)

    return at


# --- numbers, real or complex -------------------------------------------------------------------


def conjugate(x: Number) -> Any:
    return Complex(x.re, -x.im) if isinstance(x, Complex) else x


def real(x: Number) -> Vec:
    return vecs(x)[0]


def magnitude(x: Number) -> Vec:
    """Return |x|, or |re| + |im| of complex numbers, by which LAPACK chooses pivots too."""
    first, *rest = [part.abs() for part in vecs(x)]
    return first + rest[0] if rest else first


def squared(x: Number, plus: Vec) -> Vec:
    """Return ``|x|**2 + plus``."""
    for part in vecs(x):
        plus = part.fma(part, plus)
    return plus


def polar(x: Number) -> tuple[Vec, Any]:
    """Return |x|, and a number of size 1 with the sign or the direction of x, if it has any."""
    one = x.e.constant(x.kind, 1.0)
    if isinstance(x, Vec):
        return x.abs(), one.copysign(x)
    size = squared(x, x.e.constant(x.kind, 0.0)).sqrt()
    return size, scaled(x, one / select(size.eq(0.0), 1.0, size))


def scaled(x: Number, factor: Vec) -> Any:
    """Return a number times a real one."""
    return of_vecs([part * factor for part in vecs(x)])


def product(a: Any, b: Any) -> Any:
    return a * b if isinstance(a, Vec) else multiply(a, b)


def plus_product(c: Any, a: Any, b: Any) -> Any:
    """Return ``c + a * b``."""
    if isinstance(a, Vec):
        return a.fma(b, c)
    return Complex(
        (-a.im).fma(b.im, a.re.fma(b.re, c.re)),
        a.im.fma(b.re, a.re.fma(b.im, c.im)),
    )


def less_product(c: Number, a: Number, b: Number) -> Any:
    """Return ``c - a * b``."""
    return plus_product(c, of_vecs([-part for part in vecs(a)]), b)


def real_dtype(dtype: np.dtype) -> np.dtype:
    return dtype.type(0).real.dtype


def epsilon(dtype: np.dtype) -> float:
    """Return the distance from 1 to the next number."""
    return float(np.finfo(dtype).eps)


def as_number(x: Vec, dtype: np.dtype) -> Any:
    """Return a real number as one of this dtype."""
    return Complex(x, x.e.constant(x.kind, 0.0)) if dtype in COMPLEX.values() else x
