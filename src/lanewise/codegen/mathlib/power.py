"""Powers and roots: pow, cbrt, hypot, and sums in the logarithmic domain.

A power is ``2**(y log2 x)``, with the logarithm to 65 bits in two floats, since the exponent
multiplies its error by up to 1075 (J.-M. Muller, Handbook of Floating-Point Arithmetic, chapter
10); that of float32 is done in float64. The special values are those of C99, annex F, and NumPy:
they, and negative bases, are put in if a lane needs them; nothing else branches.

>>> import numpy as np
>>> from support.driver import compile_elementwise
>>> compile_elementwise(cbrt, (np.float64,))(np.array([8.0, -27.0]))
array([ 2., -3.])
"""

from __future__ import annotations

from lanewise.codegen.mathlib.arithmetic import (
    BIAS,
    MANTISSA,
    estrin,
    fast_two_sum,
    mantissa_exponent,
    nearest,
    of_kinds,
    power_of_two,
    side_by_side,
    two_product,
)
from lanewise.codegen.mathlib.exponential import (
    LOG2_E,
    clamp,
    exp,
    exp2,
    exp2_of_sum,
    log1p,
    powers_of_quotient,
)
from lanewise.codegen.vector import BITS, Vec, select

_INFINITY = float("inf")

#: 2 / ln 2 and 2 / (3 ln 2), with what the floats leave out.
_FIRST = (2.8853900817779268, 4.0710547481862066e-17)
_THIRD = (0.9617966939259756, 5.0577616648125907e-17)
#: The series of 2 atanh(s) / ln 2 from s**5 on, in s**2: 2**-70.2 of the whole.
_FIFTH = (
    0.5770780163555853,
    0.41219858311122837,
    0.320598897936975,
    0.2623081960825232,
    0.22195242545411517,
    0.19239598400877014,
    0.1685495047618137,
    0.17207281790040338,
)
#: For float32: log2(1 + f) / f between sqrt(1/2) and sqrt(2), 2**-37.9; and (2**r - 1) / r for
#: abs(r) < 1/2, 2**-29.0 of 2**r.
_LOG2_SHORT, _EXP2_SHORT = side_by_side(
    (1.442695040887059, 0.6931472062386692),
    (-0.7213475203108592, 0.24022651345394674),
    (0.48089834846121343, 0.055503278040570876),
    (-0.3606737968206304, 0.009618003853577589),
    (0.28853883683083614, 0.001340026650797765),
    (-0.24044622018463913, 0.0001547632311040081),
    (0.20610522969262104,),
    (-0.18044124533427333,),
    (0.16025750460089525,),
    (-0.1424720940494065,),
    (0.12985968355078023,),
    (-0.13443260553567768,),
    (0.13412519627897432,),
    (-0.07171451885237784,),
)
#: (1 + f)**(-1/3) between sqrt(1/2) and sqrt(2): 2**-17.4, and 2**-14.7 for float32.
_CBRT = of_kinds(
    (1.0000043666768321, 0.9999798604255846),
    (-0.33326690086376703, -0.332868035081873),
    (0.22155238617192624, 0.22413785615661141),
    (-0.17559592749834715, -0.18948366341453152),
    (0.1610335977697628, 0.13060527365550711),
    (-0.10998885624928001,),
)


# --- powers ---------------------------------------------------------------------------------------


def pow(x: Vec, y: Vec) -> Vec:
    """Return x**y: NaN for a negative x unless y is an integer; x**0 and 1**y are 1."""
    size = x.abs()
    usual = _power_f32(size, y) if x.kind == "f32" else _power_f64(size, y)
    plain = (x > 0.0) & (x < _INFINITY) & (y.abs() < _INFINITY)
    return x.e.patched(usual, ~plain, lambda: _special_power(x, y, usual))


def _special_power(x: Vec, y: Vec, usual: Vec) -> Vec:
    """Return x**y for all numbers, where `usual` is ``abs(x)**y`` if that is a plain power."""
    kind = x.kind
    size = x.abs()
    # 0, infinity, or a number to the infinite: infinite or 0, as the number is above 1 or below.
    extreme = size.eq(0.0) | size.eq(_INFINITY) | y.abs().eq(_INFINITY)
    end = select((size > 1.0) ^ (y < 0.0), _INFINITY, x.e.constant(kind, 0.0))
    result = select(extreme, end, usual)
    half = y * 0.5
    is_whole = y.trunc().eq(y)
    is_odd = is_whole & half.trunc().ne(half)
    word = f"i{BITS[kind]}"
    sign = select(is_odd, x.bits() & -(1 << (BITS[kind] - 1)), x.e.constant(word, 0))
    result = (result.bits() | sign).as_kind(kind)
    no_root = (x < 0.0) & (x > -_INFINITY) & ~is_whole
    result = select(no_root | x.isnan() | y.isnan(), float("nan"), result)
    is_one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & y.abs().eq(_INFINITY))
    return select(is_one, 1.0, result)


def _power_f32(size: Vec, y: Vec) -> Vec:
    """Return ``size**y`` for a positive finite size and a finite y."""
    x, y = size.to("f64"), y.to("f64")
    m, k = mantissa_exponent(x, subnormal=False)
    f = m - 1.0
    exponent = clamp(y * f.fma(estrin(f, _LOG2_SHORT), k), -200.0, 200.0)
    n = nearest(exponent, 1.0)
    r = exponent - n
    return (r.fma(estrin(r, _EXP2_SHORT), 1.0) * power_of_two(n)).to("f32")


def _power_f64(size: Vec, y: Vec) -> Vec:
    """Return ``size**y`` for a positive finite size and a finite y."""
    high, low = _log2_parts(size)
    exponent = y * high
    rest = y.fma(low, y.fma(high, -exponent))
    bounded = clamp(exponent, -1100.0, 1100.0)
    return exp2_of_sum(bounded, select(bounded.eq(exponent), rest, 0.0))


def _log2_parts(x: Vec) -> tuple[Vec, Vec]:
    """Return log2 of a positive finite float64 as two floats: about 2**-64 of it is lost."""
    k, (s, s_low), (z, z_low), (cube, cube_low) = powers_of_quotient(x)
    # log2 m = s FIRST + s**3 (THIRD + z FIFTH(z)), where FIFTH(z) is rounded once to its full size
    one = s * _FIRST[0]
    one_low = s.fma(_FIRST[1], s_low.fma(_FIRST[0], s.fma(_FIRST[0], -one)))
    three = cube * _THIRD[0]
    three_low = cube_low.fma(_THIRD[0], cube.fma(_THIRD[0], -three))
    fifth, *others = _FIFTH
    five = z.fma(z.fma(estrin(z, others), fifth), z_low.fma(fifth, _THIRD[1]))
    total, error = fast_two_sum(k, one)
    total, second = fast_two_sum(total, three)
    lows = cube_low.fma(five, (one_low + three_low) + (error + second))
    tail = cube.fma(five, lows)
    return fast_two_sum(total, tail)


# --- roots ----------------------------------------------------------------------------------------


def cbrt(x: Vec) -> Vec:
    """Return the cube root, of negative numbers too."""
    size = x.abs()
    m, k = mantissa_exponent(size)
    # k = 3 third + rest; the rest goes into the number: nothing irrational is left outside.
    third = (k * (1.0 / 3.0)).rint()
    rest = third.fma(-3.0, k)
    start = estrin(m - 1.0, _CBRT[x.kind])
    factor = select(
        rest > 0.0, 2.0 ** (-1 / 3), select(rest < 0.0, 2.0 ** (1 / 3), x.e.constant(x.kind, 1.0))
    )
    start = start * factor
    m = m * power_of_two(rest)
    # One step of third order for m**(-1/3), and one for the root itself with its exact residual.
    h = m.fma(-(start * start * start), 1.0)
    inverse = (start * h).fma(h.fma(2.0 / 9.0, 1.0 / 3.0), start)
    square = inverse * inverse
    root = m * square
    squared, squared_low = two_product(root, root)
    residual = root.fma(-squared_low, root.fma(-squared, m))
    root = residual.fma(square * (1.0 / 3.0), root)
    result = (root * power_of_two(third)).copysign(x)
    return select((size < _INFINITY) & x.ne(0.0), result, x)


def hypot(x: Vec, y: Vec) -> Vec:
    """Return sqrt(x**2 + y**2); no square overflows or vanishes. Infinite if one of them is."""
    x, y = x.abs(), y.abs()
    kind = x.kind
    first = x > y
    large, small = select(first, x, y), select(first, y, x)
    # The first two bits of the larger's exponent tell a power of two that takes it to 1/2 or more,
    # but not so far that its square overflows; what is lost by underflow then does not count.
    digits, bias = MANTISSA[kind], BIAS[kind]
    coarse = large.bits() & (3 << (BITS[kind] - 3))
    inverse = (((2 * bias - 1) << digits) - coarse).as_kind(kind)
    a, b = large * inverse, small * inverse
    # The sum of the squares, then what rounding it left: both differences are exact.
    square = a * a
    total = b.fma(b, square)
    left = b.fma(b, square - total) + a.fma(a, -square)
    result = (total + left).sqrt() * (coarse + (1 << digits)).as_kind(kind)
    either = x.eq(_INFINITY) | y.eq(_INFINITY)
    return select(either, _INFINITY, result)


# --- sums of logarithms ---------------------------------------------------------------------------


def logaddexp(x: Vec, y: Vec) -> Vec:
    """Return log(exp(x) + exp(y)), of which neither exponential overflows."""
    larger, distance = _apart(x, y)
    return larger + log1p(exp(-distance))


def logaddexp2(x: Vec, y: Vec) -> Vec:
    """Return log2(2**x + 2**y), of which neither power overflows."""
    larger, distance = _apart(x, y)
    return log1p(exp2(-distance)).fma(LOG2_E[x.kind][0], larger)


def _apart(x: Vec, y: Vec) -> tuple[Vec, Vec]:
    """Return the larger of two, NaN if one is NaN, and how far they are apart: 0 if equal."""
    larger = select(x > y, x, y)
    larger = select(x.isnan(), x, larger)
    return larger, select(x.eq(y), 0.0, (x - y).abs())
