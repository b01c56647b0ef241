"""What NumPy's ufuncs do with complex numbers: arithmetic, comparisons, classes.

Products, quotients and comparisons follow NumPy's formulas, so that special values come out alike:
a product with an infinite part may be NaN, and numbers are ordered by their real parts first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from lanewise.codegen.numbers import Complex, vecs
from lanewise.codegen.vector import Vec, select


def part_by_part(function: Callable[..., Vec]) -> Callable[..., Complex]:
    """Return the function of complex numbers that does the same with both parts."""
    return lambda *operands: Complex(*map(function, *map(vecs, operands)))


def where(condition: Vec, then: Complex | float, otherwise: Complex) -> Complex:
    """Return one number where a condition holds, another elsewhere; a float is for both parts."""
    re, im = (then.re, then.im) if isinstance(then, Complex) else (then, then)
    return Complex(select(condition, re, otherwise.re), select(condition, im, otherwise.im))


def multiply(x: Complex, y: Complex) -> Complex:
    """Return the product, with one rounding less in each part where NumPy's vector code has it."""
    return Complex(x.re.fma(y.re, -(x.im * y.im)), x.re.fma(y.im, x.im * y.re))


def _divided(a: Vec, b: Vec) -> Vec:
    """Return ``a / b``, rounded correctly whatever the emitter's flags allow."""
    type_ = a.e.type(a.kind, a.varying or b.varying)
    return a.e.map(a.kind, (a, b), lambda x, y: f"fdiv {type_} {x}, {y}")


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
    ratio = _divided(small, large)
    scale = _divided(x.e.constant(x.kind, 1.0), large + small * ratio)
    re_scaled, im_scaled = x.re * ratio, x.im * ratio
    re = select(swap, re_scaled, x.re) + select(swap, x.im, im_scaled)
    im = select(swap, im_scaled, x.im) - select(swap, x.re, re_scaled)
    by_zero = y.re.eq(0.0) & y.im.eq(0.0)
    # A number by 0 is that number times infinity, which takes no division: 0 and NaN give NaN.
    return where(by_zero, Complex(x.re * np.inf, x.im * np.inf), Complex(re * scale, im * scale))


def reciprocal(x: Complex) -> Complex:
    """Return 1 / x, by Smith's method as well; NumPy rounds it otherwise than a division of 1."""
    swap = ~(x.im.abs() <= x.re.abs())
    large, small = select(swap, x.im, x.re), select(swap, x.re, x.im)
    ratio = _divided(small, large)
    below = large + small * ratio
    one = x.e.constant(x.kind, 1.0)
    re = _divided(select(swap, ratio, one), below)
    return Complex(re, _divided(-select(swap, one, ratio), below))


# --- comparisons ------------------------------------------------------------------------------


def equal(x: Complex, y: Complex) -> Vec:
    return x.re.eq(y.re) & x.im.eq(y.im)


def not_equal(x: Complex, y: Complex) -> Vec:
    return x.re.ne(y.re) | x.im.ne(y.im)


def _before(compare: Callable[[Vec, Vec], Vec]) -> Callable[[Complex, Complex], Vec]:
    """Return the order by real parts, and of equal ones by what compares imaginary ones.

    The real parts decide only where neither imaginary part is NaN.
    """

    def write(x: Complex, y: Complex) -> Vec:
        ordered = ~(x.im.isnan() | y.im.isnan())
        return ((x.re < y.re) & ordered) | (x.re.eq(y.re) & compare(x.im, y.im))

    return write


less, less_equal = _before(operator.lt), _before(operator.le)


def greater(x: Complex, y: Complex) -> Vec:
    return less(y, x)


def greater_equal(x: Complex, y: Complex) -> Vec:
    return less_equal(y, x)


# --- classes ----------------------------------------------------------------------------------


def isnan(x: Complex) -> Vec:
    return x.re.isnan() | x.im.isnan()


def isinf(x: Complex) -> Vec:
    return x.re.abs().eq(np.inf) | x.im.abs().eq(np.inf)


def isfinite(x: Complex) -> Vec:
    return (x.re.abs() < np.inf) & (x.im.abs() < np.inf)


# --- long code, or seldom run ------------------------------------------------------------------


def patched(
    name: str, usual: Complex, rare: Vec, function: Callable[[Complex], Complex], x: Complex
) -> Complex:
    """Return `usual`, but where `rare` holds what a function of x gives, which is out of line."""
    pair = usual.re.spread_if(x.varying), usual.im.spread_if(x.varying)
    return Complex(*x.e.all_patched(pair, rare, lambda: vecs(called(name, function, x))))


def called(name: str, function: Callable[..., Complex], *operands: Complex) -> Complex:
    """Return what a function out of line gives."""

    def write(*flat: Vec) -> tuple[Vec, ...]:
        return vecs(function(*map(Complex, flat[::2], flat[1::2])))

    flat = [part for x in operands for part in vecs(x)]
    return Complex(*flat[0].e.called(f"complex.{name}", write, *flat))
