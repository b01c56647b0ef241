"""Bad and odd input is answered as by NumPy: types of errors, dtypes, shapes, scalars."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw

Call = Callable[[Any], Any]

BAD: dict[str, Call] = {
    "normal(0,-1)": lambda g: g.normal(0, -1),
    "normal(0,-0.0)": lambda g: g.normal(0, -0.0),
    'normal("a")': lambda g: g.normal("a"),
    "normal([0,1],[1,2,3])": lambda g: g.normal([0, 1], [1, 2, 3]),
    "normal(size=-1)": lambda g: g.normal(size=-1),
    "normal(size=2.5)": lambda g: g.normal(size=2.5),
    "normal(size=(2,-3))": lambda g: g.normal(size=(2, -3)),
    "normal([0.,1.],size=3)": lambda g: g.normal([0.0, 1.0], size=3),
    "normal(1j)": lambda g: g.normal(1j),
    "normal(None)": lambda g: g.normal(None),
    "uniform(1,0)": lambda g: g.uniform(1, 0),
    "uniform(0,np.inf)": lambda g: g.uniform(0, np.inf),
    "uniform(-1e308,1.7e308)": lambda g: g.uniform(-1e308, 1.7e308),
    "uniform(0,np.nan)": lambda g: g.uniform(0, np.nan),
    "integers(0)": lambda g: g.integers(0),
    "integers(-3)": lambda g: g.integers(-3),
    "integers(5,5)": lambda g: g.integers(5, 5),
    "integers(5,4,endpoint=True)": lambda g: g.integers(5, 4, endpoint=True),
    "integers(0,300,dtype=np.uint8)": lambda g: g.integers(0, 300, dtype=np.uint8),
    "integers(-1,5,dtype=np.uint8)": lambda g: g.integers(-1, 5, dtype=np.uint8),
    "integers(0,3,dtype=bool)": lambda g: g.integers(0, 3, dtype=bool),
    "integers(0,10,dtype=float)": lambda g: g.integers(0, 10, dtype=float),
    "integers(0,2**64)": lambda g: g.integers(0, 2**64),
    "integers(0,[3,0])": lambda g: g.integers(0, [3, 0]),
    "integers([1,2],[3,4,5])": lambda g: g.integers([1, 2], [3, 4, 5]),
    'integers("a")': lambda g: g.integers("a"),
    "integers(None)": lambda g: g.integers(None),
    "integers(0,np.nan)": lambda g: g.integers(0, np.nan),
    "integers(0,10,size=-1)": lambda g: g.integers(0, 10, size=-1),
    'integers(0,10,dtype=">i4",size=2)': lambda g: g.integers(0, 10, dtype=">i4", size=2),
    'integers(0,5,dtype="S1")': lambda g: g.integers(0, 5, dtype="S1"),
    "random(dtype=int)": lambda g: g.random(dtype=int),
    "random(3,out=np.zeros(2))": lambda g: g.random(3, out=np.zeros(2)),
    "random(out=np.zeros(2,np.float32))": lambda g: g.random(out=np.zeros(2, np.float32)),
    "random(out=np.zeros((2,2))[:,0])": lambda g: g.random(out=np.zeros((2, 2))[:, 0]),
    "random(out=[0.,0.])": lambda g: g.random(out=[0.0, 0.0]),
    "random(dtype=np.float16)": lambda g: g.random(dtype=np.float16),
    "standard_normal(dtype=complex)": lambda g: g.standard_normal(dtype=complex),
    "standard_gamma(-1.)": lambda g: g.standard_gamma(-1.0),
    "standard_gamma(2.,dtype=int)": lambda g: g.standard_gamma(2.0, dtype=int),
    "exponential(-1)": lambda g: g.exponential(-1),
    "gamma(-1)": lambda g: g.gamma(-1),
    "gamma(1,-1)": lambda g: g.gamma(1, -1),
    "beta(0,1)": lambda g: g.beta(0, 1),
    "beta(-1,1)": lambda g: g.beta(-1, 1),
    "chisquare(0)": lambda g: g.chisquare(0),
    "chisquare(-1)": lambda g: g.chisquare(-1),
    "f(0,1)": lambda g: g.f(0, 1),
    "f(1,-1)": lambda g: g.f(1, -1),
    "standard_t(0)": lambda g: g.standard_t(0),
    "noncentral_chisquare(0,1)": lambda g: g.noncentral_chisquare(0, 1),
    "noncentral_chisquare(1,-1)": lambda g: g.noncentral_chisquare(1, -1),
    "noncentral_f(1,1,-1)": lambda g: g.noncentral_f(1, 1, -1),
    "vonmises(0,-1)": lambda g: g.vonmises(0, -1),
    "pareto(0)": lambda g: g.pareto(0),
    "weibull(-1)": lambda g: g.weibull(-1),
    "power(0)": lambda g: g.power(0),
    "power(-1)": lambda g: g.power(-1),
    "laplace(0,-1)": lambda g: g.laplace(0, -1),
    "gumbel(0,-1)": lambda g: g.gumbel(0, -1),
    "logistic(0,-1)": lambda g: g.logistic(0, -1),
    "lognormal(0,-1)": lambda g: g.lognormal(0, -1),
    "rayleigh(-1)": lambda g: g.rayleigh(-1),
    "wald(0,1)": lambda g: g.wald(0, 1),
    "wald(1,0)": lambda g: g.wald(1, 0),
    "triangular(2,1,3)": lambda g: g.triangular(2, 1, 3),
    "triangular(0,4,3)": lambda g: g.triangular(0, 4, 3),
    "triangular(1,1,1)": lambda g: g.triangular(1, 1, 1),
    "binomial(-1,.5)": lambda g: g.binomial(-1, 0.5),
    "binomial(10,1.5)": lambda g: g.binomial(10, 1.5),
    "binomial(10,-.1)": lambda g: g.binomial(10, -0.1),
    "binomial(10,np.nan)": lambda g: g.binomial(10, np.nan),
    "poisson(-1)": lambda g: g.poisson(-1),
    "poisson(np.nan)": lambda g: g.poisson(np.nan),
    "poisson(1e19)": lambda g: g.poisson(1e19),
    "poisson(np.inf)": lambda g: g.poisson(np.inf),
    "negative_binomial(0,.5)": lambda g: g.negative_binomial(0, 0.5),
    "negative_binomial(1,0)": lambda g: g.negative_binomial(1, 0),
    "negative_binomial(1,1.1)": lambda g: g.negative_binomial(1, 1.1),
    "negative_binomial(np.nan,.5)": lambda g: g.negative_binomial(np.nan, 0.5),
    "negative_binomial(1e18,1e-5)": lambda g: g.negative_binomial(1e18, 1e-5),
    "geometric(0)": lambda g: g.geometric(0),
    "geometric(1.1)": lambda g: g.geometric(1.1),
    "hypergeometric(-1,1,1)": lambda g: g.hypergeometric(-1, 1, 1),
    "hypergeometric(1,1,3)": lambda g: g.hypergeometric(1, 1, 3),
    "logseries(1)": lambda g: g.logseries(1),
    "logseries(-1)": lambda g: g.logseries(-1),
    "zipf(1)": lambda g: g.zipf(1),
    "zipf(0)": lambda g: g.zipf(0),
    "zipf(np.nan)": lambda g: g.zipf(np.nan),
    "dirichlet([1,-1])": lambda g: g.dirichlet([1, -1]),
    "dirichlet([[1,2]])": lambda g: g.dirichlet([[1, 2]]),
    "dirichlet(1)": lambda g: g.dirichlet(1),
    "multinomial(-1,[.5,.5])": lambda g: g.multinomial(-1, [0.5, 0.5]),
    "multinomial(10,[-.1,1.1])": lambda g: g.multinomial(10, [-0.1, 1.1]),
    "multinomial(10,[])": lambda g: g.multinomial(10, []),
    "multinomial(10,0.5)": lambda g: g.multinomial(10, 0.5),
    "multinomial([1,2],[.5,.5],size=3)": lambda g: g.multinomial([1, 2], [0.5, 0.5], size=3),
    "multivariate_hypergeometric([1,-1],1)": lambda g: g.multivariate_hypergeometric([1, -1], 1),
    "multivariate_hypergeometric([1,1],3)": lambda g: g.multivariate_hypergeometric([1, 1], 3),
    'multivariate_hypergeometric([1,1],1,method="x")': lambda g: g.multivariate_hypergeometric(
        [1, 1], 1, method="x"
    ),
    "multivariate_hypergeometric([10**9,1],1)": lambda g: g.multivariate_hypergeometric(
        [10**9, 1], 1
    ),
    "multivariate_hypergeometric(3,1)": lambda g: g.multivariate_hypergeometric(3, 1),
    "multivariate_normal([0],[[1,0],[0,1]])": lambda g: g.multivariate_normal(
        [0], [[1, 0], [0, 1]]
    ),
    "multivariate_normal([0,0],[[1,0,0],[0,1,0]])": lambda g: g.multivariate_normal(
        [0, 0], [[1, 0, 0], [0, 1, 0]]
    ),
    "multivariate_normal([[0,0]],[[1,0],[0,1]])": lambda g: g.multivariate_normal(
        [[0, 0]], [[1, 0], [0, 1]]
    ),
    'multivariate_normal([0,0],[[1,2],[2,1]],check_valid="raise")': lambda g: g.multivariate_normal(
        [0, 0], [[1, 2], [2, 1]], check_valid="raise"
    ),
    'multivariate_normal([0,0],[[1,2],[2,1]],method="cholesky")': lambda g: g.multivariate_normal(
        [0, 0], [[1, 2], [2, 1]], method="cholesky"
    ),
    'multivariate_normal([0,0],[[1,2],[2,1]],check_valid="bla")': lambda g: g.multivariate_normal(
        [0, 0], [[1, 2], [2, 1]], check_valid="bla"
    ),
    'multivariate_normal([0,0],[[1,0],[0,1]],method="lu")': lambda g: g.multivariate_normal(
        [0, 0], [[1, 0], [0, 1]], method="lu"
    ),
    "choice(0)": lambda g: g.choice(0),
    "choice(-1)": lambda g: g.choice(-1),
    "choice([])": lambda g: g.choice([]),
    "choice(3.5)": lambda g: g.choice(3.5),
    "choice(3.0)": lambda g: g.choice(3.0),
    'choice("abc")': lambda g: g.choice("abc"),
    "choice(5,6,replace=False)": lambda g: g.choice(5, 6, replace=False),
    "choice(3,p=[.5,.5])": lambda g: g.choice(3, p=[0.5, 0.5]),
    "choice(3,p=[.5,.5,.5])": lambda g: g.choice(3, p=[0.5, 0.5, 0.5]),
    "choice(3,p=[-.5,.5,1])": lambda g: g.choice(3, p=[-0.5, 0.5, 1]),
    "choice(3,p=[np.nan,.5,1])": lambda g: g.choice(3, p=[np.nan, 0.5, 1]),
    "choice(3,p=[[.5,.5,0]])": lambda g: g.choice(3, p=[[0.5, 0.5, 0]]),
    "choice(3,3,p=[.5,.5,0],replace=False)": lambda g: g.choice(
        3, 3, p=[0.5, 0.5, 0], replace=False
    ),
    "choice(5,size=-1)": lambda g: g.choice(5, size=-1),
    "permutation(3.5)": lambda g: g.permutation(3.5),
    "permutation([[1,2],[3,4]],axis=2)": lambda g: g.permutation([[1, 2], [3, 4]], axis=2),
    'permutation("abc")': lambda g: g.permutation("abc"),
    "permuted(5)": lambda g: g.permuted(5),
    "permuted([1,2,3],axis=1)": lambda g: g.permuted([1, 2, 3], axis=1),
    "permuted(np.arange(4),out=np.zeros(3))": lambda g: g.permuted(np.arange(4), out=np.zeros(3)),
    "shuffle(5)": lambda g: g.shuffle(5),
    "shuffle((1,2))": lambda g: g.shuffle((1, 2)),
    "shuffle(np.array(1))": lambda g: g.shuffle(np.array(1)),
    "shuffle([1,2],axis=1)": lambda g: g.shuffle([1, 2], axis=1),
}

ODD: dict[str, Call] = {
    "normal([0.,1.],size=(2,2))": lambda g: g.normal([0.0, 1.0], size=(2, 2)),
    "normal(np.nan)": lambda g: g.normal(np.nan),
    "normal(0,np.nan)": lambda g: g.normal(0, np.nan),
    "normal(0,np.inf)": lambda g: g.normal(0, np.inf),
    "integers(5,5,endpoint=True)": lambda g: g.integers(5, 5, endpoint=True),
    "integers(0,256,dtype=np.uint8)": lambda g: g.integers(0, 256, dtype=np.uint8),
    "integers(0,2,dtype=bool)": lambda g: g.integers(0, 2, dtype=bool),
    "integers(2.5)": lambda g: g.integers(2.5),
    "integers(0.5,3.5)": lambda g: g.integers(0.5, 3.5),
    "integers(0,2**64,dtype=np.uint64)": lambda g: g.integers(0, 2**64, dtype=np.uint64),
    "integers(0,2**63)": lambda g: g.integers(0, 2**63),
    "integers(0,2**63-1,endpoint=True)": lambda g: g.integers(0, 2**63 - 1, endpoint=True),
    "integers([0.5,1],[3,4])": lambda g: g.integers([0.5, 1], [3, 4]),
    'integers(0,10,dtype="int32",size=2)': lambda g: g.integers(0, 10, dtype="int32", size=2),
    "integers(0,10,dtype=int)": lambda g: g.integers(0, 10, dtype=int),
    "integers(-2**63,2**63,size=2)": lambda g: g.integers(-(2**63), 2**63, size=2),
    "random(dtype=np.float32)": lambda g: g.random(dtype=np.float32),
    'standard_exponential(2,method="inv")': lambda g: g.standard_exponential(2, method="inv"),
    "standard_gamma(0.)": lambda g: g.standard_gamma(0.0),
    "gamma(np.nan)": lambda g: g.gamma(np.nan),
    "gamma(np.inf)": lambda g: g.gamma(np.inf),
    "beta(1,np.nan)": lambda g: g.beta(1, np.nan),
    "standard_t(np.nan)": lambda g: g.standard_t(np.nan),
    "vonmises(np.nan,1)": lambda g: g.vonmises(np.nan, 1),
    "vonmises(0,np.nan)": lambda g: g.vonmises(0, np.nan),
    "vonmises(0,0)": lambda g: g.vonmises(0, 0),
    "vonmises(0,1e300)": lambda g: g.vonmises(0, 1e300),
    "weibull(0)": lambda g: g.weibull(0),
    "triangular(0,0,1)": lambda g: g.triangular(0, 0, 1),
    "binomial(2.5,.5)": lambda g: g.binomial(2.5, 0.5),
    "binomial(3.0,.5)": lambda g: g.binomial(3.0, 0.5),
    "binomial(0,.5)": lambda g: g.binomial(0, 0.5),
    "binomial(5,0)": lambda g: g.binomial(5, 0),
    "binomial(5,1)": lambda g: g.binomial(5, 1),
    "binomial(2**62,.5)": lambda g: g.binomial(2**62, 0.5),
    "binomial([1,2],[.5])": lambda g: g.binomial([1, 2], [0.5]),
    "poisson(0)": lambda g: g.poisson(0),
    "negative_binomial(1,1)": lambda g: g.negative_binomial(1, 1),
    "geometric(1)": lambda g: g.geometric(1),
    "geometric(1e-300)": lambda g: g.geometric(1e-300),
    "hypergeometric(5,5,0)": lambda g: g.hypergeometric(5, 5, 0),
    "hypergeometric(0,5,3)": lambda g: g.hypergeometric(0, 5, 3),
    "hypergeometric(2.5,5,3)": lambda g: g.hypergeometric(2.5, 5, 3),
    "logseries(0)": lambda g: g.logseries(0),
    "logseries(.999999)": lambda g: g.logseries(0.999999),
    "zipf(1.0000001)": lambda g: g.zipf(1.0000001),
    "zipf(5000.)": lambda g: g.zipf(5000.0),
    "zipf(np.inf)": lambda g: g.zipf(np.inf),
    "dirichlet([0,0])": lambda g: g.dirichlet([0, 0]),
    "dirichlet([])": lambda g: g.dirichlet([]),
    "multinomial(10,[.5,.6])": lambda g: g.multinomial(10, [0.5, 0.6]),
    "multinomial(10,[.5,.5,.1])": lambda g: g.multinomial(10, [0.5, 0.5, 0.1]),
    "multinomial([1,2],[.5,.5])": lambda g: g.multinomial([1, 2], [0.5, 0.5]),
    "multinomial([1,2],[.5,.5],size=(3,2))": lambda g: g.multinomial(
        [1, 2], [0.5, 0.5], size=(3, 2)
    ),
    "multinomial(5,[[.5,.5],[.1,.9]])": lambda g: g.multinomial(5, [[0.5, 0.5], [0.1, 0.9]]),
    "multinomial(2.5,[.5,.5])": lambda g: g.multinomial(2.5, [0.5, 0.5]),
    'multivariate_hypergeometric([1,1],1,method="count")': lambda g: g.multivariate_hypergeometric(
        [1, 1], 1, method="count"
    ),
    "multivariate_hypergeometric([],0)": lambda g: g.multivariate_hypergeometric([], 0),
    "multivariate_normal([0,0],[[1,0],[0,1]],size=(2,3))": lambda g: g.multivariate_normal(
        [0, 0], [[1, 0], [0, 1]], size=(2, 3)
    ),
    "choice(0,0)": lambda g: g.choice(0, 0),
    "choice([],0)": lambda g: g.choice([], 0),
    "choice(5,6)": lambda g: g.choice(5, 6),
    "choice([[1,2],[3,4]],axis=1)": lambda g: g.choice([[1, 2], [3, 4]], axis=1),
    "choice([[1,2],[3,4]],(2,2))": lambda g: g.choice([[1, 2], [3, 4]], (2, 2)),
    'choice(["a","b"])': lambda g: g.choice(["a", "b"]),
    "choice(5,size=())": lambda g: g.choice(5, size=()),
    "choice([1,2],size=())": lambda g: g.choice([1, 2], size=()),
    "permutation(-1)": lambda g: g.permutation(-1),
    "permutation(0)": lambda g: g.permutation(0),
    "permutation(True)": lambda g: g.permutation(True),
    "bytes(0)": lambda g: g.bytes(0),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_what_numpy_raises(name: str) -> None:
    with pytest.raises(Exception) as wanted:
        BAD[name](np.random.default_rng(0))
    with pytest.raises(wanted.type):
        BAD[name](lw.random.default_rng(0))


@pytest.mark.parametrize("name", ODD)
def test_odd_input_gives_what_numpy_gives(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, found = (ODD[name](m.default_rng(0)) for m in (np.random, lw.random))
    assert type(found) is type(wanted)
    if isinstance(wanted, np.ndarray):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype


def test_a_covariance_that_is_none_is_told() -> None:
    rng = lw.random.default_rng(0)
    with pytest.warns(RuntimeWarning, match="not symmetric positive-semidefinite"):
        rng.multivariate_normal([0, 0], [[1, 2], [2, 1]])


BAD_DATA: dict[str, tuple[Call, float, str]] = {
    "normal": (lambda x: lw.random.normal(0.0, x), -1.0, "scale < 0"),
    "uniform": (lambda x: lw.random.uniform(0.0, x), -1.0, "high - low < 0"),
    "gamma": (lambda x: lw.random.gamma(x), -1.0, "shape < 0"),
    "beta": (lambda x: lw.random.beta(x, 1.0), 0.0, "a <= 0"),
    "poisson": (lambda x: lw.random.poisson(x), np.nan, "lam < 0 or lam contains NaNs"),
    "binomial": (lambda x: lw.random.binomial(5, x), 1.5, "p < 0, p > 1"),
    "geometric": (lambda x: lw.random.geometric(x), 0.0, "p <= 0"),
    "triangular": (lambda x: lw.random.triangular(0.0, x, 2.0), 3.0, "mode > right"),
    "integers": (lambda x: lw.random.integers(x.astype(int)), 0.0, "low >= high"),
    "narrow": (
        lambda x: lw.random.integers(0, x.astype(int), dtype=np.uint8), 257.0, "high is out of",
    ),
    "negative": (
        lambda x: lw.random.integers(x.astype(int), 9, dtype=np.uint64), -1.0, "low is out of",
    ),
    "choice": (lambda x: lw.random.choice(2, p=[x, x]), 0.7, "do not sum to 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_raise_when_they_come(name: str) -> None:
    function, bad, message = BAD_DATA[name]
    f = lw.function(lw.vmap(function, randomness="different"))
    f(np.array([1.0, 1.0]) if name != "choice" else np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match=message):
        f(np.array([1.0 if name != "choice" else 0.5, bad]))


def test_what_a_trace_has_no_values_of() -> None:
    with pytest.raises(lw.UnsupportedError, match="integers of dtype uint8"):
        lw.function(lambda: lw.random.bytes(3) and 0)()
    with pytest.raises(lw.UnsupportedError, match="Shuffle an array"):
        lw.function(lambda: lw.random.shuffle([1, 2]))()
    with pytest.raises(lw.UnsupportedError, match="as many integers as the data say"):
        lw.function(lambda n: lw.random.choice(n))(np.array(3))
