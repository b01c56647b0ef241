"""Reductions, running reductions and their relatives: the methods of binary ufuncs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from lanewise.ir.types import array_type
from lanewise.ops.registry import Batch, op, sample


@lru_cache(maxsize=1024)
def reduction_dtype(fn: np.ufunc, method: str, given: np.dtype, dtype: np.dtype | None) -> np.dtype:
    """Ask NumPy for the dtype that ``fn.reduce`` or ``fn.accumulate`` gives."""
    return getattr(fn, method)(np.ones(1, given), dtype=dtype).dtype


@op
class reduce:
    """``fn.reduce`` over several axes, which go; ``dtype`` chooses the accumulator."""

    def type(x, *, fn: np.ufunc, axes: tuple[int, ...], dtype: np.dtype | None = None):
        if fn.identity is None and any(x.shape[axis] == 0 for axis in axes):
            raise ValueError(
                f"zero-size array to reduction operation {fn.__name__} which has no identity"
            )
        shape = tuple(d for axis, d in enumerate(x.shape) if axis not in axes)
        return array_type(reduction_dtype(fn, "reduce", x.dtype, dtype), shape)

    def numpy(x, *, fn, axes, dtype):
        return fn.reduce(x, axes if len(axes) != 1 else axes[0], dtype)

    def batch(b: Batch, x, *, fn, axes, dtype):
        return reduce(x, fn=fn, axes=tuple([axis + 1 for axis in axes]), dtype=dtype)

    def lanes(k, types, x, *, fn, axes, dtype):
        return k.reduced(types[0], x, fn, axes)

    samples = (
        sample((2, 3, 4), fn=np.add, axes=(0, 2)),
        sample((2, 3), fn=np.maximum, axes=(1,)),
        sample((2, 0), fn=np.multiply, axes=(1,)),
        sample((2,), fn=np.logical_or, axes=(0,)),
        sample((), fn=np.add, axes=()),
    )


@op
class accumulate:
    """``fn.accumulate`` along one axis: running sums, products, maxima."""

    def type(x, *, fn: np.ufunc, axis: int, dtype: np.dtype | None = None):
        return array_type(reduction_dtype(fn, "accumulate", x.dtype, dtype), x.shape)

    def numpy(x, *, fn, axis, dtype):
        return fn.accumulate(x, axis, dtype)

    def batch(b: Batch, x, *, fn, axis, dtype):
        return accumulate(x, fn=fn, axis=axis + 1, dtype=dtype)

    def lanes(k, types, x, *, fn, axis, dtype):
        return k.accumulated(types[0], x, fn, axis)

    samples = (
        sample((2, 3), fn=np.add, axis=1),
        sample((3,), fn=np.maximum, axis=0),
        sample((0, 2), fn=np.multiply, axis=0),
    )


@op
class reduceat:
    """``fn.reduceat``: reductions over runs of one axis that start at static `indices`."""

    def type(
        x, *, fn: np.ufunc, indices: tuple[int, ...], axis: int, dtype: np.dtype | None = None
    ):
        if bad := [i for i in indices if not 0 <= i < x.shape[axis]]:
            raise IndexError(
                f"index {bad[0]} out-of-bounds in {fn.__name__}.reduceat [0, {x.shape[axis]})"
            )
        shape = (*x.shape[:axis], len(indices), *x.shape[axis + 1 :])
        return array_type(reduction_dtype(fn, "reduce", x.dtype, dtype), shape)

    def numpy(x, *, fn, indices, axis, dtype):
        return fn.reduceat(x, np.array(indices, np.intp), axis, dtype)

    def batch(b: Batch, x, *, fn, indices, axis, dtype):
        return reduceat(x, fn=fn, indices=indices, axis=axis + 1, dtype=dtype)

    def lanes(k, types, x, *, fn, indices, axis, dtype):
        return k.reduced_in_runs(types[0], x, fn, indices, axis)

    samples = (
        sample((5,), fn=np.add, indices=(0, 2, 1), axis=0),
        sample((2, 4), fn=np.maximum, indices=(1, 3), axis=1),
    )


@op
class argreduce:
    """The index of the first greatest (``argmax``) or least (``argmin``) element along an axis."""

    def type(x, *, fn: str, axis: int):
        if x.shape[axis] == 0:
            raise ValueError(f"attempt to get {fn} of an empty sequence")
        return array_type(np.dtype(np.intp), x.shape[:axis] + x.shape[axis + 1 :])

    def numpy(x, *, fn, axis):
        return getattr(x, fn)(axis)

    def batch(b: Batch, x, *, fn, axis):
        return argreduce(x, fn=fn, axis=axis + 1)

    def lanes(k, types, x, *, fn, axis):
        return k.found_best(types[0], x, fn == "argmax", axis)

    samples = (
        sample((2, 3), fn="argmax", axis=1),
        sample((3,), fn="argmin", axis=0),
        sample((0, 2), fn="argmax", axis=1),
    )
