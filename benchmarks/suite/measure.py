"""Timing: all systems in turns in one process, warm, on both cores, every result checked.

A call is timed from arguments in the system's own arrays to a result that is computed, and its
result is given back before the next call, as in ``y = f(x)`` in a loop. Compilation is outside of
it, and shown as what the first call takes longer than a later one.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import lanewise as lw
from benchmarks.suite.peers import PEERS
from benchmarks.suite.workload import Workload

#: Compiled by `lw.function`, as the peers are by their own; and recorded anew at each call.
LANEWISE, RECORDED = "lanewise", "lanewise.vmap"

#: A system that would take longer for a call is measured on fewer examples.
LONGEST_CALL = 20.0


@dataclass(frozen=True)
class Plan:
    """How thoroughly to measure.

    Parameters
    ----------
    rounds
        How often each system gets its turn.
    seconds
        How long the turns of one system take together, at most, after the first three.
    turn
        The seconds of a turn; quick calls are repeated to fill it.
    shrink
        By how much the batches are smaller than the table says.
    """

    rounds: int = 9
    seconds: float = 4.0
    turn: float = 0.03
    shrink: int = 1


@dataclass
class Timing:
    """What a system took, in milliseconds for a batch of the full size.

    Parameters
    ----------
    first
        What the first call (or the second) took longer than a steady one: compilation.
    examples
        How many examples it was measured on.
    factor
        What the times were multiplied by, if on fewer than the others.
    turns
        The milliseconds of a call, in the mean over each turn.
    """

    first: float
    examples: int
    factor: float = 1.0
    turns: list[float] = field(default_factory=list)

    @property
    def lowest(self) -> float:
        """The milliseconds of the fastest turn: what the machine's other users disturbed least."""
        return min(self.turns) * self.factor

    @property
    def median(self) -> float:
        """The milliseconds of the median turn."""
        return statistics.median(self.turns) * self.factor


@dataclass
class Row:
    """The measurements of one workload.

    Parameters
    ----------
    workload
        What was measured.
    timings
        For each system that was measured its times.
    missing
        For each that was not, why.
    memory
        The mebibytes of a steady call of Lanewise beyond its arguments and results, if measured.
    """

    workload: Workload
    timings: dict[str, Timing] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    memory: float | None = None


@dataclass
class Contender:
    """A system ready to be timed on one workload."""

    name: str
    call: Callable[[], Any]
    timing: Timing
    repeats: int = 1
    steady: float = 0.0


def seconds(call: Callable[[], Any], repeats: int = 1) -> float:
    """Return the seconds of a call, the release of its result included."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def maker(workload: Workload, name: str) -> Callable[..., Callable[[], Any]]:
    """Return what makes the timed call of a system from arguments."""
    if name == LANEWISE:
        return workload.call
    if name == RECORDED:
        return workload.recorded
    peer = PEERS[name]
    place = workload.place.get(name, peer.place)
    compiled: list[Callable[..., Any]] = []

    def make(args: tuple[np.ndarray, ...]) -> Callable[[], Any]:
        placed = place(args)
        bound: list[Callable[[], Any]] = []
        if peer.by_size:
            compiled.clear()

        def call() -> Any:
            if not bound:  # in the first call, as some compile when the function is defined
                if not compiled:
                    compiled.append(peer.compile(workload.peers[name]()))
                bound.append(peer.bind(compiled[0], placed))
            return bound[0]()

        return call

    return make


def prepare(workload: Workload, name: str, examples: int) -> tuple[Contender, Any, Any]:
    """Compile a system and find how many examples it gets.

    Parameters
    ----------
    workload
        What to measure.
    name
        The system.
    examples
        How many the other systems get.

    Returns
    -------
    tuple
        The contender, its arguments and its result.
    """
    make = maker(workload, name)
    compiling, count = 0.0, max(1, min(examples, max(workload.small, examples // 64)))
    while True:
        args = workload.inputs(count)
        call = make(args)
        start = time.perf_counter()
        result = call()
        first = time.perf_counter() - start
        # Some compile when they are called again; what takes too long is not called just for that.
        more = [seconds(call) for _ in range(2) if first < LONGEST_CALL]
        steady = min([first, *more])
        compiling = max([compiling, *(taken - steady for taken in (first, *more[:1]))])
        full = steady * examples / count
        if count == examples or (full > LONGEST_CALL and steady > LONGEST_CALL / 8):
            timing = Timing(1e3 * compiling, count, examples / count)
            return Contender(name, call, timing, steady=steady), args, result
        count = examples if full <= LONGEST_CALL else min(examples, 4 * count)


def take_turns(contenders: Iterable[Contender], plan: Plan) -> None:
    """Time contenders round by round, so that a busy machine hits all alike."""
    contenders = list(contenders)
    for contender in contenders:
        contender.repeats = max(1, math.floor(plan.turn / max(contender.steady, 1e-7)))
    for turn in range(plan.rounds):
        for contender in contenders:
            spent = sum(contender.timing.turns) / 1e3 * contender.repeats
            is_enough = spent > plan.seconds and turn >= 3
            if is_enough or (turn and contender.steady > LONGEST_CALL / 4):
                continue
            if contender.steady < 0.2:
                contender.call()  # wakes its threads, and fetches its data and code
            contender.timing.turns.append(1e3 * seconds(contender.call, contender.repeats))


def measure(workload: Workload, systems: Iterable[str], plan: Plan) -> Row:
    """Measure one workload.

    Parameters
    ----------
    workload
        What to measure.
    systems
        The names of the peers to compare with; those without a version of it are left out.
    plan
        How thoroughly.

    Returns
    -------
    Row
        The times of all, each after a check of its results against NumPy's.

    Raises
    ------
    AssertionError
        If a result of Lanewise is not NumPy's. A peer's is noted in the row instead.
    """
    row = Row(workload)
    examples = max(min(workload.small, workload.size), workload.size // plan.shrink)
    contenders, exact, exact_args = [], None, None
    own = (LANEWISE,) if workload.mapped else (LANEWISE, RECORDED)
    for name in (*own, *(name for name in systems if name in workload.peers)):
        if name in PEERS and (reason := PEERS[name].absent()):
            row.missing[name] = reason
            continue
        try:
            contender, args, result = prepare(workload, name, examples)
            # Of the same examples, all are compared; else those that the plain function computes.
            same = exact_args is not None and args[0].shape == exact_args[0].shape
            workload.check(result, args, exact if same else None)
        except Exception as error:  # a peer's failure is a fact to show, not the end of the run
            if name in own:
                raise
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            row.missing[name] = f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]
            continue
        if name == LANEWISE:
            exact, exact_args = result, args
        contenders.append(contender)
        row.timings[name] = contender.timing
        del result, args
    del exact, exact_args
    gc.collect()
    gc.disable()
    try:
        take_turns(contenders, plan)
    finally:
        gc.enable()
    return row


def warm_up(systems: Iterable[str]) -> None:
    """Let each system load what only the very first compilation of a process needs."""
    zeros = np.zeros((64, 2))
    before = os.environ.get("LANEWISE_BACKEND")
    os.environ["LANEWISE_BACKEND"] = "native"
    lw.vmap(lambda x: (x * 2.0).sum())(zeros)
    del os.environ["LANEWISE_BACKEND"]
    if before is not None:
        os.environ["LANEWISE_BACKEND"] = before
    for name in systems:
        if name == "numba":
            import numba

            @numba.njit(parallel=True)
            def batch(x):
                out = np.empty(len(x))
                for i in numba.prange(len(x)):
                    out[i] = x[i, 0]
                return out

            batch(zeros)
        elif name not in ("guvectorize", "jax.vmap"):
            peer = PEERS[name]
            peer.bind(peer.compile(lambda x: x + 1.0), peer.place((zeros[:, 0].copy(),)))()
