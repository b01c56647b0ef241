"""`profile`: how long each kernel, each operation and each line takes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any, SupportsIndex

from lanewise.errors import function_name
from lanewise.inspect.explain import (
    Explanation,
    check_callable,
    code_of_call,
    examples_of,
    merged,
    name_of_call,
    native_graph,
    traces,
    view_of,
)
from lanewise.inspect.findings import Parts, ProgramView
from lanewise.inspect.kernels import KernelView, Left
from lanewise.inspect.names import Names
from lanewise.inspect.rows import Row, Walker, name_of
from lanewise.ir.graph import Graph, Operation
from lanewise.ops.regions import map_
from lanewise.passes.batches import has_kernels
from lanewise.runtime.clock import Clock, Time, cost_of_reading
from lanewise.runtime.dispatch import Program, observing
from lanewise.runtime.interpret import Plan
from lanewise.runtime.tiers import Executable
from lanewise.trace.trace import state

#: Without `repeat`, measuring goes on for about so many seconds, and so many rounds at most.
SECONDS, MOST = 0.5, 10


class Profile(Explanation):
    """What `profile` found: an explanation of what ran, with the time that each part took.

    Rows and kernels have ``seconds`` (of kernels: ``running``) and ``calls``.

    Attributes
    ----------
    result
        What the function returned at its first call.
    seconds
        What a call takes: the least of several that were not measured from within.
    parts
        What that is made of.
    """

    def __init__(self, explanation: Explanation, parts: Parts, result: Any) -> None:
        self.__dict__.update(explanation.__dict__)
        self.parts = parts
        self.result = result

    @property
    def seconds(self) -> float:
        """What a call takes, in seconds."""
        assert self.parts is not None
        return self.parts.plain

    @property
    def accounted(self) -> float:
        """The share of a measured call that all but Python took: see `parts`."""
        assert self.parts is not None
        return 1 - self.parts.python / self.parts.total

    def __repr__(self) -> str:
        return f"<profile of {self.name}: {len(self.rows)} operations, {self.seconds:.3g} s>"


def profile(
    func: Callable[..., Any], *, repeat: SupportsIndex | None = None
) -> Callable[..., Profile]:
    """Return a function that calls `func` several times, and tells how long each part takes.

    The first call is a call like any other: it traces, plans and compiles what there is to compile.
    Then calls that are measured from within take turns with calls that are not. The times are those
    of the measured call that took least; a part is a kernel, or an operation that NumPy computes,
    and reading the clock is taken off. Planning and tracing are told apart; what is left is Python:
    what is not traced, looking up what was recorded, arguments and results.

    Parameters
    ----------
    func : callable
        What `lanewise.vmap`, `lanewise.function`, `lanewise.grad` and their like returned, or any
        function that uses them while it runs.
    repeat : int, optional
        How many rounds are measured, each of two calls. By default as many as half a second holds,
        from 1 to 10.

    Returns
    -------
    callable
        Takes the arguments of `func`, and returns a `Profile`: an `Explanation` with times, which
        has what `func` returned as ``result``. It is printed as well.

    Raises
    ------
    TypeError
        If `func` is not callable, or `repeat` no integer.
    ValueError
        If `repeat` is less than 1.
    Exception
        What the function raises.

    Notes
    -----
    The function is called ``2 * repeat + 2`` times, so its side effects happen as often; `explain`
    calls it once. What is told is of the calling thread. Operations that run eagerly, for a
    `GradientTape` outside of a trace, count as Python.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> seen = lw.profile(lw.vmap(lambda x: np.sin(x).sum()))(np.ones((1000, 50)))
    vmap of <lambda>: 1,000 examples, 2 operations ...
    >>> seen.result.shape, seen.seconds > 0, 0 < seen.accounted < 1
    ((1000,), True, True)
    """
    check_callable(func, "profile")
    rounds = None if repeat is None else operator.index(repeat)
    if rounds is not None and rounds < 1:
        raise ValueError(f"repeat must be at least 1, but is {rounds}")

    def profiled(*args: Any, **kwargs: Any) -> Profile:
        names = Names(func, args, kwargs)
        found = _profiled(func, rounds, lambda: func(*args, **kwargs), names)
        found.show()
        return found

    profiled.__name__ = f"profile of {function_name(func)}"
    return profiled


def _profiled(func: Any, repeat: int | None, call: Callable[[], Any], names: Names) -> Profile:
    start = perf_counter_ns()
    result = call()
    first = perf_counter_ns() - start
    measuring = _Measuring()
    _trial(measuring, call)  # what a plan does once is done here
    plain: list[int] = []
    trials: list[_Trial] = []
    end = perf_counter_ns() + SECONDS * 1e9
    for _ in range(MOST if repeat is None else repeat):
        start = perf_counter_ns()
        call()
        plain.append(perf_counter_ns() - start)
        trials.append(_trial(measuring, call))
        if repeat is None and perf_counter_ns() > end:
            break
    best = min(trials, key=lambda trial: trial.total)
    return _report(func, best, first / 1e9, min(plain) / 1e9, len(trials), result, names)


@dataclass(slots=True)
class _Measured:
    """A plan that reads a clock, and what is known of the graph that it runs."""

    plan: Plan
    clock: Clock
    lowered: Graph
    walker: Walker
    left: list[Left]
    is_native: bool


@dataclass(slots=True)
class _Trial:
    """One call that was measured, in nanoseconds."""

    total: float
    planning: int
    tracing: int
    programs: list[Program]
    runs: list[tuple[Executable, _Measured, list[Time]]]


class _Measuring:
    """Chooses the plans that run as an executable does, and gives them a clock."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Executable, Plan, _Measured]] = {}
        self.reading = cost_of_reading()
        self.reset()

    def reset(self) -> None:
        """Forget what was measured."""
        for *_, measured in self._known.values():
            measured.clock.reset()
        self.planning = 0
        self.tracing = 0
        self.excluded = 0

    def __call__(
        self, executable: Executable, plan: Plan, sizes: dict[str, int], start: int, planning: int
    ) -> Plan:
        """Return a plan with a clock that is started, in place of one that has none."""
        key = id(executable), id(plan)
        if key not in self._known:
            refused: list[Left] = []
            walker = Walker()
            graph: Graph | None = None
            if has_kernels(plan.graph):
                program = Program(executable, sizes, executable.choice(sizes))
                graph = native_graph(program, refused)
            runs = executable.interpreter.graph_for(sizes) if graph is None else graph
            lowered = walker.lowered(runs)
            clock = Clock()
            made = Plan(lowered, clock=clock)
            measured = _Measured(made, clock, lowered, walker, refused, graph is not None)
            self._known[key] = executable, plan, measured
        measured = self._known[key][2]
        self.planning += planning
        # What led here from there on was not the user's.
        self.excluded += perf_counter_ns() - start - planning
        measured.clock.start()
        return measured.plan

    def watch(self, is_opened: bool) -> None:
        """Measure tracing; what runs while a function is traced is not part of it."""
        start = perf_counter_ns()
        sign = -1 if is_opened else 1
        known = self._known.values()
        ran = sum([time.nanoseconds for *_, measured in known for time in measured.clock.times])
        self.tracing += sign * (start - ran - self.planning - self.excluded)
        self.excluded += perf_counter_ns() - start

    def runs(self) -> list[tuple[Executable, _Measured, list[Time]]]:
        """Return what ran since the last `reset`, with times from which reading is taken off."""
        found = []
        for executable, _, measured in self._known.values():
            times = [
                replace(time, nanoseconds=max(int(time.nanoseconds - self.reading * time.calls), 0))
                for time in measured.clock.times
                if time.calls
            ]
            if times:
                found.append((executable, measured, times))
        return found

    @property
    def readings(self) -> int:
        """How often clocks were read since the last `reset`."""
        known = self._known.values()
        return sum([time.calls for *_, measured in known for time in measured.clock.times])


def _trial(measuring: _Measuring, call: Callable[[], Any]) -> _Trial:
    """Measure one call."""
    measuring.reset()
    start = perf_counter_ns()
    before, state.watch = state.watch, measuring.watch
    try:
        with observing(measuring) as programs:
            call()
    finally:
        state.watch = before
    total = perf_counter_ns() - start - measuring.excluded
    total -= measuring.reading * measuring.readings
    return _Trial(max(total, 1), measuring.planning, measuring.tracing, programs, measuring.runs())


def _report(
    func: Any, trial: _Trial, first: float, plain: float, repeats: int, result: Any, names: Names
) -> Profile:
    """Return the profile of a call."""
    programs: list[ProgramView] = []
    kernels: list[KernelView] = []
    left: list[Left] = []
    operations = in_kernels = maps = 0.0
    known: dict[int, tuple[Program, int]] = {}
    for program, calls in merged(trial.programs):
        key = id(program.executable)
        known[key] = program, known.get(key, (None, 0))[1] + calls
    for executable, measured, times in trial.runs:
        program, calls = known[id(executable)]
        walker = measured.walker
        walker.kernels = kernels  # they are numbered through all programs
        view = view_of(program, calls, measured.lowered, walker, measured.is_native, names)
        left += measured.left
        timed = _Timed(view.rows)
        for time in times:
            seconds = time.nanoseconds / 1e9
            outer = time.within[0] if time.within else time.op
            if time.op in walker.numbers:
                place = walker.numbers[time.op] - 1
                before = kernels[place].running or 0.0
                kernels[place] = replace(
                    kernels[place],
                    calls=kernels[place].calls + time.calls,
                    running=before + seconds,
                )
                in_kernels += seconds
            elif timed.add(time, outer, seconds):
                operations += seconds
            else:
                maps += seconds
        programs.append(replace(view, rows=timed.rows()))
    explanation = Explanation(
        name_of_call(func), programs, examples_of(trial.programs), kernels, left,
        traces(func, trial.programs), code_of_call(func),
    )  # fmt: skip
    parts = Parts(
        first, plain, trial.total / 1e9, operations, in_kernels, maps, trial.planning / 1e9,
        trial.tracing / 1e9, repeats,
    )  # fmt: skip
    return Profile(explanation, parts, result)


class _Timed:
    """Rows to which times are added.

    A row is found by its operation, or within an operation that runs plans of its own, which are
    made as it runs, by line and name.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)
        self._by_op = {row.op: i for i, row in reversed(list(enumerate(rows))) if row.op}
        self._by_place: dict[Any, int] = {}
        for i, row in enumerate(rows):
            if row.op is not None:
                key = row.within, row.op.place, row.operation
                self._by_place.setdefault(key, i)
        self._times: dict[int, tuple[int, float]] = {}

    def add(self, time: Time, outer: Operation | None, seconds: float) -> bool:
        """Add a time to its row; return False if it has none."""
        op = time.op
        if op is None or (op.primitive is map_ and op not in self._by_op):
            return False
        place = self._by_op.get(op)
        if place is None and time.within:
            place = self._by_place.get((outer, op.place, name_of(op)))
            place = self._by_op.get(outer) if place is None else place
        if place is None:
            return False
        calls, before = self._times.get(place, (0, 0.0))
        self._times[place] = calls + time.calls, before + seconds
        return True

    def rows(self) -> list[Row]:
        """Return the rows with their times; what did not run took none."""
        return [
            row
            if row.in_kernel
            else replace(row, calls=self._times.get(i, (0, 0.0))[0], seconds=self._times[i][1])
            if i in self._times
            else replace(row, seconds=0.0)
            for i, row in enumerate(self._rows)
        ]
