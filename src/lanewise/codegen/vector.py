"""Vector code as text: what kernels and the mathematical functions are written in.

A `Vec` is a number in every lane (*varying*), or one for all of them (*uniform*, a scalar of the
machine). Python's operators on it write LLVM instructions. A varying Vec has several parts, each as
wide as a register or two: an operation is written once for each part, so that several independent
chains are in flight. Operations on uniform Vecs are scalar; where both kinds meet, the uniform one
is spread over the lanes.

Kinds are named like dtypes: ``b`` (a truth value, one bit), ``i8`` to ``i64``, ``u8`` to ``u64``,
``f16``, ``f32`` and ``f64``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from lanewise.codegen.processor import machine
from lanewise.ir.dims import Dim, DimLike, never_below

#: LLVM's type of each kind.
LLVM = {"b": "i1", "f16": "half", "f32": "float", "f64": "double"} | {
    f"{sign}{bits}": f"i{bits}" for sign in "iu" for bits in (8, 16, 32, 64)
}
#: Bits of each kind, as it stands in a register.
BITS = {"b": 1} | {kind: int(kind[1:]) for kind in LLVM if kind != "b"}

Number: TypeAlias = "int | float | bool"
#: The least and the greatest of integers.
Span: TypeAlias = tuple[DimLike, DimLike]


def is_float(kind: str) -> bool:
    return kind[0] == "f"


def is_signed(kind: str) -> bool:
    return kind[0] == "i"


def select(condition: Vec, then: Vec | Number, otherwise: Vec | Number) -> Vec:
    """Return the first value where a condition holds, the second elsewhere."""
    e = condition.e
    if not isinstance(then, Vec):
        assert isinstance(otherwise, Vec)
        then = e.constant(otherwise.kind, then)
    if not isinstance(otherwise, Vec):
        otherwise = e.constant(then.kind, otherwise)
    if condition.value is not None:
        return then if condition.value else otherwise
    varying = condition.varying or then.varying or otherwise.varying
    mask, type_ = e.type("b", varying), e.type(then.kind, varying)
    return e.map(
        then.kind,
        (condition, then, otherwise),
        lambda c, a, b: f"select {mask} {c}, {type_} {a}, {type_} {b}",
    )


def _bits(x: float) -> int:
    """Return the bits of a float64."""
    return int(np.float64(x).view(np.int64))


class _Method(Protocol):
    """A method of Vecs that may take another operand."""

    def __get__(self, instance: Vec | None, owner: Any) -> Callable[..., Vec]: ...


def _operator(integer: str, real: str = "", *, swap: bool = False) -> _Method:
    """Return an operator on Vecs: LLVM's instruction for integers and for floats, if any."""
    return lambda self, other: self._binary(other, integer, real, swap)


def _of_float(intrinsic: str) -> _Method:
    """Return a function of floats that LLVM has."""
    return lambda self: self.e.intrinsic(intrinsic, self)


def _comparison(order: str, real: str) -> _Method:
    """Return a comparison of Vecs: LLVM's order of integers, and of floats."""
    return lambda self, other: self._compare(other, order, real)


class Vec:
    """A number of a `kind` in each lane, or one for all. See the module's docstring.

    Operations on it are written to `e`, an `Emitter` (of a module that imports this one). `parts`
    are LLVM's names of its parts, one if it is not `varying`; then its `value` may be known. The
    `span` of an integer is the least and the greatest that it may be, if that is known: numbers, or
    sizes that the kernel is told of.
    """

    __slots__ = ("e", "kind", "parts", "span", "value", "varying")
    __hash__ = object.__hash__

    def __init__(
        self,
        e: Any,
        kind: str,
        varying: bool,
        parts: tuple[str, ...],
        value: Number | None = None,
    ) -> None:
        self.e, self.kind, self.varying, self.parts, self.value = e, kind, varying, parts, value
        self.span: Span | None = None

    # --- moving -------------------------------------------------------------------------------

    def spread(self) -> Vec:
        """Return it as a varying value."""
        if self.varying:
            return self
        e = self.e
        scalar, wide = LLVM[self.kind], e.type(self.kind, True)
        (part,) = self.parts
        if part[0] != "%":  # a literal
            text = f"splat ({scalar} {part})"
        else:
            one = e.write(f"insertelement {wide} poison, {scalar} {part}, i32 0")
            zeros = f"<{e.group} x i32> zeroinitializer"
            text = e.write(f"shufflevector {wide} {one}, {wide} poison, {zeros}")
        return Vec(e, self.kind, True, (text,) * e.parts)

    def spread_if(self, varying: bool) -> Vec:
        return self.spread() if varying else self

    def as_kind(self, kind: str) -> Vec:
        """Return the same bits as another kind of the same size."""
        if LLVM[kind] == LLVM[self.kind]:
            return Vec(self.e, kind, self.varying, self.parts)
        if self.value is not None:
            data = np.array(self.value, NUMPY[self.kind]).view(NUMPY[kind])
            return self.e.constant(kind, data.item())
        return self._converted("bitcast", kind)

    def bits(self) -> Vec:
        """Return the bits of a float as a signed integer."""
        return self.as_kind(f"i{BITS[self.kind]}")

    def to(self, kind: str) -> Vec:
        """Return the number as another kind: wrapped, truncated or rounded as C and NumPy do."""
        old = self.kind
        if old == kind:
            return self
        if self.value is not None:  # what is out of range LLVM would leave undefined
            with np.errstate(all="ignore"):
                # An unsigned -1 is all ones: it wraps where Python's number does not fit.
                value = np.array(self.value).astype(NUMPY[old]).astype(NUMPY[kind])
            return self.e.constant(kind, value.item())
        if kind == "b":
            return self.ne(0)
        is_from_float, is_to_float = is_float(old), is_float(kind)
        if is_from_float and not is_to_float:
            return self._truncated(kind)
        if kind == "f16" and old != "f32":
            # NumPy goes by way of float32, and so do processors; only float64 must not round twice.
            return (self.rounded_to_odd() if old == "f64" else self.to("f32")).to("f16")
        if is_from_float:
            verb = "fpext" if BITS[kind] > BITS[old] else "fptrunc"
        elif is_to_float:
            if old == "i64" and kind == "f64" and self._in_halves:
                return self._float_of_halves()
            verb = "sitofp" if is_signed(old) else "uitofp"
        elif BITS[kind] == BITS[old]:
            return self.as_kind(kind)
        elif BITS[kind] < BITS[old]:
            verb = "trunc"
        else:
            verb = "sext" if is_signed(old) else "zext"
        return self._converted(verb, kind)

    def _converted(self, verb: str, kind: str) -> Vec:
        old, new = self.e.type(self.kind, self.varying), self.e.type(kind, self.varying)
        return self.e.map(kind, (self,), lambda x: f"{verb} {old} {x} to {new}")

    def _truncated(self, kind: str) -> Vec:
        """Return a float as an integer; out of range it gives what C's casts give on x86."""
        if self.kind == "f16":
            return self.to("f32")._truncated(kind)
        if kind == "u64":
            high = self >= 2.0**63
            low = (self - select(high, 2.0**63, self.e.constant(self.kind, 0.0)))._truncated("i64")
            flip = select(high, self.e.constant("i64", -(2**63)), 0)
            return (low ^ flip).as_kind("u64")
        if kind == "u32":
            return self._truncated("i64").to("u32")
        if BITS[kind] < 32:
            return self._truncated("i32").to(kind)
        if kind == "i64" and self._in_halves:
            return self.to("f64")._long_of_halves()
        found = self._converted("fptosi", kind)
        type_ = self.e.type(kind, self.varying)
        return self.e.map(kind, (found,), lambda x: f"freeze {type_} {x}")

    @property
    def _in_halves(self) -> bool:
        """Whether i64 and f64 are made of each other by halves, all lanes at a time."""
        return self.varying and machine().has("avx2") and not machine().converts_longs

    def _float_of_halves(self) -> Vec:
        """Return an i64 as a float64, where processors do that for one number at a time.

        Behind the exponent of 2**52 or 2**84 the bits of either half are the float that it is. Both
        and their difference are exact, and their sum rounds once.
        """
        with self.e.exactly():
            low = ((self & 0xFFFFFFFF) | _bits(2.0**52)).as_kind("f64")
            high = (self.as_kind("u64") >> 32).as_kind("i64") ^ _bits(2.0**84 + 2.0**63)
            return (high.as_kind("f64") - (2.0**84 + 2.0**63 + 2.0**52)) + low

    def _long_of_halves(self) -> Vec:
        """Return a float64 as an i64, where processors do that for one number at a time."""
        with self.e.exactly():
            whole = self.trunc()
            high = (whole * 2.0**-32).floor()
            low = (whole - high * 2.0**32 + 2.0**52).bits() ^ _bits(2.0**52)
            high = (high + 1.5 * 2.0**52).bits() << 32
            return select(self.abs() < 2.0**63, high | low, -(2**63))

    def rounded_to_odd(self) -> Vec:
        """Return a float64 as a float32 that rounds on as the float64 itself would.

        What is cut off is kept in the last bit (rounding to odd: Boldo & Melquiond 2008).
        """
        near = self._converted("fptrunc", "f32")
        back = near.to("f64")
        bits = near.bits() - (back.abs() > self.abs()).to("i32")
        return (bits | back.ne(self).to("i32")).as_kind("f32")

    def whole(self, kind: str) -> Vec:
        """Return a float as an integer; only for whole numbers that `kind` can hold."""
        return self._converted("fptosi" if is_signed(kind) else "fptoui", kind)

    # --- arithmetic ---------------------------------------------------------------------------

    def operand(self, other: Vec | Number) -> Vec:
        """Return what it is computed with, as numbers of its kind."""
        if isinstance(other, Vec):
            if other.kind != self.kind:
                raise TypeError(f"an operation on {self.kind} and {other.kind}")
            return other
        if isinstance(other, Dim):
            return self.e.size(other).to(self.kind)
        return self.e.constant(self.kind, other)

    def _binary(self, other: Vec | Number, integer: str, real: str, swap: bool = False) -> Vec:
        other = self.operand(other)
        left, right = (other, self) if swap else (self, other)
        type_ = self.e.type(self.kind, left.varying or right.varying)
        verb = f"{real} {self.e.flags}".rstrip() if is_float(self.kind) else integer
        if not verb:
            raise TypeError(f"no such operation on {self.kind}")
        found = self.e.map(self.kind, (left, right), lambda a, b: f"{verb} {type_} {a}, {b}")
        if self.span is not None or other.span is not None:
            found.span = span_of(integer, left, right)
        return found

    __add__, __radd__ = _operator("add", "fadd"), _operator("add", "fadd", swap=True)
    __sub__, __rsub__ = _operator("sub", "fsub"), _operator("sub", "fsub", swap=True)
    __mul__, __rmul__ = _operator("mul", "fmul"), _operator("mul", "fmul", swap=True)
    __truediv__, __rtruediv__ = _operator("", "fdiv"), _operator("", "fdiv", swap=True)
    __and__ = __rand__ = _operator("and")
    __or__ = __ror__ = _operator("or")
    __xor__ = __rxor__ = _operator("xor")
    #: Shifts are by fewer bits than there are.
    __lshift__ = _operator("shl")

    def quotient(self, other: Vec | Number) -> Vec:
        """Return the integer quotient, towards zero. Undefined for 0, and for the least by -1."""
        return self._binary(other, "sdiv" if is_signed(self.kind) else "udiv", "")

    def rest(self, other: Vec | Number) -> Vec:
        """Return what `quotient` leaves, with the sign of self."""
        return self._binary(other, "srem" if is_signed(self.kind) else "urem", "frem")

    def __invert__(self) -> Vec:
        return self ^ (True if self.kind == "b" else -1)

    def __rshift__(self, other: Vec | Number) -> Vec:
        """Shift right, keeping the sign of signed kinds; by fewer bits than there are."""
        return self._binary(other, "ashr" if is_signed(self.kind) else "lshr", "")

    def __neg__(self) -> Vec:
        if not is_float(self.kind):
            return 0 - self
        type_ = self.e.type(self.kind, self.varying)
        return self.e.map(self.kind, (self,), lambda x: f"fneg {type_} {x}")

    def fma(self, factor: Vec | Number, term: Vec | Number) -> Vec:
        """Return ``self * factor + term``, rounded once."""
        return self.e.intrinsic("fma", self, self.operand(factor), self.operand(term))

    def abs(self) -> Vec:
        if is_float(self.kind):
            return self.e.intrinsic("fabs", self)
        return self if not is_signed(self.kind) else select(self < 0, -self, self)

    sqrt, floor = _of_float("sqrt"), _of_float("floor")
    ceil, trunc = _of_float("ceil"), _of_float("trunc")
    #: The nearest integer as a float, ties to even.
    rint = _of_float("roundeven")

    def copysign(self, sign: Vec | Number) -> Vec:
        return self.e.intrinsic("copysign", self, self.operand(sign))

    def least(self, other: Vec | Number) -> Vec:
        """Return the lesser of two; of floats `other` where one is NaN."""
        other = self.operand(other)
        return select(self < other, self, other)

    def greatest(self, other: Vec | Number) -> Vec:
        """Return the greater of two; of floats `other` where one is NaN."""
        other = self.operand(other)
        return select(self > other, self, other)

    # --- comparisons --------------------------------------------------------------------------

    def _compare(self, other: Vec | Number, order: str, real: str) -> Vec:
        other = self.operand(other)
        type_ = self.e.type(self.kind, self.varying or other.varying)
        if is_float(self.kind):
            verb = f"fcmp {real}"
        elif order in ("eq", "ne"):
            verb = f"icmp {order}"
        else:
            verb = f"icmp {'s' if is_signed(self.kind) else 'u'}{order}"
        return self.e.map("b", (self, other), lambda a, b: f"{verb} {type_} {a}, {b}")

    __lt__, __le__ = _comparison("lt", "olt"), _comparison("le", "ole")
    __gt__, __ge__ = _comparison("gt", "ogt"), _comparison("ge", "oge")
    #: Where both are equal: never for NaN; and where they are not: always for NaN.
    eq, ne = _comparison("eq", "oeq"), _comparison("ne", "une")

    def isnan(self) -> Vec:
        return self._compare(self, "ne", "uno")

    def __repr__(self) -> str:
        return f"<{'varying' if self.varying else 'uniform'} {self.kind} {' '.join(self.parts)}>"


def span_of(verb: str, left: Vec, right: Vec) -> Span | None:
    """Return the least and greatest sum, difference or product, where it cannot wrap around."""
    a, b = known_span(left), known_span(right)
    if a is None or b is None or verb not in ("add", "sub", "mul"):
        return None
    function = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}[verb]
    ends = [function(x, y) for x in a for y in b]
    if any([isinstance(end, Dim) for end in ends]):
        if verb == "mul" or left.kind != "i64" or not all(map(_is_size, (*a, *b))):
            return None
        return (ends[0], ends[3]) if verb == "add" else (ends[1], ends[2])
    low, high = min(ends), max(ends)
    bits = BITS[left.kind] - is_signed(left.kind)
    least = -(2**bits) if is_signed(left.kind) else 0
    return (low, high) if least <= low <= high < 2**bits else None


def _is_size(end: DimLike) -> bool:
    """Whether it is a sum of few sizes, which memory bounds, and a number that is as small."""
    terms = end.terms if isinstance(end, Dim) else [((), end)]
    return all([abs(c) < (1 << 40 if not m else 1 << 8) and len(m) < 2 for m, c in terms])


def known_span(x: Vec) -> Span | None:
    """Return the least and the greatest that a number may be, if that is known."""
    if x.value is not None and not is_float(x.kind):
        return int(x.value), int(x.value)
    return x.span


def is_nonnegative(x: Vec) -> bool:
    """Whether a number is known not to be negative."""
    span = known_span(x)
    return span is not None and never_below(span[0], 0)


def is_within(span: Span | None, least: DimLike, size: DimLike) -> bool:
    """Whether a number is known to be at least one, and below another."""
    return span is not None and never_below(span[0], least) and never_below(size - 1, span[1])


#: NumPy's dtype of each kind.
NUMPY: dict[str, Any] = {"b": np.dtype(bool)} | {
    kind: np.dtype(f"{kind[0]}{BITS[kind] // 8}") for kind in LLVM if kind != "b"
}
#: The kind of each dtype.
KIND: dict[np.dtype, str] = {dtype: kind for kind, dtype in NUMPY.items()}
