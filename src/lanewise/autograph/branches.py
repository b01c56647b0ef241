"""Branches that follow the data: `if`, conditional expressions, `and`, `or`, and named forms.

A converted ``if`` is a ``for`` loop over `branches` of its test. Plain data give one turn, with
the branch that Python would take. A traced test gives two: both branches are recorded, one after
the other, each as a region of its own, and what they leave in the variables is joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.aliases import (
    all_roots,
    arrays_in,
    held_by,
    is_place,
    join_guards,
    left_by,
    settle,
)
from lanewise.autograph.exports import Exports, Left, flags_of, left_in
from lanewise.autograph.instances import with_held
from lanewise.autograph.keeping import keep, living
from lanewise.autograph.lists.grown import alike, is_held, list_of_slot, owned
from lanewise.autograph.lists.rows import unknown_of
from lanewise.autograph.merge import Merge, give_up_plain_choice
from lanewise.autograph.optional import asked
from lanewise.autograph.state import DONT_CARE, bare, called, is_optional, present, tensor_of
from lanewise.autograph.templates import Templates
from lanewise.autograph.values import stand_in, traced
from lanewise.errors import REFUSALS
from lanewise.ir.graph import Value
from lanewise.ir.location import here, place_of, user_place
from lanewise.ops.checks import check
from lanewise.ops.control import cond, switch
from lanewise.ops.elementwise import elementwise
from lanewise.ops.movement import cast
from lanewise.trace.lending import close_kept, join_kept, kept_now
from lanewise.trace.mixed import CHOOSE
from lanewise.trace.regions import (
    Aside,
    Continuation,
    Part,
    Region,
    record,
    resume,
    set_slot,
    settled,
    unwind,
)
from lanewise.trace.slots import ContainerSlot, HeldSlot, Slot
from lanewise.trace.table.checks import of_truth
from lanewise.trace.tensor import Tensor, lift, read
from lanewise.trace.trace import Stop, Trace, require_trace, state


def truth(tensor: Tensor) -> Value:
    """Return the truth value of a tensor of one element, as a scalar of the current trace."""
    if is_optional(tensor):  # None is false
        values = lift(tensor._guard.flag), truth(bare(tensor))
        return require_trace("a condition").record(
            elementwise(np.logical_and), values, {"dtype": None}
        )[0]
    value = read(of_truth(tensor))  # which may raise, and end the branch around
    trace = require_trace("a condition")
    if value.type.dtype != np.dtype(bool):
        (value,) = trace.record(cast, (value,), {"dtype": np.dtype(bool)})
    return value


def _answer(x: Any) -> Any:
    """Return the truth of an object as a number of Python's."""
    found = asked(x)
    if type(found) is not Tensor:
        return bool(found)
    value = truth(found)
    return Tensor(require_trace("a test"), value, None, bool)


def not_(x: Any) -> Any:
    """``not x``."""
    found = asked(x)
    if type(found) is not Tensor:
        return not found
    value = truth(found)
    trace = require_trace("not")
    (result,) = trace.record(elementwise(np.logical_not), (value,), {"dtype": None})
    return Tensor(trace, result, None, bool)


def _is_caught(region: Region) -> bool:
    """Whether a `try` around a region catches what is raised in it."""
    return any([isinstance(slot, HeldSlot) for slot, _ in region.changes.values()])


class Fork:
    """The regions of branches: opened one by one, then joined into one operation."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.regions: list[Region] = []
        self.ends: list[Any] = []
        self.changes: list[dict[Any, tuple[Slot, Any]]] = []
        self.left: list[Left] = []
        #: Of each branch whether none of its examples comes to its end.
        self.is_over: list[bool] = []
        self.stopped = 0
        #: The containers of which somebody keeps what they hold before the branches, by their ids.
        self._kept: set[int] = set()

    def open(self, kind: type[Region] = Region) -> None:
        """Begin the next branch."""
        trace = require_trace("a branch")
        self._kept = kept_now()
        region = kind(trace.function)
        region.open()
        self.regions.append(region)

    def close(self, state: Sequence[Any] | None, is_live: bool = False) -> None:
        """End the branch with what its variables hold; None if it raises and never ends.

        What a branch that never ends has changed is of interest only if it is live: if a `try`
        catches what it raises.
        """
        state = settled(self.regions[-1], self.names, state)
        self.stopped += state is None
        self.is_over.append(state is None)
        if state is not None:
            state = tuple([settle(value) for value in state])
        elif is_live or _is_caught(self.regions[-1]):
            state = (DONT_CARE,) * len(self.names)
        self.ends.append(state)
        left = left_by(self.regions[-1])
        held: Sequence[Any] = (
            () if state is None else (*state, *[value for _, value in left.values()])
        )
        held = [with_held(value, self.regions[-1]) for value in held]
        arrays = [array for value in held for array in arrays_in(value)]
        self.left.append(left_in(self.regions[-1], arrays))
        self.regions[-1].leave(held_by(arrays) if self.regions[-1].changes else ())
        self.changes.append(left)
        close_kept(self.regions[-1], self._kept)

    def _hold(self, key: Any, before: Any) -> None:
        """See to a place that one branch changed, and others did not: what it shows they may have.

        ``before`` is what is there at the end of those.
        """
        arrays = arrays_in(before)
        for region, changes in zip(self.regions, self.changes, strict=True):
            if key not in changes and any(("tensor", id(r)) in changes for r in all_roots(arrays)):
                region.hold(changes, arrays, present)

    def _take_lists(self, lead: Value) -> None:
        """Leave lists that branches made longer or shorter in the variables that hold them."""
        slots = {key: slot for changes in self.changes for key, (slot, _) in changes.items()}
        for key, items in [(key, list_of_slot(slot)) for key, slot in slots.items()]:
            if items is None:
                continue
            alive = [end for end in self.ends if end is not None]
            names = range(len(self.names))
            places = [p for p in names if any([end[p] is items for end in alive])]
            if len(places) != 1:
                continue
            left = [
                owned(changes[key][1] if key in changes else items.copy())
                if end is None or end[places[0]] is items else end[places[0]]
                for changes, end in zip(self.changes, self.ends, strict=True)
            ]  # fmt: skip
            regions = [r for r, end in zip(self.regions, self.ends, strict=True) if end is not None]
            now = [each for each, end in zip(left, self.ends, strict=True) if end is not None]
            found = alike(now, regions)
            if found is None:
                continue
            give_up_plain_choice(lead, may_stay=True)
            rest = iter(found)
            self.ends = [
                None if end is None else (*end[: places[0]], next(rest), *end[places[0] + 1 :])
                for end in self.ends
            ]
            for changes in self.changes:
                changes.pop(key, None)

    def has_stopped(self) -> bool:
        """Return whether the branch that is open, an operand of an expression, raises."""
        region = self.regions[-1]
        return isinstance(region, Aside) and region.has_stopped

    def close_operand(self, value: Any) -> None:
        """End a branch that is an operand of an expression."""
        self.close(None if self.has_stopped() else (value,))

    def join_operands(self, lead: Value) -> Any:
        """Record the choice between two operands, and return its result."""
        (result,) = self.join(cond, lead)
        if self.stopped == 2:
            raise Stop
        resume()
        return result

    def join(self, primitive: Any, lead: Value) -> tuple[Any, ...]:
        """Record the operation, carry out what the branches changed, and return the variables."""
        keep(self)
        self._take_lists(lead)
        merge = Merge(self.regions, lead, self.changes)
        builders = []
        for position, name in enumerate(self.names):
            ends = [DONT_CARE if end is None else end[position] for end in self.ends]
            builders.append(merge.variable(name, ends))
        slots: dict[Any, Slot] = {}
        for changes in self.changes:
            slots.update({key: slot for key, (slot, _) in changes.items()})
        slot_builders = []
        for key, slot in slots.items():
            before = slot.get()
            before = living(settle(before)) if is_place(slot) else before
            if is_place(slot):
                self._hold(key, before)
            left = [changes[key][1] if key in changes else before for changes in self.changes]
            left = [
                DONT_CARE if end is None else value
                for value, end in zip(left, self.ends, strict=True)
            ]
            is_value = not isinstance(slot, ContainerSlot)
            unknown = unknown_of(left, not is_value)
            if unknown is not None:
                slot_builders.append((slot, lambda results, unknown=unknown: unknown))
                continue
            if is_held(slot):
                left = merge.lists_alike(left, are_held=True)
            if any(end is not None for end in self.ends):
                count_before = len(merge.joined)
                slot_builders.append((slot, merge.variable(slot.name, left, is_value)))
                if not is_place(slot):
                    del merge.joined[count_before:]  # a value of its own
        exports = Exports(
            merge, self.left, merge.origins, flags_of(primitive, lead, len(self.regions))
        )
        parts = [
            Part(region, outputs=outputs)
            for region, outputs in zip(self.regions, merge.outputs, strict=True)
        ]
        values = record(primitive, parts, lead=(lead,))
        results = [tensor_of(v, kind) for v, kind in zip(values, merge.kinds, strict=True)]
        for slot, build in slot_builders:
            value = build(results)
            set_slot(slot, slot.get() if value is DONT_CARE else value)
        state = tuple([build(results) for build in builders])
        merge.containers.note()
        join_kept(self.regions)
        join_guards(self.regions)
        exports.finish(results)
        for region in self.regions:
            region.forget()
        return state


class Taken:
    """A branch of plain data: Python's own, and nothing to join."""

    __slots__ = ("turns",)

    def __init__(self, turn: bool) -> None:
        self.turns = (turn,)

    def __iter__(self) -> Iterator[bool]:
        return iter(self.turns)

    def end(self, state: tuple[Any, ...], rest: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """Return the variables as they are."""
        return state + rest if rest else state

    def stop(self, error: BaseException) -> bool:
        """Let what the branch raised go on: return True."""
        return True


_TRUE, _FALSE = Taken(True), Taken(False)


class Branches:
    """The two branches of a traced test."""

    __slots__ = ("_before", "_fork", "_has_stopped", "_rest", "_test")

    def __init__(
        self, test: Tensor, names: tuple[str, ...], state: tuple[Any, ...], rest: tuple[Any, ...]
    ) -> None:
        self._test = truth(test)
        self._fork = Fork([called(name) for name in names])
        self._before = state
        self._rest = rest
        self._has_stopped = False

    def __iter__(self) -> Iterator[bool]:
        tag, *sides = require_trace("a branch").outermost().answers.get(self._test, (None,))
        for branch in (True, False):
            self._fork.open()
            if sides:
                self._fork.regions[-1].facts[id(tag)] = sides[not branch]
            yield branch

    def end(self, state: tuple[Any, ...], rest: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """End a branch; return what the variables hold before the next, or after the last."""
        self._fork.close(None if self._has_stopped else state)
        self._has_stopped = False
        if len(self._fork.ends) == 1:
            return self._before + self._rest
        result = self._fork.join(cond, self._test)
        if self._fork.stopped == 2:
            raise Stop
        resume()
        return result + self._rest

    def stop(self, error: BaseException) -> bool:
        """Take a raise in the branch, for every example that takes it; True if it must go on."""
        self._has_stopped = stops(error, self._fork.regions[-1])
        return not self._has_stopped


def stops(error: BaseException, region: Region) -> bool:
    """Whether an exception ends the recording of a region, for those examples that get there.

    What Python or NumPy raise for constants, in a branch that the data decide, is raised when the
    graph runs, for the examples that come to it. What Lanewise refuses is refused for all.
    """
    if isinstance(error, Stop):
        return True
    if state.attempt is not None and state.attempt.takes(error, region):
        return True
    if region.is_trial or not _is_users(error):
        return False
    unwind(_innermost_continuation(region))
    deliver(error, place=user_place(error.__traceback__))
    return True


def _innermost_continuation(region: Region) -> Trace:
    """Return the region, or what continues right within it for a part of the examples."""
    found, trace = region, state.trace
    chain = []
    while trace is not None and trace is not region:
        chain.append(trace)
        trace = trace.parent
    for trace in reversed(chain):
        if type(trace) is not Continuation:
            break
        found = trace
    return found


def _is_users(error: BaseException) -> bool:
    """Whether plain Python would raise an exception as well, as far as can be seen."""
    if not isinstance(error, Exception) or isinstance(error, (RecursionError, MemoryError)):
        return False
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, REFUSALS):
            return False
        found = found.__cause__ or found.__context__
    if isinstance(error, AttributeError) and isinstance(error.obj, Tensor):
        return not hasattr(stand_in(error.obj), error.name or "")
    is_own = place_of(error.__traceback__) is not None
    return not (is_own and isinstance(error, (AssertionError, AttributeError, NotImplementedError)))


def deliver(error: BaseException, fields: dict[str, Any] | None = None, place: Any = None) -> None:
    """Record that all examples of the region raise an exception, for whoever catches it."""
    templates = Templates(fields or {})
    make = templates.exception(error)
    if state.attempt is not None and state.attempt.fails(
        type(error), None, make, templates.operands, place
    ):
        return
    trace = require_trace("raise")
    ok = trace.scalar(False, np.dtype(bool))
    operands = (ok, *[lift(tensor) for tensor in templates.operands])
    signature = check.signature([value.type for value in operands], {"make": make}, ())
    trace.location = here() if place is None else place
    trace.append(signature, operands)


def branches(
    test: Any, names: tuple[str, ...], state: tuple[Any, ...], rest: tuple[Any, ...] = ()
) -> Any:
    """Return the branches of an ``if`` to run, one after the other.

    Parameters
    ----------
    test
        The value of the condition.
    names, state
        The variables that the branches may change, and what they hold.
    rest
        What those variables hold that one branch changes, the other reads, and nobody reads after.
    """
    if isinstance(test, bool):
        return _TRUE if test else _FALSE
    found = asked(test)
    if type(found) is not Tensor:
        return _TRUE if found else _FALSE
    return Branches(found, names, state, rest)


# --- expressions ----------------------------------------------------------------------------------


class Known:
    """``a and b`` or ``a or b`` that is a."""

    __slots__ = ("value",)
    done = True

    def __init__(self, value: Any) -> None:
        self.value = value


class _Second:
    """``a and b`` or ``a or b`` that is b."""

    __slots__ = ()
    done = False

    def end(self, value: Any) -> Any:
        return value


_SECOND = _Second()


class Either:
    """``a and b`` (``a or b``) of a traced a: b is evaluated for the examples that need it."""

    __slots__ = ("_first", "_fork", "_is_and", "_is_test", "_test")
    done = False

    def __init__(self, first: Any, test: Tensor, is_and: bool, is_test: bool) -> None:
        # In a test, of whatever classes the two are, which the iteration may decide.
        self._first = _answer(first) if is_test else first
        self._is_and = is_and
        self._is_test = is_test
        self._test = truth(test)
        self._fork = Fork([f"the result of `{'and' if is_and else 'or'}`"])
        self._fork.open(Aside)

    def end(self, second: Any) -> Any:
        """Return the result, b having been recorded."""
        fork, test = self._fork, self._test
        if self._is_test and not fork.has_stopped():
            second = _answer(second)
        fork.close_operand(second)
        fork.open()
        fork.close((self._first,))
        if not self._is_and:
            trace = require_trace("or")
            (test,) = trace.record(elementwise(np.logical_not), (test,), {"dtype": None})
        result = fork.join_operands(test)
        # `data or True` is known, and may be what ends a recursion.
        is_plain = isinstance(second, (bool, int, float, np.bool_))
        is_known = is_plain and bool(second) is not self._is_and
        if is_known and self._is_test:
            return bool(second)
        is_known = is_known and isinstance(second, (bool, np.bool_))
        first = traced(self._first)
        if is_known and first is not None and first.dtype == np.dtype(bool) and not first.shape:
            return bool(second) if first._weak is bool else np.bool_(second)
        return result


def and_(first: Any, is_test: bool = False) -> Any:
    """Begin ``first and second``, of which only the truth is asked for in a test: see `Either`."""
    found = asked(first)
    if type(found) is Tensor:
        return Either(first, found, True, is_test)
    return _SECOND if found else Known(first)


def or_(first: Any, is_test: bool = False) -> Any:
    """Begin ``first or second``, of which only the truth is asked for in a test: see `Either`."""
    found = asked(first)
    if type(found) is Tensor:
        return Either(first, found, False, is_test)
    return Known(first) if found else _SECOND


class Choice:
    """``x if test else y`` of plain data."""

    __slots__ = ("take_false", "take_true")

    def __init__(self, test: bool) -> None:
        self.take_true = test
        self.take_false = not test

    def first(self, value: Any) -> Any:
        return value

    def end(self, first: Any, second: Any) -> Any:
        return first if self.take_true else second


_FIRST_CHOICE, _SECOND_CHOICE = Choice(True), Choice(False)


class TracedChoice:
    """``x if test else y`` of a traced test: each is evaluated for the examples that take it."""

    __slots__ = ("_fork", "_test")

    def __init__(self, test: Tensor) -> None:
        self._test = truth(test)
        self._fork = Fork(["the result of a conditional expression"])

    @property
    def take_true(self) -> bool:
        """Always: the first branch begins."""
        self._fork.open(Aside)
        return True

    def first(self, value: Any) -> None:
        """End the first branch."""
        self._fork.close_operand(value)

    @property
    def take_false(self) -> bool:
        """Always: the second branch begins."""
        self._fork.open(Aside)
        return True

    def end(self, first: Any, second: Any) -> Any:
        """Return the result."""
        self._fork.close_operand(second)
        return self._fork.join_operands(self._test)


def ifexp(test: Any) -> Any:
    """Begin a conditional expression."""
    found = asked(test)
    if type(found) is Tensor:
        return TracedChoice(found)
    return _FIRST_CHOICE if found else _SECOND_CHOICE


# --- by name --------------------------------------------------------------------------------------


def choose(
    primitive: Any, lead: Value, branches: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> Any:
    """Record a `cond` or `switch` of functions of the operands, and return its result."""
    fork = Fork(["the result"])
    for branch in branches:
        fork.open()
        try:
            result = branch(*operands)
        except (Stop, Exception) as error:
            if not stops(error, fork.regions[-1]):
                raise
            fork.close(None)
        else:
            fork.close((result,))
    (result,) = fork.join(primitive, lead)
    if fork.stopped == len(branches):
        raise Stop
    resume()
    return result


def _choose_class(lead: Value, branches: Sequence[Callable[[], Any]]) -> Any:
    """Record what is computed for each class that a number has."""
    return choose(cond if lead.type.dtype.kind == "b" else switch, lead, branches, ())


CHOOSE.append(_choose_class)
