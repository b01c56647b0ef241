"""The drivers of ``try`` statements: which turns a converted one takes.

In the first turn its body runs as it stands, watched by an attempt
(`lanewise.autograph.attempts`). Then there is a turn for each kind of exception that examples have
raised, in which Python finds the handler.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.attempts import Attempt, Handler, flattened, in_expression
from lanewise.autograph.branches import Fork, deliver
from lanewise.autograph.keeping import unreachable
from lanewise.autograph.state import DONT_CARE, called
from lanewise.errors import REFUSALS, UnsupportedError, at
from lanewise.ir.location import here, place_of
from lanewise.ops.control import cond, switch
from lanewise.ops.elementwise import elementwise
from lanewise.trace.formatting import Text, deferred, finish
from lanewise.trace.regions import Continuation, Watched, resume, settled, unwind
from lanewise.trace.tensor import Tensor, lift
from lanewise.trace.trace import Stop, Trace, require_trace, state


class PlainTry:
    """A ``try`` outside of traces: Python's own."""

    __slots__ = ()
    foreign: tuple[type[BaseException], ...] = (Stop,)

    def __iter__(self) -> Iterator[None]:
        return iter((None,))

    def enter(self) -> None:
        """Begin the body."""

    def leave(self) -> None:
        """End the body."""

    def last(self) -> bool:
        """Return whether to run what stands behind ``finally``."""
        return True

    def handle(self) -> None:
        """Begin a handler."""

    def end(self, state: tuple[Any, ...], rest: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """Return the variables as they are."""
        return state + rest if rest else state

    def stop(self, error: BaseException) -> bool:
        """Let what was raised go on: return True."""
        return True


_PLAIN = PlainTry()


class Try:
    """A ``try`` statement that is traced; see the head of the module."""

    def __init__(
        self,
        names: tuple[str, ...],
        rest: tuple[str, ...],
        handlers: Sequence[Handler],
        is_final: bool,
        prints: bool,
        frame: Any,
    ) -> None:
        self._names = names
        self._rest = rest
        self._attempt = Attempt((*names, *rest), handlers, is_final, prints)
        self._frame = frame
        self._turn = 0
        base = self._attempt.base
        self._count = len(base.made()) if isinstance(base, Watched) else 0
        self._fork: Fork | None = None
        self._raised: BaseException | None = None
        self._has_stopped = False
        self._is_done = False

    def __iter__(self) -> Iterator[None]:
        while not self._is_done:
            yield None
            self._turn += 1

    @property
    def foreign(self) -> tuple[type[BaseException], ...]:
        """What no handler catches."""
        for handler in self._attempt.handlers:
            if any([issubclass(kind, REFUSALS) for kind in flattened(handler.kinds())]):
                return (Stop,)
        return (Stop, *REFUSALS)

    def enter(self) -> None:
        """Begin the body; in a later turn, raise what the turn is for."""
        if not self._turn:
            self._refuse_warnings()
            self._attempt.frame = self._frame
            state.attempt = self._attempt
            return
        self._raised = self._exception(self._turn - 1)
        raise self._raised

    def _refuse_warnings(self) -> None:
        """Raise where a handler waits for warnings that are turned into errors."""
        if not any([entry[0] == "error" for entry in warnings.filters]):
            return
        for handler in self._attempt.handlers:
            try:
                kinds = flattened(handler.kinds())
            except Exception:  # Python evaluates them only where something is raised
                continue
            if any([isinstance(kind, type) and issubclass(kind, Warning) for kind in kinds]):
                raise UnsupportedError(
                    f"a try catches warnings that are errors{at(here())}, which NumPy gives when "
                    "the examples run, for all at once. Check the numbers instead: if x == 0"
                )

    def _exception(self, number: int) -> BaseException:
        kind = self._attempt.kinds[number]
        if kind.make is None:
            return kind.error.__new__(kind.error)
        operands = [
            getattr(self._attempt, f"operand {number} {position}")
            for position, _ in enumerate(kind.types)
        ]
        handle = deferred()
        error = kind.make(*operands)
        fields = finish(handle)
        if fields:
            error.args = tuple(
                [Text(part, fields) if type(part) is str else part for part in error.args]
            )
        return error

    def leave(self) -> None:
        """End the body."""
        self._attempt.leave()
        self._frame = None

    def last(self) -> bool:
        """End the body; return whether any example gets to what stands behind ``finally`` now."""
        self.leave()
        return sys.exc_info()[0] is not Stop

    def handle(self) -> None:
        """Begin a handler: leave the regions that the exception has left."""
        self.leave()
        if self._turn:
            return
        chain, trace = [], state.trace
        while trace is not None and trace is not self._attempt.base:
            chain.append(trace)
            trace = trace.parent
        last: Trace | None = self._attempt.base
        for region in reversed(chain):
            if type(region) is not Continuation:
                break
            last = region
        lost = last is not (chain[0] if chain else self._attempt.base)
        unwind(last)
        if lost:
            raise in_expression(here())

    def stop(self, error: BaseException) -> bool:
        """Take what leaves the statement; True if it must go on as it is."""
        self.leave()
        if isinstance(error, Stop):
            if not self._attempt.kinds:
                return True
        elif isinstance(error, REFUSALS) or state.trace is self._attempt.base:
            return True
        else:
            self.handle()
            trace = require_trace("raise")
            place = place_of(error.__traceback__)
            if error is self._raised:  # which has gone on
                place = self._attempt.kinds[self._turn - 1].place or place
            trace.location = place
            deliver(error, place=place)
            if not self._attempt.kinds:
                raise Stop
        self._has_stopped = True
        return False

    def end(self, values: tuple[Any, ...], rest: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """End a turn; return what the variables hold before the next, or after the last."""
        attempt = self._attempt
        self.leave()
        if not attempt.kinds:
            self._is_done = True
            return values + rest
        ends: tuple[Any, ...] | None = None if self._has_stopped else values
        if not self._turn:
            ends = settled(attempt.base, self._names, ends)
            if not any(map(attempt.has_raised, range(len(attempt.kinds)))):
                self._is_done = True  # only in a recording that was given up
                if ends is None:
                    raise Stop
                return ends + tuple([DONT_CARE] * len(self._rest))
            self._fork = Fork([called(name) for name in self._names])
            self._fork.open()
        self._has_stopped = False
        fork = self._fork
        assert fork is not None
        gone = (
            () if ends is None else unreachable(fork.regions[-1], attempt.base, self._count, ends)
        )
        fork.close(ends, is_live=not self._turn)
        fork.changes[-1].update({slot.key: (slot, DONT_CARE) for slot in gone})
        while self._turn < len(attempt.kinds):
            fork.open()
            if not attempt.has_raised(self._turn):  # in a recording that was given up
                fork.close(None)
                self._turn += 1
                continue
            shapes = attempt.kinds[self._turn].shapes
            attempt.keeper.restore(shapes)
            outer = attempt.outer
            while outer is not None:  # what was raised here was raised by nobody further out
                if isinstance(outer.code, Tensor):
                    outer.forget()
                outer = outer.outer
            return tuple([attempt.keeper.kept(n, shapes) for n in (*self._names, *self._rest)])
        self._is_done = True
        code = attempt.code
        trace = require_trace("a try statement")
        if len(attempt.kinds) == 1:
            zero = trace.scalar(0, np.dtype(np.int64))
            (index,) = trace.record(elementwise(np.equal), (lift(code), zero), {"dtype": None})
            result = fork.join(cond, index)
        else:
            result = fork.join(switch, lift(code))
        if fork.stopped == len(fork.regions):
            raise Stop
        resume()
        return result + tuple([DONT_CARE] * len(self._rest))


def try_(
    names: tuple[str, ...],
    rest: tuple[str, ...],
    handlers: tuple[tuple[Callable[[], Any], bool], ...],
    is_final: bool,
    prints: bool,
    manager: Any = None,
) -> Any:
    """Return the turns of a ``try`` statement.

    Parameters
    ----------
    names, rest
        The variables that it may change; and those that nobody reads after it.
    handlers
        For each handler, what gives the classes that it catches, and whether it has a use for the
        exception itself.
    is_final
        Whether there is a ``finally``.
    prints
        Whether that prints, so that it matters though nobody catches what is raised.
    manager
        Of the body of a ``with`` block, what `lanewise.autograph.managers.following` gave.
    """
    trace = state.trace
    if trace is None or trace.is_eager or (manager is not None and not manager.caught):
        return _PLAIN
    made = [Handler(*handler) for handler in handlers]
    return Try(names, rest, made, is_final, prints, sys._getframe(1))
