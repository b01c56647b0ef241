"""Traces of maps that are kept: a map that is called again is not traced again.

What is kept belongs to the code of the function (`lanewise.api.remembered`). A trace is as good as
a new one while all that the function reaches is as it was (`lanewise.api.contained`); of functions
that reach more none is kept. So is the plain loop, which runs where it is measured to be faster
(`lanewise.runtime.race`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from lanewise.api.contained import MOST_RATHER, contained
from lanewise.api.faster import FIRST, PATIENCE, Changed, Postponed, leaving
from lanewise.api.plain import NoBatchError, conformed, plainly
from lanewise.api.refused import may_run_itself
from lanewise.api.remembered import MANY, Remembered
from lanewise.api.unchanged import Unchanged
from lanewise.errors import CutOffError, UnsupportedError
from lanewise.ir.graph import Graph
from lanewise.passes.survive import is_raising
from lanewise.runtime.dispatch import executable_of, execute, is_observed, run
from lanewise.runtime.owning import own
from lanewise.runtime.race import LAST, Race, dtypes_of, duration_itself
from lanewise.runtime.tiers import Executable
from lanewise.trace.limits import TookTooLong, limited
from lanewise.trace.trace import ROOM, state

#: So many traces are kept, and so many bytes of what each takes beside arguments.
MOST, MOST_BYTES = 256, 1 << 20
#: Nanoseconds that a trace takes that nobody wants to see often.
LONG = 100_000_000


class Kept:
    """What runs a map again that was traced.

    Parameters
    ----------
    unchanged
        Tells whether all that the function reaches is as it was.
    key
        Of the executable; None of one that has effects.
    make
        Gives the graph of that, if there is none any more.
    sources
        What the graph takes beside the operands.
    assemble
        Makes what the map returns of its outputs.
    """

    def __init__(
        self, unchanged: Unchanged, key: Hashable, make: Callable[[], Graph],
        sources: Sequence[Any], assemble: Callable[[list[Any]], Any],
    ) -> None:  # fmt: skip
        self.unchanged, self.room = unchanged, state.room
        self._key, self._make, self._sources = key, make, sources
        self._assemble = assemble
        self._race: Race | None = None
        #: What runs what has effects.
        self._own: Executable | None = None
        #: Whether nobody measures any more, and the trace runs.
        self._is_settled = is_raising()

    def run(self, operands: Sequence[Any], size: int, plain: Callable[[], Any]) -> Any:
        """Return what the map gives, by its trace or by the plain loop: whichever is faster.

        There are `size` examples.
        """
        arguments = [*operands, *self._sources]
        if self._is_settled:
            return self._run(arguments)
        if self._race is None:
            # What tells something is not given up, so it is estimated what it takes.
            self._race = Race(
                self._executable(), self.unchanged, is_map=not self.has_effects, examples=size
            )
        race = self._race
        if race.is_plain(arguments):
            start = perf_counter_ns()
            try:
                with race.bounded(), plainly(True, self.has_effects):
                    result = conformed(plain(), race.dtypes)
            except TookTooLong:
                race.note_exceeded()
            except NoBatchError:  # the trace says so its way
                if self.has_effects:
                    raise
                self._is_settled = True
                return self._run(arguments)
            else:
                if race.note is not None:
                    race.note(perf_counter_ns() - start)
                return result
        start = perf_counter_ns()
        result = self._run(arguments)
        race.note_traced(perf_counter_ns() - start)
        self._is_settled = race.is_over()
        return result

    def prepare(self) -> None:
        """Make what runs it, which is a part of tracing."""
        self._executable()

    @property
    def has_effects(self) -> bool:
        """Whether calls do more than to return."""
        return self._key is None

    def _executable(self) -> Executable:
        if not self.has_effects:
            return executable_of(self._key, self._make)
        self._own = self._own or executable_of(None, self._make)
        return self._own

    def _run(self, arguments: Sequence[Any]) -> Any:
        if self.has_effects:
            return self._assemble(run(self._executable(), [*arguments, None])[:-1])
        return self._assemble(own(execute(self._key, self._make, arguments), arguments))


class Varied:
    """Calls that need a trace each, as they differ in Python numbers or in what is reached.

    Attributes
    ----------
    count, traced
        How often one was traced, and the nanoseconds that took at least, with its run.
    each
        Those that an example takes in the plain loop, or should take.
    """

    def __init__(self) -> None:
        self.count, self.traced, self.each = 0, math.inf, 0.0
        #: How often in a row the plain loop took longer than a trace, or was given up.
        self._lost = 0
        self._dtypes: list[np.dtype] = []

    def is_plain(self, size: int) -> bool:
        """Whether the plain loop is faster than another trace, or may be."""
        enough = MANY if self.traced < LONG else 2
        is_due = self.count >= enough and self._lost < LAST
        return is_due and self.each * size < self.traced

    def looped(self, size: int, plain: Callable[[], Any], limit: float) -> Any:
        """Return what the plain loop gives, if that takes no longer than a number of nanoseconds.

        Raises
        ------
        TookTooLong, NoBatchError
            If it does, and if no array holds what it gives.
        """
        start = perf_counter_ns()
        try:
            # What is not given up may have effects that nobody knows: no example runs twice.
            with limited(limit), plainly(limit < math.inf):
                return conformed(plain(), self._dtypes)
        finally:
            took = perf_counter_ns() - start
            if took < self.traced:
                self.each, self._lost = took / size, 0
            else:
                self._lost += 1

    def note(self, start: int) -> None:
        """Note that a trace was begun at a time, and has run."""
        self.traced = min(self.traced, perf_counter_ns() - start)

    def noting(self, size: int, is_bounded: bool, kept: Callable[..., Kept | None]) -> Any:
        """Return `kept`, called with the parameters of `Kept`, which notes what is traced."""

        def noted(key: Hashable, make: Callable[[], Graph], *rest: Any) -> Kept | None:
            if key is not None and self.count < MANY:
                self.count, graph = self.count + 1, make()
                self._dtypes = dtypes_of(graph)
                # What cannot be given up is not tried at random.
                self.each = 0.0 if is_bounded else duration_itself(graph, size) / size
            return kept(key, make, *rest)

        return noted


_kept: Remembered[Kept | Postponed] = Remembered(MOST)
_varied: Remembered[Varied] = Remembered(MOST, has_numbers=False)


def mapped(
    func: Any, call: Hashable, operands: Sequence[Any], size: int, plain: Callable[[], Any],
    traced: Callable[..., Any],
) -> Any:  # fmt: skip
    """Return what a map gives: by what was kept of a call like this one, or by a new trace.

    Tracing may take as long as under `lanewise.function`; until then the plain loop runs.

    Parameters
    ----------
    func
        The user's function.
    call
        What decides the trace, besides the function.
    operands, size
        The arrays that it is mapped over, and how many examples there are.
    plain
        Runs the plain loop.
    traced
        Traces and runs the map. It is given how many nanoseconds tracing may take, and what is
        called with the parameters of `Kept` from `key` on, and returns that, or None.
    """
    is_known = not is_observed()
    found = _kept.get(func, call)
    found = found if found is not None and found.unchanged() else None
    if not is_known:
        told = found.told() if type(found) is Postponed else ""
        return traced(math.inf, partial(_telling, told))
    if type(found) is Kept:
        try:
            return found.run(operands, size, plain)
        except CutOffError as error:
            if found.has_effects:  # some of them may have happened
                raise
            make = partial(_keepable, func, call, found.unchanged)
            return with_more_room(error, found.room, partial(traced, math.inf, make))
    if type(found) is Postponed:
        unchanged = found.unchanged
    else:
        unchanged = contained([func], with_data=True, most=MOST_RATHER, may_tell=True)
    if unchanged is not None and unchanged.keeps(func):
        unchanged = None
    make = _nothing if unchanged is None else partial(_keepable, func, call, unchanged)
    is_telling = unchanged is not None and unchanged.tells
    if is_telling or not may_run_itself():  # a loop that is given up has told already
        return traced(math.inf, make)
    varied = _varied.get(func, call) or Varied()
    if varied.is_plain(size):
        try:
            if unchanged is None:
                return varied.looped(size, plain, math.inf)
            return varied.looped(size, partial(leaving, unchanged, plain), varied.traced)
        except (TookTooLong, Changed, NoBatchError):
            return traced(math.inf, make)
    noting, start = varied.noting(size, unchanged is not None, make), perf_counter_ns()

    def anew(limit: float) -> Any:
        result = traced(limit, noting)
        varied.note(start)
        _varied.put(func, call, varied)
        return result

    if unchanged is None:
        return anew(math.inf)
    postponed = found if type(found) is Postponed else Postponed((), unchanged, is_map=True)
    try:
        if postponed is not found or postponed.is_due:
            return anew(postponed.nanoseconds)
    except TookTooLong as error:
        postponed.put_off(error)
        _kept.put(func, call, postponed)
    start = perf_counter_ns()
    try:
        with limited(PATIENCE * FIRST), plainly(True):
            result = leaving(unchanged, plain)
    except (TookTooLong, Changed):
        return traced(math.inf, make)
    postponed.note_plain(perf_counter_ns() - start)
    return result


def with_more_room(error: CutOffError, room: int, traced: Callable[[], Any]) -> Any:
    """Return what a map gives that is traced with more room for lengths that are data.

    It takes longer to run that; `error` is what came of less.
    """
    if room == len(ROOM) - 1:
        raise error
    before, state.room = state.room, room + 1
    try:
        return traced()
    except UnsupportedError as again:
        raise (again if isinstance(again, CutOffError) else error) from None
    finally:
        state.room = before


def _nothing(*_: Any) -> None:
    """Keep nothing of a function that reaches what may change unseen."""


def _telling(told: str, key: Hashable, make: Callable[[], Graph], *_: Any) -> None:
    """Have who explains a call told what the next one runs."""
    if key is not None:
        executable_of(key, make).told = partial(str, told)


def _keepable(
    func: Any, call: Hashable, unchanged: Unchanged, key: Hashable, make: Callable[[], Graph],
    sources: Sequence[Any], assemble: Callable[[list[Any]], Any],
) -> Kept | None:  # fmt: skip
    """Return what runs a call again, and is kept; None where it would keep much."""
    if sum([getattr(source, "nbytes", 0) for source in sources]) > MOST_BYTES:
        return None
    made = Kept(unchanged, key, make, sources, assemble)
    made.prepare()
    _kept.put(func, call, made)
    return made


def forget() -> None:
    """Keep nothing of what was kept so far."""
    _kept.clear()
    _varied.clear()
