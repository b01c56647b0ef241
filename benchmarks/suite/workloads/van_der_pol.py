"""The Van der Pol oscillator by Dormand and Prince's 5(4) pair with steps that adapt to the error.

The tableau is that of J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae",
J. Comp. Appl. Math. 6 (1980). Stiffer examples take more steps: 40 to 280, 150 in the mean.
"""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import torch_compiled, with_compiled_steps
from benchmarks.suite.workload import Workload

END, TOLERANCE = 6.0, 1e-6


def oscillator(y, mu):
    return np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


def van_der_pol(mu):
    y = np.array([2.0, 0.0])
    t, h = 0.0, 0.01
    while t < END:
        h = min(h, END - t)
        k1 = oscillator(y, mu)
        k2 = oscillator(y + h * (k1 / 5), mu)
        k3 = oscillator(y + h * (3 / 40 * k1 + 9 / 40 * k2), mu)
        k4 = oscillator(y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3), mu)
        k5 = oscillator(
            y + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4),
            mu,
        )
        k6 = oscillator(
            y
            + h
            * (
                9017 / 3168 * k1
                - 355 / 33 * k2
                + 46732 / 5247 * k3
                + 49 / 176 * k4
                - 5103 / 18656 * k5
            ),
            mu,
        )
        new = y + h * (
            35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6
        )
        k7 = oscillator(new, mu)
        difference = h * (
            71 / 57600 * k1
            - 71 / 16695 * k3
            + 71 / 1920 * k4
            - 17253 / 339200 * k5
            + 22 / 525 * k6
            - 1 / 40 * k7
        )
        error = np.max(np.abs(difference) / (TOLERANCE + TOLERANCE * np.abs(new)))
        if error <= 1.0:
            t = t + h
            y = new
        h = h * min(5.0, max(0.2, 0.9 * max(error, 1e-10) ** -0.2))
    return y


def inputs(size: int) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(7).uniform(0.1, 50.0, size),)


def attempt(x, v, mu, h, absolute, largest):
    """Return a step of scalars, or of whole batches, and its error."""

    def flow(x, v):
        return v, mu * (1 - x * x) * v - x

    a1, b1 = flow(x, v)
    a2, b2 = flow(x + h * (a1 / 5), v + h * (b1 / 5))
    a3, b3 = flow(x + h * (3 / 40 * a1 + 9 / 40 * a2), v + h * (3 / 40 * b1 + 9 / 40 * b2))
    a4, b4 = flow(
        x + h * (44 / 45 * a1 - 56 / 15 * a2 + 32 / 9 * a3),
        v + h * (44 / 45 * b1 - 56 / 15 * b2 + 32 / 9 * b3),
    )
    c1, c2, c3, c4 = 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729
    a5, b5 = flow(
        x + h * (c1 * a1 + c2 * a2 + c3 * a3 + c4 * a4),
        v + h * (c1 * b1 + c2 * b2 + c3 * b3 + c4 * b4),
    )
    d1, d2, d3, d4, d5 = 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656
    a6, b6 = flow(
        x + h * (d1 * a1 + d2 * a2 + d3 * a3 + d4 * a4 + d5 * a5),
        v + h * (d1 * b1 + d2 * b2 + d3 * b3 + d4 * b4 + d5 * b5),
    )
    e1, e3, e4, e5, e6 = 35 / 384, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84
    new_x = x + h * (e1 * a1 + e3 * a3 + e4 * a4 + e5 * a5 + e6 * a6)
    new_v = v + h * (e1 * b1 + e3 * b3 + e4 * b4 + e5 * b5 + e6 * b6)
    a7, b7 = flow(new_x, new_v)
    f1, f3, f4, f5, f6, f7 = 71 / 57600, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40
    off_x = absolute(h * (f1 * a1 + f3 * a3 + f4 * a4 + f5 * a5 + f6 * a6 + f7 * a7))
    off_v = absolute(h * (f1 * b1 + f3 * b3 + f4 * b4 + f5 * b5 + f6 * b6 + f7 * b7))
    error = largest(
        off_x / (TOLERANCE + TOLERANCE * absolute(new_x)),
        off_v / (TOLERANCE + TOLERANCE * absolute(new_v)),
    )
    return new_x, new_v, error


def numba_solver():
    import numba as nb

    step = nb.njit(inline="always")(attempt)

    @nb.njit
    def absolute(x):
        return abs(x)

    @nb.njit
    def largest(x, y):
        return max(x, y)

    @nb.njit
    def solve(mu):
        x, v, t, h = 2.0, 0.0, 0.0, 0.01
        while t < END:
            h = min(h, END - t)
            new_x, new_v, error = step(x, v, mu, h, absolute, largest)
            if error <= 1.0:
                t, x, v = t + h, new_x, new_v
            h = h * min(5.0, max(0.2, 0.9 * max(error, 1e-10) ** -0.2))
        return x, v

    return solve


def numba():
    import numba as nb

    solve = numba_solver()

    @nb.njit(parallel=True)
    def run(mu):
        out = np.empty((len(mu), 2))
        for i in nb.prange(len(mu)):
            out[i, 0], out[i, 1] = solve(mu[i])
        return out

    return run


def guvectorize():
    import numba as nb

    solve = numba_solver()

    @nb.guvectorize(["f8, f8[:], f8[:]"], "(),(n)->(n)", target="parallel")
    def run(mu, like, out):
        out[0], out[1] = solve(mu)

    return lambda mu: run(mu, np.empty(2))


def jax():
    import jax
    import jax.numpy as jnp

    def one(mu):
        def advance(state):
            x, v, t, h = state
            h = jnp.minimum(h, END - t)
            new_x, new_v, error = attempt(x, v, mu, h, abs, jnp.maximum)
            good = error <= 1.0
            x, v, t = (
                jnp.where(good, new_x, x),
                jnp.where(good, new_v, v),
                jnp.where(good, t + h, t),
            )
            return x, v, t, h * jnp.clip(0.9 * jnp.maximum(error, 1e-10) ** -0.2, 0.2, 5.0)

        start = (2.0, 0.0, 0.0, 0.01)
        return jnp.stack(jax.lax.while_loop(lambda state: state[2] < END, advance, start)[:2])

    return jax.vmap(one)


def torch_loop(compiled):
    import torch

    @compiled
    def advance(x, v, t, h, mu):
        h = torch.minimum(h, END - t)
        new_x, new_v, error = attempt(x, v, mu, h, torch.abs, torch.maximum)
        good = error <= 1.0
        x, v = torch.where(good, new_x, x), torch.where(good, new_v, v)
        t = torch.where(good, t + h, t)
        h = h * (0.9 * error.clamp(min=1e-10) ** -0.2).clamp(0.2, 5.0)
        return x, v, t, h, (t < END).any()

    def run(mu):
        x, v = torch.full_like(mu, 2.0), torch.zeros_like(mu)
        t, h, going = torch.zeros_like(mu), torch.full_like(mu, 0.01), True
        while going:
            x, v, t, h, going = advance(x, v, t, h, mu)
        return torch.stack((x, v), -1)

    return run


def torch():
    return torch_loop(lambda step: step)


def torch_compile():
    return with_compiled_steps(torch_loop(torch_compiled))


def drjit():
    import drjit as dr
    from drjit.llvm import Float64

    def run(mu):
        def advance(x, v, t, h):
            h = dr.minimum(h, END - t)
            new_x, new_v, error = attempt(x, v, mu, h, dr.abs, dr.maximum)
            good = error <= 1.0
            x, v, t = (
                dr.select(good, new_x, x),
                dr.select(good, new_v, v),
                dr.select(good, t + h, t),
            )
            return x, v, t, h * dr.clip(0.9 * dr.maximum(error, 1e-10) ** -0.2, 0.2, 5.0)

        start = (Float64(2), Float64(0), Float64(0), Float64(0.01))
        x, v, _, _ = dr.while_loop(start, lambda x, v, t, h: t < END, advance)
        return [x, v]

    return run


WORKLOAD = Workload(
    number=7,
    name="van_der_pol",
    title="Van der Pol adaptive RK45, mu 0.1…50, 5,000",
    size=5_000,
    small=20,
    limit=4,
    inputs=inputs,
    function=van_der_pol,
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch_compile,
        "drjit": drjit,
    },
    # A last bit can decide whether a step is taken: the solutions agree to the solver's tolerance.
    rtol=1e-5,
    atol=1e-5,
)
