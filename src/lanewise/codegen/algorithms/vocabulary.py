"""The vocabulary of `lanes` rules that takes algorithms: linear algebra, sorting, searching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.codegen import library, lists
from lanewise.codegen.algorithms import linalg, orthogonal, places, python_calls, sorting
from lanewise.codegen.arrays import Array
from lanewise.codegen.emitter import Emitter
from lanewise.codegen.mathlib import bessel
from lanewise.codegen.numbers import Number, vecs
from lanewise.codegen.rules import Rules
from lanewise.ir.dims import DimLike
from lanewise.ir.types import array_type


class Algorithms(Rules):
    """Rules, and algorithms on small arrays; each is described where it is written."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.factors = linalg.Known()

    def cholesky(self, type_: Any, x: Array, upper: bool) -> Array:
        return linalg.cholesky(self, self.factors, type_, x, upper)

    def solve(self, type_: Any, a: Array, b: Array) -> Array:
        return linalg.solve(self, self.factors, type_, a, b)

    def inv(self, type_: Any, x: Array) -> Array:
        return linalg.inv(self, type_, x)

    def det(self, type_: Any, x: Array) -> Array:
        return linalg.det(self, type_, x)

    def slogdet(self, types: Any, x: Array) -> list[Array]:
        return linalg.slogdet(self, types, x)

    def qr(self, types: Any, x: Array, mode: str) -> list[Array]:
        return orthogonal.qr(self, types, x, mode)

    def eigvalsh(self, type_: Any, x: Array, uplo: str) -> Array:
        return orthogonal.eigvalsh(self, type_, x, uplo)

    def svdvals(self, type_: Any, x: Array) -> Array:
        return orthogonal.svdvals(self, type_, x)

    def sorted_along(
        self,
        type_: Any,
        x: Array,
        axis: int,
        places: bool = False,
        kth: Sequence[DimLike] | None = None,
    ) -> Array:
        return sorting.sorted_along(self, type_, x, axis, places, kth)

    def searchsorted(self, type_: Any, x: Array, values: Array, side: str) -> Array:
        return sorting.searchsorted(self, type_, x, values, side)

    def places_of(self, mask: Array, length: DimLike) -> Array:
        return places.places_of(self, mask, length)

    def interp(self, type_: Any, *operands: Array) -> Array:
        return sorting.interp(self, type_, *operands)

    def gufunc_call(self, types: Any, *given: Any, **how: Any) -> list[Array]:
        return library.gufunc_call(self, types, *given, **how)

    def ufunc_call(self, types: Any, *given: Any, **how: Any) -> list[Array]:
        return library.ufunc_call(self, types, *given, **how)

    def python_call(self, type_: Any, operands: Sequence[Array], fn: str, rows: bool) -> Array:
        return python_calls.python_call(self, type_, operands, fn, rows)

    def list_arena(self, is_checked: bool = False) -> Array:
        return lists.Arena(self, is_checked)

    def list_append(self, arena: Array, whole: Array, value: Array) -> Array:
        return lists.append(self, arena, whole, value)

    def list_cut(self, arena: Array, whole: Array, size: Array) -> Array:
        return lists.cut(self, arena, whole, size)

    def list_of(self, arena: Array, values: Array) -> Array:
        return lists.begun_with(self, arena, values)

    def list_array(
        self, arena: Array, whole: Array, dtype: np.dtype, shape: Sequence[Any]
    ) -> Array:
        return lists.elements(self, arena, whole, dtype, shape)

    def list_element(
        self, arena: Array, whole: Array, index: Array, dtype: np.dtype, shape: Sequence[int]
    ) -> Array:
        return lists.element(self, arena, whole, index, dtype, shape)

    def list_tangents(self, arena: Array, order: int) -> Array:
        assert isinstance(arena, lists.Arena)
        return arena.tangents(order)

    def table_changed(
        self, store: Array, tables: Array, place: Array, value: Array, adding: bool
    ) -> Array:
        return lists.changed(self, store, tables, place, value, adding)

    def table_element(
        self, store: Array, tables: Array, place: Array, dtype: np.dtype, shape: Sequence[int]
    ) -> Array:
        return lists.table_element(self, store, tables, place, dtype, shape)

    def i0(self, x: Number, dtype: np.dtype) -> Number:
        return bessel.i0(*vecs(self.convert(x, dtype)))

    def reduced_in_runs(
        self, type_: Any, x: Array, fn: np.ufunc, indices: Sequence[int], axis: int
    ) -> Array:
        """Return the reductions over runs of an axis, each from an index to the next one."""
        x = self.ready(x)
        before, behind = x.shape[:axis], x.shape[axis + 1 :]
        reduced = array_type(type_.dtype, (*before, *behind))
        rows = []
        for start, end in zip(indices, [*indices[1:], x.shape[axis]], strict=False):
            run = self.view(
                x,
                (*before, max(end - start, 1), *behind),
                lambda *i, n=start: (*i[:axis], self.plus(i[axis], n), *i[axis + 1 :]),
            )
            row = self.ready(self.reduced(reduced, run, fn, (axis,)))
            rows.append(self.reshaped(row, (*before, 1, *behind)))
        return self.concatenated(type_, rows, axis)
