"""The inverse trigonometric and hyperbolic functions of complex numbers.

They are Kahan's ("Branch cuts for complex elementary functions", 1987): square roots of 1 - z and
1 + z carry the signs of zeros, so that the branch cuts come out right, and real functions do the
rest. All of it stands out of line: these functions are long, and seldom the time of a program.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from lanewise.codegen.elementwise.complex_functions import direction, mirrored, sqrt
from lanewise.codegen.elementwise.complex_ufuncs import called, isinf
from lanewise.codegen.mathlib.exponential import log, log1p
from lanewise.codegen.mathlib.hyperbolic import asinh
from lanewise.codegen.mathlib.trigonometric import atan, atan2
from lanewise.codegen.numbers import Complex
from lanewise.codegen.vector import select

PI = float(np.pi)


def _roots(x: Complex) -> tuple[Complex, Complex]:
    """Return the square roots of 1 - x and 1 + x."""
    return sqrt(Complex(1.0 - x.re, -x.im)), sqrt(Complex(1.0 + x.re, x.im))


def _arcsin(x: Complex) -> Complex:
    minus, plus = _roots(x)
    re = atan(x.re / (minus.re * plus.re - minus.im * plus.im))
    im = asinh(minus.re * plus.im - minus.im * plus.re)
    away, corner = isinf(x), direction(x)
    infinity = x.e.constant(x.kind, np.inf)
    re = select(away, atan2(corner.re, corner.im.abs()), re)
    im = select(away, infinity.copysign(x.im), im)
    re = select(x.re.eq(0.0), x.re, re)  # also of a NaN above it
    return Complex(re, im)


def _arccos(x: Complex) -> Complex:
    minus, plus = _roots(x)
    re = 2.0 * atan(minus.re / plus.re)
    im = asinh(plus.re * minus.im - plus.im * minus.re)
    away, corner = isinf(x), direction(x)
    infinity = x.e.constant(x.kind, np.inf)
    re = select(away, atan2(corner.im.abs(), corner.re), re)
    im = select(away, (-infinity.copysign(x.im)), im)
    re = select(x.re.eq(0.0) & x.im.isnan(), PI / 2, re)
    return Complex(re, im)


def _arccosh(x: Complex) -> Complex:
    """Return arccos(x) times i or -i, whichever makes the real part positive."""
    found = _arccos(x)
    return Complex(found.im.abs(), found.re.copysign(x.im))


def _arctanh(x: Complex) -> Complex:
    e, kind = x.e, x.kind
    a, b = x.re.abs(), x.im.abs()
    one, zero = e.constant(kind, 1.0), e.constant(kind, 0.0)
    theta = {"f32": 2.0**60, "f64": 2.0**500}[kind]
    # near 1 the squares of b would vanish
    near = a.eq(1.0) & (b < 1.0 / theta)
    b_safe = select(near, 1.0 / theta, b)
    gap = 1.0 - a
    below = gap.fma(gap, b_safe * b_safe)
    re = 0.25 * log1p(4.0 * a / below)
    im = 0.5 * atan2(2.0 * b, gap * (1.0 + a) - b_safe * b_safe)
    # on the line through 1, |1 - x| is b
    re = select(near, 0.5 * (np.log(2.0) - log(b)), re)
    im = select(near, PI / 4, im)
    im = select(near & b.eq(0.0), zero, im)
    # far away, 1 / x, of which the parts are small
    far = (a > theta) | (b > theta)
    large, small = a.greatest(b), a.least(b)
    ratio = small / large
    scale = one / large / ratio.fma(ratio, 1.0)
    of_far = select(a >= b, scale, scale * ratio)
    infinite = a.eq(np.inf) | b.eq(np.inf)
    of_far = select(infinite, zero, of_far)
    re = select(far, of_far, re)
    im = select(far, PI / 2, im)
    nan = x.re.isnan() | x.im.isnan()
    re = select(nan, select(x.re.eq(0.0) | infinite, zero, x.re + x.im), re)
    im = select(nan, select(b.eq(np.inf), PI / 2, x.im + x.re), im)
    return Complex(re.copysign(x.re), im.copysign(x.im))


arcsin = partial(called, "arcsin", _arcsin)
arccos = partial(called, "arccos", _arccos)
arccosh = partial(called, "arccosh", _arccosh)
arctanh = partial(called, "arctanh", _arctanh)
arcsinh = mirrored(arcsin)
arctan = mirrored(arctanh)
