"""Where a mask holds: places, one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lanewise.codegen import numbers
from lanewise.codegen.arrays import Array
from lanewise.codegen.vector import select
from lanewise.ir.dims import DimLike

if TYPE_CHECKING:
    from lanewise.codegen.lowering import Lowering

_INTP = np.dtype(np.intp)


def places_of(k: Lowering, mask: Array, length: DimLike) -> Array:
    """Return the places where a mask of one axis holds, of which there are `length`.

    Each place is written behind those that were found, whether it holds or not, so there is one
    more in memory than there are.
    """
    mask = k.ready(mask)
    found = k.local(_INTP, (length + 1,))
    count = k.e.slot("i64", k.in_lanes, k.index(0))
    for i in k.range(mask.shape[0], unroll=False):
        (holds,) = numbers.vecs(mask.at(i))
        behind = count.get()
        # As many were counted; memory is for no more, whatever happens.
        k.write(found, behind.least(k.index(length)), k.index(i))
        count.set(select(k.both(holds), behind + 1, behind))
    return k.lazy(_INTP, (length,), lambda i: found.at(i), (found,), ready=True)
