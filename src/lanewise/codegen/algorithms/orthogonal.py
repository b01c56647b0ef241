"""QR factors by Householder's reflections, eigenvalues and singular values by Jacobi's rotations.

Reflections are chosen as LAPACK's geqrf chooses them, so that signs agree. Rotations (C. G. J.
Jacobi, 1846; in cyclic order, G. E. Forsythe and P. Henrici, Trans. AMS 94, 1960; one-sided, M. R.
Hestenes, J. SIAM 6, 1958) go on until the last example is diagonal: a sweep is the same for all
lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lanewise.codegen.addresses import plus
from lanewise.codegen.algorithms.linalg import ROUNDINGS, check_size, reciprocal
from lanewise.codegen.algorithms.sorting import in_order
from lanewise.codegen.algorithms.tiles import (
    Tile,
    as_number,
    conjugate,
    epsilon,
    identity,
    less_product,
    plus_product,
    polar,
    product,
    real,
    real_dtype,
    scaled,
    squared,
    stacked,
)
from lanewise.codegen.arrays import Array
from lanewise.codegen.builder import Builder
from lanewise.codegen.numbers import Number, choose, constant, of_vecs, vecs
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import Vec, select

#: Sweeps after which an example is left to NumPy; six to ten are usual.
SWEEPS = 30


def _difference(a: Number, b: Number) -> Any:
    return of_vecs([x - y for x, y in zip(vecs(a), vecs(b), strict=True)])


def _in_range(squares: Vec, size: Vec) -> Vec:
    """Whether a sum of squares is good for its root: neither lost to overflow nor to underflow.

    `size` is the sum of absolute values: all may be zero. NaN and infinity are not in range.
    """
    high, low = (1e300, 1e-250) if squares.kind == "f64" else (1e37, 1e-22)
    return ((squares > low) & (squares < high)) | size.eq(0.0)


def _reflect(t: Tile, factors: Tile, whole: Vec, c: Any) -> None:
    """Turn a column into one with zeros below the diagonal, which it is kept in; see dlarfg.

    `whole` is the sum of squares of the column as it was.
    """
    k = t.k
    m, n = t.shape
    alpha = t[c, c]
    below = t.squares(t.column(c, plus(c, 1)))
    first, *rest = vecs(alpha)
    # A column that is real above zeros stays as it is.
    stays = t.sizes(t.column(c, plus(c, 1))).eq(0.0)
    for part in rest:
        stays = stays & part.eq(0.0)
    squares = squared(alpha, below)
    # Where only rounding errors are left of a column, they decide where it points: as LAPACK's do.
    left = squares > whole * (ROUNDINGS * epsilon(t.dtype)) ** 2
    t.require(left | stays)
    beta = as_number(squares.sqrt().copysign(-first), t.dtype)
    factor = scaled(_difference(beta, alpha), 1.0 / select(stays, 1.0, real(beta)))
    factors[0, c] = factor = choose(stays, constant(k.e, t.dtype, 0), factor)
    inverse = reciprocal(choose(stays, constant(k.e, t.dtype, 1), _difference(alpha, beta)))
    t[c, c] = choose(stays, alpha, beta)
    for i in t.range(plus(c, 1), m):
        t[i, c] = product(t[i, c], inverse)
    for j in t.range(plus(c, 1), n):
        _apply(t, c, t, j, conjugate(factor))


def _apply(t: Tile, c: Any, target: Tile, j: Any, factor: Number) -> None:
    """Apply the reflection that a column of `t` holds to a column of another tile."""
    m = t.shape[0]
    start = target[c, j]
    dot = t.total(
        t.range(plus(c, 1), m),
        start,
        lambda i, s: plus_product(s, conjugate(t[i, c]), target[i, j]),
    )
    dot = product(dot, factor)
    target[c, j] = _difference(target[c, j], dot)
    for i in t.range(plus(c, 1), m):
        target[i, j] = less_product(target[i, j], t[i, c], dot)


def _rotation(gap: Vec, apart: Number) -> tuple[Vec, Any]:
    """Return cosine and sine of the rotation that makes two rows and columns diagonal.

    They are ``[[p, apart], [conj(apart), p + gap]]``. The sine has the phase of `apart`.
    """
    size, phase = polar(apart)
    twice = size + size
    whole = gap.abs() + gap.fma(gap, twice * twice).sqrt()
    tangent = (twice / select(whole.eq(0.0), 1.0, whole)).copysign(gap)
    cosine = 1.0 / tangent.fma(tangent, 1.0).sqrt()
    return cosine, scaled(phase, tangent * cosine)


def _rotated(p: Number, q: Number, cosine: Vec, sine: Number) -> tuple[Any, Any]:
    """Return ``p * cosine - q * conj(sine)`` and ``p * sine + q * cosine``."""
    return (
        less_product(scaled(p, cosine), q, conjugate(sine)),
        plus_product(scaled(q, cosine), p, sine),
    )


def _sweeps(k: Builder, sweep: Callable[[], Vec]) -> None:
    """Write sweeps until none says in an active lane that it has to be followed by another."""
    e = k.e
    going = e.slot("b", k.in_lanes, e.constant("b", True))
    turns = e.slot("i64", False, e.constant("i64", 0))

    def turn() -> None:
        turns.set(turns.get() + 1)
        going.set(sweep())
        k.fail(going.get() & (turns.get() >= SWEEPS))

    with k.loops.scope():
        e.repeat(lambda: k.loops.both(going.get()), turn)


def _pairs(t: Tile, n: int, first: int = 1) -> Iterator[tuple[Any, Any]]:
    """Write loops over pairs of numbers below `n`, the second greater by at least `first`."""
    return ((p, q) for p in t.range(n) for q in t.range(plus(p, first), n))


def _diagonalize(k: Builder, t: Tile) -> None:
    n, wide = t.shape[0], real_dtype(t.dtype)

    apart = t.squares(_pairs(t, n))
    squares = t.squares(((p, p) for p in t.range(n)), apart + apart)
    k.fail(~_in_range(squares, t.sizes(_pairs(t, n, 0))))
    enough = squares * (epsilon(wide) / 4) ** 2

    def sweep() -> Vec:
        for p, q in _pairs(t, n):
            _rotate(t, p, q)
        return t.squares(_pairs(t, n)) > enough

    _sweeps(k, sweep)


def _rotate(t: Tile, p: Any, q: Any) -> None:
    """Make one element above the diagonal zero."""
    n = t.shape[0]
    apart = t[p, q]
    low, high = real(t[p, p]), real(t[q, q])
    cosine, sine = _rotation(high - low, apart)
    # tangent * |apart| goes from one diagonal element to the other.
    moved = real(product(sine, conjugate(apart))) * (1.0 / cosine)
    t[p, p] = as_number(low - moved, t.dtype)
    t[q, q] = as_number(high + moved, t.dtype)
    t[p, q] = constant(t.k.e, t.dtype, 0)
    for r in t.range(p):
        t[r, p], t[r, q] = _rotated(t[r, p], t[r, q], cosine, sine)
    for r in t.range(plus(p, 1), q):
        left, right = _rotated(conjugate(t[p, r]), t[r, q], cosine, sine)
        t[p, r], t[r, q] = conjugate(left), right
    for r in t.range(plus(q, 1), n):
        left, right = _rotated(conjugate(t[p, r]), conjugate(t[q, r]), cosine, sine)
        t[p, r], t[q, r] = conjugate(left), conjugate(right)


def _products(p: Number, q: Number, a: Vec, b: Vec, dot: Number) -> list[Number]:
    return [squared(p, a), squared(q, b), plus_product(dot, conjugate(p), q)]


def _make_orthogonal(k: Builder, t: Tile) -> None:
    rows, columns = t.shape
    wide = real_dtype(t.dtype)
    nothing = constant(k.e, wide, 0)
    squares = real(
        t.total(t.range(columns), nothing, lambda c, s: real(s) + t.squares(t.column(c)))
    )
    size = t.sizes(k.loops.indices(t.shape, unroll=t.in_registers))
    k.fail(~_in_range(squares, size))
    if columns == 1:
        return
    slack = (epsilon(wide) * rows) ** 2
    # Columns of rounding errors need not be orthogonal to each other.
    least = squares * (epsilon(wide) / 4) ** 2

    def sweep() -> Vec:
        more = k.e.slot("b", k.in_lanes, k.e.constant("b", False))
        for p, q in _pairs(t, columns):
            a, b, dot = t.totals(
                t.range(rows),
                [nothing, nothing, constant(k.e, t.dtype, 0)],
                lambda i, s, p=p, q=q: _products(t[i, p], t[i, q], *s),
            )
            square = squared(dot, k.e.constant(a.kind, 0.0))
            skewed = (square > a * b * slack) & (square > least * least)
            more.set(more.get() | skewed)
            cosine, sine = _rotation(b - a, dot)
            for i in t.range(rows):
                t[i, p], t[i, q] = _rotated(t[i, p], t[i, q], cosine, sine)
        return more.get()

    _sweeps(k, sweep)


class Orthogonal:
    """What orthogonal transformations of small matrices give; a part of the builder."""

    def __init__(self, k: Builder) -> None:
        self.k = k

    def qr(self, types: Sequence[Any], x: Array, mode: str) -> list[Array]:
        """Return QR factors of matrices in one of NumPy's modes."""
        k = self.k
        m, n = x.shape[-2:]
        check_size(m, n)
        dtype = types[0].dtype
        count = min(m, n)

        def core(read: Callable[..., Number]) -> list[Array]:
            height = m if mode == "complete" else count
            kept = {"in_registers": is_small((m, n)) and is_small((m, height))}
            t = Tile(k, dtype, m, n, **kept)
            t.fill(read)
            factors = Tile(k, dtype, 1, count, **kept)
            sizes = Tile(k, real_dtype(dtype), 1, count, **kept)
            for c in t.range(count):
                sizes[0, c] = whole = t.squares(t.column(c))
                t.require(_in_range(whole, t.sizes(t.column(c))))
            for c in t.range(count):
                _reflect(t, factors, sizes[0, c], c)
            t.finish()
            if mode == "raw":
                raw = Tile(k, dtype, n, m, **kept)
                raw.fill(lambda a, b: t[b, a])
                return [raw.finish(), factors.finish()]
            r = Tile(k, dtype, height, n, **kept)
            r.fill(lambda a, b: constant(k.e, dtype, 0))
            for row in r.range(count):
                for column in r.range(row, n):
                    r[row, column] = t[row, column]
            if mode == "r":
                return [r.finish()]
            q = Tile(k, dtype, m, height, **kept)
            q.fill(identity(k, dtype))
            for c in q.range(count - 1, -1, -1):
                for j in q.range(c, height):
                    _apply(t, c, q, j, factors[0, c])
            return [q.finish(), r.finish()]

        return stacked(k, types, dtype, core, x)

    def eigvalsh(self, type_: Any, x: Array, uplo: str) -> Array:
        """Return the eigenvalues of Hermitian matrices, ascending; one triangle is read."""
        n = x.shape[-1]
        wide, dtype = type_.dtype, np.result_type(type_.dtype, x.dtype)
        lower = uplo.upper() == "L"

        def core(read: Callable[..., Number]) -> list[Array]:
            t = Tile(self.k, dtype, n, n, is_kept=True)  # of which the upper triangle counts
            for p in t.range(n):
                t[p, p] = as_number(real(read(p, p)), dtype)
                for q in t.range(plus(p, 1), n):
                    t[p, q] = conjugate(read(q, p)) if lower else read(p, q)
            if n > 1:
                _diagonalize(self.k, t)
            items = [real(t[p, p]) for p in range(n)]
            return [self.k.elements(wide, (n,), in_order(items))]

        return stacked(self.k, [type_], dtype, core, x)[0]

    def svdvals(self, type_: Any, x: Array) -> Array:
        """Return the singular values of matrices, descending."""
        m, n = x.shape[-2:]
        wide, dtype = type_.dtype, np.result_type(type_.dtype, x.dtype)
        flipped = m < n
        rows, columns = (n, m) if flipped else (m, n)

        def core(read: Callable[..., Number]) -> list[Array]:
            t = Tile(self.k, dtype, rows, columns, is_kept=True)
            t.fill(lambda a, b: conjugate(read(b, a)) if flipped else read(a, b))
            if columns:
                _make_orthogonal(self.k, t)
            items: list[Number] = [t.squares(t.column(c)).sqrt() for c in range(columns)]
            return [self.k.elements(wide, (columns,), in_order(items)[::-1])]

        return stacked(self.k, [type_], dtype, core, x)[0]
