"""Generators that are left within branches and loops that follow the data, by whoever pulls them.

A generator is left in a branch before the branch's region has ended, and the loop that goes through
it takes its turn in that region: so what a turn does is done for those examples that came to the
``yield``. All that has to be seen to is what Python keeps to itself. The variables of the loop are
places like any others (`VariableSlot`), which the generator's branches and loops join and carry; a
loop that is left has the generator return, where it is gone on with for other examples; and what a
turn raises goes through the generator, whose branches end for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, GeneratorType
from typing import Any

from lanewise.autograph.build import GENERATOR
from lanewise.autograph.cursors import Cursor
from lanewise.autograph.values import traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.regions import born, note, note_cell
from lanewise.trace.slots import Slot
from lanewise.trace.trace import state


def is_followed(code: CodeType) -> bool:
    """Whether the generators of a function may be left within what follows the data."""
    return GENERATOR in code.co_varnames


def is_fresh(x: Any) -> bool:
    """Whether something is a generator that follows the data, and that nobody has begun."""
    if type(x) is not GeneratorType or not is_followed(x.gi_code):
        return False
    frame = x.gi_frame
    return frame is not None and GENERATOR not in frame.f_locals and not x.gi_running


def follows(x: Any) -> bool:
    """Whether something is an iterator of which a loop takes the items as the data say."""
    return type(x) is Cursor or is_fresh(x)


def is_of_data(x: Any) -> bool:
    """Whether something is an iterator of which data may tell how many items it has left."""
    if type(x) is Cursor:
        return type(x.position) is not int or type(x.items.length) is not int
    return is_fresh(x)


class VariableSlot(Slot):
    """A variable of a loop that goes through a generator."""

    __slots__ = ("_position",)
    is_outer = False

    def __init__(self, loop: Any, position: int, name: str) -> None:
        super().__init__(("variable", id(loop), position), name, loop)
        self._position = position

    def get(self) -> Any:
        return self.owner.state[self._position]

    def set(self, value: Any) -> None:
        held = self.owner.state
        self.owner.state = (*held[: self._position], value, *held[self._position + 1 :])


#: Where loops are driven, by whose functions an item is asked for.
_LOOPS = "lanewise.autograph.for_loops"
#: What a generator yields at its end, to the loop that goes through it.
_END = object()


class Pull:
    """A loop's way through a generator that nobody else has begun.

    Attributes
    ----------
    frame
        Of the generator, None once the loop is through.
    taker, outer
        The frame of the loop, and what that is pulled by itself, while the generator runs.
    """

    def __init__(
        self, items: Any, loop: Any, names: list[str], cells: dict[int, Any],
        has_left: Callable[[], Any],
    ) -> None:  # fmt: skip
        self.frame = items.gi_frame
        self.taker: Any = None
        self.outer: Pull | None = None
        self.has_left = has_left
        self._items: Any = items
        self._loop = loop
        self._names, self._cells = names, cells
        self._trace = state.trace
        self._error: BaseException | None = None
        born(loop)

    def take(self) -> Any:
        """Return the next item; raise `StopIteration` where there is none."""
        self.outer, state.pull = state.pull, self
        frame: Any = sys._getframe(1)
        while frame.f_globals.get("__name__") == _LOOPS:
            frame = frame.f_back
        self.taker = frame
        error, self._error = self._error, None
        try:
            item = next(self._items) if error is None else self._items.throw(error)
        finally:
            state.pull, self.outer, self.taker = self.outer, None, None
        if item is _END:
            self.end()
            raise StopIteration
        return item

    def end(self) -> None:
        """Have nothing to do with the generator any more."""
        self.frame = self._items = None

    def is_left(self, flag: Any) -> bool:
        """Whether a loop with such a flag is left for all examples, and its generator stays."""
        return state.trace is self._trace and traced(flag) is None and bool(flag)

    def leave(self, held: tuple[Any, ...]) -> None:
        """End a turn with what the loop's variables hold."""
        if self._error is not None:
            return
        for position, (old, new) in enumerate(zip(self._loop.state, held, strict=True)):
            if position in self._cells and old is not new:
                cell = self._cells[position]
                cell.cell_contents = old  # for whoever notes what was there
                note_cell(cell)
                cell.cell_contents = new
            elif old is not new:
                note(VariableSlot, self._loop, position, self._names[position])
        self._loop.state = held

    def variables(self) -> dict[str, Any]:
        """Return what the loop's variables hold."""
        return dict(zip(self._loop.names, self._loop.state, strict=True))

    def stop(self, error: BaseException) -> bool:
        """Take what a turn raised, where a branch or loop of the generator is to end for it."""
        if state.trace is self._trace or isinstance(error, RecursionError):
            return False
        self._error = error
        return True


class Suspension:
    """Where a generator is left, and gone on with: the variable `GENERATOR` in it."""

    __slots__ = ("_pull", "_trace", "_was_left")

    def __init__(self) -> None:
        pull = state.pull
        is_pulled = pull is not None and pull.frame is sys._getframe(1)
        self._pull: Pull | None = pull if is_pulled else None
        self._trace = state.trace
        self._was_left = False

    def given(self, item: Any = None) -> Any:
        """Return what the generator yields."""
        if self._loops() is None and state.trace is not self._trace:
            raise UnsupportedError(
                f"the data decide whether a generator comes to a yield{at(here())}, and what takes "
                "its items is no loop. Go through it with a for loop, or return a list"
            )
        return item

    def is_over(self) -> Any:
        """Whether the loop was left that has taken the item."""
        pull = self._loops()
        if pull is None and not _is_within(self._trace):
            raise _gone_on()
        self._trace = state.trace
        over = False if pull is None else pull.has_left()
        self._was_left |= over is not False
        return over

    def end(self) -> Iterator[Any]:
        """Give what ends the loop; what goes on with the generator behind it has no item."""
        if self._loops() is None:
            return
        trace = state.trace
        yield _END
        if self._was_left or not _is_within(trace):
            raise _gone_on()

    def _loops(self) -> Pull | None:
        """Return the way of the loop that goes through the generator, None for any other taker."""
        return None if self._pull is None or self._pull.frame is None else self._pull


def _is_within(trace: Any) -> bool:
    """Whether what is recorded is within a trace, or that itself."""
    around = state.trace
    while around is not None and around is not trace:
        around = around.parent
    return around is trace


def _gone_on() -> UnsupportedError:
    return UnsupportedError(
        f"a generator is gone on with{at(here())} that was left where the data decide: how far it "
        "has come differs from example to example. Gather its items in a list, and go through that"
    )


def pulled(items: Any, *loop: Any) -> Pull | None:
    """Return a loop's way through what it goes through, if that is a generator of its own."""
    return Pull(items, *loop) if is_fresh(items) else None


def cells_of(shared: Any, names: tuple[str, ...]) -> dict[int, Any]:
    """Return by position the cells of variables that a function returns."""
    code, closure = shared.__code__, shared.__closure__
    cells = dict(zip(code.co_freevars, closure or (), strict=True))
    return {n: cells[name] for n, name in enumerate(names) if name in cells}


def variables_of(frame: Any) -> dict[str, Any]:
    """Return what the variables of a function hold, also of one that goes through a generator."""
    held = dict(frame.f_locals)
    pulls, pull = [], state.pull
    while pull is not None:
        pulls.append(pull)
        pull = pull.outer
    for pull in reversed(pulls):
        if pull.taker is frame:
            held.update(pull.variables())
    return held
