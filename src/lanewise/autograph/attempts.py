"""``try`` on data: an example whose body raises leaves it there, and runs its own handler.

A converted ``try`` is a ``for`` loop over a driver. In its first turn the body runs as it stands.
What may raise for some examples (`Attempt.fails`) opens a `Continuation`, a region for the
others, in which everything runs that follows, wherever Python goes from there. When the branch,
the loop's turn or the ``try`` ends in which that happens, the continuation is joined with what
was there where it began: the variables as they were, and a number that says what was raised.
That number is one of the places that regions change (`lanewise.trace.regions`), so branches and
loops hand it on. Then there is a turn for each kind of exception, for the examples that raised it:
it is raised there, and Python finds the handler.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lanewise.autograph.aliases import settle
from lanewise.autograph.branches import Fork, deliver
from lanewise.autograph.state import DONT_CARE, Undefined, called
from lanewise.autograph.templates import Templates
from lanewise.errors import REFUSALS, UnsupportedError, at
from lanewise.ir.graph import Value
from lanewise.ir.location import here, place_of
from lanewise.ops.checks import fails
from lanewise.ops.control import cond, switch
from lanewise.ops.elementwise import elementwise, where
from lanewise.trace.formatting import Text, deferred, finish
from lanewise.trace.regions import Continuation, Region, resume, settled, unwind
from lanewise.trace.slots import HeldSlot
from lanewise.trace.tensor import Tensor, as_tensor, emit, lift
from lanewise.trace.trace import Stop, Trace, require_trace, state

Make = Callable[..., BaseException]


class Handler(NamedTuple):
    """What stands behind ``except``, and whether the exception itself is of interest to it."""

    kinds: Callable[[], Any]
    uses_it: bool


class Kind(NamedTuple):
    """One kind of exception that leads to a turn of its own."""

    error: type[BaseException]
    make: Make | None  # None: the handler does not look at it
    types: tuple[Any, ...]


class Attempt:
    """What a ``try`` knows while its body is recorded: a link in the chain of those around.

    Attributes
    ----------
    code : int or Tensor
        0 where nothing was raised, else the number of a kind of exception.
    titles : dict of str to str
        What messages call what the attempt holds.
    """

    #: Whether all that an example has done is given up when it raises.
    drops = False
    #: Whether it stands for a ``with`` block at whose end an exception may end.
    swallows = False

    def __init__(
        self, names: Sequence[str], handlers: Sequence[Handler], is_final: bool, prints: bool
    ) -> None:
        self.names = names
        self.handlers = handlers
        self.is_final = is_final
        self.prints = prints
        self.frame: Any = None
        self.kinds: list[Kind] = []
        self.titles = {f"held {name}": called(name) for name in names}
        self.code: Any = 0
        #: What the ``with`` blocks in the body hold that is entered now.
        self.managers: list[Any] = []
        for name in self.titles:
            setattr(self, name, DONT_CARE)
        self.base = require_trace("a try statement")
        if isinstance(self.base, Region):
            self.base.bear(self)
        self.outer: Attempt | None = state.attempt

    # --- what raises

    def handler_of(self, error: type[BaseException]) -> int | None:
        """Return which handler catches exceptions of a class; None if none does."""
        for number, handler in enumerate(self.handlers):
            if issubclass(error, flattened(handler.kinds())):
                return number
        if self.swallows:
            return 0
        is_seen = self.prints or (self.outer is not None and self.outer.catching(error))
        return len(self.handlers) if self.is_final and is_seen else None

    def catching(self, error: type[BaseException]) -> Attempt | None:
        """Return the innermost attempt that catches exceptions of a class, or must see them."""
        if issubclass(error, REFUSALS):
            return None
        attempt: Attempt | None = self
        while attempt is not None and attempt.handler_of(error) is None:
            attempt = attempt.outer
        return attempt

    def fails(
        self,
        error: type[BaseException],
        ok: Value | None,
        make: Make,
        operands: Sequence[Tensor] = (),
    ) -> bool:
        """Go on with the examples for which `ok` holds; return False if nobody catches the error.

        Where `ok` is None no example goes on, and the caller ends the recording with `Stop`.
        """
        attempt = self.catching(error)
        if attempt is None:
            return False
        attempt.refuse_boundaries(error)
        self.refuse_managers(attempt, error)
        number = attempt.number(error, make, operands)
        known = attempt.frame.f_locals if attempt.names else {}
        held = {n: settle(known.get(n, Undefined(n))) for n in attempt.names}

        def failed() -> None:
            attempt.put("code", number + 1)
            for name, value in held.items():
                attempt.put(f"held {name}", value)
            for position, _ in enumerate(attempt.kinds[number].types):
                attempt.put(f"operand {number} {position}", operands[position])

        if ok is None:
            failed()
        else:
            go_on(ok, failed, test=True)
        return True

    def refuse_boundaries(self, error: type[BaseException]) -> None:
        """Raise where a trace that is no region stands between what raises and the ``try``."""
        if self.has_boundary():
            raise UnsupportedError(
                f"{error.__name__} may be raised{at(here())} in a function that is mapped or "
                "differentiated within a try, which catches it. Write the try in that function"
            )

    def refuse_managers(self, last: Attempt, error: type[BaseException]) -> None:
        """Raise where a ``with`` block that does something at its end stands between."""
        attempt: Attempt | None = self
        while attempt is not None:
            if attempt.managers and attempt.swallows:
                kind = type(attempt.managers[-1]).__name__
                raise UnsupportedError(
                    f"{error.__name__} may be raised{at(here())} in a with block of a {kind}, "
                    "which may go on as if nothing had been raised: that is not followed for the "
                    "examples that raise. Write try and except, or contextlib.suppress(...), there"
                )
            if attempt.managers and not last.drops:
                kind = type(attempt.managers[-1]).__name__
                raise UnsupportedError(
                    f"{error.__name__} may be raised{at(here())} in a with block of a {kind}, "
                    "and a try around catches it: what the block does at its end is not followed "
                    "for the examples that raise. Write the try in the block"
                )
            attempt = None if attempt is last else attempt.outer

    def has_boundary(self) -> bool:
        """Whether a trace that is no region stands between what is recorded and the ``try``."""
        trace = state.trace
        while trace is not self.base:
            if not isinstance(trace, Region):
                return True
            trace = trace.parent
        return False

    def number(self, error: type[BaseException], make: Make, operands: Sequence[Tensor]) -> int:
        """Return the number of a kind of exception, from 0 on."""
        handler = self.handler_of(error)
        assert handler is not None
        if handler < len(self.handlers) and not self.handlers[handler].uses_it:
            for number, kind in enumerate(self.kinds):
                if kind.make is None and self.handler_of(kind.error) == handler:
                    return number
            kind = Kind(error, None, ())
        else:
            kind = Kind(error, make, tuple([(x.dtype, x.shape, x._weak) for x in operands]))
            if kind in self.kinds:
                return self.kinds.index(kind)
        return self.enter_kind(kind)

    def enter_kind(self, kind: Kind) -> int:
        """Enter a kind of exception, and return its number."""
        self.kinds.append(kind)
        number = len(self.kinds) - 1
        for position, _ in enumerate(kind.types):
            setattr(self, f"operand {number} {position}", DONT_CARE)
        return number

    def put(self, name: str, value: Any) -> None:
        """Change what the attempt holds, for the examples of the region that is recorded."""
        trace = state.trace
        if isinstance(trace, Region):
            trace.log(HeldSlot(self, name, self.titles.get(name, "what is raised")))
        setattr(self, name, value)

    # --- what traces ask

    def check(self, trace: Trace, ok: Value, operands: Sequence[Value], make: Any) -> bool:
        """Take a check of a trace; return False if nobody catches what it raises."""
        error = make.kind
        if self.catching(error) is None:
            return False
        every: Any = Tensor(trace, ok)
        first: Any = None
        if ok.type.shape:
            flat = np.reshape(every, (-1,))
            every, first = np.all(flat), np.argmin(flat)
        count = len(ok.type.shape)
        parts = []
        for operand in operands:
            x = Tensor(trace, operand)
            if first is not None:
                x = np.reshape(x, (-1, *x.shape[count:]))[first]
            parts.append(x)
        return self.fails(error, lift(every), make, parts)

    def checked(self, trace: Trace, value: Value, ok: Value, problem: Exception) -> Value | None:
        """Return a value that harms nobody where `ok` does not hold; None if nobody catches it."""
        kind = type(problem)
        if self.catching(kind) is None:
            return None
        one = trace.scalar(1, value.type.dtype)
        (safe,) = trace.record(where, (ok, value, one), {})
        self.fails(kind, ok, Templates({}).exception(problem))
        return safe

    def emitted(self, primitive: Any, operands: Sequence[Any], params: dict[str, Any]) -> None:
        """See to an operation that may raise on data, as its definition says."""
        attempt, state.attempt = state.attempt, None
        handle = deferred()
        try:
            found = list(_conditions(primitive, [as_tensor(x) for x in operands], params))
        finally:
            fields = finish(handle)
            state.attempt = attempt
        for ok, problem in found:
            kind = type(problem)
            if self.catching(kind) is not None:
                templates = Templates(fields)
                make = templates.exception(problem)
                self.fails(kind, lift(ok), make, templates.operands)

    def takes(self, error: BaseException, region: Trace) -> bool:
        """Take what Python raised in a region, for all of its examples, if anybody catches it."""
        if not isinstance(error, Exception) or isinstance(error, REFUSALS):
            return False
        if self.catching(type(error)) is None:
            return False
        trace = require_trace("raise")
        while trace is not region:
            if type(trace) is not Continuation:
                raise _in_expression(place_of(error.__traceback__)) from error
            assert trace.parent is not None
            trace = trace.parent
        require_trace("raise").location = place_of(error.__traceback__)
        deliver(error)
        return True

    # --- from region to region

    def resume(self) -> None:
        """Go on with the examples that have raised nothing, after a branch or a loop."""
        attempt: Attempt | None = self
        while attempt is not None:
            if isinstance(attempt.code, Tensor):
                attempt.go_on_where_none()
            attempt = attempt.outer

    def go_on_where_none(self) -> None:
        trace = require_trace("a try statement")
        code = lift(self.code)
        (ok,) = trace.record(
            elementwise(np.equal), (code, trace.scalar(0, code.type.dtype)), {"dtype": None}
        )
        go_on(ok, None, test=False)
        self.put("code", 0)

    def leave(self) -> None:
        """End the body: what is raised from here on is not for the handlers."""
        if state.attempt is self:
            state.attempt = self.outer
        self.frame = None


def _in_expression(place: Any) -> UnsupportedError:
    return UnsupportedError(
        "an exception is raised within an expression that the data decide, and caught by a try "
        f"around it{at(place)}, which is not followed there. Write an if statement"
    )


def _conditions(
    primitive: Any, operands: Sequence[Tensor], params: dict[str, Any]
) -> Iterable[tuple[Any, BaseException]]:
    """Return what must hold for an operation, each with what is raised where it does not."""
    params = primitive.complete(params)
    if not isinstance(primitive.raises, str):
        return primitive.raises(*operands, **params)
    known = tuple(params.items())  # found out by trying
    has_failed = emit(fails, *operands, name=primitive.name, params=known, axes=0)
    return [(np.logical_not(has_failed), np.linalg.LinAlgError(primitive.raises))]


def go_on(ok: Value, failed: Callable[[], None] | None, test: bool) -> None:
    """Open a region for the examples of `ok`; `failed` changes what is different for others."""
    fork = Fork(())
    fork.open(Continuation)
    region = fork.regions[-1]
    assert type(region) is Continuation

    def ending(
        names: Sequence[str], values: Sequence[Any] | None, others: Sequence[Any] | None = None
    ) -> tuple[Any, ...]:
        fork.names = names
        fork.close(values, is_live=True)
        fork.open()
        if failed is not None and others is None:
            failed()
        fork.close(others, is_live=True)
        return fork.join(cond, ok)

    region.ending, region.test = ending, test


def flattened(kinds: Any) -> tuple[type, ...]:
    """Return the classes of exceptions that stand behind ``except``."""
    if isinstance(kinds, tuple):
        return tuple([kind for part in kinds for kind in flattened(part)])
    return (kinds,)


# --- the statement --------------------------------------------------------------------------------


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
        self._fork: Fork | None = None
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
        raise self._exception(self._turn - 1)

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
            raise _in_expression(here())

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
            trace.location = place_of(error.__traceback__)
            deliver(error)
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
            self._fork = Fork([called(name) for name in self._names])
            self._fork.open()
        self._has_stopped = False
        fork = self._fork
        assert fork is not None
        fork.close(ends, is_live=not self._turn)
        if self._turn < len(attempt.kinds):
            held = tuple([getattr(attempt, f"held {name}") for name in (*self._names, *self._rest)])
            fork.open()
            outer = attempt.outer
            while outer is not None:  # what was raised here was raised by nobody further out
                if isinstance(outer.code, Tensor):
                    outer.put("code", 0)
                outer = outer.outer
            return held
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
    """
    trace = state.trace
    if trace is None or trace.is_eager:
        return _PLAIN
    made = [Handler(*handler) for handler in handlers]
    return Try(names, rest, made, is_final, prints, sys._getframe(1))
