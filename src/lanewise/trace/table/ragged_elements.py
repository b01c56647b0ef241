"""NumPy's functions on arrays of a length that is data: element by element, in order, products.

Beside the reductions (`lanewise.trace.table.ragged`): what gives an array of the same length again,
or of one that follows from it, and what looks elements up.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.ir.dims import Shape
from lanewise.ops.movement import slice_
from lanewise.trace.extents import Chosen, Extent, axis_places, front
from lanewise.trace.ragged import (
    TABLE,
    Ragged,
    filled,
    line_up,
    line_up_axis,
    pack,
    padded,
    ragged,
)
from lanewise.trace.ragged_ufuncs import (
    accumulate,
    astype,
    axes_of,
    bounded,
    elementwise,
    kept,
    not_empty,
    product,
    reduce,
)
from lanewise.trace.sizes import has_sizes
from lanewise.trace.table import registry
from lanewise.trace.table.histogram import counted
from lanewise.trace.table.ragged import implements, last_of, only
from lanewise.trace.tensor import Tensor, as_tensor, emit, weak
from lanewise.trace.ufuncs import NO_VALUE

# --- running, and between neighbours --------------------------------------------------------------


def _running(ufunc: np.ufunc) -> Any:
    def function(a: Ragged, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        if axis is None:
            axis = only(a, f"np.{ufunc.__name__}.accumulate over several axes")
        return accumulate(ufunc, a, axis, dtype, out)

    return function


implements(np.cumsum)(_running(np.add))
implements(np.cumprod)(_running(np.multiply))


def _neighbours(a: Ragged, axis: int) -> tuple[Ragged, Ragged]:
    """Return all elements along an axis but the last, and all but the first."""
    packed = pack(a, [axis])
    size = packed.data.shape[axis]
    extents = list(packed.extents)
    own = extents[axis]
    if own is not None:
        extents[axis] = front(max(size - 1, 0), np.maximum(own.count() - 1, 0), own)

    def part(start: int, stop: int) -> Ragged:
        index = tuple([(start, stop, 1) if i == axis else None for i in range(a.ndim)])
        return Ragged(emit(slice_, packed.data, index=index), tuple(extents))

    return (part(0, size - 1), part(1, size)) if size > 1 else (part(0, 0), part(0, 0))


@implements(np.diff)
def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE
) -> Any:
    if prepend not in (NO_VALUE, np._NoValue) or append not in (NO_VALUE, np._NoValue):
        bounded((a, prepend, append)).refuse("np.diff with prepend= or append=")
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    (axis,) = axes_of(axis, a.ndim)
    subtract = np.not_equal if a.dtype.kind == "b" else np.subtract
    for _ in range(n):
        before, behind = _neighbours(a, axis)
        a = subtract(behind, before)
    return a


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if not isinstance(y, Ragged) or y.ndim != 1 or (x is not None and np.ndim(x) > 1):
        bounded((y, x)).refuse("np.trapezoid of several axes")
    if x is not None:
        (y, x), _ = line_up((y, x))
        if not isinstance(y, Ragged) or not isinstance(x, Ragged):
            return np.trapezoid(y, x)
    before, behind = _neighbours(y, 0)
    width = dx if x is None else diff(x)
    return reduce(np.add, width * (behind + before) / 2.0, 0)


@implements(np.flip)
def flip(m: Ragged, axis: Any = None) -> Any:
    axes = axes_of(axis, m.ndim)
    return m[tuple([slice(None, None, -1) if a in axes else slice(None) for a in range(m.ndim)])]


# --- products -------------------------------------------------------------------------------------


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        bounded((a, b)).refuse("np.dot with out=")
    return a * b if not np.ndim(a) or not np.ndim(b) else product(a, b)


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    if not np.ndim(a) or not np.ndim(b):
        return a * b
    return product(a, np.transpose(b))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        bounded((a, b)).refuse("np.vdot of several axes")
    return product(np.conjugate(a), b)


@implements(np.linalg.norm)
def norm(x: Ragged, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    axes = axes_of(axis, x.ndim)
    is_vector = len(axes) == 1
    is_sum = ord is None or (is_vector and not isinstance(ord, str) and ord >= 0)
    if not is_sum and not (ord == "fro" and len(axes) == 2):
        x.refuse(f"np.linalg.norm with ord={ord!r}")
    left = kept(x, axes, keepdims)
    data = Ragged(filled(x), x.extents) if any(e is not None for e in left) else x
    over = [a for a in axes if x.extents[a] is not None]
    given = None if axis is None and x.ndim > 2 else axes[0] if is_vector else axes
    # Zeros add nothing to a norm.
    values = padded(data, 0, over) if over else data.data
    result = np.linalg.norm(values, ord=ord, axis=given, keepdims=keepdims)
    if ord == np.inf and not _has_norm_of_none():
        message = "zero-size array to reduction operation maximum which has no identity"
        result = not_empty(x, over, result, message)
    return ragged(result, left)


@lru_cache
def _has_norm_of_none() -> bool:
    """Whether this NumPy gives the greatest of no absolute values, 0, or raises."""
    try:
        return not np.linalg.norm(np.zeros(0), np.inf)
    except ValueError:
        return False


# --- tables ---------------------------------------------------------------------------------------


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if sorter is not None or (isinstance(a, Ragged) and (isinstance(v, Ragged) or a.ndim != 1)):
        bounded((a, v, sorter)).refuse("np.searchsorted with sorter=, or values of such a length,")
    if not isinstance(a, Ragged):
        return elementwise(lambda x: np.searchsorted(a, x, side), (v,), harmless=True)
    packed = pack(a)
    extent = packed.extents[0]
    assert extent is not None
    found = np.searchsorted(padded(packed, last_of(a.dtype)), v, side)
    return np.minimum(found, extent.count())


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if isinstance(xp, Ragged) or isinstance(fp, Ragged):
        if np.ndim(xp) != 1 or np.ndim(fp) != 1:
            raise ValueError("object too deep for desired array")
        operands = [t if isinstance(t, Ragged) else as_tensor(t) for t in (xp, fp)]
        line_up_axis(operands, {0: 0, 1: 0}, "fp and xp")
        if isinstance(operands[0], Ragged):
            if period is not None:
                operands[0].refuse("np.interp with period=")
            operands = _tables(*operands)
        xp, fp = operands
    if not isinstance(x, Ragged):
        return np.interp(x, xp, fp, left, right, period)
    return elementwise(lambda at: np.interp(at, xp, fp, left, right, period), (x,))


def _tables(*tables: Any) -> list[Tensor]:
    """Return tables whose last entry is repeated up to their bound: nothing lies between them."""
    results = []
    for table in map(pack, tables):
        extent = table.extents[0]
        last = np.maximum(extent.count() - 1, 0)
        order = np.minimum(as_tensor(axis_places(extent.bound)), last)
        data = not_empty(table, (0,), table.data, "array of sample points is empty")
        results.append(data[order])
    return results


@implements(np.bincount)
def bincount(x: Ragged, /, weights: Any = None, minlength: Any = 0) -> Any:
    operands, extents = line_up((x,) if weights is None else (x, weights))
    if not isinstance(operands[0], Ragged):
        return np.bincount(*operands, minlength=minlength)
    (extent,) = extents
    mask = extent.mask()
    if weights is not None:
        weights = operands[1]
        weights = padded(weights, 0) if isinstance(weights, Ragged) else np.where(mask, weights, 0)
    return counted(filled(operands[0], 0), weights, minlength, mask)


@implements(np.take)
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    if out is not None or mode != "raise" or (axis is None and np.ndim(a) != 1):
        bounded((a, indices)).refuse("np.take with out= or mode=, or from several axes,")
    x = a if isinstance(a, Ragged) else as_tensor(a)
    (axis,) = axes_of(axis, x.ndim)
    return x[(*(slice(None),) * axis, indices)]


@implements(np.flatnonzero)
@registry.implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return nonzero(np.ravel(a))[0]


@implements(np.nonzero)
@registry.implements(np.nonzero)
def nonzero(a: Any) -> Any:
    if isinstance(a, Ragged):
        only(a, "np.nonzero of several axes")
        a = pack(a)
        extent: Extent = a.extents[0]
        holds = np.logical_and(extent.mask(), a.data.astype(bool))
        return (_places(holds, axis_places(extent.bound)),)
    x = as_tensor(a)
    if not x.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(a)")
    holds = np.reshape(x.astype(bool), -1)
    return tuple([_places(holds, grid.ravel()) for grid in _grids(x.shape)])


def _grids(shape: Shape) -> Any:
    """Return for each axis the places of all elements on it."""
    if not has_sizes(shape):
        return np.indices(shape)
    rank = len(shape)
    rows = [np.reshape(axis_places(n), (-1, *(1,) * (rank - 1 - i))) for i, n in enumerate(shape)]
    return [np.broadcast_to(as_tensor(row), shape) for row in rows]


def _places(holds: Any, places: np.ndarray) -> Ragged:
    return Ragged(as_tensor(places), (Chosen(holds, what="np.nonzero(x)"),))


# --- element by element ---------------------------------------------------------------------------


TABLE[np.astype] = astype


def _each(function: Any, count: int, harmless: bool = False) -> None:
    """Enter a function of each element, of up to `count` operands."""

    def on_ragged(*args: Any, **kwargs: Any) -> Any:
        operands = [i for i, arg in enumerate(args[:count]) if arg is not None]
        others = [x for i, x in enumerate(args) if i not in operands] + list(kwargs.values())
        inside = [args[i] for i in operands]
        if any(isinstance(x, Ragged) for x in others) or kwargs.get("shape") is not None:
            bounded((*inside, *others)).refuse(f"np.{function.__name__} with such arguments")

        def apply(*values: Any) -> Any:
            given = list(args)
            for i, value in zip(operands, values, strict=True):
                given[i] = value
            return function(*given, **kwargs)

        return elementwise(apply, inside, harmless=harmless)

    TABLE[function] = on_ragged


for _function in (np.round, np.around, np.angle, np.sinc, np.i0, np.fix):
    _each(_function, 1)
_each(np.isclose, 2)
for _function in (
    np.real, np.imag, np.isposinf, np.isneginf, np.iscomplex, np.isreal, np.nan_to_num, np.copy,
    np.zeros_like, np.ones_like, np.empty_like, np.full_like,
):  # fmt: skip
    _each(_function, 1, harmless=True)
for _function in (np.where, np.clip):
    _each(_function, 3, harmless=True)


@implements(np.allclose)
def allclose(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    return weak(np.all(np.isclose(a, b, *args, **kwargs)), bool)


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if not isinstance(a1, Ragged) or not isinstance(a2, Ragged) or a1.ndim != 1 or a2.ndim != 1:
        bounded((a1, a2)).refuse("np.array_equal with an array of another kind of length")
    a1, a2 = pack(a1), pack(a2)
    first, second = a1.extents[0], a2.extents[0]
    size = min(first.bound, second.bound)
    x, y = a1.data[:size], a2.data[:size]
    equal = x == y
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        equal = np.logical_or(equal, np.logical_and(np.isnan(x), np.isnan(y)))
    behind = np.logical_not(first.mask()[:size])
    is_same = np.all(np.logical_or(equal, behind))
    return weak(np.logical_and(is_same, first.count() == second.count()), bool)


# --- shapes ---------------------------------------------------------------------------------------


@implements(np.shape)
def shape(a: Ragged) -> Any:
    return a.shape


@implements(np.size)
def size(a: Ragged, axis: Any = None) -> Any:
    if axis is None:
        return a.size
    result: Any = 1
    for number in axes_of(axis, a.ndim):
        result = a.shape[number] * result
    return result


@implements(np.ndim)
def ndim(a: Ragged) -> int:
    return a.ndim


@implements(np.transpose, np.permute_dims)
def transpose(a: Ragged, axes: Any = None) -> Any:
    axes = tuple(range(a.ndim))[::-1] if axes is None else axes_of(tuple(axes), a.ndim)
    return Ragged(np.transpose(a.data, axes), tuple([a.extents[i] for i in axes]), a.quiet)


@implements(np.swapaxes)
def swapaxes(a: Ragged, axis1: int, axis2: int) -> Any:
    axes = list(range(a.ndim))
    first, second = axes_of((axis1,), a.ndim)[0], axes_of((axis2,), a.ndim)[0]
    axes[first], axes[second] = second, first
    return transpose(a, tuple(axes))


@implements(np.expand_dims)
def expand_dims(a: Ragged, axis: Any) -> Any:
    number = a.ndim + (len(axis) if isinstance(axis, tuple) else 1)
    axes = axes_of(axis, number)
    return a[tuple([None if i in axes else slice(None) for i in range(number)])]


@implements(np.ravel)
def ravel(a: Ragged, order: str = "C") -> Any:
    only(a, "np.ravel of several axes")
    return a


@implements(np.reshape)
def reshape(a: Ragged, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    dims = shape if isinstance(shape, (tuple, list)) else (shape,)
    if a.ndim == 1 and len(dims) == 1 and not isinstance(dims[0], Tensor):
        in_a_row = operator.index(dims[0]) == -1
    else:
        in_a_row = False
    return a if in_a_row else a.refuse("np.reshape")


@implements(np.atleast_1d)
def atleast_1d(*arrays: Any) -> Any:
    results = tuple([a if isinstance(a, Ragged) else np.atleast_1d(a) for a in arrays])
    return results[0] if len(results) == 1 else results
