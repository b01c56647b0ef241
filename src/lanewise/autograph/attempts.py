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

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lanewise.autograph.aliases import settle
from lanewise.autograph.branches import Fork, deliver
from lanewise.autograph.keeping import Keeper, Shapes, living
from lanewise.autograph.pulled import variables_of
from lanewise.autograph.state import DONT_CARE, Undefined, called
from lanewise.autograph.templates import Templates
from lanewise.errors import REFUSALS, UnsupportedError, at
from lanewise.ir.graph import Value
from lanewise.ir.location import here, place_of
from lanewise.ops.checks import fails
from lanewise.ops.control import cond
from lanewise.ops.elementwise import elementwise, where
from lanewise.trace.formatting import deferred, finish
from lanewise.trace.provenance import surely
from lanewise.trace.regions import Continuation, Region
from lanewise.trace.slots import HeldSlot
from lanewise.trace.tensor import Tensor, as_tensor, emit, lift
from lanewise.trace.trace import Trace, require_trace, state

Make = Callable[..., BaseException]
#: Names of what has an effect.
_SHOWING = frozenset(
    "print print_ write warn warning info debug error log exception critical".split()
)


class Handler(NamedTuple):
    """What stands behind ``except``, and whether the exception itself is of interest to it."""

    kinds: Callable[[], Any]
    uses_it: bool


class Kind(NamedTuple):
    """One kind of exception that leads to a turn of its own."""

    error: type[BaseException]
    make: Make | None  # None: the handler does not look at it
    types: tuple[Any, ...]
    shapes: Shapes = ()
    place: Any = None  # the user's, if the exception may go on from there


class Attempt:
    """What a ``try`` knows while its body is recorded: a link in the chain of those around.

    Attributes
    ----------
    code : int or Tensor
        0 where nothing was raised, else the number of a kind of exception.
    keeper : Keeper
        What it keeps for the examples that raised.
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
        self.code: Any = 0
        self.keeper = Keeper(self)
        for name in names:
            self.keeper.enter(name, called(name))
        #: What the ``with`` blocks in the body hold that is entered now.
        self.managers: list[Any] = []
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
        place: Any = None,
    ) -> bool:
        """Go on with the examples for which `ok` holds; return False if nobody catches the error.

        Where `ok` is None no example goes on, and the caller ends the recording with `Stop`.
        """
        attempt = self.catching(error)
        if attempt is None:
            return False
        attempt.refuse_boundaries(error)
        self.refuse_managers(attempt, error)
        held = attempt.held_now()
        shapes = tuple([(label, n) for label, (n, _) in held.items() if n])
        number = attempt.number(error, make, operands, shapes, place or here())

        def failed() -> None:
            attempt.put("code", number + 1)
            attempt.put(f"raised {number}", True)
            for label, (structure, value) in held.items():
                attempt.put_in(attempt.keeper.slot(label, structure), value)
            for position, _ in enumerate(attempt.kinds[number].types):
                attempt.put(f"operand {number} {position}", operands[position])

        if ok is None:
            failed()
        else:
            go_on(ok, failed, test=True)
        return True

    def held_now(self) -> dict[str, tuple[int, Any]]:
        """Return what variables and places hold now, each with the number of its structure."""
        if self.drops:
            return {}
        keeper = self.keeper
        keeper.track_changed(self.base)
        known = variables_of(self.frame) if self.names else {}
        values = {name: living(settle(known.get(name, Undefined(name)))) for name in self.names}
        for label, slot in keeper.slots.values():
            value = living(settle(slot.get()))
            if value is not DONT_CARE:
                values[label] = value
        return {label: (keeper.number(label, value), value) for label, value in values.items()}

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
        caught = "on_error='collect'" if last.drops else "a try around"
        while attempt is not None:
            if attempt.managers and attempt.swallows:
                kind = type(attempt.managers[-1]).__name__
                raise UnsupportedError(
                    f"{error.__name__} may be raised{at(here())} in a with block of a {kind}, "
                    "which may go on as if nothing had been raised: that is not followed for the "
                    "examples that raise. Write a class with __enter__ and __exit__, "
                    "contextlib.suppress(...), or try and except there"
                )
            if attempt.managers and (not last.drops or _shows(attempt.managers[-1])):
                kind = type(attempt.managers[-1]).__name__
                raise UnsupportedError(
                    f"{error.__name__} may be raised{at(here())} in a with block of a {kind}, "
                    f"and {caught} catches it: what the block does at its end is not followed "
                    "for the examples that raise. Write the try in the block, or a class with "
                    "__enter__ and __exit__"
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

    def number(
        self,
        error: type[BaseException],
        make: Make,
        operands: Sequence[Tensor],
        shapes: Shapes,
        place: Any,
    ) -> int:
        """Return the number of a kind of exception, from 0 on."""
        handler = self.handler_of(error)
        assert handler is not None
        if handler < len(self.handlers) and not self.handlers[handler].uses_it:
            for number, kind in enumerate(self.kinds):
                is_it = kind.make is None and kind.shapes == shapes
                if is_it and self.handler_of(kind.error) == handler:
                    return number
            kind = Kind(error, None, (), shapes)
        else:
            types = tuple([(x.dtype, x.shape, x._weak) for x in operands])
            kind = Kind(error, make, types, shapes, place)
            if kind in self.kinds:
                return self.kinds.index(kind)
        return self.enter_kind(kind)

    def enter_kind(self, kind: Kind) -> int:
        """Enter a kind of exception, and return its number."""
        self.kinds.append(kind)
        number = len(self.kinds) - 1
        setattr(self, f"raised {number}", DONT_CARE)
        for position, _ in enumerate(kind.types):
            setattr(self, f"operand {number} {position}", DONT_CARE)
        return number

    def put(self, name: str, value: Any) -> None:
        """Change what the attempt holds, for the examples of the region that is recorded."""
        self.put_in(HeldSlot(self, name, "what is raised"), value)

    def put_in(self, slot: HeldSlot, value: Any) -> None:
        """Change a place of the attempt, for the examples of the region that is recorded."""
        if isinstance(state.trace, Region):
            state.trace.log(slot)
        slot.set(value)

    def has_raised(self, number: int) -> bool:
        """Whether an example may have raised a kind of exception in what is recorded."""
        return getattr(self, f"raised {number}") is not DONT_CARE

    def forget(self) -> None:
        """Go on with examples that have raised nothing that this attempt catches."""
        self.put("code", 0)
        for number, _ in enumerate(self.kinds):
            if self.has_raised(number):
                self.put(f"raised {number}", DONT_CARE)

    def joins(self, fork: Fork) -> None:
        """Keep what branches leave for those that raised, before they are joined."""
        if not self.drops:
            raised: list[list[Shapes]] = [[] for _ in fork.regions]
            for number, kind in enumerate(self.kinds):
                key = HeldSlot(self, f"raised {number}", "").key
                for found, changes in zip(raised, fork.changes, strict=True):
                    has_raised = (
                        changes[key][1] is not DONT_CARE
                        if key in changes
                        else self.has_raised(number)
                    )
                    if has_raised:
                        found.append(kind.shapes)
            self.keeper.keep(fork, raised)

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
            if self.catching(kind) is not None and not (type(ok) is Tensor and surely(ok)):
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
                raise in_expression(place_of(error.__traceback__)) from error
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
        self.forget()

    def leave(self) -> None:
        """End the body: what is raised from here on is not for the handlers."""
        attempt = state.attempt
        while attempt is not None and attempt is not self:  # those within that an error has left
            attempt = attempt.outer
        if attempt is self:
            state.attempt = self.outer
        self.frame = None


def _shows(manager: Any) -> bool:
    """Whether a generator that is a context manager may have an effect at its end."""
    code = getattr(getattr(manager, "gen", None), "gi_code", None)
    return code is not None and not _SHOWING.isdisjoint(code.co_names)


def in_expression(place: Any) -> UnsupportedError:
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
