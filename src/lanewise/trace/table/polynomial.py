"""Polynomials as NumPy's ``poly*`` functions see them: coefficients, the highest power first.

Coefficients that are data keep their number: where NumPy drops leading zeros, these do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.sizes import number_of
from lanewise.trace.table.checks import checked, of_shape
from lanewise.trace.table.creation import array_like
from lanewise.trace.table.joining import with_rank
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor


def _order(m: Any, what: str) -> int:
    m = int(m)
    if m < 0:
        raise ValueError(f"Order of {what} must be positive")
    return m


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Tensor:
    coefficients, x = array_like(p), as_tensor(x)
    result: Any = np.zeros_like(x)
    for coefficient in coefficients:
        result = result * x + coefficient
    return result


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Tensor:
    result = as_tensor(p)
    for _ in range(_order(m, "derivative")):
        result = result[:-1] * np.arange(max(len(result) - 1, 0), 0, -1)
    return result


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    m = _order(m, "integral")
    constants = np.zeros(m) if k is None else with_rank(array_like(k), 1)
    if len(constants) == 1 and m > 1:
        constants = np.broadcast_to(constants, (m,))
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    result = as_tensor(p)
    for i in range(m):
        result = np.concatenate([result / np.arange(len(result), 0, -1), constants[i : i + 1]])
    return result


def _padded(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Return two lists of coefficients with zeros before the shorter one."""
    first, second = (with_rank(array_like(a), 1) for a in (a1, a2))
    size = max(len(first), len(second))
    zeros = [np.zeros(size - len(a), a.dtype) for a in (first, second)]
    return tuple(
        [
            np.concatenate([z, a]) if len(z) else a
            for z, a in zip(zeros, (first, second), strict=True)
        ]
    )


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Tensor:
    first, second = _padded(a1, a2)
    return first + second


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Tensor:
    first, second = _padded(a1, a2)
    return first - second


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Tensor:
    """Leading zeros of coefficients that are data are kept."""
    arrays = [with_rank(array_like(a), 1) for a in (a1, a2)]
    return np.convolve(*[a if isinstance(a, Tensor) else np.poly1d(a).coeffs for a in arrays])


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    """The remainder has as many coefficients as it can have, one less than v; NumPy drops zeros."""
    dividend, divisor = (with_rank(as_tensor(a), 1) + 0.0 for a in (u, v))
    dtype = np.result_type(dividend.dtype, divisor.dtype)
    m, n = len(dividend) - 1, len(divisor) - 1
    quotient = np.zeros_like(dividend, dtype, shape=(max(m - n + 1, 1),))
    rest = np.array(dividend, dtype, like=dividend)
    scale = 1.0 / divisor[0]
    for k in range(m - n + 1):
        digit = scale * rest[k]
        quotient[k] = digit
        rest[k : k + n + 1] -= digit * divisor
    dropped = min(max(m - n + 1, 0), m) if n else m
    return quotient, rest[dropped:]


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """Of complex roots the coefficients stay complex; NumPy looks whether they come in pairs."""
    roots = with_rank(as_tensor(seq_of_zeros), 1)
    is_real_matrix = False
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and roots.shape[0]:
        is_real_matrix = roots.dtype.kind != "c"
        roots = np.linalg.eigvals(roots)
    elif roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    elif roots.dtype.char not in "fdFDgG":
        roots = roots.astype(float)
    if not len(roots):
        return 1.0
    result = np.ones_like(roots, shape=(1,))
    for root in roots:
        factor = np.ones_like(roots, shape=(2,))
        factor[1] = -root
        result = np.convolve(result, factor)
    return result.real.copy() if is_real_matrix else result


@implements(np.roots)
def roots(p: Any) -> Tensor:
    """One root less than coefficients, always complex; the leading coefficient must not be zero."""
    coefficients = with_rank(as_tensor(p), 1)
    if coefficients.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if coefficients.dtype.kind not in "fc":
        coefficients = coefficients.astype(float)
    count = len(coefficients) - 1
    if count < 1:
        return np.zeros_like(coefficients, complex, shape=(0,))
    problem = ValueError(
        "np.roots of traced coefficients needs a leading one that is not zero: the number of roots "
        "would depend on the data"
    )
    coefficients = checked(coefficients, coefficients[0] != 0, problem)
    companion = np.zeros_like(coefficients, shape=(count, count))
    companion[1:, :-1] = np.eye(count - 1)
    companion[0] = -coefficients[1:] / coefficients[0]
    return np.linalg.eigvals(companion)


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    order = int(deg) + 1
    x, y = as_tensor(x) + 0.0, as_tensor(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    count: Any = number_of(x.shape[0])
    x = checked(x, count > 0, TypeError("expected non-empty vector for x"))
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    x = of_shape(x, y.shape[:1], TypeError("expected x and y to have same length"))
    if full:
        raise UnsupportedError(
            f"np.polyfit(full=True) is not followed{at(here())}: how many residuals there are "
            "depends on the data. Use np.linalg.lstsq(np.vander(x, deg + 1), y)"
        )
    rcond = count * np.finfo(x.dtype).eps if rcond is None else rcond
    powers, values = np.vander(x, order), y
    if w is not None:
        weights = as_tensor(w) + 0.0
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        problem = TypeError("expected w and y to have the same length")
        weights = of_shape(weights, y.shape[:1], problem)
        powers = powers * weights[:, None]
        values = values * (weights[:, None] if y.ndim == 2 else weights)
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    solution = np.linalg.lstsq(powers, values, rcond)[0]
    fitted = (solution.T / scale).T
    if not cov:
        return fitted
    base = np.linalg.inv(powers.T @ powers) / np.outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        message = "the number of data points must exceed order to scale the covariance matrix"
        count = checked(count, count > order, ValueError(message))
        rest = values - powers @ solution
        factor = np.sum(rest * rest, axis=0) / (count - order)
    return fitted, (base if y.ndim == 1 else base[:, :, None]) * factor
