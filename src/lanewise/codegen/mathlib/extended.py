"""Exponential and logarithm of a sum of two floats: what products of large powers need.

``exp(h)`` keeps an error of h, so that a power of 700 needs h to ten more bits than a float has. A
value here is a pair: a float64, and a much smaller one that it leaves out.
"""

from __future__ import annotations

from lanewise.codegen.mathlib.arithmetic import (
    LN2,
    estrin,
    fast_two_sum,
    horner,
    mantissa_exponent,
    nearest,
    scale,
)
from lanewise.codegen.mathlib.exponential import _EXP, LOG2_E, clamp
from lanewise.codegen.vector import Vec

#: A value as a sum of two floats.
Pair = tuple[Vec, Vec]

#: 2/3, and what its float leaves out.
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
#: (2 atanh(s) - 2 s - 2/3 s**3) / s**5 as a polynomial in s**2, to 2**-50 of it.
_LOG_REST = (
    0.4000000000000003,
    0.2857142857133538,
    0.22222222272048126,
    0.1818180812639738,
    0.15385582271341386,
    0.13285737693933572,
    0.12916086912506522,
)


def exp_of_sum(high: Vec, low: Vec) -> Vec:
    """Return ``exp(high + low)``, for float64, within 1 ULP; 0 and infinity far outside.

    >>> import numpy as np
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(exp_of_sum, (float, float))(np.array([1.0]), np.array([1e-17]))
    array([2.71828183])
    """
    first, second = LN2["f64"]
    high = clamp(high, -1000.0, 1000.0)
    n = nearest(high, LOG2_E["f64"][0])
    r = n.fma(-second, n.fma(-first, high)) + low
    return scale((r * r).fma(estrin(r, _EXP["f64"]), r) + 1.0, n)


def log_pair(x: Vec) -> Pair:
    """Return the logarithm of a positive, normal float64 as a pair, to about 2**-65 of it."""
    m, k = mantissa_exponent(x)
    f = m - 1.0
    below = f + 2.0
    inverse = 1.0 / below
    # s = f / (2 + f), with what rounding 2 + f and the quotient leaves.
    s = f * inverse
    t = (s.fma(-below, f) - s * (f - (below - 2.0))) * inverse
    z = s * s
    z_low = s.fma(s, -z) + (s + s) * t
    cube = s * z
    cube_low = s.fma(z, -cube) + (s * z_low + t * z)
    factor, factor_low = fast_two_sum(x.e.constant("f64", _TWO_THIRDS[0]), z * horner(z, _LOG_REST))
    factor_low = factor_low + _TWO_THIRDS[1]
    term = cube * factor
    term_low = cube.fma(factor, -term) + (cube * factor_low + cube_low * factor)
    first, second = _LN2_SPLIT
    total, error = fast_two_sum(k * first, s + s)
    sum_, more = fast_two_sum(total, term)
    return fast_two_sum(sum_, more + (error + (term_low + (t + t) + k * second)))


#: ln 2 in two parts; multiples of the first by exponents are exact.
_LN2_SPLIT = (0.6931471805598903, 5.497923018708371e-14)
