"""Distributions of vectors: methods of `lanewise.random.Generator`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lanewise.errors import at
from lanewise.ir.location import here
from lanewise.random import rejection as loops
from lanewise.random import samplers as plain
from lanewise.random.base import FLOAT64, Drawing
from lanewise.random.checks import number, parameter
from lanewise.random.draws import shape_of
from lanewise.trace.table.checks import checked
from lanewise.trace.tensor import Tensor

METHODS = ("svd", "eigh", "cholesky")


class Multivariate(Drawing):
    """Draws vectors."""

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> Any:
        """Return vectors of normal numbers.

        Parameters
        ----------
        mean : array of n floats
            The mean.
        cov : array of n by n floats
            The covariance matrix.
        size : int or tuple of int, optional
            How many vectors; by default one.
        check_valid : {"warn", "raise", "ignore"}
            What is done if the matrix is not symmetric or not positive semidefinite; in a traced
            function, where that is data, it is not looked at.
        tol : float
            Up to which difference it counts as that.
        method : {"svd", "eigh", "cholesky"}
            How its root is taken.

        Returns
        -------
        array
            Of shape ``(*size, n)``.

        Raises
        ------
        ValueError
            If shapes do not fit, or the matrix is not valid and that is to be raised.

        Examples
        --------
        >>> import numpy as np
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> found = rng.multivariate_normal([1.0, 2.0], [[2.0, 1.0], [1.0, 3.0]], 50_000)
        >>> np.cov(found.T).round(1)
        array([[2., 1.],
               [1., 3.]])
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {set(METHODS)}")
        mean, cov = number("mean", mean), number("cov", cov)
        if len(mean.shape) != 1:
            raise ValueError("mean must be 1 dimensional")
        if len(cov.shape) != 2 or cov.shape[0] != cov.shape[1]:
            raise ValueError("cov must be 2 dimensional and square")
        if mean.shape[0] != cov.shape[0]:
            raise ValueError("mean and cov must have same length")
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        factor = _root(cov, method)
        if check_valid != "ignore" and not isinstance(cov, Tensor):
            _check_covariance(cov, factor, check_valid, tol)
        shape = (*shape_of(size, []), mean.shape[0])
        drawn = self._sample(plain.STANDARD_NORMAL, [], shape, FLOAT64)
        return mean + drawn @ factor.T

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Return vectors of shares that sum to 1: gamma numbers, divided by their sum.

        Parameters
        ----------
        alpha : array of float
            The shape parameters, at least 0.
        size : int or tuple of int, optional
            How many vectors; by default one.

        Returns
        -------
        array
            Of shape ``(*size, len(alpha))``.

        Raises
        ------
        ValueError
            If a parameter is negative.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=10_000).mean(axis=0).round(2)
        array([0.17, 0.34, 0.5 ])
        """
        given = number("alpha", alpha)
        if not given.shape:
            raise TypeError("alpha must be a sequence, not a number")
        if len(given.shape) != 1:
            raise ValueError(f"alpha must be 1 dimensional, but has shape {given.shape}")
        given = checked(given, given >= 0, ValueError("alpha < 0"))
        shape = (*shape_of(size, []), given.shape[0])
        # As logarithms: all numbers of small shapes may underflow.
        logs = self._sample(loops.LOG_GAMMA, [given], shape)
        if not given.shape[0]:
            return logs
        top = np.max(logs, axis=-1, keepdims=True)
        parts = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        total = np.sum(parts, axis=-1, keepdims=True)
        return parts / np.where(total == 0, 1.0, total)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Return how often each of some outcomes happens, as a row of binomial numbers.

        Parameters
        ----------
        n : int or array of int
            How many trials.
        pvals : array of float
            The probabilities of the outcomes, along the last axis; what the others leave of 1 is
            that of the last.
        size : int or tuple of int, optional
            How many rows; by default what `n` and `pvals` broadcast to.

        Raises
        ------
        ValueError
            If a probability is not of [0, 1], or their sum is above 1.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).multinomial(20, [0.2, 0.3, 0.5])
        array([ 4,  6, 10])
        """
        trials = parameter("n", n, "count")
        shares = parameter("pvals", pvals, "in [0, 1]")
        if not shares.shape or not shares.shape[-1]:
            raise ValueError(
                "pvals must have at least 1 dimension and the last dimension must be > 0"
            )
        known = shares[..., :-1].sum(axis=-1)
        shares = checked(shares, known <= 1.0 + 1e-12, ValueError("sum(pvals[:-1]) > 1.0"))
        shape = shape_of(size, [trials, known])
        left, rest = np.broadcast_to(trials, shape), np.ones(shape)
        columns = []
        for place in range(shares.shape[-1] - 1):
            share = shares[..., place]
            part = np.where(rest > 0, share / np.where(rest > 0, rest, 1.0), 0.0)
            chance = np.minimum(np.maximum(part, 0.0), 1.0)
            found = self._sample(loops.BINOMIAL, [_own(left), _own(chance)], shape)
            columns.append(found)
            left, rest = left - found, rest - share
        return np.stack([*columns, left], axis=-1)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Any = None, method: str = "marginals"
    ) -> Any:
        """Return how many of each color a sample without replacement has.

        Parameters
        ----------
        colors : array of int
            How many there are of each.
        nsample : int
            How many are taken.
        size : int or tuple of int, optional
            How many samples; by default one.
        method : {"marginals", "count"}
            NumPy's names; both are taken for the first, which is a row of hypergeometric numbers.

        Raises
        ------
        ValueError
            If more are taken than there are, or a number is negative.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).multivariate_hypergeometric([10, 20, 30], 12)
        array([1, 7, 4])
        """
        if method not in ("marginals", "count"):
            raise ValueError('method must be "count" or "marginals"')
        given = parameter("colors", colors, "count")
        if len(given.shape) != 1:
            raise ValueError("colors must be a one-dimensional sequence of nonnegative integers")
        taken = parameter("nsample", nsample, "count")
        total = given.sum()
        taken = checked(taken, taken <= total, ValueError("nsample > sum(colors)"))
        taken = checked(
            taken,
            total < 10**9,
            ValueError("When method is 'marginals', sum(colors) must be less than 1000000000."),
        )
        shape = shape_of(size, [])
        left = np.broadcast_to(taken, shape)
        columns = []
        for place in range(given.shape[0] - 1):
            own, total = given[place], total - given[place]
            params = [_own(x) for x in (own, total, left)]
            found = self._sample(loops.HYPERGEOMETRIC, params, shape)
            columns.append(found)
            left = left - found
        if not given.shape[0]:
            return np.empty((*shape, 0), np.int64)
        return np.stack([*columns, left], axis=-1)


def _own(x: Any) -> Any:
    return x if isinstance(x, Tensor) else np.asarray(x)


def _root(cov: Any, method: str) -> Any:
    """Return a matrix A with A A^T the covariance."""
    if method == "cholesky":
        return np.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        return vectors * np.sqrt(np.maximum(values, 0.0))
    u, values, _ = np.linalg.svd(cov)
    return u * np.sqrt(values)


def _check_covariance(cov: np.ndarray, factor: Any, what: str, tol: float) -> None:
    fits = np.allclose(factor @ factor.T, cov, rtol=tol, atol=tol) and np.allclose(
        cov, cov.T, rtol=tol, atol=tol
    )
    if fits:
        return
    message = "covariance is not symmetric positive-semidefinite."
    if what == "raise":
        raise ValueError(message)
    warnings.warn(f"{message[:-1]}{at(here())}", RuntimeWarning, stacklevel=4)
