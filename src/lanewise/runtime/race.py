"""Traced or plain: where the function itself was measured to be faster, its calls run it.

A compiler may only win. What it makes of some code is slower than NumPy all the same: slices of
which the data choose the bounds, lists that are read at indices of data, products of small parts.
So calls are measured, by both ways, and each takes the way that took less. It is tried only where
the estimate does not say that it would take far longer, so no call is lost to a loop over elements.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from lanewise.codegen.sizes import is_unknown
from lanewise.codegen.work import interpreting
from lanewise.ir.graph import Graph
from lanewise.ir.types import TOKEN, ArrayType
from lanewise.ops.control import BRANCHES, LOOPS, while_
from lanewise.ops.regions import map_
from lanewise.runtime import buffers
from lanewise.runtime.dispatch import is_observed
from lanewise.runtime.settings import backend
from lanewise.runtime.tiers import Executable, duration
from lanewise.trace.limits import interrupted, limited

#: Nanoseconds of a call below which there is nothing to win.
SHORT = 10_000
#: Nanoseconds that compiling is estimated to take, above which calls run the plain function first.
SLOW = 500_000_000
#: How much longer than calls take so far the plain function may be estimated to take, to be tried:
#: by the number of NumPy's calls, and by their elements (bounds of them, where data slice).
DARING, BOUNDED = 8, 32
#: How much longer than a call of the plain function calls take until it is tried again.
PATIENCE = 20
#: What the plain function may lose by, and how often in a row, without having lost: a first call
#: is slower, as its code and its memory are not in the caches. Estimates are off by as much.
CLOSE, ROUNDS = 4, 3
#: How much longer than calls take it may be estimated to take, to be tried at all some time.
LATER = 100
#: Nanoseconds of a call from which on a loop over examples is tried whatever is estimated, as it
#: can be given up; before the first call, too, but for no longer than that.
EARLY, LATE = 10_000_000, 250_000_000
#: Nanoseconds that an operation takes to be planned; and one of a loop more than others, as far as
#: it stands in no other loop.
PLANNED, PLANNED_IN_LOOPS = 100_000, 900_000
#: How often in a row the plain function may lose until nobody asks again; and how often it must
#: have won until nobody asks any more who forces a way to run.
ENOUGH = 3
#: After so many calls that the plain function won one of so many is measured, of those that take
#: less than so many nanoseconds: measuring takes 2 % of these.
MEASURED, LONG = 16, 100_000
#: Of so many calls by a way in a row the quickest is what it takes: what takes long once or twice,
#: as the machine had something else to do, does not decide.
LAST = 3


class Race:
    """Measures the calls of a trace by both ways, and says which the next one takes.

    ``unchanged`` tells whether the plain function depends on the same as it did. If it is a loop
    over examples (``is_map``), it may be given up in between. Its calls before there was a trace
    took ``plain`` nanoseconds, if any did not take too long. Of a batch of no known size it is
    estimated for so many ``examples``.
    """

    def __init__(
        self, executable: Executable, unchanged: Callable[[], bool], is_map: bool = False,
        plain: float = math.inf, examples: float = math.inf,
    ) -> None:  # fmt: skip
        self._executable = executable
        self._unchanged, self._examples = unchanged, examples
        self.is_map = is_map
        #: Nanoseconds after which the next call of the plain function is given up; after which
        #: one was.
        self.limit, self._exceeded = math.inf, 0.0
        self._is_native = self._is_given_up = False
        self._least: float | None = None
        self._count = self._won = self._lost = self._close = 0
        #: How many of the next calls are not measured; what takes how long this one takes.
        self._unmeasured = 0
        self.note: Callable[[int], None] | None = None
        #: How many calls of the trace there were when the plain function was tried.
        self._tried = 0
        #: Nanoseconds of all calls of the trace, as it is compiled or not.
        self._spent = 0
        #: Nanoseconds of all calls of the plain function.
        self._itself = 0
        self._traced: deque[int] = deque(maxlen=LAST)
        self._plain: deque[int] = deque(maxlen=LAST)
        #: Nanoseconds of a call by each way.
        self.traced, self.plain = math.inf, plain

    @cached_property
    def dtypes(self) -> list[np.dtype]:
        """Of the results of the trace."""
        return dtypes_of(self._executable.graph)

    def is_plain(self, arguments: Sequence[Any]) -> bool:
        """Whether the next call, on some arguments, runs the plain function."""
        if self._unmeasured:
            self._unmeasured -= 1
            self.note = None
            return not is_observed() and self._unchanged()
        executable = self._executable
        if executable.native is None and not self._count and executable.whole <= self._exceeded:
            executable.prepare(arguments)  # which tells whether it is compiled at all
        self.limit = math.inf
        if self.plain == math.inf and (self.is_map or self._is_to_be_tried):
            most = max(self.traced, LATE)
            self.limit = self._limit if self.is_map else min(CLOSE * self.traced, most)
        if not (
            self.is_ahead()
            and (self._won > ENOUGH or backend() is None)
            and not is_observed()
            and self._unchanged()
        ):
            return False
        if self._executable.is_due or self._executable.is_compiling:
            self._executable.prepare(arguments)
        if not self._won:  # NumPy's arrays are not made of what is kept for those of kernels
            buffers.make_room()
        self.note = self.note_plain
        return True

    def bounded(self) -> AbstractContextManager:
        """Give up the plain function in a ``with`` block where it may not go on for long."""
        if self.limit == math.inf:
            return nullcontext()
        # The loop of a map looks at the time itself.
        return limited(self.limit) if self.is_map else interrupted(self.limit)

    def is_ahead(self) -> bool:
        """Whether the plain function is faster so far, or may be."""
        executable = self._executable
        is_native = executable.native is not None
        if is_native and not self._is_native:  # what was compiled may win, but for NumPy's part
            if DARING * self.plain >= self._interpreted:
                return False
            left = _left_to_numpy(executable)
            return DARING * self.plain < interpreting(left, {}) and _has_loops(left)
        if not is_native and self._is_given_up and self.plain < math.inf:
            return self.plain < self.traced
        if self._exceeded and self.plain == math.inf:
            return self._exceeded < self._limit
        if self.is_map and self.plain == math.inf and self._is_cheap_to_try:
            return True
        if self._is_to_be_tried:
            return True
        if not is_native and SLOW < executable.whole < math.inf:
            # So much takes a while to plan as well. But a loop over a batch may take far longer.
            known = self.plain if self.plain < math.inf else self.estimated
            return known < executable.whole
        if self.traced < SHORT:
            return False
        if not (is_native or self.is_map) and self.plain == self.traced and self._planned > LATE:
            return self.estimated < self._planned  # neither has run so far
        if self._count < 2:
            # It may have run before the trace has, or was tried before.
            if is_native:
                return self.traced < math.inf and DARING * self.plain < self.traced
            # What it took the first time includes that it was planned.
            margin = 1 if self.traced == math.inf else CLOSE
            return self.plain < math.inf and margin * self.plain < self._known
        if self.plain < self.traced or self._close:
            return True
        if self.plain < math.inf:
            return self._count - self._tried >= PATIENCE * self.plain / self.traced
        if self._least is None:
            self._least = _least(executable.graph, self.traced, self._examples)
        return self._least < self.traced or (
            self._may_be_tried_later and self._spent >= PATIENCE * CLOSE * self.estimated
        )

    @property
    def _is_to_be_tried(self) -> bool:
        """Whether there are loops of which nobody knows if Python is faster in them.

        No estimate knows how many turns these take where the data decide it, and none is near where
        a call takes long. The function itself is given up where it takes longer.
        """
        if self.is_map or self.plain < math.inf or self._exceeded or sys.gettrace() is not None:
            return False
        if self._count < (1 if LATE < self.traced < math.inf else 2) or self.traced < SHORT:
            return False
        if self._executable.native is not None and self._has_while:
            return True
        is_long = self._executable.native is None and self.traced > EARLY
        return (is_long or self._has_while) and _calls_numpy_in_loops(self._executable)

    @property
    def _may_be_tried_later(self) -> bool:
        """Whether the plain function is tried when calls have taken so long that it matters little.

        Estimates take bounds of what the data decide, so they may be far too high.
        """
        return not self.is_map and self.estimated < LATER * self.traced and not self._has_while

    @cached_property
    def _has_while(self) -> bool:
        return _has_while(self._executable.graph)

    @property
    def _is_cheap_to_try(self) -> bool:
        """Whether one example should not take longer than a call of the trace."""
        limit = self._limit
        if limit <= EARLY:
            return False
        # No estimate knows how many turns loops take of which the data decide it. Those of one
        # example are fewer, and the loop over all is given up early where it takes long.
        graph = self._executable.graph
        if _calls_numpy_in_loops(self._executable) if self.traced < math.inf else _has_while(graph):
            return True
        return interpreting(self._executable.graph, {}, 0) < DARING * limit

    @property
    def _limit(self) -> float:
        """Nanoseconds that a call of the trace takes or should take, compiling it included."""
        takes = self.traced
        if takes == math.inf:
            takes = min(CLOSE * self._interpreted, LATE) + self._left_to_plan
        if self._executable.native is None and self._executable.cost < math.inf:
            takes = min(takes, self._executable.whole)
        return max(takes, EARLY)

    @property
    def _known(self) -> float:
        """Nanoseconds that a call of the trace takes, or at most should take."""
        if self.traced < math.inf:
            return self.traced
        return CLOSE * self._interpreted + self._left_to_plan

    @property
    def _left_to_plan(self) -> float:
        """Nanoseconds of planning for which calls of the plain function do not make up so far."""
        return max(self._planned - self._itself / CLOSE, 0)

    @property
    def patience(self) -> float:
        """Nanoseconds after which the next call of the trace is given up.

        Loops that data end are interpreted for as long as the function itself should take, as no
        estimate knows how many turns they take.
        """
        if self._executable.native is not None or not self._has_while:
            return math.inf
        if backend() is not None or is_observed() or not self._unchanged():
            return math.inf
        return LATE if self.plain == math.inf else max(LATE, CLOSE * self.plain)

    def note_given_up(self, nanoseconds: float) -> None:
        """Note that a call of the trace was given up after so long; the next one runs the other."""
        self._executable.spend(nanoseconds)
        self._traced.clear()
        self.traced, self._is_given_up = nanoseconds, True
        self.note, self.limit = self.note_plain, math.inf

    def note_exceeded(self) -> None:
        """Note that a call of the plain function was given up."""
        self._exceeded = self.limit
        self._lost += 1
        self._tried = self._count
        if self._executable.native is None:
            self._executable.spend(self.limit)

    @cached_property
    def _interpreted(self) -> float:
        """Nanoseconds that interpreting what was traced should take."""
        return interpreting(self._executable.graph, {})

    @cached_property
    def _planned(self) -> float:
        """Nanoseconds that it should take to plan what was traced, before its first call."""
        return _planning(self._executable.graph)

    @cached_property
    def estimated(self) -> float:
        """Nanoseconds that the plain function should take."""
        return duration_itself(self._executable.graph, self._examples)

    def is_over(self) -> bool:
        """Whether the trace has won for good."""
        executable = self._executable
        if self._count < ENOUGH or (executable.native is None and executable.cost < math.inf):
            return False
        if self._lost >= ENOUGH:
            return True
        if self._is_to_be_tried:
            return False
        has_lost = self.plain == math.inf and not self._may_be_tried_later
        may_end = has_lost or (self.traced < SHORT and self._is_steady)
        return may_end and not self.is_ahead()

    @cached_property
    def _is_steady(self) -> bool:
        """Whether all calls take about as long: no loop, branch or size is up to the data."""
        graph = self._executable.graph
        if any(op.primitive is while_ or op.primitive in BRANCHES for op in graph.walk()):
            return False
        types = [value.type for value in graph.inputs if value.type is not TOKEN]
        return not any([is_unknown(type.shape) for type in types])

    def note_traced(self, nanoseconds: int) -> None:
        """Note how long a call took that ran what was traced."""
        if self._executable.is_compiling and self.traced < math.inf:
            return  # which took some of it
        is_native = self._executable.native is not None
        if self._is_native is is_native:
            self._count += 1
            self._spent += nanoseconds
            self._traced.append(nanoseconds)
            self.traced = min(self._traced)
            return
        # It was compiled in this call. What NumPy took says more than an estimate.
        self._least = self.traced / DARING if self._count else None
        if not self._count and _has_while(self._executable.graph):
            self._least = math.inf  # the data decide how long that goes on
        self._is_native, self.traced = is_native, math.inf
        self._traced.clear()
        self._count = self._tried = self._lost = self._spent = 0
        running = nanoseconds - self._executable.whole
        if running > min(
            DARING * self.plain, EARLY if _calls_numpy_in_loops(self._executable) else math.inf
        ):
            self.traced = running  # it took far longer than compiling does

    def note_plain(self, nanoseconds: int) -> None:
        """Note how long a call took that ran the plain function."""
        took = nanoseconds * (MEASURED if self._skips else 1)
        self._itself += took
        if self._executable.native is None:
            self._executable.spend(took)
        if self._executable.is_compiling and self.plain < math.inf:
            return  # which took some of it
        self._plain.append(nanoseconds)
        self.plain = min(self._plain)
        if self.plain < self.traced:
            self._won += 1
            self._lost = 0
            if self._skips:
                self._unmeasured = MEASURED - 1
        elif nanoseconds < CLOSE * self.traced and self._close < ROUNDS - 1:
            self._close += 1
            return
        else:
            self._lost += 1
            self._tried = self._count
            if nanoseconds > EARLY:
                buffers.trim()
        self._close = 0

    @property
    def _skips(self) -> bool:
        """Whether not all calls of the plain function are measured."""
        return self._won > MEASURED and self.plain < LONG

    def told(self) -> str:
        """Return why the next call runs the plain function: nothing where it does not."""
        if not self.is_ahead():
            return ""
        took = "" if self.plain == math.inf else f"took {duration(self.plain)}, and "
        return f"the function itself {took}may be faster than {duration(self._known)}"


def _least(graph: Graph, traced: float, examples: float) -> float:
    """Return how many nanoseconds a call must take for the plain function to be tried.

    Where interpreted ones take less than estimated, as `traced` says, so may the function.
    """
    looped = _looped(graph, examples)
    calls, elements = interpreting(graph, {}, 0), interpreting(graph, {})
    least = max((calls + looped) / DARING, (elements + looped) / BOUNDED)
    return least * min(1.0, max(traced / max(elements, 1.0), 1 / DARING))


def dtypes_of(graph: Graph) -> list[np.dtype]:
    """Return the dtypes of the arrays that a graph gives."""
    types = [value.type for value in graph.outputs]
    return [type_.dtype for type_ in types if isinstance(type_, ArrayType)]


def duration_itself(graph: Graph, examples: float) -> float:
    """Return how many nanoseconds the function that was traced should take."""
    return interpreting(graph, {}, 0) + _looped(graph, examples)


def _looped(graph: Graph, examples: float) -> float:
    """Return how much longer than its maps take loops over their examples should take."""
    maps = [op for op in graph.operations if op.primitive is map_]
    sizes = [op.params["size"] if isinstance(op.params["size"], int) else examples for op in maps]
    pairs = zip(maps, sizes, strict=True)
    return sum([(size - 1) * interpreting(op.regions[0], {}, 0) for op, size in pairs])


def _planning(graph: Graph) -> float:
    """Return how many nanoseconds planning a graph should take."""
    ops = list(graph.walk())
    regions = [region for op in ops if op.primitive in LOOPS for region in op.regions]
    in_loops = sum([len(region.operations) for region in regions])
    return PLANNED * len(ops) + PLANNED_IN_LOOPS * in_loops


def _calls_numpy_in_loops(executable: Executable) -> bool:
    """Whether a loop is not compiled: NumPy is called in each turn."""
    return _has_loops(_left_to_numpy(executable))


def _left_to_numpy(executable: Executable) -> Graph:
    """Return what is not compiled of a graph."""
    native = executable.native
    graph = executable.graph if native is None else native.graph
    kernels = [] if native is None else [op for op, _ in native.kernels]
    return Graph((), [op for op in graph.operations if op not in kernels], ())


def _has_loops(graph: Graph) -> bool:
    return any(op.primitive in LOOPS for op in graph.walk())


def _has_while(graph: Graph) -> bool:
    return any(op.primitive is while_ for op in graph.walk())
