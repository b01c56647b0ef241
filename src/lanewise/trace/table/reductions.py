"""Reductions: sums, extrema, where they are, means, variances, counts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lanewise.ir.dims import Dim, product
from lanewise.ops.creation import dimension
from lanewise.ops.elementwise import imag, real
from lanewise.ops.reduction import argreduce
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.sizes import not_empty
from lanewise.trace.table.checks import checked, of_shape
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, emit
from lanewise.trace.ufunc_methods import reduce_method
from lanewise.trace.ufuncs import NO_VALUE
from lanewise.trace.views import as_out, store

# Functions that `nan` makes of these say where they are from: the page of what is followed has it.


def reduction(ufunc: np.ufunc, module: str, taken: Callable[[Any], Tensor] = as_tensor) -> Any:
    """Return the function that reduces what is `taken` by a ufunc, over all axes by default."""

    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = NO_VALUE, where: Any = True,
    ) -> Any:  # fmt: skip
        return reduce_method(ufunc, taken(a), axis, dtype, out, keepdims, initial, where)

    function.__module__ = module
    return function


sum = implements(np.sum)(reduction(np.add, __name__))
prod = implements(np.prod)(reduction(np.multiply, __name__))


def extremum(ufunc: np.ufunc, module: str) -> Any:
    """Return the extremum, of all elements by default."""

    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = NO_VALUE, where: Any = True,
    ) -> Any:  # fmt: skip
        return reduce_method(ufunc, a, axis, None, out, keepdims, initial, where)

    function.__module__ = module
    return function


max = implements(np.max, np.amax)(extremum(np.maximum, __name__))
min = implements(np.min, np.amin)(extremum(np.minimum, __name__))


def _truth(ufunc: np.ufunc) -> Any:
    """Return the function that takes truth values together, all of them by default."""

    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        return reduce_method(ufunc, a, axis, None, out, keepdims, where=where)

    return function


any = implements(np.any)(_truth(np.logical_or))
all = implements(np.all)(_truth(np.logical_and))


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    greatest = reduce_method(np.maximum, a, axis, None, out, keepdims)
    least = reduce_method(np.minimum, a, axis, None, None, keepdims)
    return np.subtract(greatest, least, out=out)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return reduce_method(np.add, as_tensor(a).astype(bool), axis, np.intp, None, keepdims)


def _argreduction(fn: str) -> Any:
    """Return the function that finds the first extremum, of all elements by default."""
    of_none = f"attempt to get {fn} of an empty sequence"

    def function(
        a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False
    ) -> Any:
        x = as_tensor(a)
        ndim = x.ndim
        if axis is None or (ndim == 0 and axis in (0, -1)):
            row = not_empty(np.reshape(x, -1), (0,), of_none)
            result = emit(argreduce, row, fn=fn, axis=0)
            result = np.reshape(result, (1,) * ndim) if keepdims else result
        else:
            axis = normalize_axis(operator.index(axis), ndim)
            result = emit(argreduce, not_empty(x, (axis,), of_none), fn=fn, axis=axis)
            result = np.expand_dims(result, axis) if keepdims else result
        if out is None:
            return result
        as_out(out)  # raises for what is none
        if out.shape != result.shape:
            raise ValueError(f"output array does not match result of np.{fn}.")
        if not np.can_cast(out.dtype, np.intp, "safe"):  # NumPy writes to a copy of it
            what = "array data" if out.ndim else "scalar"
            raise TypeError(
                f"Cannot cast {what} from {out.dtype!r} to {np.dtype(np.intp)!r} according to the "
                "rule 'safe'"
            )
        store(out, result)
        return out

    return function


argmax = implements(np.argmax)(_argreduction("argmax"))
argmin = implements(np.argmin)(_argreduction("argmin"))


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    x = as_tensor(a)
    is_half = x.dtype == np.float16 and dtype is None
    if dtype is None and x.dtype.kind in "biu":
        dtype = np.float64
    total = reduce_method(
        np.add, x, axis, np.float32 if is_half else dtype, out, keepdims, where=where
    )
    result = divide_as(total, count(x, axis, keepdims, where))
    return stored(result.astype(np.float16) if is_half and out is None else result, out)


def stored(result: Tensor, out: Any) -> Any:
    """Return a result, or ``out`` once it holds that."""
    if out is None:
        return result
    store(out, result)
    return out


def count(x: Tensor, axis: Any, keepdims: bool, where: Any = True) -> Any:
    """Return how many elements a reduction takes: a number, or a tensor with ``where``."""
    if where is not True:
        mask = np.broadcast_to(as_tensor(where), x.shape)
        return reduce_method(np.add, mask, axis, np.intp, None, keepdims)
    axes = range(x.ndim) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    number = product([x.shape[normalize_axis(a, x.ndim)] for a in axes])
    return emit(dimension, size=number) if isinstance(number, Dim) else np.intp(number)


def divide_as(total: Tensor, number: Any) -> Tensor:
    """Return a quotient in the dtype of the total, as an in-place division leaves it."""
    result = total / number
    return result if result.dtype == total.dtype else result.astype(total.dtype)


def _variance(
    a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Any:
    x = as_tensor(a)
    number = count(x, axis, keepdims, where)
    if dtype is None and x.dtype.kind in "biu":
        dtype = np.float64
    if mean is NO_VALUE or mean is None:
        total = reduce_method(np.add, x, axis, dtype, None, True, where=where)
        mean = divide_as(total, number if where is True else np.reshape(number, total.shape))
    deviation = np.subtract(x, mean)
    if x.dtype.kind in "iuf":
        squares = np.square(deviation)
    elif deviation.dtype.kind == "c":
        squares = np.square(emit(real, deviation)) + np.square(emit(imag, deviation))
    else:
        squares = np.multiply(deviation, deviation)
    total = reduce_method(np.add, squares, axis, dtype, out, keepdims, where=where)
    return stored(divide_as(total, np.maximum(number - ddof, 0)), out)


def degrees(ddof: Any, correction: Any) -> Any:
    """Return the one of ``ddof=`` and ``correction=`` that was given."""
    if correction is NO_VALUE:
        return ddof
    if not isinstance(ddof, Tensor) and ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def of_variance(variance: Callable[..., Any], *, root: bool) -> Any:
    """Return the function that gives variances, or their roots."""

    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
        keepdims: bool = False, *, where: Any = True, mean: Any = NO_VALUE,
        correction: Any = NO_VALUE,
    ) -> Any:  # fmt: skip
        ddof = degrees(ddof, correction)
        result = variance(a, axis, dtype, out, ddof, keepdims, where, mean)
        return np.sqrt(result, out=out) if root else result

    function.__module__ = variance.__module__
    return function


var = implements(np.var)(of_variance(_variance, root=False))
std = implements(np.std)(of_variance(_variance, root=True))


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    x = as_tensor(a)
    if axis is not None:
        axis = normalize_axis_tuple(axis, x.ndim, argname="axis")
    if weights is None:
        result = np.mean(x, axis, keepdims=keepdims)
        number = count(x, axis, False)
        is_sized = isinstance(number, Tensor)
        scale: Any = number.astype(result.dtype) if is_sized else result.dtype.type(number)
    else:
        weights = broadcast_weights(weights, x, axis)
        dtypes = [x.dtype, weights.dtype, *([np.dtype(float)] if x.dtype.kind in "biu" else [])]
        dtype = np.result_type(*dtypes)
        scale = np.sum(weights, axis=axis, dtype=dtype, keepdims=keepdims)
        total = np.sum(np.multiply(x, weights, dtype=dtype), axis, keepdims=keepdims)
        zero = ZeroDivisionError("Weights sum to zero, can't be normalized")
        result = checked(total, np.all(scale != 0.0), zero) / scale
    if not returned:
        return result
    if scale.shape != result.shape:
        scale = np.broadcast_to(scale, result.shape)
    return result, scale


def broadcast_weights(weights: Any, x: Tensor, axis: tuple[int, ...] | None) -> Any:
    """Return weights, of x's shape or of the axes alone, so that they broadcast against x."""
    weights = as_tensor(weights) if contains_tensor(weights) else weights
    weights = weights if isinstance(weights, Tensor) else np.asanyarray(weights)
    if weights.shape == x.shape:
        return weights
    if axis is None:
        problem = TypeError("Axis must be specified when shapes of a and weights differ.")
        return of_shape(weights, x.shape, problem)
    weights = of_shape(weights, tuple(x.shape[a] for a in axis), ValueError(
        "Shape of weights must be consistent with shape of a along specified axis."
    ))  # fmt: skip
    weights = np.transpose(weights, np.argsort(axis))
    return np.reshape(weights, tuple(d if a in axis else 1 for a, d in enumerate(x.shape)))
