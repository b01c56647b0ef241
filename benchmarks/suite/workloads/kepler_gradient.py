"""Reverse mode through Newton's iteration for Kepler's equation: a `while` that data end."""

from __future__ import annotations

import math

import numpy as np

import lanewise as lw
from benchmarks.suite.workload import Workload
from benchmarks.suite.workloads.kepler import eccentric_anomaly, inputs, torch_loop


def by_hand(mean, e):
    """Return the derivatives of the solution, by the theorem of implicit functions.

    Those of the last iterate, which the systems compute, differ by as much as its last step.
    """
    E = eccentric_anomaly(mean, e)
    slope = 1 - e * np.cos(E)
    return 1 / slope, np.sin(E) / slope


def numba():
    import numba as nb

    # Reverse mode by hand: the iterates are kept, and gone through from the last to the first.
    @nb.njit(parallel=True)
    def gradients(mean, e):
        of_mean, of_e = np.empty_like(mean), np.empty_like(e)
        for i in nb.prange(len(mean)):
            M, x = mean[i], e[i]
            kept = np.empty(1000)
            turns = 0
            E = M if x < 0.8 else math.pi
            step = 1.0
            while abs(step) > 1e-12:
                kept[turns] = E
                turns += 1
                step = (E - x * math.sin(E) - M) / (1 - x * math.cos(E))
                E = E - step
            d_E, d_M, d_x = 1.0, 0.0, 0.0
            for turn in range(turns - 1, -1, -1):
                E = kept[turn]
                sine, cosine = math.sin(E), math.cos(E)
                slope = 1 - x * cosine
                off = E - x * sine - M
                d_M += d_E / slope
                d_x += d_E * (sine / slope - off * cosine / (slope * slope))
                d_E = d_E * off * x * sine / (slope * slope)
            of_mean[i] = d_M + (d_E if x < 0.8 else 0.0)
            of_e[i] = d_x
        return of_mean, of_e

    return gradients


def torch():
    import torch

    anomalies = torch_loop(lambda step: step)

    def gradients(mean, e):
        mean, e = mean.detach().requires_grad_(), e.detach().requires_grad_()
        return torch.autograd.grad(anomalies(mean, e).sum(), (mean, e))

    return gradients


WORKLOAD = Workload(
    number=31,
    name="kepler_gradient",
    title="gradient of Kepler's equation through `while`, reverse mode, 1,000,000",
    size=1_000_000,
    small=60,
    inputs=inputs,
    function=lw.grad(eccentric_anomaly, argnums=(0, 1)),
    reference=by_hand,
    peers={"numba": numba, "torch": torch},
    rtol=1e-8,
    atol=1e-10,
)
