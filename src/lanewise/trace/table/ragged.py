"""NumPy's functions on arrays of a length that is data: reductions, and what works on each element.

What stands here gives what NumPy gives for the elements alone. Everything else refuses
(`Ragged.__array_function__`), as its result would have a shape that depends on the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lanewise.errors import DataDependentShapeError, at
from lanewise.ir.location import here
from lanewise.ops.checks import checked
from lanewise.ops.elementwise import imag, real
from lanewise.ops.reduction import argreduce
from lanewise.ops.sorting import argsort as argsort_op
from lanewise.ops.sorting import sort as sort_op
from lanewise.trace.extents import Chosen, front
from lanewise.trace.ragged import (
    TABLE,
    Ragged,
    filled,
    full_mask,
    line_up,
    pack,
    padded,
    ragged,
)
from lanewise.trace.ragged_ufuncs import (
    astype,
    axes_of,
    bounded,
    counted,
    elementwise,
    kept,
    not_empty,
    reduce,
    with_mask,
)
from lanewise.trace.table import registry
from lanewise.trace.table.quantile import choose
from lanewise.trace.table.reductions import degrees, divide_as
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.ufuncs import NO_VALUE

F = TypeVar("F", bound=Callable[..., Any])


def implements(*functions: Any) -> Callable[[F], F]:
    """Make the decorated function what these NumPy functions do on arrays of such lengths."""

    def enter(implementation: F) -> F:
        for function in functions:
            TABLE[function] = implementation
        return implementation

    return enter


# --- sums, extrema, counts ------------------------------------------------------------------------


def _reduction(ufunc: np.ufunc) -> Any:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Any:
        return reduce(ufunc, a, axis, dtype, out, keepdims, initial, where)

    return function


def _extremum(ufunc: np.ufunc) -> Any:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Any:
        return reduce(ufunc, a, axis, None, out, keepdims, initial, where)

    return function


def _truth(ufunc: np.ufunc) -> Any:
    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        return reduce(ufunc, a, axis, None, out, keepdims, where=where)

    return function


implements(np.sum)(_reduction(np.add))
implements(np.prod)(_reduction(np.multiply))
implements(np.max, np.amax)(_extremum(np.maximum))
implements(np.min, np.amin)(_extremum(np.minimum))
implements(np.any)(_truth(np.logical_or))
implements(np.all)(_truth(np.logical_and))


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    greatest = reduce(np.maximum, a, axis, None, out, keepdims)
    return greatest - reduce(np.minimum, a, axis, None, None, keepdims)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return reduce(np.add, astype(a, bool), axis, np.intp, None, keepdims)


def _argreduction(fn: str) -> Any:
    def function(
        a: Ragged, axis: int | None = None, out: Any = None, *, keepdims: bool = False
    ) -> Any:
        if out is not None or (axis is None and a.ndim > 1):
            a.refuse(f"np.{fn} with out=, or of all axes,")
        (axis,) = axes_of(axis, a.ndim)
        packed = pack(a, [axis])
        # Behind the elements stand copies of the first of them: the first extremum is another.
        data = emit(argreduce, filled(packed), fn=fn, axis=axis)
        data = not_empty(packed, (axis,), data, f"attempt to get {fn} of an empty sequence")
        data = np.expand_dims(data, axis) if keepdims else data
        return ragged(data, kept(a, (axis,), keepdims))

    return function


argmax = implements(np.argmax)(_argreduction("argmax"))
argmin = implements(np.argmin)(_argreduction("argmin"))


# --- means and variances --------------------------------------------------------------------------


@implements(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    kind = a.dtype
    is_half = kind == np.float16 and dtype is None
    if dtype is None and kind.kind in "biu":
        dtype = np.float64
    dtype = np.float32 if is_half else dtype
    total = reduce(np.add, a, axis, dtype, out, keepdims, where=where)
    result = _divided(total, _number(a, axis, keepdims, where))
    return result.astype(np.float16) if is_half else result


def _divided(total: Any, number: Any) -> Any:
    if isinstance(total, Tensor):
        return divide_as(total, number)
    return elementwise(lambda t, n: divide_as(t, n), (total, number))


def _number(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """Return how many elements are reduced, for each of the rest."""
    a, where = with_mask(a, where)
    if not isinstance(a, Ragged):
        mask = np.broadcast_to(where, a.shape)
        return np.sum(mask, axis=axis, dtype=np.intp, keepdims=keepdims)
    axes = axes_of(axis, a.ndim)
    if where is True:
        return counted(a, axes)
    mask = np.logical_and(full_mask(a, axes) if _over(a, axes) else True, where)
    mask = np.broadcast_to(mask, a.data.shape)
    number = np.sum(mask, axis=axes, dtype=np.intp, keepdims=keepdims)
    return ragged(number, kept(a, axes, keepdims))


def _over(a: Ragged, axes: tuple[int, ...]) -> bool:
    return any(a.extents[axis] is not None for axis in axes)


@implements(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    ddof = degrees(ddof, correction)
    number = _number(a, axis, True, where)
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.float64
    if mean is NO_VALUE or mean is None:
        mean = _divided(reduce(np.add, a, axis, dtype, None, True, where=where), number)
    deviation = a - mean
    if deviation.dtype.kind == "c":
        squares = elementwise(
            lambda d: np.square(emit(real, d)) + np.square(emit(imag, d)), (deviation,)
        )
    else:
        squares = deviation * deviation
    total = reduce(np.add, squares, axis, dtype, out, keepdims, where=where)
    number = _number(a, axis, keepdims, where)
    return _divided(total, np.maximum(number - ddof, 0))


@implements(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    ddof = degrees(ddof, correction)
    return np.sqrt(var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean))


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        scale: Any = as_tensor(_number(a, axis, False, True)).astype(result.dtype)
    else:
        weights = weights if isinstance(weights, Ragged) else as_tensor(weights)
        if weights.ndim != a.ndim:
            bounded((a, weights)).refuse("np.average with weights of other axes")
        (a, weights), _ = line_up((a, weights))
        dtypes = [a.dtype, weights.dtype, *([np.dtype(float)] if a.dtype.kind in "biu" else [])]
        dtype = np.result_type(*dtypes)
        scale = np.sum(weights, axis=axis, dtype=dtype, keepdims=keepdims)
        total = np.sum(np.multiply(a, weights, dtype=dtype), axis, keepdims=keepdims)
        if isinstance(scale, Ragged) or isinstance(total, Ragged):
            bounded((scale, total)).refuse("np.average along another axis")
        ok = np.all(scale != 0.0)
        message = "Weights sum to zero, can't be normalized"
        result = emit(checked, total, ok, error="ZeroDivisionError", message=message) / scale
    if not returned:
        return result
    return result, np.broadcast_to(scale, result.shape)


# --- order statistics -----------------------------------------------------------------------------


def last_of(dtype: np.dtype) -> Any:
    """Return what sorts behind every element of a dtype."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return True if dtype.kind == "b" else np.nan if dtype.kind == "f" else complex("nan+nanj")


@implements(np.sort)
def sort(
    a: Ragged, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    np.argsort(np.empty(1), kind=kind, order=order, stable=stable)  # raises for bad arguments
    if axis is None:
        axis = only(a, "np.sort with axis=None")
    (axis,) = axes_of(axis, a.ndim)
    extent, extents = a.extents[axis], list(a.extents)
    if extent is None:
        return ragged(emit(sort_op, a.data, axis=axis, kind="stable"), extents)
    data = emit(sort_op, padded(a, last_of(a.dtype), [axis]), axis=axis, kind="stable")
    extents[axis] = front(extent.bound, extent.count(), extent)
    return ragged(data, extents)


@implements(np.argsort)
def argsort(
    a: Ragged, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    np.argsort(np.empty(1), kind=kind, order=order, stable=stable)
    if axis is None:
        axis = only(a, "np.argsort with axis=None")
    (axis,) = axes_of(axis, a.ndim)
    a = pack(a, [axis])
    data = a.data if a.extents[axis] is None else padded(a, last_of(a.dtype), [axis])
    return ragged(emit(argsort_op, data, axis=axis, kind="stable"), a.extents)


def only(a: Ragged, use: str) -> int:
    """Return the one axis of an array, or refuse where there are others."""
    if a.ndim != 1:
        a.refuse(use)
    return 0


_MARK = (
    "Sort with np.sort(x); np.diff(np.sort(x)) != 0 marks where another value begins, and "
    "np.bincount(x, minlength=n) counts integers"
)


@implements(np.unique)
@registry.implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    x = ar if isinstance(ar, Ragged) else np.ravel(as_tensor(ar))
    is_more = return_index or return_inverse or return_counts
    if (is_more and isinstance(x, Ragged)) or axis is not None or x.ndim != 1:
        raise DataDependentShapeError(
            "np.unique along an axis, or with indices, inverse or counts of an array of a length "
            f"that is data, is not followed{at(here())}: the shape of its result depends on the "
            f"data. {_MARK}"
        )
    if is_more:
        wanted = return_index, return_inverse, return_counts
        return _unique_with(x, as_tensor(ar).shape, wanted, equal_nan)
    ordered = np.sort(x)
    data = ordered.data if isinstance(ordered, Ragged) else ordered
    if not data.shape[0]:
        return ordered
    begins = _begins(data, equal_nan)
    if isinstance(ordered, Ragged):
        begins = np.logical_and(begins, full_mask(ordered))
    return Ragged(data, (Chosen(begins, what="np.unique(x)", instead=_MARK),))


def _begins(data: Tensor, equal_nan: bool) -> Any:
    """Return where in sorted data another value begins."""
    before, behind = data[:-1], data[1:]
    differs = before != behind
    if equal_nan and data.dtype.kind in "fc":
        differs = np.logical_and(differs, ~np.logical_and(np.isnan(before), np.isnan(behind)))
    return np.concatenate([np.ones_like(differs, shape=(1,)), differs])


def _unique_with(
    x: Tensor, shape: Any, wanted: tuple[bool, bool, bool], equal_nan: bool
) -> tuple[Any, ...]:
    """Return the unique values and, as far as wanted, first indices, inverse and counts."""
    order = np.argsort(x, stable=True)
    data = x[order]
    if not data.shape[0]:
        parts = [order, np.reshape(order, shape), order]
        return (data, *[part for part, is_wanted in zip(parts, wanted, strict=True) if is_wanted])
    begins = _begins(data, equal_nan)
    extents = (Chosen(begins, what="np.unique(x)", instead=_MARK),)
    rank = np.cumsum(begins, dtype=np.intp) - 1  # of each element's value among the unique ones
    return_index, return_inverse, return_counts = wanted
    results: list[Any] = [Ragged(data, extents)]
    if return_index:
        results.append(Ragged(order, extents))
    if return_inverse:
        results.append(np.reshape(rank[np.argsort(order, stable=True)], shape))
    if return_counts:
        results.append(Ragged(np.bincount(rank, minlength=data.shape[0])[rank], extents))
    return tuple(results)


def _array_api_form(function: Any, *wanted: bool) -> None:
    """Enter a function of the array API standard that gives unique values and more, by name."""
    kind = type(function(np.zeros(1)))

    @registry.implements(function)
    def call(x: Any) -> Any:
        return kind(*unique(x, *wanted, equal_nan=False))


_array_api_form(np.unique_all, True, True, True)
_array_api_form(np.unique_inverse, False, True)
_array_api_form(np.unique_counts, False, False, True)


@implements(np.unique_values)
@registry.implements(np.unique_values)
def unique_values(x: Any) -> Any:
    return unique(x, equal_nan=False)


def _quantile_like(nan_function: Any) -> Any:
    """Return the order statistic whose form for arrays with NaNs is given: NaNs are the padding."""

    def function(a: Ragged, *args: Any, axis: Any = None, **kwargs: Any) -> Any:
        if a.dtype.kind == "c" or any(isinstance(x, Ragged) for x in (*args, *kwargs.values())):
            a.refuse(f"np.{nan_function.__name__[3:]} of complex numbers, or with weights,")
        if nan_function is np.nanmedian and args:
            axis, *args = args
        elif len(args) > 1:
            axis, args = args[1], (args[0], *args[2:])
        if kwargs.get("out") is not None or kwargs.get("weights") is not None or len(args) > 1:
            a.refuse(f"np.{nan_function.__name__[3:]} with out= or weights")
        axes = axes_of(axis, a.ndim)
        a = a if a.dtype.kind == "f" else astype(a, np.float64)
        left = kept(a, axes, bool(kwargs.get("keepdims")))
        data = Ragged(filled(a), a.extents) if any(e is not None for e in left) else a
        over = [axis for axis in axes if a.extents[axis] is not None]
        # NaNs that are elements make the result NaN, those that are padding do not.
        has_nan = reduce(np.logical_or, np.isnan(a), axes, keepdims=bool(kwargs.get("keepdims")))
        has_nan = has_nan.data if isinstance(has_nan, Ragged) else has_nan
        values = padded(data, np.nan, over) if over else data.data
        result = nan_function(values, *args, axis=axes, **kwargs)
        if nan_function is not np.nanmedian:
            result = not_empty(a, over, result, "a quantile of an array of no elements")
        return ragged(choose(has_nan, np.nan, result), left)

    return function


implements(np.median)(_quantile_like(np.nanmedian))
implements(np.quantile)(_quantile_like(np.nanquantile))
implements(np.percentile)(_quantile_like(np.nanpercentile))


def _without_nan(nan_function: Any, plain: Any, needs_one: bool) -> Any:
    """Return the function that leaves NaNs out: the padding is NaN as well."""

    def function(a: Ragged, axis: Any = None, **kwargs: Any) -> Any:
        if a.dtype.kind not in "fc":
            return plain(a, axis=axis, **kwargs)
        if any(isinstance(x, Ragged) for x in kwargs.values()) or kwargs.get("out") is not None:
            a.refuse(f"np.{nan_function.__name__} with out=, or with other arrays,")
        axes = axes_of(axis, a.ndim)
        left = kept(a, axes, bool(kwargs.get("keepdims")))
        over = [axis for axis in axes if a.extents[axis] is not None]
        data = Ragged(filled(a), a.extents) if any(e is not None for e in left) else a
        values = padded(data, np.nan, over) if over else data.data
        result = nan_function(values, axis=axes if len(axes) > 1 else axes[0], **kwargs)
        if needs_one:
            message = "zero-size array to a reduction operation which has no identity"
            result = not_empty(a, over, result, message)
        return ragged(result, left)

    return function


for _name in ("sum", "prod", "mean", "var", "std", "median", "max", "min"):
    _nan, _plain = getattr(np, f"nan{_name}"), getattr(np, _name)
    implements(_nan)(_without_nan(_nan, _plain, _name in ("max", "min")))
