"""Straight-line samplers: distributions of which a sample is a function of a few numbers.

L. Devroye, "Non-Uniform Random Variate Generation" (1986), has them all; where a method has an
author of its own, its docstring says so. Parameters are tensors of ``float64``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lanewise.random.draws import Block, Law

#: The least normal float, in place of a zero of which the logarithm is taken.
_TINY = 2.0**-1022
FLOAT32 = np.dtype(np.float32)


def _as(x: Any, dtype: np.dtype) -> Any:
    return x if x.dtype == dtype else x.astype(dtype)


def _random(b: Block, *, dtype: np.dtype) -> Any:
    if dtype == FLOAT32:  # rounding a float64 could give 1
        return (b.bits() >> 40).astype(FLOAT32) * FLOAT32.type(2.0**-24).item()
    return b.uniform()


def _integers(b: Block, low: Any, span: Any, *, dtype: np.dtype) -> Any:
    found = b.below(span)
    if dtype == np.dtype(bool):
        return (found + low) != 0
    return (found + low).astype(dtype)


def _weibull(b: Block, a: Any) -> Any:
    e = b.exponential()
    found = e ** (1.0 / np.where(a == 0, np.ones_like(a), a))
    return np.where(a == 0, np.zeros_like(found), found)


def _laplace(b: Block, loc: Any, scale: Any) -> Any:
    sign = 1.0 - 2.0 * (b.bits(1) >> 63).astype(np.float64)
    return loc + scale * (sign * b.exponential())


def _gumbel(b: Block, loc: Any, scale: Any) -> Any:
    e = b.exponential()
    return loc - scale * np.log(np.where(e == 0, _TINY, e))


def _logistic(b: Block, loc: Any, scale: Any) -> Any:
    """The logarithm of a ratio of exponential numbers."""
    up, down = [np.log(np.maximum(b.exponential(i), _TINY)) for i in range(2)]
    return loc + scale * (up - down)


def _triangular(b: Block, left: Any, mode: Any, right: Any) -> Any:
    width, first = right - left, mode - left
    u = b.uniform()
    up = np.sqrt(u * width * first)
    down = np.sqrt((1.0 - u) * width * (right - mode))
    return np.where(u * width <= first, left + up, right - down)


def _geometric(b: Block, p: Any) -> Any:
    """The waiting time is an exponential one, rounded up."""
    e = b.exponential()
    certain = p >= 1.0
    rate = -np.log1p(-np.where(certain, 0.5, p))
    found = np.where(certain, 1.0, np.maximum(np.ceil(e / rate), 1.0))
    return _counted(found)


def _logseries(b: Block, p: Any) -> Any:
    """A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random variables"
    (1981), algorithm LK."""
    v = b.positive(0)
    q = -np.expm1(np.log1p(-p) * b.positive(1))
    inner = np.where(q > 0, np.where(q < 1, q, 0.5), 0.5)
    far = np.floor(1.0 + np.log(v) / np.log(inner))
    found = np.where(v <= q * q, np.where(q < 1, far, 2.0), np.where(v >= q, 1.0, 2.0))
    return _counted(np.where(v >= p, 1.0, np.maximum(found, 1.0)))


def _wald(b: Block, mean: Any, scale: Any) -> Any:
    """J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using
    transformations with multiple roots" (1976); the smaller root without cancellation."""
    z = b.normal(0)
    y = mean * (z * z)
    x = mean - 2.0 * (mean * y) / (y + np.sqrt(y * (4.0 * scale + y)))
    x = np.where(y == 0, mean, x)
    return np.where(b.uniform(1) <= mean / (mean + x), x, mean * (mean / x))


#: The largest integer that float64 has before 2^63, and what NumPy gives for more.
_LARGEST = 2.0**63


def _counted(x: Any) -> Any:
    """Return a whole number as an integer: the largest one where it is larger."""
    fits = x < _LARGEST
    found = np.where(fits, x, 0.0).astype(np.int64)
    return np.where(fits, found, np.iinfo(np.int64).max)


RANDOM = Law(_random)
UNIFORM = Law(lambda b, low, high: low + (high - low) * b.uniform())
INTEGERS = Law(_integers)
STANDARD_NORMAL = Law(lambda b, *, dtype: _as(b.normal(), dtype))
NORMAL = Law(lambda b, loc, scale: loc + scale * b.normal())
LOGNORMAL = Law(lambda b, mean, sigma: np.exp(mean + sigma * b.normal()))
STANDARD_EXPONENTIAL = Law(lambda b, *, dtype: _as(b.exponential(), dtype))
EXPONENTIAL = Law(lambda b, scale: scale * b.exponential())
WEIBULL = Law(_weibull)
PARETO = Law(lambda b, a: np.expm1(b.exponential() / a))
POWER = Law(lambda b, a: (-np.expm1(-b.exponential())) ** (1.0 / a))
RAYLEIGH = Law(lambda b, scale: scale * np.sqrt(2.0 * b.exponential()))
LAPLACE = Law(_laplace)
GUMBEL = Law(_gumbel)
LOGISTIC = Law(_logistic)
CAUCHY = Law(lambda b: np.tan(math.pi * (b.uniform() - 0.5)))
TRIANGULAR = Law(_triangular)
GEOMETRIC = Law(_geometric, fixed=(0,))
LOGSERIES = Law(_logseries, fixed=(0,))
WALD = Law(_wald, fixed=(0, 1))
WORDS = Law(Block.bits)
