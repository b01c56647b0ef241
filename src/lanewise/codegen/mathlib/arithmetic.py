"""What the mathematical functions are made of: polynomials, sums with their errors, powers of two.

Everything here is exact, or rounds as each instruction does; nothing branches.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.codegen.processor import machine
from lanewise.codegen.vector import BITS, Vec, select

#: Bits of the significand that are stored.
MANTISSA = {"f32": 23, "f64": 52}
#: The bits of 1.0: its exponent alone.
ONE = {"f32": 0x3F80_0000, "f64": 0x3FF0_0000_0000_0000}
#: The bias of exponents.
BIAS = {"f32": 127, "f64": 1023}
#: The least normal number.
TINY = {"f32": 2.0**-126, "f64": 2.0**-1022}
#: Added to a small number, it leaves the nearest integer in the low bits of the sum.
SHIFT = {"f32": 1.5 * 2.0**23, "f64": 1.5 * 2.0**52}
#: ln 2, and what its float leaves out.
LN2 = {
    "f32": (0.6931471824645996, -1.9046542121259336e-09),
    "f64": (0.6931471805599453, 2.3190468138462996e-17),
}


# --- polynomials ----------------------------------------------------------------------------------


def side_by_side(*rows: tuple[float, ...]) -> list[tuple[float, ...]]:
    """Return polynomials, given as columns of a table: a row for each degree, the longest first."""
    return [tuple([row[i] for row in rows if i < len(row)]) for i in range(len(rows[0]))]


def of_kinds(*rows: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """Return a polynomial of float64, and a shorter one of float32 beside it, by kind."""
    return dict(zip(("f64", "f32"), side_by_side(*rows), strict=True))


def horner(x: Vec, coefficients: Sequence[float]) -> Vec:
    """Return a polynomial; the constant term comes first. Few instructions, in one chain."""
    total = x.e.constant(x.kind, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = x.fma(total, coefficient)
    return total


def in_pairs(x: Vec, coefficients: Sequence[float], square: Vec | None = None) -> Vec:
    """Return a polynomial, the constant term first: `horner` in x**2, on pairs ``b + c x``.

    It is half as deep as in x, for the one multiplication that the square takes, and as exact: the
    constant term is added last.
    """
    first, *others = [x.e.constant(x.kind, c) for c in coefficients]
    pairs = [x.fma(high, low) for low, high in zip(others[::2], others[1::2], strict=False)]
    total = others[-1] if len(others) % 2 else pairs.pop()
    square = x * x if square is None else square
    for pair in reversed(pairs):
        total = square.fma(total, pair)
    return x.fma(total, first)


def estrin(x: Vec, coefficients: Sequence[float]) -> Vec:
    """Return a polynomial, the constant term first, by G. Estrin's scheme: pairs, pairs of those...

    It is a few multiplications more than `horner`, but a third as deep.
    """
    terms: list[Vec] = [x.e.constant(x.kind, c) for c in coefficients]
    if len(terms) > 2 and (len(terms) - 1).bit_count() == 1:  # one more than a power of two
        last = terms.pop()
        terms[-1] = x.fma(last, terms[-1])
    power = x
    while len(terms) > 1:
        pairs = zip(terms[1::2], terms[::2], strict=False)
        joined = [power.fma(high, low) for high, low in pairs]
        terms = joined + terms[len(joined) * 2 :]
        if len(terms) > 1:
            power = power * power
    return terms[0]


# --- sums and products with their errors ----------------------------------------------------------


def fast_two_sum(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return ``a + b`` rounded, and the error: exact if a is 0 or not the smaller (Dekker 1971)."""
    total = a + b
    return total, b - (total - a)


def two_sum(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return ``a + b`` rounded, and the error: exact (D. Knuth, The Art of Programming, 4.2.2)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def two_product(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return ``a * b`` rounded, and the error: exact unless it underflows."""
    product = a * b
    return product, a.fma(b, -product)


# --- powers of two --------------------------------------------------------------------------------


def nearest(x: Vec, factor: float) -> Vec:
    """Return the integer next to ``x * factor``, for products of less than 2**21 (f32), 2**50."""
    shift = SHIFT[x.kind]
    return x.fma(factor, shift) - shift


def power_of_two(n: Vec) -> Vec:
    """Return 2**n for an integral float, where that is a normal number; at -1023 (-127) it is 0."""
    shift = n + (SHIFT[n.kind] + BIAS[n.kind])
    return (shift.bits() << MANTISSA[n.kind]).as_kind(n.kind)


def two_to(n: Vec, kind: str) -> Vec:
    """Return 2**n for an integer of as many bits, where that is a normal number."""
    return ((n + BIAS[kind]) << MANTISSA[kind]).as_kind(kind)


def scale(x: Vec, n: Vec) -> Vec:
    """Return ``x * 2**n``, rounded once, for an x about 1 and an integral float.

    It is at most 2000 in size (f32: 250). One instruction where the processor has it; elsewhere
    2**n is two factors, of which the first leaves a normal number.
    """
    if (found := _avx512("scalef", x.spread_if(n.varying), n.spread_if(x.varying))) is not None:
        return found
    kind = x.kind
    total = (n + SHIFT[kind]).bits().as_kind(f"u{BITS[kind]}")
    half = total >> 1  # the exponent is in the low bits: what comes down from above is shifted out
    first = (half << MANTISSA[kind]).as_kind(f"i{BITS[kind]}")
    second = ((total - half) << MANTISSA[kind]).as_kind(f"i{BITS[kind]}")
    # As factors, not added to the bits of x: NaN must stay NaN, whatever its bits.
    return x * (first + ONE[kind]).as_kind(kind) * (second + ONE[kind]).as_kind(kind)


def replaced_at_edges(x: Vec, result: Vec) -> Vec:
    """Return the result of a logarithm of x: right too where x is not a positive number.

    It is -inf at 0, NaN of negative numbers; infinity and NaN stay. One instruction where the
    processor has it, which looks up by the class of x what to do.
    """
    # By 4 bits: quiet and signalling NaN, 0, 1, -inf, inf, negative, positive. 0 keeps the result,
    # 2 is x as a quiet NaN, 3 is NaN, 4 is -inf, 5 is inf.
    table = x.e.constant(f"i{BITS[x.kind]}", 0x0353_0422).spread_if(x.varying)
    if (found := _avx512("fixupimm", result, x, table)) is not None:
        return found
    infinity = float("inf")
    result = select(x < infinity, result, x)
    outside = select(x.eq(0.0), -infinity, x.e.constant(x.kind, float("nan")))
    return select(x <= 0.0, outside, result)


def _avx512(instruction: str, *operands: Vec) -> Vec | None:
    """Write an instruction of AVX-512; None if the machine has it not for vectors of this width."""
    x = operands[0]
    e, kind = x.e, x.kind
    bits = e.group * BITS[kind]
    needed = {512: "avx512f", 256: "avx512vl", 128: "avx512vl"}.get(bits)
    if not x.varying or needed is None or not machine().has(needed):
        return None
    name = f"llvm.x86.avx512.mask.{instruction}.{'pd' if kind == 'f64' else 'ps'}.{bits}"
    type_ = e.type(kind, True)
    types = [e.type(operand.kind, True) for operand in operands]
    # What comes after the operands: what masked lanes hold or which exceptions are wanted (none),
    # the mask of all lanes, and for the widest registers the rounding, as it is set.
    none = (type_, "zeroinitializer") if instruction == "scalef" else ("i32", "0")
    last = [none, (f"i{max(e.group, 8)}", "-1"), ("i32", "4")][: 3 if bits == 512 else 2]

    def call(*parts: str) -> str:
        return e.call_of(type_, name, *zip(types, parts, strict=True), *last)

    return e.map(kind, operands, call)


def mantissa_exponent(x: Vec, subnormal: bool = True) -> tuple[Vec, Vec]:
    """Return m and k with ``x = m * 2**k`` and sqrt(1/2) <= m < sqrt(2), for a positive x.

    Both are floats. What is not positive and finite gives anything; so do subnormal numbers if
    they are not expected.
    """
    kind = x.kind
    digits, root = MANTISSA[kind], _ROOT[kind]
    # The exponent becomes a float as the low bits of a large one: no conversion.
    large = x.e.constant(kind, 2.0**digits)
    shift = large + BIAS[kind]
    if subnormal:
        tiny = x < TINY[kind]
        x = select(tiny, x * 2.0 ** (digits + 2), x)
        shift = select(tiny, large + (BIAS[kind] + digits + 2), shift)
    raised = x.bits() + (ONE[kind] - root)
    word = (raised.as_kind(f"u{BITS[kind]}") >> digits) | large.bits().as_kind(f"u{BITS[kind]}")
    m = ((raised & ((1 << digits) - 1)) + root).as_kind(kind)
    return m, word.as_kind(kind) - shift


#: The bits of sqrt(1/2).
_ROOT = {"f32": 0x3F35_04F3, "f64": 0x3FE6_A09E_667F_3BCD}
