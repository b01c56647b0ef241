"""Differentials of matrix decompositions, in plain NumPy on tensors.

Each gives the tangents of a decomposition's factors from the factors themselves and the tangent of
the matrix. They are derived in M. B. Giles, "Collected matrix derivative results for forward and
reverse mode algorithmic differentiation" (2008); of the singular value decomposition in J.
Townsend, "Differentiating the singular value decomposition" (2016); of wide QR in D. Roberts and
L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms" (2020).

Factors that are not unique are differentiated in the gauge in which they move least: a complex
vector keeps its phase, and the vectors that a ``full`` or ``complete`` factor adds do not turn
among themselves. What does not depend on that choice has its true derivative.

Where eigenvalues or singular values are equal, their vectors have no derivative: their tangents are
infinite or NaN there, as with JAX and PyTorch. The values have one (one of the many, if they are
equal) as long as the vectors' tangents are not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ops.creation import iota


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes of a stack of matrices."""
    swapped = np.swapaxes(x, -1, -2)
    return np.conjugate(swapped) if x.dtype.kind == "c" else swapped


def _places(d: Any, n: int) -> tuple[Any, Any]:
    """Return the numbers of the rows, as a column, and those of the columns."""
    i = d.emit(iota, length=n, dtype=np.dtype(np.intp))
    return i[:, None], i


def is_diagonal(d: Any, n: int) -> Any:
    """Return a matrix of truth values: where its diagonal is."""
    row, column = _places(d, n)
    return row == column


def below(d: Any, x: Any) -> Any:
    """Return matrices with zeros on and above their diagonals."""
    row, column = _places(d, x.shape[-1])
    return x * (row > column).astype(x.dtype)


def diagonal_of(d: Any, x: Any) -> Any:
    """Return matrices with zeros everywhere else than on their diagonals."""
    return x * is_diagonal(d, x.shape[-1]).astype(x.dtype)


def real_of(x: Any) -> Any:
    """Return the real part of complex numbers, and real ones as they are."""
    return x.real if x.dtype.kind == "c" else x


def products(x: Any, y: Any) -> Any:
    """Return the diagonals of ``adjoint(x) @ y``, or their real parts, as a last axis."""
    return np.sum((np.conjugate(x) if x.dtype.kind == "c" else x) * y, axis=-2)


def hermitian(d: Any, x: Any, uplo: str) -> Any:
    """Return the Hermitian matrices of which LAPACK reads one triangle of each x."""
    low = below(d, x if uplo == "L" else np.swapaxes(x, -1, -2))
    if uplo == "U" and x.dtype.kind == "c":
        low = np.conjugate(low)
    return low + adjoint(low) + diagonal_of(d, real_of(x))


def cholesky(d: Any, low: Any, inverse: Any, t: Any) -> Any:
    """Return the tangent of L where A = L L^H, of the Hermitian tangent of A: L Φ(L⁻¹ dA L⁻ᴴ).

    Φ takes the part below the diagonal and half of the diagonal.
    """
    inner = inverse @ t @ adjoint(inverse)
    half = diagonal_of(d, real_of(inner)) * 0.5
    return low @ (below(d, inner) + half)


def qr_tall(d: Any, q: Any, r: Any, inverse: Any, t: Any) -> tuple[Any, Any]:
    """Return the tangents of Q (m, n) and R (n, n), m >= n: with the diagonal of R real."""
    right = t @ inverse
    inner = adjoint(q) @ right
    low = below(d, inner)
    turned = low - adjoint(low)  # skew-Hermitian: how the columns of Q turn among themselves
    if inner.dtype.kind == "c":
        turned = turned + diagonal_of(d, inner - inner.real)
    return right + q @ (turned - inner), (inner - turned) @ r


def added_columns(d: Any, moved: Any, q: Any, rest: Any) -> Any:
    """Return the tangent of columns that complete others to a basis: they stay orthogonal."""
    return -(q @ (adjoint(moved) @ rest))


def eigenvalues_hermitian(v: Any, t: Any) -> Any:
    """Return the tangents of the eigenvalues of Hermitian matrices with eigenvectors v."""
    return real_of(products(v, t @ v))


def eigenvectors(d: Any, w: Any, v: Any, inverse: Any, t: Any) -> Any:
    """Return the tangents of eigenvectors, no part of which lies along the vector itself."""
    return v @ (inverse @ (t @ v) * _inverse_gaps(d, w[..., None, :] - w[..., None]))


def _inverse_gaps(d: Any, gaps: Any) -> Any:
    """Return one over differences between eigenvalues, zero on the diagonal."""
    own = is_diagonal(d, gaps.shape[-1])
    zero, one = np.zeros((), gaps.dtype), np.ones((), gaps.dtype)
    return np.where(own, zero, 1 / np.where(own, one, gaps))


def as_lapack_scales(v: Any, t: Any) -> Any:
    """Return the tangents of eigenvectors that LAPACK scales.

    Of a vector of `geev` the norm is one, and the component of greatest modulus is real.
    """
    t = t - v * products(v, t).real[..., None, :]
    at = np.argmax(np.abs(v), axis=-2)[..., None, :]
    turn = np.take_along_axis(t, at, -2) / np.take_along_axis(v, at, -2)
    return t - v * (turn.imag * 1j)


def singular_values(u: Any, vh: Any, t: Any) -> Any:
    """Return the tangents of singular values."""
    return real_of(products(u, t @ adjoint(vh)))


def svd(d: Any, u: Any, s: Any, vh: Any, t: Any) -> tuple[Any, Any, Any]:
    """Return the tangents of U (m, k), S (k) and Vh (k, n), k the smaller of m and n."""
    (m, k), n = u.shape[-2:], vh.shape[-1]
    v, row = adjoint(vh), s[..., None, :]
    right, left = t @ v, adjoint(t) @ u
    inner = adjoint(u) @ right
    moved = singular_values(u, vh, t)
    column = s[..., None]
    inverse = _inverse_gaps(d, (row - column) * (row + column))
    # U^H dU and V^H dV, from dA = dU S V^H + U dS V^H + U S dV^H.
    turn_u = inverse * (inner * row + adjoint(inner) * column)
    turn_v = inverse * (column * inner + adjoint(inner) * row)
    safe = np.where(s == 0, np.ones((), s.dtype), s)[..., None, :]
    if inner.dtype.kind == "c":  # the phases: in U alone
        turn_u = turn_u + diagonal_of(d, inner - inner.real) / safe
    du, dv = u @ turn_u, v @ turn_v
    if m > k:
        du = du + (right - u @ inner) / safe
    if n > k:
        dv = dv + (left - v @ (vh @ left)) / safe
    return du, moved, adjoint(dv)


def pseudoinverse(d: Any, x: Any, p: Any, limit: Any, factors: Any, t: Any) -> Any:
    """Return the tangent of P, the pseudoinverse of A without singular values up to a limit.

    Where those are zero and stay so, ``dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P``
    (G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
    problems whose variables separate", 1973). It does not matter then whether others are equal.
    Where they are not zero, they turn with those that are kept, of which `factors` tell.
    """
    h, ph = adjoint(t), adjoint(p)
    moved = p @ (ph @ (h - (h @ x) @ p)) + ((h - p @ (x @ h)) @ ph) @ p - p @ t @ p
    u, s, vh = factors
    row, column = s[..., None, :], s[..., None]
    high, low = np.maximum(row, column), np.minimum(row, column)
    turns = (low > 0) & (low <= limit[..., None, None]) & (high > limit[..., None, None])
    one, zero = np.ones((), s.dtype), np.zeros((), moved.dtype)
    high, low = np.where(turns, high, one), np.where(turns, low, 0 * one)
    ratio, gap = low / high, (high - low) * (high + low)
    inner = adjoint(u) @ t @ adjoint(vh)
    turned = (ratio * inner + adjoint(inner)) * (ratio / gap)
    return moved + adjoint(vh) @ adjoint(np.where(turns, turned, zero)) @ adjoint(u)


def adjugate(x: Any, t: Any) -> Any:
    """Return the tangent of the adjugates of matrices of up to three rows.

    They are polynomials, by the theorem of Cayley and Hamilton, for singular matrices too.
    """
    n = x.shape[-1]
    if n < 2:
        return t * 0
    eye = np.eye(n, dtype=x.dtype)
    trace_t = _trace(t)
    if n == 2:
        return trace_t * eye - t
    trace = _trace(x)
    return x @ t + t @ x - trace * t - trace_t * x + (trace * trace_t - _trace(x @ t)) * eye


def adjugate_moved(inverse: Any, det: Any, t: Any, u: Any) -> Any:
    """Return the second derivative of the adjugates of regular matrices, in two directions."""
    a, b, f = inverse @ t, inverse @ u, det[..., None, None]
    first, second = _trace(a), _trace(b)
    mixed = (first * second - _trace(a @ b)) * inverse
    return f * (mixed - (first * b + second * a - a @ b - b @ a) @ inverse)


def _trace(x: Any) -> Any:
    return np.trace(x, axis1=-2, axis2=-1)[..., None, None]


def phase(u: np.ndarray, vh: np.ndarray) -> np.ndarray:
    """Return the determinants of products of unitary matrices."""
    return (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def product_without(s: np.ndarray, count: int) -> np.ndarray:
    """Return the products of all numbers of the last axis but one, or but each two of them.

    Those of two are matrices, with zeros on their diagonals.
    """
    zero = s < np.finfo(s.dtype).tiny
    safe = np.where(zero, np.ones((), s.dtype), s)
    zeros, total = zero.sum(-1, keepdims=True), safe.prod(-1, keepdims=True)
    if count == 1:
        return np.where(zeros == zero, total / safe, np.zeros((), s.dtype))
    both = zero[..., None] + zero[..., None, :].astype(int)
    is_rest = (zeros[..., None] == both) & ~np.eye(s.shape[-1], dtype=bool)
    rest = total[..., None] / safe[..., None] / safe[..., None, :]
    return np.where(is_rest, rest, np.zeros((), s.dtype))


def adjoint_of(x: np.ndarray) -> np.ndarray:
    """Return the conjugate transposes of matrices of NumPy's."""
    return x.swapaxes(-1, -2).conj()
