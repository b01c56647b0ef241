"""What a call costs that records the function anew: `lw.vmap(f)(x)` beside the peers' `vmap`."""

from __future__ import annotations

import numpy as np

import lanewise as lw
from benchmarks.suite.workload import Workload


def function(x):
    return (x * 2 + 1).sum()


def inputs(size: int) -> tuple[np.ndarray, ...]:
    return (np.arange(size * 4.0).reshape(size, 4),)


def recorded():
    return lambda x: lw.vmap(function)(x)


def jax():
    import jax

    return lambda x: jax.vmap(function)(x)


def torch():
    import torch

    return lambda x: torch.vmap(function)(x)


WORKLOAD = Workload(
    number=17,
    name="call",
    title="call overhead, (8, 4), `vmap` that records each call",
    size=8,
    small=8,
    inputs=inputs,
    function=function,
    mapped=recorded,
    peers={"jax.vmap": jax, "torch": torch},
)
