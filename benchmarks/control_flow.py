"""What divergence costs: examples that need more turns, or a heavier branch, than the others.

Run with ``make bench-control-flow``. Peers run in the same process, taking turns with Lanewise;
without JAX its rows say so. Times are medians over rounds.

* ``while``: one example of 4,096 needs 20,000 turns, the others 20. JAX steps all examples until
  the last one is done; here the set of examples still in the loop shrinks.
* ``branch``: 1 % of 10,000 examples take a branch 100 times heavier than the other. The measure is
  what those examples cost alone.
* ``collatz``: every example has its own number of turns; a loop and a branch in it.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable

import numpy as np

import lanewise as lw

ROUNDS = 7


def decay(x, turns):
    i = 0
    while i < turns:
        x = x * 0.999 + 0.5
        i += 1
    return x


def two_branches(x):
    if x > 0.99:
        for _ in range(1000):
            x = np.sin(x) + 0.5
    else:
        for _ in range(10):
            x = np.sin(x) + 0.5
    return x


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def measure(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of a call of each, rounds interleaved."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()  # compiles
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(seconds) for name, seconds in times.items()}


def report(title: str, times: dict[str, float]) -> None:
    print(title)
    first = next(iter(times.values()))
    for name, milliseconds in times.items():
        print(f"  {name:34} {milliseconds:9.2f} ms   {milliseconds / first:7.2f} x")


def jax_decay(x: np.ndarray, turns: np.ndarray) -> Callable[[], object]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def one(x, turns):
        def body(state):
            i, x = state
            return i + 1, x * 0.999 + 0.5

        return jax.lax.while_loop(lambda state: state[0] < turns, body, (0, x))[1]

    compiled = jax.jit(jax.vmap(one))
    args = jnp.asarray(x), jnp.asarray(turns)
    return lambda: compiled(*args).block_until_ready()


def jax_collatz(n: np.ndarray) -> Callable[[], object]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def one(n):
        def body(state):
            n, steps = state
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

        return jax.lax.while_loop(lambda state: state[0] != 1, body, (n, 0))[1]

    compiled = jax.jit(jax.vmap(one))
    arg = jnp.asarray(n)
    return lambda: compiled(arg).block_until_ready()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    has_jax = importlib.util.find_spec("jax") is not None

    x = np.linspace(0.0, 1.0, 4096)
    turns = np.full(4096, 20)
    turns[1234] = 20_000
    calls: dict[str, Callable[[], object]] = {"lanewise": lambda: lw.vmap(decay)(x, turns)}
    if has_jax:
        calls["jax, jit(vmap(while_loop))"] = jax_decay(x, turns)
    np.testing.assert_allclose(lw.vmap(decay)(x, turns)[::512], list(map(decay, x, turns))[::512])
    report("while: 1 of 4,096 examples takes 20,000 turns, the others 20", measure(calls, rounds))

    values = np.linspace(0.0, 1.0, 10_000)
    heavy = values[values > 0.99]
    calls = {
        "the heavy examples alone": lambda: lw.vmap(two_branches)(heavy),
        "all examples": lambda: lw.vmap(two_branches)(values),
        "all examples, each as heavy": lambda: lw.vmap(two_branches)(np.full(10_000, 0.995)),
    }
    report("branch: 1 % of 10,000 examples take a branch 100 times heavier", measure(calls, rounds))

    numbers = np.arange(1, 100_001)
    calls = {"lanewise": lambda: lw.vmap(collatz)(numbers)}
    if has_jax:
        calls["jax, jit(vmap(while_loop))"] = jax_collatz(numbers)
    calls["python, one by one (1 % of them)"] = lambda: [collatz(int(n)) for n in numbers[::100]]
    report("collatz: 100,000 examples, up to 350 turns", measure(calls, rounds))
    if not has_jax:
        print("jax is not installed: its rows are missing")


if __name__ == "__main__":
    main()
