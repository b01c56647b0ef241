"""Loops that follow the data: `while` and `for`.

A converted loop is a ``for`` loop over a driver, whose turns run the loop's own statements in
place. With plain data they are the turns that Python would take. Where the data decide how many
turns there are, or there are many that are all alike, the driver has the body run once or a few
times more to record it as a region, and hands the results of the whole loop to the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.aliases import arrays_in, held_by, left_by, settle
from lanewise.autograph.branches import Fork, not_, stops, truth
from lanewise.autograph.carry import Carry
from lanewise.autograph.iterators import take_from_outside
from lanewise.autograph.sequences import as_sequence
from lanewise.autograph.state import called, describe
from lanewise.autograph.values import traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Operation, Value
from lanewise.ir.location import here
from lanewise.ir.types import array_type
from lanewise.ops.control import cond, scan, while_
from lanewise.ops.creation import iota
from lanewise.ops.regions import example_type
from lanewise.trace import tree
from lanewise.trace.limits import check_time
from lanewise.trace.provenance import Counter
from lanewise.trace.regions import (
    Part,
    Region,
    answered,
    record,
    resume,
    retract,
    settled,
    unwind,
)
from lanewise.trace.sizes import dim_of
from lanewise.trace.tensor import Tensor, emit, lift, read
from lanewise.trace.trace import Stop, require_trace, state

#: What a branch or the body of a loop may raise that its driver wants to know of.
Failure = (Stop, Exception)
#: A loop of as many turns is recorded once its first turn has shown that it computes with data,
LONG = 16
#: and one of as many more turns if they would record as many operations.
SHORT, HEAVY = 4, 300
#: How often a body is recorded anew, at most, before its carry holds what it leaves.
ATTEMPTS = 20
#: So many turns at most are unrolled beside recorded ones, as slices are cut off in them.
APART = 64

_BOOL = np.dtype(bool)
_INDEX = np.dtype(np.int64)


def weight(op: Operation) -> int:
    """Return how many operations an operation is, with those of its regions."""
    return 1 + sum([weight(inner) for region in op.regions for inner in region.operations])


def _titles(names: Sequence[str]) -> list[str]:
    return [called(name) for name in names]


class Turns:
    """Records one loop: its body until the carry is stable, then the operation."""

    def __init__(self, names: Sequence[str], state: Sequence[Any]) -> None:
        self.names = names
        self.carry = Carry(names, state)
        self.region: Region | None = None
        self.inputs: list[Value] = []
        self.left: dict[Any, Any] = {}

    def begin(self) -> tuple[Any, ...]:
        """Open the region of a turn; return what the variables hold in it."""
        if self.region is not None:
            self.region.forget()
        self.region, self.inputs, held = self.carry.begin()
        resume()
        return held

    def end(self, ends: tuple[Any, ...] | None) -> tuple[bool, tuple[Any, ...] | None]:
        """End a turn; return whether the carry holds what it leaves, and that."""
        assert self.region is not None
        ends = settled(self.region, self.names, ends)
        ends = None if ends is None else tuple([settle(value) for value in ends])
        self.left = left_by(self.region)
        held = () if ends is None else (*ends, *[value for _, value in self.left.values()])
        arrays = [array for value in held for array in arrays_in(value)]
        self.region.leave(held_by(arrays) if self.region.changes else ())
        return self.carry.meet(self.region, self.left, ends), ends

    def record_while(
        self, test: Region, tested: Sequence[Value], go_on: Value, ends: Any
    ) -> tuple[Any, ...]:
        """Record the loop with the region of its test; return what the variables hold after it."""
        assert self.region is not None
        self.carry.check_sharing(self.region, self.left, ends)
        given = self.carry.give(self.region, self.left, ends)
        parts = (
            Part(test, carry=tested, outputs=(go_on,), hands_token_on=False),
            Part(self.region, carry=self.inputs, outputs=given),
        )
        values = record(
            while_, parts, carry=self.carry.entry(), params=lambda n, _: {"captures": n}
        )
        result = self.carry.finish(self.region, self.left, ends, values)
        self.region.forget()
        resume()
        return result

    def record_scan(
        self,
        length: DimLike,
        ends: Any,
        xs: Sequence[Value],
        slices: Sequence[Value],
        ys: Sequence[Value] = (),
        reverse: bool = False,
        has_turns: bool = False,
    ) -> tuple[tuple[Any, ...], list[Tensor]]:
        """Record the loop over the rows of `xs`, of which a turn is given `slices`.

        Parameters
        ----------
        has_turns
            Whether there is at least one turn, and the loop can be unrolled instead.

        Returns
        -------
        state, stacked
            What the variables hold after the loop; and what each turn gave beside, stacked.
        """
        assert self.region is not None
        self.carry.check_sharing(self.region, self.left, ends)
        if has_turns:
            self.carry.refuse_views(self.region, self.left, ends)
        given = self.carry.give(self.region, self.left, ends)
        part = Part(self.region, carry=self.inputs, xs=slices, outputs=given, ys=ys)

        def params(captures: int, carry: int) -> dict[str, Any]:
            return {"captures": captures, "carry": carry, "length": length, "reverse": reverse}

        values = record(scan, (part,), carry=self.carry.entry(), xs=xs, params=params)
        trace = require_trace("a loop")
        stacked = [Tensor(trace, value) for value in values[len(given) :]]
        own = values[: len(given)]
        result = self.carry.finish(self.region, self.left, ends, own, has_turns)
        self.region.forget()
        resume()
        return result, stacked


_PLAIN, _TEST, _BODY = "plain", "test", "body"


class While:
    """A ``while`` loop: Python's own until its test is data, then recorded."""

    def __init__(self, names: tuple[str, ...], state: tuple[Any, ...]) -> None:
        self.names = names
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
        while self._goes_on and not self._is_traced:
            check_time()
            self._remember()
            yield None
        if self._is_traced:
            yield from self._record()

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
        turns = Turns(_titles(self.names), self.state)
        for _ in range(ATTEMPTS):
            self._phase = _TEST
            self.state = turns.begin()
            self._region = test = turns.region
            tested = turns.inputs
            yield None
            assert test is not None
            test.leave()
            if test.changes.keys() - turns.carry.slots.keys():  # those the body changes are carried
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
        raise AssertionError("the carry of a loop never became stable")

    def test(self, value: Any) -> bool:
        """Take the value of the loop's condition; return whether to run the body."""
        tensor = traced(value)
        if self._phase is _PLAIN:
            if tensor is None:
                self._goes_on = bool(value)
                return self._goes_on
            self._take_back()
            self._is_traced = True
            return False
        if self._phase is _TEST:
            assert self._region is not None
            trace = require_trace("a loop")
            if tensor is not None:
                value = Tensor(trace, truth(tensor), None, bool)
            answer = answered(self._region, value if tensor is not None else bool(value))
            self._test = lift(answer) if traced(answer) is not None else trace.scalar(answer, _BOOL)
            return False
        self._take_back()
        return True

    def next(self, state: tuple[Any, ...]) -> None:
        """End a turn with what the variables hold."""
        if self._phase is _BODY:
            self._end = state
        elif self._phase is _PLAIN and not self._is_traced:
            self.state = state

    def stop(self, error: BaseException) -> bool:
        """Take a raise in the body, for every example that comes to it; True if it must go on."""
        if self._phase is not _BODY:
            return True
        assert self._region is not None
        self._has_stopped = stops(error, self._region)
        return not self._has_stopped


class _UnlikeError(Exception):
    """Raised where a loop is recorded some turns of which are not like the others.

    Attributes
    ----------
    alike, others
        How many turns are alike at first, and how many others come behind them.
    """

    def __init__(self, alike: np.ndarray) -> None:
        super().__init__()
        self.alike = int(alike.argmin())
        rest = alike[self.alike :]
        self.others = int(rest.argmax()) if rest.any() else len(rest)


class For:
    """A ``for`` loop: unrolled where it is short or plain, recorded where it is long or data."""

    def __init__(
        self, iterable: Any, names: tuple[str, ...], state: tuple[Any, ...], flag: str | None
    ) -> None:
        self.names = names
        self.state = state
        self._iterable: Any = iterable
        self._flag = flag
        self._is_recording = False
        self._may_fail = False
        self._failure: Exception | None = None
        self._has_stopped = False
        self._is_done = False
        #: Before which turn none is to be recorded, as it is not like those behind.
        self._apart: int | None = None
        #: Whether the data may have ended the loop for some examples.
        self._may_have_ended = False
        self._end: tuple[Any, ...] | None = None
        self._guard: tuple[Fork, Value] | None = None
        self._region: Region | None = None

    def __iter__(self) -> Iterator[Any]:
        trace = state.trace
        sequence = None if trace is None else as_sequence(self._iterable)
        if trace is None or sequence is None:
            if trace is not None:
                take_from_outside(self._iterable)
            items: Iterator[Any] = iter(self._iterable)
            self._iterable = None  # a generator ends with the loop
            yield from self._each(items)
            return
        length = sequence.length
        if not isinstance(length, int):
            yield from self._record(sequence, 0, length)
            return
        may_record = length > SHORT and sequence.can_roll
        position = -1
        while (position := position + 1) < sequence.length:  # a list may grow on the way
            check_time()
            trace = state.trace
            assert trace is not None
            before = len(trace.operations)
            yield sequence.at(position)
            if self._is_done:
                return
            rest = sequence.length - position - 1
            has_left = state.trace is not trace  # a part of the examples, to a handler
            if may_record and rest >= SHORT and (has_left or len(trace.operations) > before):
                is_heavy = rest * sum(map(weight, trace.operations[before:])) >= HEAVY
                if rest < LONG - 1 and not is_heavy and not has_left:
                    continue
                position = yield from self._try(sequence, position + 1, sequence.length)
                may_record = self._apart is not None

    def _each(self, items: Iterator[Any]) -> Iterator[Any]:
        """Take the items of an iterator one by one."""
        while True:
            token = None if state.trace is None else state.trace.token
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                if self._may_have_ended and state.trace is not None and state.trace.token != token:
                    raise UnsupportedError(
                        f"what a loop iterates over has an effect{at(here())}, and the data decide "
                        "whether the loop was left before. Do it in the loop's body"
                    )
            yield item
            if self._is_done:
                return

    def _try(self, sequence: Any, start: int, length: int) -> Generator[Any, None, int]:
        """Record the turns from `start` on; return the last that need not be unrolled after all."""
        if self._apart is not None and start < self._apart:
            return start - 1
        self._apart = None
        trace, before = state.trace, self.state
        assert trace is not None
        mark = len(trace.operations), trace.token
        self._may_fail = True
        try:
            yield from self._record(sequence, start, length)
        except (GeneratorExit, RecursionError):
            raise
        except Exception as error:  # the turns one by one will show it, or go well
            unwind(trace)
            retract(trace, *mark)
            self.state, self._is_recording, self._has_stopped = before, False, False
            if not isinstance(error, _UnlikeError):
                return start - 1
            stop = start + error.alike
            self._apart = stop + error.others
            if error.alike < SHORT:
                return start - 1
            return (yield from self._try_alike(sequence, start, stop))
        finally:
            self._may_fail = False
        return length - 1

    def _try_alike(self, sequence: Any, start: int, stop: int) -> Generator[Any, None, int]:
        """Record turns that are alike, before others that are not."""
        apart, self._apart = self._apart, None
        last = yield from self._try(sequence, start, stop)
        self._apart = apart
        return last

    def _record(self, sequence: Any, start: int, length: Any) -> Iterator[Any]:
        known = dim_of(length)
        has_test = self._flag is not None or known is None
        names = [*_titles(self.names), *["the number of turns"] * has_test]
        counter = (start,) if has_test else ()
        turns = Turns(names, (*self.state, *counter))
        self._is_recording = True
        for _ in range(ATTEMPTS):
            held = turns.begin()
            self._region = region = turns.region
            assert region is not None
            region.is_trial |= self._may_fail
            position = None
            if has_test:
                self.state, index = held[:-1], held[-1]
            else:
                self.state = held
                position = region.input(array_type(_INDEX, ()))
                region.counters.add(position)
                index: Any = Tensor(region, position, None, int)
            if self._may_fail:
                region.counted = Counter(read(index), start, length)
            self._has_stopped = False
            yield sequence.at(index)
            self._check_alike(region)
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            ends = None if self._has_stopped else self._end
            if has_test and ends is not None:
                ends = (*ends, index + 1)
            is_stable, ends = turns.end(ends)
            if not is_stable:
                continue
            if position is not None:
                # Recorded, not captured: whoever compiles it knows how far an index may go.
                assert known is not None
                places = emit(iota, length=known, dtype=_INDEX)
                xs = read(places[start:] if start else places)
                is_counted = isinstance(length, int)
                self.state, _ = turns.record_scan(
                    known - start, ends, (xs,), (position,), has_turns=is_counted
                )
            else:
                test, tested, go_on = self._test(turns, length)
                self.state = turns.record_while(test, tested, go_on, ends)[:-1]
            self._is_recording = False
            return
        raise AssertionError("the carry of a loop never became stable")

    def _check_alike(self, region: Region) -> None:
        """Have the turns in which a slice is cut off unrolled, where there are few of them."""
        if region.counted is None or region.counted.alike.all():
            return
        alike = region.counted.alike
        if np.count_nonzero(~alike) <= APART:
            raise _UnlikeError(alike)

    def _test(self, turns: Turns, length: Any) -> tuple[Region, list[Value], Value]:
        """Record the region that says whether there is another turn."""
        region, inputs, held = turns.carry.begin()
        resume()
        there = held[-1] < length
        if self._flag is not None:
            flag = held[self.names.index(self._flag)]
            going = not_(flag)
            there = there & going
        go_on = truth(answered(region, there))
        region.leave()
        return region, inputs, go_on

    def enter(self, flag: Any = None) -> bool:
        """Begin a turn; ``flag`` says whether the loop was left before, as far as it is known."""
        tensor = None if flag is None or self._is_recording else traced(flag)
        if tensor is not None:
            going = truth(not_(tensor))
            fork = Fork(_titles(self.names))
            fork.open()
            self._guard = fork, going
        return True

    def next(self, state: tuple[Any, ...], flag: Any = None) -> None:
        """End a turn with what the variables hold, and whether the loop is left."""
        if self._is_recording:
            self._end = state
            return
        if self._guard is None:
            self.state = state
            is_data = flag is not None and traced(flag) is not None
            self._may_have_ended |= is_data
            self._is_done = flag is not None and not is_data and bool(flag)
            return
        (fork, going), self._guard = self._guard, None
        fork.close(None if self._has_stopped else state)
        fork.open()
        fork.close(self.state)
        self._has_stopped = False
        self.state = fork.join(cond, going)

    def stop(self, error: BaseException) -> bool:
        """Take what the body raised: the end of a turn, or of recording; True if it must go on."""
        if isinstance(error, RecursionError):
            return True
        if self._is_recording and self._may_fail and isinstance(error, Exception):
            self._failure = error
            return False
        region = self._region if self._is_recording else None
        if self._guard is not None:
            region = self._guard[0].regions[-1]
        self._has_stopped = region is not None and stops(error, region)
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
    turns = Turns(("the carry",), (initial,))
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
