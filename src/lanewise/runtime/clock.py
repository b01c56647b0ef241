"""What each operation of a plan takes, measured as the plan runs: for `lanewise.profile`.

A plan that is measured is made anew, with a call after each operation that reads the time
(`lanewise.runtime.emit.Source`); one that is not measured has nothing of it. One reading is the end
of an operation and the start of the next, so the times of a plan add up to that of its run. In an
operation that runs another plan (examples or chunks one after the other, branches of some examples)
the operations of that plan read the same clock, and what is left is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter_ns

from lanewise.ir.graph import Operation

#: How often the clock is read to find out what reading it takes.
_READINGS = 2_000


@dataclass(slots=True)
class Time:
    """What was measured of an operation."""

    #: None for what the plan of `within` does before its first operation.
    op: Operation | None
    #: The operations that run the plan that it stands in, from the outermost; empty in the plan
    #: that is called.
    within: tuple[Operation, ...]
    calls: int = 0
    nanoseconds: int = 0


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that the operations of a plan, and of the plans within, read in turn.

    Not for several threads at once.

    Examples
    --------
    >>> clock = Clock()
    >>> done = clock.reading(None)
    >>> clock.start()
    >>> done()
    >>> clock.times[0].calls, clock.times[0].nanoseconds > 0
    (1, True)
    """

    #: Of every operation that was written to read this clock.
    times: list[Time] = field(default_factory=list)
    within: tuple[Operation, ...] = ()
    _last: list[int] = field(default_factory=lambda: [0])

    def inside(self, op: Operation) -> Clock:
        """Return the same clock for the plan that an operation runs."""
        return replace(self, within=(*self.within, op))

    def start(self) -> None:
        """Begin: what comes next is the first operation's."""
        self._last[0] = perf_counter_ns()

    def reset(self) -> None:
        """Forget what was measured."""
        for time in self.times:
            time.calls = time.nanoseconds = 0

    def reading(self, op: Operation | None) -> Callable[[], None]:
        """Return what reads the clock when an operation is done."""
        time = Time(op, self.within)
        self.times.append(time)
        last, now_ns = self._last, perf_counter_ns

        def done() -> None:
            now = now_ns()
            time.calls += 1
            time.nanoseconds += now - last[0]
            last[0] = now

        return done


def cost_of_reading() -> float:
    """Return the nanoseconds that reading a clock takes, the least of several attempts."""
    clock = Clock()
    done = clock.reading(None)
    taken = []
    for _ in range(5):
        clock.reset()
        clock.start()
        for _ in range(_READINGS):
            done()
        taken.append(clock.times[0].nanoseconds)
    return min(taken) / _READINGS
