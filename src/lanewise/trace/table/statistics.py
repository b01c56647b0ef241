"""Covariance, correlation, and interpolation in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, differ
from lanewise.ops.elementwise import complex_, imag, real, where
from lanewise.ops.movement import diagonal
from lanewise.ops.searching import interp as interp_op
from lanewise.trace.sizes import number_of
from lanewise.trace.table.checks import checked, must_be_row, must_cast, required
from lanewise.trace.table.quantile import choose
from lanewise.trace.table.registry import implements
from lanewise.trace.table.sorting import array
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.views import as_stored


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = array(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    y = None if y is None else array(y)
    if y is not None and y.ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(m.dtype, float, *([] if y is None else [y.dtype]))
    x = _variables(m, rowvar or m.ndim == 1, dtype)
    if x.shape[0] == 0:
        return np.zeros((0, 0))
    if y is not None:
        y = _variables(y, True, dtype)
        x = np.concatenate([x, y if rowvar or y.shape[0] == 1 else y.T], axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = _frequencies(fweights, x.shape[1])
    other = _sample_weights("aweights", aweights, x.shape[1])
    if other is not None:
        weights = other if weights is None else weights * other
    mean, total = np.average(x, axis=1, weights=weights, returned=True)
    if weights is None:
        number = number_of(x.shape[1]) - ddof
        is_sized = isinstance(number, Tensor)
        factor: Any = number.astype(float) if is_sized else np.float64(number)
    elif ddof == 0 or other is None:
        factor = total[0] - ddof
    else:
        factor = total[0] - ddof * np.sum(weights * other) / total[0]
    if isinstance(factor, Tensor):
        factor = choose(factor <= 0, 0.0, factor)
    else:
        factor = np.maximum(factor, 0.0)
    deviation = x - np.expand_dims(mean, 1)
    weighted = deviation if weights is None else deviation * weights
    with np.errstate(divide="ignore"):
        scale = np.true_divide(1, factor)
    product = np.matmul(deviation, np.conjugate(weighted.T))
    return np.squeeze((product * scale).astype(product.dtype))


def _variables(x: Any, is_rows: bool, dtype: Any) -> Tensor:
    """Return observations as a matrix with a row for each variable."""
    x = np.reshape(x, (1,) * (2 - x.ndim) + x.shape)
    return as_tensor((x if is_rows else x.T).astype(dtype))


def _sample_weights(name: str, weights: Any, size: int) -> Any:
    """Return checked weights of the observations as floats."""
    if weights is None:
        return None
    weights = array(weights).astype(float)
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != size:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    negative = ValueError(f"{name} cannot be negative")
    return checked(weights, np.logical_not(weights < 0), negative)


def _frequencies(weights: Any, size: int) -> Any:
    if weights is not None:
        weights = array(weights).astype(float)
        whole = TypeError("fweights must be integer")
        weights = checked(weights, weights == np.rint(weights), whole)
    return _sample_weights("fweights", weights, size)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if not isinstance(c, Tensor):  # of no variables
        return c
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(emit(real, emit(diagonal, c, offset=0)))
    c = (c / np.expand_dims(deviation, 1)).astype(c.dtype)
    c = (c / deviation).astype(c.dtype)
    if c.dtype.kind != "c":
        return _clip(c)
    return emit(complex_, _clip(emit(real, c)), _clip(emit(imag, c)))


def _clip(x: Tensor) -> Tensor:
    return np.minimum(np.maximum(x, -1), 1)


# --- interpolation ------------------------------------------------------------------------------


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None
) -> Any:
    fp = array(fp)
    dtype = np.dtype(complex if fp.dtype.kind == "c" else float)
    x, xp, fp = _samples(x, float), _samples(xp, float), _samples(fp, dtype)
    must_be_row(xp)
    must_be_row(fp)
    required(number_of(xp.shape[0]) > 0, ValueError("array of sample points is empty"))
    if differ(xp.shape[0], fp.shape[0]):
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        if not isinstance(period, Tensor) and period == 0:
            raise ValueError("period must be a non-zero value")
        x, xp, fp = _periodic(x, xp, fp, np.absolute(period))
        left = right = None
    # A table that is not traced is the same for all examples: NumPy's own function does.
    is_one_table = isinstance(xp.shape[0], Dim) or not any(
        isinstance(part, Tensor) for part in (xp, fp, left, right)
    )
    left = fp[0] if left is None else _end(left, dtype)
    right = fp[-1] if right is None else _end(right, dtype)
    if xp.shape[0] == 1:
        inside = emit(where, x > xp[0], right, fp[0])
        return emit(where, x < xp[0], left, inside)
    if is_one_table:
        return emit(interp_op, x, xp, fp, left, right)
    last = xp.shape[0] - 1
    place = np.searchsorted(xp, x, side="right") - 1
    at = np.maximum(np.minimum(place, last - 1), 0)  # the interval that x lies in, or next to
    begin, end = as_tensor(xp)[at], as_tensor(xp)[at + 1]
    low, high = as_tensor(fp)[at], as_tensor(fp)[at + 1]
    slopes = _slopes(xp, fp)
    parts = [
        _line(x, begin, end, *part)
        for part in zip(*map(_parts, (slopes[at], low, high)), strict=True)
    ]
    result = parts[0] if dtype.kind == "f" else emit(complex_, *parts)
    result = emit(where, begin == x, low, result)  # no interpolation, which may not be finite
    result = emit(where, place >= last, as_tensor(fp)[-1], result)
    result = emit(where, x > xp[-1], right, result)
    result = emit(where, x < xp[0], left, result)
    return emit(where, np.isnan(x), x.astype(dtype), result)


def _samples(x: Any, dtype: Any) -> Any:
    """Return x as an array of the dtype that NumPy interpolates in."""
    x = array(x)
    must_cast(x.dtype, dtype)
    return x.astype(dtype)


def _end(value: Any, dtype: np.dtype) -> Tensor:
    """Return the value beyond an end as a scalar."""
    value = as_stored(value, dtype) if not isinstance(value, (list, tuple)) else array(value)
    if value.ndim or (value.dtype.kind == "c" and dtype.kind != "c"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return value.astype(dtype)


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return x and the table within one period, the table's ends repeated beyond it."""
    x, xp = np.remainder(x, period), np.remainder(xp, period)
    order = np.argsort(xp)
    xp, fp = (as_tensor(p)[order] if isinstance(order, Tensor) else p[order] for p in (xp, fp))
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, np.concatenate([fp[-1:], fp, fp[:1]])


def _slopes(xp: Any, fp: Any) -> Tensor:
    """Return the slope of each interval; complex ones take the reciprocal, as NumPy does."""
    with np.errstate(all="ignore"):
        rise, run = np.subtract(fp[1:], fp[:-1]), np.subtract(xp[1:], xp[:-1])
        run = np.where(np.equal(run, 0), 1.0, run)  # nothing lies inside of an empty interval
        if fp.dtype.kind != "c":
            return as_tensor(np.true_divide(rise, run))
        scale = np.true_divide(1.0, run)
        parts = [np.multiply(part, scale) for part in _parts(as_tensor(rise))]
        return emit(complex_, *parts)


def _parts(x: Tensor) -> tuple[Tensor, ...]:
    return (emit(real, x), emit(imag, x)) if x.dtype.kind == "c" else (x,)


def _line(x: Any, begin: Tensor, end: Tensor, slope: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return the height of a line at x, from its other end where that from the first is NaN."""
    result = slope * (x - begin) + low
    other = slope * (x - end) + high
    other = emit(where, np.logical_and(np.isnan(other), low == high), low, other)
    return emit(where, np.isnan(result), other, result)
