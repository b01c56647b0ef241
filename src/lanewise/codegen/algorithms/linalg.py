"""Linear algebra of small matrices in a kernel, one in each lane: Cholesky, and elimination.

The methods are LAPACK's (E. Anderson et al., LAPACK Users' Guide, SIAM 1999): Cholesky's, and
Gaussian elimination with partial pivoting, rows being chosen by selects in registers and by gathers
in memory. Whether a matrix is singular, or not positive definite, is often for rounding errors to
say. Where it is so close, and where a number is not finite, the run ends: NumPy then has its say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from lanewise.codegen.addresses import plus
from lanewise.codegen.algorithms.tiles import (
    Tile,
    as_number,
    conjugate,
    epsilon,
    identity,
    less_product,
    magnitude,
    polar,
    product,
    real,
    real_dtype,
    scaled,
    stacked,
)
from lanewise.codegen.arrays import Array, Elements
from lanewise.codegen.builder import Builder
from lanewise.codegen.elementwise.complex_ufuncs import divide
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.mathlib.arithmetic import mantissa_exponent, scale
from lanewise.codegen.numbers import Number, choose, constant, dtype_of, of_vecs, vecs
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import BITS, Vec, select
from lanewise.ops.lapack import IN_LANES

#: A pivot that cancellation left so many roundings large may be zero as well.
ROUNDINGS = 4


def check_size(*sizes: int) -> None:
    if max(sizes) > IN_LANES:
        raise CannotCompile(f"matrices of {'x'.join(map(str, sizes))} are left to LAPACK")


def _factor_column(t: Tile, c: Any) -> None:
    """Compute a column of the factor from those before it."""
    n = t.shape[0]
    diagonal = real(t[c, c])
    rest = t.squares(((c, p) for p in t.range(c)), -diagonal)
    # NaN and infinity fail here as well.
    t.require(-rest > diagonal * (ROUNDINGS * epsilon(t.dtype)))
    root = (-rest).sqrt()
    t[c, c] = as_number(root, t.dtype)
    inverse = 1.0 / root
    for i in t.range(plus(c, 1), n):
        entry = t.total(
            t.range(c), t[i, c], lambda p, s, i=i: less_product(s, t[i, p], conjugate(t[c, p]))
        )
        t[i, c] = scaled(entry, inverse)


class Elimination:
    """Gaussian elimination with partial pivoting of `a`, right-hand sides `b` carried along.

    Afterwards the upper triangle of `a` is U, `inverses` are those of its diagonal, and `odd` says
    in which lanes rows were exchanged an odd number of times. What is singular, or so close that
    rounding errors decide, ends the run; with `allows_zero` a column of zeros does not.
    """

    def __init__(self, k: Builder, a: Tile, b: Tile | None, allows_zero: bool = False) -> None:
        self.k, self.a, self.b = k, a, b
        n = a.shape[0]
        dtype = real_dtype(a.dtype)
        kept = {"in_registers": a.in_registers}
        sums = Tile(k, dtype, 1, n, **kept)
        self.inverses = Tile(k, a.dtype, 1, n, **kept)
        self.odd = Tile(k, np.dtype(bool), 1, 1, **kept)
        self.odd[0, 0] = k.e.constant("b", False)
        for c in a.range(n):
            sums[0, c] = a.sizes(a.column(c))
        least, tiny = ROUNDINGS * epsilon(dtype) / max(n, 1), float(np.finfo(dtype).tiny)
        for c in a.range(n):
            self._exchange(c)
            pivot, whole = a[c, c], sums[0, c]
            # Not what is NaN or infinite either: it makes the bound so.
            ok = magnitude(pivot) > whole.fma(least, tiny)
            a.require(ok | whole.eq(0.0) if allows_zero else ok)
            self.inverses[0, c] = inverse = reciprocal(pivot)
            for i in a.range(plus(c, 1), n):
                factor = product(a[i, c], inverse)
                for tile, j in self._row(plus(c, 1)):
                    tile[i, j] = less_product(tile[i, j], factor, tile[c, j])

    def _row(self, c: Any) -> Iterator[tuple[Tile, Any]]:
        """Write loops over what a row consists of, from a column on: tiles, and their columns."""
        for j in self.a.range(c, self.a.shape[1]):
            yield self.a, j
        if self.b is not None:
            for j in self.b.range(self.b.shape[1]):
                yield self.b, j

    def _exchange(self, c: Any) -> None:
        """Bring the row with the first largest entry of a column up."""
        k, a, n = self.k, self.a, self.a.shape[0]
        first = magnitude(a[c, c])
        kind = f"i{BITS[first.kind]}"

        def larger(i: Any, found: Sequence[Number]) -> list[Number]:
            best, where = map(real, found)
            entry = magnitude(a[i, c])
            is_larger = entry > best
            return [select(is_larger, x, y) for x, y in ((entry, best), (number(i), where))]

        def number(i: Any) -> Vec:
            return k.index(i).to(kind)

        _, row = a.totals(a.range(plus(c, 1), n), [first, number(c)], larger)
        moved = row.ne(number(c))
        self.odd[0, 0] = self.odd[0, 0] ^ moved
        if a.in_registers:
            chosen = [(i, row.eq(i)) for i in range(c + 1, n)]
            for tile, j in self._row(c):
                top = new = tile[c, j]
                for i, here in chosen:
                    old = tile[i, j]
                    new = choose(here, old, new)
                    tile[i, j] = choose(here, top, old)
                tile[c, j] = new
            return
        row = row.to("i64")
        with k.e.when(k.e.any(moved)), k.loops.scope():
            for tile, j in self._row(c):
                top, new = tile[c, j], tile[row, j]
                tile[row, j] = top
                tile[c, j] = new


def reciprocal(x: Number) -> Any:
    one: Any = constant(x.e, dtype_of(x), 1)
    return one / x if isinstance(x, Vec) else divide(one, x)


def _substitute(t: Tile, b: Tile, inverses: Tile, upper: bool) -> None:
    """Solve a triangular system in place of its right-hand sides."""
    n = t.shape[0]
    for c in t.range(n - 1, -1, -1) if upper else t.range(n):
        for j in b.range(b.shape[1]):
            b[c, j] = product(b[c, j], inverses[0, c])
        for i in t.range(c) if upper else t.range(plus(c, 1), n):
            for j in b.range(b.shape[1]):
                b[i, j] = less_product(b[i, j], t[i, c], b[c, j])


def _raised(x: Vec, exponent: Vec) -> Vec:
    """Return ``x * 2**exponent``; a factor of a matrix has at most 32 of either's limits."""
    limit = 1000.0 if x.kind == "f64" else 120.0
    most = limit * 1.9
    exponent = exponent.greatest(-most).least(most)
    half = (exponent * 0.5).rint()
    unit = x.e.constant(x.kind, 1.0).spread_if(half.varying)
    return x * scale(unit, half) * scale(unit, exponent - half)


def _determinant(
    k: Builder, dtype: np.dtype, read: Callable[..., Number], n: int
) -> tuple[Any, Vec]:
    """Return a determinant as ``m`` and ``n`` with ``m * 2**n``: a product may be out of range."""
    check_size(n)
    t = Tile(k, dtype, n, n)
    t.fill(read)
    done = Elimination(k, t, None, allows_zero=True)
    wide = real_dtype(dtype)
    one = k.e.constant("f64" if wide.itemsize == 8 else "f32", 1.0)

    def step(c: Any, found: Sequence[Number]) -> list[Number]:
        value, exponent = found
        pivot = t[c, c]
        _, more = mantissa_exponent(magnitude(pivot), subnormal=False)
        # A zero has no exponent of its own, and needs none.
        more = select(magnitude(pivot).eq(0.0), 0.0, more)
        down = scale(one.spread_if(more.varying), -more)
        return [product(value, scaled(pivot, down)), real(exponent) + more]

    sign = as_number(select(done.odd[0, 0], -one, one), dtype)
    value, exponent = t.totals(t.range(n), [sign, constant(k.e, wide, 0)], step)
    t.finish()
    return value, real(exponent)


class LinearAlgebra:
    """Cholesky factors, solutions and determinants of small matrices; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k
        #: Of Cholesky factors in registers, and of their transposes, their elements: "lower" or
        #: "upper".
        self.factors: dict[tuple[Number, ...], str] = {}

    def cholesky(self, type_: Any, x: Array, upper: bool) -> Array:
        """Return the Cholesky factors of matrices; only one triangle of each is read."""
        n, dtype = type_.shape[-1], type_.dtype
        zero = constant(self.k.e, dtype, 0)

        def core(read: Callable[..., Number]) -> list[Array]:
            # The upper factor is the lower one's conjugate transpose: so it is written.
            t = Tile(self.k, dtype, n, n, is_adjoint=upper)
            for row in t.range(n):
                for column in t.range(plus(row, 1)):
                    t[row, column] = conjugate(read(column, row)) if upper else read(row, column)
                for column in t.range(plus(row, 1), n):
                    t[row, column] = zero
            for c in t.range(n):
                _factor_column(t, c)
            found = t.finish()
            if isinstance(found, Elements):  # what is in memory may be overwritten there
                rows = [found.items[i * n : (i + 1) * n] for i in range(n)]
                kinds = ("upper", "lower") if upper else ("lower", "upper")
                for kind, items in zip(kinds, (rows, zip(*rows, strict=True)), strict=True):
                    self.factors[tuple(chain(*items))] = kind
            return [found]

        return stacked(self.k, [type_], dtype, core, x)[0]

    def solve(self, type_: Any, *operands: Array) -> Array:
        """Return the solutions of linear systems, of matrices and right-hand sides.

        Of matrices alone it gives the inverses, as NumPy finds them: by solving for a unit matrix.
        """
        k = self.k
        n, columns = type_.shape[-2:]
        dtype = type_.dtype
        is_known = isinstance(operands[0], Elements) and len(operands) == 2
        triangle = self.factors.get(tuple(operands[0].items)) if is_known else None

        def core(left: Callable[..., Number], *right: Callable[..., Number]) -> list[Array]:
            kept = {"in_registers": is_small((n, n)) and is_small((n, columns))}
            t, b = Tile(k, dtype, n, n, **kept), Tile(k, dtype, n, columns, **kept)
            t.fill(left)
            b.fill(*right or [identity(k, dtype)])
            if triangle is None:
                _substitute(t, b, Elimination(k, t, b).inverses, upper=True)
            else:  # a factor of Cholesky's is finite, its diagonal positive: it is taken as it is
                inverses = Tile(k, dtype, 1, n, **kept)
                for c in t.range(n):
                    inverses[0, c] = as_number(1.0 / real(t[c, c]), dtype)
                _substitute(t, b, inverses, triangle == "upper")
            t.finish()
            return [b.finish()]

        return stacked(k, [type_], dtype, core, *operands)[0]

    def det(self, type_: Any, x: Array) -> Array:
        """Return the determinants of matrices."""

        def core(read: Callable[..., Number]) -> list[Array]:
            value, exponent = _determinant(self.k, type_.dtype, read, x.shape[-1])
            return [self.k.scalar(of_vecs([_raised(part, exponent) for part in vecs(value)]))]

        return stacked(self.k, [type_], type_.dtype, core, x)[0]

    def slogdet(self, types: Any, x: Array) -> list[Array]:
        """Return the signs of determinants, and the logarithms of their absolute values."""
        k = self.k
        dtype = types[0].dtype

        def core(read: Callable[..., Number]) -> list[Array]:
            value, exponent = _determinant(k, dtype, read, x.shape[-1])
            size, sign = polar(value)
            m, more = mantissa_exponent(size)
            whole = exponent + more
            logarithm = whole.fma(float(np.log(2.0)), real(k.ufunc(np.log, m)))
            is_zero = size.eq(0.0)
            found = select(is_zero, -np.inf, logarithm)
            return [k.scalar(choose(is_zero, value, sign)), k.scalar(found)]

        return stacked(k, types, dtype, core, x)
