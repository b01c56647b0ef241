"""Linear algebra in kernels: NumPy on each example is the oracle; and it did run in kernels."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.algorithms import linalg
from lanewise.codegen.algorithms.orthogonal import Orthogonal
from lanewise.ops import lapack
from lanewise.runtime import dispatch
from support import oracle
from support.backends import Kernels, watched

RNG = np.random.default_rng(14)
COUNT = 21  # more than a block of lanes, and no multiple of one


def mapped(func, *args, in_dims=0):
    """Return what a map gives in kernels, and what was seen of them."""
    dispatch._cache.clear()  # a graph that ran before is not compiled again
    with watched() as seen:
        got = lw.vmap(func, in_dims=in_dims)(*args)
    return got, seen


def assert_native(func, *args, primitives, rtol=None, atol=0.0) -> Kernels:
    """Assert that a map of operations runs in kernels, and gives what NumPy gives."""
    got, seen = mapped(func, *args)
    oracle.assert_same(got, oracle.loop(func, args, (0,) * len(args)), rtol, atol)
    assert set(primitives.split()) <= seen.primitives
    assert not seen.cautious
    return seen


def matrices(n, dtype="f8", count=COUNT):
    """Return well-conditioned matrices whose pivots lie in other rows in each example."""
    found = RNG.normal(size=(count, n, n)) + 2 * n * np.eye(n)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * RNG.normal(size=found.shape)
    found = 4 * RNG.permuted(found, axis=1) if n < 2 else 4 * _shuffled(found)
    return found.astype(dtype)


def _shuffled(x):
    return np.stack([one[RNG.permutation(len(one))] for one in x])


def positive(n, dtype="f8", count=COUNT):
    x = matrices(n, dtype, count)
    return (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)


ALL = {
    "cholesky": lambda x: np.linalg.cholesky(x @ x.conj().T),
    "solve": lambda x: np.linalg.solve(x, np.stack([x.sum(1), x.sum(0) ** 2], 1)),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda x: tuple(np.linalg.slogdet(x)),
    "qr": lambda x: tuple(np.linalg.qr(x)),
    "eigvalsh": lambda x: np.linalg.eigvalsh(x + x.conj().T),
    "svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
}
ROTATED = {Orthogonal.eigvalsh.__name__, Orthogonal.svdvals.__name__}


SIZES = [0, 1, 2, 3, 6, 9, 17, linalg.IN_LANES]
MOST = {name: lapack.VALUES_IN_LANES if name in ROTATED else linalg.IN_LANES for name in ALL}
SIZED = [(name, n) for name in ALL for n in SIZES if n <= MOST[name]]


@pytest.mark.parametrize(("name", "n"), SIZED)
def test_sizes(name, n, monkeypatch):
    if n in (6, 17):
        monkeypatch.setenv("LANEWISE_LANES", "1")  # one vector in flight, or several
    assert_native(ALL[name], matrices(n), primitives=name)


@pytest.mark.parametrize("name", ALL)
def test_larger_ones_are_left_to_numpy(name):
    x = matrices(lapack.FACTORS_CALLED + 1, count=3)
    got, seen = mapped(ALL[name], x)
    oracle.assert_same(got, oracle.loop(ALL[name], (x,), (0,)))
    assert name not in seen.primitives


@pytest.mark.parametrize(("dtype", "n"), [("f4", 7), ("c8", 3), ("c16", 7), ("i4", 3)])
def test_dtypes(dtype, n, monkeypatch):
    if n == 7:
        monkeypatch.setenv("LANEWISE_LANES", "1")
    x = matrices(n, dtype)
    names = ["cholesky", "solve", "inv", "det", "slogdet", "svdvals"]
    assert_native(lambda x: [ALL[name](x) for name in names], x, primitives=" ".join(names))
    assert_native(lambda x: [ALL[n](x) for n in ("qr", "eigvalsh")], x, primitives="qr eigvalsh")


def test_dtypes_of_both_operands():
    x = matrices(3, "f4")
    for dtype in ("f8", "i8", "c8"):
        y = (5 * RNG.normal(size=(COUNT, 3))).astype(dtype)
        assert_native(np.linalg.solve, x, y, primitives="solve", rtol=3e-6)


# --- Cholesky's factors ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("n", [4, 8])
@pytest.mark.parametrize("upper", [False, True])
def test_one_triangle_is_read(dtype, n, upper):
    x = positive(n, dtype)
    x[:, *(np.triu_indices(n, 1) if not upper else np.tril_indices(n, -1))] = np.nan
    assert_native(lambda x: np.linalg.cholesky(x, upper=upper), x, primitives="cholesky")


@pytest.mark.parametrize("n", [3, 6, 9])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_systems_with_a_factor(n, dtype):
    def solved(x, y):
        low = np.linalg.cholesky(x)
        return np.linalg.solve(low.conj().T, np.linalg.solve(low, y)), np.linalg.solve(low.T, y)

    y = RNG.normal(size=(COUNT, n))
    assert_native(solved, positive(n, dtype), y, primitives="cholesky solve")


def test_parts_of_a_factor():
    def parts(x, y):
        low = np.linalg.cholesky(x)
        inner, turned, aside = low[1:3, 1:3], low[::-1, ::-1], low[::-1]
        return [np.linalg.solve(part, y[: len(part)]) for part in (inner, turned, aside)]

    x, y = positive(4), RNG.normal(size=(COUNT, 4))
    assert_native(parts, x, y, primitives="cholesky solve")
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        mapped(lambda x, y: np.linalg.solve(np.linalg.cholesky(x)[:2, 1:3], y[:2]), x, y)


@pytest.mark.parametrize("n", [3, 9])
def test_a_factor_that_is_changed_is_not_one(n):
    def changed(x, y, z):
        low = np.linalg.cholesky(x)
        before = np.linalg.solve(low, y)
        low[0, n - 1] = z
        return before, np.linalg.solve(low, y)

    y, z = RNG.normal(size=(COUNT, n)), RNG.normal(size=COUNT)
    assert_native(changed, positive(n), y, z, primitives="cholesky solve")


@pytest.mark.parametrize("n", [3, 9])
def test_a_factor_that_a_loop_changes_is_not_one(n):
    def turned(x, y):
        low = np.linalg.cholesky(x)
        for _ in range(3):
            y = np.linalg.solve(low, y)
            low = low + low.T
        return y

    assert_native(turned, positive(n), RNG.normal(size=(COUNT, n)), primitives="cholesky solve")


def test_zeros_that_the_user_puts_beside_infinity():
    def padded(x, edge, y):
        low = np.linalg.cholesky(x)
        whole = np.concatenate([np.concatenate([low, edge[:, None]], 1), np.eye(3)[2:]])
        return np.linalg.solve(whole, y)

    edge, y = RNG.normal(size=(COUNT, 2)), RNG.normal(size=(COUNT, 3))
    assert_native(padded, positive(2), edge, y, primitives="cholesky solve")


# --- what fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 9])
@pytest.mark.parametrize("name", ["solve", "inv"])
def test_singular(n, name):
    x = matrices(n)
    x[13, :, 1] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular") as caught:
        mapped(ALL[name], x)
    assert "example 13" in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_not_positive_definite(n):
    x = positive(n)
    x[17] = -x[17]
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite") as caught:
        mapped(np.linalg.cholesky, x)
    assert "example 17" in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize("n", [3, 9])
def test_lanes_elsewhere_may_be_singular(n):
    def guarded(x, flag):
        if flag:
            return np.linalg.solve(x, x[0]) + np.linalg.cholesky(x)[0]
        return x[1]

    x, flag = positive(n), np.arange(COUNT) % 3 > 0
    x[~flag] = 0.0
    assert_native(guarded, x, flag, primitives="solve cholesky")


@pytest.mark.parametrize("n", [3, 9])
def test_numbers_of_lanes_elsewhere(n):
    def chosen(x, flag):
        return np.linalg.slogdet(x)[1] if flag else x[0, 0]

    x, flag = matrices(n), np.arange(COUNT) % 3 > 0
    x[~flag] = np.nan
    x[~flag, 0, 0] = 7
    assert_native(chosen, x, flag, primitives="slogdet")


def test_what_rounding_errors_decide_is_decided_by_numpy():
    x = np.stack([matrices(3, count=1)[0], np.arange(1.0, 10).reshape(3, 3), np.eye(3) / 3])
    x[2, 2] = x[2, 0] + x[2, 1]
    for func in (ALL["det"], ALL["slogdet"], lambda x: np.linalg.cond(x, 1)):
        got, _ = mapped(func, x)
        oracle.assert_same(got, oracle.loop(func, (x,), (0,)), rtol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [2, 7])
def test_nan_and_infinity(name, n):
    x = np.stack([np.eye(n)] * 4) + np.diag(np.arange(n))
    x[1, 0, 0] = np.nan
    x[2, 1, 0] = x[3, 0, 0] = np.inf
    for i in range(4):
        one = x[[0, i]]
        try:
            want = oracle.loop(ALL[name], (one,), (0,))
        except np.linalg.LinAlgError as error:
            with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                mapped(ALL[name], one)
            continue
        oracle.assert_same(mapped(ALL[name], one)[0], want)


def test_nan_on_the_right_keeps_to_its_column():
    x, y = matrices(4), RNG.normal(size=(COUNT, 4, 3))
    y[2, :, 1], y[5, 0, 2] = np.nan, np.inf
    got, seen = mapped(np.linalg.solve, x, y)
    want = oracle.loop(np.linalg.solve, (x, y), (0, 0))
    finite = np.isfinite(y).all(axis=1, keepdims=True) & np.isfinite(want)
    np.testing.assert_allclose(got[finite], want[finite], rtol=1e-12)
    assert not np.isfinite(got[2, :, 1]).any() and not seen.cautious


# --- determinants ---------------------------------------------------------------------------------


def test_determinants_out_of_the_range_of_products():
    scales = np.array([1e200, 1e200, 1e-200, 1e-200, 1.0])
    assert_native(np.linalg.det, matrices(5) * scales, primitives="det")
    x = matrices(5) * scales[:, None]  # pivots are small beside their columns: NumPy has a look
    oracle.assert_same(mapped(np.linalg.det, x)[0], oracle.loop(np.linalg.det, (x,), (0,)))
    x = np.concatenate([matrices(3) * 1e-200, matrices(3) * 1e200])
    assert_native(ALL["slogdet"], x, primitives="slogdet")
    got, _ = mapped(np.linalg.det, x)
    np.testing.assert_array_equal(abs(got), np.repeat([0, np.inf], COUNT))


def test_determinants_of_zero():
    x = matrices(4)
    x[3, :, 2] = 0
    for name in ("det", "slogdet"):
        got, _ = mapped(ALL[name], x)
        oracle.assert_same(got, oracle.loop(ALL[name], (x,), (0,)), rtol=1e-12)


def test_exchanges_change_the_sign():
    for n in (4, 9):
        x = np.stack([np.eye(n)[RNG.permutation(n)] for _ in range(COUNT)])
        assert_native(np.linalg.det, x, primitives="det")


# --- QR, eigenvalues, singular values -------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (12, 3), (5, 9), (0, 2), (3, 0)])
def test_qr_modes(mode, shape):
    x = RNG.normal(size=(COUNT, *shape))
    assert_native(
        lambda x: np.linalg.qr(x, mode) if mode == "r" else tuple(np.linalg.qr(x, mode)),
        x + 1j * RNG.normal(size=x.shape) if mode == "complete" else x,
        primitives="qr",
    )


def test_qr_of_triangles_and_zeros():
    x = RNG.normal(size=(COUNT, 4, 3))
    x[0], x[1], x[2] = 0, np.triu(x[1]), -np.triu(abs(x[2]))
    x[3, :, 1], x[4, 2:, 0] = 0, 0
    assert_native(ALL["qr"], x, primitives="qr")
    assert_native(ALL["qr"], x.astype(complex), primitives="qr")


def test_qr_of_dependent_columns():
    x = RNG.normal(size=(COUNT, 5, 3))
    x[4, :, 2] = x[4, :, 0] - 3 * x[4, :, 1]  # where the rest points is LAPACK's to say
    got, seen = mapped(ALL["qr"], x)
    oracle.assert_same(got, oracle.loop(ALL["qr"], (x,), (0,)))
    assert seen.cautious


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("n", [3, 8])
def test_eigenvalues(dtype, n):
    x = matrices(n, dtype)
    x[0], x[1], x[2, 0, 1] = np.eye(n), 0, 0  # alike, none, and a rotation that is not needed
    x[3] = np.diag(10.0 ** -np.arange(n))
    assert_native(np.linalg.eigvalsh, x, primitives="eigvalsh")
    assert_native(lambda x: np.linalg.eigvalsh(x, "U"), x, primitives="eigvalsh")


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (9, 5), (5, 5)])
def test_singular_values(shape):
    x = RNG.normal(size=(COUNT, *shape))
    x[0], x[1, :, 1], x[2] = 0, x[1, :, 0], 1
    assert_native(ALL["svdvals"], x, primitives="svdvals", atol=1e-13)


def test_vectors_of_larger_ones_are_left_to_numpy():
    for name, func in {"eigh": lambda x: tuple(np.linalg.eigh(x)), "svd": np.linalg.svd}.items():
        x = positive(lapack.ITERATED_CALLED + 1)
        got, seen = mapped(lambda x, func=func: tuple(func(x)), x)
        oracle.assert_same(got, oracle.loop(lambda x, func=func: tuple(func(x)), (x,), (0,)))
        assert name not in seen.primitives


# --- stacks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 7])
def test_stacks(n, monkeypatch):
    if n == 7:
        monkeypatch.setenv("LANEWISE_LANES", "1")
    x = matrices(n, count=5 * 2 * 3).reshape(5, 2, 3, n, n)
    y = RNG.normal(size=(5, 3, n, 2))
    names = ["inv", "slogdet"]
    assert_native(lambda x: [ALL[name](x) for name in names], x, primitives=" ".join(names))
    assert_native(lambda x: tuple(np.linalg.qr(x)), x, primitives="qr")
    assert_native(np.linalg.solve, x, y, primitives="solve")
    assert_native(lambda x, y: np.linalg.solve(x[:, :1], y), x, y, primitives="solve")
    assert_native(np.linalg.solve, x[:, 0, 0], y, primitives="solve")


def test_large_stacks_run_in_lanes_themselves():
    x = matrices(3, count=2 * 500).reshape(2, 500, 3, 3)
    y = RNG.normal(size=(2, 500, 3, 1))
    assert_native(
        lambda x, y: (np.linalg.solve(x, y), np.linalg.det(x)), x, y, primitives="solve det"
    )


@pytest.mark.parametrize("n", [3, 7])
def test_large_stacks_of_few_columns_run_one_by_one(n):
    x = matrices(n, count=2 * 250 * 2).reshape(2, 250, 2, n, n)
    for name in ("cholesky", "solve", "slogdet", "qr", "eigvalsh", "svdvals"):
        func = {
            "cholesky": lambda x: np.linalg.cholesky(x @ x.mT),
            "solve": lambda x: np.linalg.solve(x, x[..., :2]),
            "eigvalsh": np.linalg.eigvalsh,
        }.get(name, ALL[name])
        assert_native(func, x, primitives=name)


def test_matrices_that_examples_share():
    x, y = matrices(4)[0], RNG.normal(size=(COUNT, 4))
    for order in (slice(None), slice(None, None, -1)):
        got, _ = mapped(lambda x, y: np.linalg.solve(x, y), x[order], y, in_dims=(None, 0))
        want = oracle.loop(np.linalg.solve, (x[order], y), (None, 0))
        oracle.assert_same(got, want)


def test_in_a_loop():
    def newton(x):
        steps = 0
        guess = np.ones(3)
        while np.abs(x @ guess**3 - 1).max() > 1e-12 and steps < 60:
            guess = guess - np.linalg.solve(3 * x * guess**2, x @ guess**3 - 1)
            steps += 1
        return guess

    x = np.eye(3) * RNG.uniform(0.2, 3, (COUNT, 1, 1)) + RNG.uniform(0, 0.01, (COUNT, 3, 3))
    assert_native(newton, x, primitives="solve while", rtol=1e-10)
