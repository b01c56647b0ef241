"""What NumPy's ufuncs do with integers, beyond an instruction and beyond division."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from lanewise.codegen.elementwise.division import quotient_int
from lanewise.codegen.numbers import Number
from lanewise.codegen.vector import BITS, Vec, is_signed, select


def unsigned(x: Vec) -> Vec:
    """Return the same bits as an unsigned integer."""
    return x.as_kind(f"u{BITS[x.kind]}")


def trailing_zeros(x: Vec) -> Vec:
    """Return how many of the lowest bits are zero; all of them for 0."""
    return x.e.intrinsic("ctpop", ~x & (x - 1))


def bitwise_count(x: Vec) -> Vec:
    """Return the number of ones in the absolute value, as ``uint8``."""
    return x.e.intrinsic("ctpop", unsigned(x.abs())).to("u8")


def sign(x: Vec) -> Vec:
    """Return -1, 0 or 1."""
    if not is_signed(x.kind):
        return x.ne(0).to(x.kind)
    return (x > 0).to(x.kind) - (x < 0).to(x.kind)


def reciprocal(x: Vec) -> Vec:
    """Return 1 / x towards zero; for 0 what C's cast gives of infinity."""
    bits = BITS[x.kind]
    of_zero = -(2 ** (bits - 1)) if is_signed(x.kind) and bits >= 32 else 0
    whole = unsigned(x + 1) <= 2 if is_signed(x.kind) else x <= 1
    return select(x.eq(0), of_zero, select(whole, x, 0))


def left_shift(x: Vec, n: Vec) -> Vec:
    """Return x shifted left; 0 if by more bits than there are, or by a negative number."""
    bits = BITS[x.kind]
    if n.value is not None:
        return x << n if 0 <= n.value < bits else x & 0
    return select(unsigned(n) < bits, x << (n & (bits - 1)), 0)


def right_shift(x: Vec, n: Vec) -> Vec:
    """Return x shifted right; all sign if by more bits than there are, or by a negative number."""
    bits = BITS[x.kind]
    if n.value is not None:
        if 0 <= n.value < bits:
            return x >> n
        return x >> (bits - 1) if is_signed(x.kind) else x & 0
    if is_signed(x.kind):
        return x >> unsigned(n).least(bits - 1).as_kind(x.kind)
    return select(n < bits, x >> (n & (bits - 1)), 0)


def power(x: Vec, n: Vec, fail: Callable[[Vec], None] | None = None) -> Vec:
    """Return x to the power n, wrapped around; a negative power fails."""
    if n.value is not None and n.value >= 0:
        one = x.e.constant(x.kind, 1).spread_if(x.varying)
        return by_squaring(one, x, int(n.value), operator.mul)
    if is_signed(n.kind):
        assert fail is not None, "who lets integers be raised to a power must be told of failures"
        fail(n < 0)
    return x.e.call("power", raised, x, n)


def by_squaring(one: Number, x: Number, n: int, times: Callable[..., Number]) -> Any:
    """Return ``one * x**n``, a product for each bit of n that is set, and for each but the last."""
    found, square = one, x
    while n:
        found = times(found, square) if n & 1 else found
        n >>= 1
        square = times(square, square) if n else square
    return found


def raised(x: Vec, n: Vec, times: Callable[[Vec, Vec], Vec] = operator.mul) -> Vec:
    """Square and multiply, a bit of the exponent each turn."""
    e, kind, varying = x.e, x.kind, x.varying or n.varying
    left = e.slot(f"u{BITS[kind]}", varying, unsigned(n))
    square, result = e.slot(kind, varying, x), e.slot(kind, varying, e.constant(kind, 1))

    def turn() -> None:
        bits, factor, product = left.get(), square.get(), result.get()
        result.set(select((bits & 1).ne(0), times(product, factor), product))
        square.set(times(factor, factor))
        left.set(bits >> 1)

    e.repeat(lambda: left.get().ne(0), turn)
    return result.get()


def gcd(x: Vec, y: Vec) -> Vec:
    """Return the greatest common divisor of the absolute values.

    Examples
    --------
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(gcd, (int, int))([12, -12, 0, 7], [18, 18, 5, 0])
    array([6, 6, 5, 7])
    """
    kind = x.kind
    wide = "u64" if BITS[kind] == 64 else "u32"
    a, b = (unsigned(v.abs()).to(wide) for v in (x, y))
    return x.e.call("gcd", _gcd, a, b).to(kind)


def lcm(x: Vec, y: Vec) -> Vec:
    """Return the least common multiple of the absolute values, wrapped around; 0 if one is 0."""
    a, b = (unsigned(v.abs()) for v in (x, y))
    return (quotient_int(a, gcd(a, b), "trunc") * b).as_kind(x.kind)


def _gcd(x: Vec, y: Vec) -> Vec:
    """Binary algorithm (Stein 1967): odd numbers are subtracted, twos are dropped."""
    e, kind, varying = x.e, x.kind, x.varying or y.varying
    twos = trailing_zeros(x | y)
    some = x.ne(0)
    u = e.slot(kind, varying, _odd(x))
    v = e.slot(kind, varying, select(some, _odd(y), 0))  # ends the loop: the result is y

    def turn() -> None:
        a, b = u.get(), v.get()
        least = a.least(b)
        u.set(select(b.ne(0), least, a))
        v.set(_odd(select(b.ne(0), a.greatest(b) - least, 0)))

    e.repeat(lambda: v.get().ne(0), turn)
    found = u.get() << (twos & (BITS[kind] - 1))
    return select(some, found, y)


def _odd(x: Vec) -> Vec:
    """Return x without its factors of two; 0 of 0."""
    return x >> (trailing_zeros(x) & (BITS[x.kind] - 1))
