"""Exponentials, logarithms, powers and roots of complex numbers, sines and their hyperbolic kin.

The usual path is a formula on the real functions of `lanewise.codegen.mathlib`. Where a part is
infinite, NaN, or so large or small that the formula would overflow, code out of line takes over; it
gives the special values of C99 (annex G), which NumPy has from the system's library.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from lanewise.codegen.elementwise.complex_ufuncs import (
    called,
    divide,
    isfinite,
    isinf,
    isnan,
    patched,
    where,
)
from lanewise.codegen.elementwise.integer_ufuncs import by_squaring
from lanewise.codegen.mathlib import exponential, hyperbolic, trigonometric
from lanewise.codegen.mathlib.arithmetic import two_product, two_sum
from lanewise.codegen.mathlib.power import hypot
from lanewise.codegen.mathlib.trigonometric import atan2, sincos
from lanewise.codegen.numbers import Complex, vecs
from lanewise.codegen.vector import Vec, select

Writer = Callable[[Vec], Vec]

LN2 = float(np.log(2.0))

#: Of each kind: from which x on exp(x) may not fit although exp(x) times a small number does.
_LARGE = {"f32": 80.0, "f64": 700.0}
#: Of each kind: powers of two between which squares neither overflow nor lose bits.
_SQUARES = {"f32": (-50, 60), "f64": (-400, 500)}


# --- absolute value, sign, square root --------------------------------------------------------


def absolute(x: Complex) -> Vec:
    return hypot(x.re, x.im)


def sign(x: Complex) -> Complex:
    """Return x / abs(x), 0 for 0; of infinite parts the sign, if it is only one."""
    size = absolute(x)
    one, zero = x.e.constant(x.kind, 1.0), x.e.constant(x.kind, 0.0)
    is_zero, infinite = size.eq(0.0), size.eq(np.inf)
    both_infinite = x.re.abs().eq(np.inf) & x.im.abs().eq(np.inf)
    nan = isnan(x) & ~infinite

    def part(v: Vec) -> Vec:
        corner = select(v.abs().eq(np.inf), one.copysign(v), zero)
        found = select(infinite, select(both_infinite, np.nan, corner), v / size)
        return select(is_zero, 0.0, select(nan, np.nan, found))

    return Complex(part(x.re), part(x.im))


def _needs_scaling(x: Complex) -> Vec:
    """Return where the squares of the parts may overflow or vanish, or a part is no number."""
    low, high = _SQUARES[x.kind]
    size = x.re.abs().greatest(x.im.abs())
    return ~((size >= 2.0**low) & (size < 2.0**high) & isfinite(x))


def _scaled(x: Complex, factor: float) -> Complex:
    return Complex(x.re * factor, x.im * factor)


def direction(x: Complex) -> Complex:
    """Return in which corner an infinite number lies: 0 or 1 with the sign of each part, or NaN."""
    one, zero = x.e.constant(x.kind, 1.0), x.e.constant(x.kind, 0.0)

    def part(v: Vec) -> Vec:
        return select(v.isnan(), v, select(v.abs().eq(np.inf), one, zero).copysign(v))

    return Complex(part(x.re), part(x.im))


def sqrt(x: Complex) -> Complex:
    """Return the square root with a real part not less than zero.

    Of ``sqrt((|x.re| + |x|) / 2)`` and ``x.im`` by twice that, one is the real part and the other
    the imaginary one, so that nothing cancels (Kahan 1987).
    """
    usual = _of_root(x, _root(x.re, x.im))
    return patched("sqrt", usual, _needs_scaling(x), _sqrt_rare, x)


def _root(re: Vec, im: Vec) -> Vec:
    """Return the square root of half of the real part's size and the absolute value."""
    return ((re.abs() + re.fma(re, im * im).sqrt()) * 0.5).sqrt()


def _of_root(x: Complex, large: Vec) -> Complex:
    small = x.im.abs() / (large + large)
    left = x.re < 0.0
    return Complex(select(left, small, large), select(left, large, small).copysign(x.im))


def _sqrt_rare(x: Complex) -> Complex:
    e, kind = x.e, x.kind
    shift = {"f32": 45, "f64": 300}[kind]
    size = x.re.abs().greatest(x.im.abs())
    down = size >= 1.0
    scale = select(down, 2.0 ** (-2 * shift), e.constant(kind, 2.0 ** (2 * shift)))
    back = select(down, 2.0**shift, e.constant(kind, 2.0**-shift))
    root = _of_root(x, _root(x.re * scale, x.im * scale) * back)
    zero, infinity = e.constant(kind, 0.0), e.constant(kind, np.inf)
    found = where(size.eq(0.0), Complex(zero, x.im), root)
    # to the right or to the left of everything: the other part vanishes, if it is a number
    away, no_im = x.re.abs().eq(np.inf), x.im.isnan()
    right = Complex(x.re, select(no_im, x.im, zero.copysign(x.im)))
    left = Complex(select(no_im, x.im, zero), infinity.copysign(x.im))
    found = where(away, where(x.re > 0.0, right, left), found)
    found = where(x.re.isnan() | (no_im & ~away), np.nan, found)
    return where(x.im.abs().eq(np.inf), Complex(infinity, x.im), found)


# --- exponentials -----------------------------------------------------------------------------


def _product(scale: Vec, wave: Vec, infinite_first: bool) -> Vec:
    """Return a product in which zero times anything is zero.

    ``infinite_first`` says that infinity times NaN is infinite, as in the first part of a result.
    """
    product = scale * wave
    if infinite_first:
        product = select(scale.abs().eq(np.inf) & wave.isnan(), scale.abs(), product)
    product = select(scale.eq(0.0) & wave.isnan(), scale, product)
    one = scale.e.constant(scale.kind, 1.0)
    return select(wave.eq(0.0), wave * one.copysign(scale), product)


def _times_waves(x: Complex, of_re: Writer, of_im: Writer) -> Complex:
    """Return functions of the real part times cosine and sine of the other, for any parts.

    The functions are exponential ones, exp, sinh or cosh. Where x is large, the product is made in
    two steps; only the last overflows.
    """
    sin, cos = sincos(x.im)
    limit = _LARGE[x.kind]

    def part(function: Writer, wave: Vec, is_first: bool) -> Vec:
        size, half = (x.re, 1.0) if function is exponential.exp else (x.re.abs(), 0.5)
        growth = exponential.exp(size - limit)
        growth = growth.copysign(x.re) if function is hyperbolic.sinh else growth
        in_steps = _product(growth, wave, is_first) * float(np.exp(limit) * half)
        return select(size > limit, in_steps, _product(function(x.re), wave, is_first))

    return Complex(part(of_re, cos, True), part(of_im, sin, False))


def exp(x: Complex) -> Complex:
    size = exponential.exp(x.re)
    sin, cos = sincos(x.im)
    usual = Complex(size * cos, size * sin)
    rare = ~((x.re < _LARGE[x.kind]) & (x.re > -np.inf) & (x.im.abs() < np.inf))
    return patched("exp", usual, rare, _exp_rare, x)


def _exp_rare(x: Complex) -> Complex:
    found = _times_waves(x, exponential.exp, exponential.exp)
    no_angle = ~(x.im.abs() < np.inf)
    left = x.re.eq(-np.inf) & no_angle
    zero = x.e.constant(x.kind, 0.0)
    found = where(left, Complex(zero, zero.copysign(x.im)), found)
    return where(no_angle & (x.re.abs() < np.inf), np.nan, found)


def exp2(x: Complex) -> Complex:
    return exp(_scaled(x, LN2))


def expm1(x: Complex) -> Complex:
    """Return exp(x) - 1; 1 - cos is twice the square of the sine of the half."""
    half = trigonometric.sin(x.im * 0.5)
    sin, cos = sincos(x.im)
    return Complex(exponential.expm1(x.re) * cos - 2.0 * half * half, exponential.exp(x.re) * sin)


def _hyperbolic(name: str, of_re: Writer, of_im: Writer) -> Callable[[Complex], Complex]:
    """Return a function that is one of the real part times a cosine, and another times a sine."""

    def rare(x: Complex) -> Complex:
        size = x.re.abs()
        no_number = ~(x.im.abs() < np.inf) & (size < np.inf) & (size > 0.0)
        return where(no_number, np.nan, _times_waves(x, of_re, of_im))

    def write(x: Complex) -> Complex:
        sin, cos = sincos(x.im)
        usual = Complex(of_re(x.re) * cos, of_im(x.re) * sin)
        grows = ~((x.re.abs() < _LARGE[x.kind]) & (x.im.abs() < np.inf))
        return patched(name, usual, grows, rare, x)

    return write


sinh = _hyperbolic("sinh", hyperbolic.sinh, hyperbolic.cosh)
cosh = _hyperbolic("cosh", hyperbolic.cosh, hyperbolic.sinh)


def tanh(x: Complex) -> Complex:
    """Return the hyperbolic tangent by Kahan's formula (1987), in which nothing cancels."""
    size = x.re.abs()
    tan, s = trigonometric.tan(x.im), hyperbolic.sinh(x.re)
    beta = tan.fma(tan, 1.0)
    rho = s.fma(s, 1.0).sqrt()
    below = (beta * s).fma(s, 1.0)
    usual = Complex(beta * rho * s / below, tan / below)
    rare = ~((size < {"f32": 9.0, "f64": 20.0}[x.kind]) & (x.im.abs() < np.inf))
    return patched("tanh", usual, rare, _tanh_rare, x)


def _tanh_rare(x: Complex) -> Complex:
    size = x.re.abs()
    one, zero = x.e.constant(x.kind, 1.0), x.e.constant(x.kind, 0.0)
    sin, cos = sincos(x.im)
    wave = sin * cos
    decay = exponential.exp(-size)
    im = 4.0 * wave * decay * decay
    im = select(decay.eq(0.0) & wave.isnan(), zero.copysign(x.im), im)
    no_number = x.re.isnan() | (size < np.inf) & ~(x.im.abs() < np.inf)
    im = select(no_number, np.nan, im)
    im = select(x.re.isnan() & x.im.eq(0.0), x.im, im)
    re = select(no_number & x.re.ne(0.0), np.nan, one.copysign(x.re))
    return Complex(select(x.re.eq(0.0), x.re, re), im)


def mirrored(function: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    """Return f(ix) / i of an odd function f that commutes with conjugation: sin of sinh.

    Exchanging the parts of x is the conjugate of -ix, so that exchanging those of the result too
    gives it, without a change of signs.
    """

    def write(x: Complex) -> Complex:
        found = function(Complex(x.im, x.re))
        return Complex(found.im, found.re)

    return write


sin = mirrored(sinh)
tan = mirrored(tanh)


def cos(x: Complex) -> Complex:
    return cosh(Complex(-x.im, x.re))


# --- logarithms -------------------------------------------------------------------------------


#: Of each kind: how near to 1 the square of an absolute value gets its logarithm from a series.
_NEAR = {"f32": 2.0**-10, "f64": 2.0**-20}


def _log_size(re: Vec, im: Vec, rest: Vec | None = None) -> tuple[Vec, Vec]:
    """Return the logarithm of the absolute value of a number, and where it does not hold.

    The sum of the squares is kept with the errors of its roundings, since its logarithm may be
    near zero; ``log(s + r) = log(s) + r / s`` up to r squared. ``rest`` is what the real part is
    rounded by.
    """
    upper, lower, *lost = _squares(*_by_size(re, im))
    total, error = two_sum(upper, lower)
    error = error + (lost[0] + lost[1])
    if rest is not None:
        error = error + 2.0 * re * rest
    rare = _needs_scaling(Complex(re, im)) | ((total - 1.0).abs() < _NEAR[re.kind])
    return 0.5 * (exponential.log(total) + error / total), rare


def _by_size(re: Vec, im: Vec) -> tuple[Vec, Vec]:
    """Return the part of greater size, and the other."""
    swap = re.abs() < im.abs()
    return select(swap, im, re), select(swap, re, im)


def _squares(a: Vec, b: Vec) -> tuple[Vec, Vec, Vec, Vec]:
    """Return two squares, and what rounding each of them left."""
    (upper, upper_low), (lower, lower_low) = two_product(a, a), two_product(b, b)
    return upper, lower, upper_low, lower_low


def _log_of_near(*terms: Vec) -> Vec:
    """Return half of the logarithm of 1 and small terms, given by size: sum them exactly enough."""
    total, error = terms[0], terms[0].e.constant(terms[0].kind, 0.0)
    for term in terms[1:]:
        total, lost = two_sum(total, term)
        error = error + lost
    x = total + error
    series = x.fma(x.fma(-0.25, 1.0 / 3.0), -0.5)
    return 0.5 * (x * x).fma(series, x)


def _log_size_rare(re: Vec, im: Vec) -> Vec:
    """Return the logarithm of any absolute value."""
    kind = re.kind
    shift = {"f32": 90, "f64": 600}[kind]
    size = re.abs().greatest(im.abs())
    down = size >= 1.0
    scale = select(down, 2.0**-shift, re.e.constant(kind, 2.0**shift))
    undo = select(down, shift * LN2, re.e.constant(kind, -shift * LN2))
    found = _log_size(re * scale, im * scale)[0] + undo
    upper, lower, *lost = _squares(*_by_size(re, im))
    near = _log_of_near(re.e.constant(kind, -1.0), upper, lower, *lost)
    found = select((upper + lower - 1.0).abs() < _NEAR[kind], near, found)
    found = select(re.isnan() | im.isnan(), np.nan, found)
    found = select(re.eq(0.0) & im.eq(0.0), -np.inf, found)
    return select(re.abs().eq(np.inf) | im.abs().eq(np.inf), np.inf, found)


def _log1p_size_rare(re: Vec, im: Vec) -> Vec:
    """Return the logarithm of any absolute value of 1 and a number."""
    upper, lower, *lost = _squares(re, im)
    twice = re + re
    near = _log_of_near(twice, upper, lower, *lost)
    is_near = (twice + upper + lower).abs() < _NEAR[re.kind]
    return select(is_near, near, _log_size_rare(1.0 + re, im))


def log(x: Complex) -> Complex:
    size, rare = _log_size(x.re, x.im)
    size = x.e.patched(size, rare, lambda: x.e.call("complex.log", _log_size_rare, x.re, x.im))
    return Complex(size, atan2(x.im, x.re))


def log2(x: Complex) -> Complex:
    return _scaled(log(x), float(np.log2(np.e)))


def log10(x: Complex) -> Complex:
    return _scaled(log(x), float(np.log10(np.e)))


def log1p(x: Complex) -> Complex:
    """Return log(1 + x), exact for small x too, where NumPy loses the real part."""
    one = x.e.constant(x.kind, 1.0)
    re, rest = two_sum(one, x.re)
    size, rare = _log_size(re, x.im, rest)
    size = x.e.patched(size, rare, lambda: x.e.call("complex.log1p", _log1p_size_rare, x.re, x.im))
    return Complex(size, atan2(x.im, re))


# --- powers -----------------------------------------------------------------------------------


def _times(x: Complex, y: Complex) -> Complex:
    """Return the product with every step rounded, as NumPy's powers multiply."""
    return Complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


def _times_c99(x: Complex, y: Complex) -> Complex:
    """Return the product as C99's annex G has it: of an infinite number it is infinite."""
    product = _times(x, y)
    overflow = isinf(Complex(x.re * y.re, x.im * y.im)) | isinf(Complex(x.re * y.im, x.im * y.re))
    again = product.re.isnan() & product.im.isnan() & (isinf(x) | isinf(y) | overflow)

    def cleared(z: Complex) -> Complex:
        """Return the direction of an infinite number, others as they are, with zeros for NaN."""
        zero = z.e.constant(z.kind, 0.0)
        boxed = where(isinf(z), direction(z), z)
        return Complex(*[select(v.isnan(), zero.copysign(v), v) for v in vecs(boxed)])

    return where(again, _scaled(_times(cleared(x), cleared(y)), np.inf), product)


def power(x: Complex, y: Complex) -> Complex:
    """Return x to the power y: by products if y is whole and below 100, else exp(y log(x)).

    Examples
    --------
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(power, (complex, complex))([1j, 2, 0], [2, -1, 0.5])
    array([-1. +0.j,  0.5+0.j,  0. +0.j])
    """
    exponent = y.re.value
    known = y.im.value == 0 and exponent is not None and float(exponent).is_integer()
    if known and abs(exponent) < 100:
        return _known_power(x, int(exponent))
    return called("power", _power, x, y)


def _known_power(x: Complex, n: int) -> Complex:
    one = Complex(x.e.constant(x.kind, 1.0), x.e.constant(x.kind, 0.0)).spread_if(x.varying)
    if n == 0:
        return one
    found = reduce(_times, (x,) * n) if n in (1, 2, 3) else by_squaring(one, x, abs(n), _times)
    if n < 0:
        found = divide(one, found)
    return _of_zero(x, found, x.e.constant("b", n > 0))


def _of_zero(x: Complex, found: Complex, is_zero: Vec) -> Complex:
    """Return a power, but of the base 0 either 0 or NaN."""
    base = x.re.eq(0.0) & x.im.eq(0.0)
    result = select(is_zero, x.e.constant(x.kind, 0.0), np.nan)
    return where(base, Complex(result, result), found)


def _power(x: Complex, y: Complex) -> Complex:
    e, kind = x.e, x.kind
    one = Complex(e.constant(kind, 1.0), e.constant(kind, 0.0))
    general = exp(_times_c99(y, log(x)))
    # whole exponents below 100: square and multiply, NumPy's way
    real = y.im.eq(0.0)
    whole = real & (y.re.abs() < 100.0) & y.re.trunc().eq(y.re)
    steps = select(whole, y.re.abs(), 0.0).whole("i32")
    found, square = one, x
    for bit in range(7):
        if bit:
            square = _times(square, square)
        found = where((steps & (1 << bit)).ne(0), _times(found, square), found)
    for n in (1, 2, 3):  # without a first product by 1
        found = where(y.re.eq(float(n)), reduce(_times, (x,) * n), found)
    found = where(y.re < 0.0, divide(one, found), found)
    found = _of_zero(x, where(whole, found, general), y.re > 0.0)
    return where(real & y.re.eq(0.0), one, found)
