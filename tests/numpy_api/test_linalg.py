"""All of ``np.linalg`` but the products (`test_contraction`)."""

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_maps, assert_maps_everywhere, assert_refused_alike, loop
from support.pairing import in_turn

RNG = np.random.default_rng(11)
LinAlgError = np.linalg.LinAlgError


def draw(*shape, dtype="f8"):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return RNG.integers(-9, 9, shape).astype(dtype)
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape)).astype(dtype) if dtype.kind == "c" else x.astype(dtype)


def positive(*shape, dtype="f8"):
    """Hermitian positive definite matrices."""
    x = draw(*shape, dtype=dtype)
    matrices = x @ np.conj(x.swapaxes(-1, -2)) + 3 * np.eye(shape[-1])
    return matrices.astype(dtype)


SQUARE = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda a: tuple(np.linalg.slogdet(a)),
    "matrix_rank": np.linalg.matrix_rank,
    "matrix_power-0": lambda a: np.linalg.matrix_power(a, 0),
    "matrix_power-1": lambda a: np.linalg.matrix_power(a, 1),
    "matrix_power-2": lambda a: np.linalg.matrix_power(a, 2),
    "matrix_power-3": lambda a: np.linalg.matrix_power(a, 3),
    "matrix_power-6": lambda a: np.linalg.matrix_power(a, 6),
    "matrix_power-inverse": lambda a: np.linalg.matrix_power(a, -2),
    "cholesky": np.linalg.cholesky,
    "cholesky-upper": lambda a: np.linalg.cholesky(a, upper=True),
    "eigh": lambda a: tuple(np.abs(r) for r in np.linalg.eigh(a)),
    "eigh-U": lambda a: np.linalg.eigh(a, UPLO="u").eigenvalues,
    "eigvalsh": np.linalg.eigvalsh,
    "eigvalsh-U": lambda a: np.linalg.eigvalsh(a, "U"),
    "svd-hermitian": lambda a: tuple(np.abs(r) for r in np.linalg.svd(a, hermitian=True)),
    "svdvals-hermitian": lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True),
    "pinv-hermitian": lambda a: np.linalg.pinv(a, hermitian=True),
    "matrix_rank-hermitian": lambda a: np.linalg.matrix_rank(a, hermitian=True),
    "solve-vector": lambda a: np.linalg.solve(a, a[..., 0, :] if a.ndim == 2 else a[0, 0]),
    "solve-matrix": lambda a: np.linalg.solve(a, a + 1),
    "cond": np.linalg.cond,
    **{
        f"cond{p}": lambda a, p=p: np.linalg.cond(a, p)
        for p in (1, -1, 2, -2, np.inf, -np.inf, "fro")
    },
}


@pytest.mark.parametrize(("name", "dtype"), in_turn(SQUARE, ["f8", "f4", "c16", "c8", "i4"]))
def test_square_matrices(name, dtype):
    # Compared through numbers that rounding does not swell: the matrices are well conditioned.
    rtol = 1e-3 if dtype in ("f4", "c8") else 1e-9
    assert_maps(SQUARE[name], positive(4, 3, 3, dtype=dtype), rtol=rtol)
    assert_maps(SQUARE[name], positive(3, 2, 2, 2, dtype=dtype), rtol=rtol)


RECTANGULAR = {
    "pinv": np.linalg.pinv,
    "pinv-rcond": lambda a: np.linalg.pinv(a, 0.3),
    "pinv-rtol": lambda a: np.linalg.pinv(a, rtol=0.3),
    "pinv-rtol-data": lambda a: np.linalg.pinv(a, np.abs(a[..., 0, 0]) / 10),
    "matrix_rank": np.linalg.matrix_rank,
    "matrix_rank-tol": lambda a: np.linalg.matrix_rank(a, 1.0),
    "matrix_rank-rtol": lambda a: np.linalg.matrix_rank(a, rtol=0.3),
    "matrix_rank-tol-data": lambda a: np.linalg.matrix_rank(a, np.abs(a[..., 0, 0])),
    "svdvals": np.linalg.svdvals,
    "svd": lambda a: tuple(np.abs(r) for r in np.linalg.svd(a, full_matrices=False)),
    "svd-full": lambda a: tuple(np.abs(r) for r in np.linalg.svd(a)),
    "svd-values": lambda a: np.linalg.svd(a, compute_uv=False),
    "qr": lambda a: tuple(np.linalg.qr(a)),
    "qr-complete": lambda a: tuple(np.linalg.qr(a, "complete")),
    "qr-r": lambda a: np.linalg.qr(a, mode="r"),
    "qr-raw": lambda a: np.linalg.qr(a, mode="raw"),
    "cond": np.linalg.cond,
    "matrix_transpose": np.linalg.matrix_transpose,
    "diagonal": np.linalg.diagonal,
    "diagonal-offset": lambda a: np.linalg.diagonal(a, offset=1),
    "trace": np.linalg.trace,
    "trace-dtype": lambda a: np.linalg.trace(a, offset=-1, dtype=np.complex128),
    "multi_dot-2": lambda a: np.linalg.multi_dot([a, a.T]) if a.ndim == 2 else a,
    "multi_dot-3": lambda a: np.linalg.multi_dot([a, a.T, a]) if a.ndim == 2 else a,
    "multi_dot-5": lambda a: np.linalg.multi_dot([a.T, a, a.T, a, a.T]) if a.ndim == 2 else a,
    "multi_dot-vectors": lambda a: np.linalg.multi_dot([a[0], a.T, a, a[0]]) if a.ndim == 2 else a,
    "multi_dot-vector": lambda a: np.linalg.multi_dot([a[0], a.T, a]) if a.ndim == 2 else a,
}


@pytest.mark.parametrize(
    ("name", "dtype", "shape"),
    [
        (name, dtype, shape)
        for i, name in enumerate(RECTANGULAR)
        for j, dtype in enumerate(["f8", "f4", "c16", "i4"])
        for k, shape in enumerate([(4, 2), (2, 4), (2, 3, 2), (3, 3)])
        if (len(shape) == 2 or name != "pinv-rtol-data")  # which is about one matrix
        and (i + j + k) % 2  # each two of the three in half of the combinations
    ],
)
def test_rectangular_matrices(name, dtype, shape):
    assert_maps(
        RECTANGULAR[name], draw(3, *shape, dtype=dtype), rtol=1e-3 if dtype == "f4" else 1e-9
    )


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0), (2, 0, 0)])
@pytest.mark.parametrize(
    "name", ["svdvals", "svd", "svd-full", "qr", "qr-complete", "qr-r", "pinv"]
)
def test_empty_matrices(name, shape):
    assert_maps(RECTANGULAR[name], np.zeros((3, *shape)))


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigvalsh", "matrix_rank"])
def test_empty_square_matrices(name):
    assert_maps(SQUARE[name], np.zeros((3, 0, 0)))
    assert_maps(SQUARE[name], np.zeros((3, 2, 0, 0), "f4"))


def test_layouts():
    assert_maps_everywhere(np.linalg.inv, positive(3, 2, 2), rtol=1e-9)
    assert_maps_everywhere(np.linalg.solve, positive(3, 2, 2), draw(3, 2), rtol=1e-9)
    assert_maps_everywhere(np.linalg.solve, positive(3, 2, 2), draw(3, 4, 2, 1), rtol=1e-9)
    assert_maps_everywhere(np.linalg.norm, draw(3, 2, 2))
    assert_maps_everywhere(lambda a: np.linalg.cond(a, 1), positive(3, 2, 2), rtol=1e-9)
    assert_maps_everywhere(np.linalg.lstsq, draw(3, 4, 2), draw(3, 4), rtol=1e-9)
    assert_maps_everywhere(
        lambda a: np.linalg.eigvalsh(a) + np.linalg.svdvals(a), positive(3, 2, 2)
    )


def test_results_are_numpys_classes():
    def run(a):
        factors = np.linalg.svd(a)
        assert np.linalg.eig(a)._fields == ("eigenvalues", "eigenvectors")
        return np.linalg.qr(a), factors, np.linalg.slogdet(a), np.linalg.eigh(a), factors.S.sum()

    a = positive(3, 2, 2)
    qr, svd, slogdet, eigh, total = lw.vmap(run)(a)
    assert type(qr) is type(np.linalg.qr(a[0])) and qr.Q.shape == (3, 2, 2)
    assert type(svd) is type(np.linalg.svd(a[0])) and total.shape == (3,)
    assert type(slogdet) is type(np.linalg.slogdet(a[0]))
    assert type(eigh) is type(np.linalg.eigh(a[0]))
    assert type(lw.vmap(np.linalg.eig)(a)) is type(np.linalg.eig(a[0]))


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4"])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_eigenvalues_are_always_complex(dtype, kind):
    a = positive(4, 3, 3, dtype=dtype) if kind == "real" else draw(4, 3, 3, dtype=dtype)
    rtol = 1e-3 if dtype == "f4" else 1e-9
    wide = np.result_type(a.dtype if a.dtype.kind != "i" else "f8", "c8")
    assert_values = lw.vmap(np.linalg.eigvals)(a)
    assert assert_values.dtype == wide
    np.testing.assert_allclose(assert_values, loop(np.linalg.eigvals, (a,), (0,)), rtol=rtol)
    values, vectors = lw.vmap(np.linalg.eig)(a)
    assert values.dtype == vectors.dtype == wide
    np.testing.assert_allclose(a @ vectors, vectors * values[:, None, :], rtol=rtol, atol=50 * rtol)


# --- norms ----------------------------------------------------------------------------------------

ORDERS = [None, 0, 1, -1, 2, -2, 3, 0.5, -0.5, np.inf, -np.inf, "fro", "nuc"]
NORMS = {
    **{f"vector{p}": lambda x, p=p: np.linalg.norm(x, p, axis=-1) for p in ORDERS[:-2]},
    **{
        f"matrix{p}": lambda x, p=p: np.linalg.norm(x, p, axis=(0, 2))
        for p in ORDERS
        if p not in (0, 3, 0.5, -0.5)
    },
    **{
        f"matrix_norm{p}": lambda x, p=p: np.linalg.matrix_norm(x, ord=p)
        for p in ORDERS
        if p not in (0, 3, 0.5, -0.5)
    },
    **{f"vector_norm{p}": lambda x, p=p: np.linalg.vector_norm(x, ord=p) for p in ORDERS[1:-2]},
    "all": np.linalg.norm,
    "all-keepdims": lambda x: np.linalg.norm(x, keepdims=True),
    "matrix-fro": lambda x: np.linalg.norm(x[0], "fro"),
    "matrix-none": lambda x: np.linalg.norm(x[0], 1),
    "vector-2": lambda x: np.linalg.norm(x[0, 0], 2, keepdims=True),
    "vector-3": lambda x: np.linalg.norm(x[0, 0], 3),
    "axis": lambda x: np.linalg.norm(x, axis=1),
    "axis-keepdims": lambda x: np.linalg.norm(x, 1, axis=1, keepdims=True),
    "axis-tuple": lambda x: np.linalg.norm(x, axis=(1,)),
    "axes": lambda x: np.linalg.norm(x, 1, axis=(2, 0)),
    "axes-keepdims": lambda x: np.linalg.norm(x, np.inf, axis=(2, 0), keepdims=True),
    "axes-svd-keepdims": lambda x: np.linalg.norm(x, 2, axis=(-1, 0), keepdims=True),
    "matrix_norm-nuc-keepdims": lambda x: np.linalg.matrix_norm(x, keepdims=True, ord="nuc"),
    "vector_norm-axis": lambda x: np.linalg.vector_norm(x, axis=1, ord=3),
    "vector_norm-axes": lambda x: np.linalg.vector_norm(x, axis=(2, 0)),
    "vector_norm-keepdims": lambda x: np.linalg.vector_norm(x, axis=(-1, 0), keepdims=True),
    "vector_norm-all-keepdims": lambda x: np.linalg.vector_norm(x, keepdims=True, ord=1),
    "scalar": lambda x: np.linalg.norm(x[0, 0, 0]),
    "scalar-vector_norm": lambda x: np.linalg.vector_norm(x[0, 0, 0], keepdims=True),
}


@pytest.mark.parametrize(
    ("name", "dtype"), in_turn(NORMS, ["f8", "f4", "f2", "c16", "c8", "i4", "i1"])
)
def test_norms(name, dtype):
    svd = any(part in name for part in ("trix2", "trix-2", "norm2", "norm-2", "nuc", "svd"))
    svd = svd and not name.startswith("vector_norm")
    x = draw(3, 2, 3, 4, dtype=dtype)
    if dtype == "f2" and svd:  # LAPACK has no half precision
        assert_refused_alike(NORMS[name], x)
        return
    assert_maps(NORMS[name], x, rtol={"f2": 2e-2, "f4": 1e-5, "c8": 1e-5}.get(dtype, 1e-12))


@pytest.mark.parametrize("order", [None, 0, 1, -1, 2, 3, np.inf, -np.inf])
def test_norms_of_special_values(order):
    x = np.array([[1, np.nan, 2], [np.inf, 1, -np.inf], [0.0, -0.0, 0.0], [3, 4, 0]])
    assert_maps(lambda x: np.linalg.norm(x, order), x)
    assert_maps(lambda x: np.linalg.vector_norm(x, ord=2 if order is None else order), x)


def test_norms_of_nothing():
    assert_maps(np.linalg.norm, np.zeros((2, 0)))
    assert_maps(lambda x: np.linalg.norm(x, np.inf, axis=0), np.zeros((2, 0, 3)))
    assert_maps(lambda x: np.linalg.norm(x, 1), np.zeros((2, 0, 3)))
    assert_maps(lambda x: np.linalg.matrix_norm(x, ord="nuc"), np.zeros((2, 0, 3)))


def test_condition_numbers_of_singular_matrices():
    a = np.stack([positive(3, 3), np.ones((3, 3)), np.zeros((3, 3)), np.diag([1.0, np.nan, 1.0])])
    for p in (None, -2):
        assert_maps(lambda a, p=p: np.linalg.cond(a, p), a[[0, 2]])
    for p in (1, np.inf, "fro"):
        assert_maps(lambda a, p=p: np.linalg.cond(a, p), a, rtol=1e-9)
    with np.errstate(all="raise"):
        lw.vmap(np.linalg.cond)(a[[0, 2]])


# --- solving --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtypes", [("f8", "f8"), ("f4", "f4"), ("f4", "i4"), ("f4", "f8"), ("c8", "i1"), ("i8", "c8")]
)
def test_dtypes_of_solve(dtypes):
    a = positive(3, 2, 2, dtype=dtypes[0])
    rtol = 1e-3 if dtypes in (("f4", "f4"),) else 1e-6
    assert_maps(np.linalg.solve, a, draw(3, 2, dtype=dtypes[1]), rtol=rtol)
    assert_maps(np.linalg.solve, a, draw(3, 2, 3, dtype=dtypes[1]), rtol=rtol)
    assert_maps(lambda a, b: np.linalg.lstsq(a, b)[::3], a, draw(3, 2, dtype=dtypes[1]), rtol=1e-4)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (0, 2), (2, 0)])
@pytest.mark.parametrize("sides", [(), (3,), (0,), (1,)])
def test_least_squares(shape, sides):
    a, b = draw(3, *shape), draw(3, shape[0], *sides)
    assert_maps(np.linalg.lstsq, a, b, rtol=1e-9)
    assert_maps(lambda a, b: np.linalg.lstsq(a, b, rcond=0.1)[2:], a, b, rtol=1e-9)
    assert_maps(np.linalg.lstsq, a, b[0], in_dims=(0, None), rtol=1e-9)


def test_least_squares_of_deficient_rank():
    a, b = np.ones((2, 4, 2)), draw(2, 4)
    x, residuals, rank, _ = lw.vmap(np.linalg.lstsq)(a, b)
    assert rank.tolist() == [1, 1] and rank.dtype == np.intc
    expected = np.sum((b - np.einsum("bij,bj->bi", a, x)) ** 2, axis=1, keepdims=True)
    np.testing.assert_allclose(residuals, expected)


def test_tensor_equations():
    a = draw(3, 2, 3, 6)
    assert_maps(np.linalg.tensorsolve, a, draw(3, 2, 3), rtol=1e-8)
    assert_maps(
        lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)), draw(3, 6, 2, 3), draw(3, 2, 3)
    )
    assert_maps(
        lambda a, b: np.linalg.tensorsolve(a, b, (1,)), draw(3, 2, 6, 3), draw(3, 2, 3), rtol=1e-8
    )
    assert_maps(np.linalg.tensorinv, a, rtol=1e-8)
    assert_maps(lambda a: np.linalg.tensorinv(a, ind=1), draw(3, 6, 2, 3), rtol=1e-8)


def test_multi_dot_out():
    def run(a):
        out = np.zeros_like(a)
        np.linalg.multi_dot([a, a, a], out=out)
        return out

    assert_maps(run, draw(3, 2, 2))


@pytest.mark.parametrize("mode", ["full", "economic"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_deprecated_modes_of_qr(mode):
    assert_maps(lambda a: np.linalg.qr(a, mode)[0], draw(3, 4, 2))
    with pytest.warns(DeprecationWarning):
        lw.vmap(lambda a: np.linalg.qr(a + 1, mode)[0])(draw(3, 4, 2))


# --- errors ---------------------------------------------------------------------------------------

ERRORS = {
    "inv-vector": lambda a: np.linalg.inv(a[0]),
    "inv-rectangle": lambda a: np.linalg.inv(a),
    "inv-half": lambda a: np.linalg.inv(a[:, :2].astype(np.float16)),
    "inv-long": lambda a: np.linalg.inv(a[:, :2].astype(np.longdouble)),
    "inv-singular": lambda a: np.linalg.inv(0 * a[:, :2]),
    "solve-singular": lambda a: np.linalg.solve(0 * a[:, :2], a),
    "solve-shapes": lambda a: np.linalg.solve(a[:, :2], a.T),
    "solve-vector": lambda a: np.linalg.solve(a[:, :2], a[0]),
    "solve-scalar": lambda a: np.linalg.solve(a[:, :2], a[0, 0]),
    "det": lambda a: np.linalg.det(a),
    "slogdet": lambda a: np.linalg.slogdet(a[0]),
    "cholesky": lambda a: np.linalg.cholesky(-np.abs(a[:, :2])),
    "eig-nan": lambda a: np.linalg.eig(a[:, :2] * np.nan),
    "eigvals-inf": lambda a: np.linalg.eigvals(a[:, :2] * np.inf),
    "eigh": lambda a: np.linalg.eigh(a),
    "eigh-UPLO": lambda a: np.linalg.eigh(a[:, :2], "X"),
    "svd": lambda a: np.linalg.svd(a[0]),
    "svdvals": lambda a: np.linalg.svdvals(a[0]),
    "qr": lambda a: np.linalg.qr(a[0]),
    "qr-mode": lambda a: np.linalg.qr(a, "x"),
    "pinv": lambda a: np.linalg.pinv(a[0]),
    "pinv-both": lambda a: np.linalg.pinv(a, 0.1, rtol=0.1),
    "matrix_rank-both": lambda a: np.linalg.matrix_rank(a, 0.1, rtol=0.1),
    "matrix_power": lambda a: np.linalg.matrix_power(a, 2),
    "matrix_power-float": lambda a: np.linalg.matrix_power(a[:, :2], 2.0),
    "multi_dot-one": lambda a: np.linalg.multi_dot([a]),
    "multi_dot-rank": lambda a: np.linalg.multi_dot([a, a[None], a]),
    "multi_dot-shapes": lambda a: np.linalg.multi_dot([a, a, a]),
    "tensorinv": lambda a: np.linalg.tensorinv(a, 0),
    "tensorsolve": lambda a: np.linalg.tensorsolve(a, a[0]),
    "lstsq-shapes": lambda a: np.linalg.lstsq(a, a.T),
    "lstsq-rank": lambda a: np.linalg.lstsq(a[None], a),
    "lstsq-scalar": lambda a: np.linalg.lstsq(a, a[0, 0]),
    "cond-empty": lambda a: np.linalg.cond(a[:0]),
    "cond-rectangle": lambda a: np.linalg.cond(a, 1),
    "cond-order": lambda a: np.linalg.cond(a[:, :2], 7),
    "norm-order": lambda a: np.linalg.norm(a, 7),
    "norm-vector-order": lambda a: np.linalg.norm(a[0], "fro"),
    "norm-axes": lambda a: np.linalg.norm(a, axis=(0, 0)),
    "norm-axis": lambda a: np.linalg.norm(a, axis=5),
    "norm-axis-kind": lambda a: np.linalg.norm(a, axis="x"),
    "norm-rank": lambda a: np.linalg.norm(a[None], 2),
    "norm-empty": lambda a: np.linalg.norm(a[:0], -np.inf, axis=0),
    "diagonal": lambda a: np.linalg.diagonal(a[0]),
    "matrix_transpose": lambda a: np.linalg.matrix_transpose(a[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_numpys(name):
    a = draw(2, 2, 3)
    with pytest.raises(Exception) as plain:
        ERRORS[name](a[0])
    with pytest.raises(plain.type):
        lw.vmap(ERRORS[name])(a)


def test_an_error_names_the_example():
    a = np.stack([np.eye(2), np.eye(2), np.zeros((2, 2))])
    with pytest.raises(LinAlgError, match="Singular matrix"):
        lw.vmap(np.linalg.inv)(a)


def test_a_traced_exponent_is_refused():
    with pytest.raises(lw.ConcretizationError, match="traced"):
        lw.vmap(lambda a, n: np.linalg.matrix_power(a, n))(draw(2, 2, 2), np.array([1, 2]))


def test_least_squares_of_one_example_do_not_see_another():
    """Right-hand sides that share a matrix: one that is huge or not finite spoils no other."""
    a = np.array([[1.0, 0.3], [0.2, 1.1], [0.4, 0.5]])
    sides = np.array([[1.0, 2.0, 3.0], [1e-300, 2e-300, 0.0], [1e308, -1e308, 9e307]])
    got = lw.vmap(lambda b: np.linalg.lstsq(a, b)[0])(sides)
    for row, b in zip(got, sides, strict=True):
        np.testing.assert_allclose(row, np.linalg.lstsq(a, b)[0], rtol=1e-12)
    spoiled = np.vstack([sides[:2], [np.nan, 0, 0], [np.inf, 1, 1]])
    got = lw.vmap(lambda b: np.linalg.lstsq(a, b)[0])(spoiled)
    np.testing.assert_allclose(got[:2], [np.linalg.lstsq(a, b)[0] for b in sides[:2]], rtol=1e-12)
    assert not np.isfinite(got[2:]).any()
