"""What NumPy's ufuncs do with real numbers in a few instructions: choice, signs, bits of floats."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import numpy as np

from lanewise.codegen.mathlib.arithmetic import BIAS, MANTISSA, TINY, two_to
from lanewise.codegen.numbers import Number, choose, vecs
from lanewise.codegen.vector import BITS, NUMPY, Vec, select

Writer = Callable[..., Vec]


def unchanged(x: Vec) -> Vec:
    return x


def always(value: bool) -> Writer:
    """Return the function that is a truth value of any number, in each lane if that varies."""
    return lambda x: x.e.constant("b", value).spread_if(x.varying)


# --- choosing ---------------------------------------------------------------------------------


def extreme(is_first: Writer, keeps_nan: bool) -> Writer:
    """Return the rule by which processors choose: of equal numbers the second; NaN first, or last.

    It is one of the instructions for that, and another choice for NaN.
    """
    if keeps_nan:
        return lambda x, y: select(x.isnan(), np.nan, select(is_first(x, y), x, y))
    return lambda x, y: select(y.isnan(), x, select(is_first(x, y), x, y))


def first_of(is_first: Callable[..., Vec], keeps_nan: bool) -> Callable[[Number, Number], Number]:
    """Return the rule of what NumPy compares in software: of equal numbers it gives the first."""

    def write(x: Number, y: Number) -> Number:
        nan = [part.isnan() for part in vecs(x if keeps_nan else y)]
        return choose(reduce(operator.or_, nan) | is_first(x, y), x, y)

    return write


def sign(x: Vec) -> Vec:
    """Return -1, 0, 1 or NaN."""
    one = select(x > 0.0, 1.0, x.e.constant(x.kind, 0.0))
    return select(x.isnan(), x, select(x < 0.0, -1.0, one))


def heaviside(x: Vec, at_zero: Vec) -> Vec:
    step = select(x < 0.0, 0.0, x.e.constant(x.kind, 1.0))
    return select(x.isnan(), x, select(x.eq(0.0), at_zero, step))


# --- classes and signs ------------------------------------------------------------------------


def isinf(x: Vec) -> Vec:
    return x.abs().eq(np.inf)


def isfinite(x: Vec) -> Vec:
    return x.abs() < np.inf


#: Up to which power products take fewer instructions than logarithms.
MOST_PRODUCTS = 32


def known_power(x: Vec, n: float) -> Vec | None:
    """Return x to a known power if a few instructions do; they err by less than one unit.

    Where the result is about subnormal, which their roundings are too, by 1.5 units.
    """
    if n == 0.0:
        return x.e.constant(x.kind, 1.0).spread_if(x.varying)
    if n in (1.0, 2.0, -1.0):
        return x if n == 1.0 else x * x if n == 2.0 else 1.0 / x
    if n == 0.5:  # of -0 it is 0, and of -infinity infinity
        return select(x.eq(-np.inf), np.inf, (x + 0.0).sqrt())
    if n in (-0.5, 1.5, -1.5):
        return select(x.eq(-np.inf), np.inf if n > 0 else 0.0, _power_by_root(x + 0.0, n))
    if n % 1 == 0 and abs(n) <= MOST_PRODUCTS:
        return _joined(*_power_by_products(*_inverse(x, n < 0), int(abs(n))))
    return None


#: A number, and what its roundings took, to first order.
_Pair: TypeAlias = tuple[Vec, Vec]


def _joined(found: Vec, rest: Vec) -> Vec:
    size = rest.abs()  # zeros keep their sign
    return select((size > 0.0) & (size < np.inf), found + rest, found)


def _inverse(x: Vec, is_inverse: bool) -> _Pair:
    """Return 1 / x, or x itself."""
    if not is_inverse:
        return x, x.e.constant(x.kind, 0.0)
    found = 1.0 / x
    return found, found * (-x).fma(found, 1.0)


def _power_by_products(x: Vec, lost: Vec, n: int) -> _Pair:
    """Return the n-th power of a number by squaring, in the order of n's bits."""
    found, rest = x, lost
    for bit in f"{n:b}"[1:]:
        found, rest = _product(found, rest, found, rest)
        if bit == "1":
            found, rest = _product(found, rest, x, lost)
    return found, rest


def _product(x: Vec, x_lost: Vec, y: Vec, y_lost: Vec) -> _Pair:
    found = x * y
    return found, x.fma(y, -found) + x.fma(y_lost, x_lost * y)


def _power_by_root(x: Vec, n: float) -> Vec:
    """Return x to the power -1/2, 3/2 or -3/2."""
    one, lost = _inverse(x, n == -1.5)  # to the power 3/2
    root = one.sqrt()
    short = (-root).fma(root, one) * 0.5
    if n == -0.5:
        found = 1.0 / root
        return _joined(found, found * ((-found).fma(root, 1.0) - short * found * found))
    found = one * root
    return _joined(found, one.fma(root, -found) + root * (short + lost * 1.5))


# --- the parts of floats ----------------------------------------------------------------------


def modf(x: Vec) -> tuple[Vec, Vec]:
    """Return the fraction and the whole number, both with the sign of x."""
    whole = x.trunc()
    fraction = select(isinf(x), 0.0, x - whole)
    return fraction.copysign(x), whole


def frexp(x: Vec) -> tuple[Vec, Vec]:
    """Return m and n such that x is m 2**n and m in [1/2, 1); n is 0 for 0, infinity and NaN.

    Examples
    --------
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(frexp, (float,))([10.0, -0.5, 0.0])
    (array([ 0.625, -0.5  ,  0.   ]), array([4, 0, 0], dtype=int32))
    """
    stored, bias = MANTISSA[x.kind], BIAS[x.kind]
    up = stored + 1
    subnormal = x.abs() < TINY[x.kind]
    bits = select(subnormal, x * 2.0**up, x).bits()
    mask = 2 * bias + 1
    exponent = ((bits >> stored) & mask) - (bias - 1)
    exponent = select(subnormal, exponent - up, exponent)
    mantissa = ((bits & ~(mask << stored)) | ((bias - 1) << stored)).as_kind(x.kind)
    as_it_is = x.eq(0.0) | ~isfinite(x)
    return select(as_it_is, x, mantissa), select(as_it_is, 0, exponent).to("i32")


def ldexp(x: Vec, n: Vec) -> Vec:
    """Return x 2**n, rounded once.

    Multiplying by powers of two rounds only where the result is subnormal. So there are three
    factors, and where they are small the first two bring x down to where it is normal still, or so
    far below that the result is zero anyway.
    """
    stored, bias = MANTISSA[x.kind], BIAS[x.kind]
    kind = f"i{BITS[x.kind]}"
    n = n.least(10_000).greatest(-10_000).to(kind)
    down = bias - 1 - stored  # 2**-down times a mantissa keeps clear of the subnormals
    for _ in range(2):
        step = select(n > bias, bias, select(n < 1 - bias, -down, n.e.constant(kind, 0)))
        x = x * two_to(step, x.kind)
        n = n - step
    n = n.least(bias).greatest(1 - bias)
    return x * two_to(n, x.kind)


def nextafter(x: Vec, y: Vec) -> Vec:
    """Return the next float from x towards y; y itself if they are equal, x itself of float16."""
    bits = x.bits()
    away = (x < y) ^ (bits < 0)
    moved = (bits + select(away, 1, x.e.constant(bits.kind, -1))).as_kind(x.kind)
    least = x.e.constant(bits.kind, 1).as_kind(x.kind).copysign(y)
    found = select(x.eq(0.0), least, moved)
    found = select(x.eq(y), x if x.kind == "f16" else y, found)
    return select(x.isnan() | y.isnan(), np.nan, found)


def spacing(x: Vec) -> Vec:
    """Return what the next float away from zero has more than x."""
    beyond = (x.bits() + 1).as_kind(x.kind)
    least = x.e.constant(x.bits().kind, 1).as_kind(x.kind)
    return select(x.eq(0.0), least, beyond - x)


def spacing_half(x: Vec) -> Vec:
    """Return what the next greater float16 has more than x; NumPy's is never negative."""
    bits = x.bits()
    up = (bits + select(bits < 0, -1, x.e.constant("i16", 1))).as_kind("f16")
    least = x.e.constant("i16", 1).as_kind("f16")
    gap = (up.to("f32") - x.to("f32")).to("f16")
    return select(isfinite(x), select(x.eq(0.0), least, gap), np.nan)


def _times_ratio(above: float, below: float) -> Writer:
    """Return a product with a ratio that is as accurate as the kind, as in NumPy's source."""

    def write(x: Vec) -> Vec:
        real = NUMPY[x.kind].type
        return x * float(real(above) / real(below))

    return write


deg2rad, rad2deg = _times_ratio(np.pi, 180.0), _times_ratio(180.0, np.pi)
