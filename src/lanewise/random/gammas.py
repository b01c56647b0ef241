"""The gamma distribution and its relatives: methods of `lanewise.random.Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.random import rejection as loops
from lanewise.random.base import Drawing, into
from lanewise.random.checks import parameter


class Gammas(Drawing):
    """Draws sums of squares, waiting times, and ratios of these."""

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> Any:
        """Return gamma numbers of scale 1.

        Parameters
        ----------
        shape : float or array
            The shape parameter, at least 0.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameter has.
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
        >>> lw.random.default_rng(0).standard_gamma(2.5, size=2)
        array([2.78027327, 1.04529222])
        """
        kind, found = into(out, size, dtype, "standard_gamma")
        given = [parameter("shape", shape, "non-negative")]
        return self._sample(loops.STANDARD_GAMMA, given, found, kind, out)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Return gamma numbers (G. Marsaglia and W. W. Tsang, 2000).

        Parameters
        ----------
        shape : float or array
            The shape parameter, at least 0.
        scale : float or array
            The mean, divided by the shape, at least 0.
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
        >>> round(float(rng.gamma(2.0, 3.0, size=10_000).mean()), 1)
        6.1
        """
        return self._drawn(
            loops.GAMMA, size, shape=(shape, "non-negative"), scale=(scale, "non-negative")
        )

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """Return beta numbers, of (0, 1).

        Parameters
        ----------
        a : float or array
            The first parameter, above 0.
        b : float or array
            The second parameter, above 0.
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
        >>> round(float(rng.beta(2.0, 6.0, size=10_000).mean()), 2)
        0.25
        """
        return self._drawn(loops.BETA, size, a=(a, "positive"), b=(b, "positive"))

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Return sums of squares of normal numbers.

        Parameters
        ----------
        df : float or array
            How many squares, which need not be whole, above 0.
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
        >>> round(float(rng.chisquare(3.0, size=10_000).mean()), 1)
        3.0
        """
        return self._drawn(loops.CHISQUARE, size, df=(df, "positive"))

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None) -> Any:
        """Return sums of squares of shifted normal numbers.

        Parameters
        ----------
        df : float or array
            How many squares, above 0.
        nonc : float or array
            The sum of the squared shifts, at least 0.
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
        >>> round(float(rng.noncentral_chisquare(3.0, 2.0, size=10_000).mean()))
        5
        """
        return self._drawn(
            loops.NONCENTRAL_CHISQUARE, size, df=(df, "positive"), nonc=(nonc, "non-negative")
        )

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Any:
        """Return ratios of mean squares of normal numbers (Fisher, Snedecor).

        Parameters
        ----------
        dfnum : float or array
            Degrees of freedom above, above 0.
        dfden : float or array
            Degrees of freedom below, above 0.
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
        >>> round(float(rng.f(3.0, 9.0, size=10_000).mean()), 1)
        1.3
        """
        return self._drawn(loops.F, size, dfnum=(dfnum, "positive"), dfden=(dfden, "positive"))

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
        """Return ratios of mean squares, of shifted normal numbers above.

        Parameters
        ----------
        dfnum : float or array
            Degrees of freedom above, above 0.
        dfden : float or array
            Degrees of freedom below, above 0.
        nonc : float or array
            The sum of the squared shifts, at least 0.
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
        >>> rng.noncentral_f(3.0, 9.0, 1.0, size=3).shape
        (3,)
        """
        return self._drawn(
            loops.NONCENTRAL_F,
            size,
            dfnum=(dfnum, "positive"),
            dfden=(dfden, "positive"),
            nonc=(nonc, "non-negative"),
        )

    def standard_t(self, df: Any, size: Any = None) -> Any:
        """Return numbers of Student's t distribution.

        Parameters
        ----------
        df : float or array
            Degrees of freedom, above 0.
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
        >>> rng.standard_t(5.0, size=3).shape
        (3,)
        """
        return self._drawn(loops.STANDARD_T, size, df=(df, "positive"))
