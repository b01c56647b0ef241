"""Distributions of whole numbers: methods of `lanewise.random.Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.random import rejection as loops
from lanewise.random import samplers as plain
from lanewise.random.base import Drawing
from lanewise.random.checks import LARGEST_RATE, parameter
from lanewise.trace.table.checks import checked


class Discrete(Drawing):
    """Draws whole numbers, as ``int64``."""

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Return how many events happen at a rate (PTRS: W. Hörmann, 1993).

        Parameters
        ----------
        lam : float or array
            The mean, at least 0.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameters broadcast to.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or `size` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> rng.poisson(4.0, size=5)
        array([4, 4, 2, 2, 4])
        """
        return self._drawn(loops.POISSON, size, lam=(lam, "rate", "bounded"))

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Return how many of some trials succeed (BTRS: W. Hörmann, 1993).

        Parameters
        ----------
        n : float or array
            How many trials: whole, at least 0.
        p : float or array
            The probability of each, from 0 to 1.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameters broadcast to.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or `size` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> rng.binomial(10, 0.3, size=5)
        array([3, 3, 2, 2, 3])
        """
        return self._drawn(loops.BINOMIAL, size, n=(n, "count"), p=(p, "in [0, 1]"))

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Return how many trials fail before some succeed.

        Parameters
        ----------
        n : float or array
            How many successes, which need not be whole, above 0.
        p : float or array
            The probability of each, above 0, at most 1.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameters broadcast to.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or `size` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> rng.negative_binomial(3, 0.5, size=5)
        array([4, 3, 4, 1, 1])
        """
        n, p = parameter("n", n, "positive, no NaN"), parameter("p", p, "in (0, 1]")
        largest = (1.0 - p) / p * (n + 10.0 * np.sqrt(n))
        message = "n too large or p too small, see Generator.negative_binomial Notes"
        n = checked(n, largest <= LARGEST_RATE, ValueError(message))
        return self._sample(loops.NEGATIVE_BINOMIAL, [n, p], size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Return which trial is the first to succeed: 1, 2, ....

        Parameters
        ----------
        p : float or array
            The probability of each, above 0, at most 1.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameters broadcast to.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or `size` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> rng.geometric(0.3, size=5)
        array([2, 2, 3, 4, 5])
        """
        return self._drawn(plain.GEOMETRIC, size, p=(p, "in (0, 1]"))

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
        """Return how many of a sample without replacement are good.

        Parameters
        ----------
        ngood : float or array
            How many are good: whole, at least 0.
        nbad : float or array
            How many are bad: whole, at least 0.
        nsample : float or array
            How many are taken: whole, at least 0.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameters broadcast to.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or `size` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> rng.hypergeometric(10, 20, 6, size=5)
        array([1, 1, 2, 4, 4])
        """
        good, bad, sample = [
            parameter(name, x, "count")
            for name, x in (("ngood", ngood), ("nbad", nbad), ("nsample", nsample))
        ]
        large = ValueError("both ngood and nbad must be less than 1000000000")
        good = checked(good, (good < 10**9) & (bad < 10**9), large)
        sample = checked(sample, good + bad >= sample, ValueError("ngood + nbad < nsample"))
        return self._sample(loops.HYPERGEOMETRIC, [good, bad, sample], size)

    def logseries(self, p: Any, size: Any = None) -> Any:
        """Return numbers of the logarithmic series (A. W. Kemp, 1981).

        Parameters
        ----------
        p : float or array
            The parameter, at least 0, below 1.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameters broadcast to.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or `size` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> rng.logseries(0.6, size=5)
        array([2, 1, 1, 1, 1])
        """
        return self._drawn(plain.LOGSERIES, size, p=(p, "in [0, 1)"))

    def zipf(self, a: Any, size: Any = None) -> Any:
        """Return ranks with probabilities that fall as a power (L. Devroye, 1986).

        Parameters
        ----------
        a : float or array
            The power, above 1.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameters broadcast to.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or `size` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> rng.zipf(2.0, size=5)
        array([2, 1, 1, 1, 1])
        """
        return self._drawn(loops.ZIPF, size, a=(a, "above 1"))
