"""Pseudoinverses and least squares, by singular values: what counts as zero is said by `rcond`.

NumPy has least squares of one matrix only; it is given a stacked form here.
"""

from __future__ import annotations

import numpy as np

from lanewise.ir.dims import dim_min
from lanewise.ir.types import array_type
from lanewise.ops import differentials
from lanewise.ops.contraction import stacked
from lanewise.ops.facts import Kind
from lanewise.ops.linalg import POSITIVE, check_matrix, lapack_dtype, real_dtype, svd
from lanewise.ops.registry import absent, op, sample
from lanewise.ops.shapes import broadcast_shapes


@op
class pinv:
    """The pseudoinverses of matrices, singular values up to ``rcond`` times the greatest as zero.

    An operation of its own as it has a derivative where the singular vectors have none.
    """

    kind, numpy_ns = Kind.MATRIX, 200.0

    raises = "SVD did not converge"

    def type(x, rcond, *, hermitian: bool):
        dtype = check_matrix(x, square=hermitian)
        *lead, m, n = x.shape
        return array_type(dtype, (*broadcast_shapes(tuple(lead), rcond.shape), n, m))

    def numpy(x, rcond, *, hermitian):
        lead = np.broadcast_shapes(x.shape[:-2], np.shape(rcond))
        return np.linalg.pinv(np.broadcast_to(x, (*lead, *x.shape[-2:])), rcond, hermitian)

    batch = stacked(2, 0)

    lanes = absent("what counts as zero is LAPACK's to say")

    def jvp(d, tangents, y, x, rcond, *, hermitian):
        t = tangents[0]
        if t is None:
            return None
        if hermitian:
            x, t = (differentials.hermitian(d, v, "L") for v in (x, t))
        return _pinv_moved(d, x, y, rcond, t)

    samples = (
        sample((4, 2), np.array(1e-10), hermitian=False),
        sample((2, 2, 3), np.array([1e-10, 0.9]), hermitian=False),
        sample(POSITIVE, np.array(1e-10), hermitian=True),
    )


def _pinv_moved(d, x, y, rcond, t):
    """Return the tangent of the pseudoinverses y of x."""
    factors = d.emit(svd, x, full_matrices=False)
    limit = rcond * np.max(factors[1], axis=-1)
    return differentials.pseudoinverse(d, x, y, limit, factors, t)


@op
class lstsq:
    """Least squares: the solution, sums of squared residuals, the rank, and singular values of a.

    For a (..., m, n) and y (..., m, k). Residuals are given for each right-hand side where a has
    more rows than columns. NumPy gives none where the rank is deficient; a shape cannot depend on
    data, so they are computed there too.
    """

    kind, numpy_ns, conditions = Kind.MATRIX, 200.0, ""
    raises = "SVD did not converge in Linear Least Squares"

    def type(a, y, rcond):
        dtype = np.result_type(check_matrix(a, square=False), lapack_dtype(y.dtype))
        *_, m, n = a.shape
        *_, rows, k = y.shape
        if m != rows:
            raise np.linalg.LinAlgError("Incompatible dimensions")
        lead = broadcast_shapes(a.shape[:-2], y.shape[:-2], rcond.shape)
        return (
            array_type(dtype, (*lead, n, k)),
            array_type(real_dtype(dtype), (*lead, k if m > n else 0)),
            array_type(np.dtype(np.intc), lead),
            array_type(real_dtype(dtype), (*lead, dim_min(m, n))),
        )

    def numpy(a, y, rcond):
        if a.ndim != 2 or y.ndim != 2 or np.ndim(rcond):
            return _stacked_least_squares(a, y, np.asarray(rcond))
        x, residuals, rank, singular = np.linalg.lstsq(a, y, float(rcond))
        m, n = a.shape
        if m > n and rank < n:
            residuals = np.sum(np.square(np.abs(y - a @ x)), axis=0, dtype=residuals.dtype)
        return x, residuals, np.intc(rank), singular

    batch = stacked(2, 2, 0)

    lanes = absent("what counts as zero is LAPACK's to say")

    def jvp(d, tangents, results, a, y, rcond):
        x, residuals, _, singular = results
        t, u, _ = tangents
        if t is None and u is None:
            return None, None, None, None
        a, y = (v.astype(x.dtype) for v in (a, y))
        t, u = (None if v is None else v.astype(x.dtype) for v in (t, u))
        cut = np.where(rcond < 0, np.finfo(singular.dtype).eps, rcond)
        inverse = d.emit(pinv, a, cut, hermitian=False)
        parts, change = [], []
        if t is not None:
            parts.append(_pinv_moved(d, a, inverse, cut, t) @ y)
            change.append(-(t @ x))
        if u is not None:
            parts.append(inverse @ u)
            change.append(u)
        moved = sum(parts[1:], parts[0])
        moved_residuals = None
        if residuals.size:
            turned = differentials.products(y - a @ x, sum(change, -(a @ moved)))
            moved_residuals = 2 * differentials.real_of(turned)
        values = None
        if t is not None:
            vectors, _, vh = d.emit(svd, a, full_matrices=False)
            values = differentials.singular_values(vectors, vh, t)
        return moved, moved_residuals, None, values

    samples = (
        sample((4, 2), (4, 1), np.array(1e-10)),
        sample((2, 3), (2, 2), np.array(1e-10)),
        sample(np.ones((4, 2)), (4, 3), np.array(1e-10)),
        sample((3, 4, 2), (4, 2), np.array([1e-10, 0.5, -1.0])),
    )


def _stacked_least_squares(a, y, rcond):
    """Solve a stack of problems by singular value decomposition, as LAPACK's gelsd solves one.

    A matrix that all share is decomposed once. (Giving LAPACK all right-hand sides in one call
    would let them see each other: it scales them together.)
    """
    *_, m, n = a.shape
    lead = np.broadcast_shapes(a.shape[:-2], y.shape[:-2], rcond.shape)
    dtype = lapack_dtype(a.dtype, y.dtype)
    a, y = a.astype(dtype), y.astype(dtype)
    u, singular, vh = np.linalg.svd(a, full_matrices=False)
    epsilon = np.finfo(singular.dtype).eps
    cut = np.where(rcond < 0, epsilon, rcond)[..., None]
    kept = singular > cut * singular.max(axis=-1, keepdims=True, initial=0)
    inverse = np.divide(1, singular, out=np.zeros(kept.shape, singular.dtype), where=kept)
    x = vh.swapaxes(-1, -2).conj() @ (inverse[..., None] * (u.swapaxes(-1, -2).conj() @ y))
    residuals = np.sum(np.square(np.abs(y - a @ x)), axis=-2) if m > n else np.empty(0)
    return (
        np.broadcast_to(x, (*lead, *x.shape[-2:])),
        np.broadcast_to(residuals, (*lead, residuals.shape[-1])).astype(singular.dtype),
        np.broadcast_to(np.sum(kept, axis=-1, dtype=np.intc), lead),
        np.broadcast_to(singular, (*lead, *singular.shape[-1:])),
    )
