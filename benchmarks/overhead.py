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


#: What a user writes, by how it looks; x is a vector of 8, m a matrix of 4 by 4.
CALLS: dict[str, Callable[..., object]] = {
    "x * 2": lambda x, m: x * 2,
    "x + x": lambda x, m: x + x,
    "x ** 2": lambda x, m: x**2,
    "np.exp(x)": lambda x, m: np.exp(x),
    "x.sum()": lambda x, m: x.sum(),
    "m.mean(axis=1)": lambda x, m: m.mean(axis=1),
    "np.argmax(x)": lambda x, m: np.argmax(x),
    "x[1]": lambda x, m: x[1],
    "x[1:3]": lambda x, m: x[1:3],
    "m[:, 1]": lambda x, m: m[:, 1],
    "m @ m": lambda x, m: m @ m,
    "np.dot(x, x)": lambda x, m: np.dot(x, x),
    "m.T": lambda x, m: m.T,
    "x.reshape(2, 4)": lambda x, m: x.reshape(2, 4),
    "np.concatenate([x, x])": lambda x, m: np.concatenate([x, x]),
    "np.where(x > 0, x, 0)": lambda x, m: np.where(x > 0, x, 0),
    "np.clip(x, 0, 1)": lambda x, m: np.clip(x, 0, 1),
    "np.sort(x)": lambda x, m: np.sort(x),
    "np.linalg.solve(m, m)": lambda x, m: np.linalg.solve(m, m),
    "x.astype(np.float32)": lambda x, m: x.astype(np.float32),
}


def trace_costs(rounds: int = 9, repeats: int = 100) -> dict[str, float]:
    """Return the microseconds that recording each call costs.

    The results are not used, so nothing but the recording is left of the calls.
    """
    x, m = np.ones((2, 8)), np.ones((2, 4, 4))

    def times(call: Callable[..., object], count: int) -> Callable[[], object]:
        def repeated(x, m):
            for _ in range(count):
                call(x, m)
            return x

        # Without autograph, or a loop of so many turns would be recorded as one.
        return lambda: lw.vmap(repeated, autograph=False)(x, m)

    costs = {}
    for name, call in CALLS.items():
        measured = measure({"long": times(call, repeats), "short": times(call, 0)}, rounds)
        costs[name] = (measured["long"] - measured["short"]) / repeats
    return costs


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
    print("\n| recording | µs |\n| --- | ---: |")
    for name, value in trace_costs().items():
        print(f"| `{name}` | {value:.1f} |")
    print()
    print(f"`import lanewise` over `import numpy`: {import_cost():.3f} s")


if __name__ == "__main__":
    main()
