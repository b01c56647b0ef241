"""Samplers that try until a sample is accepted: loops of a single sample.

Every try takes random numbers of its own. What is rejected is said by a comparison that is false of
NaN, so that parameters which are not a number end the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.api.control_flow import cond, while_loop
from lanewise.random.draws import Block, Law
from lanewise.random.samplers import _counted
from lanewise.random.streams import literal

#: Numbers that a try may take.
STEP = 8
#: The largest float64 that is an integer of 64 bits.
_TOP = 2.0**63 - 1024


def _tried(first: Any, attempt: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return what `attempt` makes, of numbers from the one it is given on, once it is accepted.

    It gives whether it is rejected, and what it makes; `first` has the same dtypes.
    """

    def turn(state: Any) -> Any:
        _, number, *_ = state
        rejected, *made = attempt(number)
        return (rejected, number + STEP, *made)

    zero: Any = literal(0)
    started = (zero < 1, zero, *first)
    return tuple(while_loop(lambda state: state[0], turn, started)[2:])


def _log_factorial(k: Any) -> Any:
    """Return the logarithm of k! for whole k >= 0, by Stirling's series behind a shift of ten.

    Its error is below that of rounding.
    """
    small = k < 10.0
    # k! = (k + 10)! / ((k + 1) ... (k + 10)); the product is exact enough, and below 19^10.
    product = np.ones_like(k)
    for i in range(1, 11):
        product = product * (np.where(small, k, 0.0) + float(i))
    x = np.where(small, k + 10.0, k) + 1.0
    z = 1.0 / (x * x)
    series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x
    found = (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series
    return np.where(small, found - np.log(product), found)


def log_gamma(b: Block, shape: Any) -> Any:
    """Return the logarithm of a gamma number with a shape, -inf for shape 0."""
    small = shape < 1.0
    found = np.log(_marsaglia_tsang(b, np.where(small, shape + 1.0, shape)))
    safe = np.where(shape > 0, shape, 1.0)
    boosted = found - np.where(small, b.part(1).exponential() / safe, 0.0)
    return np.where(shape == 0, -np.inf, boosted)


def standard_gamma(b: Block, shape: Any) -> Any:
    """Return a gamma number with a shape, G. Marsaglia and W. W. Tsang, "A simple method for
    generating gamma variables" (2000); of shapes below 1 by their section 6."""
    small = shape < 1.0
    found = _marsaglia_tsang(b, np.where(small, shape + 1.0, shape))
    safe = np.where(shape > 0, shape, 1.0)
    factor = np.where(small, np.exp(-b.part(1).exponential() / safe), 1.0)
    return np.where(shape == 0, 0.0, found * factor)


def _marsaglia_tsang(b: Block, shape: Any) -> Any:
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)

    def attempt(number: Any) -> Any:
        x = b.normal(number)
        root = 1.0 + c * x
        v = root * root * root
        outside = v <= 0.0
        inside = np.where(outside, 1.0, v)
        bound = 0.5 * x * x + d - d * inside + d * np.log(inside)
        return outside | (-b.exponential(number + 1) > bound), d * inside

    return _tried((shape,), attempt)[0]


def _chisquare(b: Block, df: Any) -> Any:
    return 2.0 * standard_gamma(b, df / 2.0)


def _f(b: Block, dfnum: Any, dfden: Any) -> Any:
    above = standard_gamma(b.part(2), dfnum / 2.0) / dfnum
    return above / (standard_gamma(b.part(4), dfden / 2.0) / dfden)


def _beta(b: Block, a: Any, c: Any) -> Any:
    """A share of two gamma numbers; as logarithms, since of small shapes they may underflow."""
    return 1.0 / (1.0 + np.exp(log_gamma(b.part(4), c) - log_gamma(b.part(2), a)))


def _noncentral_chisquare(b: Block, df: Any, nonc: Any) -> Any:
    """A square of a shifted normal number and a central one; a mixture where df is at most 1."""
    many = df > 1.0
    shifted = b.part(3).normal() + np.sqrt(nonc)
    turns = poisson(b.part(5), np.where(many, 0.0, nonc / 2.0)).astype(np.float64)
    own = np.where(many, df - 1.0, df + 2.0 * turns)
    rest = 2.0 * standard_gamma(b, own / 2.0)
    return np.where(many, rest + shifted * shifted, rest)


def _noncentral_f(b: Block, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    above = _noncentral_chisquare(b.part(8), dfnum, nonc) / dfnum
    return above / (_chisquare(b, dfden) / dfden)


def poisson(b: Block, rate: Any) -> Any:
    """Return a Poisson number as an integer: of small rates by counting, of others by rejection."""
    return _counted(cond(rate >= 10.0, lambda r: _ptrs(b, r), lambda r: _by_counting(b, r), rate))


def _by_counting(b: Block, rate: Any) -> Any:
    """Count exponential waiting times until their sum is above the rate."""

    def turn(state: Any) -> Any:
        count, total, number = state
        return count + 1.0, total + b.exponential(number), number + 1

    started = (rate * 0.0 - 1.0, rate * 0.0, literal(0))
    return while_loop(lambda state: state[1] <= rate, turn, started)[0] * 1.0


def _ptrs(b: Block, rate: Any) -> Any:
    """W. Hörmann, "The transformed rejection method for generating Poisson random variables"
    (1993), algorithm PTRS."""
    log_rate = np.log(rate)
    width = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * width
    inverse = 1.1239 + 1.1328 / (width - 3.4)
    edge = 0.9277 - 3.6224 / (width - 2.0)

    def attempt(number: Any) -> Any:
        u, v = b.uniform(number) - 0.5, b.positive(number + 1)
        us = 0.5 - np.abs(u)
        safe = np.maximum(us, 2.0**-60)
        k = np.floor((2.0 * a / safe + width) * u + rate + 0.43)
        quick = (us >= 0.07) & (v <= edge)
        never = (k < 0.0) | ((us < 0.013) & (v > us))
        left = np.log(v) + np.log(inverse) - np.log(a / (safe * safe) + width)
        right = -rate + k * log_rate - _log_factorial(np.maximum(k, 0.0))
        return (never | (left > right)) & ~quick, k

    return _tried((rate,), attempt)[0]


def binomial(b: Block, n: Any, p: Any) -> Any:
    """Return a binomial number as a float: `n` is one too."""
    flipped = p > 0.5
    q = np.where(flipped, 1.0 - p, p)
    found = cond(
        n * q >= 10.0, lambda n, q: _btrs(b, n, q), lambda n, q: _by_waiting(b, n, q), n, q
    )
    return np.where(flipped, n - found, found)


def _by_waiting(b: Block, n: Any, q: Any) -> Any:
    """Count successes by the failures between them (L. Devroye 1986, chapter X.4, second method).

    An exponential waiting time, divided by how many trials are left, is that to the next success.
    """
    rate = -np.log1p(-q)

    def turn(state: Any) -> Any:
        count, total, number = state
        left = np.maximum(n - count - 1.0, 0.0)
        e = b.exponential(number)
        step = np.where(left > 0.0, e / np.where(left > 0.0, left, 1.0), np.inf)
        return count + 1.0, total + step, number + 1

    # What is counted is one ahead: it begins at -1, with a wait for the first of n trials.
    started = (n * 0.0 - 1.0, q * 0.0, literal(0))
    return while_loop(lambda state: (state[1] <= rate) & (state[0] < n), turn, started)[0] * 1.0


def _btrs(b: Block, n: Any, q: Any) -> Any:
    """W. Hörmann, "The generation of binomial random variates" (1993), algorithm BTRS."""
    spread = np.sqrt(n * q * (1.0 - q))
    width = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * width + 0.01 * q
    c = n * q + 0.5
    edge = 0.92 - 4.2 / width
    alpha = (2.83 + 5.1 / width) * spread
    odds = np.log(q / (1.0 - q))
    mode = np.floor((n + 1.0) * q)
    height = _log_factorial(mode) + _log_factorial(n - mode)

    def attempt(number: Any) -> Any:
        u, v = b.uniform(number) - 0.5, b.positive(number + 1)
        us = 0.5 - np.abs(u)
        safe = np.maximum(us, 2.0**-60)
        k = np.floor((2.0 * a / safe + width) * u + c)
        quick = (us >= 0.07) & (v <= edge)
        never = (k < 0.0) | (k > n)
        inside = np.minimum(np.maximum(k, 0.0), n)
        left = np.log(v * alpha / (a / (safe * safe) + width))
        right = height - _log_factorial(inside) - _log_factorial(n - inside)
        return (never | (left > right + (inside - mode) * odds)) & ~quick, inside

    return _tried((n,), attempt)[0]


def _negative_binomial(b: Block, n: Any, p: Any) -> Any:
    """A Poisson number of which the rate is a gamma number."""
    return poisson(b.part(2), standard_gamma(b, n) * ((1.0 - p) / p))


def hypergeometric(b: Block, good: Any, bad: Any, sample: Any) -> Any:
    """Return a hypergeometric number as a float: parameters are whole ones."""
    few = np.minimum(good, bad)
    many = np.maximum(good, bad)
    total = good + bad
    taken = np.minimum(sample, total - sample)
    found = cond(
        np.minimum(taken, few) > 10.0,
        lambda *x: _hrua(b, *x),
        lambda *x: _one_by_one(b, *x),
        few, many, taken,
    )  # fmt: skip
    found = np.where(good > bad, taken - found, found)
    return np.where(taken < sample, good - found, found)


def _one_by_one(b: Block, few: Any, many: Any, taken: Any) -> Any:
    """Go through the smaller of two sets, which are drawn alike: those taken, and the few.

    The number of few ones among those taken is the number of taken ones among the few.
    """
    turns = np.minimum(taken, few)
    marked = np.maximum(taken, few)
    total = few + many

    def turn(state: Any) -> Any:
        i, found, number = state
        hit = b.uniform(number) * (total - i) < marked - found
        return i + 1.0, found + hit.astype(np.float64), number + 1

    started = (few * 0.0, few * 0.0, literal(0))
    return while_loop(lambda state: state[0] < turns, turn, started)[1] * 1.0


def _hrua(b: Block, few: Any, many: Any, taken: Any) -> Any:
    """A ratio of uniform numbers (E. Stadlober, "The ratio of uniforms approach for generating
    discrete random variates", 1990)."""
    total = few + many
    p = few / total
    mean = taken * p + 0.5
    spread = np.sqrt((total - taken) * taken * p * (1.0 - p) / (total - 1.0) + 0.5)
    height = 2.0 * math.sqrt(2.0 / math.e) * spread + (3.0 - 2.0 * math.sqrt(3.0 / math.e))
    mode = np.floor((taken + 1.0) * (few + 1.0) / (total + 2.0))
    top = np.minimum(np.minimum(taken, few) + 1.0, np.floor(mean + 16.0 * spread))

    def weight(k: Any) -> Any:
        return (
            _log_factorial(k) + _log_factorial(few - k)
            + _log_factorial(taken - k) + _log_factorial(many - taken + k)
        )  # fmt: skip

    at_mode = weight(mode)

    def attempt(number: Any) -> Any:
        u, v = b.positive(number), b.uniform(number + 1)
        x = mean + height * (v - 0.5) / u
        outside = (x < 0.0) | (x >= top)
        k = np.floor(np.where(outside, mode, x))
        return outside | (2.0 * np.log(u) > at_mode - weight(k)), k

    return _tried((few,), attempt)[0]


def _hypergeometric(b: Block, good: Any, bad: Any, sample: Any) -> Any:
    given = [x.astype(np.float64) for x in (good, bad, sample)]
    return hypergeometric(b, *given).astype(np.int64)


def _vonmises(b: Block, mu: Any, kappa: Any) -> Any:
    """D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution" (1979);
    nearly uniform and nearly normal ones by what they are nearly."""
    flat, sharp = kappa < 1e-8, kappa > 1e6
    k = np.where(flat | sharp, 1.0, kappa)
    t = 1.0 + np.sqrt(1.0 + 4.0 * k * k)
    rho = (t - np.sqrt(2.0 * t)) / (2.0 * k)
    s = np.where(k < 1e-5, 1.0 / k + k, (1.0 + rho * rho) / (2.0 * rho))

    def attempt(number: Any) -> Any:
        z = np.cos(math.pi * b.uniform(number))
        w = (1.0 + s * z) / (s + z)
        y = k * (s - w)
        v = b.positive(number + 1)
        rejected = (y * (2.0 - y) - v < 0.0) & (np.log(y / v) + 1.0 - y < 0.0)
        return rejected, np.minimum(np.maximum(w, -1.0), 1.0)

    angle = np.arccos(_tried((k,), attempt)[0])
    sign = 1.0 - 2.0 * (b.part(1).bits() >> 63).astype(np.float64)
    found = np.where(flat, math.pi * (2.0 * b.part(2).uniform() - 1.0), sign * angle)
    found = np.where(sharp, b.part(3).normal() / np.sqrt(np.where(sharp, kappa, 1.0)), found)
    found = found + mu
    return found - 2.0 * math.pi * np.rint(found / (2.0 * math.pi))


def _zipf(b: Block, a: Any) -> Any:
    """L. Devroye 1986, chapter X.6."""
    # Beyond 1024 the result is 1, with a probability that float64 cannot tell from 1.
    s = np.minimum(a, 1024.0) - 1.0
    scale = 2.0**s
    least = _TOP**-s  # what is below would be too large, and is not tried

    def attempt(number: Any) -> Any:
        u, v = least + (1.0 - least) * b.positive(number), b.uniform(number + 1)
        x = np.floor(u ** (-1.0 / s))
        outside = ~(x <= _TOP) | (x < 1.0)
        x = np.where(outside, 1.0, x)
        t = (1.0 + 1.0 / x) ** s
        return outside | (v * x * (t - 1.0) / (scale - 1.0) > t / scale), x

    return _tried((a,), attempt)[0].astype(np.int64)


GAMMA = Law(lambda b, shape, scale: scale * standard_gamma(b, shape), loops=True, fixed=(0,))
STANDARD_GAMMA = Law(
    lambda b, shape, *, dtype: standard_gamma(b, shape).astype(dtype), loops=True, fixed=(0,)
)
CHISQUARE = Law(_chisquare, loops=True, fixed=(0,))
F = Law(_f, loops=True, fixed=(0, 1))
BETA = Law(_beta, loops=True, fixed=(0, 1))
STANDARD_T = Law(
    lambda b, df: b.part(3).normal() / np.sqrt(standard_gamma(b, df / 2.0) / (df / 2.0)),
    loops=True,
    fixed=(0,),
)
NONCENTRAL_CHISQUARE = Law(_noncentral_chisquare, loops=True, fixed=(0, 1))
NONCENTRAL_F = Law(_noncentral_f, loops=True, fixed=(0, 1, 2))
POISSON = Law(poisson, loops=True, fixed=(0,))
BINOMIAL = Law(
    lambda b, n, p: binomial(b, n.astype(np.float64), p).astype(np.int64), loops=True, fixed=(0, 1)
)
NEGATIVE_BINOMIAL = Law(_negative_binomial, loops=True, fixed=(0, 1))
HYPERGEOMETRIC = Law(_hypergeometric, loops=True, fixed=(0, 1, 2))
VONMISES = Law(_vonmises, loops=True, fixed=(1,))
ZIPF = Law(_zipf, loops=True, fixed=(0,))
LOG_GAMMA = Law(log_gamma, loops=True, fixed=(0,))
