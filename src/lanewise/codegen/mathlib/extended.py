"""Exponential and logarithm of a sum of two floats: what products of large powers need.

``exp(h)`` keeps an error of h, so that a power of 700 needs h to ten more bits than a float has. A
value here is a pair: a float64, and a much smaller one that it leaves out.
"""

from __future__ import annotations

from lanewise.codegen.mathlib.arithmetic import (
    estrin,
    fast_two_sum,
    horner,
    mantissa_exponent,
    scale,
    two_product,
)
from lanewise.codegen.mathlib.exponential import EXP, LN2_SPLIT, clamp, reduced
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
    n, r, _ = reduced(clamp(high, -1000.0, 1000.0))
    r = r + low
    return scale((r * r).fma(estrin(r, EXP["f64"]), r) + 1.0, n)


def powers_of_quotient(x: Vec) -> tuple[Vec, Pair, Pair, Pair]:
    """Return k, s, s**2 and s**3 of ``log(x) = k ln 2 + 2 atanh(s)``, for a positive float64."""
    m, k = mantissa_exponent(x)
    f = m - 1.0
    # s = f / (2 + f), with what rounding it lost.
    below, below_low = fast_two_sum(f.e.constant("f64", 2.0), f)
    inverse = 1.0 / below
    s = f * inverse
    s_low = s.fma(-below_low, s.fma(-below, f)) * inverse
    z = s * s
    z_low = s.fma(s, -z) + (s + s) * s_low
    cube, cube_low = two_product(z, s)
    return k, (s, s_low), (z, z_low), (cube, cube_low + z.fma(s_low, z_low * s))


def log_pair(x: Vec) -> Pair:
    """Return the logarithm of a positive float64 as a pair, to about 2**-65 of it."""
    k, (s, s_low), (z, _), (cube, cube_low) = powers_of_quotient(x)
    factor, factor_low = fast_two_sum(x.e.constant("f64", _TWO_THIRDS[0]), z * horner(z, _LOG_REST))
    factor_low = factor_low + _TWO_THIRDS[1]
    term = cube * factor
    term_low = cube.fma(factor, -term) + (cube * factor_low + cube_low * factor)
    first, second = LN2_SPLIT["f64"]
    total, error = fast_two_sum(k * first, s + s)
    sum_, more = fast_two_sum(total, term)
    return fast_two_sum(sum_, more + (error + (term_low + (s_low + s_low) + k * second)))
