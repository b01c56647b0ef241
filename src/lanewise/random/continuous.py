"""Continuous distributions: methods of `lanewise.random.Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.random import rejection as loops
from lanewise.random import samplers as plain
from lanewise.random.base import Drawing, into
from lanewise.random.checks import parameter
from lanewise.trace.table.checks import checked


class Continuous(Drawing):
    """Draws real numbers."""

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return normal numbers.

        Parameters
        ----------
        loc : float or array
            The mean.
        scale : float or array
            The standard deviation, at least 0.
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
        >>> rng.normal(10.0, 2.0, size=3).round(2)
        array([10.77,  8.09,  9.31])
        """
        return self._drawn(plain.NORMAL, size, loc=(loc,), scale=(scale, "non-negative"))

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return normal numbers of mean 0 and variance 1 (G. E. P. Box and M. E. Muller, 1958).

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape of the result; by default one number.
        dtype : dtype
            ``float64`` or ``float32``.
        out : array, optional
            Where to write them; it is returned.

        Raises
        ------
        TypeError, ValueError
            If `dtype` is another one, or `out` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).standard_normal(size=2)
        array([ 0.38273301, -0.95250815])
        """
        kind, shape = into(out, size, dtype, "standard_normal")
        return self._sample(plain.STANDARD_NORMAL, [], shape, kind, out)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """Return numbers of which the logarithms are normal.

        Parameters
        ----------
        mean : float or array
            Of the logarithms.
        sigma : float or array
            The standard deviation of the logarithms, at least 0.
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
        >>> rng.lognormal(0.0, 0.5, size=3).round(3)
        array([1.211, 0.621, 0.841])
        """
        return self._drawn(plain.LOGNORMAL, size, mean=(mean,), sigma=(sigma, "non-negative"))

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> Any:
        """Return exponential numbers of mean 1, by inversion.

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape of the result; by default one number.
        dtype : dtype
            ``float64`` or ``float32``.
        method : str
            ``"zig"`` or ``"inv"``, which here are the same.
        out : array, optional
            Where to write them; it is returned.

        Raises
        ------
        TypeError, ValueError
            If `dtype` is another one, or `out` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).standard_exponential(size=2)
        array([0.51353295, 0.52093371])
        """
        if method not in ("zig", "inv"):
            raise ValueError(f"method must be 'zig' or 'inv', not {method!r}")
        kind, shape = into(out, size, dtype, "standard_exponential")
        return self._sample(plain.STANDARD_EXPONENTIAL, [], shape, kind, out)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Return exponential numbers.

        Parameters
        ----------
        scale : float or array
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
        >>> rng.exponential(2.0, size=3).round(3)
        array([1.027, 1.042, 1.789])
        """
        return self._drawn(plain.EXPONENTIAL, size, scale=(scale, "non-negative"))

    def standard_cauchy(self, size: Any = None) -> Any:
        """Return ratios of normal numbers, which have no mean.

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape of the result; by default one number.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).standard_cauchy(3).round(2)
        array([ 0.32,  0.3 , -0.29])
        """
        return self._sample(plain.CAUCHY, [], size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return numbers with exponential tails on both sides.

        Parameters
        ----------
        loc : float or array
            The mean.
        scale : float or array
            The mean distance from it, at least 0.
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
        >>> rng.laplace(size=3).round(3)
        array([ 0.514, -0.521,  0.895])
        """
        return self._drawn(plain.LAPLACE, size, loc=(loc,), scale=(scale, "non-negative"))

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return numbers of the logistic distribution.

        Parameters
        ----------
        loc : float or array
            The mean.
        scale : float or array
            The scale, at least 0.
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
        >>> rng.logistic(size=3).round(3)
        array([-0.92 ,  0.882, -0.355])
        """
        return self._drawn(plain.LOGISTIC, size, loc=(loc,), scale=(scale, "non-negative"))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return numbers of the distribution of largest values.

        Parameters
        ----------
        loc : float or array
            The mode.
        scale : float or array
            The scale, at least 0.
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
        >>> rng.gumbel(size=3).round(3)
        array([0.666, 0.652, 0.111])
        """
        return self._drawn(plain.GUMBEL, size, loc=(loc,), scale=(scale, "non-negative"))

    def weibull(self, a: Any, size: Any = None) -> Any:
        """Return powers of exponential numbers.

        Parameters
        ----------
        a : float or array
            The shape parameter: what the power is 1 over, at least 0.
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
        >>> rng.weibull(1.5, size=3).round(3)
        array([0.641, 0.647, 0.929])
        """
        return self._drawn(plain.WEIBULL, size, a=(a, "non-negative"))

    def pareto(self, a: Any, size: Any = None) -> Any:
        """Return numbers with a tail that falls as a power (Pareto II, Lomax).

        Parameters
        ----------
        a : float or array
            The power, above 0.
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
        >>> rng.pareto(3.0, size=3).round(3)
        array([0.187, 0.19 , 0.347])
        """
        return self._drawn(plain.PARETO, size, a=(a, "positive"))

    def power(self, a: Any, size: Any = None) -> Any:
        """Return numbers of [0, 1] with a density that is a power.

        Parameters
        ----------
        a : float or array
            The power, plus 1, above 0.
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
        >>> rng.power(3.0, size=3).round(3)
        array([0.738, 0.74 , 0.839])
        """
        return self._drawn(plain.POWER, size, a=(a, "positive"))

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Return lengths of vectors of two normal numbers.

        Parameters
        ----------
        scale : float or array
            The standard deviation of these, at least 0.
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
        >>> rng.rayleigh(size=3).round(3)
        array([1.013, 1.021, 1.338])
        """
        return self._drawn(plain.RAYLEIGH, size, scale=(scale, "non-negative"))

    def wald(self, mean: Any, scale: Any, size: Any = None) -> Any:
        """Return inverse Gaussian numbers (J. R. Michael et al., 1976).

        Parameters
        ----------
        mean : float or array
            The mean, above 0.
        scale : float or array
            The scale, above 0.
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
        >>> rng.wald(1.0, 2.0, size=3).round(3)
        array([0.764, 1.938, 0.784])
        """
        return self._drawn(plain.WALD, size, mean=(mean, "positive"), scale=(scale, "positive"))

    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Any:
        """Return angles of [-pi, pi] (D. J. Best and N. I. Fisher, 1979).

        Parameters
        ----------
        mu : float or array
            The mean angle.
        kappa : float or array
            The concentration, at least 0.
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
        >>> round(float(rng.vonmises(1.0, 8.0, size=10_000).mean()), 1)
        1.0
        """
        return self._drawn(loops.VONMISES, size, mu=(mu,), kappa=(kappa, "non-negative"))

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        """Return numbers with a density that rises to a mode, and falls.

        Parameters
        ----------
        left : float or array
            The least.
        mode : float or array
            The most likely.
        right : float or array
            The largest.
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
        >>> rng.triangular(0.0, 1.0, 4.0, size=3).round(3)
        array([1.805, 1.793, 1.336])
        """
        low, top, high = [
            parameter(name, x) for name, x in (("left", left), ("mode", mode), ("right", right))
        ]
        given = [
            checked(low, ~(low > top), ValueError("left > mode")),
            checked(top, ~(top > high), ValueError("mode > right")),
            checked(high, ~(low == high), ValueError("left == right")),
        ]
        return self._sample(plain.TRIANGULAR, given, size)
