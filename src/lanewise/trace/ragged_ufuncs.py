"""Universal functions on arrays of a length that is data: calls, reductions, matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lanewise.ops.checks import checked
from lanewise.trace.extents import Extent
from lanewise.trace.ragged import (
    Ragged,
    assign,
    filled,
    full_mask,
    line_up,
    line_up_axis,
    pack,
    padded,
    ragged,
)
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.ufunc_methods import accumulate_method, call, reduce_method
from lanewise.trace.ufuncs import NO_VALUE, matmul

#: Give no warning or error, whatever they are applied to.
_HARMLESS = {
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.logical_and,
    np.logical_or, np.logical_xor, np.logical_not, np.bitwise_and, np.bitwise_or, np.bitwise_xor,
    np.invert, np.isnan, np.isinf, np.isfinite, np.signbit, np.positive, np.negative, np.maximum,
    np.minimum, np.fmax, np.fmin, np.copysign, np.conjugate,
}  # fmt: skip
#: The same, of integers and truth values.
_HARMLESS_OF_INTEGERS = {np.add, np.subtract, np.multiply, np.square, np.absolute, np.sign}
#: Give a number for NaN, or warn of it.
_STOP_NAN = {np.fmax, np.fmin, np.power, np.float_power, np.hypot, np.logaddexp, np.logaddexp2}


def ufunc_call(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Carry out ``ufunc(*inputs, **kwargs)`` or one of its methods."""
    if method == "reduce":
        return reduce(ufunc, *inputs, **{"axis": 0, **kwargs})
    if method == "accumulate":
        return accumulate(ufunc, *inputs, **kwargs)
    if method != "__call__":
        bounded(inputs).refuse(f"np.{ufunc.__name__}.{method}")
    if ufunc.signature is not None:
        if ufunc is np.matmul and not kwargs:
            return product(*inputs)
        if ufunc in (np.vecdot, np.matvec, np.vecmat) and not kwargs and _are_vectors(inputs):
            return product(*inputs)
        bounded(inputs).refuse(f"np.{ufunc.__name__}")
    out, mask = kwargs.pop("out", None), kwargs.pop("where", True)
    if mask is not True:
        bounded((*inputs, mask)).refuse(f"np.{ufunc.__name__} with where=")
    results = elementwise(
        lambda *operands: call(ufunc, "__call__", operands, kwargs),
        inputs,
        harmless=_is_harmless(ufunc, inputs),
        passes_nan=ufunc not in _STOP_NAN,
    )
    if out is None:
        return results
    outs = out if isinstance(out, tuple) else (out,)
    rows = results if isinstance(results, tuple) else (results,)
    for result, each in zip(rows, outs, strict=True):
        if each is None:
            continue
        if not isinstance(each, Ragged):
            bounded((*inputs, result)).refuse("out= an array of another length")
        assign(each, result, kwargs.get("casting", "same_kind"))
    return outs if isinstance(results, tuple) else outs[0]


def bounded(operands: Sequence[Any]) -> Ragged:
    """Return the first of the operands that has a length that is data."""
    return next(x for x in operands if isinstance(x, Ragged))


def _are_vectors(operands: Sequence[Any]) -> bool:
    return all(np.ndim(x) == 1 if not isinstance(x, Ragged) else x.ndim == 1 for x in operands)


def _is_harmless(ufunc: np.ufunc, operands: Sequence[Any]) -> bool:
    if ufunc in _HARMLESS:
        return True
    if ufunc not in _HARMLESS_OF_INTEGERS:
        return ufunc is np.absolute and not any(_kind(x) == "c" for x in operands)
    return all(_kind(x) in "biu" for x in operands)


def _kind(x: Any) -> str:
    return x.dtype.kind if hasattr(x, "dtype") else np.asarray(x).dtype.kind


def elementwise(
    function: Callable[..., Any],
    operands: Sequence[Any],
    *,
    harmless: bool = False,
    passes_nan: bool = False,
) -> Any:
    """Apply a function of each element to operands that broadcast against each other.

    Parameters
    ----------
    harmless
        Whether it gives no warning or error for any number.
    passes_nan
        Whether it gives NaN for NaN, without a warning.
    """
    lined, extents = line_up(operands)
    parts = [x for x in lined if isinstance(x, Ragged)]
    values = [x if not isinstance(x, Ragged) else x.data if harmless else filled(x) for x in lined]
    results = function(*values)
    quiet = all(not harmless or x.quiet for x in parts)
    keeps_nan = passes_nan and any(x.dtype.kind in "fc" for x in parts)

    def wrap(result: Tensor) -> Any:
        return ragged(result, extents, quiet and (keeps_nan or result.dtype.kind not in "fc"))

    return tuple(map(wrap, results)) if isinstance(results, tuple) else wrap(results)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The elements converted to another dtype."""
    dtype = np.dtype(dtype)
    if not isinstance(x, Ragged):
        return x.astype(dtype)
    if x.dtype.kind in "biu" or dtype.kind == "b":
        return Ragged(x.data.astype(dtype), x.extents)
    if dtype.kind in "iu":  # a NaN cannot be converted
        return Ragged(filled(x, 1).astype(dtype), x.extents, True)
    return elementwise(lambda data: data.astype(dtype), (x,), passes_nan=True)


# --- reductions -----------------------------------------------------------------------------------


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction as non-negative ints, all of them for None."""
    return tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim, "axis")


def kept(x: Ragged, axes: Sequence[int], keepdims: bool) -> list[Extent | None]:
    """Return the extents of what a reduction over these axes leaves."""
    if keepdims:
        return [None if a in axes else extent for a, extent in enumerate(x.extents)]
    return [extent for a, extent in enumerate(x.extents) if a not in axes]


def with_mask(x: Any, mask: Any) -> tuple[Any, Any]:
    """Return x and a mask that it is reduced under, their lengths the same."""
    if mask is True:
        return x, True
    (x, mask), _ = line_up((x, mask))
    return x, mask.data if isinstance(mask, Ragged) else mask


def counted(x: Ragged, axes: Sequence[int]) -> Any:
    """Return how many elements a reduction over these axes takes."""
    number: Any = 1
    for axis in axes:
        extent = x.extents[axis]
        number = number * (x.data.shape[axis] if extent is None else extent.count())
    return number


def not_empty(x: Ragged, axes: Sequence[int], data: Tensor, message: str) -> Tensor:
    """Return `data`, once it is checked that a reduction over these axes has elements."""
    for axis in axes:
        extent = x.extents[axis]
        if extent is not None:
            ok = extent.is_any()
            data = emit(checked, data, ok, error="ValueError", message=message)
    return data


def reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """``ufunc.reduce`` with all its keywords, over the elements alone."""
    if out is not None and out != (None,):
        bounded((array, where)).refuse(f"np.{ufunc.__name__}.reduce with out=")
    array, where = with_mask(array, where)
    if not isinstance(array, Ragged):
        return reduce_method(ufunc, array, axis, dtype, None, keepdims, initial, where)
    axes = axes_of(axis, array.ndim)
    over = [a for a in axes if array.extents[a] is not None]
    left = kept(array, axes, keepdims)
    quiet = False
    if any(extent is not None for extent in left) and not _is_harmless(ufunc, (array,)):
        data, quiet = filled(array), True
        array = Ragged(data, array.extents, quiet)
    if not over:
        return ragged(
            reduce_method(ufunc, array.data, axes, dtype, None, keepdims, initial, where),
            left,
            quiet and array.dtype.kind in "fc" and where is True,
        )
    if ufunc.identity is None and initial is NO_VALUE and where is True:
        if ufunc not in _EXTREMA:
            array.refuse(f"np.{ufunc.__name__}.reduce")
        # Copies of an element change no extremum.
        message = f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        data = reduce_method(ufunc, filled(array), axes, dtype, None, keepdims)
        return ragged(not_empty(array, over, data, message), left)
    mask = full_mask(array, over)
    mask = mask if where is True else np.logical_and(mask, where)
    data = reduce_method(ufunc, array.data, axes, dtype, None, keepdims, initial, mask)
    return ragged(data, left)


#: Reductions without an identity that give the same where an element is repeated.
_EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)


def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """``ufunc.accumulate``, from element to element."""
    if out is not None and out != (None,):
        array.refuse(f"np.{ufunc.__name__}.accumulate with out=")
    (axis,) = axes_of(axis, array.ndim)
    extent = array.extents[axis]
    if extent is None:
        data = accumulate_method(ufunc, filled(array), axis, dtype)
        return ragged(data, array.extents)
    if not extent.ascending:
        return accumulate(ufunc, pack(array, [axis]), axis, dtype)
    if ufunc in _EXTREMA:
        return ragged(accumulate_method(ufunc, filled(array), axis, dtype), array.extents)
    if ufunc.identity is None or not isinstance(ufunc.identity, (int, bool)):
        array.refuse(f"np.{ufunc.__name__}.accumulate")
    others = [a for a in range(array.ndim) if a != axis and array.extents[a] is not None]
    data = Ragged(filled(array), array.extents) if others else array
    data = padded(data, ufunc.identity, [axis])
    return ragged(accumulate_method(ufunc, data, axis, dtype), array.extents)


# --- products -------------------------------------------------------------------------------------


def product(x: Any, y: Any) -> Any:
    """``x @ y`` of arrays of one or two axes: padding along the axis that goes is zero."""
    x, y = (operand if isinstance(operand, Ragged) else as_tensor(operand) for operand in (x, y))
    if not 1 <= x.ndim <= 2 or not 1 <= y.ndim <= 2:
        bounded((x, y)).refuse(f"a matrix product of {x.ndim} and {y.ndim} axes")
    inner = y.ndim - 2 if y.ndim == 2 else 0
    operands = [x, y]
    line_up_axis(operands, {0: x.ndim - 1, 1: inner}, "operands of a product")
    first, second = operands
    outer_x = list(first.extents[:-1]) if isinstance(first, Ragged) else [None] * (x.ndim - 1)
    outer_y = list(second.extents) if isinstance(second, Ragged) else [None] * y.ndim
    del outer_y[inner]
    return ragged(matmul(_ready(first, x.ndim - 1), _ready(second, inner)), [*outer_x, *outer_y])


def _ready(x: Any, axis: int) -> Tensor:
    """Return the data with zeros as padding along one axis, and copies along the other."""
    if not isinstance(x, Ragged):
        return x
    if any(extent is not None for a, extent in enumerate(x.extents) if a != axis):
        x = Ragged(filled(x), x.extents)
    return x.data if x.extents[axis] is None else padded(x, 0, [axis])
