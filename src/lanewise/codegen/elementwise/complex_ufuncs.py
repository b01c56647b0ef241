"""What NumPy's ufuncs do with complex numbers: arithmetic, comparisons, classes.

Products, quotients and comparisons follow NumPy's formulas, so that special values come out alike:
a product with an infinite part may be NaN, and numbers are ordered by their real parts first.
"""

from __future__ import annotations

import numpy as np

from lanewise.codegen.elementwise.division import divided
from lanewise.codegen.numbers import Complex, Number, choose, truth
from lanewise.codegen.vector import Vec, select


def add(x: Complex, y: Complex) -> Complex:
    return Complex(x.re + y.re, x.im + y.im)


def subtract(x: Complex, y: Complex) -> Complex:
    return Complex(x.re - y.re, x.im - y.im)


def multiply(x: Complex, y: Complex) -> Complex:
    """Return the product, with one rounding less in each part where NumPy's vector code has it."""
    return Complex(x.re.fma(y.re, -(x.im * y.im)), x.re.fma(y.im, x.im * y.re))


def square(x: Complex) -> Complex:
    return multiply(x, x)


def divide(x: Complex, y: Complex) -> Complex:
    """Return the quotient by Smith's method (1962), which scales by the greater part of `y`.

    Examples
    --------
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(divide, (complex, complex))([1, 1e300], [1j, 1e300 + 1e300j])
    array([0. -1.j , 0.5-0.5j])
    """
    swap = ~(y.re.abs() >= y.im.abs())
    large, small = select(swap, y.im, y.re), select(swap, y.re, y.im)
    ratio = divided(small, large)
    scale = divided(x.e.constant(x.kind, 1.0), large + small * ratio)
    re_scaled, im_scaled = x.re * ratio, x.im * ratio
    re = select(swap, re_scaled, x.re) + select(swap, x.im, im_scaled)
    im = select(swap, im_scaled, x.im) - select(swap, x.re, re_scaled)
    by_zero = y.re.eq(0.0) & y.im.eq(0.0)
    # A number by 0 is that number times infinity, which takes no division: 0 and NaN give NaN.
    return Complex(
        select(by_zero, x.re * np.inf, re * scale), select(by_zero, x.im * np.inf, im * scale)
    )


def reciprocal(x: Complex) -> Complex:
    """Return 1 / x, by Smith's method as well; NumPy rounds it otherwise than a division of 1."""
    swap = ~(x.im.abs() <= x.re.abs())
    large, small = select(swap, x.im, x.re), select(swap, x.re, x.im)
    ratio = divided(small, large)
    below = large + small * ratio
    one = x.e.constant(x.kind, 1.0)
    re = divided(select(swap, ratio, one), below)
    return Complex(re, divided(-select(swap, one, ratio), below))


def negative(x: Complex) -> Complex:
    return Complex(-x.re, -x.im)


def conjugate(x: Complex) -> Complex:
    return Complex(x.re, -x.im)


def positive(x: Complex) -> Complex:
    return x


def rint(x: Complex) -> Complex:
    return Complex(x.re.rint(), x.im.rint())


# --- comparisons ------------------------------------------------------------------------------


def _ordered(x: Complex, y: Complex) -> Vec:
    """Return where the imaginary parts let the real ones decide: neither is NaN."""
    type_ = x.e.type(x.kind, x.im.varying or y.im.varying)
    return x.e.map("b", (x.im, y.im), lambda a, b: f"fcmp ord {type_} {a}, {b}")


def equal(x: Complex, y: Complex) -> Vec:
    return x.re.eq(y.re) & x.im.eq(y.im)


def not_equal(x: Complex, y: Complex) -> Vec:
    return x.re.ne(y.re) | x.im.ne(y.im)


def less(x: Complex, y: Complex) -> Vec:
    return ((x.re < y.re) & _ordered(x, y)) | (x.re.eq(y.re) & (x.im < y.im))


def less_equal(x: Complex, y: Complex) -> Vec:
    return ((x.re < y.re) & _ordered(x, y)) | (x.re.eq(y.re) & (x.im <= y.im))


def greater(x: Complex, y: Complex) -> Vec:
    return less(y, x)


def greater_equal(x: Complex, y: Complex) -> Vec:
    return less_equal(y, x)


def maximum(x: Complex, y: Complex) -> Number:
    return choose(isnan(x) | greater_equal(x, y), x, y)


def minimum(x: Complex, y: Complex) -> Number:
    return choose(isnan(x) | less_equal(x, y), x, y)


def fmax(x: Complex, y: Complex) -> Number:
    return choose(isnan(y) | greater_equal(x, y), x, y)


def fmin(x: Complex, y: Complex) -> Number:
    return choose(isnan(y) | less_equal(x, y), x, y)


# --- classes ----------------------------------------------------------------------------------


def isnan(x: Complex) -> Vec:
    return x.re.isnan() | x.im.isnan()


def isinf(x: Complex) -> Vec:
    return x.re.abs().eq(np.inf) | x.im.abs().eq(np.inf)


def isfinite(x: Complex) -> Vec:
    return (x.re.abs() < np.inf) & (x.im.abs() < np.inf)


def logical_and(x: Number, y: Number) -> Vec:
    return truth(x) & truth(y)


def logical_or(x: Number, y: Number) -> Vec:
    return truth(x) | truth(y)


def logical_xor(x: Number, y: Number) -> Vec:
    return truth(x) ^ truth(y)


def logical_not(x: Number) -> Vec:
    return ~truth(x)
