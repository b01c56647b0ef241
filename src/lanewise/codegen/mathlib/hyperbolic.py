"""Hyperbolic functions and their inverses.

sinh and cosh reduce like exp, ``x = n ln 2 + r``, and put together, by the addition theorems,
cosh r and sinh r with cosh(n ln 2) and sinh(n ln 2), which are sums of two powers of two: no
cancellation for small x, no overflow before the result. tanh comes from exp(2x) - 1. The inverses
are logarithms of 1 + u with a u that is exact for small arguments (W. Kahan, Branch Cuts, 1987).

>>> import numpy as np
>>> from support.driver import compile_elementwise
>>> compile_elementwise(tanh, (np.float64,))(np.array([0.0, 40.0]))
array([0., 1.])
"""

from __future__ import annotations

from lanewise.codegen.mathlib.arithmetic import (
    BIAS,
    LN2,
    estrin,
    fast_two_sum,
    of_kinds,
    power_of_two,
    two_sum,
)
from lanewise.codegen.mathlib.exponential import clamp, expm1_parts, log1p, reduced
from lanewise.codegen.vector import Vec, select

#: sinh(r) / r - 1 and cosh(r) - 1, over r**2, for abs(r) < ln(2) / 2, as polynomials in r**2:
#: 2**-60.8 and 2**-57.3, for float32 2**-30.9 and 2**-33.2.
_SINH = of_kinds(
    (0.16666666666666677, 0.1666666716337204),
    (0.008333333333321575, 0.008333289064466953),
    (0.00019841269886278215, 0.0001990502350963652),
    (2.7557244048912715e-06,),
    (2.5109095044837862e-08,),
)
_COSH = of_kinds(
    (0.5, 0.5),
    (0.041666666666602674, 0.041666459292173386),
    (0.0013888888927323343, 0.00139354367274791),
    (2.480150801378946e-05,),
    (2.762545422707343e-07,),
)
#: Beyond these sinh and cosh are infinite.
_LARGEST = {"f32": 89.5, "f64": 710.5}
#: Beyond half of these tanh is 1.
_TANH_RANGE = {"f32": 20.0, "f64": 40.0}
#: Beyond these x + 1 is x, and x**2 + 1 is x**2.
_NO_ONE = {"f32": 2.0**25, "f64": 2.0**54}


def _sum_of_angles(x: Vec, sine: bool) -> Vec:
    """Return the hyperbolic sine, or cosine, of a number that is not negative nor too large.

    sinh(a + r) = sinh a cosh r + cosh a sinh r, and cosh with sinh and cosh exchanged.
    """
    kind = x.kind
    n, r, rest = reduced(x)
    square = r * r
    sinh_tail = (r * square).fma(estrin(square, _SINH[kind]), rest)
    cosh_tail = square * estrin(square, _COSH[kind])
    # 2**n / 2 and its inverse make up sinh a and cosh a. Where n is too large, half of them.
    large = n > BIAS[kind]
    up = power_of_two(select(large, n - 2.0, n - 1.0))
    down = power_of_two((-1.0 - n).greatest(-float(BIAS[kind])))
    down = -down if sine else down
    major, minor = up + down, up - down
    product = minor * r
    total, lost = fast_two_sum(major, product)
    lost = lost + (minor.fma(r, -product) + (down - (major - up)))
    result = total + major.fma(cosh_tail, minor.fma(sinh_tail, lost))
    return select(large, result * 2.0, result)


def sinh(x: Vec) -> Vec:
    """Return the hyperbolic sine."""
    return _sum_of_angles(clamp(x.abs(), 0.0, _LARGEST[x.kind]), True).copysign(x)


def cosh(x: Vec) -> Vec:
    """Return the hyperbolic cosine."""
    return _sum_of_angles(clamp(x.abs(), 0.0, _LARGEST[x.kind]), False)


def tanh(x: Vec) -> Vec:
    """Return the hyperbolic tangent: E / (E + 2), E = exp(2x) - 1, with what rounding E lost."""
    size = x.abs()
    double = clamp(size + size, 0.0, _TANH_RANGE[x.kind])
    over, over_low = fast_two_sum(*expm1_parts(*reduced(double)))
    under, under_low = two_sum(over, x.e.constant(x.kind, 2.0))
    inverse = 1.0 / under
    quotient = over * inverse
    rest = quotient.fma(-(under_low + over_low), quotient.fma(-under, over) + over_low)
    return rest.fma(inverse, quotient).copysign(x)


def asinh(x: Vec) -> Vec:
    """Return the inverse hyperbolic sine: log(1 + (a + a**2 / (1 + sqrt(1 + a**2))))."""
    size = x.abs()
    square = size * size
    inner, low = fast_two_sum(size, square / ((square + 1.0).sqrt() + 1.0))
    return _log_of_double(size, inner, low).copysign(x)


def acosh(x: Vec) -> Vec:
    """Return the inverse hyperbolic cosine: log1p(t + sqrt(2t + t**2)), t = x - 1. NaN below 1."""
    t = x - 1.0
    root = select(t < 0.0, float("nan"), t.fma(t, t + t).sqrt())
    return _log_of_double(x, *fast_two_sum(root, t))


def _log_of_double(x: Vec, inner: Vec, low: Vec) -> Vec:
    """Return ``log1p(inner + low)``, but where x is large log(2x): there the square overflows."""
    large = x > _NO_ONE[x.kind]
    logarithm = log1p(select(large, x, inner), select(large, 0.0, low))
    return select(large, logarithm + LN2[x.kind][0], logarithm)


def atanh(x: Vec) -> Vec:
    """Return the inverse hyperbolic tangent: infinite at 1 and -1, NaN beyond."""
    size = x.abs()
    double = size + size
    under, under_low = fast_two_sum(size.e.constant(size.kind, 1.0), -size)
    inverse = 1.0 / under
    inner = double * inverse
    low = inner.fma(-under_low, inner.fma(-under, double)) * inverse
    low = select(size < 1.0, low, 0.0)
    return (log1p(inner, low) * 0.5).copysign(x)
