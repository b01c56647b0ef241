"""Element by element: choice, rounding, bounds, closeness, parts of complex numbers, bits."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim
from lanewise.ir.location import here
from lanewise.ir.types import NUMPY
from lanewise.ops.elementwise import i0 as i0_op
from lanewise.ops.elementwise import sinc as sinc_op
from lanewise.ops.elementwise import where as where_op
from lanewise.ops.movement import cast
from lanewise.ops.shapes import broadcast_shapes, may_agree, normalize_axis
from lanewise.ops.sorting import packbits as packbits_op
from lanewise.ops.sorting import unpackbits as unpackbits_op
from lanewise.trace.table.checks import deprecated
from lanewise.trace.table.creation import array_like, number_or_array, promoted
from lanewise.trace.table.registry import implements, refuse
from lanewise.trace.tensor import Tensor, as_tensor, emit, weak
from lanewise.trace.ufuncs import NO_VALUE, apply
from lanewise.trace.views import as_stored, store
from lanewise.trace.weak import weak_kind


@implements(np.where)
def where(condition: Any, x: Any = NO_VALUE, y: Any = NO_VALUE, /) -> Any:
    if x is NO_VALUE and y is NO_VALUE:
        return np.nonzero(as_tensor(condition))
    if x is NO_VALUE or y is NO_VALUE:
        raise ValueError("either both or neither of x and y should be given")
    x, y = number_or_array(x), number_or_array(y)
    dtype = promoted(x, y)
    if NUMPY >= (2, 5) or dtype.kind in "fc":  # before, an int too large for an integer wraps
        x, y = (as_stored(v, dtype) if weak_kind(v) is int else v for v in (x, y))
    operands = [as_tensor(v) for v in (x, y)]
    cast_to = [t if t.dtype == dtype else emit(cast, t, dtype=dtype) for t in operands]
    return emit(where_op, condition, *cast_to)


# --- rounding and bounds ------------------------------------------------------------------------


@implements(np.clip)
def clip(
    a: Any, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, out: Any = None, *, min: Any = NO_VALUE,
    max: Any = NO_VALUE, **kwargs: Any,
) -> Any:  # fmt: skip
    if a_min is NO_VALUE and a_max is NO_VALUE:
        a_min = None if min is NO_VALUE else min
        a_max = None if max is NO_VALUE else max
    elif a_min is NO_VALUE or a_max is NO_VALUE:
        missing = "a_min" if a_min is NO_VALUE else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    elif min is not NO_VALUE or max is not NO_VALUE:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is "
            "forbidden."
        )
    x = as_tensor(a)
    x = x if x._weak is None else x.copy()  # a number becomes an array
    low, high = (None if v is None else number_or_array(v) for v in (a_min, a_max))
    if x.dtype.kind in "iu":  # a Python integer beyond the dtype bounds nothing
        if type(low) is int and low <= np.iinfo(x.dtype).min:
            low = None
        if type(high) is int and high >= np.iinfo(x.dtype).max:
            high = None
    if out is not None:
        kwargs["out"] = out
    if low is None and high is None:
        return np.positive(x, **kwargs)
    if low is None:
        return np.minimum(x, high, **kwargs)
    if high is None:
        return np.maximum(x, low, **kwargs)
    # One dtype for all three, as the ufunc of three operands that NumPy runs has.
    dtype = kwargs.pop("dtype", None) or promoted(x, low, high)
    if dtype == x.dtype and not kwargs:
        return apply(np.minimum, apply(np.maximum, x, low), high)
    return np.minimum(apply(np.maximum, x, low, dtype=np.dtype(dtype)), high, dtype=dtype, **kwargs)


@implements(np.round, np.around)
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    x = as_tensor(a)
    result = _rounded(x, int(decimals))
    if out is None:
        return result
    if x.dtype.kind == "f" and out.dtype.kind in "iu":
        raise TypeError(f"Cannot cast ufunc 'rint' output from {x.dtype!r} to {out.dtype!r}")
    store(out, result, "same_kind")
    return out


def _rounded(x: Tensor, decimals: int) -> Tensor:
    if x.dtype.kind == "c":
        result = np.empty_like(x)
        result.real = _rounded(x.real, decimals)
        result.imag = _rounded(x.imag, decimals)
        return result
    if x.dtype.kind == "b" and decimals:
        raise TypeError("Cannot cast ufunc 'multiply' output from float64 to bool")
    if x.dtype.kind in "iu" and decimals >= 0:
        return x.copy()
    if decimals == 0:
        return np.rint(x)
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return np.rint(x * factor) / factor
    return (np.rint(x / factor) * factor).astype(x.dtype)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    if NUMPY >= (2, 5):
        deprecated(
            "numpy.fix is deprecated. Use numpy.trunc instead, which is faster and follows the "
            "Array API standard."
        )
    x = array_like(x)
    return np.trunc(x) if out is None else np.trunc(x, out=out)


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Tensor:
    x = as_tensor(x)
    if not x.shape and (copy or x._view is None) and x.dtype.kind in "fc":  # gives a scalar
        return nan_to_num(x.reshape(1), True, nan, posinf, neginf)[0]
    result = x.copy() if copy else x
    if x.dtype.kind not in "fc":
        return result
    limits = np.finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    for part in (result.real, result.imag) if x.dtype.kind == "c" else (result,):
        is_nan, is_high, is_low = np.isnan(part), np.isposinf(part), np.isneginf(part)
        np.copyto(part, nan, where=is_nan)
        np.copyto(part, high, where=is_high)
        np.copyto(part, low, where=is_low)
    return result


# --- parts of complex numbers -------------------------------------------------------------------


@implements(np.real)
def real(val: Any) -> Tensor:
    return as_tensor(val).real


@implements(np.imag)
def imag(val: Any) -> Tensor:
    return as_tensor(val).imag


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Tensor:
    z = as_tensor(z)
    parts = (z.imag, z.real) if z.dtype.kind == "c" else (0, z)
    result = np.arctan2(*parts)
    return result * (180 / math.pi) if deg else result


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    x = as_tensor(x)
    return x.imag != 0 if x.dtype.kind == "c" else np.zeros_like(x, bool)


@implements(np.isreal)
def isreal(x: Any) -> Any:
    return as_tensor(x).imag == 0


def _signed_infinity(negative: bool) -> Any:
    def function(x: Any, out: Any = None) -> Any:
        x = array_like(x)
        if x.dtype.kind == "c":
            raise TypeError(
                f"This operation is not supported for {x.dtype} values because it would be "
                "ambiguous."
            )
        sign = np.signbit(x)
        is_inf, matches = np.isinf(x), sign if negative else ~sign
        if out is None:
            return np.logical_and(is_inf, matches)
        return np.logical_and(is_inf, matches, out=out)

    return function


isneginf = implements(np.isneginf)(_signed_infinity(True))
isposinf = implements(np.isposinf)(_signed_infinity(False))

refuse(
    np.real_if_close,
    instead="Whether its result is real or complex depends on the data; use x.real",
)


# --- functions of one variable ------------------------------------------------------------------


@implements(np.sinc)
def sinc(x: Any) -> Tensor:
    return emit(sinc_op, math.pi * as_tensor(x))


@implements(np.i0)
def i0(x: Any) -> Tensor:
    return emit(i0_op, x)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Tensor:
    p = as_tensor(p)
    axis = normalize_axis(axis, p.ndim)
    steps = np.diff(p, axis=axis)
    discont = period / 2 if discont is None else discont
    dtype = promoted(steps, number_or_array(period))
    if dtype.kind in "iu":
        high, remainder = divmod(period, 2)
        is_ambiguous = remainder == 0
    else:
        high, is_ambiguous = period / 2, True
    low = -high
    wrapped = np.mod(steps - low, period) + low
    # Half a period either way is as far: go the way of the step.
    rising = (wrapped == low) & (steps > 0)
    if isinstance(is_ambiguous, Tensor) or is_ambiguous:
        wrapped = np.where(
            rising & is_ambiguous, np.astype(array_like(high), wrapped.dtype), wrapped
        )
    correction = wrapped - steps
    correction = np.where(np.abs(steps) < discont, np.zeros((), correction.dtype), correction)
    result = np.array(p, dtype, like=p)
    behind = (*(slice(None),) * axis, slice(1, None))
    result[behind] = p[behind] + np.cumsum(correction, axis)
    return result


# --- comparison of arrays -----------------------------------------------------------------------


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    x, y, rtol, atol = (number_or_array(v) for v in (a, b, rtol, atol))
    if isinstance(y, int):
        y = float(y)
    elif not isinstance(y, (float, complex)):
        y = np.astype(y, promoted(y, 1.0))
    is_finite = np.isfinite(y)
    # Infinities are close only to their like, so keep them out of the difference: inf - inf warns.
    near = (
        np.where(is_finite, y, 0)
        if isinstance(y, (Tensor, np.ndarray))
        else (y if is_finite else 0.0)
    )
    result = (abs(x - near) <= atol + rtol * abs(near)) & is_finite | (x == y)
    if equal_nan:
        result = result | (np.isnan(x) & np.isnan(y))
    return result


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    return weak(np.all(isclose(a, b, rtol, atol, equal_nan)), bool)  # a bool of Python's


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = array_like(a1), array_like(a2)
    if not may_agree(x.shape, y.shape):
        return False
    if x.shape != y.shape:
        _refuse_unsure(np.array_equal, x.shape, y.shape)
    same = x == y
    if equal_nan:
        same = same | (np.isnan(x) & np.isnan(y))
    return weak(np.all(same), bool)


def _refuse_unsure(function: Any, *shapes: Any) -> NoReturn:
    names = " and ".join(str(shape) for shape in shapes)
    raise UnsupportedError(
        f"np.{function.__name__} of arrays of the shapes {names}{at(here())}, which are the same "
        'or not when the graph runs. If they are, give the sizes one name: lw.TensorSpec(["n"])'
    )


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    x, y = array_like(a1), array_like(a2)
    try:
        shape = broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    if any([isinstance(dim, Dim) and dim not in (*x.shape, *y.shape) for dim in shape]):
        _refuse_unsure(np.array_equiv, x.shape, y.shape)
    return weak(np.all(x == y), bool)


# --- bits ---------------------------------------------------------------------------------------


@implements(np.packbits)
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    x = as_tensor(a)
    if axis is None or not x.ndim:
        x, axis = np.reshape(x, -1), 0
    _check_bitorder(bitorder)
    return emit(packbits_op, x, axis=normalize_axis(axis, x.ndim), bitorder=bitorder)


@implements(np.unpackbits)
def unpackbits(
    a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Tensor:
    x = as_tensor(a)
    if axis is None:
        x, axis = np.reshape(x, -1), 0
    _check_bitorder(bitorder)
    axis = normalize_axis(axis, x.ndim)
    bits = 8 * x.shape[axis]
    if count is None:
        count = bits
    elif count < 0:
        if count < -bits:
            raise ValueError(f"-count {count} larger than number of elements")
        count += bits
    return emit(unpackbits_op, x, axis=axis, count=int(count), bitorder=bitorder)


def _check_bitorder(bitorder: str) -> None:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
