"""Programs that are compiled for other processors, and what runs them, in a process of its own.

``python on_processor.py NAME FEATURES TRIPLE FILE`` runs them on a processor of that name and
writes their results to a file. If the triple is not of a kind that this machine can run, it writes
their texts and assembly instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding

import lanewise as lw
from lanewise.codegen import llvm, processor
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.codegen.partition import partition
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.runtime.dispatch import observing


def arithmetic(x, y, z):
    """What contracting, reassociating, or flushing to zero would change."""
    return x * y + z, (x + y) - x, x * 0.0, x + 0.0, x / y, (x + y) + z, x * 0.5 - y * 0.5


def mandelbrot(x, y):
    a = b = 0.0
    n = 0
    while n < 60 and a * a + b * b <= 4.0:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n


def decay(x, y):
    return np.exp(-x * x) * np.log1p(y * y) + np.sqrt(abs(x * y))


def rows(m, v):
    """Whole examples in memory, packed into lanes and unpacked, and a reduction of each."""
    out = m * v
    out[1:] -= m[:-1]
    return out[::-1], (m * v).max(), m.sum(), m.argmin()


def integers(i, j):
    return i // (abs(j) + 1), i % (abs(j) + 1), i << (j & 7), i ^ j, i * j, max(i, j)


def halves(h, g):
    return h * g, h + g, np.sqrt(abs(h))


def planes(z, w):
    return z * w, z / w, abs(z), z.conjugate() + w


def picked(v, i):
    total = 0.0
    for k in range(i):
        total += v[k % len(v)]
    return total, v[i]


def samples() -> dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]]:
    """Return the programs, with their arguments: 101 examples, no multiple of any lanes."""
    rng = np.random.default_rng(0)
    n = 101
    floats = rng.normal(size=(3, n))
    # Infinite, not a number, zero of both signs, subnormal, and a product that overflows.
    floats[0, :8] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, 3e-310, 1e300]
    floats[1, :8] = [1.0, np.inf, 1.0, -0.0, 0.0, 0.5, 0.25, 1e300]
    floats[2, 20:40] *= 1e16
    ints = rng.integers(-(2**62), 2**62, (2, n))
    half = rng.normal(size=(2, n)).astype(np.float16)
    complex_ = rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))
    table = rng.normal(size=(n, 9))
    return {
        "arithmetic": (arithmetic, tuple(floats)),
        "arithmetic32": (arithmetic, tuple(floats.astype(np.float32))),
        "mandelbrot": (mandelbrot, tuple(floats[1:, :] / 2)),
        "decay": (decay, tuple(floats[:2])),
        "decay32": (decay, tuple(floats[:2].astype(np.float32))),
        "rows": (rows, (table, rng.normal(size=(n, 9)))),
        "rows32": (rows, (table.astype(np.float32), rng.normal(size=(n, 9)).astype(np.float32))),
        "integers": (integers, tuple(ints)),
        "integers32": (integers, tuple(ints.astype(np.int32) | 1)),
        "integers8": (integers, tuple((ints >> 50).astype(np.int8))),
        "halves": (halves, tuple(half)),
        "planes": (planes, tuple(complex_)),
        "picked": (picked, (table, rng.integers(0, 9, n))),
    }


def results() -> dict[str, np.ndarray]:
    """Run the programs; return their results."""
    found = {}
    with np.errstate(all="ignore"):
        for name, (function, arguments) in samples().items():
            outputs = lw.vmap(function)(*arguments)
            for number, output in enumerate(outputs if type(outputs) is tuple else (outputs,)):
                found[f"{name}.{number}"] = output
    return found


def kernels() -> dict[str, list[str]]:
    """Return the texts of each program's kernels."""
    texts = {}
    with np.errstate(all="ignore"):
        for name, (function, arguments) in samples().items():
            with observing() as programs:
                lw.vmap(function)(*arguments)
            KERNELS.clear()
            for program in programs:
                partition(merge_repeated(eliminate_dead(program.graph)))
            texts[name] = [kernel.text for kernel in KERNELS.values()]
    return texts


class _Assembled:
    """In place of code, where this machine cannot run it: it has no addresses."""

    def __init__(self, text: str) -> None:
        assert llvm.assembly(text)

    def address(self, name: str) -> int:
        return 1


def main(name: str, features: str, triple: str, path: str) -> None:
    here = processor.machine()
    found: dict[str, Any]
    if triple.partition("-")[0] == here.triple.partition("-")[0]:
        os.environ["LANEWISE_BACKEND"] = "native"
        processor.use_machine(processor.Machine(name, features, triple))
        found = results()
    else:
        os.environ["LANEWISE_BACKEND"] = "interpret"
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        processor.use_machine(processor.Machine(name, features, triple))
        llvm.Code = _Assembled  # functions that kernels call
        found = {
            name: np.array([(text, llvm.assembly(text)) for text in texts])
            for name, texts in kernels().items()
        }
    np.savez(path, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
