"""Which elements are found where they are read, and which once before: all there is to fusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.codegen.addresses import Index
from lanewise.codegen.arrays import Array, Lazy, Shape
from lanewise.codegen.builder import Builder
from lanewise.codegen.numbers import Number, vecs
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.unrolling import UNROLLED

#: An element that takes at most so many operations is computed again where it is repeated.
AGAIN = 16
#: One that takes at most so many is not worth memory of its own, nor lanes for itself.
CHEAP = 3


class Fusion:
    """Decides when elements are found; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def settled(self, x: Array, uses: int) -> Array:
        """Return an array in the form in which it is kept for `uses` later uses."""
        if not isinstance(x, Lazy) or not uses:
            return x
        if is_small(x.shape):
            if not self.k.loops.unrolling.is_written_out(x.shape, x.work) and self._is_wide(x):
                return self.k.storage.materialized(x)
            is_last_reader = bool(x.buffers) and not any(buffer.readers for buffer in x.buffers)
            if uses == 1 and x.size > UNROLLED and is_last_reader:
                return x  # what is in memory need not go through registers to a loop
        elif uses == 1 or x.is_ready:
            return x
        return self.k.computed(x)

    def _is_wide(self, x: Array) -> bool:
        """Whether elements differ between lanes. What does not is in registers, as is analysed."""
        return any([part.varying for part in vecs(x.at(*(0,) * x.ndim))]) or not self.k.in_lanes

    def found_once(self, x: Array, shape: Shape) -> Array:
        """Return an array so that its elements are found once, if a result repeats costly ones."""
        if not isinstance(x, Lazy) or x.is_ready or x.work <= AGAIN or len(x.shape) > len(shape):
            return x
        own = (1,) * (len(shape) - len(x.shape)) + x.shape
        pairs = list(zip(own, shape, strict=True))
        is_repeated = any([a == 1 != b for a, b in pairs])
        return self.k.ready(x) if is_repeated and all([a in (1, b) for a, b in pairs]) else x

    def read_once(self, x: Array, shape: Shape, written: Sequence[Array]) -> Array:
        """Return an array whose elements are each read once, while others are written to."""
        is_cheap = isinstance(x, Lazy) and x.work <= CHEAP and not is_small(x.shape)
        is_apart = not any([x.buffers & other.buffers for other in written])
        return x if is_cheap and is_apart and tuple(x.shape) == tuple(shape) else self.k.ready(x)

    def several(
        self,
        types: Sequence[Any],
        shape: Sequence[int],
        at: Callable[..., Sequence[Number]],
        work: int = 0,
    ) -> list[Array]:
        """Return the arrays whose elements at an index are ``at(*index)``.

        Of small ones these are written out; if `work` says how many operations that is, about, only
        if they are not too many.
        """
        k = self.k
        if k.loops.unrolling.is_written_out(shape, work):
            rows = [at(*i) for i in np.ndindex(*shape)]
            columns = [[row[n] for row in rows] for n in range(len(types))]
            return [k.elements(t.dtype, shape, x) for t, x in zip(types, columns, strict=True)]
        results = [k.storage.local(t.dtype, shape) for t in types]

        def body(*i: Index) -> None:
            for result, item in zip(results, at(*i), strict=True):
                result.put(i, item, k.storage.tail(result))

        k.loops.each(shape, body, work=max(work, 1))
        return list(results)
