"""The vocabulary of `lanes` rules that takes algorithms: linear algebra, sorting, searching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.codegen import library, lists
from lanewise.codegen.algorithms import linalg, orthogonal, places, python_calls, sorting
from lanewise.codegen.arrays import Array
from lanewise.codegen.elementwise.ufuncs import Function
from lanewise.codegen.emitter import Emitter
from lanewise.codegen.mathlib import bessel
from lanewise.codegen.numbers import Number, vecs
from lanewise.codegen.rules import Rules
from lanewise.ir.types import array_type


class Algorithms(Rules):
    """Rules, and algorithms on small arrays; each is described where it is written."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.factors = linalg.Known()

    inv, det, slogdet = linalg.inv, linalg.det, linalg.slogdet
    qr, eigvalsh, svdvals = orthogonal.qr, orthogonal.eigvalsh, orthogonal.svdvals
    sorted_along, places_of = sorting.sorted_along, places.places_of
    searchsorted, interp = sorting.searchsorted, sorting.interp
    gufunc_call, ufunc_call = library.gufunc_call, library.ufunc_call
    python_call = python_calls.python_call

    def cholesky(self, type_: Any, x: Array, upper: bool) -> Array:
        return linalg.cholesky(self, self.factors, type_, x, upper)

    def solve(self, type_: Any, a: Array, b: Array) -> Array:
        return linalg.solve(self, self.factors, type_, a, b)

    def list_arena(self, is_checked: bool) -> Array:
        return lists.Arena(self, is_checked)

    def i0(self, x: Number, dtype: np.dtype) -> Number:
        (real,) = vecs(self.convert(x, dtype))
        wide = real.to("f32") if real.kind == "f16" else real
        return Function(bessel.i0)(wide).to(real.kind)

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
