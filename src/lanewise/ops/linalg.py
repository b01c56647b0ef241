"""Linear algebra on stacks of matrices, the last two axes, by NumPy's LAPACK.

Every one of these maps over leading axes by itself, so one batching rule serves the family. Least
squares, of which NumPy has no stacked form, is given one here.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from lanewise.ir.dims import dim_min
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.contraction import align_loops
from lanewise.ops.registry import Batch, absent, op, sample, spread
from lanewise.ops.shapes import broadcast_shapes

_MATRIX = spread((3, 3)) + 3 * np.eye(3)
_POSITIVE = _MATRIX @ _MATRIX.T
_STACK = np.stack([_POSITIVE, _MATRIX @ _MATRIX.T + np.eye(3)])


def _check_matrix(x: ArrayType, square: bool = True) -> np.dtype:
    """Return the dtype that LAPACK computes in, or raise NumPy's error."""
    if x.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return lapack_dtype(x.dtype)


def lapack_dtype(*dtypes: np.dtype) -> np.dtype:
    """Return what LAPACK's results are given in: single only where no operand is wider."""
    for dtype in dtypes:
        if dtype.char in "egG":
            raise TypeError(f"array type {dtype.name} is unsupported in linalg")
    return np.result_type(*[dtype if dtype.kind in "fc" else np.float64 for dtype in dtypes])


def _real(dtype: np.dtype) -> np.dtype:
    return dtype.type(0).real.dtype


@op
class cholesky:
    """The lower (or upper) triangular factor of positive definite matrices."""

    def type(x, *, upper: bool):
        return array_type(_check_matrix(x), x.shape)

    def numpy(x, *, upper):
        return np.linalg.cholesky(x, upper=upper)

    def batch(b: Batch, x, **params):
        return cholesky(x, **params)

    def lanes(k, types, x, *, upper):
        return k.cholesky(types[0], x, upper)

    samples = (sample(_POSITIVE, upper=False), sample(_STACK, upper=True))


@op
class solve:
    """The solutions X of A X = B for stacks of matrices A (..., n, n) and B (..., n, k)."""

    def type(a, y):
        dtype = np.result_type(_check_matrix(a), lapack_dtype(y.dtype))
        if y.ndim < 2:
            raise ValueError(
                "solve: Input operand 1 does not have enough dimensions (has "
                f"{y.ndim}, gufunc core with signature (m,m),(m,n)->(m,n) requires 2)"
            )
        if a.shape[-1] != y.shape[-2]:
            raise ValueError(
                "solve: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
                f"signature (m,m),(m,n)->(m,n) (size {y.shape[-2]} is different from {a.shape[-1]})"
            )
        lead = broadcast_shapes(a.shape[:-2], y.shape[:-2])
        return array_type(dtype, (*lead, *y.shape[-2:]))

    def numpy(a, y):
        return np.linalg.solve(a, y)

    def batch(b: Batch, a, y):
        return solve(*align_loops(b, (a, y), [2, 2]))

    def lanes(k, types, a, y):
        return k.solve(types[0], a, y)

    samples = (sample(_MATRIX, (3, 2)), sample(_STACK, (3, 1)), sample(_MATRIX, (3, 0)))


@op
class inv:
    """The inverses of square matrices; of a singular one an error, or NaN where not `strict`."""

    def type(x, *, strict: bool = True):
        return array_type(_check_matrix(x), x.shape)

    def numpy(x, *, strict):
        try:
            return np.linalg.inv(x)
        except np.linalg.LinAlgError:
            if strict:
                raise
        result = np.full(x.shape, np.nan, lapack_dtype(x.dtype))
        for index in np.ndindex(x.shape[:-2]):
            with suppress(np.linalg.LinAlgError):
                result[index] = np.linalg.inv(x[index])
        return result

    def batch(b: Batch, x, *, strict):
        return inv(x, strict=strict)

    def lanes(k, types, x, *, strict):
        return k.inv(types[0], x)

    samples = (
        sample(_MATRIX),
        sample(_STACK),
        sample(np.stack([_MATRIX, 0 * _MATRIX]), strict=False),
    )


@op
class det:
    """The determinants of square matrices."""

    def type(x):
        return array_type(_check_matrix(x), x.shape[:-2])

    def numpy(x):
        return np.linalg.det(x)

    def batch(b: Batch, x):
        return det(x)

    def lanes(k, types, x):
        return k.det(types[0], x)

    samples = (sample(_MATRIX), sample(_STACK))


@op
class slogdet:
    """The sign and the logarithm of the absolute value of determinants."""

    def type(x):
        dtype = _check_matrix(x)
        return array_type(dtype, x.shape[:-2]), array_type(_real(dtype), x.shape[:-2])

    def numpy(x):
        return tuple(np.linalg.slogdet(x))

    def batch(b: Batch, x):
        return slogdet(x)

    def lanes(k, types, x):
        return k.slogdet(types, x)

    samples = (sample(_MATRIX), sample(_STACK))


@op
class qr:
    """QR factors. ``mode``: "reduced", "complete", "r" or "raw", as for ``np.linalg.qr``."""

    def type(x, *, mode: str):
        dtype = _check_matrix(x, square=False)
        *lead, m, n = x.shape
        k = dim_min(m, n)
        full = mode == "complete" and m > n
        r = array_type(dtype, (*lead, m if full else k, n))
        match mode:
            case "r":
                return (r,)
            case "raw":
                return array_type(dtype, (*lead, n, m)), array_type(dtype, (*lead, k))
            case "reduced" | "complete":
                return array_type(dtype, (*lead, m, m if full else k)), r
        raise ValueError(f"Unrecognized mode '{mode}'")

    def numpy(x, *, mode):
        result = np.linalg.qr(x, mode)
        return result if mode == "r" else tuple(result)

    def batch(b: Batch, x, *, mode):
        return qr(x, mode=mode)

    def lanes(k, types, x, *, mode):
        return k.qr(types, x, mode)

    samples = (
        sample((4, 2), mode="reduced"),
        sample((4, 2), mode="complete"),
        sample((2, 2, 3), mode="r"),
        sample((3, 3), mode="raw"),
    )


@op
class svd:
    """Singular value decomposition: U, S, Vh. Singular values descend."""

    def type(x, *, full_matrices: bool):
        dtype = _check_matrix(x, square=False)
        *lead, m, n = x.shape
        k = dim_min(m, n)
        return (
            array_type(dtype, (*lead, m, m if full_matrices else k)),
            array_type(_real(dtype), (*lead, k)),
            array_type(dtype, (*lead, n if full_matrices else k, n)),
        )

    def numpy(x, *, full_matrices):
        return tuple(np.linalg.svd(x, full_matrices))

    def batch(b: Batch, x, *, full_matrices):
        return svd(x, full_matrices=full_matrices)

    lanes = absent("the signs and phases of vectors are LAPACK's")

    samples = (sample((4, 2), full_matrices=False), sample((2, 2, 3), full_matrices=True))


@op
class svdvals:
    """Singular values alone, descending."""

    def type(x):
        dtype = _check_matrix(x, square=False)
        *lead, m, n = x.shape
        return array_type(_real(dtype), (*lead, dim_min(m, n)))

    def numpy(x):
        return np.linalg.svd(x, compute_uv=False)

    def batch(b: Batch, x):
        return svdvals(x)

    def lanes(k, types, x):
        return k.svdvals(types[0], x)

    samples = (sample((4, 2)), sample((2, 2, 3)))


@op
class eigh:
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices, one triangle of them read."""

    def type(x, *, uplo: str):
        dtype = _check_matrix(x)
        return array_type(_real(dtype), x.shape[:-1]), array_type(dtype, x.shape)

    def numpy(x, *, uplo):
        return tuple(np.linalg.eigh(x, uplo))

    def batch(b: Batch, x, *, uplo):
        return eigh(x, uplo=uplo)

    lanes = absent("the signs and phases of vectors are LAPACK's")

    samples = (sample(_POSITIVE, uplo="L"), sample(_STACK, uplo="U"))


@op
class eigvalsh:
    """Eigenvalues of Hermitian matrices, ascending."""

    def type(x, *, uplo: str):
        return array_type(_real(_check_matrix(x)), x.shape[:-1])

    def numpy(x, *, uplo):
        return np.linalg.eigvalsh(x, uplo)

    def batch(b: Batch, x, *, uplo):
        return eigvalsh(x, uplo=uplo)

    def lanes(k, types, x, *, uplo):
        return k.eigvalsh(types[0], x, uplo)

    samples = (sample(_POSITIVE, uplo="L"), sample(_STACK, uplo="U"))


@op
class eig:
    """Eigenvalues and eigenvectors of square matrices, always complex.

    NumPy gives real results when it finds every eigenvalue real; a dtype cannot depend on data.
    """

    def type(x):
        dtype = np.result_type(_check_matrix(x), np.complex64)
        return array_type(dtype, x.shape[:-1]), array_type(dtype, x.shape)

    def numpy(x):
        values, vectors = np.linalg.eig(x)
        dtype = np.result_type(values, np.complex64)
        return values.astype(dtype), vectors.astype(dtype)

    def batch(b: Batch, x):
        return eig(x)

    lanes = absent("in which order eigenvalues come is LAPACK's")

    samples = (sample(_MATRIX), sample(_STACK))


@op
class eigvals:
    """Eigenvalues of square matrices, always complex."""

    def type(x):
        return array_type(np.result_type(_check_matrix(x), np.complex64), x.shape[:-1])

    def numpy(x):
        values = np.linalg.eigvals(x)
        return values.astype(np.result_type(values, np.complex64))

    def batch(b: Batch, x):
        return eigvals(x)

    lanes = absent("in which order eigenvalues come is LAPACK's")

    samples = (sample(_MATRIX), sample(_STACK))


@op
class lstsq:
    """Least squares: the solution, sums of squared residuals, the rank, and singular values of a.

    For a (..., m, n) and y (..., m, k). Residuals are given for each right-hand side where a has
    more rows than columns. NumPy gives none where the rank is deficient; a shape cannot depend on
    data, so they are computed there too.
    """

    def type(a, y, rcond):
        dtype = np.result_type(_check_matrix(a, square=False), lapack_dtype(y.dtype))
        *_, m, n = a.shape
        *_, rows, k = y.shape
        if m != rows:
            raise np.linalg.LinAlgError("Incompatible dimensions")
        lead = broadcast_shapes(a.shape[:-2], y.shape[:-2], rcond.shape)
        return (
            array_type(dtype, (*lead, n, k)),
            array_type(_real(dtype), (*lead, k if m > n else 0)),
            array_type(np.dtype(np.intc), lead),
            array_type(_real(dtype), (*lead, dim_min(m, n))),
        )

    def numpy(a, y, rcond):
        if a.ndim != 2 or y.ndim != 2 or np.ndim(rcond):
            return _stacked_least_squares(a, y, np.asarray(rcond))
        x, residuals, rank, singular = np.linalg.lstsq(a, y, float(rcond))
        m, n = a.shape
        if m > n and rank < n:
            residuals = np.sum(np.square(np.abs(y - a @ x)), axis=0, dtype=residuals.dtype)
        return x, residuals, np.intc(rank), singular

    def batch(b: Batch, a, y, rcond):
        return lstsq(*align_loops(b, (a, y, rcond), [2, 2, 0]))

    lanes = absent("what counts as zero is LAPACK's to say")

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
