"""A signal of 256 convolved with a filter of 9, the same for all examples."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.peers import Arrays, drjit_flat
from benchmarks.suite.workload import Workload

N, TAPS = 256, 9


def smooth(signal, kernel):
    return np.convolve(signal, kernel)


def inputs(size: int) -> Arrays:
    random = np.random.default_rng(14)
    kernel = np.hanning(TAPS + 2)[1:-1].astype(np.float32)
    return random.standard_normal((size, N), dtype=np.float32), kernel / kernel.sum()


def numba():
    import numba as nb

    @nb.njit(parallel=True, fastmath=True)
    def convolves(signals, kernel):
        out = np.empty((len(signals), N + TAPS - 1), signals.dtype)
        for i in nb.prange(len(signals)):
            padded = np.zeros(N + 2 * (TAPS - 1), signals.dtype)
            padded[TAPS - 1 : TAPS - 1 + N] = signals[i]
            for j in range(N + TAPS - 1):
                total = signals.dtype.type(0)
                for k in range(TAPS):
                    total += padded[j + TAPS - 1 - k] * kernel[k]
                out[i, j] = total
        return out

    return convolves


def guvectorize():
    import numba as nb

    @nb.guvectorize(
        ["f4[:], f4[:], f4[:], f4[:]"], "(n),(k),(m)->(m)", target="parallel", fastmath=True
    )
    def convolves(signal, kernel, like, out):
        out[:] = 0
        for k in range(len(kernel)):
            for j in range(len(signal)):
                out[j + k] += signal[j] * kernel[k]

    like = np.empty(N + TAPS - 1, np.float32)
    return lambda signals, kernel: convolves(signals, kernel, like)


def jax():
    import jax
    import jax.numpy as jnp

    def one(signal, kernel):
        # As shifted products: `jnp.convolve` takes many times as long on this shape.
        padded = jnp.pad(signal, TAPS - 1)
        return sum(padded[TAPS - 1 - k : N + 2 * (TAPS - 1) - k] * kernel[k] for k in range(TAPS))

    return jax.vmap(one, (0, None))


def torch():
    import torch

    def convolves(signals, kernel):
        weight = kernel.flip(0)[None, None]
        return torch.nn.functional.conv1d(signals[:, None], weight, padding=TAPS - 1)[:, 0]

    return convolves


def torch_compile():
    import torch

    def convolves(signals, kernel):
        padded = torch.nn.functional.pad(signals, (TAPS - 1, TAPS - 1))
        shifts = (padded[:, TAPS - 1 - k : N + 2 * (TAPS - 1) - k] for k in range(TAPS))
        return sum(shift * kernel[k] for k, shift in enumerate(shifts))

    return convolves


def drjit():
    import drjit as dr
    from drjit.llvm import Float, Int

    def convolves(signals, kernel):
        outputs = N + TAPS - 1
        place = dr.arange(Int, dr.width(signals) // N * outputs)
        row, j = place // outputs, place % outputs
        total = Float(0)
        for k in range(TAPS):
            inside = (j >= k) & (j - k < N)
            shifted = dr.gather(Float, signals, row * N + j - k, inside)
            total = dr.fma(shifted, dr.gather(Float, kernel, k), total)
        return total

    return convolves


WORKLOAD = Workload(
    number=14,
    name="convolve",
    title="`np.convolve` 256 with 9, 50,000 × float32",
    size=50_000,
    small=30,
    limit=5.1,
    inputs=inputs,
    function=smooth,
    maps=((0, None),),
    peers={
        "numba": numba,
        "guvectorize": guvectorize,
        "jax": jax,
        "torch": torch,
        "torch.compile": torch_compile,
        "drjit": drjit,
    },
    place={"drjit": lambda arrays: tuple(map(drjit_flat, arrays))},
    rtol=1e-4,
    atol=1e-6,
)
