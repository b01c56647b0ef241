"""The Black-Scholes price of a European call or put: a formula of elementary functions."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf

from benchmarks.suite.workload import Workload

RATE = 0.03


def call_price(spot, strike, years, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (RATE + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    exercise = strike * np.exp(-RATE * years)
    return 0.5 * (spot * (1 + erf(d1 / np.sqrt(2))) - exercise * (1 + erf(d2 / np.sqrt(2))))


def inputs(size: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(3)
    return (
        random.uniform(50, 150, size),
        random.uniform(50, 150, size),
        random.uniform(0.1, 3, size),
        random.uniform(0.1, 0.6, size),
    )


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def prices(spot, strike, years, volatility):
        out = np.empty_like(spot)
        for i in nb.prange(len(spot)):
            spread = volatility[i] * math.sqrt(years[i])
            drift = (RATE + 0.5 * volatility[i] ** 2) * years[i]
            d1 = (math.log(spot[i] / strike[i]) + drift) / spread
            d2 = d1 - spread
            exercise = strike[i] * math.exp(-RATE * years[i])
            first = spot[i] * (1 + math.erf(d1 / math.sqrt(2.0)))
            out[i] = 0.5 * (first - exercise * (1 + math.erf(d2 / math.sqrt(2.0))))
        return out

    return prices


def guvectorize():
    import numba as nb

    @nb.vectorize(["f8(f8, f8, f8, f8)"], target="parallel", fastmath=True)
    def price(spot, strike, years, volatility):
        spread = volatility * math.sqrt(years)
        d1 = (math.log(spot / strike) + (RATE + 0.5 * volatility**2) * years) / spread
        d2 = d1 - spread
        exercise = strike * math.exp(-RATE * years)
        first = spot * (1 + math.erf(d1 / math.sqrt(2.0)))
        return 0.5 * (first - exercise * (1 + math.erf(d2 / math.sqrt(2.0))))

    return price


def batched(sqrt, log, exp, erf):
    """Return the formula in a system's own functions, which all apply to whole batches."""

    def prices(spot, strike, years, volatility):
        spread = volatility * sqrt(years)
        d1 = (log(spot / strike) + (RATE + 0.5 * volatility * volatility) * years) / spread
        d2 = d1 - spread
        exercise = strike * exp(-RATE * years)
        half = math.sqrt(0.5)
        return 0.5 * (spot * (1 + erf(d1 * half)) - exercise * (1 + erf(d2 * half)))

    return prices


def jax():
    import jax
    import jax.numpy as jnp

    return jax.vmap(batched(jnp.sqrt, jnp.log, jnp.exp, jax.scipy.special.erf))


def torch():
    import torch

    return batched(torch.sqrt, torch.log, torch.exp, torch.erf)


def drjit():
    import drjit as dr

    return batched(dr.sqrt, dr.log, dr.exp, dr.erf)


WORKLOAD = Workload(
    number=3,
    name="black_scholes",
    title="Black-Scholes price, 2,000,000",
    size=2_000_000,
    small=50,
    limit=12,
    inputs=inputs,
    function=call_price,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch,
        "drjit": drjit,
    },
    rtol=1e-9,
    atol=1e-10,
)
