"""Exponentials and logarithms.

Exponentials reduce ``x = n ln 2 + r`` with ln 2 in two parts (W. Cody and W. Waite, Software Manual
for the Elementary Functions, 1980; with an FMA the first product is exact), take a polynomial of r
and scale by 2**n. Logarithms take ``x = m 2**k`` with m about 1; for float64 log m is a series in
``s = f / (2 + f)``, ``f = m - 1``, where all but the exact f is small: the sum is rounded nearly
once (P. Tang, ACM TOMS 16, 1990; J.-M. Muller, Handbook of Floating-Point Arithmetic, chapter 10).

Nothing branches: a lane that does not count may hold anything, and must not make the others slow.
Coefficients are minimax fits (``tests/support/minimax.py``); the comments give the largest relative
error of each.

>>> import numpy as np
>>> from support.driver import compile_elementwise
>>> compile_elementwise(exp, (np.float64,))(np.array([0.0, 1.0]))
array([1.        , 2.71828183])
"""

from __future__ import annotations

from lanewise.codegen.mathlib.arithmetic import (
    BIAS,
    LN2,
    estrin,
    fast_two_sum,
    horner,
    mantissa_exponent,
    nearest,
    of_kinds,
    power_of_two,
    replaced_at_edges,
    scale,
    side_by_side,
    two_product,
    two_sum,
)
from lanewise.codegen.vector import Vec, select

#: 1 / ln 2, and what its float leaves out.
LOG2_E = {
    "f32": (1.4426950216293335, 1.925963033500011e-08),
    "f64": (1.4426950408889634, 2.0355273740931033e-17),
}
#: Beyond these the results are those at the ends: infinite, and 0 or -1.
_EXP_RANGE = {"f32": (-104.5, 89.5), "f64": (-746.0, 710.0)}
_EXPM1_RANGE = {"f32": (-18.5, 89.0), "f64": (-40.0, 710.0)}
_EXP2_RANGE = {"f32": (-151.0, 128.5), "f64": (-1076.0, 1024.5)}

#: (exp(r) - 1 - r) / r**2 for abs(r) < ln(2) / 2: 2**-32.1 and 2**-60.6 of exp(r).
EXP = of_kinds(
    (0.5, 0.5),
    (0.16666666666666682, 0.1666666716337204),
    (0.0416666666666667, 0.041666459292173386),
    (0.008333333333316808, 0.00833327416330576),
    (0.0013888888888865315, 0.0013935447204858065),
    (0.00019841269896949507, 0.0001991350291064009),
    (2.4801587364805023e-05,),
    (2.755723430422897e-06,),
    (2.7557238916436014e-07,),
    (2.5112226954894026e-08,),
    (2.0925611041431727e-09,),
)
#: (2**r - 1) / r for abs(r) < 1/2: 2**-31.1 and 2**-58.0 of 2**r.
_EXP2 = of_kinds(
    (0.6931471805599453, 0.6931471824645996),
    (0.24022650695910072, 0.24022650718688965),
    (0.055504108664823484, 0.05550406128168106),
    (0.00961812910762848, 0.009618083015084267),
    (0.0013333558145986683, 0.0013336814008653164),
    (0.00015403530393365929, 0.00015453154628630728),
    (1.5252734227478872e-05, 1.4637226740887854e-05),
    (1.321548681417352e-06,),
    (1.0177902053958735e-07,),
    (7.054894780139584e-09,),
    (4.478446157951594e-10,),
    (2.5733389549138758e-11,),
)
#: (log(1 + f) - f + f**2 / 2) / f**3 between sqrt(1/2) and sqrt(2): 2**-29.5. And there
#: (2 atanh(s) - 2 s) / s**3, as a polynomial in s**2: 2**-58.2.
_LOG_F32, _LOG_F64 = side_by_side(
    (0.3333333432674408, 0.6666666666666735),
    (-0.24999995529651642, 0.3999999999941098),
    (0.20000919699668884, 0.2857142874329352),
    (-0.16668127477169037, 0.22222198472677127),
    (0.14240576326847076, 0.18183569910886296),
    (-0.12412664294242859, 0.15313898967734718),
    (0.11754783242940903, 0.14797549306095104),
    (-0.11597501486539841,),
    (0.06937427818775177,),
)
#: ln 2 and log10(2) in two parts; multiples of the first by exponents are exact.
LN2_SPLIT = {
    "f32": (0.693145751953125, 1.4286068203094173e-06),
    "f64": (0.6931471805598903, 5.497923018708371e-14),
}
_LOG10_2 = {
    "f32": (0.301025390625, 4.605038981195214e-06),
    "f64": (0.30102999566383914, 1.42050232272661e-13),
}
#: 1 / ln 10, and what its float leaves out.
_LOG10_E = {
    "f32": (0.4342944920063019, -1.0103049952192578e-08),
    "f64": (0.4342944819032518, 1.098319650216765e-17),
}

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

#: A value as a sum of two floats, a float64 and a much smaller one that it leaves out.
Pair = tuple[Vec, Vec]


# --- exponentials ---------------------------------------------------------------------------------


def clamp(x: Vec, low: float, high: float) -> Vec:
    """Return x, or the nearest end of an interval; NaN stays."""
    x = select(x < low, low, x)
    return select(x > high, high, x)


def reduced(x: Vec) -> tuple[Vec, Vec, Vec]:
    """Return n and r of ``x = n ln 2 + r``, and what rounding r left."""
    high, low = LN2[x.kind]
    n = nearest(x, LOG2_E[x.kind][0])
    first = n.fma(-high, x)
    r = n.fma(-low, first)
    return n, r, n.fma(-low, first - r)


def exp(x: Vec) -> Vec:
    """Return e**x."""
    n, r, _ = reduced(clamp(x, *_EXP_RANGE[x.kind]))
    return scale(r.fma(r.fma(estrin(r, EXP[x.kind]), 1.0), 1.0), n)


def exp2(x: Vec) -> Vec:
    """Return 2**x."""
    x = clamp(x, *_EXP2_RANGE[x.kind])
    n = nearest(x, 1.0)
    r = x - n
    first, *others = _EXP2[x.kind]
    return scale(r.fma(r.fma(estrin(r, others), first), 1.0), n)


def exp2_of_sum(x: Vec, rest: Vec) -> Vec:
    """Return ``2**(x + rest)`` for a small rest, and x not far beyond the range of results.

    For powers: it is rounded nearly once.
    """
    n = nearest(x, 1.0)
    exact = x - n
    r = exact + rest
    rest = rest - (r - exact)
    first, *others = _EXP2[x.kind]
    linear = r * first
    lost = r.fma(LN2[x.kind][1], rest.fma(first, r.fma(first, -linear)))
    total, error = fast_two_sum(x.e.constant(x.kind, 1.0), linear)
    return scale(total + (error + (r * r).fma(estrin(r, others), lost)), n)


def expm1(x: Vec) -> Vec:
    """Return e**x - 1, for small x to all digits too."""
    n, r, rest = reduced(clamp(x, *_EXPM1_RANGE[x.kind]))
    # The largest 2**n is too large for a number: there it is half of it, and so is the result.
    large = n > BIAS[x.kind]
    total, more = expm1_parts(select(large, n - 1.0, n), r, rest)
    result = total + more
    return select(large, result * 2.0, result).copysign(x)


def expm1_parts(n: Vec, r: Vec, rest: Vec) -> tuple[Vec, Vec]:
    """Return e**x - 1 for what `reduced` makes of x, as a float and what it leaves out.

    The second is not that small: `fast_two_sum` of both is. Negative zero becomes the positive one.
    """
    _, *others = EXP[r.kind]
    half = r * 0.5
    tail = half.fma(r, (r * r).fma(r * estrin(r, others), rest))
    # 2**n (1 + r + tail) - 1
    power = power_of_two(n)
    less = power - 1.0
    total, error = fast_two_sum(less, power * r)
    return total, power.fma(tail, error + ((power - less) - 1.0))


# --- logarithms -----------------------------------------------------------------------------------


def small_log(f: Vec) -> Vec:
    """Return ``log(1 + f) - f`` for sqrt(1/2) <= 1 + f < sqrt(2), within about an ULP of it."""
    half = f * 0.5
    if f.kind == "f32":
        return half.fma(-f, f * f * f * estrin(f, _LOG_F32))
    s = f / (f + 2.0)
    z = s * s
    return half.fma(-f, s * z.fma(estrin(z, _LOG_F64), half * f))


def log(x: Vec) -> Vec:
    """Return the natural logarithm."""
    m, k = mantissa_exponent(x)
    f = m - 1.0
    high, low = LN2_SPLIT[x.kind]
    total, error = fast_two_sum(k * high, f)
    return replaced_at_edges(x, total + (error + k.fma(low, small_log(f))))


def log2(x: Vec) -> Vec:
    """Return the logarithm to base 2."""
    return _log_to_base(x, LOG2_E[x.kind], (1.0, 0.0))


def log10(x: Vec) -> Vec:
    """Return the logarithm to base 10."""
    return _log_to_base(x, _LOG10_E[x.kind], _LOG10_2[x.kind])


def _log_to_base(x: Vec, of_e: tuple[float, float], of_two: tuple[float, float]) -> Vec:
    """Return the logarithm to a base, of which those of e and 2 are given as sums of two floats."""
    m, k = mantissa_exponent(x)
    f = m - 1.0
    high, low = of_e
    part = f * high
    rest = f.fma(low, f.fma(high, -part))
    tail = small_log(f).fma(high, rest)
    first, second = of_two
    total, error = fast_two_sum(k * first, part)
    return replaced_at_edges(x, total + (error + (k.fma(second, tail) if second else tail)))


def log1p(x: Vec, left: Vec | None = None) -> Vec:
    """Return log(1 + x), for small x to all digits too; ``left`` is what rounding x left out."""
    sum_, lost = two_sum(x.e.constant(x.kind, 1.0), x)
    if left is not None:
        lost = lost + left
    m, k = mantissa_exponent(sum_, subnormal=False)
    high, low = LN2_SPLIT[x.kind]
    # 1 + x = 2**k (1 + f + rest); beyond the bound nothing is left of what was lost.
    lost = lost * power_of_two(-k.least(float(BIAS[x.kind] - 1)))
    f, rest = fast_two_sum(m - 1.0, lost)
    total, error = fast_two_sum(k * high, f)
    tail = k.fma(low, small_log(f)) + rest.fma(-f, rest)
    return replaced_at_edges(sum_, total + (error + tail)).copysign(x)


# --- of sums of two floats ------------------------------------------------------------------------

# What products of large powers need: ``exp(h)`` keeps an error of h, so that a power of 700 needs h
# to ten more bits than a float has.


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
