"""The ``for`` loop: unrolled where it is short or plain, recorded where it is long or data."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from lanewise.autograph.alike import NotCounted, UnlikeError, Whole, counter_of, define_counter
from lanewise.autograph.branches import Fork, not_, stops, truth
from lanewise.autograph.carry import Carry
from lanewise.autograph.cursors import Cursor
from lanewise.autograph.history import History, history_here
from lanewise.autograph.iterables import Named
from lanewise.autograph.iterators import (
    is_users,
    lists_gone_through,
    refuse_arrays,
    taking,
)
from lanewise.autograph.pulled import Pull, cells_of, is_fresh, pulled
from lanewise.autograph.sequences import (
    Items,
    ListChanged,
    TracedRange,
    as_sequence,
    check_unchanged,
)
from lanewise.autograph.turns import ATTEMPTS, Turns, titles, weakened
from lanewise.autograph.values import traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ir.types import array_type
from lanewise.ops.control import cond
from lanewise.ops.creation import iota
from lanewise.trace import tree
from lanewise.trace.contents import ON_CONTENTS
from lanewise.trace.journal import Journal
from lanewise.trace.lending import all_lent, forget
from lanewise.trace.limits import check_time, weight
from lanewise.trace.regions import (
    Region,
    answered,
    born,
    resume,
    retract,
    unwind,
)
from lanewise.trace.sizes import dim_of
from lanewise.trace.tensor import Tensor, emit, read
from lanewise.trace.trace import Trace, state

#: A loop of as many turns is recorded once its first turn has shown that it computes with data,
LONG = 16
#: and one of as many more turns if they would record as many operations.
SHORT, HEAVY = 4, 300
#: Fewer turns are written out, unless that takes so many operations (a second of compiling), as in
#: nests of short loops: not even of so many turns more.
TOO_HEAVY, FEWEST = 1000, 2
#: After so many turns containers may have settled that a loop changes, as full deques do.
SETTLED = (8, 64, 512)
#: So many turns at most are unrolled beside recorded ones, as slices are cut off in them.
APART = 64

_INDEX = np.dtype(np.int64)


def _rolled(trace: Trace) -> set[Any]:
    """Return the places of loops that were recorded in the whole function."""
    while trace.parent is not None:
        trace = trace.parent
    return trace.rolled


def _steps(sequence: Items, position: int) -> Any:
    """Return a generator of the items from a position on, of a list that may change."""
    cursor = born(Cursor(sequence))
    cursor.move(position)
    return ON_CONTENTS["steps"](cursor)


class For:
    """A ``for`` loop: unrolled where it is short or plain, recorded where it is long or data."""

    def __init__(
        self, iterable: Any, names: tuple[str, ...], state: tuple[Any, ...], flag: str | None,
        shared: Callable[[], Any] | None = None,
    ) -> None:  # fmt: skip
        self.names = names
        self.state = state
        self._iterable: Any = iterable
        self._flag = flag
        #: By position, the variables that functions within assign to, as a generator may.
        self._cells = {} if shared is None else cells_of(shared, names)
        self.is_recording = False
        self._may_fail = False
        self._failure: Exception | None = None
        #: In which a turn is being recorded.
        self.region: Region | None = None
        self._has_stopped = False
        self._is_done = False
        #: What is known while it is recorded only if no variable is of another class after a turn.
        self._whole: Whole | None = None
        #: Whether the first turn is recorded with the others, after these have been without it.
        self._is_again = False
        #: What passed from turn to turn when it was recorded, and whether all turns were so.
        self._carry: Carry | None = None
        self.is_whole = False
        #: What was seen of it when it was recorded before.
        self._history: History | None = None
        #: How many operations a turn records, if one was.
        self._weight = 0
        #: Before which turn none is to be recorded, as it is not like those behind.
        self._apart: int | None = None
        #: What the variables held before the turn in front of those that are recorded.
        self._before: tuple[Any, ...] = ()
        #: Whether the last turn is run by itself: variables then hold arrays of its sizes.
        self._last_apart = False
        #: Whether the data may have ended the loop for some examples.
        self._may_have_ended = False
        self._end: tuple[Any, ...] | None = None
        self._guard: tuple[Fork, Value] | None = None
        #: Whether its turns change the list that it goes through, whose length is data.
        self._is_changed = False
        #: Its way through a generator that may be left within what follows the data.
        self._pull: Pull | None = None

    def __iter__(self) -> Iterator[Any]:
        items = self._iterable
        if state.trace is None or as_sequence(items) is not None:
            return self._all(items)
        is_named = type(items) is Named
        own = items.items if is_named else iter(items)
        if not is_users(own):
            return self._all(items if own is items or is_named else born(own))
        if type(own) is Cursor and not is_named and self._flag is None:
            return self._rest(own)
        return self._all(ON_CONTENTS["steps"](own))

    def _rest(self, cursor: Cursor) -> Iterator[Any]:
        """Go through all that an iterator has left."""
        yield from self._all(cursor.rest(in_loop=True))
        cursor.end()

    def _all(self, items: Any) -> Iterator[Any]:
        trace, self._iterable = state.trace, items
        sequence = None if trace is None else as_sequence(items)
        if trace is None or sequence is None:
            self._iterable = None  # a generator ends with the loop
            iterator = iter(items)
            if iterator is items:
                own = items.items if type(items) is Named else items
                taking(own, is_fresh(own))
            del items
            yield from self._each(iterator)
            return
        length = sequence.length
        if not isinstance(length, int):
            yield from self._record_unchanged(sequence, length)
            if self._is_changed:
                yield from self._each(_steps(sequence, 0))
            return
        # Asking makes tensors of a list's arrays, so of few it is asked once they are too heavy.
        may_record = length > FEWEST and (length <= SHORT or sequence.can_roll)
        rolled, site = _rolled(trace), here()
        #: What the variables held when the recording failed: they may settle, as histories fill.
        failed: Any = None
        position = -1
        if may_record and site in rolled and sequence.can_roll:  # in a loop around
            position = yield from self._try_whole(sequence, length)
        first, journal = self.state, None
        if may_record and site not in rolled:
            journal = Journal(trace)
        while True:
            position, length = position + 1, sequence.length  # a list may grow on the way
            if not isinstance(length, int):
                yield from self._each(_steps(sequence, position))
                return
            if position >= length:
                break
            check_time()
            # A list is changed itself.
            self._before = tuple([len(x) if type(x) is list else x for x in self.state])
            # Rarely, as lists may be as long as there were turns.
            looks = failed is not None and position & (position + 1) == 0
            held = tree.flatten(self.state)[1] if looks else None
            trace = state.trace
            assert trace is not None
            before = len(trace.operations)
            yield sequence.at(position)
            if self._is_done:
                break
            rest = sequence.length - position - 1
            if looks and rest >= LONG:
                has_settled = held != failed and held == tree.flatten(self.state)[1]
                may_record |= has_settled or position + 1 in SETTLED
            has_left = state.trace is not trace  # a part of the examples, to a handler
            if may_record and rest >= FEWEST and (has_left or len(trace.operations) > before):
                most = HEAVY if rest >= SHORT else TOO_HEAVY
                self._weight = sum(map(weight, trace.operations[before:]))
                is_heavy = rest * self._weight >= most
                may_try = rest >= LONG - 1 or is_heavy or (has_left and rest >= SHORT)
                if may_try and not sequence.can_roll:
                    may_record = may_try = False
                if not may_try:
                    continue
                begins = journal is not None and position == 0
                position = yield from self._try(sequence, position + 1, sequence.length)
                if position == sequence.length - 1:
                    rolled.add(site)
                    if begins and journal is not None:
                        yield from self._take_first(sequence, journal, first)
                may_record = self._apart is not None
                failed = None if may_record else tree.flatten(self.state)[1]
            if journal is not None:
                journal.close()
                journal = None
        if journal is not None:
            journal.close()

    def _take_first(self, sequence: Any, journal: Journal, first: tuple[Any, ...]) -> Iterator[Any]:
        """Record the first turn with the others, that were recorded, if it is like them.

        ``journal`` knows what all of them have changed, ``first`` is what there was before.
        """
        if not self.has_done_all(journal):
            return
        journal.close()
        last, self._is_again = self.state, True
        again = journal.undo()
        self.state = first
        position = yield from self._try_whole(sequence, sequence.length, last)
        self._is_again = False
        if position < 0:
            again()
            self.state = last

    def has_done_all(self, journal: Journal) -> bool:
        """Whether what has changed since a journal began is what the recorded turns change."""
        carry = self._carry
        assert carry is not None
        is_within = carry.is_exact and journal.is_within(carry.slots)
        return is_within and state.trace is journal.trace

    def whole(self, last: tuple[Any, ...]) -> Iterator[Any]:
        """Record all turns, if they are alike, which `is_whole` says; else nothing has changed.

        ``last`` is what the variables become.
        """
        sequence = as_sequence(self._iterable)
        assert sequence is not None
        self._is_again = True
        yield from self._try_whole(sequence, sequence.length, last)

    def _try_whole(
        self, sequence: Any, length: int, last: tuple[Any, ...] | None = None
    ) -> Generator[Any, None, int]:
        """Record all turns, as `_try` does, if no variable is of another class behind them.

        A number of Python's may become one of NumPy's: where a turn is recorded the same way with
        either, it is one of NumPy's from the beginning. ``last`` is what variables are to become,
        where that is known.
        """
        first, position = self.state, -1
        self._whole = whole = Whole(first, first if last is None else last)
        if whole.strong is None:
            position = yield from self._try(sequence, 0, length)
        if whole.strong is not None:
            self.state, whole.is_probe = weakened(first, whole.strong), True
            yield from self._try(sequence, 0, length)
            self.state, whole.is_probe = whole.strong, False
            position = yield from self._try(sequence, 0, length)
        self._whole = None
        self.is_whole = position == length - 1
        if position < 0:
            self.state = first
        return position

    def _each(self, items: Iterator[Any]) -> Iterator[Any]:
        """Take the items of an iterator one by one."""
        lists = lists_gone_through(items)
        own = items.items if type(items) is Named else items
        pull = self._pull = pulled(own, self, titles(self.names), self._cells, self._has_left)
        while True:
            refuse_arrays(lists)
            if self._may_have_ended and type(items) is Named:
                raise UnsupportedError(
                    f"the data decide where a loop leaves an iterator that a variable holds"
                    f"{at(here())}: what is left of it is not known. Loop over a list or an array"
                )
            trace = state.trace if self._may_have_ended else None
            journal = None if trace is None else Journal(trace)
            token = None if trace is None else trace.token
            try:
                item = next(items) if pull is None else pull.take()
            except StopIteration:
                self._look_again()
                return
            finally:
                if trace is not None and journal is not None:
                    journal.close()
                    if journal.changes or state.trace is not trace or trace.token != token:
                        raise UnsupportedError(
                            f"what a loop iterates over has an effect{at(here())}, and the data "
                            "decide whether the loop was left before. Do it in the loop's body"
                        )
            self._look_again()
            yield item
            if self._is_done:
                if pull is not None:
                    pull.end()
                return

    def _look_again(self) -> None:
        """Take variables for what functions within have made them since the last turn."""
        if self._cells:
            held = list(self.state)
            for position, cell in self._cells.items():
                held[position] = cell.cell_contents
            self.state = tuple(held)

    def _has_left(self) -> Any:
        """Whether it was left before the next turn."""
        return False if self._flag is None else self.state[self.names.index(self._flag)]

    def _record_unchanged(self, sequence: Any, length: Any) -> Iterator[Any]:
        """Record all turns, unless they change the list that they go through."""
        undo = self._undoing()
        try:
            yield from self._record(sequence, 0, length)
        except ListChanged:
            undo()
            self._is_changed = True

    def _undoing(self) -> Callable[[], None]:
        """Return what has been recorded from here on undone."""
        trace, before = state.trace, self.state
        assert trace is not None
        mark = len(trace.operations), trace.token
        lent = all_lent()

        def undo() -> None:
            unwind(trace)
            retract(trace, *mark)
            forget(lent)
            self.state, self.is_recording, self._has_stopped = before, False, False

        return undo

    def _try(self, sequence: Any, start: int, length: int) -> Generator[Any, None, int]:
        """Record the turns from `start` on; return the last that need not be unrolled after all."""
        if self._apart is not None and start < self._apart:
            return start - 1
        self._apart, undo = None, self._undoing()
        self._may_fail = True
        try:
            yield from self._record(sequence, start, length)
        except (GeneratorExit, RecursionError):
            raise
        except Exception as error:  # the turns one by one will show it, or go well
            undo()
            if self._is_again or not isinstance(error, UnlikeError):
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
        names = [*titles(self.names), *["the number of turns"] * has_test]
        counter = (start,) if has_test else ()
        if self._history is None:
            self._history = history_here()
        turns = Turns(names, (*self.state, *counter), self._history, self._may_fail)
        if self._may_fail and not has_test:
            turns.carry.step(self._before, length - start)
        self.is_recording = True
        index: Any = None
        item: Any = None
        first = 0
        is_range = type(sequence) is TracedRange

        def count(region: Region) -> Any:
            nonlocal index, item, first
            position = region.input(array_type(_INDEX, ()))
            region.counters.add(position)
            number: Any = Tensor(region, position, None, int)
            index, item = number, sequence.at(number) if is_range else None
            region.counted = counter_of(region, sequence, (number, item), start, known, False)
            first = len(region.operations)
            return number - start if start else number

        for _ in range(ATTEMPTS):
            held = turns.begin() if has_test else turns.begin(count)
            self.region = region = turns.region
            assert region is not None
            region.is_trial |= self._may_fail
            region.weight = self._weight
            position = None if has_test else index._value
            self.state = held
            if has_test:
                self.state, index = held[:-1], held[-1]
            if has_test or not is_range:
                item = sequence.at(index)  # of what turns leave of a list
            if has_test:
                if self._may_fail:
                    region.counted = counter_of(region, sequence, (index, item), start, known, True)
                first = len(region.operations)
            size = sequence.length
            self._has_stopped = False
            yield item
            self._check_alike(region)
            check_unchanged(sequence, region, size)
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            ends = None if self._has_stopped else self._end
            if has_test and ends is not None:
                ends = (*ends, held[-1] + 1)
            is_stable, ends = turns.end(ends)
            if self._whole is not None:
                self._whole.check(turns, ends, is_stable)
            if not is_stable:
                continue
            if region.counted is not None and region.counted.is_size:
                define_counter(region, first)
            if self._is_again and region.counted is not None and region.counted.begins_apart:
                raise NotCounted
            self._carry = turns.carry
            if turns.carry.has_lost() and self._may_fail and not self._last_apart:
                self._last_apart = True
                raise UnlikeError(np.arange(start + 1, length + 1) < length)
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
            self.is_recording = False
            return
        turns.give_up()

    def _check_alike(self, region: Region) -> None:
        """Have the turns in which a slice is cut off unrolled, where there are few of them."""
        alike = None if region.counted is None else region.counted.alike
        if alike is None or alike.all():
            return
        if self._may_fail and np.count_nonzero(~alike) <= APART:
            raise UnlikeError(alike)

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
        is_asked = flag is not None and not self.is_recording and self._pull is None
        tensor = traced(flag) if is_asked else None
        if tensor is not None:
            going = truth(not_(tensor))
            fork = Fork(titles(self.names))
            fork.open()
            self._guard = fork, going
        return True

    def next(self, state: tuple[Any, ...], flag: Any = None) -> None:
        """End a turn with what the variables hold, and whether the loop is left."""
        if self.is_recording:
            self._end = state
            return
        if self._pull is not None:
            self._pull.leave(state)
            self._is_done = self._pull.is_left(flag)
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

    def require(self, is_so: bool) -> None:
        """Have the turns taken one by one, unless what the recording relies on is so."""
        if not is_so and self._failure is None:
            self._failure = NotCounted()

    def stop(self, error: BaseException) -> bool:
        """Take what the body raised: the end of a turn, or of recording; True if it must go on."""
        if isinstance(error, RecursionError):
            return True
        if self._pull is not None and self._pull.stop(error):
            return False
        if self.is_recording and self._may_fail and isinstance(error, Exception):
            self._failure = error
            return False
        region = self.region if self.is_recording else None
        if self._guard is not None:
            region = self._guard[0].regions[-1]
        self._has_stopped = region is not None and stops(error, region)
        return not self._has_stopped
