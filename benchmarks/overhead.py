"""What a call of `lw.vmap` costs beside the work: a call, an operation traced, the import.

Run with ``make bench-overhead``. Peers run in the same process, taking turns with Lanewise round by
round, so that a busy machine hits all alike; without torch or JAX their rows say so. Times are
medians over rounds of the mean over the calls of a round; ratios are of those medians.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import lanewise as lw

ROUNDS = 31


def function(x):
    return (x * 2 + 1).sum()


def contenders() -> dict[str, Callable[[], object]]:
    """Return one call of each system on an (8, 4) array of float64."""
    array = np.arange(32.0).reshape(8, 4)
    calls: dict[str, Callable[[], object]] = {"lanewise": lambda: lw.vmap(function)(array)}
    if importlib.util.find_spec("torch"):
        import torch

        tensor = torch.from_numpy(array)
        calls["torch"] = lambda: torch.vmap(function)(tensor)
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        device_array = jax.numpy.asarray(array)
        calls["jax, not jitted"] = lambda: jax.vmap(function)(device_array).block_until_ready()
    calls["numpy, batched by hand"] = lambda: (array * 2 + 1).sum(axis=1)
    return calls


def measure(calls: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median microseconds of a call of each, rounds interleaved."""
    counts = {}
    for name, call in calls.items():
        for _ in range(20):  # first calls compile
            call()
        start = time.perf_counter()
        call()
        counts[name] = max(3, min(500, int(0.005 / (time.perf_counter() - start))))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((time.perf_counter() - start) / counts[name] * 1e6)
    return {name: statistics.median(row) for name, row in times.items()}


def trace_cost() -> float:
    """Return the microseconds that one more traced operation costs, run included."""

    def chain(length: int) -> Callable[[], object]:
        def chained(x):
            for _ in range(length):
                x = x + 1.5
            return x

        array = np.zeros((2, 4))
        return lambda: lw.vmap(chained)(array)

    def numpy_only() -> object:
        x = np.zeros((2, 4))
        for _ in range(200):
            x = x + 1.5
        return x

    times = measure({"long": chain(210), "short": chain(10), "numpy": numpy_only})
    return (times["long"] - times["short"] - times["numpy"]) / 200


def import_cost(rounds: int = 15) -> float:
    """Return the seconds that ``import lanewise`` takes over ``import numpy``."""
    code = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"

    def once(module: str) -> float:
        command = [sys.executable, "-c", code.format(module)]
        return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    pairs = [(once("numpy"), once("lanewise")) for _ in range(rounds)]
    return statistics.median(b for _, b in pairs) - statistics.median(a for a, _ in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    times = measure(contenders(), rounds)
    print("| `vmap(lambda x: (x * 2 + 1).sum())` on (8, 4) | µs a call | over Lanewise |")
    print("| --- | ---: | ---: |")
    for name, value in times.items():
        print(f"| {name} | {value:.1f} | {value / times['lanewise']:.2f} |")
    for peer in ("torch", "jax"):
        if not importlib.util.find_spec(peer):
            print(f"| {peer} | not installed | |")
    print(f"\nOne traced operation: {trace_cost():.1f} µs")
    print(f"`import lanewise` over `import numpy`: {import_cost():.3f} s")


if __name__ == "__main__":
    main()
