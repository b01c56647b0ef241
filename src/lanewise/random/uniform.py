"""Uniform numbers: methods of `lanewise.random.Generator`."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.random import samplers as plain
from lanewise.random.base import Drawing, into
from lanewise.random.checks import array_like, parameter
from lanewise.random.streams import MASK
from lanewise.trace.table.checks import checked
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import current_trace

_KINDS = {np.dtype(f"{sign}{size}") for sign in "iu" for size in (1, 2, 4, 8)} | {np.dtype(bool)}


class Uniform(Drawing):
    """Draws numbers of an interval that are equally probable."""

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return floats of [0, 1).

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape of the result; by default one number.
        dtype : dtype
            ``float64``, of 53 random bits, or ``float32``, of 24.
        out : array, optional
            Where to write them; it is returned.

        Raises
        ------
        TypeError, ValueError
            If `dtype` is another one, or `out` does not fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).random(3)
        array([0.5983778 , 0.59396569, 0.4087179 ])
        """
        kind, shape = into(out, size, dtype, "random")
        return self._sample(plain.RANDOM, [], shape, kind, out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Return floats of an interval.

        Parameters
        ----------
        low, high : float or array
            Where it begins and ends; `high` can come out where rounding makes it.
        size : int or tuple of int, optional
            The shape of the result; by default what the parameters broadcast to.

        Raises
        ------
        ValueError
            If `high` is below `low`.
        OverflowError
            If the interval is too long for a float.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).uniform(-1.0, 1.0, size=3).round(3)
        array([ 0.197,  0.188, -0.183])
        """
        least, most = parameter("low", low), parameter("high", high)
        with np.errstate(over="ignore", invalid="ignore"):
            width = most - least
        finite = OverflowError("high - low range exceeds valid bounds")
        most = checked(most, np.isfinite(width), finite)
        most = checked(most, ~np.signbit(width), ValueError("high - low < 0"))
        return self._sample(plain.UNIFORM, [least, most], size)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:  # fmt: skip
        """Return integers from `low` to below `high`, or from 0 to below `low`.

        Each is as probable as another, to one part in 2^64 (D. Lemire, 2019).

        Parameters
        ----------
        low, high : int or array of int
            The bounds.
        size : int or tuple of int, optional
            The shape of the result; by default what the bounds broadcast to.
        dtype : dtype
            An integer one, or bool.
        endpoint : bool
            Whether the upper bound may come out too.

        Raises
        ------
        ValueError
            If there is no integer between the bounds, or `dtype` does not hold them.
        TypeError
            If `dtype` is another one.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).integers(1, 6, size=5, endpoint=True)
        array([1, 4, 6, 6, 5])
        """
        kind = np.dtype(dtype)
        if not kind.isnative:
            raise ValueError("Providing a dtype with a non-native byteorder is not supported")
        if kind not in _KINDS:
            raise TypeError(f"Unsupported dtype {kind!r} for integers")
        if high is None:
            low, high = 0, low
        least, span = _span(_whole(low), _whole(high), kind, bool(endpoint))
        found = self._sample(plain.INTEGERS, [least, span], size, kind)
        return found.item() if dtype in (int, bool) and isinstance(found, np.generic) else found

    def bytes(self, length: int) -> builtins.bytes:
        """Return random bytes.

        Parameters
        ----------
        length : int
            How many.

        Raises
        ------
        UnsupportedError
            In a traced function, which has no values of this kind.

        Examples
        --------
        >>> import lanewise as lw
        >>> len(lw.random.default_rng(0).bytes(10))
        10
        """
        trace = current_trace()
        if trace is not None and not trace.is_eager:
            raise UnsupportedError(
                f"bytes are drawn in a traced function{at(here())}: draw integers of dtype uint8"
            )
        count = operator.index(length)
        if count < 0:
            raise ValueError("negative dimensions are not allowed")
        found = self._sample(plain.WORDS, [], (-(-count // 8),))
        return found.astype("<u8").tobytes()[:count]


def _whole(x: Any) -> Any:
    """Return a bound as a tensor of integers, an int, or an array of ints."""
    x = array_like(x)
    if isinstance(x, Tensor):
        found: Any = x
        if found.dtype.kind not in "iub":
            raise TypeError(f"a bound of integers is no integer, but {x!r}{at(here())}")
        return found.astype(np.int64) if found.dtype.kind == "b" else found
    array: np.ndarray = x
    if array.dtype.kind in "fUS":  # NumPy cuts fractions off, and reads text
        array = np.asarray(np.frompyfunc(int, 1, 1)(array), object)
    if array.dtype.kind == "b" or (array.dtype.kind in "iu" and array.dtype != np.uint64):
        return array.astype(np.int64)
    numbers = array.ravel().tolist()
    if array.dtype.kind not in "uO" or not all([isinstance(v, int) for v in numbers]):
        raise TypeError(f"a bound of integers is no integer, but {x!r}")
    return array.astype(object)


def _span(low: Any, high: Any, kind: np.dtype, endpoint: bool) -> tuple[Any, Any]:
    """Return the lowest integer and how many there are, both wrapped to 64 bits."""
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        return _traced_span(low, high, kind, endpoint)
    bounds = _bounds(kind)
    behind = 0 if endpoint else 1
    if np.any(low < bounds[0]):
        raise ValueError(f"low is out of bounds for {kind.name}")
    if np.any(high > bounds[1] + behind):
        raise ValueError(f"high is out of bounds for {kind.name}")
    if np.any(low > high if endpoint else low >= high):
        low_text, order = ("high", "<=") if np.all(low == 0) else ("low", ">=")
        order = order[0] if endpoint else order
        raise ValueError(f"{low_text} {order} {'0' if low_text == 'high' else 'high'}")
    least, most = _wrapped(low), _wrapped(high)
    return least, most - least + np.array(1 - behind, np.uint64)


def _wrapped(x: np.ndarray) -> np.ndarray:
    """Return integers modulo 2^64."""
    if x.dtype == np.int64:
        return x.astype(np.uint64)
    return np.asarray(np.frompyfunc(lambda v: v & MASK, 1, 1)(x)).astype(np.uint64)


def _bounds(kind: np.dtype) -> tuple[int, int]:
    if kind == np.dtype(bool):
        return 0, 1
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _traced_span(low: Any, high: Any, kind: np.dtype, endpoint: bool) -> tuple[Any, Any]:
    ends = [x if isinstance(x, Tensor) else np.asarray(x).astype(np.int64) for x in (low, high)]
    if endpoint:
        span = checked(ends[1], ends[0] <= ends[1], ValueError("low > high"))
    else:
        span = checked(ends[1], ends[0] < ends[1], ValueError("low >= high"))
    first, last = _bounds(kind)
    if first > -(2**63):
        fits = ends[0] >= first
        ends[0] = checked(ends[0], fits, ValueError(f"low is out of bounds for {kind.name}"))
    if last < 2**63 - 1:
        fits = span <= last + (0 if endpoint else 1)
        span = checked(span, fits, ValueError(f"high is out of bounds for {kind.name}"))
    least, most = ends[0].astype(np.uint64), span.astype(np.uint64)
    return least, most - least + (1 if endpoint else 0)
