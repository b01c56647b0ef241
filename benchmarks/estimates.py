"""How well estimates tell what NumPy, the compiler and kernels take: what decides tiers and plans.

``python -m benchmarks.estimates`` measures the programs of `benchmarks.programs` and the workloads
of `benchmarks.suite` interpreted, compiled, and while they are compiled, and prints what was
estimated beside it; ``--write`` writes the summary to docs/benchmarks.md. ``--fit`` prints the
constants of `lanewise.codegen.work` that would suit what NumPy takes for these programs best, and
the prices of `lanewise.codegen.prices` that suit kernels of other programs best: those that
`benchmarks.cliffs` draws, so that the errors of kernels are told of programs that no price was
fitted on. BLAS runs on one thread, as the time that its threads wait for each other is not what is
estimated.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
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
    return of_function(program.name, program.function, program.inputs(scale), scale)


def of_workload(workload: Any, scale: float) -> list[Estimate]:
    """Measure a workload of the suite on a part of its examples."""
    args = workload.inputs(max(round(scale * workload.size), 1))
    return of_function(f"suite/{workload.name}", workload.batch(), args, scale)


def of_function(
    name: str, function: Callable[..., Any], args: Sequence[Any], scale: float
) -> list[Estimate]:
    """Measure a function on some arguments."""
    import lanewise as lw
    from lanewise.codegen import work
    from lanewise.runtime.dispatch import observing
    from lanewise.runtime.few import estimate
    from lanewise.runtime.pool import get_threads

    found: list[Estimate] = []

    def note(what: str, estimated: float, measured: float, **parts: float) -> None:
        found.append(Estimate(what, name, scale, estimated, measured, parts))

    with forced("interpret"):
        traced = lw.function(function)
        with observing() as programs:
            traced(*args)
        graph = programs[-1].executable.graph
        took = quickest(lambda: traced(*args))
        note(NUMPY, work.interpreting(graph, {}), took, **numpy_parts(graph))
    with forced("native"):
        traced = lw.function(function)
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


def count_lines(graph: Any) -> int:
    """Return how many lines the kernels of a graph have, which are written for that."""
    from lanewise.codegen.kernel_cache import kernel_for
    from lanewise.ops.regions import NATIVE

    lines = 0
    for op in graph.operations:
        if op.params.get("order") == NATIVE:
            kernel = kernel_for(op.regions[0], op.params["in_dims"], op.params["fastmath"])
            lines += kernel.text.count("\n")
        else:
            lines += sum(map(count_lines, op.regions))
    return lines


@contextmanager
def compile_time() -> Iterator[list[float]]:
    """Give a list that has the nanoseconds, of processor time, of all compiling in the block."""
    from lanewise.codegen import llvm
    from lanewise.runtime import few

    found: list[float] = []
    kept = llvm._made, few.native_graph

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            start = time.process_time_ns()
            try:
                return function(*args)
            finally:
                found.append(time.process_time_ns() - start)

        return call

    llvm._made, few.native_graph = map(timed, kept)
    try:
        yield found
    finally:
        llvm._made, few.native_graph = kept


# --- fitting --------------------------------------------------------------------------------------


def constants() -> dict[str, tuple[dict[Any, float], Any]]:
    """Return where the constants of what NumPy takes stand: a table for each, and its key there."""
    from lanewise.codegen import work

    single = "CALL_NS VIEW_NS NUMBER_NS BYTE_NS MEMORY_BYTE_NS SHARED_BYTE_NS PRODUCT_NS"
    single = f"{single} ROW_NS MATRIX_NS".split()
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
        return np.concatenate([np.log(estimated + 1) - measured, 0.5 * (logarithms - start)])

    found = least_squares(errors, start, loss="soft_l1", f_scale=0.2)
    return dict(zip(places, np.exp(found.x).tolist(), strict=True))


# --- fitting prices of kernels -------------------------------------------------------------------

#: A kernel's region and how it is called, and the nanoseconds that a call takes.
Measured = tuple[tuple[Any, ...], float]
#: Shorter calls tell more of what the call takes than of the kernel.
SHORTEST = 5_000.0


def kernels_of(function: Callable[..., Any], args: Sequence[Any]) -> list[Measured]:
    """Measure the kernels of a function."""
    import lanewise as lw
    from lanewise.codegen import costs

    kept, asked = costs.of_kernel, {}

    def noted(*given: Any) -> Any:
        cost = kept(*given)
        asked[id(cost)] = given, cost
        return cost

    costs.of_kernel = noted
    try:
        with forced("native"), redirect_stdout(StringIO()):
            seen = lw.profile(lw.function(function))(*args)
    finally:
        costs.of_kernel = kept
    return [
        (asked[id(kernel.cost)][0], 1e9 * kernel.running / kernel.calls)
        for kernel in seen.kernels
        if kernel.cost is not None and kernel.running and kernel.calls
    ]


def of_cliffs(count: int, seed: str = "fit") -> Iterator[Measured]:
    """Measure the kernels of so many drawn programs."""
    import lanewise as lw
    from benchmarks.cliffs.forms import program
    from benchmarks.cliffs.measure import MODES, batch_of, function_of

    for number in range(count):
        name, drawn = program(f"{seed}:{number}")
        function, args = function_of(drawn.source, f"{name} {seed}:{number}"), drawn.arguments
        if examples := list(MODES.values())[number % len(MODES)]:
            function, args = lw.vmap(function), batch_of(drawn, min(examples, 64))
        for row in kernels_of(function, args):
            if row[1] >= SHORTEST:
                yield row


def fit_prices(rows: Sequence[Measured]) -> dict[str, float]:
    """Return the prices with which the logarithms of costs are nearest to those of times."""
    import numpy as np
    from scipy.optimize import least_squares

    from lanewise.codegen import costs
    from lanewise.codegen.prices import PRICES

    kept = {name: getattr(PRICES, name) for name in PRICES.__slots__}
    start = np.log([*kept.values()])
    measured = np.log([took for _, took in rows])

    def errors(logarithms: Any) -> Any:
        for name, value in zip(kept, np.exp(logarithms).tolist(), strict=True):
            setattr(PRICES, name, value)
        estimated = np.log([costs.of_kernel(*given).total for given, _ in rows])
        return np.concatenate([estimated - measured, 0.5 * (logarithms - start)])

    try:
        found = least_squares(errors, start, loss="soft_l1", f_scale=0.1, diff_step=0.01)
    finally:
        for name, value in kept.items():
            setattr(PRICES, name, value)
    return dict(zip(kept, np.exp(found.x).tolist(), strict=True))


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
    parser.add_argument(
        "--fit",
        type=int,
        metavar="N",
        nargs="?",
        const=120,
        default=0,
        help="print the constants that would suit: those of kernels on N others",
    )
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    os.environ |= {"LANEWISE_CACHE": "0", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from benchmarks.programs import programs
    from benchmarks.suite.report import machine, write_section
    from benchmarks.suite.workloads import workloads

    measures = [(p.name, of_program, p) for p in programs()]
    measures += [(w.name, of_workload, w) for w in workloads() if w.mapped is None]
    rows: list[Estimate] = []
    for scale in options.scale:
        for name, measure, what in measures:
            if options.only and name not in options.only:
                continue
            found = measure(what, scale)
            told = (f"{row.what} {row.estimated / row.measured:.2f}" for row in found)
            print(f"{name} at {scale:g}: {', '.join(told)}", flush=True)
            rows += found
    print(f"\n{summary(rows)}")
    if options.fit:
        for name, value in fit([row for row in rows if row.what == NUMPY]).items():
            print(f"{name} = {value:.3g}")
        for name, value in fit_prices(list(of_cliffs(options.fit))).items():
            print(f"{name}: float = {value:.3g}")
    if options.write:
        sizes = " and ".join([f"{scale:g}" for scale in options.scale])
        text = (
            f"{machine()}. Programs at {sizes} of their linear sizes, workloads of the suite with "
        )
        text += f"as many of their examples.\n\n{summary(rows)}\n"
        write_section(DOCS / "benchmarks.md", text, BEGIN, END)


if __name__ == "__main__":
    main()
