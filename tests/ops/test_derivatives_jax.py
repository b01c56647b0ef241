"""Derivatives against JAX's, where it is installed: real and complex, forward, backward and twice.

JAX's conventions for complex numbers are taken over, so what is compared needs no conversion. It
makes matrices Hermitian of which LAPACK reads one triangle; `hermitian` does so here. The sign of a
complex number, z / |z|, is left out: JAX takes its derivative for zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw

jax = pytest.importorskip("jax")

RNG = np.random.default_rng(11)


def numbers(*shape: int) -> np.ndarray:
    return RNG.uniform(0.3, 1.7, shape)


def complexes(*shape: int) -> np.ndarray:
    return numbers(*shape) + 1j * RNG.uniform(-0.5, 0.5, shape)


def hermitian(x: Any) -> Any:
    return (x + x.conj().swapaxes(-1, -2)) / 2


def spread(xp: Any, x: Any) -> Any:
    """Return a matrix with well separated eigenvalues and singular values."""
    return x + xp.diag(xp.arange(1.0, 2 * x.shape[-1], 2.0))


# Each takes the module of functions and an array, and gives a real or complex array.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda xp, x: xp.linalg.cholesky(
        hermitian(x) @ hermitian(x) + 3 * xp.eye(x.shape[-1])
    ),
    "solve": lambda xp, x: xp.linalg.solve(spread(xp, x), x[:, :2]),
    "inv": lambda xp, x: xp.linalg.inv(spread(xp, x)),
    "det": lambda xp, x: xp.linalg.det(x),
    "slogdet": lambda xp, x: xp.linalg.slogdet(spread(xp, x))[1],
    "phase of slogdet": lambda xp, x: xp.linalg.slogdet(spread(xp, x))[0],
    "qr": lambda xp, x: xp.linalg.qr(spread(xp, x))[1],
    "q of qr": lambda xp, x: xp.linalg.qr(spread(xp, x)[:, :2])[0],
    "svdvals": lambda xp, x: xp.linalg.svd(spread(xp, x), compute_uv=False),
    "svd": lambda xp, x: spans(xp, *xp.linalg.svd(spread(xp, x)[:, :2], full_matrices=False)),
    "eigvalsh": lambda xp, x: xp.linalg.eigvalsh(hermitian(spread(xp, x))),
    "eigh": lambda xp, x: eigenspaces(xp, *xp.linalg.eigh(hermitian(spread(xp, x)))),
    "eigvals": lambda xp, x: xp.sum(xp.linalg.eigvals(spread(xp, x)) ** 3),
    "pinv": lambda xp, x: xp.linalg.pinv(spread(xp, x)[:, :2]),
    "matrix_power": lambda xp, x: xp.linalg.matrix_power(x, 3),
    "fft": lambda xp, x: xp.fft.fft(x, 5),
    "ifft": lambda xp, x: xp.fft.ifft(x, axis=0, norm="ortho"),
    "irfft": lambda xp, x: xp.fft.irfft(x, 5),
    "fft2": lambda xp, x: xp.fft.fft2(x),
    "correlate": lambda xp, x: xp.correlate(x[0], x[1], "full"),
    "convolve": lambda xp, x: xp.convolve(x[0], x[1, :2], "same"),
    "abs": lambda xp, x: xp.abs(x),
    "angle": lambda xp, x: xp.angle(x + 0j),
    "conj": lambda xp, x: xp.conj(x) * x,
    "power": lambda xp, x: x**2.5,
    "exp": lambda xp, x: xp.exp(x),
    "log": lambda xp, x: xp.log(x),
    "tan": lambda xp, x: xp.tan(x),
    "arcsinh": lambda xp, x: xp.arcsinh(x),
    "cumprod": lambda xp, x: xp.cumprod(x, axis=1),
    "prod": lambda xp, x: xp.prod(x, axis=0),
    "vdot": lambda xp, x: xp.vdot(x, x * 2),
    "einsum": lambda xp, x: xp.einsum("ij,jk,ki->k", x, x, x),
    "norm": lambda xp, x: xp.linalg.norm(x),
    "real": lambda xp, x: x.real**2 * x.imag,
}


def spans(xp: Any, u: Any, s: Any, vh: Any) -> Any:
    """Return what does not depend on the phases of singular vectors."""
    return (u * s**2) @ xp.conj(u).T @ (u @ vh)


def eigenspaces(xp: Any, w: Any, v: Any) -> Any:
    return (v * xp.exp(w / 5)) @ xp.conj(v).T


def as_real(x: np.ndarray, weights: np.ndarray, xp: Any) -> Any:
    return xp.sum(xp.real(x * weights))


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_jax(name, kind):
    func = FUNCTIONS[name]
    x = numbers(4, 4) if kind == "real" else complexes(4, 4)
    t = np.cos(x) * 0.3
    jax.config.update("jax_enable_x64", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = np.asarray(func(jax.numpy, jax.numpy.asarray(x)))
        weights = np.exp(1j * np.arange(value.size)).reshape(value.shape)

        def theirs(x):
            return as_real(func(jax.numpy, x), weights, jax.numpy)

        want = [
            np.asarray(jax.jvp(lambda x: func(jax.numpy, x), (x,), (t,))[1]),
            np.asarray(jax.grad(theirs)(x)),
            np.asarray(jax.jvp(jax.grad(theirs), (x,), (t,))[1]) if name != "eigvals" else None,
        ]

    def ours(x):
        return as_real(func(np, x), weights, np)

    got = [
        lw.jvp(lambda x: func(np, x), (x,), (t,))[1],
        lw.grad(ours)(x),
        lw.jvp(lw.grad(ours), (x,), (t,))[1],
    ]
    for g, w in zip(got, want, strict=True):
        if w is not None:
            np.testing.assert_allclose(g, w, 1e-7, 1e-8 * max(1.0, float(np.abs(w).max())))


def test_what_jax_refuses():
    """Loops of as many turns as data say, backward; JAX's `while_loop` has a forward mode only."""

    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    with pytest.raises(ValueError, match="Reverse-mode"):
        jax.grad(
            lambda a: jax.lax.while_loop(
                lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a
            )
        )(2.0)
    np.testing.assert_allclose(lw.grad(root)(2.0), 0.5 / np.sqrt(2.0))
