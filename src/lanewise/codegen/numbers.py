"""Numbers of every dtype in compiled code: real ones are Vecs, complex ones pairs of Vecs.

What the compiler passes between operations is a `Number`. Code that only moves numbers (loads,
stores, variables, joins of branches) takes them apart with `vecs` and puts them together with
`of_vecs`, and need not know which of them are complex.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from lanewise.codegen.emitter import Emitter
from lanewise.codegen.vector import KIND, NUMPY, Vec, select

#: The kind of the parts of each complex dtype, and the dtype of each such kind.
PARTS: dict[np.dtype, str] = {np.dtype(np.complex64): "f32", np.dtype(np.complex128): "f64"}
COMPLEX: dict[str, np.dtype] = {kind: dtype for dtype, kind in PARTS.items()}


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex number in each lane, or one for all: its real and its imaginary part.

    Both parts are of one kind; one may be uniform and the other varying.
    """

    re: Vec
    im: Vec

    @property
    def e(self) -> Emitter:
        return self.re.e

    @property
    def kind(self) -> str:
        """The kind of each part."""
        return self.re.kind

    @property
    def varying(self) -> bool:
        return self.re.varying or self.im.varying

    def spread(self) -> Complex:
        """Return it as a varying value."""
        return Complex(self.re.spread(), self.im.spread())

    def spread_if(self, varying: bool) -> Complex:
        return self.spread() if varying else self


Number: TypeAlias = "Vec | Complex"


def is_supported(dtype: Any) -> bool:
    """Return whether compiled code computes with numbers of this dtype."""
    return dtype in KIND or dtype in PARTS


def dtype_of(number: Number) -> np.dtype:
    """Return the dtype of a number."""
    return COMPLEX[number.kind] if isinstance(number, Complex) else NUMPY[number.kind]


def kinds_of(dtype: np.dtype) -> tuple[str, ...]:
    """Return the kinds of the Vecs that make a number of this dtype: one, or two if complex.

    Examples
    --------
    >>> kinds_of(np.dtype(np.int32)), kinds_of(np.dtype(np.complex64))
    (('i32',), ('f32', 'f32'))
    """
    return (PARTS[dtype],) * 2 if dtype in PARTS else (KIND[dtype],)


def vecs(number: Number) -> tuple[Vec, ...]:
    """Return the Vecs that make up a number, in the order of `kinds_of`."""
    return (number.re, number.im) if isinstance(number, Complex) else (number,)


def of_vecs(parts: Sequence[Vec]) -> Number:
    """Return the number made up of Vecs, as `vecs` gave them."""
    return parts[0] if len(parts) == 1 else Complex(*parts)


def constant(e: Emitter, dtype: np.dtype, value: Any) -> Number:
    """Return a uniform constant."""
    if dtype in PARTS:
        value = complex(value)
        return Complex(*[e.constant(PARTS[dtype], part) for part in (value.real, value.imag)])
    return e.constant(KIND[dtype], value)


def convert(number: Number, dtype: np.dtype) -> Number:
    """Return a number as another dtype, as ``ndarray.astype`` gives it on this kind of machine.

    Complex numbers become real by dropping the imaginary part, and truth values by asking whether
    either part is not zero.

    Examples
    --------
    >>> from lanewise.codegen.emitter import Module
    >>> e = Emitter(Module(), group=8, parts=1)
    >>> convert(e.constant("f64", 2.75), np.dtype(np.int8)).value
    2
    >>> convert(e.constant("i64", 3), np.dtype(complex)).re
    <uniform f64 0x4008000000000000>
    """
    re, *im = vecs(number)
    if dtype in PARTS:
        kind = PARTS[dtype]
        return Complex(re.to(kind), im[0].to(kind) if im else re.e.constant(kind, 0.0))
    return truth(number) if KIND[dtype] == "b" else re.to(KIND[dtype])


def truth(number: Number) -> Vec:
    """Return whether a number counts as true: is not zero, or NaN."""
    if isinstance(number, Complex):
        return number.re.ne(0.0) | number.im.ne(0.0)
    return number.to("b")


def choose(condition: Vec, then: Number, otherwise: Number) -> Number:
    """Return one number where a condition holds, another elsewhere; both are of one dtype."""
    chosen = [select(condition, a, b) for a, b in zip(vecs(then), vecs(otherwise), strict=True)]
    return of_vecs(chosen)


def across(e: Emitter, found: Sequence[Number], combine: Callable[..., Any]) -> list[Number]:
    """Return the uniform numbers that all lanes' numbers combine to."""
    wide = [[v.spread() for v in vecs(x)] for x in found]
    parts, e.parts = e.parts, 1
    rows = [
        [of_vecs([Vec(e, v.kind, True, (v.parts[part],)) for v in x]) for x in wide]
        for part in range(parts)
    ]
    joined = reduce(combine, rows)
    half = e.group // 2
    while half:
        order = [lane ^ half for lane in range(e.group)]
        moved = [of_vecs([with_lanes(v, order) for v in vecs(x)]) for x in joined]
        joined = combine(joined, moved)
        half //= 2
    e.parts = parts
    return [of_vecs([e.lane(v, "i32 0") for v in vecs(x)]) for x in joined]


def with_lanes(x: Vec, sources: Sequence[int]) -> Vec:
    """Return a vector with other lanes, of the same part, in the places of its own."""
    parts = [x.e.shuffled(x.kind, x.e.group, sources, part) for part in x.parts]
    return Vec(x.e, x.kind, True, tuple(parts))
