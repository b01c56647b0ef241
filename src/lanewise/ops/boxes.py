"""Arrays of any size as elements of others: handed on where no bound of the size is known.

Such a size is known in one region, or in one iteration, and has no meaning outside. A box has one
element, the array, whatever its shape is: with that beside it the array can be taken out again.
"""

from __future__ import annotations

import numpy as np

from lanewise.ir.dims import Shape
from lanewise.ir.types import array_type
from lanewise.ops.registry import Batch, absent, op

BOXES = np.dtype(object)
_NO_DERIVATIVE = (
    "an array is handed on from a branch or a loop, and how long it may be is not known. Make it a "
    "slice of an array, np.zeros(100)[:n]"
)


@op
class box:
    """An array in a box; of a batch along `lead` axes, each of its arrays in a box of its own."""

    conditions = ""
    may_fail = False
    tangent_of_last = True

    def type(x, *, lead: int = 0):
        return array_type(BOXES, (*x.shape[:lead], 1))

    def numpy(x, *, lead):
        x = np.array(x)  # which nobody writes to
        boxes = np.empty((*x.shape[:lead], 1), BOXES)
        for place in np.ndindex(x.shape[:lead]):
            boxes[(*place, 0)] = x[(*place, ...)]
        return boxes

    def batch(b: Batch, x, *, lead):
        return box(x, lead=lead + 1)

    lanes = absent("an array in a box has no native form")
    jvp = absent(_NO_DERIVATIVE)
    samples = absent("an array of arrays; tests/control/test_sizes_that_differ.py runs it")


@op
class unbox:
    """The array in a box, which has a certain shape; zeros, if no such array was put in."""

    conditions = ""
    may_fail = False

    def type(boxed, *, dtype: np.dtype, shape: Shape):
        if boxed.dtype != BOXES or boxed.shape != (1,):
            raise TypeError(f"it takes a box, not {boxed}")
        return array_type(dtype, shape)

    def numpy(boxed, *, dtype, shape):
        found = boxed[0]
        return found if found.ndim == len(shape) else np.zeros(shape, dtype)

    batch = absent("each example takes an array of its own size out")
    lanes = absent("an array in a box has no native form")
    jvp = absent(_NO_DERIVATIVE)
    samples = absent("an array of arrays; tests/control/test_sizes_that_differ.py runs it")
