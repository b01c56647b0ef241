"""Linear algebra: ``np.linalg``, but for the products that `contraction` holds."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.linalg import LinAlgError

from lanewise.ir.dims import Dim
from lanewise.ir.types import NUMPY
from lanewise.ops import least_squares
from lanewise.ops import linalg as ops
from lanewise.ops.elementwise import root, where
from lanewise.trace.origins import origin_of
from lanewise.trace.sizes import number_of
from lanewise.trace.table.checks import deprecated
from lanewise.trace.table.contraction import flat, tensors
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, emit, weak
from lanewise.trace.ufuncs import NO_VALUE

# The classes of NumPy's results have no public name; results of the same classes unpack, print and
# flatten as NumPy's own.
_ONE = np.ones((1, 1))
EigResult, EighResult = type(np.linalg.eig(_ONE)), type(np.linalg.eigh(_ONE))
QRResult, SVDResult = type(np.linalg.qr(_ONE)), type(np.linalg.svd(_ONE))
SlogdetResult = type(np.linalg.slogdet(_ONE))


def _is_empty(x: Tensor) -> bool:
    return x.size == 0 and 0 in x.shape[-2:]


def _behind(limit: Any) -> Any:
    """Return a limit for each matrix of a stack with an axis for the singular values behind."""
    return np.expand_dims(as_tensor(limit), -1)


# --- solving --------------------------------------------------------------------------------------


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    x, y = tensors(a, b)
    if y.ndim == 1:  # the only shape that is a vector, and no stack of matrices
        return emit(ops.solve, x, y[:, None])[..., 0]
    return emit(ops.solve, x, y)


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    return emit(ops.inv, a)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NO_VALUE) -> Any:
    x: Any = as_tensor(a)
    if rcond is not None and rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is NO_VALUE else rtol
    if rcond is None:
        rcond = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    ops.check_stack(x)
    if _is_empty(x):
        return np.swapaxes(x, -1, -2).copy()
    return emit(least_squares.pinv, x, rcond, hermitian=bool(hermitian))


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As NumPy's, but with residuals for a rank-deficient `a` of more rows than columns, too."""
    x, y = tensors(a, b)
    for array, ndim in ((x, x.ndim), (y, max(y.ndim, 2) if y.ndim else 0)):
        if ndim != 2:
            raise LinAlgError(
                f"{array.ndim}-dimensional array given. Array must be two-dimensional"
            )
    if rcond is None:
        rcond = np.finfo(float).eps * _longest(x)
    tall, below = _tall(x, y)
    solution, residuals, rank, singular = emit(
        least_squares.lstsq, tall, below[:, None] if y.ndim == 1 else below, rcond
    )
    if tall is not x:  # there are as many of these as there would be without the zeros
        rows, columns = map(number_of, x.shape)
        residuals = residuals[: np.where(rows > columns, residuals.shape[0], 0)]
        singular = singular[: np.minimum(rows, columns)]
    return solution[:, 0] if y.ndim == 1 else solution, residuals, rank, singular


def _longest(x: Tensor) -> Any:
    """Return the number of rows of a matrix, or of columns if there are more."""
    rows, columns = map(number_of, x.shape[-2:])
    is_data = isinstance(rows, Tensor) or isinstance(columns, Tensor)
    return np.maximum(rows, columns) if is_data else max(rows, columns)


def _tall(x: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Return arrays with so many rows of zeros below that `x` has more rows than columns.

    That is done where the data say how many there are: neither solutions nor ranks change.
    """
    rows, columns = x.shape[-2:]
    if x.ndim != 2 or origin_of((rows,), x._trace) is None or isinstance(columns, Dim):
        return x, *others
    return tuple(
        [np.concatenate([y, np.zeros((columns + 1, *y.shape[1:]), y.dtype)]) for y in (x, *others)]
    )


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    x, y = tensors(a, b)
    if axes is not None:
        order = list(range(x.ndim))
        for axis in axes:
            order.remove(axis)
            order.insert(x.ndim, axis)
        x = np.transpose(x, order)
    shape = x.shape[-(x.ndim - y.ndim) :]
    size = int(np.prod(shape, dtype=int))
    if x.size != size**2:
        raise LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == "
            "prod(a.shape[:b.ndim])"
        )
    return np.reshape(solve(np.reshape(x, (size, size)), np.ravel(y)), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    x: Any = as_tensor(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    size = int(np.prod(x.shape[ind:], dtype=int))
    return np.reshape(inv(np.reshape(x, (size, -1))), x.shape[ind:] + x.shape[:ind])


# --- decompositions -------------------------------------------------------------------------------


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    return emit(ops.cholesky, a, upper=bool(upper))


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode in ("f", "full", "e", "economic"):
        mode = "reduced" if mode in ("f", "full") else "economic"
        deprecated(
            "The 'full' option is deprecated in favor of 'reduced'.\n"
            "For backward compatibility let mode default."
            if mode == "reduced"
            else "The 'economic' option is deprecated."
        )
    if mode == "r":
        return emit(ops.qr, a, mode="r")
    if mode == "economic":
        return np.swapaxes(emit(ops.qr, a, mode="raw")[0], -1, -2)
    factors = emit(ops.qr, a, mode=mode)
    return factors if mode == "raw" else QRResult(*factors)


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if not compute_uv:
        if hermitian:
            return np.flip(np.sort(np.abs(eigvalsh(a))), -1)
        return emit(ops.svdvals, a)
    if not hermitian:
        return SVDResult(*emit(ops.svd, a, full_matrices=bool(full_matrices)))
    values, vectors = eigh(a)
    sizes = np.abs(values)
    order = np.flip(np.argsort(sizes), -1)
    signs = np.take_along_axis(np.copysign(1.0, values), order, axis=-1)
    u = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    vh = np.conjugate(np.swapaxes(u * signs[..., None, :], -1, -2))
    return SVDResult(u, np.take_along_axis(sizes, order, axis=-1), vh)


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return emit(ops.svdvals, x)


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    """As NumPy's, but always complex: that every eigenvalue is real would depend on the data."""
    return EigResult(*emit(ops.eig, a))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """As NumPy's, but always complex: that every eigenvalue is real would depend on the data."""
    return emit(ops.eigvals, a)


def _triangle(name: str) -> str:
    np.linalg.eigvalsh(_ONE, name)  # raises for another one
    return name.upper()


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    return EighResult(*emit(ops.eigh, a, uplo=_triangle(UPLO)))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    return emit(ops.eigvalsh, a, uplo=_triangle(UPLO))


# --- numbers that tell about a matrix -------------------------------------------------------------


@implements(np.linalg.det)
def det(a: Any) -> Any:
    return emit(ops.det, a)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    return SlogdetResult(*emit(ops.slogdet, a))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x: Any = as_tensor(A)
    if x.ndim < 2:
        return weak(np.any(x != 0), int)
    s = svd(_tall(x)[0], compute_uv=False, hermitian=hermitian)
    if tol is not None:
        limit = _behind(tol)
    else:
        factor = _longest(x) * np.finfo(s.dtype).eps
        factor = factor if rtol is None else _behind(rtol)
        limit = np.max(s, axis=-1, keepdims=True, initial=0) * factor
    return np.sum(s > limit, axis=-1, dtype=np.intp)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    x: Any = as_tensor(x)
    if _is_empty(x):
        raise LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = svdvals(x)
        over, under = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        infinite, one = np.array(np.inf, s.dtype), np.ones((), s.dtype)
        quotient = over / emit(where, under == 0, one, under)  # no division by zero, no warning
        result = emit(where, under == 0, infinite, quotient)
    else:
        # A singular matrix is no error here, and the inverse is taken in double precision.
        dtype = ops.lapack_dtype(x.dtype)
        wide = x.astype(np.result_type(dtype, np.float64))
        inverse = emit(ops.inv, wide, strict=False)
        result = norm(x, p, axis=(-2, -1)) * norm(inverse, p, axis=(-2, -1))
        # Before NumPy 2.3 those of complex matrices are complex.
        result = result.astype(dtype if NUMPY < (2, 3) else dtype.type(0).real.dtype, copy=False)
    undefined = np.isnan(result) & ~np.any(np.isnan(x), axis=(-2, -1))
    return emit(where, undefined, np.array(np.inf, result.dtype), result)


@implements(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.diagonal(as_tensor(x), offset, axis1=-2, axis2=-1)


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(as_tensor(x), offset, axis1=-2, axis2=-1, dtype=dtype)


# --- norms ----------------------------------------------------------------------------------------


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x: Any = as_tensor(x)
    np.linalg.norm(np.ones((1,) * x.ndim), ord, axis)  # raises for what is no norm
    if x.dtype.kind not in "fc":
        x = x.astype(float)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            row = flat(x)
            parts = (row.real, row.imag) if x.dtype.kind == "c" else (row,)
            squares = [np.dot(part, part) for part in parts]
            result = emit(root, squares[0] + squares[1] if len(squares) > 1 else squares[0])
            return np.reshape(result, (1,) * x.ndim) if keepdims else result
        axis = tuple(range(x.ndim))
    axes = normalize_axis_tuple(axis if isinstance(axis, tuple) else int(axis), x.ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    result = _matrix_norm(np.moveaxis(x, axes, (-2, -1)), ord)
    return np.expand_dims(result, axes) if keepdims else result


def _vector_norm(x: Tensor, ord: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        real = x.dtype.type(0).real.dtype
        return np.sum(np.astype(np.not_equal(x, 0), real), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.add.reduce(np.abs(x), axis=axis, keepdims=keepdims)
    if ord is None or ord == 2:
        squares = (np.conjugate(x) * x).real
        return emit(root, np.add.reduce(squares, axis=axis, keepdims=keepdims))
    powers = np.abs(x)
    powers = (powers**ord).astype(powers.dtype, copy=False)
    total = np.add.reduce(powers, axis=axis, keepdims=keepdims)
    return (total ** np.reciprocal(ord, dtype=total.dtype)).astype(total.dtype, copy=False)


def _matrix_norm(x: Tensor, ord: Any) -> Any:
    """Return the norm over the last two axes."""
    if ord in (2, -2, "nuc"):
        s = svdvals(x)
        if ord == "nuc":
            return np.sum(s, axis=-1, initial=0)
        return np.max(s, axis=-1, initial=0) if ord == 2 else np.min(s, axis=-1)
    if ord in (1, np.inf):
        return np.max(np.add.reduce(np.abs(x), axis=-2 if ord == 1 else -1), axis=-1, initial=0)
    if ord in (-1, -np.inf):
        return np.min(np.add.reduce(np.abs(x), axis=-2 if ord == -1 else -1), axis=-1)
    return emit(root, np.add.reduce((np.conjugate(x) * x).real, axis=(-2, -1)))


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x: Any = as_tensor(x)
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    size = int(np.prod([x.shape[i] for i in axes], dtype=int))
    merged = np.reshape(np.transpose(x, (*axes, *rest)), (size, *[x.shape[i] for i in rest]))
    result = norm(merged, ord=ord, axis=0)
    return np.expand_dims(result, axes) if keepdims else result


# --- products -------------------------------------------------------------------------------------


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    x: Any = as_tensor(a)
    ops.check_stack(x)
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if not isinstance(n, Tensor) and not hasattr(n, "__index__"):
        raise TypeError("exponent must be an integer")
    n = operator.index(n)
    if n == 0:
        return as_tensor(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape))
    if n < 0:
        x, n = inv(x), -n
    if n == 3:  # NumPy's order of multiplication, to the last bit
        return np.matmul(np.matmul(x, x), x)
    square, result = x, None
    while True:
        n, odd = divmod(n, 2)
        if odd:
            result = square if result is None else np.matmul(result, square)
        if not n:
            assert result is not None
            return result
        square = np.matmul(square, square)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    xs: list[Any] = [as_tensor(array) for array in arrays]
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(xs) == 2:
        return np.dot(*xs, out=out)
    shape: list[int] = []
    if xs[0].ndim == 1:
        xs[0] = xs[0][None, :]
    else:
        shape.append(xs[0].shape[0])
    if xs[-1].ndim == 1:
        xs[-1] = xs[-1][:, None]
    else:
        shape.append(xs[-1].shape[-1])
    for x in xs:
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    split = _chain_splits([x.shape[0] for x in xs] + [xs[-1].shape[1]])

    def chain(i: int, j: int, out: Any = None) -> Any:
        if i == j:
            return xs[i]
        k = split[i, j]
        return np.dot(chain(i, k), chain(k + 1, j), out=out)

    return np.reshape(chain(0, len(xs) - 1, out), shape)


def _chain_splits(dims: list[int]) -> dict[tuple[int, int], int]:
    """Return where to split each run of the matrices i to j, for the fewest multiplications."""
    count = len(dims) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = {
                k: cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                for k in range(i, j)
            }
            split[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[split[i, j]]
    return split
