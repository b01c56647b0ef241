"""Linear algebra on stacks of matrices, the last two axes, by NumPy's LAPACK.

Every one of these maps over leading axes by itself, so one batching rule serves the family.

Where LAPACK reads one triangle of a matrix only, the derivative is that of this function: the other
triangle has none. `differentials` has the formulas.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError
from lanewise.ir.dims import differ, dim_min
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops import differentials
from lanewise.ops.contraction import stacked
from lanewise.ops.derivatives import is_linear
from lanewise.ops.differentials import adjoint_of, phase, product_without
from lanewise.ops.facts import Kind, flops_of_matrices
from lanewise.ops.lapack import BLOCKED, IN_LANES, VALUES_IN_LANES, called, is_small
from lanewise.ops.lapack import call_ns as price
from lanewise.ops.registry import absent, leading_axes, op, sample, spread
from lanewise.ops.shapes import broadcast_shapes

_MATRIX = spread((3, 3)) + 3 * np.eye(3)
POSITIVE = _MATRIX @ _MATRIX.T
_REGULAR = spread((4, 4)) + 3 * np.eye(4)
_SINGULAR = np.diag([1.0, 2.0, 0.0, 3.0]) + np.eye(4, k=1)
_STACK = np.stack([POSITIVE, _MATRIX @ _MATRIX.T + np.eye(3)])


def check_stack(x: Any) -> None:
    """Raise NumPy's error for what is no stack of matrices."""
    if x.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        )


def check_matrix(x: ArrayType, square: bool = True) -> np.dtype:
    """Return the dtype that LAPACK computes in, or raise NumPy's error."""
    check_stack(x)
    if square and differ(x.shape[-1], x.shape[-2]):
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return lapack_dtype(x.dtype)


def lapack_dtype(*dtypes: np.dtype) -> np.dtype:
    """Return what LAPACK's results are given in: single only where no operand is wider."""
    for dtype in dtypes:
        if dtype.char in "egG":
            raise TypeError(f"array type {dtype.name} is unsupported in linalg")
    return np.result_type(*[dtype if dtype.kind in "fc" else np.float64 for dtype in dtypes])


def real_dtype(dtype: np.dtype) -> np.dtype:
    return dtype.type(0).real.dtype


@op
class cholesky:
    """The lower (or upper) triangular factor of positive definite matrices."""

    kind, numpy_ns, conditions, call_ns = Kind.MATRIX, 5.0, "", price(5, IN_LANES, BLOCKED)
    flops = flops_of_matrices(lambda n, m, k: n**3 / 3)
    raises = "Matrix is not positive definite"

    def type(x, *, upper: bool):
        return array_type(check_matrix(x), x.shape)

    def numpy(x, *, upper):
        return np.linalg.cholesky(x, upper=upper)

    batch = leading_axes

    def lanes(k, types, x, *, upper):
        if is_small(x):
            return k.linalg.cholesky(types[0], x, upper)
        return called(k, types, "cholesky_up" if upper else "cholesky_lo", (x,))

    def jvp(d, tangents, y, x, *, upper):
        t = differentials.hermitian(d, tangents[0], "U" if upper else "L")
        low = differentials.adjoint(y) if upper else y
        inverse = d.emit(inv, low, strict=False)
        moved = differentials.cholesky(d, low, inverse, t)
        return differentials.adjoint(moved) if upper else moved

    samples = (sample(POSITIVE, upper=False), sample(_STACK, upper=True))


@op
class solve:
    """The solutions X of A X = B for stacks of matrices A (..., n, n) and B (..., n, k)."""

    kind, numpy_ns, conditions, call_ns = Kind.MATRIX, 8.0, "", price(8, IN_LANES, BLOCKED)
    flops = flops_of_matrices(lambda n, m, k: 2 * n**3 / 3 + 2 * n * n * k)
    raises = "Singular matrix"

    def type(a, y):
        dtype = np.result_type(check_matrix(a), lapack_dtype(y.dtype))
        if y.ndim < 2:
            raise ValueError(
                "solve: Input operand 1 does not have enough dimensions (has "
                f"{y.ndim}, gufunc core with signature (m,m),(m,n)->(m,n) requires 2)"
            )
        if differ(a.shape[-1], y.shape[-2]):
            raise ValueError(
                "solve: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
                f"signature (m,m),(m,n)->(m,n) (size {y.shape[-2]} is different from {a.shape[-1]})"
            )
        lead = broadcast_shapes(a.shape[:-2], y.shape[:-2])
        return array_type(dtype, (*lead, *y.shape[-2:]))

    def numpy(a, y):
        return np.linalg.solve(a, y)

    batch = stacked(2, 2)

    def lanes(k, types, a, y):
        return k.linalg.solve(types[0], a, y) if is_small(a) else called(k, types, "solve", (a, y))

    def jvp(d, tangents, x, a, y):
        t, right = tangents
        if t is not None:
            moved = t @ x
            right = -moved if right is None else right - moved
        return d.emit(solve, a, right)

    def transposed(d, ct, a, y):
        assert is_linear(y)
        return None, d.emit(solve, np.swapaxes(a, -1, -2), ct)

    samples = (sample(_MATRIX, (3, 2)), sample(_STACK, (3, 1)), sample(_MATRIX, (3, 0)))


@op
class inv:
    """The inverses of square matrices; of a singular one an error, or NaN where not `strict`."""

    kind, numpy_ns, conditions, call_ns = Kind.MATRIX, 20.0, "", price(20, IN_LANES, BLOCKED)
    flops = flops_of_matrices(lambda n, m, k: 2 * n**3)
    raises = "Singular matrix"

    def type(x, *, strict: bool = True):
        return array_type(check_matrix(x), x.shape)

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

    batch = leading_axes

    def lanes(k, types, x, *, strict):
        return k.linalg.solve(types[0], x) if is_small(x) else called(k, types, "inv", (x,))

    def jvp(d, tangents, y, x, *, strict):
        return -(y @ tangents[0] @ y)

    samples = (
        sample(_MATRIX),
        sample(_STACK),
        sample(np.stack([_MATRIX, 0 * _MATRIX]), strict=False),
    )


@op
class det:
    """The determinants of square matrices."""

    kind, numpy_ns, call_ns = Kind.MATRIX, 6.0, price(6, IN_LANES, BLOCKED)
    flops = flops_of_matrices(lambda n, m, k: 2 * n**3 / 3)

    def type(x):
        return array_type(check_matrix(x), x.shape[:-2])

    def numpy(x):
        return np.linalg.det(x)

    batch = leading_axes

    def lanes(k, types, x):
        if is_small(x):
            return k.linalg.det(types[0], x)
        return called(k, types, "det", (x,), fails=False)

    def jvp(d, tangents, y, x):
        factors = np.swapaxes(d.emit(adjugate, x), -1, -2)
        return np.sum(factors * tangents[0], axis=(-2, -1))

    samples = (sample(_MATRIX), sample(_STACK), sample(_SINGULAR))


@op
class adjugate:
    """The transposed cofactors of square matrices: the inverse times the determinant.

    Singular matrices have them too. They are what the derivative of the determinant is made of.
    """

    def type(x):
        return array_type(check_matrix(x), x.shape)

    def numpy(x):
        dtype = lapack_dtype(x.dtype)
        value, size = np.linalg.det(x), x.shape[-1]
        regular = np.where((value != 0)[..., None, None], x, np.eye(size))
        inverse = np.linalg.inv(regular)
        result = (value[..., None, None] * inverse).astype(dtype)
        condition = np.linalg.norm(x, np.inf, (-2, -1)) * np.linalg.norm(inverse, np.inf, (-2, -1))
        rest = (value == 0) | (condition > 1e-3 / np.finfo(dtype).eps)
        if size and np.any(rest):
            # The singular values tell the product of all but one, though that one be zero.
            u, s, vh = np.linalg.svd(x[rest])
            scaled = product_without(s, 1)[..., None, :] * adjoint_of(vh)
            result[rest] = phase(u, vh) * (scaled @ adjoint_of(u))
        return result

    batch = leading_axes

    def lanes(k, types, x):
        dtype = types[0].dtype
        value, inverse = k.linalg.det(_scalars(types[0]), x), k.linalg.solve(types[0], x)
        times = k.loop(np.multiply, (dtype,) * 3)

        def at(*i):
            return times(value.at(*i[:-2]), inverse.at(*i))

        return k.lazy(dtype, x.shape, at, (value, inverse))

    def jvp(d, tangents, y, x):
        if x.shape[-1] <= 3:
            return differentials.adjugate(x, tangents[0])
        return d.emit(adjugate_moved, x, tangents[0])

    samples = (
        sample(_MATRIX),
        sample(_STACK[:, :2, :2]),
        sample(_REGULAR),
        sample(np.stack([_REGULAR, _SINGULAR])),
    )


@op
class adjugate_moved:
    """How the adjugates of matrices x (of two rows at least) follow a small change t of them."""

    def type(x, t):
        dtype = np.result_type(check_matrix(x), check_matrix(t))
        return array_type(dtype, broadcast_shapes(x.shape, t.shape))

    def numpy(x, t):
        u, s, vh = np.linalg.svd(x)
        inner = adjoint_of(u) @ t @ adjoint_of(vh)
        products = product_without(s, 2)
        diagonal = (products @ np.diagonal(inner, 0, -2, -1)[..., None])[..., 0]
        middle = diagonal[..., None] * np.eye(s.shape[-1], dtype=s.dtype) - products * inner
        return phase(u, vh) * (adjoint_of(vh) @ middle @ adjoint_of(u))

    batch = stacked(2, 2)

    lanes = absent("it takes singular vectors, which are LAPACK's")

    def jvp(d, tangents, y, x, t):
        moved, along = tangents
        parts = []
        if moved is not None:
            inverse, value = d.emit(inv, x, strict=False), d.emit(det, x)
            parts.append(differentials.adjugate_moved(inverse, value, moved, t))
        if along is not None:
            parts.append(d.emit(adjugate_moved, x, along))
        return sum(parts[1:], parts[0])

    def transposed(d, ct, x, t):
        return None, d.emit(adjugate_moved, np.swapaxes(x, -1, -2), ct)

    samples = (sample(_REGULAR, (4, 4)), sample(_STACK, (2, 3, 3)))


def _scalars(matrices: ArrayType) -> ArrayType:
    """Return the type of one number for each matrix of a stack."""
    return array_type(matrices.dtype, matrices.shape[:-2])


@op
class slogdet:
    """The sign and the logarithm of the absolute value of determinants."""

    kind, numpy_ns, call_ns = Kind.MATRIX, 6.0, price(6, IN_LANES, BLOCKED)
    flops = flops_of_matrices(lambda n, m, k: 2 * n**3 / 3)

    def type(x):
        dtype = check_matrix(x)
        return array_type(dtype, x.shape[:-2]), array_type(real_dtype(dtype), x.shape[:-2])

    def numpy(x):
        return tuple(np.linalg.slogdet(x))

    batch = leading_axes

    def lanes(k, types, x):
        if is_small(x):
            return k.linalg.slogdet(types, x)
        return called(k, types, "slogdet", (x,), fails=False)

    def jvp(d, tangents, results, x):
        (t,), sign = tangents, results[0]
        inverse = np.swapaxes(d.emit(inv, x, strict=False), -1, -2)
        moved = np.sum(inverse * t, axis=(-2, -1))
        if x.dtype.kind != "c":
            return None, moved
        return sign * (moved.imag * 1j), moved.real

    samples = (sample(_MATRIX), sample(_STACK))


@op
class qr:
    """QR factors. ``mode``: "reduced", "complete", "r" or "raw", as for ``np.linalg.qr``."""

    kind, numpy_ns, conditions = Kind.MATRIX, 25.0, ""
    flops = flops_of_matrices(lambda n, m, k: 4 * n * m * min(n, m) - 4 * min(n, m) ** 3 / 3)

    def type(x, *, mode: str):
        dtype = check_matrix(x, square=False)
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

    batch = leading_axes

    def lanes(k, types, x, *, mode):
        return k.orthogonal.qr(types, x, mode)

    def jvp(d, tangents, results, x, *, mode):
        if mode == "raw":
            raise UnsupportedError(
                'np.linalg.qr in mode "raw" is differentiated, but gives reflections, of which the '
                'derivative is not known. Use mode "reduced"'
            )
        (t,), (m, n) = tangents, x.shape[-2:]
        k = min(m, n)
        q, r = d.emit(qr, x, mode="reduced") if mode == "r" else results
        own, r = q[..., :k], r[..., :k, :]
        inverse = d.emit(inv, r[..., :k], strict=False)
        moved_q, moved_r = differentials.qr_tall(d, own, r[..., :k], inverse, t[..., :k])
        if n > k:
            turn, back = differentials.adjoint(moved_q), differentials.adjoint(own)
            moved = turn @ x[..., k:] + back @ t[..., k:]
            moved_r = np.concatenate([moved_r, moved], axis=-1)
        if mode == "complete" and m > n:
            rest = differentials.added_columns(d, moved_q, own, q[..., k:])
            moved_q = np.concatenate([moved_q, rest], axis=-1)
            zeros = np.zeros_like(moved_r, shape=(*moved_r.shape[:-2], m - n, n))
            moved_r = np.concatenate([moved_r, zeros], axis=-2)
        return moved_r if mode == "r" else (moved_q, moved_r)

    samples = (
        sample((4, 2), mode="reduced"),
        sample((4, 2), mode="complete"),
        sample((2, 2, 3), mode="r"),
        sample((3, 3), mode="raw"),
    )


@op
class svd:
    """Singular value decomposition: U, S, Vh. Singular values descend."""

    kind, numpy_ns, conditions, call_ns = Kind.MATRIX, 130.0, "", price(130)
    raises = "SVD did not converge"

    def type(x, *, full_matrices: bool):
        dtype = check_matrix(x, square=False)
        *lead, m, n = x.shape
        k = dim_min(m, n)
        return (
            array_type(dtype, (*lead, m, m if full_matrices else k)),
            array_type(real_dtype(dtype), (*lead, k)),
            array_type(dtype, (*lead, n if full_matrices else k, n)),
        )

    def numpy(x, *, full_matrices):
        return tuple(np.linalg.svd(x, full_matrices))

    batch = leading_axes

    def lanes(k, types, x, *, full_matrices):
        return called(k, types, "svd_f" if full_matrices else "svd_s", (x,))

    def jvp(d, tangents, results, x, *, full_matrices):
        u, s, vh = results
        k = s.shape[-1]
        own_u, own_v = u[..., :k], vh[..., :k, :]
        du, ds, dvh = differentials.svd(d, own_u, s, own_v, tangents[0])
        if u.shape[-1] > k:
            rest = differentials.added_columns(d, du, own_u, u[..., k:])
            du = np.concatenate([du, rest], axis=-1)
        if vh.shape[-2] > k:
            back = [differentials.adjoint(v) for v in (dvh, own_v, vh[..., k:, :])]
            rest = differentials.adjoint(differentials.added_columns(d, *back))
            dvh = np.concatenate([dvh, rest], axis=-2)
        return du, ds, dvh

    samples = (sample((4, 2), full_matrices=False), sample((2, 2, 3), full_matrices=True))


@op
class svdvals:
    """Singular values alone, descending."""

    kind, numpy_ns, conditions, call_ns = Kind.MATRIX, 70.0, "", price(70, VALUES_IN_LANES)
    flops = flops_of_matrices(lambda n, m, k: 24 * max(n, m) * min(n, m) ** 2)
    raises = "SVD did not converge"

    def type(x):
        dtype = check_matrix(x, square=False)
        *lead, m, n = x.shape
        return array_type(real_dtype(dtype), (*lead, dim_min(m, n)))

    def numpy(x):
        return np.linalg.svd(x, compute_uv=False)

    batch = leading_axes

    def lanes(k, types, x):
        is_own = is_small(x, VALUES_IN_LANES)
        return k.orthogonal.svdvals(types[0], x) if is_own else called(k, types, "svd", (x,))

    def jvp(d, tangents, y, x):
        u, _, vh = d.emit(svd, x, full_matrices=False)
        return differentials.singular_values(u, vh, tangents[0])

    samples = (sample((4, 2)), sample((2, 2, 3)))


@op
class eigh:
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices, one triangle of them read."""

    kind, numpy_ns, conditions, call_ns = Kind.MATRIX, 75.0, "", price(75)
    raises = "Eigenvalues did not converge"

    def type(x, *, uplo: str):
        dtype = check_matrix(x)
        return array_type(real_dtype(dtype), x.shape[:-1]), array_type(dtype, x.shape)

    def numpy(x, *, uplo):
        return tuple(np.linalg.eigh(x, uplo))

    batch = leading_axes

    def lanes(k, types, x, *, uplo):
        return called(k, types, "eigh_up" if uplo == "U" else "eigh_lo", (x,))

    def jvp(d, tangents, results, x, *, uplo):
        (w, v), t = results, differentials.hermitian(d, tangents[0], uplo)
        return (
            differentials.eigenvalues_hermitian(v, t),
            differentials.eigenvectors(d, w, v, differentials.adjoint(v), t),
        )

    samples = (sample(POSITIVE, uplo="L"), sample(_STACK, uplo="U"))


@op
class eigvalsh:
    """Eigenvalues of Hermitian matrices, ascending."""

    kind, numpy_ns, conditions, call_ns = Kind.MATRIX, 40.0, "", price(40, VALUES_IN_LANES)
    flops = flops_of_matrices(lambda n, m, k: 24 * n**3)
    raises = "Eigenvalues did not converge"

    def type(x, *, uplo: str):
        return array_type(real_dtype(check_matrix(x)), x.shape[:-1])

    def numpy(x, *, uplo):
        return np.linalg.eigvalsh(x, uplo)

    batch = leading_axes

    def lanes(k, types, x, *, uplo):
        if is_small(x, VALUES_IN_LANES):
            return k.orthogonal.eigvalsh(types[0], x, uplo)
        return called(k, types, "eigvalsh_up" if uplo == "U" else "eigvalsh_lo", (x,))

    def jvp(d, tangents, y, x, *, uplo):
        _, v = d.emit(eigh, x, uplo=uplo)
        t = differentials.hermitian(d, tangents[0], uplo)
        return differentials.eigenvalues_hermitian(v, t)

    samples = (sample(POSITIVE, uplo="L"), sample(_STACK, uplo="U"))


@op
class eig:
    """Eigenvalues and eigenvectors of square matrices, always complex.

    NumPy gives real results when it finds every eigenvalue real; a dtype cannot depend on data.
    """

    kind, numpy_ns, conditions = Kind.MATRIX, 150.0, ""
    raises = "Array must not contain infs or NaNs"

    def type(x):
        dtype = np.result_type(check_matrix(x), np.complex64)
        return array_type(dtype, x.shape[:-1]), array_type(dtype, x.shape)

    def numpy(x):
        values, vectors = np.linalg.eig(x)
        dtype = np.result_type(values, np.complex64)
        return values.astype(dtype), vectors.astype(dtype)

    batch = leading_axes

    lanes = absent("in which order eigenvalues come is LAPACK's")

    def jvp(d, tangents, results, x):
        (t,), (w, v) = tangents, results
        inverse = d.emit(inv, v, strict=False)
        moved = differentials.eigenvectors(d, w, v, inverse, t)
        return _eigenvalues(v, inverse, t), differentials.as_lapack_scales(v, moved)

    samples = (sample(_MATRIX), sample(_STACK))


@op
class eigvals:
    """Eigenvalues of square matrices, always complex."""

    kind, numpy_ns, conditions = Kind.MATRIX, 85.0, ""
    raises = "Array must not contain infs or NaNs"

    def type(x):
        return array_type(np.result_type(check_matrix(x), np.complex64), x.shape[:-1])

    def numpy(x):
        values = np.linalg.eigvals(x)
        return values.astype(np.result_type(values, np.complex64))

    batch = leading_axes

    lanes = absent("in which order eigenvalues come is LAPACK's")

    def jvp(d, tangents, y, x):
        w, v = d.emit(eig, x)
        moved = _eigenvalues(v, d.emit(inv, v, strict=False), tangents[0])
        # LAPACK may find the eigenvalues in another order when it needs no vectors.
        distance = np.abs(y[..., None] - w[..., None, :])
        own = np.diagonal(distance, axis1=-2, axis2=-1)
        nearest = np.argmin(distance, axis=-1)
        tolerance = 1e-3 * np.max(np.abs(y), axis=-1, keepdims=True)
        return np.where(own <= tolerance, moved, np.take_along_axis(moved, nearest, -1))

    samples = (sample(_MATRIX), sample(_STACK))


def _eigenvalues(v, inverse, t):
    """Return the tangents of the eigenvalues of square matrices: of V⁻¹ dA V the diagonal."""
    return np.sum(np.swapaxes(inverse, -1, -2) * (t @ v), axis=-2)
