"""From a recorded map to arrays: find its executable, run it, own the results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any

import numpy as np

from lanewise.ir.graph import Graph
from lanewise.passes.survive import INTERNAL, is_raising, survives
from lanewise.runtime.diagnose import explain_failure
from lanewise.runtime.failed import KernelFailed, NotCompiled, left
from lanewise.runtime.interpret import Plainly, Plan
from lanewise.runtime.owning import own
from lanewise.runtime.tiers import INTERPRET, Choice, Executable, is_strict

#: How many executables are kept; the oldest goes first.
CACHE_SIZE = 1024

#: Why a call is interpreted that a kernel began, though none of its examples raises.
CAUTIOUS = (
    "a kernel began it and left it to NumPy, as many examples hold what is NumPy's to decide, "
    "such as matrices that may be singular"
)

_cache: dict[Any, Executable] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Program:
    """A graph that was run, the sizes of its dimensions in that run, and what runs next."""

    executable: Executable
    sizes: dict[str, int]
    #: What the next such call would run.
    choice: Choice
    #: Which they were; see `whereabouts`.
    arguments: tuple[Hashable, ...] = ()

    @property
    def graph(self) -> Graph:
        """As it was recorded."""
        return self.executable.graph


def whereabouts(x: Any) -> Hashable:
    """Return what tells an array from others that live, or a number from others.

    None for what is neither.
    """
    if isinstance(x, (bool, int, float, complex, np.generic)):
        x = np.asarray(x)
    elif not isinstance(x, np.ndarray):
        return None
    return id(x) if x.ndim else (x.dtype.str, x.tobytes())


#: What measures programs as they run: see `lanewise.inspect.profile`. It returns the plan to run in
#: place of that of an executable, with a clock that it has started. It is told the sizes, when the
#: executable was asked for its plan, and for how many nanoseconds.
Measure = Callable[[Executable, Plan, dict[str, int], int, int], Plan]


class _Observed(threading.local):
    programs: list[Program] | None = None
    measure: Measure | None = None


_observed = _Observed()


@contextmanager
def observing(measure: Measure | None = None) -> Generator[list[Program]]:
    """Collect the programs that this thread runs, while the ``with`` block lasts.

    ``measure`` chooses the plans that run, which read a clock.
    """
    before = _observed.programs, _observed.measure
    _observed.programs = programs = []
    _observed.measure = measure
    try:
        yield programs
    finally:
        _observed.programs, _observed.measure = before


def is_observed() -> bool:
    """Whether this thread collects the programs that it runs."""
    return _observed.programs is not None


def compile(graph: Graph) -> Executable:
    """Return the executable of a graph without looking at the cache."""
    return Executable(graph)


def held() -> int:
    """Return how many executables are kept to run again."""
    return len(_cache)


def forget() -> None:
    """Keep no executable any longer."""
    with _lock:
        _cache.clear()


def execute(key: Any, program: Callable[[], Graph], arguments: Sequence[Any]) -> list[Any]:
    """Run a graph on its arguments (None for a token), and return its outputs as NumPy gives them.

    The key is all that decides the meaning of the graph, which ``program`` makes when there is no
    executable yet; None to keep none. (A graph with host code is not kept: it would keep that code,
    and what it refers to, alive.)
    """
    return _run(executable_of(key, program), arguments)[0]


def executable_of(key: Any, program: Callable[[], Graph]) -> Executable:
    """Return the executable of a key, which is that of a graph where there is none yet."""
    executable = None if key is None else _cache.get(key)
    if executable is None:
        executable = compile(program())
        if key is not None:
            with _lock:
                _cache[key] = executable
                if len(_cache) > CACHE_SIZE:
                    _cache.pop(next(iter(_cache)))
    return executable


def run(executable: Executable, arguments: Sequence[Any]) -> list[Any]:
    """Run an executable on its arguments, as `execute` does once it has it; own what it gives.

    Once it is settled how it runs, that goes without further ado.
    """
    plan = executable.kept
    if plan is not None and _observed.programs is None and not is_strict():
        try:
            outputs = plan(*arguments)
        except Exception as error:
            if plan.has_written(error):
                raise  # else it is done again, which says what failed
        else:
            return outputs if plan.is_fresh else own(outputs, arguments, plan.lent.values())
    outputs, is_fresh = _run(executable, arguments)
    if not executable.graph.has_effects:  # host code must not run twice
        executable.kept = executable.settled
    return outputs if is_fresh else own(outputs, arguments, executable.lent.values())


def _run(executable: Executable, arguments: Sequence[Any]) -> tuple[list[Any], bool]:
    """Return the outputs of an executable, and whether all of them are arrays of their own."""
    plan: Plan | None = None
    try:
        programs = _observed.programs
        if programs is not None:
            plan = _observed_plan(programs, executable, arguments)
            outputs = plan(*arguments)
            _note_left(programs)
            return outputs, plan.is_fresh
        plan = executable.plan(arguments)
        start = perf_counter_ns()
        outputs = plan(*arguments)
        if executable.is_waiting:
            executable.note_run(perf_counter_ns() - start)
        return outputs, plan.is_fresh
    except Exception as error:
        if plan is not None and plan.has_written(error):
            raise
        found = _explained(error, executable, arguments)
        if found is error and not isinstance(error, KernelFailed):
            outputs = _survived(error, executable, arguments)
            if outputs is None:
                raise
            return outputs, False
    if isinstance(found, KernelFailed):  # kernels are more cautious than need be
        del found  # its traceback holds this frame
        if _observed.programs is not None:
            last = _observed.programs[-1]
            _observed.programs[-1] = replace(last, choice=Choice(INTERPRET, CAUTIOUS))
        return _interpret(executable, arguments), False
    try:
        raise found from found.__cause__
    finally:
        del found


def _explained(error: Exception, executable: Executable, arguments: Sequence[Any]) -> Exception:
    """Return the error of the first failing example, or `error` itself if there is none."""
    if isinstance(error, NotCompiled):
        executable.give_up(error.reason)
    if isinstance(error, KernelFailed) and error.first is None:
        return error
    graph = executable.graph
    try:
        return explain_failure(error, graph, arguments, executable.failing(error))
    except Exception as other:
        if not survives(other, "looking for the example that fails", graph):
            raise
        return error


def _survived(
    error: Exception, executable: Executable, arguments: Sequence[Any]
) -> list[Any] | None:
    """Return the results where a run raised what no example raises; None if they raise, too."""
    graph = executable.graph
    if graph.has_effects or isinstance(error, MemoryError) or is_raising():
        return None
    plan = Plainly(graph)
    try:
        outputs = plan(*arguments)
    except Exception:
        return None
    if not survives(error, "running", graph):
        return None
    executable.give_up(f"{INTERNAL} in running", plan)
    return outputs


def _observed_plan(
    programs: list[Program], executable: Executable, arguments: Sequence[Any]
) -> Plan:
    """Return the plan to run on some arguments, and note what is about to run."""
    start = perf_counter_ns()
    plan = executable.plan(arguments)
    took = perf_counter_ns() - start
    sizes = executable.sizes(arguments)
    choice = executable.choice(sizes)
    programs.append(Program(executable, sizes, choice, tuple(map(whereabouts, arguments))))
    left.examples = 0
    measure = _observed.measure
    return plan if measure is None else measure(executable, plan, sizes, start, took)


def _note_left(programs: list[Program]) -> None:
    """Note how many examples the kernels of the last program have left to NumPy."""
    if left.examples:
        last = programs[-1].choice
        many = f"{left.examples:,} example{'s' * (left.examples > 1)}"
        told = replace(last, reason=f"{last.reason}; kernels left {many} of it to NumPy")
        programs[-1] = replace(programs[-1], choice=told)


def _interpret(executable: Executable, arguments: Sequence[Any]) -> list[Any]:
    """Run a graph without kernels."""
    plan, measure = executable.interpreter.plan(arguments), _observed.measure
    if measure is not None:
        sizes = executable.sizes(arguments)
        plan = measure(executable, plan, sizes, perf_counter_ns(), 0)
    try:
        return plan(*arguments)
    except Exception as error:
        if plan.has_written(error):
            raise
        found = explain_failure(error, executable.graph, arguments)
    try:
        raise found from found.__cause__
    finally:
        del found
