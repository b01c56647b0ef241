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

from collections.abc import Callable

import numpy as np

from lanewise.codegen.elementwise.calls import patched_pair
from lanewise.codegen.vector import BITS, Vec, is_float, is_signed, select

Rounding = Callable[[Vec], Vec]

#: Of each kind of float: bits of the mantissa that are stored, and the bias of the exponent.
_LAYOUT = {"f32": (23, 127), "f64": (52, 1023)}

#: 1.5 * 2**52, as which plus a small integer a float64 has that integer in its low bits.
_MAGIC = 1.5 * 2.0**52
_MAGIC_BITS = int(np.float64(_MAGIC).view(np.int64))


def divided(a: Vec, b: Vec) -> Vec:
    """Return ``a / b``, rounded correctly whatever the emitter's flags allow."""
    type_ = a.e.type(a.kind, a.varying or b.varying)
    return a.e.map(a.kind, (a, b), lambda x, y: f"fdiv {type_} {x}, {y}")


# --- integers ---------------------------------------------------------------------------------


def floor_divide_int(a: Vec, b: Vec) -> Vec:
    """Return ``a // b`` of integers, rounded down.

    Examples
    --------
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(floor_divide_int, (int, int))([7, -7, 7, -7, 1], [2, 2, -2, -2, 0])
    array([ 3, -4, -4,  3,  0])
    """
    return _floor(a, b) if _may_be_zero(b) else _floor_constant(a, b)


def remainder_int(a: Vec, b: Vec) -> Vec:
    """Return ``a % b`` of integers: it has the sign of `b`."""
    if not _may_be_zero(b):
        power = _power_of_two(b)
        return a & ((1 << power) - 1) if power is not None else a - _floor_constant(a, b) * b
    return select(b.eq(0), 0, a - _floor(a, b) * b)


def divmod_int(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return ``a // b`` and ``a % b`` of integers."""
    if not _may_be_zero(b):
        return floor_divide_int(a, b), remainder_int(a, b)
    floor = _floor(a, b)
    return floor, select(b.eq(0), 0, a - floor * b)


def fmod_int(a: Vec, b: Vec) -> Vec:
    """Return what C's division leaves of integers: it has the sign of `a`."""
    if not _may_be_zero(b):
        return a.rest(b) if b.value not in (1, -1) else a & 0
    return select(b.eq(0), 0, a - _integer(a, b, "trunc") * b)


def truncated_int(a: Vec, b: Vec) -> Vec:
    """Return C's quotient of integers, towards zero; 0 where `b` is 0."""
    return _integer(a, b, "trunc")


def _may_be_zero(b: Vec) -> bool:
    """Return whether a divisor is to be taken as any number: all but constants other than 0.

    Division by 64-bit constants is left to floats too: processors do not multiply 64 bits by 64 in
    vectors so that the upper ones are kept, which LLVM would need.
    """
    if b.value is None or b.value == 0:
        return True
    return BITS[b.kind] == 64 and _power_of_two(b) is None and abs(b.value) != 1


def _power_of_two(b: Vec) -> int | None:
    value = b.value
    if value is None or value < 1 or int(value) & (int(value) - 1):
        return None
    return int(value).bit_length() - 1


def _floor_constant(a: Vec, b: Vec) -> Vec:
    """Return ``a // b`` for a constant, not zero: LLVM multiplies and shifts."""
    power = _power_of_two(b)
    if power is not None:
        return a >> power
    if b.value == -1:
        return -a
    quotient = a.quotient(b)
    if not is_signed(a.kind):
        return quotient
    rest = a - quotient * b
    return quotient - (rest.ne(0) & ((rest ^ b) < 0)).to(a.kind)


def _floor(a: Vec, b: Vec) -> Vec:
    return _integer(a, b, "floor")


def _integer(a: Vec, b: Vec, rounding: str) -> Vec:
    """Return a quotient of integers, rounded down or towards zero; 0 where `b` is 0."""
    kind, e = a.kind, a.e
    bits = BITS[kind]
    if not (a.varying or b.varying):
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
    usual = (quotient + _magic(a)).bits() - _MAGIC_BITS

    def one_by_one() -> Vec:
        return e.call(f"quotient.{rounding}", lambda x, y: _by_integers(x, y, rounding), a, b)

    return e.patched(usual.as_kind(kind), large, one_by_one)


def _magic(a: Vec) -> Vec:
    return a.e.constant("f64", _MAGIC)


def _small_to_float(a: Vec) -> Vec:
    """Return an integer of magnitude below 2**51 as a float64: two quick instructions anywhere."""
    return (a.as_kind("i64") + _MAGIC_BITS).as_kind("f64") - _magic(a)


def _by_floats(a: Vec, b: Vec, rounding: str) -> Vec:
    """Return the quotient of whole numbers with few enough bits; 0 where `b` is 0."""
    quotient = divided(a, b)
    quotient = quotient.floor() if rounding == "floor" else quotient.trunc()
    if b.value:
        return quotient
    return select(b.eq(0.0), 0.0, quotient)


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
    (quotient, _), rare = _floored(a, b)
    return a.e.patched(quotient, rare, lambda: a.e.called("divmod", _divmod_rare, a, b)[0])


def remainder(a: Vec, b: Vec) -> Vec:
    """Return ``a % b`` of floats: it has the sign of `b`."""
    (_, rest), rare = _floored(a, b)
    return a.e.patched(rest, rare, lambda: a.e.called("divmod", _divmod_rare, a, b)[1])


def divmod_(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return ``a // b`` and ``a % b`` of floats."""
    found, rare = _floored(a, b)
    return patched_pair(found, rare, lambda: a.e.called("divmod", _divmod_rare, a, b))


def _floored(a: Vec, b: Vec) -> tuple[tuple[Vec, Vec], Vec]:
    """Return quotient and remainder, and where they do not hold."""
    assert is_float(a.kind)
    quotient = divided(a, b).floor()
    rest = (-quotient).fma(b, a)
    # The quotient may have been rounded up to a whole number: then the rest is not of b's sign.
    wrong = rest.ne(0.0) & ((rest.bits() ^ b.bits()) < 0)
    quotient = select(wrong, quotient - 1.0, quotient)
    rest = select(wrong, rest + b, rest)
    rest = select(rest.eq(0.0), a.e.constant(a.kind, 0.0).copysign(b), rest)
    # NumPy's formula gives the exact quotient as long as its roundings stay below a half.
    limit = 2.0 ** (_LAYOUT[a.kind][0] - 2)
    return (quotient, rest), ~((quotient.abs() < limit) & (b.abs() < np.inf))


def _divmod_rare(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return quotient and remainder by NumPy's own steps, which round large quotients."""
    e, kind = a.e, a.kind
    zero = e.constant(kind, 0.0)
    rest = _fmod_rare(a, b)
    quotient = divided(a - rest, b)
    other_side = rest.ne(0.0) & ((b < 0.0) ^ (rest < 0.0))
    adjusted = select(other_side, rest + b, rest)
    quotient = select(other_side, quotient - 1.0, quotient)
    adjusted = select(rest.eq(0.0), zero.copysign(b), adjusted)
    floor = quotient.floor()
    floor = select(quotient - floor > 0.5, floor + 1.0, floor)
    floor = select(quotient.eq(0.0), zero.copysign(divided(a, b)), floor)
    by_zero = b.eq(0.0)
    return select(by_zero, divided(a, b), floor), select(by_zero, rest, adjusted)


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
    quotient = divided(x, y).trunc()
    rest = (-quotient).fma(y, x)
    rest = select(rest < 0.0, rest + y, rest)
    usual = (quotient < 2.0 ** (_LAYOUT[a.kind][0] + 1)) & (y < np.inf)
    return e.patched(rest.copysign(a), ~usual, lambda: e.call("fmod", _fmod_rare, a, b))


def _fmod_rare(a: Vec, b: Vec) -> Vec:
    """Return ``fmod`` of any floats, by a division with as many digits a turn as floats hold.

    ``r - n t`` with ``t = b 2**k`` and n a whole number of at most p - 1 bits is exact, and leaves
    less than t. The exponents k are at most 2046 (of float32 254), twice that of a normal number.
    """
    e, kind = a.e, a.kind
    x, y = a.abs(), b.abs()
    invalid = a.isnan() | b.isnan() | x.eq(np.inf) | y.eq(0.0)
    digits = _LAYOUT[kind][0] - 1
    varying = a.varying or b.varying
    rest = e.slot(kind, varying)
    rest.set(select(invalid, 0.0, x))
    y = select(invalid, 1.0, y)  # ends the loop
    exponent_of_y = _exponent(y)

    def turn() -> None:
        r = rest.get()
        shift = (_exponent(r) - exponent_of_y - digits).greatest(0)
        half = shift >> 1
        t = y * _two_to(half, kind) * _two_to(shift - half, kind)
        left = (-divided(r, t).trunc()).fma(t, r)
        left = select(left < 0.0, left + t, left)
        rest.set(select(r >= y, left, r))

    e.repeat(lambda: rest.get() >= y, turn)
    return select(invalid, np.nan, rest.get().copysign(a))


def _exponent(x: Vec) -> Vec:
    """Return the exponent of a positive float, subnormal ones included."""
    stored, bias = _LAYOUT[x.kind]
    up = 2 * stored
    small = x < 2.0 ** (2 - bias + stored)
    bits = select(small, x * 2.0**up, x).bits()
    return (bits >> stored) - bias - select(small, x.e.constant(bits.kind, up), 0)


def _two_to(n: Vec, kind: str) -> Vec:
    """Return 2**n, a normal number."""
    stored, bias = _LAYOUT[kind]
    return ((n + bias) << stored).as_kind(kind)
