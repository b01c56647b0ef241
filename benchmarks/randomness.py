"""Random numbers: large arrays of them, and simulations that draw as they go.

Run with ``python -m benchmarks.randomness`` (``--small`` for a quick look). All systems run in one
process, in turns, on all cores, warm; the fastest of several turns counts. Absent peers are left
out. What is drawn is checked by its mean and variance.

* ``normal``, ``uniform``: 10^8 numbers in one call. JAX and torch are measured in float64, which
  NumPy and Lanewise give, and in float32, their own default; so is Lanewise.
* ``metropolis``: random-walk Metropolis on a double well, 10,000 chains of 1,000 steps.
* ``gillespie``: births and deaths, one by one, up to a time; each example has as many as it has.
* ``hmc``: Hamiltonian Monte Carlo on a normal distribution of 8 dimensions, where each example has
  its own number of leapfrog steps.

Numba draws by NumPy's generator, a stream for each thread; JAX by its keys.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lanewise as lw

STEPS = 1000


class Case(NamedTuple):
    """What is measured: a call for each system, and the mean and variance that come out."""

    title: str
    calls: dict[str, Callable[[], Any]]
    mean: float
    variance: float


class Sizes(NamedTuple):
    """How many chains, examples of Gillespie's, chains of HMC and numbers there are."""

    chains: int = 10_000
    births: int = 20_000
    walkers: int = 5_000
    count: int = 10**8


# --- what Lanewise is given: the function of one example ------------------------------------------


def metropolis(x):
    total, density = 0.0, -2.0 * (x * x - 1.0) ** 2
    for _ in range(STEPS):
        proposal = x + lw.random.normal()
        proposed = -2.0 * (proposal * proposal - 1.0) ** 2
        if np.log(lw.random.random()) < proposed - density:
            x, density = proposal, proposed
        total += x
    return total / STEPS


def gillespie(birth, death, horizon):
    count, now = 0.0, 0.0
    while True:
        rate = birth + death * count
        now += lw.random.exponential() / rate
        if now > horizon:
            return count
        count += 1.0 if lw.random.random() * rate < birth else -1.0


def hmc(x, precision, step, leaps):
    for _ in range(20):
        p = lw.random.normal(size=8)
        energy = (p @ p + x @ (precision * x)) / 2
        y = x.copy()
        p = p - step / 2 * precision * y
        for leap in range(leaps):
            y = y + step * p
            p = p - (step if leap < leaps - 1 else step / 2) * precision * y
        proposed = (p @ p + y @ (precision * y)) / 2
        if np.log(lw.random.random()) < energy - proposed:
            x = y
    return x


def hmc_inputs(chains: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(2)
    precision = np.linspace(1.0, 4.0, 8)
    start = rng.normal(size=(chains, 8)) / np.sqrt(precision)  # as it shall stay
    return start, precision, np.array(0.2), rng.integers(5, 60, chains)


# --- peers ----------------------------------------------------------------------------------------


def numba_calls(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    import numba as nb

    @nb.njit(parallel=True)
    def metropolis(n):
        out = np.empty(n)
        for i in nb.prange(n):
            x = total = 0.0
            density = -2.0
            for _ in range(STEPS):
                proposal = x + np.random.normal()
                proposed = -2.0 * (proposal * proposal - 1.0) ** 2
                if np.log(np.random.random()) < proposed - density:
                    x, density = proposal, proposed
                total += x
            out[i] = total / STEPS
        return out

    @nb.njit(parallel=True)
    def gillespie(birth, death, horizon):
        out = np.empty(len(birth))
        for i in nb.prange(len(birth)):
            count = now = 0.0
            while True:
                rate = birth[i] + death * count
                now += np.random.exponential() / rate
                if now > horizon:
                    break
                count += 1.0 if np.random.random() * rate < birth[i] else -1.0
            out[i] = count
        return out

    @nb.njit(parallel=True)
    def hmc(xs, precision, step, leaps):
        out = np.empty_like(xs)
        for i in nb.prange(len(xs)):
            x = xs[i].copy()
            y, p = np.empty(8), np.empty(8)
            for _ in range(20):
                energy = 0.0
                for j in range(8):
                    p[j] = np.random.normal()
                    energy += (p[j] * p[j] + x[j] * precision[j] * x[j]) / 2
                    y[j] = x[j]
                    p[j] -= step / 2 * precision[j] * y[j]
                for leap in range(leaps[i]):
                    size = step if leap < leaps[i] - 1 else step / 2
                    for j in range(8):
                        y[j] += step * p[j]
                        p[j] -= size * precision[j] * y[j]
                proposed = 0.0
                for j in range(8):
                    proposed += (p[j] * p[j] + y[j] * precision[j] * y[j]) / 2
                if np.log(np.random.random()) < energy - proposed:
                    x[:] = y
            out[i] = x
        return out

    birth = np.linspace(10.0, 30.0, sizes.births)
    xs, precision, step, leaps = hmc_inputs(sizes.walkers)
    return {
        "metropolis": lambda: metropolis(sizes.chains),
        "gillespie": lambda: gillespie(birth, 1.0, 10.0),
        "hmc": lambda: hmc(xs, precision, float(step), leaps),
    }


def jax_calls(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def metropolis(key):
        def step(i, carry):
            x, density, total = carry
            first, second = jax.random.split(jax.random.fold_in(key, i))
            proposal = x + jax.random.normal(first, dtype=jnp.float64)
            proposed = -2.0 * (proposal * proposal - 1.0) ** 2
            accept = jnp.log(jax.random.uniform(second, dtype=jnp.float64)) < proposed - density
            x, density = jnp.where(accept, proposal, x), jnp.where(accept, proposed, density)
            return x, density, total + x

        return jax.lax.fori_loop(0, STEPS, step, (0.0, -2.0, 0.0))[2] / STEPS

    def gillespie(key, birth):
        def body(carry):
            count, now, key, _ = carry
            key, first, second = jax.random.split(key, 3)
            rate = birth + count
            now = now + jax.random.exponential(first, dtype=jnp.float64) / rate
            up = jax.random.uniform(second, dtype=jnp.float64) * rate < birth
            done = now > 10.0
            return jnp.where(done, count, count + jnp.where(up, 1.0, -1.0)), now, key, done

        return jax.lax.while_loop(lambda c: ~c[3], body, (0.0, 0.0, key, False))[0]

    def hmc(key, x, precision, step, leaps):
        def sweep(i, x):
            first, second = jax.random.split(jax.random.fold_in(key, i))
            p = jax.random.normal(first, (8,), jnp.float64)
            energy = (p @ p + x @ (precision * x)) / 2

            def leap(j, carry):
                y, p = carry
                y = y + step * p
                return y, p - jnp.where(j < leaps - 1, step, step / 2) * precision * y

            y, p = jax.lax.fori_loop(0, leaps, leap, (x, p - step / 2 * precision * x))
            proposed = (p @ p + y @ (precision * y)) / 2
            accept = jnp.log(jax.random.uniform(second, dtype=jnp.float64)) < energy - proposed
            return jnp.where(accept, y, x)

        return jax.lax.fori_loop(0, 20, sweep, x)

    key = jax.random.key(0)
    xs, precision, step, leaps = map(jnp.asarray, hmc_inputs(sizes.walkers))
    birth = jnp.linspace(10.0, 30.0, sizes.births)
    keys = [jax.random.split(key, n) for n in sizes[:3]]
    mapped = [
        jax.jit(jax.vmap(metropolis)),
        jax.jit(jax.vmap(gillespie)),
        jax.jit(jax.vmap(hmc, in_axes=(0, 0, None, None, 0))),
    ]

    def large(draw: Callable[..., Any], dtype: Any) -> Callable[[], Any]:
        run = jax.jit(lambda key: draw(key, (sizes.count,), dtype))
        return lambda: run(key).block_until_ready()

    return {
        "metropolis": lambda: np.asarray(mapped[0](keys[0])),
        "gillespie": lambda: np.asarray(mapped[1](keys[1], birth)),
        "hmc": lambda: np.asarray(mapped[2](keys[2], xs, precision, step, leaps)),
        "normal": large(jax.random.normal, jnp.float64),
        "normal, float32": large(jax.random.normal, jnp.float32),
        "uniform": large(jax.random.uniform, jnp.float64),
        "uniform, float32": large(jax.random.uniform, jnp.float32),
    }


def torch_calls(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    import torch

    count = sizes.count
    return {
        "normal": lambda: torch.randn(count, dtype=torch.float64),
        "normal, float32": lambda: torch.randn(count),
        "uniform": lambda: torch.rand(count, dtype=torch.float64),
        "uniform, float32": lambda: torch.rand(count),
    }


def numpy_calls(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    rng, count = np.random.default_rng(0), sizes.count
    return {
        "normal": lambda: rng.standard_normal(count),
        "normal, float32": lambda: rng.standard_normal(count, np.float32),
        "uniform": lambda: rng.random(count),
        "uniform, float32": lambda: rng.random(count, np.float32),
    }


def own_calls(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    rng, count = lw.random.default_rng(0), sizes.count
    mapped = [
        lw.function(lw.vmap(f, in_dims=dims, randomness="different"))
        for f, dims in ((metropolis, 0), (gillespie, (0, None, None)), (hmc, (0, None, None, 0)))
    ]
    starts, birth = np.zeros(sizes.chains), np.linspace(10.0, 30.0, sizes.births)
    one, ten = np.array(1.0), np.array(10.0)
    inputs = hmc_inputs(sizes.walkers)
    return {
        "metropolis": lambda: mapped[0](starts),
        "gillespie": lambda: mapped[1](birth, one, ten),
        "hmc": lambda: mapped[2](*inputs),
        "normal": lambda: rng.standard_normal(count),
        "normal, float32": lambda: rng.standard_normal(count, np.float32),
        "uniform": lambda: rng.random(count),
        "uniform, float32": lambda: rng.random(count, np.float32),
    }


def cases(sizes: Sizes) -> list[Case]:
    """Return what is measured, of the systems that there are."""
    systems: dict[str, dict[str, Callable[[], Any]]] = {
        "Lanewise": own_calls(sizes),
        "NumPy": numpy_calls(sizes),
    }
    for name, make in (("Numba", numba_calls), ("JAX", jax_calls), ("torch", torch_calls)):
        try:
            systems[name] = make(sizes)
        except ImportError:
            print(f"{name} is not installed")
    chains, births, walkers, count = sizes
    rows = {
        "normal": (f"{count:,} normal numbers, float64", 0.0, 1.0),
        "normal, float32": (f"{count:,} normal numbers, float32", 0.0, 1.0),
        "uniform": (f"{count:,} uniform numbers, float64", 0.5, 1 / 12),
        "uniform, float32": (f"{count:,} uniform numbers, float32", 0.5, 1 / 12),
        "metropolis": (f"Metropolis, {chains:,} chains × {STEPS:,} steps", 0.0, np.nan),
        # Poisson numbers with means from 10 to 30.
        "gillespie": (
            f"Gillespie, births and deaths, {births:,} examples",
            20.0,
            20.0 + 20.0**2 / 12,
        ),
        "hmc": (
            f"HMC in 8 dimensions, 20 × 5 to 59 leaps, {walkers:,} chains",
            0.0,
            float(np.mean(1 / np.linspace(1.0, 4.0, 8))),
        ),
    }
    return [
        Case(title, {s: calls[name] for s, calls in systems.items() if name in calls}, *moments)
        for name, (title, *moments) in rows.items()
    ]


def check(case: Case, name: str, found: Any) -> None:
    """Raise if what was drawn has another mean or variance than it should have."""
    array = np.asarray(found).ravel()[:1_000_000].astype(float)
    error = 6 * max(array.std(), 0.1) / np.sqrt(array.size)
    assert abs(array.mean() - case.mean) < error, (case.title, name, array.mean())
    if np.isfinite(case.variance):
        error = case.variance * 8 / np.sqrt(array.size)
        assert abs(array.var() - case.variance) < error, (case.title, name, array.var())


def measure(case: Case, rounds: int) -> dict[str, float]:
    """Return the milliseconds of the fastest call of each system, in turns."""
    times: dict[str, float] = {}
    for name, call in case.calls.items():
        check(case, name, call())
        call()
    for _ in range(rounds):
        for name, call in case.calls.items():
            start = time.perf_counter()
            found = call()
            seconds = time.perf_counter() - start
            del found
            times[name] = min(times.get(name, np.inf), 1e3 * seconds)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description="Random numbers.")
    parser.add_argument("--small", action="store_true", help="small sizes, for a quick look")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    sizes = Sizes(200, 200, 100, 10**5) if options.small else Sizes()
    lw.random.seed(0)
    names = ["Lanewise", "NumPy", "Numba", "JAX", "torch"]
    print("| milliseconds |", " | ".join(names), "|")
    print("| --- |", " | ".join(["---:"] * len(names)), "|")
    for case in cases(sizes):
        times = measure(case, options.rounds)
        cells = [f"{times[name]:,.1f}" if name in times else "" for name in names]
        print(f"| {case.title} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
