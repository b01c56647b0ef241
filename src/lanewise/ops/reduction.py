"""Reductions, running reductions and their relatives: the methods of binary ufuncs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError
from lanewise.ir.dims import Shape, product
from lanewise.ir.types import array_type
from lanewise.ops.creation import iota
from lanewise.ops.derivatives import linear
from lanewise.ops.facts import Held, Kind, flops_of_fn, fn_may_fail
from lanewise.ops.indexing import gather
from lanewise.ops.registry import Batch, along_axis, op, sample
from lanewise.ops.shapes import broadcasts_to
from lanewise.ops.ufuncs import row_of

#: Functions that give one of their operands, so that any may be taken again and again; and those
#: that are constant almost everywhere.
CHOICES = (np.maximum, np.minimum, np.fmax, np.fmin)
FLAT = (np.floor_divide,)


@lru_cache(maxsize=1024)
def reduction_dtype(fn: np.ufunc, method: str, given: np.dtype, dtype: np.dtype | None) -> np.dtype:
    """Ask NumPy for the dtype that ``fn.reduce`` or ``fn.accumulate`` gives."""
    return getattr(fn, method)(np.ones(1, given), dtype=dtype).dtype


@op
class reduce:
    """``fn.reduce`` over several axes, which go; ``dtype`` chooses the accumulator."""

    kind, held, may_fail = Kind.REDUCTION, Held.NUMBERS, fn_may_fail
    flops, conditions = flops_of_fn, "reduce"
    along_rows = any_size = True

    def allocates(op):
        return bool(op.params["axes"])

    def space(op):
        (x,), (y,), axes = op.operands, op.results, op.params["axes"]
        is_rounded = np.float16 in (x.type.dtype, y.type.dtype)
        if is_rounded or not row_of(op.params["fn"]).is_associative:
            return None
        return tuple([x.type.shape[axis] for axis in axes]), (x.type.shape, axes)

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
        return k.reductions.reduced(types[0], x, fn, axes)

    def together(k, types, xs, params):
        return k.reductions.together([type_ for (type_,) in types], [x for (x,) in xs], params)

    def jvp(d, tangents, y, x, *, fn, axes, dtype):
        if fn is np.add:
            return d.emit(reduce, tangents[0], fn=fn, axes=axes, dtype=dtype)
        return _reduced(d, tangents[0], y, x, fn, axes)

    def transposed(d, ct, x, *, fn, axes, dtype):
        shape = tuple([1 if axis in axes else size for axis, size in enumerate(x.shape)])
        return np.broadcast_to(np.reshape(ct, shape), x.shape)

    samples = (
        sample((2, 3, 4), fn=np.add, axes=(0, 2)),
        sample((2, 3), fn=np.maximum, axes=(1,)),
        sample((2, 0), fn=np.multiply, axes=(1,)),
        sample((2,), fn=np.logical_or, axes=(0,)),
        sample((2, 3), fn=np.subtract, axes=(1,)),
        sample((3, 2, 2), fn=np.multiply, axes=(0, 2)),
        sample((), fn=np.add, axes=()),
    )


@op
class accumulate:
    """``fn.accumulate`` along one axis: running sums, products, maxima."""

    kind, along, may_fail, numpy_ns = Kind.ALONG, "axis", fn_may_fail, 1.5
    flops, conditions = flops_of_fn, "accumulate"
    any_size = True

    def type(x, *, fn: np.ufunc, axis: int, dtype: np.dtype | None = None):
        return array_type(reduction_dtype(fn, "accumulate", x.dtype, dtype), x.shape)

    def numpy(x, *, fn, axis, dtype):
        return fn.accumulate(x, axis, dtype)

    batch = along_axis

    def lanes(k, types, x, *, fn, axis, dtype):
        return k.reductions.accumulated(types[0], x, fn, axis)

    def jvp(d, tangents, y, x, *, fn, axis, dtype):
        (t,) = tangents
        if fn is np.add:
            return d.emit(accumulate, t, fn=fn, axis=axis, dtype=dtype)
        if fn in CHOICES:  # where the element stands that each place has
            shape = [1] * x.ndim
            shape[axis] = -1
            i = np.reshape(d.emit(iota, length=x.shape[axis], dtype=np.dtype(np.intp)), shape)
            new = np.where(x == y, i, 0)
            at = d.emit(accumulate, new, fn=np.maximum, axis=axis)
            return np.take_along_axis(t, at, axis)
        t, y, x = (np.moveaxis(v, axis, -1) for v in (t, y, x))
        return np.moveaxis(_accumulated(t.astype(y.dtype), y, x.astype(y.dtype), fn), -1, axis)

    def transposed(d, ct, x, *, fn, axis, dtype):
        return np.flip(np.cumsum(np.flip(ct, axis), axis), axis)

    samples = (
        sample((2, 3), fn=np.add, axis=1),
        sample((3,), fn=np.maximum, axis=0),
        sample((0, 2), fn=np.multiply, axis=0),
        sample((2, 5), fn=np.multiply, axis=1),
        sample((4,), fn=np.logaddexp, axis=0),
    )


@op
class reduceat:
    """``fn.reduceat``: reductions over runs of one axis that start at static `indices`."""

    flops, conditions = flops_of_fn, "reduceat"

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

    batch = along_axis

    def lanes(k, types, x, *, fn, indices, axis, dtype):
        return k.reductions.in_runs(types[0], x, fn, indices, axis)

    def jvp(d, tangents, y, x, *, fn, indices, axis, dtype):
        if fn in FLAT:
            return None
        # Runs of one length are reduced together.
        runs: dict[int, list[int]] = {}
        for number, start in enumerate(indices):
            stop = (*indices[number + 1 :], x.shape[axis])[0]
            last = number + 1 == len(indices)
            runs.setdefault(stop - start if stop > start or last else 1, []).append(number)
        parts = []
        for length, numbers in runs.items():
            at = np.array([indices[number] for number in numbers])[:, None] + np.arange(length)
            t, own = (d.emit(gather, v, at, axis=axis) for v in (tangents[0], x))
            result = d.emit(gather, y, np.array(numbers), axis=axis)
            axes = (axis + 1,)
            parts.append(t.sum(axis + 1) if fn is np.add else _reduced(d, t, result, own, fn, axes))
        if not parts:
            return None
        order = np.argsort([number for numbers in runs.values() for number in numbers])
        return d.emit(gather, np.concatenate(parts, axis), order, axis=axis)

    samples = (
        sample((5,), fn=np.add, indices=(0, 2, 1), axis=0),
        sample((2, 4), fn=np.maximum, indices=(1, 3), axis=1),
        sample((6, 2), fn=np.multiply, indices=(0, 4, 1, 3), axis=0),
    )


def _reduced(d: Any, t: Any, y: Any, x: Any, fn: np.ufunc, axes: tuple[int, ...]) -> Any:
    """Return the tangent of ``fn.reduce`` over several axes, of other functions than sums."""
    if not axes:
        return t
    if fn in FLAT:
        return None
    x, t = x.astype(y.dtype), t.astype(y.dtype)
    rank = x.ndim - len(axes)
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    count = product(tuple([x.shape[axis] for axis in axes]))
    if count == 0:
        return None
    x, t = (np.reshape(np.transpose(v, (*rest, *axes)), (*y.shape, count)) for v in (x, t))
    if fn in CHOICES:
        is_found = x == np.reshape(y, (*y.shape, 1))
        part = np.where(is_found, t, np.zeros((), t.dtype)).sum(rank)
        return part / is_found.sum(rank).astype(t.real.dtype)
    if fn is np.multiply:
        ones = np.ones_like(x[..., :1])
        before = np.concatenate([ones, np.cumprod(x[..., :-1], rank)], rank)
        behind = np.concatenate([ones, np.cumprod(x[..., :0:-1], rank)], rank)[..., ::-1]
        return (t * (before * behind)).sum(rank)
    if fn in (np.logaddexp, np.logaddexp2):
        exp = np.exp if fn is np.logaddexp else np.exp2
        return (t * exp(x - np.reshape(y, (*y.shape, 1)))).sum(rank)
    if fn is np.hypot:
        y = np.reshape(np.where(y == 0, np.ones((), y.dtype), y), (*y.shape, 1))
        return (t * (x / y)).sum(rank)
    running = d.emit(accumulate, x, fn=fn, axis=rank)
    return _accumulated(t, running, x, fn)[..., -1]


def _accumulated(t: Any, y: Any, x: Any, fn: np.ufunc) -> Any:
    """Return the tangent of ``fn.accumulate`` along the last axis, of any function of which the
    partial derivatives are known: ``dy[i] = a[i] * dy[i - 1] + b[i] * dx[i]``.

    The recurrence is solved by doubling the distance that it reaches back (W. D. Hillis and G. L.
    Steele, "Data parallel algorithms", 1986).
    """
    partials = row_of(fn).partial
    if not isinstance(partials, tuple) or len(partials) != 2:
        raise UnsupportedError(f"the derivative of np.{fn.__name__}.accumulate is not known")
    known = y[..., 1:], y[..., :-1], x[..., 1:]
    one = np.ones_like(x[..., :1])
    ones = np.ones_like(known[2])
    given = [p(*known) if callable(p) else ones * (p or 0) for p in partials]
    factors, own = (np.concatenate([one, part], axis=-1) for part in given)
    terms, reach = t * own, 1
    while reach < x.shape[-1]:
        near, far = factors[..., reach:], factors[..., :-reach]
        summed = near * terms[..., :-reach] + terms[..., reach:]
        terms = np.concatenate([terms[..., :reach], summed], axis=-1)
        factors = np.concatenate([factors[..., :reach], near * far], axis=-1)
        reach *= 2
    return terms


@op
class sum_to:
    """The sum over the axes along which an array of `shape` is repeated to that of x.

    Of sizes that are not known it is seen when the graph runs which these are: those of size 1.
    """

    may_fail = False

    def type(x, *, shape: Shape):
        if not broadcasts_to(shape, x.shape) or len(shape) != x.ndim:
            raise ValueError(f"{x} is not what an array of shape {shape} is repeated to")
        return array_type(x.dtype, shape)

    def numpy(x, *, shape):
        axes = _repeated(x.shape, shape)
        result = x.sum(axes, x.dtype, keepdims=True) if axes else x
        return np.broadcast_to(result, shape)  # raises where they do not fit

    def batch(b: Batch, x, *, shape):
        return sum_to(x, shape=(b.size, *shape))

    def lanes(k, types, x, *, shape):
        axes = _repeated(x.shape, shape)
        if not axes:
            return x
        kept = tuple([size for axis, size in enumerate(x.shape) if axis not in axes])
        found = k.reductions.reduced(array_type(x.dtype, kept), x, np.add, axes)
        return k.views.reshaped(found, shape)

    jvp = linear(0)

    def transposed(d, ct, x, *, shape):
        return np.broadcast_to(ct, x.shape)

    samples = (
        sample((2, 3), shape=(1, 3)),
        sample((2, 3), shape=(1, 1)),
        sample((2, 3), shape=(2, 3)),
        sample((0, 2), shape=(1, 2)),
    )


def _repeated(whole: Shape, shape: Shape) -> tuple[int, ...]:
    """Return the axes along which an array of one shape is repeated to another."""
    pairs = enumerate(zip(whole, shape, strict=True))
    return tuple([axis for axis, (size, own) in pairs if own == 1 != size])


@op
class argreduce:
    """The index of the first greatest (``argmax``) or least (``argmin``) element along an axis."""

    kind, along, conditions = Kind.REDUCTION, "axis", ""
    any_size = True

    def type(x, *, fn: str, axis: int):
        if x.shape[axis] == 0:
            raise ValueError(f"attempt to get {fn} of an empty sequence")
        return array_type(np.dtype(np.intp), x.shape[:axis] + x.shape[axis + 1 :])

    def numpy(x, *, fn, axis):
        return getattr(x, fn)(axis)

    batch = along_axis

    def lanes(k, types, x, *, fn, axis):
        return k.reductions.found_best(types[0], x, fn == "argmax", axis)

    samples = (
        sample((2, 3), fn="argmax", axis=1),
        sample((3,), fn="argmin", axis=0),
        sample((0, 2), fn="argmax", axis=1),
    )
