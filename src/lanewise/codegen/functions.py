"""Functions of numbers that are no ufuncs: those of Python end the run where it would raise.

Integers have 64 bits. Where Python's would be longer the run ends too, and the interpreter says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.codegen.addresses import Index
from lanewise.codegen.arrays import Array
from lanewise.codegen.builder import Builder
from lanewise.codegen.elementwise.division import remainder_int
from lanewise.codegen.elementwise.integer_ufuncs import raised
from lanewise.codegen.elementwise.ufuncs import Function
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.mathlib import special
from lanewise.codegen.numbers import Complex, Number, convert, dtype_of, kinds_of, vecs
from lanewise.codegen.vector import Vec, is_nonnegative, select, span_of
from lanewise.ops.elementwise import aligned
from lanewise.ops.python import SMALL_MODULUS

#: About how many operations one of these functions is.
_WORK = 30
#: The largest integer whose factorial has 64 bits.
_LARGEST_FACTORIAL = 20


def _size(x: Vec) -> Vec:
    """Return |x| without a sign: of the least integer too."""
    return select(x < 0, -x, x).as_kind("u64")


def _bit_length(k: Builder, x: Vec) -> Vec:
    return 64 - x.e.zeros("ctlz", _size(x))


def _bit_count(k: Builder, x: Vec) -> Vec:
    return x.e.population(_size(x))


def _isqrt(k: Builder, x: Vec) -> Vec:
    k.fail(x < 0)
    x = x.as_kind("u64")
    # The root of the float next to x is off by one at most.
    root = x.to("f64").sqrt().whole("i64").as_kind("u64")
    root = select(root * root > x, root - 1, root)
    return select((root + 1) * (root + 1) <= x, root + 1, root).as_kind("i64")


def _factorial(k: Builder, x: Vec) -> Vec:
    k.fail((x < 0) | (x > _LARGEST_FACTORIAL))
    found = x.e.constant("i64", 1)
    for factor in range(2, _LARGEST_FACTORIAL + 1):
        found = select(x >= factor, found * factor, found)
    return found


def _power_modulo(k: Builder, base: Vec, exponent: Vec, modulus: Vec) -> Vec:
    """Return base ** exponent % modulus by repeated squaring, as long as 64 bits hold products."""
    k.fail((exponent < 0) | (modulus <= 0) | (modulus > SMALL_MODULUS))

    if k.mask is not None:  # of lanes that are not active none may take long
        exponent = select(k.mask, exponent, 0)
    rest = remainder_int(base, modulus)
    with k.loops.scope():
        found = raised(rest, exponent, lambda x, y: remainder_int(x * y, modulus))
    return select(modulus.eq(1), 0, found)


def _fma(k: Builder, x: Vec, y: Vec, z: Vec) -> Vec:
    found = x.fma(y, z)
    is_infinite = found.abs().eq(math.inf)
    finite = (x.abs() < math.inf) & (y.abs() < math.inf) & (z.abs() < math.inf)
    known = x.isnan() | y.isnan() | z.isnan()
    k.fail((found.isnan() & ~known) | (is_infinite & finite))
    return found


def _nextafter(k: Builder, x: Vec, y: Vec) -> Vec:
    return vecs(k.ufunc(np.nextafter, x, y))[0]


def _ulp(k: Builder, x: Vec) -> Vec:
    size = x.abs()
    up = _nextafter(k, size, x.e.constant("f64", math.inf))
    down = _nextafter(k, size, x.e.constant("f64", 0.0))
    found = select(up.eq(math.inf), size - down, up - size)
    return select(size.eq(math.inf), size, found)


def _remainder(k: Builder, x: Vec, y: Vec) -> Vec:
    """Return what is left of x by the multiple of y next to it, ties to even ones; exact."""
    k.fail((~x.isnan() & y.eq(0.0)) | (x.abs().eq(math.inf) & ~y.isnan()))
    size, step = x.abs(), y.abs()
    low = vecs(k.ufunc(np.fmod, size, step))[0]
    high = step - low
    even = low - 2.0 * vecs(k.ufunc(np.fmod, (size - low) * 0.5, step))[0]
    found = select(low < high, low, select(low > high, -high, even))
    found = select(x.bits() < 0, -found, found)
    found = select(step.eq(math.inf), x, found)
    return select(x.isnan() | y.isnan(), x + y, found)


_INT, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)
#: The functions that have a native form: by name and number of operands; and what they take.
PYTHONS: dict[tuple[str, int], tuple[Callable[..., Vec], np.dtype]] = {
    ("bit_length", 1): (_bit_length, _INT),
    ("bit_count", 1): (_bit_count, _INT),
    ("math.isqrt", 1): (_isqrt, _INT),
    ("math.factorial", 1): (_factorial, _INT),
    ("pow", 3): (_power_modulo, _INT),
    ("math.fma", 3): (_fma, _FLOAT),
    ("math.nextafter", 2): (_nextafter, _FLOAT),
    ("math.ulp", 1): (_ulp, _FLOAT),
    ("math.remainder", 2): (_remainder, _FLOAT),
}


class Functions:
    """Functions of numbers that are no ufuncs; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def python(self, type_: Any, operands: Sequence[Array], fn: str, rows: bool) -> Array:
        """Return a function of Python numbers of each element; see the operation."""
        found = PYTHONS.get((fn, len(operands)))
        if found is None or rows:
            raise CannotCompile(f"{fn} of Python numbers has no native form")
        rule, dtype = found
        if not all(np.can_cast(x.dtype, dtype) for x in operands):
            raise CannotCompile(f"{fn} of these numbers has no native form")
        parts = [aligned(x, len(type_.shape)) for x in operands]

        def at(*i: Index) -> Number:
            given = [vecs(convert(part(*i), dtype))[0] for part in parts]
            return convert(rule(self.k, *given), type_.dtype)

        return self.k.lazy(type_.dtype, type_.shape, at, operands, fails=True, work=_WORK)

    def bitcast(self, x: Number, dtype: np.dtype) -> Number:
        """Return the bits of a number as another dtype of the same size."""
        if isinstance(x, Complex) or dtype.kind == "c" or "b" in (x.kind, dtype.kind):
            raise CannotCompile("a view as another dtype of this kind has no native form")
        (kind,) = kinds_of(dtype)
        if dtype_of(x).itemsize != dtype.itemsize:
            raise CannotCompile("a view as a dtype of another size has no native form")
        return x.as_kind(kind)

    def i0(self, x: Number, dtype: np.dtype) -> Number:
        (real,) = vecs(convert(x, dtype))
        wide = real.to("f32") if real.kind == "f16" else real
        return Function(special.i0)(wide).to(real.kind)

    def exact(self, fn: np.ufunc, *operands: Number) -> Vec:
        """Return a function of 64-bit integers; the run ends where an int would be larger."""
        a, *rest = [v for x in operands for v in vecs(x)]
        if fn in (np.add, np.subtract, np.multiply):
            return self._with_overflow(fn, a, rest[0])
        if fn in (np.negative, np.absolute):
            self.k.fail(a.eq(-(2**63)))
            return -a if fn is np.negative else a.abs()
        if fn is np.left_shift:
            shift = rest[0]
            self.k.fail((shift < 0) | ((shift > 62) & a.ne(0)))
            shift = shift.greatest(0).least(62)
            found = a << shift
            self.k.fail((found >> shift).ne(a))
            return found
        exponent = rest[0].value
        if fn is np.power and exponent is not None and 0 <= exponent <= 8:
            found = self.k.e.constant("i64", 1)
            for _ in range(int(exponent)):
                found = self._with_overflow(np.multiply, a, found)
            return found
        raise CannotCompile(f"exact {fn.__name__} has no native form")

    def _with_overflow(self, fn: np.ufunc, a: Vec, b: Vec) -> Vec:
        k = self.k
        neutral = {np.add: 0, np.multiply: 1}.get(fn)
        for one, other in ((a, b), (b, a)):
            if neutral is not None and one.value == neutral:
                return other
        verb = {np.add: "add", np.subtract: "sub"}.get(fn, "mul")
        span = span_of(verb, a, b)
        if span is not None:
            if a.value is not None and b.value is not None and isinstance(span[0], int):
                return k.e.constant("i64", span[0])
            return k.ufunc(fn, a, b)
        if fn is np.multiply and (a.varying or b.varying):
            close = a.to("f64") * b.to("f64")
            k.fail(close.abs() >= 2.0**63 * (1 - 2.0**-40))
            return a * b
        if not a.varying and not b.varying:
            return self._scalar_overflow(verb, a, b)
        if fn is np.add:
            found = a + b
            grows = next((other for x, other in ((a, b), (b, a)) if is_nonnegative(x)), None)
            k.fail(((a ^ found) & (b ^ found)) < 0 if grows is None else found < grows)
        else:
            found = a - b
            k.fail(((a ^ b) & (a ^ found)) < 0)
        return found

    def _scalar_overflow(self, verb: str, a: Vec, b: Vec) -> Vec:
        e, given = self.k.e, [("i64", x.parts[0]) for x in (a, b)]
        pair = e.external("{ i64, i1 }", f"llvm.s{verb}.with.overflow.i64", *given)
        self.k.fail(e.uniform("b", e.write(f"extractvalue {{ i64, i1 }} {pair}, 1")))
        return e.uniform("i64", e.write(f"extractvalue {{ i64, i1 }} {pair}, 0"))
