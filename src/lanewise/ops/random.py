"""Random numbers as a pure function of a key and a counter: `random_draw`.

The bits are those of Threefry-2x64 with 20 rounds (J. K. Salmon, M. A. Moraes, R. O. Dror and D. E.
Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a keyed bijection of 128 bits, so a
draw needs no state but its number, and who draws it, in which order, thread or lane, is all the
same. Philox-4x32 takes the same time in vector code (1.9 ns against 2.1 ns a block on AVX-512);
Threefry has a key of 128 bits instead of 64, which is what keys made of keys live on.

What is computed from the bits (normal and exponential numbers, integers below a bound) is written
once, for arrays and for kernels, in operations that IEEE 754 rounds in one way. So both give the
same bits, whatever library or processor runs them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lanewise.ir.types import array_type
from lanewise.ops.derivatives import flat
from lanewise.ops.elementwise import aligned
from lanewise.ops.facts import Kind
from lanewise.ops.movement import broadcasting
from lanewise.ops.registry import op, sample
from lanewise.ops.shapes import broadcast_shapes

U64, I64, F64 = np.dtype(np.uint64), np.dtype(np.int64), np.dtype(np.float64)
#: Rotations of the rounds, eight of them in turn (Salmon et al., table 3).
ROTATIONS = (16, 42, 12, 31, 16, 32, 24, 21)
ROUNDS = 20
#: What the third word of the key schedule is made of ("C240" of the Skein specification).
PARITY = 0x1BD11BDAA9FC1A22
#: So many elements are computed at once where NumPy does, to stay in its caches.
BLOCK = 1 << 13


class OnArrays:
    """What the functions below need beside Python's operators, for arrays."""

    @staticmethod
    def to(x: Any, dtype: np.dtype) -> Any:
        return x.astype(dtype)

    @staticmethod
    def bits(x: Any, dtype: np.dtype) -> Any:
        return x.view(dtype)

    @staticmethod
    def sqrt(x: Any) -> Any:
        return np.sqrt(x)

    @staticmethod
    def choose(condition: Any, a: Any, b: Any) -> Any:
        return np.where(condition, a, b)


class InKernels:
    """The same for numbers of a kernel."""

    def __init__(self, k: Any) -> None:
        self.to, self.bits, self.choose = k.convert, k.functions.bitcast, k.choose
        self.sqrt = lambda x: k.ufunc(np.sqrt, x)


def threefry(k0: Any, k1: Any, c0: Any, c1: Any) -> tuple[Any, Any]:
    """Return the two words of the block that a counter has under a key, all of 64 bits.

    Examples
    --------
    >>> zero = np.zeros(1, np.uint64)
    >>> [hex(word[0]) for word in threefry(zero, zero, zero, zero)]
    ['0xc2b6e3a8c2c69865', '0x6f81ed42f350084d']
    """
    keys = (k0, k1, k0 ^ k1 ^ PARITY)
    a, b = c0 + k0, c1 + k1
    for number in range(ROUNDS):
        bits = ROTATIONS[number % 8]
        a = a + b
        b = ((b << bits) | (b >> (64 - bits))) ^ a
        if number % 4 == 3:
            turn = number // 4 + 1
            a, b = a + keys[turn % 3], b + (keys[(turn + 1) % 3] + turn)
    return a, b


# log((1 + s) / (1 - s)) is 2 s + s^3 P(s^2): the coefficients of P are those of fdlibm (Sun, 1993).
_LOG = (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
        2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
        1.479819860511658591e-01)  # fmt: skip
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
#: The bits of the square root of one half.
_HALF_ROOT = 0x3FE6A09E667F3BCD
# sin(pi y) / y as a polynomial of y^2, for |y| <= 1/2: interpolated at Chebyshev's points, in high
# precision; its relative error is below 2^-61.
_SINE = (3.141592653589793, -5.167712780049969, 2.5501640398773007,
         -0.5992645293189447, 0.0821458865731029, -0.007370430505916944,
         0.0004662998161898394, -2.1903497074626018e-05, 7.697826768224191e-07)  # fmt: skip


def log(m: Any, x: Any) -> Any:
    """Return the natural logarithm of normal numbers, to one ULP."""
    bits = m.bits(x, I64)
    exponent = (bits - _HALF_ROOT) >> 52
    f = m.bits(bits - (exponent << 52), F64) - 1.0
    s = f / (f + 2.0)
    z = s * s
    p = _polynomial(z, _LOG) * z
    half = f * f * 0.5
    whole = m.to(exponent, F64)
    return whole * _LN2_HIGH - ((half - (s * (half + p) + whole * _LN2_LOW)) - f)


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    total = x * coefficients[-1] + coefficients[-2]
    for c in coefficients[-3::-1]:
        total = total * x + c
    return total


def _uniform(m: Any, a: Any, b: Any) -> Any:
    """Return a multiple of 2^-53 of [0, 1)."""
    return m.to(a >> 11, F64) * 2.0**-53


def _positive(m: Any, a: Any) -> Any:
    """Return a number of (0, 1], as fine as floats are."""
    return m.to(a | 1, F64) * 2.0**-64


def _exponential(m: Any, a: Any, b: Any) -> Any:
    return 0.0 - log(m, _positive(m, a))


def _normal(m: Any, a: Any, b: Any) -> Any:
    """Return a normal number (G. E. P. Box and M. E. Muller, 1958).

    The sine of an angle of the right half of the circle is distributed as that of any angle. At
    most 9.5 can come out; 10^20 draws would be needed to miss what is beyond.
    """
    y = m.to(m.bits(b, I64), F64) * 2.0**-64
    return m.sqrt(log(m, _positive(m, a)) * -2.0) * (y * _polynomial(y * y, _SINE))


def _below(m: Any, a: Any, b: Any, bound: Any) -> Any:
    """Return an integer below a bound; 0 stands for 2^64.

    It is the bound times a fraction of 128 bits, rounded down (D. Lemire, "Fast random integer
    generation in an interval", 2019, without its rejection): no integer is more probable than
    another by more than one in 2^64.
    """
    low, high = bound & 0xFFFFFFFF, bound >> 32
    upper = _high_product(b, low, high)
    lower = b * bound
    carry = lower + _high_product(a, low, high) < lower
    return m.choose(bound < 1, b, upper + m.to(carry, U64))


def _high_product(x: Any, low: Any, high: Any) -> Any:
    """Return the upper 64 bits of the product of 64 bits and twice 32 bits."""
    x_low, x_high = x & 0xFFFFFFFF, x >> 32
    first = x_high * low + ((x_low * low) >> 32)
    second = x_low * high + (first & 0xFFFFFFFF)
    return x_high * high + (first >> 32) + (second >> 32)


class Law(NamedTuple):
    """What is made of a block: of its two words, and of more operands if there are.

    Attributes
    ----------
    work
        About how many instructions it takes, beside those of the block.
    """

    dtype: np.dtype
    of: Callable[..., Any]
    work: int
    bounds: int = 0


#: Instructions of a block.
BLOCK_WORK = 110
LAWS: dict[str, Law] = {
    "bits": Law(U64, lambda m, a, b: a, 0),
    "more_bits": Law(U64, lambda m, a, b: b, 0),
    "uniform": Law(F64, _uniform, 3),
    "exponential": Law(F64, _exponential, 30),
    "normal": Law(F64, _normal, 60),
    "below": Law(U64, _below, 40, bounds=1),
}


@op
class random_draw:
    """A random number of a law, for the block that a counter (two words) has under a key (two).

    All operands are ``uint64`` and broadcast. ``law`` is one of `LAWS`: the words of the block
    themselves ("bits", "more_bits"), a float of [0, 1), a standard exponential or normal number,
    or an integer below a bound, which is the fifth operand.
    """

    kind, numpy_ns = Kind.ELEMENTWISE, 150.0

    def instructions(op):
        return BLOCK_WORK + LAWS[op.params["law"]].work

    conditions = ""

    def type(*operands, law: str):
        wanted = 4 + LAWS[law].bounds
        if len(operands) != wanted or any(x.dtype != U64 for x in operands):
            raise TypeError(f"random_draw of {law} takes {wanted} arrays of uint64: {operands}")
        return array_type(LAWS[law].dtype, broadcast_shapes(*[x.shape for x in operands]))

    def numpy(*operands, law):
        shape = np.broadcast_shapes(*[np.shape(x) for x in operands])
        size, found = math.prod(shape), LAWS[law]
        result = np.empty(size, found.dtype)
        # Scalars stay arrays of one element: of NumPy's own, overflows would be warned of.
        parts = [
            np.reshape(x, 1)
            if np.size(x) == 1
            else np.broadcast_to(np.asarray(x), shape).reshape(-1)
            for x in operands
        ]
        for start in range(0, size, BLOCK):
            rows = [x if x.size == 1 else x[start : start + BLOCK] for x in parts]
            block = threefry(*rows[:4])
            result[start : start + BLOCK] = found.of(OnArrays, *block, *rows[4:])
        return result.reshape(shape)

    batch = broadcasting

    def lanes(k, types, *operands, law):
        found, shape, m = LAWS[law], types[0].shape, InKernels(k)
        parts = [aligned(x, len(shape)) for x in operands]

        def at(*i):
            k0, k1, c0, c1, *bounds = [x(*i) for x in parts]
            with k.e.exactly():
                return found.of(m, *threefry(k0, k1, c0, c1), *bounds)

        return k.lazy(found.dtype, shape, at, operands, work=BLOCK_WORK + found.work)

    jvp = flat

    samples = tuple(
        sample(
            np.uint64(7),
            np.uint64(2**64 - 1),
            np.arange(6, dtype=np.uint64).reshape(2, 3),
            np.array([0, 1, 2**63], np.uint64),
            *[np.array([[3], [0]], np.uint64)] * law.bounds,
            law=name,
        )
        for name, law in LAWS.items()
    )
