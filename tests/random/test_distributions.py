"""Every distribution against its distribution function, and its first moments, at fixed seeds.

The bounds: a p-value of the Kolmogorov-Smirnov (or chi-squared) statistic above 10^-4, and means
within five standard errors. Seeds are fixed, so a test that passes does so always.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lanewise as lw

COUNT = 10_000
LEAST = 1e-4

CONTINUOUS: dict[str, tuple[str, tuple[float, ...], Any]] = {
    "random": ("random", (), stats.uniform()),
    "uniform": ("uniform", (-2.0, 3.0), stats.uniform(-2, 5)),
    "normal": ("normal", (1.0, 2.0), stats.norm(1, 2)),
    "standard_normal": ("standard_normal", (), stats.norm()),
    "lognormal": ("lognormal", (0.5, 0.4), stats.lognorm(0.4, scale=math.exp(0.5))),
    "standard_exponential": ("standard_exponential", (), stats.expon()),
    "exponential": ("exponential", (2.5,), stats.expon(scale=2.5)),
    "gamma": ("gamma", (3.7, 2.0), stats.gamma(3.7, scale=2)),
    "gamma, small shape": ("gamma", (0.2, 1.0), stats.gamma(0.2)),
    "gamma, shape 1": ("standard_gamma", (1.0,), stats.expon()),
    "standard_gamma, large": ("standard_gamma", (500.0,), stats.gamma(500)),
    "beta": ("beta", (2.0, 5.0), stats.beta(2, 5)),
    "beta, small shapes": ("beta", (0.05, 0.2), stats.beta(0.05, 0.2)),
    "chisquare": ("chisquare", (3.0,), stats.chi2(3)),
    "noncentral_chisquare": ("noncentral_chisquare", (3.0, 2.0), stats.ncx2(3, 2)),
    "noncentral_chisquare, few": ("noncentral_chisquare", (0.7, 4.0), stats.ncx2(0.7, 4)),
    "f": ("f", (4.0, 9.0), stats.f(4, 9)),
    "noncentral_f": ("noncentral_f", (4.0, 9.0, 2.0), stats.ncf(4, 9, 2)),
    "standard_t": ("standard_t", (5.0,), stats.t(5)),
    "standard_cauchy": ("standard_cauchy", (), stats.cauchy()),
    "laplace": ("laplace", (1.0, 2.0), stats.laplace(1, 2)),
    "logistic": ("logistic", (1.0, 2.0), stats.logistic(1, 2)),
    "gumbel": ("gumbel", (1.0, 2.0), stats.gumbel_r(1, 2)),
    "weibull": ("weibull", (1.7,), stats.weibull_min(1.7)),
    "pareto": ("pareto", (3.5,), stats.lomax(3.5)),
    "power": ("power", (2.5,), stats.powerlaw(2.5)),
    "rayleigh": ("rayleigh", (2.0,), stats.rayleigh(scale=2)),
    "wald": ("wald", (1.5, 2.0), stats.invgauss(0.75, scale=2)),
    "triangular": ("triangular", (-1.0, 0.5, 2.0), stats.triang(0.5, -1, 3)),
    "vonmises": ("vonmises", (0.5, 2.0), stats.vonmises(2, 0.5)),
    "vonmises, nearly flat": ("vonmises", (0.0, 1e-9), stats.uniform(-math.pi, 2 * math.pi)),
    "vonmises, sharp": ("vonmises", (0.0, 1e7), stats.norm(0, 1e7**-0.5)),
}  # fmt: skip


def generator(name: str) -> lw.random.Generator:
    return lw.random.default_rng(list(name.encode()))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    method, params, law = CONTINUOUS[name]
    found = getattr(generator(name), method)(*params, size=COUNT)
    assert found.dtype == np.float64 and found.shape == (COUNT,)
    assert stats.ks_1samp(found, wrapped(law, name)).pvalue > LEAST
    mean, variance = law.stats("mv")
    if np.isfinite(variance) and not name.startswith("vonmises"):
        assert abs(found.mean() - mean) < 5 * math.sqrt(variance / COUNT)


def wrapped(law: Any, name: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return the distribution function; of angles from -pi on."""
    if name != "vonmises":
        return law.cdf
    return lambda x: law.cdf(x) - law.cdf(-math.pi)


DISCRETE: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "integers": ("integers", (3, 13), stats.randint(3, 13)),
    "poisson, small": ("poisson", (0.7,), stats.poisson(0.7)),
    "poisson, just below": ("poisson", (9.9,), stats.poisson(9.9)),
    "poisson, just above": ("poisson", (10.1,), stats.poisson(10.1)),
    "poisson, large": ("poisson", (300.0,), stats.poisson(300)),
    "binomial, few": ("binomial", (9, 0.3), stats.binom(9, 0.3)),
    "binomial, certain": ("binomial", (40, 0.9), stats.binom(40, 0.9)),
    "binomial, many": ("binomial", (100, 0.35), stats.binom(100, 0.35)),
    "binomial, many more": ("binomial", (5000, 0.7), stats.binom(5000, 0.7)),
    "negative_binomial": ("negative_binomial", (3.5, 0.4), stats.nbinom(3.5, 0.4)),
    "geometric": ("geometric", (0.15,), stats.geom(0.15)),
    "geometric, likely": ("geometric", (0.8,), stats.geom(0.8)),
    "hypergeometric, few": ("hypergeometric", (8, 12, 5), stats.hypergeom(20, 8, 5)),
    "hypergeometric, most": ("hypergeometric", (12, 8, 17), stats.hypergeom(20, 12, 17)),
    "hypergeometric, many": ("hypergeometric", (60, 90, 50), stats.hypergeom(150, 60, 50)),
    "hypergeometric, most of many": (
        "hypergeometric", (300, 100, 350), stats.hypergeom(400, 300, 350),
    ),
    "logseries": ("logseries", (0.8,), stats.logser(0.8)),
    "zipf": ("zipf", (2.5,), stats.zipf(2.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    method, params, law = DISCRETE[name]
    found = getattr(generator(name), method)(*params, size=COUNT)
    assert found.dtype == np.int64 and found.shape == (COUNT,)
    assert chi_squared(found, law) > LEAST
    mean, variance = law.stats("mv")
    if np.isfinite(variance):
        assert abs(found.mean() - mean) < 5 * math.sqrt(variance / COUNT)


def chi_squared(found: np.ndarray, law: Any) -> float:
    """Return the p-value of counts, numbers of which few are expected put together."""
    low, high = int(law.ppf(5.0 / COUNT)), int(law.ppf(1 - 5.0 / COUNT))
    edges = np.arange(low, high + 1)
    inside = law.pmf(edges) * COUNT
    counts = np.bincount(np.clip(found, low - 1, high + 1) - low + 1, minlength=len(edges) + 2)
    expected = np.array([law.cdf(low - 1) * COUNT, *inside, law.sf(high) * COUNT])
    rows: list[list[float]] = []
    for count, number in zip(counts, expected, strict=True):
        if rows and (rows[-1][1] < 5 or number < 5):
            rows[-1][0] += count
            rows[-1][1] += number
        else:
            rows.append([count, number])
    table = np.array(rows)
    return stats.chisquare(table[:, 0], table[:, 1] * table[:, 0].sum() / table[:, 1].sum()).pvalue


def test_parameters_may_be_arrays() -> None:
    rng = lw.random.default_rng(2)
    shapes = np.array([0.5, 2.0, 30.0])
    found = rng.gamma(shapes, size=(4000, 3))
    assert np.all(np.abs(found.mean(axis=0) - shapes) < 5 * np.sqrt(shapes / 4000))
    rates = np.array([[1.0], [50.0]])
    counts = rng.poisson(rates, size=(2, 4000))
    assert np.all(np.abs(counts.mean(axis=1) - rates[:, 0]) < 5 * np.sqrt(rates[:, 0] / 4000))
    assert rng.normal(np.zeros(3), [[1.0], [2.0]]).shape == (2, 3)


def test_float32() -> None:
    rng = lw.random.default_rng(1)
    found = rng.random(COUNT, dtype=np.float32)
    assert found.dtype == np.float32 and found.min() >= 0 and found.max() < 1
    assert stats.kstest(found.astype(float), "uniform").pvalue > LEAST
    normal = rng.standard_normal(COUNT, dtype=np.float32)
    assert normal.dtype == np.float32 and stats.kstest(normal.astype(float), "norm").pvalue > LEAST
    assert rng.standard_gamma(2.0, COUNT, dtype=np.float32).dtype == np.float32
    assert rng.standard_exponential(3, dtype=np.float32).dtype == np.float32


def test_extreme_parameters() -> None:
    rng = lw.random.default_rng(3)
    assert rng.gamma(0.0) == 0 and rng.weibull(0.0) == 0 and rng.poisson(0.0) == 0
    assert rng.binomial(7, 0.0) == 0 and rng.binomial(7, 1.0) == 7 and rng.binomial(0, 0.5) == 0
    assert rng.geometric(1.0) == 1 and rng.negative_binomial(4, 1.0) == 0
    assert rng.hypergeometric(0, 5, 3) == 0 and rng.hypergeometric(5, 0, 3) == 3
    assert rng.normal(2.0, 0.0) == 2.0 and rng.logseries(0.0) == 1
    assert np.isnan(rng.gamma(np.nan)) and np.isnan(rng.vonmises(0.0, np.nan))
    assert np.isnan(rng.standard_t(np.nan)) and np.isinf(rng.normal(np.inf))
    assert rng.geometric(1e-300) == np.iinfo(np.int64).max
    small = rng.gamma(1e-3, size=1000)
    assert np.isfinite(small).all() and (small >= 0).all()
    shares = rng.beta(1e-3, 1e-3, size=1000)
    assert np.isfinite(shares).all() and abs(shares.mean() - 0.5) < 0.1
    large = rng.poisson(1e15, size=1000)
    assert abs(large.mean() / 1e15 - 1) < 1e-8
    many = rng.binomial(2**50, 0.25, size=1000)
    assert abs(many.mean() / 2**48 - 1) < 1e-6
    assert rng.zipf(1.0001, size=100).min() >= 1 and rng.zipf(5000.0) == 1


def test_multivariate_normal() -> None:
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.8], [0.8, 1.0]])
    for method in ("svd", "eigh", "cholesky"):
        rng = lw.random.default_rng(4)
        found = rng.multivariate_normal(mean, cov, COUNT, method=method)
        np.testing.assert_allclose(found.mean(axis=0), mean, atol=0.08)
        np.testing.assert_allclose(np.cov(found.T), cov, atol=0.12)
        white = np.linalg.solve(np.linalg.cholesky(cov), (found - mean).T)
        assert stats.kstest(white.ravel(), "norm").pvalue > LEAST


def test_dirichlet() -> None:
    alpha = np.array([0.3, 2.0, 5.0])
    found = lw.random.default_rng(5).dirichlet(alpha, COUNT)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    for column, a in zip(found.T, alpha, strict=True):
        assert stats.ks_1samp(column, stats.beta(a, alpha.sum() - a).cdf).pvalue > LEAST
    tiny = lw.random.default_rng(5).dirichlet([1e-4, 1e-4], 1000)
    np.testing.assert_allclose(tiny.sum(axis=1), 1.0)


def test_multinomial_and_multivariate_hypergeometric() -> None:
    rng = lw.random.default_rng(6)
    found = rng.multinomial(30, [0.2, 0.3, 0.5], COUNT)
    assert (found.sum(axis=1) == 30).all() and found.min() >= 0
    for column, p in zip(found.T, (0.2, 0.3, 0.5), strict=True):
        assert chi_squared(column, stats.binom(30, p)) > LEAST
    drawn = rng.multivariate_hypergeometric([10, 15, 25], 20, COUNT)
    assert (drawn.sum(axis=1) == 20).all()
    for column, n in zip(drawn.T, (10, 15, 25), strict=True):
        assert chi_squared(column, stats.hypergeom(50, n, 20)) > LEAST
    assert rng.multinomial([3, 40], [[0.5, 0.5], [0.1, 0.9]]).sum(axis=1).tolist() == [3, 40]


def test_integers_of_every_dtype() -> None:
    rng = lw.random.default_rng(7)
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        info = np.iinfo(dtype)
        found = rng.integers(info.min, info.max, 4000, dtype=dtype, endpoint=True)
        assert found.dtype == np.dtype(dtype)
        scaled = (found.astype(float) - info.min) / (float(info.max) - info.min)
        assert stats.kstest(scaled, "uniform").pvalue > LEAST
    assert set(rng.integers(0, 2, 100, dtype=bool).tolist()) == {False, True}
    bounds = rng.integers([0, 10], [5, 20], size=(50, 2))
    assert (bounds >= [0, 10]).all() and (bounds < [5, 20]).all()
