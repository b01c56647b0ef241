"""How well estimates tell what NumPy, the compiler and kernels take: what decides tiers and plans.

``python -m benchmarks.estimates`` measures the programs of `benchmarks.programs` interpreted,
compiled, and while they are compiled, and prints what was estimated beside it; ``--fit`` the
constants of `lanewise.codegen.work` that would suit these programs on this machine best, and
``--write`` writes the summary to docs/benchmarks.md. BLAS runs on one thread, as the time that its
threads wait for each other is not what is estimated.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
BEGIN = "<!-- begin: written by python -m benchmarks.estimates -->"
END = "<!-- end: written by python -m benchmarks.estimates -->"
#: Seconds that calls are repeated for, and how many there are at least.
SECONDS, CALLS = 0.15, 3
NUMPY, KERNELS = "NumPy, a call", "kernels, a call"
BEFORE, WRITTEN = "compiling, before kernels are written", "compiling, when they are"


@dataclass(frozen=True)
class Estimate:
    """What was estimated of a program, and what was measured, in nanoseconds.

    Attributes
    ----------
    what
        What it is the time of.
    parts
        What the estimate is made of, by the names of constants: how many of each.
    """

    what: str
    program: str
    scale: float
    estimated: float
    measured: float
    parts: dict[str, float]

    @property
    def error(self) -> float:
        """How many times too large or too small the estimate is."""
        ratio = self.estimated / self.measured
        return max(ratio, 1 / ratio) if ratio else math.inf


def quickest(call: Callable[[], Any]) -> float:
    """Return the nanoseconds of the quickest of several calls."""
    best, calls, start = math.inf, 0, time.perf_counter_ns()
    while calls < CALLS or time.perf_counter_ns() - start < 1e9 * SECONDS:
        before = time.perf_counter_ns()
        call()
        best, calls = min(best, time.perf_counter_ns() - before), calls + 1
    return best


@contextmanager
def forced(backend: str) -> Iterator[None]:
    """Run what is called in a ``with`` block in one way."""
    os.environ["LANEWISE_BACKEND"] = backend
    yield
    del os.environ["LANEWISE_BACKEND"]


def of_program(program: Any, scale: float) -> list[Estimate]:
    """Measure a program at a scale of its linear sizes."""
    import lanewise as lw
    from lanewise.codegen import work
    from lanewise.codegen.kernel_cache import count_lines
    from lanewise.runtime.dispatch import observing
    from lanewise.runtime.few import estimate
    from lanewise.runtime.pool import get_threads

    args, found = program.inputs(scale), []

    def note(what: str, estimated: float, measured: float, **parts: float) -> None:
        found.append(Estimate(what, program.name, scale, estimated, measured, parts))

    with forced("interpret"):
        traced = lw.function(program.function)
        with observing() as programs:
            traced(*args)
        graph = programs[-1].executable.graph
        took = quickest(lambda: traced(*args))
        note(NUMPY, work.interpreting(graph, {}), took, **numpy_parts(graph))
    with forced("native"):
        traced = lw.function(program.function)
        with compile_time() as seconds, observing() as programs:
            traced(*args)
        executable = programs[-1].executable
        if executable.native is None:
            return found
        lines = count_lines(executable.settled.graph)
        note(BEFORE, work.compiling(graph), sum(seconds))
        note(WRITTEN, work.compiling(graph, lines), sum(seconds), lines=lines)
        took = quickest(lambda: traced(*args))
        note(KERNELS, estimate(executable.settled.graph, {}, get_threads()), took)
    return found


@contextmanager
def compile_time() -> Iterator[list[float]]:
    """Give a list that has the nanoseconds, of processor time, of all compiling in the block."""
    from lanewise.codegen import llvm
    from lanewise.runtime import compiler

    found: list[float] = []
    kept = llvm._made, compiler.native_graph

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            start = time.process_time_ns()
            try:
                return function(*args)
            finally:
                found.append(time.process_time_ns() - start)

        return call

    llvm._made, compiler.native_graph = map(timed, kept)
    try:
        yield found
    finally:
        llvm._made, compiler.native_graph = kept


# --- fitting --------------------------------------------------------------------------------------


def constants() -> dict[str, tuple[dict[Any, float], Any]]:
    """Return where the constants of what NumPy takes stand: a table for each, and its key there."""
    from lanewise.codegen import work

    single = ("CALL_NS", "VIEW_NS", "NUMBER_NS", "BYTE_NS", "MEMORY_BYTE_NS", "PRODUCT_NS")
    found: dict[str, tuple[dict[Any, float], Any]] = {name: (vars(work), name) for name in single}
    for name in ("CALL_NS_OF", "BYTE_NS_OF"):
        table = getattr(work, name)
        found |= {f"{name}[{kind.name}]": (table, kind) for kind in table}
    return found


def numpy_parts(graph: Any) -> dict[str, float]:
    """Return how often each constant is in what NumPy is estimated to take for a graph.

    The estimate is a sum of them, but for two that are the larger of two terms.
    """
    from lanewise.codegen import work

    places = constants()
    kept = {name: table[key] for name, (table, key) in places.items()}
    try:
        for table, key in places.values():
            table[key] = 0.0
        parts = {"": work.interpreting(graph, {})}
        for name, (table, key) in places.items():
            table[key] = 1.0
            parts[name] = work.interpreting(graph, {}) - parts[""]
            table[key] = 0.0
    finally:
        for name, (table, key) in places.items():
            table[key] = kept[name]
    return parts


def fit(rows: Sequence[Estimate]) -> dict[str, float]:
    """Return the constants with which the logarithms of estimates are nearest to those of times."""
    import numpy as np
    from scipy.optimize import least_squares

    places = constants()
    start = np.log([table[key] for table, key in places.values()])
    parts = np.array([[row.parts[name] for name in places] for row in rows])
    fixed = np.array([row.parts[""] for row in rows])
    measured = np.log([row.measured for row in rows])

    def errors(logarithms: Any) -> Any:
        estimated = fixed + parts @ np.exp(logarithms)
        # What few programs tell of stays about what it is.
        return np.concatenate([np.log(estimated + 1) - measured, 0.15 * (logarithms - start)])

    found = least_squares(errors, start, loss="soft_l1", f_scale=0.2)
    return dict(zip(places, np.exp(found.x).tolist(), strict=True))


# --- the command ----------------------------------------------------------------------------------


def summary(rows: Sequence[Estimate]) -> str:
    """Return the errors of all estimates as a table in Markdown."""
    from benchmarks.suite.report import table

    lines = []
    for what in (NUMPY, BEFORE, WRITTEN, KERNELS):
        found = sorted([row for row in rows if row.what == what], key=lambda row: row.error)
        if found:
            worst, middle = found[-1], statistics.median([row.error for row in found])
            tenth = found[min(math.ceil(0.9 * len(found)), len(found) - 1)]
            place = f"{worst.error:.1f} ({worst.program} at {worst.scale:g})"
            lines.append([what, str(len(found)), f"{middle:.2f}", f"{tenth.error:.1f}", place])
    return table(["estimate of", "measured", "median", "of ten nine are within", "worst"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimates", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="NAME", help="only these programs")
    parser.add_argument("--scale", type=float, nargs="+", default=[0.1, 0.3], help="linear sizes")
    parser.add_argument("--fit", action="store_true", help="print the constants that would suit")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    os.environ |= {"LANEWISE_CACHE": "0", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from benchmarks.programs import programs
    from benchmarks.suite.report import machine, write_section

    chosen = [p for p in programs() if not options.only or p.name in options.only]
    rows: list[Estimate] = []
    for scale in options.scale:
        for program in chosen:
            found = of_program(program, scale)
            told = (f"{row.what} {row.estimated / row.measured:.2f}" for row in found)
            print(f"{program.name} at {scale:g}: {', '.join(told)}", flush=True)
            rows += found
    print(f"\n{summary(rows)}")
    if options.fit:
        for name, value in fit([row for row in rows if row.what == NUMPY]).items():
            print(f"{name} = {value:.3g}")
    if options.write:
        sizes = " and ".join([f"{scale:g}" for scale in options.scale])
        text = f"{machine()}. Programs at {sizes} of their linear sizes.\n\n{summary(rows)}\n"
        write_section(DOCS / "benchmarks.md", text, BEGIN, END)


if __name__ == "__main__":
    main()
