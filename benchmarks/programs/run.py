"""Timing of the programs: NumPy, Lanewise and Numba in turns, warm, every result checked."""

from __future__ import annotations

import gc
import importlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lanewise as lw
from benchmarks.programs import Program
from benchmarks.suite.measure import Contender, Plan, Timing, seconds, take_turns
from benchmarks.suite.peers import PEERS
from benchmarks.suite.report import milliseconds, table

NUMPY, LANEWISE = "NumPy", "Lanewise"
ROOT = Path(__file__).parents[2]
#: How Numba is asked, each measured; the table has the faster one.
NUMBA = {
    "njit(parallel=True, fastmath=True)": {"parallel": True, "fastmath": True},
    "njit": {},
}
#: One of these that takes so many times as long as the other is not asked again.
MUCH = 3.0
#: Seconds of calls for which Lanewise may still compile: it does so when calls have taken as long.
PATIENCE = 4.0
#: It is waited for while it takes more of NumPy's time than this.
AHEAD = 0.8
#: Calls that take longer are not repeated to find what the first one took for compiling.
LONG = 2.0


@dataclass
class Row:
    """What was measured of one program.

    Attributes
    ----------
    timings
        By system, or by how Numba was asked.
    missing
        Why it was not measured, where it was not.
    """

    program: Program
    timings: dict[str, Timing] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def numba(self) -> str | None:
        """How Numba was fastest, if at all."""
        found = [name for name in NUMBA if name in self.timings]
        return min(found, key=lambda name: self.timings[name].lowest, default=None)

    def ratio(self, name: str | None) -> float | None:
        """Return how many times as long as Lanewise another took."""
        if name is None or name not in self.timings:
            return None
        return self.timings[name].lowest / self.timings[LANEWISE].lowest


def measure(program: Program, plan: Plan, scale: float = 1.0) -> Row:
    """Measure one program.

    Parameters
    ----------
    program
        What to measure.
    plan
        How thoroughly.
    scale
        Of linear sizes; 1 is that of the table.

    Returns
    -------
    Row
        The times of all, each after a check of its results against NumPy's.

    Raises
    ------
    AssertionError
        If a result of Lanewise is not NumPy's. Numba's is noted in the row instead.
    """
    row = Row(program)
    args = program.inputs(scale)
    expected = program.function(*args)
    contenders = [_contender(NUMPY, program.function, args, row)[0]]
    function, plain = lw.function(program.function), contenders[0].steady
    ours, found = _contender(LANEWISE, function, args, row, plain)
    program.check(found, expected)
    contenders.append(ours)
    for name, options in NUMBA.items():
        if reason := _absent(program):
            row.missing[name] = reason
            continue
        try:
            contender, found = _contender(name, _compiled(program, options), args, row)
            program.check(found, expected)
        except Exception as error:  # a peer's failure is a fact to show, not the end of the run
            row.timings.pop(name, None)
            told = str(error).replace(f"{ROOT}{os.sep}", "")  # paths as in the repository
            lines = [line.strip() for line in told.splitlines() if line.strip()]
            row.missing[name] = f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]
            continue
        contenders.append(contender)
    slow = _slow([contender for contender in contenders if contender.name in NUMBA])
    for contender in slow:
        contender.timing.turns.append(1e3 * contender.steady)
    contenders = [contender for contender in contenders if contender not in slow]
    gc.collect()
    gc.disable()
    try:
        take_turns(contenders, plan)
    finally:
        gc.enable()
    return row


def _slow(contenders: Sequence[Contender]) -> list[Contender]:
    """Return those that are out of the race: much slower than the best."""
    best = min([contender.steady for contender in contenders], default=0.0)
    return [contender for contender in contenders if contender.steady > MUCH * best]


def _absent(program: Program) -> str | None:
    """Return why Numba has no part in it; None if it has."""
    if program.for_numba is None:
        return program.note
    return PEERS["numba"].absent()


def _compiled(program: Program, options: dict[str, Any]) -> Callable[..., Any]:
    numba = importlib.import_module("numba")  # an extra, which need not be there
    assert program.for_numba is not None
    if hasattr(program.module, "prange"):
        setattr(program.module, "prange", numba.prange)  # noqa: B010  (a module of any kind)
    compiled = numba.njit(**options)(program.for_numba)

    def call(*args: Any) -> Any:
        with warnings.catch_warnings():  # that nothing was parallel, or an array not contiguous
            warnings.simplefilter("ignore")
            return compiled(*args)

    # The checks of the first call are left out of later ones.
    return lambda *args: compiled(*args) if compiled.signatures else call(*args)


def _contender(
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    row: Row,
    plain: float = math.inf,
) -> tuple[Contender, Any]:
    """Return a function ready to be timed, and its result.

    What compiles when calls have taken `plain` seconds often enough is waited for.
    """

    def call() -> Any:
        return function(*args)

    start = time.perf_counter()
    result = call()
    first = time.perf_counter() - start
    later = [seconds(call) for _ in range(2)] if first < LONG else [seconds(call)]
    end = time.perf_counter() + PATIENCE
    while min(later[-2:]) > AHEAD * plain and time.perf_counter() < end:
        later.append(seconds(call))
    steady = min(first, *later)
    timing = row.timings[name] = Timing(1e3 * (max(first, *later) - steady), 1)
    return Contender(name, call, timing, steady=steady), result


def geometric_mean(ratios: Iterable[float | None]) -> tuple[float, int]:
    """Return the geometric mean of what is known of some ratios, and of how many that is.

    Examples
    --------
    >>> geometric_mean([2.0, None, 8.0])
    (4.0, 2)
    """
    known = [ratio for ratio in ratios if ratio is not None]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else math.nan, len(known)


def ratios(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Return how many times as long as Lanewise the others took, by program."""
    return {
        row.program.name: {
            title: found
            for title, name in ((NUMPY, NUMPY), ("Numba", row.numba))
            if (found := row.ratio(name)) is not None
        }
        for row in rows
    }


def report(rows: Sequence[Row]) -> str:
    """Return the tables and notes in Markdown."""
    lines = []
    for row in rows:
        numba = row.numba
        first = [row.timings[name].first for name in (LANEWISE, numba) if name is not None]
        ratios = [row.ratio(NUMPY), row.ratio(numba)]
        lines.append(
            [
                row.program.title + (" †" if row.program.note else ""),
                milliseconds(row.timings[NUMPY].lowest),
                milliseconds(row.timings[LANEWISE].lowest),
                "" if numba is None else milliseconds(row.timings[numba].lowest),
                *["" if ratio is None else f"{ratio:.2f}" for ratio in ratios],
                " / ".join([f"{value:,.0f}" for value in first]),
            ]
        )
    header = ["program", "NumPy", "Lanewise", "Numba", "NumPy / Lanewise", "Numba / Lanewise"]
    parts = [table([*header, "first calls"], lines)]
    against = {NUMPY: NUMPY, "Numba": None}
    means = []
    for title, name in against.items():
        mean, count = geometric_mean([row.ratio(name or row.numba) for row in rows])
        if count:
            means.append(f"{mean:.2f} of {title}'s ({count} programs)")
    parts.append(f"Geometric means of the times over Lanewise's: {', '.join(means)}.")
    parts.append("\n".join(f"* {note}" for note in _notes(rows)))
    return "\n\n".join(part for part in parts if part)


def _notes(rows: Sequence[Row]) -> list[str]:
    """Return what Numba got other than the program, and what it could not do."""
    found = [
        f"† {row.program.name}, Numba: {row.program.note}." for row in rows if row.program.note
    ]
    plain = [row.program.name for row in rows if row.numba == "njit"]
    if plain:
        found.append(f"Numba is fastest without `parallel` and `fastmath` on {', '.join(plain)}.")
    for row in rows:
        for name, reason in row.missing.items():
            if reason != row.program.note:
                found.append(f"{row.program.name}, `{name}`: {reason}.")
    return found
