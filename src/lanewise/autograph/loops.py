"""Loops that follow the data: `while` and `for`.

A converted loop is a ``for`` loop over a driver, whose turns run the loop's own statements in
place. With plain data they are the turns that Python would take. Where the data decide how many
turns there are, or there are many that are all alike, the driver has the body run once or a few
times more to record it as a region, and hands the results of the whole loop to the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.ahead import Ahead
from lanewise.autograph.branches import stops, truth
from lanewise.autograph.counted import MOST, Counted, Sized, counted, depends_on
from lanewise.autograph.describe import describe
from lanewise.autograph.for_loops import SHORT, For
from lanewise.autograph.history import history_here
from lanewise.autograph.optional import asked
from lanewise.autograph.turns import ATTEMPTS, Failure, Turns, titles
from lanewise.autograph.values import traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ops.regions import example_type
from lanewise.trace import tree
from lanewise.trace.journal import Journal
from lanewise.trace.limits import check_time
from lanewise.trace.regions import (
    Region,
    answered,
    retract,
)
from lanewise.trace.slots import HeldSlot
from lanewise.trace.tensor import Tensor, lift
from lanewise.trace.trace import require_trace, state

#: After so many turns it is looked at what a ``while`` loop changes in each.
SEEN = 3

_BOOL = np.dtype(bool)

_PLAIN, _TEST, _BODY, _COUNT, _COUNTED = "plain", "test", "body", "count", "counted"


class While:
    """A ``while`` loop: Python's own until its test is data, then recorded.

    `tested` are the positions of the variables in its test, if that does nothing but compute. Then
    it is recorded as well where Python's numbers end it, as a ``for`` loop would be: such as change
    by a step, or those at `stepped`, which `step` gives after an iteration.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        state: tuple[Any, ...],
        tested: tuple[int, ...] = (),
        stepped: tuple[int, ...] = (),
        step: Callable[..., tuple[Any, ...]] | None = None,
    ) -> None:
        self.names = names
        self._tested = tested
        self._ahead = None if step is None else Ahead(step, stepped, len(state))
        self._answer: Any = None
        self._counted: Counted | Ahead | None = None
        self._inner: For | None = None
        self._index: Any = None
        self._held: tuple[Any, ...] = ()
        self.state = state
        self._phase = _PLAIN
        self._goes_on = True
        self._is_traced = False
        self._mark: tuple[Any, int, Any] = (None, 0, None)
        self._test: Value | None = None
        self._region: Region | None = None
        self._end: tuple[Any, ...] | None = None
        self._has_stopped = False

    def __iter__(self) -> Iterator[None]:
        states, trace = [self.state], state.trace
        journal = None if trace is None or not self._tested else Journal(trace)
        while self._goes_on and not self._is_traced:
            check_time()
            self._remember()
            yield None
            if self._tested and self._goes_on and not self._is_traced:
                states.append(self.state)
                if len(states) > SEEN:
                    yield from self._count(states, journal)
                    self._phase, self._tested, states = _PLAIN, (), []
        if journal is not None:
            journal.close()
        if self._is_traced:
            yield from self._record()

    def _count(self, states: Sequence[tuple[Any, ...]], journal: Journal | None) -> Iterator[None]:
        """Go on as a ``for`` loop does, if the test tells how often; or not at all.

        ``journal`` knows what has changed since the first of the states.
        """
        trace, now = state.trace, self.state
        found = None if trace is None else counted(states, self._tested) or self._ahead
        if trace is None or found is None:
            return
        mark = len(trace.operations), trace.token
        self._phase, count = _COUNT, -1
        self._answer = True
        while self._answer and count < MOST:
            count += 1
            asked = found.asked(now, count)
            if asked is None:
                self._answer = None
                break
            self.state = asked
            yield None
            if any([type(x) is Sized and x.is_read for x in asked]):
                self._answer = None
        self.state = now
        is_known = self._answer is False and len(trace.operations) == mark[0]
        retract(trace, *mark)
        if not is_known or count < SHORT:
            return
        names = tuple([self.names[i] for i in found.others])
        self._phase = _COUNTED
        inner = For(range(count), names, found.rest(now), None)
        yield from self._turns(inner, inner, found)
        if self._counted is None:  # it was not what it was taken for
            return
        last = inner.state
        if journal is not None and inner.is_whole and inner.has_done_all(journal):
            again, before = journal.undo(), len(states) - 1
            whole = For(range(before + count), names, found.rest(states[0]), None)
            yield from self._turns(whole, whole.whole(last), found.since(before))
            if whole.is_whole:
                last = whole.state
            else:
                again()
        self.state = found.whole(last, count)

    def _turns(self, inner: For, turns: Iterable[Any], counted: Counted | Ahead) -> Iterator[None]:
        """Take turns of a ``for`` loop."""
        self._inner, self._counted = inner, counted
        for self._index in turns:
            self.state = counted.whole(inner.state, self._index)
            self._held = self.state
            yield None
            if self._counted is None:
                return

    def _remember(self) -> None:
        """Remember what was recorded before the test, whose effects may have to be taken back."""
        trace = state.trace
        if trace is not None:
            self._mark = trace, len(trace.operations), trace.token

    def _take_back(self) -> None:
        """Take back what the test has recorded, unless it has left a part of the examples."""
        if state.trace is self._mark[0]:
            retract(*self._mark)

    def _record(self) -> Iterator[None]:
        turns = Turns(titles(self.names), self.state, history_here())
        for _ in range(ATTEMPTS):
            self._phase = _TEST
            self.state = turns.begin()
            self._region = test = turns.region
            tested = turns.inputs
            yield None
            assert test is not None
            test.leave()
            # Those that the body changes are carried.
            changed = test.changes.keys() - turns.carry.slots.keys()
            if any([isinstance(test.changes[key][0], HeldSlot) for key in changed]):
                raise UnsupportedError(
                    "the condition of a loop may raise what a try statement around it catches"
                    f"{at(here())}, while data decide how many turns the loop takes. Ask in the "
                    "loop's body: while True: if not ...: break"
                )
            if changed:
                raise UnsupportedError(
                    f"the condition of a loop changes something outside of it{at(here())}, while "
                    "data decide how many turns the loop takes. Do it in the loop's body"
                )
            self._phase = _BODY
            self.state = turns.begin()
            self._region = turns.region
            self._remember()
            self._has_stopped = False
            yield None
            is_stable, ends = turns.end(None if self._has_stopped else self._end)
            if is_stable:
                assert self._test is not None
                self.state = turns.record_while(test, tested, self._test, ends)
                return
        turns.give_up()

    def test(self, value: Any) -> bool:
        """Take the value of the loop's condition; return whether to run the body."""
        value = asked(value)
        tensor = value if type(value) is Tensor else None
        if self._phase is _COUNT:
            self._answer = None if tensor is not None else bool(value)
            return False
        if self._phase is _COUNTED:
            assert self._inner is not None
            if self._counted is self._ahead:
                return True
            if self._inner.is_recording:
                assert self._inner.region is not None
                self._inner.require(depends_on(value, self._index, self._inner.region))
                return True
            if tensor is None and value:
                return True
            self._counted, self._phase = None, _PLAIN
        if self._phase is _PLAIN:
            if tensor is None:
                self._goes_on = bool(value)
                return self._goes_on
            self._take_back()
            self._is_traced = True
            return False
        if self._phase is _TEST:
            assert self._region is not None
            found = None if tensor is None else truth(tensor)
            trace = require_trace("a loop")
            if found is not None:
                value = Tensor(trace, found, None, bool)
            answer = answered(self._region, value if tensor is not None else bool(value))
            self._test = lift(answer) if traced(answer) is not None else trace.scalar(answer, _BOOL)
            return False
        self._take_back()
        return True

    def next(self, state: tuple[Any, ...]) -> None:
        """End a turn with what the variables hold."""
        if self._phase is _COUNTED:
            assert self._counted is not None
            assert self._inner is not None
            if isinstance(self._counted, Ahead):
                self._inner.next(self._counted.rest(state))
                return
            has_stepped = self._counted.has_stepped(self._held, state)
            if self._inner.is_recording:
                self._inner.require(has_stepped)
            elif not has_stepped:
                self._counted, self.state = None, state
                return
            self._inner.next(self._counted.rest(state))
            return
        if self._phase is _BODY:
            self._end = state
        elif self._phase is _PLAIN and not self._is_traced:
            self.state = state

    def stop(self, error: BaseException) -> bool:
        """Take a raise in the body, for every example that comes to it; True if it must go on."""
        if self._phase is _COUNTED:
            assert self._inner is not None
            return self._inner.stop(error)
        if self._phase is not _BODY:
            return True
        assert self._region is not None
        self._has_stopped = stops(error, self._region)
        return not self._has_stopped


# --- by name --------------------------------------------------------------------------------------


def repeat(test: Callable[[Any], Any], body: Callable[[Any], Any], initial: Any) -> Any:
    """Take turns of a function on one state while a test of it holds."""
    loop = While(("the state",), (initial,))
    for _ in loop:
        (held,) = loop.state
        try:
            if loop.test(test(held)):
                held = body(held)
        except Failure as error:
            if loop.stop(error):
                raise
        loop.next((held,))
    return loop.state[0]


def count(turns: Any, body: Callable[[Any, Any], Any], initial: Any) -> Any:
    """Take turns of a function of a counter and a state, a turn for each of `turns`."""
    loop = For(turns, ("the state",), (initial,), None)
    for index in loop:
        (held,) = loop.state
        try:
            if loop.enter():
                held = body(index, held)
        except Failure as error:
            if loop.stop(error):
                raise
        loop.next((held,))
    return loop.state[0]


def accumulate(
    step: Callable[[Any, Any], tuple[Any, Any]],
    initial: Any,
    xs: Any,
    length: DimLike,
    reverse: bool,
) -> tuple[Any, Any]:
    """Record a `scan` of a function of a carry and of a slice of `xs`, which gives another of each.

    Returns
    -------
    carry, ys
        The last carry, and the slices that the turns gave, stacked.
    """
    rows, structure = tree.flatten(xs)
    values = [lift(row) for row in rows]
    turns = Turns(("the carry",), (initial,), history_here())
    for _ in range(ATTEMPTS):
        (held,) = turns.begin()
        region = turns.region
        assert region is not None
        slices = [region.input(example_type(value.type, 0)) for value in values]
        given = tree.unflatten(structure, [Tensor(region, value) for value in slices])
        result = step(held, given)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"the step of scan returns the next carry and a result, not {describe(result)}"
                f"{at(here())}"
            )
        carry, out = result
        leaves, out_structure = tree.flatten(out)
        ys = [lift(leaf) for leaf in leaves]
        is_stable, ends = turns.end((carry,))
        if is_stable:
            (last,), stacked = turns.record_scan(length, ends, values, slices, ys, reverse)
            return last, tree.unflatten(out_structure, stacked)
    raise AssertionError("the carry of a scan never became stable")
