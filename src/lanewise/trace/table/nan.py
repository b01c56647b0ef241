"""Functions that leave NaNs out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lanewise.ops.elementwise import imag, real
from lanewise.trace.table.checks import checked
from lanewise.trace.table.quantile import (
    arguments,
    axes_first,
    between,
    by_weights,
    choose,
    finish,
    is_weak,
    of_quantiles,
    pick,
)
from lanewise.trace.table.reductions import divide_as, extremum, of_variance, reduction, stored
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.ufuncs import NO_VALUE


def _replaced(a: Any, value: float) -> tuple[Tensor, Tensor | None]:
    """Return a with its NaNs replaced, and where they were (None where none can be)."""
    x = as_tensor(a)
    if x.dtype.kind not in "fc":
        return x, None
    mask = np.isnan(x)
    return choose(mask, value, x), mask


nansum = implements(np.nansum)(reduction(np.add, __name__, lambda a: _replaced(a, 0)[0]))
nanprod = implements(np.nanprod)(reduction(np.multiply, __name__, lambda a: _replaced(a, 1)[0]))
# These leave NaNs out themselves.
nanmin = implements(np.nanmin)(extremum(np.fmin, __name__))
nanmax = implements(np.nanmax)(extremum(np.fmax, __name__))


def _place(function: Any, value: float) -> Any:
    """Return the function that finds an extremum; it raises, at run time, where all are NaN."""

    def nan_function(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        x, mask = _replaced(a, value)
        if mask is not None and x.size:
            some = np.logical_not(np.all(mask, axis=axis))
            x = checked(x, some, ValueError("All-NaN slice encountered"))
        return function(x, axis=axis, out=out, keepdims=keepdims)

    return nan_function


nanargmin = implements(np.nanargmin)(_place(np.argmin, np.inf))
nanargmax = implements(np.nanargmax)(_place(np.argmax, -np.inf))


def _running(function: Any, value: float) -> Any:
    def nan_function(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        return function(_replaced(a, value)[0], axis=axis, dtype=dtype, out=out)

    return nan_function


nancumsum = implements(np.nancumsum)(_running(np.cumsum, 0))
nancumprod = implements(np.nancumprod)(_running(np.cumprod, 1))


def _inexact(dtype: Any, out: Any) -> Any:
    """Return the dtype asked for, or raise where it or that of ``out=`` has no NaN."""
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None and out.dtype.kind not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")
    return None if dtype is None else np.dtype(dtype)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    x, mask = _replaced(a, 0)
    if mask is None:
        return np.mean(x, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)
    dtype = _inexact(dtype, out)
    number = np.sum(~mask, axis=axis, dtype=np.intp, keepdims=keepdims, where=where)
    total = np.sum(x, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)
    return stored(divide_as(total, number), out)


def _variance(
    a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Any:
    x, mask = _replaced(a, 0)
    if mask is None:
        return np.var(x, axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    dtype = _inexact(dtype, out)
    number = np.sum(~mask, axis=axis, dtype=np.intp, keepdims=True, where=where)
    if mean is NO_VALUE:
        total = np.sum(x, axis=axis, dtype=dtype, keepdims=True, where=where)
        mean = divide_as(total, number)
    deviation = np.subtract(x, mean)
    if deviation.dtype != x.dtype:  # NumPy computes in place
        deviation = deviation.astype(x.dtype)
    deviation = choose(mask, 0, deviation)
    if x.dtype.kind == "c":
        squares = np.square(emit(real, deviation)) + np.square(emit(imag, deviation))
    else:
        squares = np.square(deviation)
    total = np.sum(squares, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)
    free = np.reshape(number, total.shape) - ddof
    result = choose(free <= 0, np.nan, divide_as(total, free))
    return stored(result, out)


nanvar = implements(np.nanvar)(of_variance(_variance, root=False))
nanstd = implements(np.nanstd)(of_variance(_variance, root=True))


# --- order statistics ---------------------------------------------------------------------------


def _valid(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the elements sorted along the first axis, NaNs last, and how many are none."""
    return np.sort(x, axis=0), np.count_nonzero(~np.isnan(x), axis=0)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    x = as_tensor(a)
    if x.size == 0:
        return np.nanmean(x, axis, out=out, keepdims=keepdims)
    if x.dtype.kind not in "fc":
        return np.median(x, axis, out, keepdims=keepdims)
    axes = None if axis is None else normalize_axis_tuple(axis, x.ndim)
    ordered, number = _valid(axes_first(x, axes))
    before, after = np.maximum((number - 1) // 2, 0), number // 2
    after = np.minimum(after, ordered.shape[0] - 1)
    pairs = np.stack([pick(ordered, before, True), pick(ordered, after, True)])
    # NumPy takes the mean of one or two elements; in short slices of a stack, half of a sum.
    if ordered.ndim > 1 and ordered.shape[0] < 600:
        result = (pairs[0] + pairs[1]) / 2
    else:
        one, two = np.mean(pairs[:1], axis=0), np.mean(pairs, axis=0)
        result = choose(number % 2 == 1, one, two)
    result = choose(number == 0, np.nan, result)
    return finish(result, x.ndim, axes, keepdims, out, "unsafe")


def _quantiles(
    a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any, most: int
) -> Any:
    x, places, axes, ready_weights = arguments(a, q, axis, method, weights, most)
    if x.size == 0:
        return np.nanmean(x, axis, out=out, keepdims=keepdims)
    if x.dtype.kind != "f":
        function = np.quantile if most == 1 else np.percentile
        return function(x, q, axis, out, False, method, keepdims, weights=weights)
    flat = axes_first(x, axes)
    ordered, number = _valid(flat)
    if weights is None:
        result = between(ordered, number, places, method, is_weak(q))
    else:
        _, result = by_weights(flat, number, places, ready_weights)
    result = choose(number == 0, np.nan, result)
    return finish(result, x.ndim, axes, keepdims, out, "unsafe")


nanquantile = implements(np.nanquantile)(of_quantiles(_quantiles, 1))
nanpercentile = implements(np.nanpercentile)(of_quantiles(_quantiles, 100))
