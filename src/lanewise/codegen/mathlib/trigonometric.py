"""Sine, cosine, tangent and their inverses.

**Reduction.** An argument is taken modulo pi/2 as W. J. Cody and W. Waite do (Software Manual for
the Elementary Functions, 1980), in three steps by fused multiplications. pi/2 is the sum of A, of
53 bits, B, of 29 bits, and C. With n the nearest integer to x / (pi/2), ``x - n A`` is exact, as
its bits end where those of A do; ``n B`` is exact for n below 2**23; so the rest is had as the sum
of two floats, good to 2**-54 of its value. Larger arguments are few, and are reduced one by one by
the method of M. Payne and R. Hanek (Radian reduction for trigonometric functions, SIGNUM 18, 1983),
with as many bits of 2/pi as the largest float64 needs.

**Polynomials** are minimax ones, by `tests/support/minimax.py`: of degree 13 and 14 for the sine
and cosine up to pi/4, for the arctangent up to 1, and for the arcsine up to 1/2. Single precision
is computed in double precision, with shorter polynomials; so its results are nearly always the
nearest float32.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.codegen.emitter import Emitter
from lanewise.codegen.mathlib.arithmetic import SHIFT, fast_two_sum, horner, in_pairs, of_kinds
from lanewise.codegen.vector import Vec, select

# pi/2 = _A + _B + _C, and 2/pi.
_A, _B, _C = 1.5707963267948966, 6.12323399409214e-17, 1.6446256936324258e-26
_INVERSE = 0.6366197723675814
#: Low bits of pi/2 in double precision, with all of their digits.
_A_LOW = 6.123233995736766e-17
#: Up to here the reduction in three steps is exact, by the kind that the argument had.
_LIMIT = {"f64": 2.0**23, "f32": 2.0**30}
_SIGN = -(2**63)

# (sin(r) - r) / r**3 and (cos(r) - 1) / r**2, in powers of r**2.
_SINE = of_kinds(
    (-0.1666666666666663, -0.16666666640221714),
    (0.008333333333321861, 0.00833332924503136),
    (-0.00019841269829383383, -0.0001983929429947412),
    (2.7557313548921914e-06, 2.7179576699823627e-06),
    (-2.5050736215525468e-08,),
    (1.589554782833476e-10,),
)
_COSINE = of_kinds(
    (-0.5, -0.5),
    (0.041666666666666595, 0.04166666662150186),
    (-0.0013888888888873405, -0.0013888883647575063),
    (2.4801587289058705e-05, 2.4799493485384214e-05),
    (-2.7557314235026055e-07, -2.720812800903959e-07),
    (2.0875707804652095e-09,),
    (-1.135886439870976e-11,),
)
# (atan(t) - t) / t**3 and (asin(t) - t) / t**3, in powers of t**2.
_ARCTANGENT = of_kinds(
    (-0.33333333333333065, -0.33333326834233207),
    (0.19999999999950577, 0.19999666796676974),
    (-0.14285714282512524, -0.14279762574117316),
    (0.11111111004990766, 0.11057704633166254),
    (-0.09090906964949846, -0.08808998591859349),
    (0.07692279380731679, 0.06736586393262443),
    (-0.06666400236951889, -0.044616769522827775),
    (0.0588050480009496, 0.022475896419630964),
    (-0.05253415237069889, -0.007287189019382249),
    (0.04721969423626676, 0.0011075275956896663),
    (-0.04218250442345255,),
    (0.03662293927521406,),
    (-0.02987371241715949,),
    (0.021947745412301052,),
    (-0.01386554840611486,),
    (0.007171673604000704,),
    (-0.0028721174761789764,),
    (0.0008267945961878538,),
    (-0.00015117892771178808,),
    (1.3126614587864917e-05,),
)
_ARCSINE = of_kinds(
    (0.16666666666665414, 0.16666659949469412),
    (0.07500000000335143, 0.07500504857069673),
    (0.04464285683016412, 0.04451700741846065),
    (0.030381959053496332, 0.031806386905734264),
    (0.022371760178033596, 0.014445776500127737),
    (0.017359671413768554, 0.03750439990132825),
    (0.013885572802410526,),
    (0.012166966376046843,),
    (0.006537749640244985,),
    (0.019501475010961777,),
    (-0.016182300227408967,),
    (0.03188364787800852,),
)


def sin(x: Vec) -> Vec:
    """Return the sine, within 1 ULP.

    >>> import numpy as np
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(sin, (float,))(np.array([0.0, 0.5, 1e22]))
    array([ 0.        ,  0.47942554, -0.85220085])
    """
    return _signed(_periodic(x, "sine", _turned, 0), x.to("f64").bits()).to(x.kind)


def cos(x: Vec) -> Vec:
    """Return the cosine, within 1 ULP."""
    return _periodic(x, "sine", _turned, 1).to(x.kind)


def tan(x: Vec) -> Vec:
    """Return the tangent, within 1.25 ULP (1 ULP in single precision)."""
    return _signed(_periodic(x, "tangent", _tangent), x.to("f64").bits()).to(x.kind)


def sincos(x: Vec) -> tuple[Vec, Vec]:
    """Return sine and cosine; LLVM finds out that they share the reduction."""
    return sin(x), cos(x)


#: The number of the quadrant (its last two bits count), and the rest as a sum of two floats.
_Reduced = tuple[Vec, Vec, Vec | None]


def _periodic(x: Vec, name: str, function: Callable[..., Vec], *numbers: int) -> Vec:
    """Return a function of the size of x: of that reduced, its kind, and the numbers.

    What is too large for three steps goes to code out of line.
    """
    e, kind, size = x.e, x.kind, x.to("f64").abs()
    far = x.abs() > _LIMIT[kind]
    usual = function(_reduced(size, kind), kind, *numbers)

    def huge(size: Vec, *numbers: Vec) -> Vec:
        return function(_payne_hanek(size), "f64", *numbers)

    given = [e.constant("i64", number) for number in numbers]
    return e.patched(usual, far, lambda: e.call_each(f"{name}.huge", huge, far, size, *given))


def _turned(reduced: _Reduced, kind: str, turn: Vec | int) -> Vec:
    """Return the sine of what was reduced, and `turn` quadrants more."""
    n, high, low = reduced
    sine, cosine = sine_cosine(high, low, kind)
    n = n + turn
    return _signed(select((n & 1).ne(0), cosine, sine), n << 62)


def _reduced(x: Vec, kind: str) -> _Reduced:
    """Reduce ``0 <= x <= _LIMIT[kind]`` by three steps; what comes of NaN is NaN."""
    shift = SHIFT["f64"]
    shifted = x.fma(_INVERSE, shift)
    n = shifted - shift
    first = n.fma(-_A, x)
    high = n.fma(-_B, first)
    if kind == "f32":  # no float32 is so near to a multiple that one float64 would not do
        return shifted.bits(), n.fma(-_C, high), None
    low = n.fma(-_C, n.fma(-_B, first - high))
    return shifted.bits(), high, low


def _payne_hanek(x: Vec) -> _Reduced:
    """Reduce a uniform ``x >= 2**22``; infinity and NaN give NaN.

    x is an integer m times ``2**s``. 192 bits of 2/pi are enough: those above are multiples of 4
    when multiplied by ``m 2**s``, and those below add less than ``2**-137``, where the rest is
    never less than ``2**-62``.
    """
    e = x.e
    bits = x.bits()
    m = ((bits & (2**52 - 1)) | 2**52).as_kind("u64")
    at = ((bits >> 52) & 2047) - 1075 + 62  # of the window's first bit in the table
    index, shift = at >> 6, (at & 63).as_kind("u64")
    words = [_two_over_pi(e, index + i) for i in range(4)]
    top, middle, bottom = [e.intrinsic("fshl", words[i], words[i + 1], shift) for i in range(3)]
    # m * window modulo 2**192, of which the upper 128 bits count.
    carried = _high_product(m, bottom)
    low = m * middle + carried
    carry = select(low < carried, e.constant("u64", 1), 0)
    high = m * top + _high_product(m, middle) + carry
    # Bit 126 counts quadrants; the rest goes from -1/2 to 1/2 of one.
    quadrant = (high + 2**61) >> 62
    rest = (high - (quadrant << 62)).as_kind("i64")
    negative = rest >> 63
    rest, low = (rest ^ negative).as_kind("u64"), low ^ negative.as_kind("u64")
    # Three pieces of 42 bits, which are floats; their sum as one of two.
    pieces = rest >> 20, ((rest & (2**20 - 1)) << 22) | (low >> 42), low & (2**42 - 1)
    first, second, third = [
        piece.as_kind("i64").to("f64") * 2.0**-power
        for piece, power in zip(pieces, (42, 84, 126), strict=True)
    ]
    first, second = fast_two_sum(first, second)
    second = second + third
    sign = select(negative.eq(0), e.constant("f64", 1.0), -1.0)
    sign = select(x < float("inf"), sign, float("nan"))
    angle = first * _A
    rest_of_it = first.fma(_A, -angle) + first.fma(_A_LOW, second * _A)
    return quadrant.as_kind("i64"), angle * sign, rest_of_it * sign


def _high_product(a: Vec, b: Vec) -> Vec:
    """Return the upper half of the product of two uniform 64-bit numbers."""
    e = a.e
    wide = [e.write(f"zext i64 {x.parts[0]} to i128") for x in (a, b)]
    product = e.write(f"mul i128 {wide[0]}, {wide[1]}")
    upper = e.write(f"lshr i128 {product}, 64")
    return e.uniform("u64", e.write(f"trunc i128 {upper} to i64"))


#: 2/pi after the binary point, 64 bits an entry; one entry of zeros stands before them.
_TABLE = (
    *(0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041),
    *(0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E),
    *(0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B),
    *(0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D),
    *(0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB),
    *(0xF0CFBC209AF4361D, 0xA9E391615EE61B08),
)


def _two_over_pi(e: Emitter, index: Vec) -> Vec:
    """Return an entry of the table."""
    name, type_ = "lw.two_over_pi", f"[{len(_TABLE)} x i64]"
    words = ", ".join([f"i64 {word}" for word in _TABLE])
    e.module.declarations[name] = f"@{name} = internal unnamed_addr constant {type_} [{words}]"
    place = e.write(f"getelementptr {type_}, ptr @{name}, i64 0, i64 {index.parts[0]}")
    return e.uniform("u64", e.write(f"load i64, ptr {place}"))


def sine_cosine(r: Vec, low: Vec | None, kind: str) -> tuple[Vec, Vec]:
    """Return sine and cosine of ``r + low``, up to pi/4."""
    square, cube, sine, cosine = _series(r, low, kind)
    sine = cube.fma(sine, r) if low is None else r + cube.fma(sine, low)
    return sine, square.fma(cosine, 1.0)


def _series(r: Vec, low: Vec | None, kind: str) -> tuple[Vec, Vec, Vec, Vec]:
    """Return the square and the cube of ``r + low``, and the polynomials they are multiplied by.

    Only the square that the cosine is 1 less a part of must be the nearest float; all else has the
    square of r, which is there long before `low` is.
    """
    z = r * r
    fourth = z * z
    sine, cosine = in_pairs(z, _SINE[kind], fourth), in_pairs(z, _COSINE[kind], fourth)
    return z if low is None else r.fma(r, (r + r) * low), r * z, sine, cosine


def _tangent(reduced: _Reduced, kind: str) -> Vec:
    """Return the tangent of what was reduced: in odd quadrants minus the cotangent of the rest."""
    n, r, low = reduced
    odd = (n & 1).ne(0)
    sine, cosine = sine_cosine(r, low, kind)
    above, below = select(odd, cosine, sine), select(odd, sine, cosine)
    if low is None:
        return _signed(above / below, n << 63)
    # What rounding the sine, the cosine and their quotient left.
    square, cube, sine_factor, cosine_factor = _series(r, low, kind)
    sine_low = cube.fma(sine_factor, low) - (sine - r)
    cosine_low = square.fma(cosine_factor, 1.0 - cosine)
    above_low = select(odd, cosine_low, sine_low)
    below_low = select(odd, sine_low, cosine_low)
    inverse = 1.0 / below
    value = above * inverse
    lost = value.fma(-below, above) + value.fma(-below_low, above_low)
    return _signed(lost.fma(inverse, value), n << 63)


def _signed(value: Vec, sign: Vec) -> Vec:
    """Return a value with the sign flipped where the first bit of `sign` is set."""
    return (value.bits() ^ (sign & _SIGN)).as_kind("f64")


# --- inverses -------------------------------------------------------------------------------------


def atan(x: Vec) -> Vec:
    """Return the arctangent, within 2 ULP (1 ULP in single precision)."""
    size = x.to("f64").abs()
    large = size > 1.0
    t = select(large, 1.0 / size, size)
    return _arctangent(t, large, None, x.kind).copysign(x.to("f64")).to(x.kind)


def atan2(y: Vec, x: Vec) -> Vec:
    """Return the angle of a point, from -pi to pi, within 2 ULP (1 ULP in single precision).

    The signs of zeros tell the quadrant, and infinities are points on diagonals, as in C99.
    """
    kind = y.kind
    y, x = y.to("f64"), x.to("f64")
    rise, run = y.abs(), x.abs()
    steep = rise > run
    above, below = select(steep, run, rise), select(steep, rise, run)
    t = above / below
    t = select(above.eq(below), select(below.eq(0.0), below, 1.0), t)  # 0/0 and inf/inf
    angle = _arctangent(t, steep, x.bits() < 0, kind)
    return angle.copysign(y).to(kind)


def _arctangent(t: Vec, large: Vec, left: Vec | None, kind: str) -> Vec:
    """Return the arctangent of ``0 <= t <= 1``, or of 1/t; or pi minus it, where `left` holds."""
    z = t * t
    cube = (t * z) * horner(z, _ARCTANGENT[kind])
    if left is None:
        return select(large, _A - (t - _A_LOW + cube), t + cube)
    # One of 0 + a, pi/2 - a, pi/2 + a, pi - a.
    base = select(large, _A, select(left, 2.0 * _A, 0.0 * t))
    rest = select(large, _A_LOW, select(left, 2.0 * _A_LOW, 0.0 * t))
    minus = large ^ left
    t, cube = select(minus, -t, t), select(minus, -cube, cube)
    return base + (t + (cube + rest))


def asin(x: Vec) -> Vec:
    """Return the arcsine, within 1.5 ULP (1 ULP in single precision)."""
    wide = x.to("f64")
    size, large, root, low, cube = _arcsine_parts(wide, x.kind)
    far = _A - (2.0 * root - (_A_LOW - 2.0 * (cube + low)))
    return select(large, far, size + cube).copysign(wide).to(x.kind)


def acos(x: Vec) -> Vec:
    """Return the arccosine, within 1.5 ULP (1 ULP in single precision)."""
    wide = x.to("f64")
    _, large, root, low, cube = _arcsine_parts(wide, x.kind)
    near = _A - (wide - (_A_LOW - cube.copysign(wide)))
    right = 2.0 * (root + (cube + low))
    left = 2.0 * _A - (2.0 * root - (2.0 * _A_LOW - 2.0 * (cube + low)))
    return select(large, select(wide > 0.0, right, left), near).to(x.kind)


def _arcsine_parts(x: Vec, kind: str) -> tuple[Vec, Vec, Vec, Vec, Vec]:
    """Return |x|, where it is above 1/2, a root r with what it lost, and ``asin(t) - t``.

    t is ``|x|``, or above 1/2 the root of ``(1 - |x|) / 2``, as ``asin(|x|) = pi/2 - 2 asin(r)``.
    """
    size = x.abs()
    large = size > 0.5
    half = size.fma(-0.5, 0.5)
    root = half.sqrt()
    t, z = select(large, root, size), select(large, half, size * size)
    cube = (t * z) * horner(z, _ARCSINE[kind])
    low = x.e.constant("f64", 0.0)
    if kind == "f64":
        low = select(root > 0.0, root.fma(-root, half) / (root + root), 0.0)
    return size, large, root, low, cube
