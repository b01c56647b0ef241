"""Random numbers that traced, mapped and compiled functions draw: NumPy's interface.

The functions draw from one generator, `seed` makes it begin anew; `default_rng` makes others.

Examples
--------
>>> import numpy as np
>>> import lanewise as lw
>>> lw.random.seed(0)
>>> lw.vmap(lambda x: x + lw.random.integers(10), randomness="different")(np.zeros(4))
array([4., 9., 0., 4.])
"""

from lanewise.random import foreign as _foreign  # noqa: F401  (draws in mapped functions)
from lanewise.random.generator import Generator
from lanewise.random.generator import default as _default
from lanewise.random.keys import default_rng, fold_in, key, split

beta = _default.beta
binomial = _default.binomial
bytes = _default.bytes
chisquare = _default.chisquare
choice = _default.choice
dirichlet = _default.dirichlet
exponential = _default.exponential
f = _default.f
gamma = _default.gamma
geometric = _default.geometric
gumbel = _default.gumbel
hypergeometric = _default.hypergeometric
integers = _default.integers
laplace = _default.laplace
logistic = _default.logistic
lognormal = _default.lognormal
logseries = _default.logseries
multinomial = _default.multinomial
multivariate_hypergeometric = _default.multivariate_hypergeometric
multivariate_normal = _default.multivariate_normal
negative_binomial = _default.negative_binomial
noncentral_chisquare = _default.noncentral_chisquare
noncentral_f = _default.noncentral_f
normal = _default.normal
pareto = _default.pareto
permutation = _default.permutation
permuted = _default.permuted
poisson = _default.poisson
power = _default.power
random = _default.random
rayleigh = _default.rayleigh
seed = _default.seed
shuffle = _default.shuffle
spawn = _default.spawn
standard_cauchy = _default.standard_cauchy
standard_exponential = _default.standard_exponential
standard_gamma = _default.standard_gamma
standard_normal = _default.standard_normal
standard_t = _default.standard_t
triangular = _default.triangular
uniform = _default.uniform
vonmises = _default.vonmises
wald = _default.wald
weibull = _default.weibull
zipf = _default.zipf

__all__ = [
    "Generator", "beta", "binomial", "bytes", "chisquare", "choice", "default_rng", "dirichlet",
    "exponential", "f", "fold_in", "gamma", "geometric", "gumbel", "hypergeometric", "integers",
    "key", "laplace", "logistic", "lognormal", "logseries", "multinomial",
    "multivariate_hypergeometric", "multivariate_normal", "negative_binomial",
    "noncentral_chisquare", "noncentral_f", "normal", "pareto", "permutation", "permuted",
    "poisson", "power", "random", "rayleigh", "seed", "shuffle", "spawn", "split",
    "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t",
    "triangular", "uniform", "vonmises", "wald", "weibull", "zipf",
]  # fmt: skip
