"""Gradients of NumPy's and SciPy's functions, and of what is special about points and numbers.

Every function is differentiated backward, forward, twice and under `vmap`, against differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import lanewise as lw

RNG = np.random.default_rng(3)
A = RNG.uniform(0.2, 2, (3, 4))
B = RNG.uniform(0.2, 2, (4, 4)) + 2 * np.eye(4)
P = B @ B.T
V = RNG.uniform(0.3, 1.7, 5)
U = RNG.uniform(0.2, 0.8, 4)


def at(ufunc: np.ufunc) -> Callable[[Any], Any]:
    """Return a function that combines numbers in place, where some places repeat."""

    def combined(x):
        y = x * 0.5
        ufunc.at(y, [0, 1, 1], x[:3] ** 2)
        return y

    return combined


def filled(x):
    y = x + 0
    np.fill_diagonal(y, x[0] ** 2)
    return y


def swapped(func: np.ufunc) -> Callable[[Any], Any]:
    return lambda x: func(x, x[::-1] + 0.5)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    # statistics
    "median": (lambda x: np.median(x, 0), A),
    "percentile": (lambda x: np.percentile(x, [10, 33.0, 75]), A),
    "quantile at data": (lambda x: np.quantile(x, x[0] / 2), U),
    "std": (lambda x: np.std(x, axis=1), A),
    "average": (lambda x: np.average(x, axis=0, weights=x[:, 0]), A),
    "corrcoef": (np.corrcoef, A),
    "nanstd": (np.nanstd, A),
    "ptp": (np.ptp, A),
    "histogram": (lambda x: np.histogram([0.1, 0.2, 0.5, 0.6, 0.9], bins=3, weights=x)[0], V),
    "bincount": (lambda x: np.bincount([0, 1, 1, 3, 0], weights=x), V),
    # reductions and running ones
    "prod": (lambda x: np.prod(x, 1), A),
    "prod of zeros": (np.prod, np.array([0.0, 2.0, 3.0])),
    "prod of more zeros": (np.prod, np.array([0.0, 2.0, 0.0])),
    "cumprod": (lambda x: np.cumprod(x, 0), A),
    "cumprod of zeros": (np.cumprod, np.array([2.0, 0.0, 3.0, 0.0])),
    "subtract.reduce": (np.subtract.reduce, A),
    "divide.accumulate": (lambda x: np.divide.accumulate(x, 1), A),
    "power.accumulate": (lambda x: np.power.accumulate(x, 1), A),
    "logaddexp.accumulate": (np.logaddexp.accumulate, V),
    "maximum.accumulate": (lambda x: np.maximum.accumulate(x, 1), A),
    "multiply.reduceat": (lambda x: np.multiply.reduceat(x, [0, 2, 1]), V),
    "hypot.reduce": (np.hypot.reduce, A),
    "add.at": (at(np.add), V),
    "subtract.at": (at(np.subtract), V),
    "multiply.at": (at(np.multiply), V),
    "multiply.at zero": (at(np.multiply), np.array([2.0, 0.0, 3.0, 1.0])),
    "divide.at": (at(np.divide), V),
    "maximum.at": (at(np.maximum), V),
    # products and signals
    "convolve": (lambda x: np.convolve(x, x[:3]), V),
    "convolve the shorter": (lambda x: np.convolve(x[:2], x, "same"), V),
    "correlate": (lambda x: np.correlate(x[:2], x, "full"), V),
    "interp": (lambda x: np.interp(np.linspace(0, 2, 7), np.sort(x), x**2), V),
    "einsum": (lambda x: np.einsum("ij,ij,kj->ik", x, x, x), A),
    "matvec": (lambda x: np.matvec(x, x[0]), A),
    "vecmat": (lambda x: np.vecmat(x[0, :3], x), A),
    "vecdot": (lambda x: np.vecdot(x, x[::-1]), A),
    "kron": (lambda x: np.kron(x, x[:2]), A),
    "cross": (lambda x: np.cross(x[:3], x[2:]), V),
    "fft": (lambda x: np.abs(np.fft.fft(x)), V),
    "ifft of more points": (lambda x: np.imag(np.fft.ifft(x * 1j + x**2, 7)), V),
    "rfft": (lambda x: np.abs(np.fft.rfft(x)) ** 2, V),
    "rfft of fewer points": (lambda x: np.abs(np.fft.rfft(x, 4)), V),
    "irfft": (lambda x: np.fft.irfft(x + 1j * x**2), V),
    "irfftn": (lambda x: np.fft.irfftn(x + 1j * x), A),
    "hfft": (lambda x: np.fft.hfft(x + 1j * x), V),
    # linear algebra
    "inv": (np.linalg.inv, B),
    "det": (np.linalg.det, B),
    "det of rank 3": (np.linalg.det, np.diag([1.0, 2.0, 3.0, 0.0])),
    "det of rank 1": (np.linalg.det, np.ones((3, 3))),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], B),
    "solve": (lambda x: np.linalg.solve(x, x[:, 0]), B),
    "cholesky": (np.linalg.cholesky, P),
    "qr": (lambda x: np.linalg.qr(x)[0], B),
    "qr of wide": (lambda x: np.linalg.qr(x)[1], A),
    "svd": (lambda x: np.linalg.svd(x, full_matrices=False)[0], A),
    "svd with all of V": (lambda x: np.linalg.svd(x)[2], A),
    "svd of Hermitian": (lambda x: np.linalg.svd(x @ x.T, hermitian=True)[1], B),
    "eigh": (lambda x: np.linalg.eigh(x)[1] ** 2, P),
    "eig": (lambda x: np.abs(np.linalg.eig(x)[1]), B),
    "eigvals": (lambda x: np.abs(np.linalg.eigvals(x)), B),
    "pinv": (np.linalg.pinv, A),
    "pinv, cut": (lambda x: np.linalg.pinv(x, 0.3), A),
    "pinv of Hermitian": (lambda x: np.linalg.pinv(x, hermitian=True), P),
    "lstsq": (lambda x: np.linalg.lstsq(x.T, x[0] * x[1], rcond=None)[0], A),
    "lstsq residuals": (lambda x: np.linalg.lstsq(x.T, x[0] * x[1], rcond=None)[1], A),
    "norm": (np.linalg.norm, A),
    "spectral norm": (lambda x: np.linalg.norm(x, 2), A),
    "nuclear norm": (lambda x: np.linalg.norm(x, "nuc"), A),
    "norm 3": (lambda x: np.linalg.norm(x, 3, axis=1), A),
    "cond": (np.linalg.cond, B),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, -2), B),
    # movement, choices and the like
    "sort": (lambda x: np.sort(x, 0), A),
    "partition": (lambda x: np.partition(x, 2, 1)[:, 2], A),
    "max": (lambda x: x.max(0), A),
    "clip": (lambda x: np.clip(x, 0.5, 1.5), A),
    "where": (lambda x: np.where(x > 1, x**2, x), A),
    "abs": (np.abs, A - 1),
    "pad": (lambda x: np.pad(x, 1, "linear_ramp"), A),
    "roll": (lambda x: np.roll(x, 2), A),
    "fill_diagonal": (filled, B),
    "view": (lambda x: (x + 1j * x**2).view(float), V),
    "view as complex": (lambda x: np.abs(x[:4].view(complex)), V),
    "broadcast": (lambda x: x[0] + np.ones((2, 1)), V),
    "i0": (np.i0, V),
    "sinc": (np.sinc, V),
    "unwrap": (lambda x: np.unwrap(x * 5), V),
    "geomspace": (lambda x: np.geomspace(x[0], x[1], 6), V),
    "complex powers": (lambda x: np.real((x + 2j) ** 3), V),
    "angle": (lambda x: np.angle(x + 1j * x**2), V),
    "sign of complex": (lambda x: np.real(np.sign(x + 1j * x**2)), V),
    # SciPy
    **{
        name: (getattr(scipy.special, name), V)
        for name in """erf erfc erfcx erfi dawsn ndtr log_ndtr expit log_expit gamma gammaln rgamma
            loggamma psi i0 i0e i1 i1e j0 j1 k0 k1 y0 y1 expi exp1 exp10 entr cosm1
            spence""".split()
    },
    **{
        name: (getattr(scipy.special, name), U)
        for name in "erfinv erfcinv ndtri logit".split()
    },
    **{
        name: (swapped(getattr(scipy.special, name)), V)
        for name in "xlogy xlog1py beta betaln rel_entr kl_div".split()
    },
    "gammainc": (lambda x: scipy.special.gammainc(1.5, x), V),
    "gammaincc": (lambda x: scipy.special.gammaincc(1.5, x), V),
    "zeta": (lambda x: scipy.special.zeta(3.0, x), V),
    "boxcox": (lambda x: scipy.special.boxcox(x, 0.3), V),
}  # fmt: skip


def differences(func: Callable[[np.ndarray], Any], x: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """Return the gradient by differences of fourth order."""
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = step
        far, near = func(x + 2 * d) - func(x - 2 * d), func(x + d) - func(x - d)
        found[i] = (8 * near - far) / (12 * step)
    return found


def assert_near(got: Any, want: Any, tolerance: float) -> None:
    scale = max(1.0, float(np.abs(want).max(initial=0.0)))
    np.testing.assert_allclose(got, want, tolerance, tolerance * scale)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    func, x = FUNCTIONS[name]
    value = np.asarray(func(x.copy()))
    weights = np.cos(np.arange(value.size) * 1.3 + 0.4).reshape(value.shape)
    along = np.sin(np.arange(x.size) + 1).reshape(x.shape)

    def loss(x):
        return (func(x) * weights).sum()

    gradient = lw.function(lw.grad(loss))

    def steepness(x):
        return (gradient(x) * along).sum()

    want = differences(loss, x)
    assert_near(gradient(x), want, 1e-7)
    assert_near(lw.vmap(lw.grad(loss), in_dims=-1)(np.stack([x + 1, x], -1))[1], want, 1e-7)
    assert_near(lw.jvp(loss, (x,), (along,))[1], (want * along).sum(), 1e-7)
    assert_near(lw.grad(steepness)(x), differences(steepness, x), 1e-6)


def test_what_is_not_known_is_refused():
    x = np.array([1.0, 2.0])
    own = np.frompyfunc(lambda v: v, 1, 1)
    with pytest.raises(lw.UnsupportedError, match="its first operand is not known"):
        lw.grad(lambda a: scipy.special.gammainc(a, 1.0).sum())(x)
    with pytest.raises(lw.UnsupportedError, match=r"power\.at is not known"):
        lw.grad(lambda a: at(np.power)(np.concatenate([a, a])).sum())(x)
    with pytest.raises(lw.UnsupportedError):
        lw.grad(lambda a: own(a).sum())(x)


# --- special points -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("func", "x", "want"),
    [
        (lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1)), 0), [0.0, 4.0], [0, 0.25]),
        (lambda x: np.where(x > 0, np.sqrt(x), 0), [0.0, 4.0], [0, 0.25]),
        (lambda x: np.where(x > 0, np.log(x), x), [-1.0, 0.0, 2.0], [1, 1, 0.5]),
        (lambda x: np.where(x == 0, 1, np.sin(x) / x), [0.0], [0]),
        (lambda x: np.where(x < 1, 1 / (1 - x), x**2), [1.0, 0.5], [2, 4]),
        (lambda x: np.where(x < 1, np.arccos(x), x), [1.0, 0.0], [1, -1]),
        (lambda x: np.where(x != 0, x**-2.0, x), [0.0, 1.0], [1, -2]),
        (lambda x: np.where(x > 0, x * np.log(x), 0), [0.0, 1.0], [0, 1]),
    ],
)  # fmt: skip
def test_the_side_not_taken_gives_no_nan(func, x, want):
    x = np.array(x)
    np.testing.assert_allclose(lw.grad(lambda x: func(x).sum())(x), want)
    np.testing.assert_allclose(lw.vmap(lw.grad(func))(x), want)
    np.testing.assert_allclose(lw.jvp(func, (x,), (np.ones_like(x),))[1], want)
    curved = lw.grad(lambda x: lw.grad(lambda x: func(x).sum())(x).sum())(x)
    assert np.isfinite(curved).all()


def branched(x):
    if x > 0:
        return np.sqrt(x) * np.log(x)
    return x * 2


def test_a_branch_that_is_not_taken_gives_no_nan():
    x = np.array([-1.0, 0.0, 4.0])
    want = [2, 2, 0.25 * np.log(4) + 0.5]
    np.testing.assert_allclose(lw.vmap(lw.grad(branched))(x), want)


def greatest(x):
    y = x[:1] + 0
    np.maximum.at(y, [0, 0], x[1:])
    return y


@pytest.mark.parametrize(
    ("func", "x", "want"),
    [
        (np.max, [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
        (np.min, [2.0, 2.0, 2.0, 2.0], [0.25] * 4),
        (lambda x: np.maximum(x[0], x[1]), [2.0, 2.0], [0.5, 0.5]),
        (lambda x: np.minimum(x, 1.0).sum(), [1.0, 0.0], [0.5, 1]),
        (lambda x: np.abs(x).sum(), [0.0, -2.0], [0, -1]),
        (lambda x: np.hypot(x[0], x[1]), [0.0, 0.0], [0, 0]),
        (lambda x: np.abs(x + 0j).sum(), [0.0], [0]),
        (np.linalg.norm, [0.0, 0.0], [0, 0]),
        (lambda x: np.linalg.norm(x + 0j, axis=-1), [0.0, 0.0], [0, 0]),
        (lambda x: np.linalg.norm(np.diag(x), "fro"), [0.0, 0.0], [0, 0]),
        (lambda x: greatest(x)[0], [3.0, 1.0, 3.0], [0.5, 0, 0.5]),
        (lambda x: (x**0).sum(), [0.0, 2.0], [0, 0]),
        (lambda x: (x**1.0).sum(), [0.0, 2.0], [1, 1]),
        (lambda x: (0.0**x).sum(), [1.0, 2.0], [0, 0]),
        (lambda x: np.sort(x)[0], [1.0, 1.0], None),
        (lambda x: np.linalg.svdvals(np.diag(x)).sum(), [2.0, 2.0], [1, 1]),
        (lambda x: np.linalg.eigvalsh(np.diag(x)).sum(), [2.0, 2.0], [1, 1]),
        (lambda x: np.linalg.eigvals(np.diag(x)).real.sum(), [2.0, 2.0], [1, 1]),
        (lambda x: np.linalg.pinv(np.diag(x)).sum(), [2.0, 2.0], [-0.25, -0.25]),
        (lambda x: np.linalg.lstsq(np.diag(x), x[::-1] ** 2, None)[0].sum(), [1.0, 1.0], [1, 1]),
    ],
)  # fmt: skip
def test_ties_and_corners(func, x, want):
    """Equal operands share; elsewhere it is a subgradient, or what is well defined."""
    x = np.array(x)
    found = lw.grad(func)(x)
    if want is None:  # one of the two
        assert sorted(found) == [0, 1]
    else:
        np.testing.assert_allclose(found, want)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_of_sinc(order):
    """At zero, close to it, and beyond: by the integral of cos(πxs) over s from 0 to 1."""
    x = np.array([0.0, 1e-9, 1e-3, 0.3, 0.3183, 0.32, 1.7])
    func = np.sinc
    for _ in range(order):
        func = lw.grad(func)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    way, weights = (nodes + 1) / 2 * np.pi, weights / 2
    want = np.cos(np.multiply.outer(x, way) + order * np.pi / 2) @ (weights * way**order)
    np.testing.assert_allclose(lw.vmap(func)(x), want, 1e-9, 1e-11)


def test_second_derivatives_where_singular_values_are_equal():
    def loss(x):
        return (np.linalg.pinv(x) * np.arange(6.0).reshape(2, 3)).sum()

    x = np.eye(3, 2)

    def steepness(x):
        return (lw.grad(loss)(x) * np.arange(6.0).reshape(3, 2)).sum()

    assert_near(lw.grad(steepness)(x), differences(steepness, x, 1e-3), 1e-6)


# --- complex numbers ------------------------------------------------------------------------------


def test_holomorphic_functions_have_complex_derivatives():
    """As in JAX: the tangent of f at z is f'(z) times that of z, and nothing is conjugated."""
    z = np.array([0.3 + 0.7j, 1.2 - 0.4j])
    for func, slope in (
        (lambda z: z**3, 3 * z**2),
        (np.exp, np.exp(z)),
        (np.sin, np.cos(z)),
        (lambda z: 1 / z, -1 / z**2),
        (np.log, 1 / z),
        (np.sqrt, 0.5 / np.sqrt(z)),
    ):
        t = np.array([1.0 + 0j, 2 - 1j])
        np.testing.assert_allclose(lw.jvp(func, (z,), (t,))[1], slope * t)
        _, pull = lw.vjp(func, z)
        np.testing.assert_allclose(pull(t)[0], slope * t)


def test_real_functions_of_complex_numbers():
    """The cotangent of x + iy is ∂f/∂x - i ∂f/∂y: a step along its conjugate goes up."""
    z = np.array([0.3 + 0.7j, 1.2 - 0.4j])
    np.testing.assert_allclose(lw.grad(lambda z: (np.abs(z) ** 2).sum())(z), 2 * np.conj(z))
    np.testing.assert_allclose(lw.grad(lambda z: z.real.sum())(z), [1, 1])
    np.testing.assert_allclose(lw.grad(lambda z: z.imag.sum())(z), [-1j, -1j])
    np.testing.assert_allclose(lw.grad(lambda z: (z * np.conj(z)).real.sum())(z), 2 * np.conj(z))
