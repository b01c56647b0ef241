"""Quotients and remainders, of integers and floats, as NumPy defines them.

Python's (and NumPy's) ``//`` rounds down, and ``%`` has the sign of the divisor; ``fmod`` truncates
as C does. Integers divided by zero give 0, and the least one by -1 wraps around to itself.

Processors have no vector division of integers. That of floats gives the same quotient: if both
numbers have at most p - 1 bits, where floats have p, the float nearest to ``a / b`` lies on the
same side of every integer as ``a / b``, which is no nearer to an integer n above it than ``1 / b``,
more than half a unit in the last place of n. So 8 and 16 bits divide as float32, 32 bits as
float64, and so do 64 bits when both numbers are below 2**51; else, rarely, lane after lane.

Of floats, ``a - n b`` with n next to ``a / b`` is a float, so that a fused multiplication and
addition gives it exactly. Where n has too many bits, a loop takes away some of them each turn.
"""

from __future__ import annotations

import numpy as np

from lanewise.codegen.mathlib.arithmetic import BIAS, MANTISSA, SHIFT, TINY, two_to
from lanewise.codegen.vector import BITS, Vec, is_float, is_signed, select

#: Added to a small integer, a float64 that has it in its low bits; and the bits of that.
_SHIFT = SHIFT["f64"]
_SHIFT_BITS = int(np.float64(_SHIFT).view(np.int64))


# --- integers ---------------------------------------------------------------------------------


def floor_divide_int(a: Vec, b: Vec) -> Vec:
    """Return ``a // b`` of integers, rounded down.

    Examples
    --------
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(floor_divide_int, (int, int))([7, -7, 7, -7, 1], [2, 2, -2, -2, 0])
    array([ 3, -4, -4,  3,  0])
    """
    power = _power_of_two(b)
    return a >> power if power is not None else quotient_int(a, b, "floor")


def remainder_int(a: Vec, b: Vec) -> Vec:
    """Return ``a % b`` of integers: it has the sign of `b`."""
    power = _power_of_two(b)
    return a & ((1 << power) - 1) if power is not None else divmod_int(a, b)[1]


def divmod_int(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return ``a // b`` and ``a % b`` of integers."""
    floor = floor_divide_int(a, b)
    return floor, _unless_zero(b, a - floor * b)


def fmod_int(a: Vec, b: Vec) -> Vec:
    """Return what C's division leaves of integers: it has the sign of `a`."""
    return _unless_zero(b, a - quotient_int(a, b, "trunc") * b)


def _unless_zero(b: Vec, result: Vec) -> Vec:
    """Return a result, but 0 where `b` is 0."""
    return result if b.value else select(b.eq(0), 0, result)


def _power_of_two(b: Vec) -> int | None:
    value = b.value
    if value is None or value < 1 or int(value) & (int(value) - 1):
        return None
    return int(value).bit_length() - 1


def quotient_int(a: Vec, b: Vec, rounding: str) -> Vec:
    """Return a quotient of integers, rounded down or towards zero; 0 where `b` is 0."""
    kind, e = a.kind, a.e
    bits = BITS[kind]
    # By constants LLVM multiplies and shifts. But processors do not multiply 64 bits by 64 in
    # vectors so that the upper ones are kept.
    easy = b.value == -1 or _power_of_two(b) is not None or (b.value and bits < 64)
    if easy or not (a.varying or b.varying):
        return _by_integers(a, b, rounding)
    if bits <= 16:
        return _by_floats(a.to("f32"), b.to("f32"), rounding).whole("i32").to(kind)
    if bits == 32:
        found = _by_floats(a.to("f64"), b.to("f64"), rounding)
        if is_signed(kind):  # the least number by -1 wraps around
            found = select(found.eq(2.0**31), -(2.0**31), found)
        return found.whole(kind)
    signed = is_signed(kind)
    a_bits, b_bits = a.as_kind("u64"), b.as_kind("u64")
    offset = 2**51 if signed else 0
    large = ((a_bits + offset) | (b_bits + offset)) >= (2**52 if signed else 2**51)
    quotient = _by_floats(_small_to_float(a), _small_to_float(b), rounding)
    usual = (quotient + _SHIFT).bits() - _SHIFT_BITS

    def one_by_one() -> Vec:
        return e.call(f"quotient.{rounding}", lambda x, y: _by_integers(x, y, rounding), a, b)

    return e.patched(usual.as_kind(kind), large, one_by_one)


def _small_to_float(a: Vec) -> Vec:
    """Return an integer of magnitude below 2**51 as a float64: two quick instructions anywhere."""
    return (a.as_kind("i64") + _SHIFT_BITS).as_kind("f64") - _SHIFT


def _by_floats(a: Vec, b: Vec, rounding: str) -> Vec:
    """Return the quotient of whole numbers with few enough bits; 0 where `b` is 0."""
    return _unless_zero(b, a.e.intrinsic(rounding, a / b))


def _by_integers(a: Vec, b: Vec, rounding: str) -> Vec:
    """Return the quotient by the instruction for it, lane by lane; 0 where `b` is 0."""
    zero = b.eq(0)
    if not is_signed(a.kind):
        return select(zero, 0, a.quotient(select(zero, 1, b)))
    backwards = b.eq(-1)  # the least number by -1 would be an exception of the processor
    quotient = select(backwards, -a, a.quotient(select(zero | backwards, 1, b)))
    if rounding == "floor":
        rest = a - quotient * b
        quotient = quotient - (rest.ne(0) & ((rest ^ b) < 0)).to(a.kind)
    return select(zero, 0, quotient)


# --- floats -----------------------------------------------------------------------------------


def floor_divide(a: Vec, b: Vec) -> Vec:
    """Return ``a // b`` of floats: a whole number."""
    return divmod_(a, b)[0]


def remainder(a: Vec, b: Vec) -> Vec:
    """Return ``a % b`` of floats: it has the sign of `b`."""
    return divmod_(a, b)[1]


def divmod_(a: Vec, b: Vec) -> tuple[Vec, ...]:
    """Return ``a // b`` and ``a % b`` of floats."""
    assert is_float(a.kind)
    quotient = (a / b).floor()
    rest = (-quotient).fma(b, a)
    # The quotient may have been rounded up to a whole number: then the rest is not of b's sign.
    wrong = rest.ne(0.0) & ((rest.bits() ^ b.bits()) < 0)
    quotient = select(wrong, quotient - 1.0, quotient)
    rest = select(wrong, rest + b, rest)
    rest = select(rest.eq(0.0), a.e.constant(a.kind, 0.0).copysign(b), rest)
    # NumPy's formula gives the exact quotient as long as its roundings stay below a half.
    usual = (quotient.abs() < 2.0 ** (MANTISSA[a.kind] - 2)) & (b.abs() < np.inf)
    found = quotient, rest
    return a.e.all_patched(found, ~usual, lambda: a.e.called("divmod", _divmod_rare, a, b))


def _divmod_rare(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return quotient and remainder by NumPy's own steps, which round large quotients."""
    e, kind = a.e, a.kind
    zero = e.constant(kind, 0.0)
    rest = _fmod_rare(a, b)
    quotient = (a - rest) / b
    other_side = rest.ne(0.0) & ((b < 0.0) ^ (rest < 0.0))
    adjusted = select(other_side, rest + b, rest)
    quotient = select(other_side, quotient - 1.0, quotient)
    adjusted = select(rest.eq(0.0), zero.copysign(b), adjusted)
    floor = quotient.floor()
    floor = select(quotient - floor > 0.5, floor + 1.0, floor)
    floor = select(quotient.eq(0.0), zero.copysign(a / b), floor)
    by_zero = b.eq(0.0)
    return select(by_zero, a / b, floor), select(by_zero, rest, adjusted)


def fmod(a: Vec, b: Vec) -> Vec:
    """Return C's ``fmod`` of floats: exact, with the sign of `a`.

    Examples
    --------
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(fmod, (float, float))([7.5, -7.5, 1e300], [2.0, 2.0, 7.0])
    array([ 1.5, -1.5,  1. ])
    """
    e = a.e
    x, y = a.abs(), b.abs()
    quotient = (x / y).trunc()
    rest = (-quotient).fma(y, x)
    rest = select(rest < 0.0, rest + y, rest)
    usual = (quotient < 2.0 ** (MANTISSA[a.kind] + 1)) & (y < np.inf)
    return e.patched(rest.copysign(a), ~usual, lambda: e.call("fmod", _fmod_rare, a, b))


def _fmod_rare(a: Vec, b: Vec) -> Vec:
    """Return ``fmod`` of any floats, by a division with as many digits a turn as floats hold.

    ``r - n t`` with ``t = b 2**k`` and n a whole number of at most p - 1 bits is exact, and leaves
    less than t. The exponents k are at most 2046 (of float32 254), twice that of a normal number.
    """
    e, kind = a.e, a.kind
    x, y = a.abs(), b.abs()
    invalid = a.isnan() | b.isnan() | x.eq(np.inf) | y.eq(0.0)
    digits = MANTISSA[kind] - 1
    rest = e.slot(kind, a.varying or b.varying, select(invalid, 0.0, x))
    y = select(invalid, 1.0, y)  # ends the loop
    exponent_of_y = _exponent(y)

    def turn() -> None:
        r = rest.get()
        shift = (_exponent(r) - exponent_of_y - digits).greatest(0)
        half = shift >> 1
        t = y * two_to(half, kind) * two_to(shift - half, kind)
        left = (-(r / t).trunc()).fma(t, r)
        left = select(left < 0.0, left + t, left)
        rest.set(select(r >= y, left, r))

    e.repeat(lambda: rest.get() >= y, turn)
    return select(invalid, np.nan, rest.get().copysign(a))


def _exponent(x: Vec) -> Vec:
    """Return the exponent of a positive float, subnormal ones included."""
    digits = MANTISSA[x.kind]
    subnormal = x < TINY[x.kind]
    bits = select(subnormal, x * 2.0**digits, x).bits()
    return (bits >> digits) - BIAS[x.kind] - select(subnormal, x.e.constant(bits.kind, digits), 0)
