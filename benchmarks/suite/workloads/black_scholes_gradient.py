"""All first derivatives of a Black-Scholes price: the Greeks, as reverse mode finds them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf

import lanewise as lw
from benchmarks.suite.peers import Arrays
from benchmarks.suite.workload import Workload
from benchmarks.suite.workloads.black_scholes import inputs as without_rates

ALL = (0, 1, 2, 3, 4)


def call_price(spot, strike, years, volatility, rate):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    exercise = strike * np.exp(-rate * years)
    return 0.5 * (spot * (1 + erf(d1 / np.sqrt(2))) - exercise * (1 + erf(d2 / np.sqrt(2))))


def greeks(spot, strike, years, volatility, rate):
    """Return delta, the derivative in the strike, minus theta, vega and rho by their formulas."""
    root = math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / (volatility * root)
    d2 = d1 - volatility * root
    first = 0.5 * (1 + math.erf(d1 * math.sqrt(0.5)))
    second = 0.5 * (1 + math.erf(d2 * math.sqrt(0.5)))
    density = math.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi)
    discount = math.exp(-rate * years)
    held = strike * discount * second
    vega = spot * density * root
    decay = 0.5 * vega * volatility / years + rate * held
    return first, -discount * second, decay, vega, years * held


def reference(*args):
    return tuple(np.float64(found) for found in greeks(*args))


def inputs(size: int) -> Arrays:
    return (*without_rates(size), np.random.default_rng(27).uniform(0.0, 0.06, size))


def numba():
    import numba as nb

    one = nb.njit(greeks, fastmath=True)

    @nb.njit(parallel=True, fastmath=True)
    def batch(spot, strike, years, volatility, rate):
        found = tuple_of(spot)
        for i in nb.prange(len(spot)):
            a, b, c, d, e = one(spot[i], strike[i], years[i], volatility[i], rate[i])
            found[0][i] = a
            found[1][i] = b
            found[2][i] = c
            found[3][i] = d
            found[4][i] = e
        return found

    @nb.njit
    def tuple_of(x):
        like = np.empty_like
        return like(x), like(x), like(x), like(x), like(x)

    return batch


def batched(sqrt, log, exp, erf):
    """Return the price in a system's own functions, which all apply to whole batches."""

    def prices(spot, strike, years, volatility, rate):
        spread = volatility * sqrt(years)
        d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
        d2 = d1 - spread
        exercise = strike * exp(-rate * years)
        half = math.sqrt(0.5)
        return 0.5 * (spot * (1 + erf(d1 * half)) - exercise * (1 + erf(d2 * half)))

    return prices


def jax():
    import jax
    import jax.numpy as jnp

    price = batched(jnp.sqrt, jnp.log, jnp.exp, jax.scipy.special.erf)
    return jax.vmap(jax.grad(price, ALL))


def torch():
    import torch

    prices = batched(torch.sqrt, torch.log, torch.exp, torch.erf)
    return torch.func.grad(lambda *args: prices(*args).sum(), ALL)


def drjit():
    import drjit as dr
    import drjit.llvm.ad as ad

    prices = batched(dr.sqrt, dr.log, dr.exp, dr.erf)

    def gradients(*args):
        args = [ad.Float64(x) for x in args]
        dr.enable_grad(args)
        dr.backward(prices(*args))
        return tuple(dr.detach(dr.grad(x)) for x in args)

    return gradients


WORKLOAD = Workload(
    number=27,
    name="black_scholes_gradient",
    title="gradient of Black-Scholes in five inputs, 2,000,000",
    size=2_000_000,
    small=50,
    limit=16,
    inputs=inputs,
    function=lw.grad(call_price, argnums=ALL),
    reference=reference,
    peers={
        "numba": numba,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch,
        "drjit": drjit,
    },
    rtol=1e-9,
    atol=1e-9,
)
