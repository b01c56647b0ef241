"""The vocabulary of `lanes` rules that takes algorithms: linear algebra, sorting, searching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.codegen import library, lists
from lanewise.codegen.algorithms import linalg, orthogonal, python_calls, sorting
from lanewise.codegen.arrays import Array
from lanewise.codegen.elementwise.ufuncs import Function
from lanewise.codegen.mathlib import special
from lanewise.codegen.numbers import Number, vecs
from lanewise.codegen.rules import Rules
from lanewise.codegen.vector import select
from lanewise.ir.dims import DimLike
from lanewise.ir.types import array_type

_INTP = np.dtype(np.intp)


class Algorithms(Rules):
    """Rules, and algorithms on small arrays; each is described where it is written."""

    cholesky, solve, det, slogdet = linalg.cholesky, linalg.solve, linalg.det, linalg.slogdet
    qr, eigvalsh, svdvals = orthogonal.qr, orthogonal.eigvalsh, orthogonal.svdvals
    sorted_along, searchsorted = sorting.sorted_along, sorting.searchsorted
    interp, python_call = sorting.interp, python_calls.python_call
    gufunc_call, ufunc_call = library.gufunc_call, library.ufunc_call

    def list_arena(self, is_checked: bool) -> Array:
        return lists.Arena(self, is_checked)

    def i0(self, x: Number, dtype: np.dtype) -> Number:
        (real,) = vecs(self.convert(x, dtype))
        wide = real.to("f32") if real.kind == "f16" else real
        return Function(special.i0)(wide).to(real.kind)

    def places_of(self, mask: Array, length: DimLike) -> Array:
        """Return the places where a mask of one axis holds, of which there are `length`.

        Each place is written behind those that were found, whether it holds or not, so there is one
        more in memory than there are.
        """
        mask = self.ready(mask)
        found = self.local(_INTP, (length + 1,))
        count = self.e.slot("i64", self.in_lanes, self.index(0))
        for i in self.range(mask.shape[0], unroll=False):
            (holds,) = vecs(mask.at(i))
            behind = count.get()
            # As many were counted; memory is for no more, whatever happens.
            self.write(found, behind.least(self.index(length)), self.index(i))
            count.set(select(self.both(holds), behind + 1, behind))
        return self.lazy(_INTP, (length,), lambda i: found.at(i), (found,), ready=True)

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
