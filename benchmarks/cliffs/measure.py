"""Measuring one program beside plain Python, and which bounds it breaks."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cliffs.forms import Program, program

ROOT = Path(__file__).parents[2]
#: How a program is called: on one example, or mapped over some.
MODES = {"one": 0, "few": 4, "many": 300}
#: Seconds after which a program counts as one without end, and for which plain calls are repeated.
LIMIT, PLAIN = 100.0, 0.5
#: The bounds: a steady call; each of the first calls; memory beyond plain Python's.
STEADY, CALL = 1.1, 3e-6
FIRST, FIRST_CALLS, COMPILING = 3.0, 10, 0.5
MEMORY = 64 * 2**20


class Found(NamedTuple):
    """What was measured, in seconds and bytes.

    Attributes
    ----------
    plain, steady
        A call of plain Python, and of Lanewise when it has settled; the least of several.
    first
        Each of the first calls.
    memory
        How much more was used at the peak than by plain Python.
    wrong
        What is wrong with the results, or was raised; empty if nothing.
    """

    plain: float
    steady: float
    first: list[float]
    memory: int
    wrong: str = ""

    @property
    def broken(self) -> list[str]:
        """The bounds that were broken."""
        if self.wrong:
            return [self.wrong]
        worst = max(self.first)
        named = {
            f"steady call {self.steady / self.plain:.3g} x plain": (
                self.steady > STEADY * self.plain + CALL
            ),
            f"one of the first calls {worst:.2g} s": worst > FIRST * self.plain + COMPILING,
            f"{self.memory / 2**20:.0f} MB more": self.memory > MEMORY,
        }
        return [name for name, is_broken in named.items() if is_broken]


def measured(seed: str, mode: str) -> Found:
    """Measure a program in processes of its own: one for plain Python, one for Lanewise."""
    try:
        growth = _process(_plain, seed, mode)
        found = Found(**_process(_both, seed, mode))
    except subprocess.TimeoutExpired:
        return Found(np.nan, np.nan, [], 0, f"no end in {LIMIT:.0f} s")
    except subprocess.CalledProcessError as error:
        return Found(np.nan, np.nan, [], 0, error.stderr.strip().rpartition("\n")[2][:150])
    return found._replace(memory=found.memory - growth)


def _process(what: Callable[[Prepared], Any], seed: str, mode: str) -> Any:
    """Return what a function of this file gives in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.cliffs.measure", what.__name__, seed, mode]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=True
    )
    return json.loads(done.stdout)


def function_of(source: str, name: str) -> Callable[..., Any]:
    """Return the function of a program, with its source where Python finds it."""
    import linecache

    path = f"<{name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, path, "exec"), scope)
    return scope["f"]


def batch_of(drawn: Program, count: int) -> tuple[Any, ...]:
    """Return a batch of examples: indices are the same in all, other numbers differ a little."""
    rows = [
        [
            x if x.dtype.kind in "iu" else (x * (1 + 0.01 * k)).astype(x.dtype)
            for x in drawn.arguments
        ]
        for k in range(count)
    ]
    return tuple(map(np.stack, zip(*rows, strict=True)))


class Prepared(NamedTuple):
    """A program with its arguments, as plain Python and traced."""

    arguments: Sequence[Any]
    plain: Callable[..., Any]
    traced: Callable[..., Any]


def _prepared(seed: str, mode: str) -> Prepared:
    import lanewise as lw

    name, drawn = program(seed)
    f, arguments = function_of(drawn.source, f"{name} {seed}"), drawn.arguments
    count = MODES[mode]
    if count:
        start = time.perf_counter()
        f(*arguments)
        one = time.perf_counter() - start
        arguments = batch_of(drawn, max(2, min(count, int(2 / one))))

    def plain(*args: Any) -> Any:
        return f(*args) if not count else np.stack([f(*row) for row in zip(*args, strict=True)])

    warnings.simplefilter("ignore")
    warm = lw.function(lambda x: x + 1, jit_compile=True)
    warm(np.ones(3))  # LLVM is there
    return Prepared(arguments, plain, lw.function(lw.vmap(f) if count else f))


def _plain(given: Prepared) -> int:
    """Return by how many bytes a process grows in which plain Python runs."""
    before = peak()
    found = given.plain(*given.arguments)  # as the other process has its first result
    repeated(given.plain, given.arguments, PLAIN)
    del found
    return peak() - before


def _both(given: Prepared) -> dict[str, Any]:
    """Return what is `Found`; of the memory, by how much the process grows."""
    arguments, plain, traced = given
    before = peak()
    first, found = [], None
    for _ in range(FIRST_CALLS):
        start = time.perf_counter()
        found = traced(*arguments)
        first.append(time.perf_counter() - start)
    steady = repeated(traced, arguments, 2 * PLAIN)
    memory = peak() - before
    wanted = plain(*arguments)
    plain_seconds = repeated(plain, arguments, 2 * PLAIN)
    steady = min(steady, repeated(traced, arguments, PLAIN))
    return Found(plain_seconds, steady, first, memory, difference(found, wanted))._asdict()


def repeated(f: Callable[..., Any], arguments: Any, seconds: float) -> float:
    """Return the least time of a call, of those in so many seconds, at least three."""
    least, end, calls = np.inf, time.perf_counter() + seconds, 0
    result = None  # as who calls it has it while it is called again
    while calls < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        result = f(*arguments)
        least = min(least, time.perf_counter() - start)
        calls += 1
    del result
    return least


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def difference(found: Any, wanted: Any) -> str:
    """Return in what a result differs, or nothing."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"{found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
    tolerance = 1e-2 if wanted.dtype.itemsize == 4 else 1e-6
    scale = np.nanmax(np.abs(wanted), initial=1.0)
    return "" if np.allclose(found, wanted, tolerance, tolerance * scale, True) else "other numbers"


if __name__ == "__main__":
    measure, *which = sys.argv[1:]
    print(json.dumps({"_plain": _plain, "_both": _both}[measure](_prepared(*which))))
