"""What code in a trace has changed from some point on, so that all of it can be undone.

A region puts back what it changed when it ends. A journal does so for a stretch of any trace that
was recorded in place: the first turns of a loop, which may be recorded again with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

from lanewise.trace.lending import Lent, all_lent, forget
from lanewise.trace.regions import Region, Watched, is_made_here, resumed, retract
from lanewise.trace.slots import ContainerSlot, Slot, TensorSlot
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import Trace, state

#: Numbers what is made while tracing.
MADE = count()


class Journal:
    """All that code in a trace changes from now on, so that it can be undone: operations, too.

    It is that of the trace until `close`.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace, self._outer = trace, trace.journal
        self._mark = len(trace.operations), trace.token
        self._first = trace.count
        #: Of what is numbered by `MADE`, which numbers are of what was made since.
        self.began = next(MADE)
        self._lent = all_lent()
        self._region_guards = dict(trace.guards) if isinstance(trace, Region) else {}
        self._guards: dict[int, tuple[Tensor, Any]] = {}
        #: The containers that were made since, by their ids.
        self.born: dict[int, Any] = {}
        #: Whether something was done that cannot be undone.
        self.is_sealed = False
        #: By their keys, the places that were changed, and what was there before.
        self.changes: dict[Any, tuple[Slot, Any]] = {}
        trace.journal = self

    def close(self) -> None:
        """Note no more."""
        self.trace.journal = self._outer

    def log(self, slot: Slot) -> None:
        """Remember what a place holds before it is changed for the first time."""
        if self._outer is not None:
            self._outer.log(slot)
        if slot.key not in self.changes and id(slot.owner) not in self.born:
            self.changes[slot.key] = slot, slot.get()

    def around(self) -> Iterator[Journal]:
        """Go through the journals of its trace, from this one to the outermost."""
        journal: Journal | None = self
        while journal is not None:
            yield journal
            journal = journal._outer

    def log_guard(self, tensor: Tensor) -> None:
        """Remember what guards a tensor before that changes."""
        if self._outer is not None:
            self._outer.log_guard(tensor)
        self._guards.setdefault(id(tensor), (tensor, tensor._guard))

    def bear(self, container: Any) -> None:
        """Remember that a container was made: nobody else had it before."""
        if self._outer is not None:
            self._outer.bear(container)
        self.born[id(container)] = container

    def seal(self) -> None:
        """Note that something was done that cannot be undone."""
        if self._outer is not None:
            self._outer.seal()
        self.is_sealed = True

    def is_within(self, keys: Collection[Any]) -> bool:
        """Whether all that was changed can be undone, and is what has these keys or is new."""
        trace, first = self.trace, self._first
        return not self.is_sealed and all(
            key in keys
            or (type(slot) is TensorSlot and old._trace is trace and old._value.index >= first)
            for key, (slot, old) in self.changes.items()
        )

    def undo(self) -> Callable[[], None]:
        """Put back all that was changed, and take back what was recorded; return what undoes that.

        Nothing may have been changed in between.
        """
        trace = self.trace
        operations, token, sizes = list(trace.operations), trace.token, trace.sizes
        held = [(slot, slot.get()) for slot, _ in self.changes.values()]
        guards = [(tensor, tensor._guard) for tensor, _ in self._guards.values()]
        after = held, guards, dict(trace.guards) if isinstance(trace, Region) else {}, all_lent()
        before = list(reversed(self.changes.values())), list(self._guards.values())
        retract(trace, *self._mark)
        kept = len(trace.operations)
        self._put(*before, self._region_guards, self._lent)

        def again() -> None:
            trace.operations[:] = operations + trace.operations[kept:]
            trace.token, trace.sizes = token, sizes
            self._put(*after)

        return again

    def _put(
        self, held: Sequence[tuple[Slot, Any]], guards: Sequence[tuple[Tensor, Any]],
        region_guards: dict[int, Any], lent: dict[int, Lent],
    ) -> None:  # fmt: skip
        for slot, value in held:
            slot.set(value)
        for tensor, guard in guards:
            tensor._guard = guard
        if isinstance(self.trace, Region):
            self.trace.guards = region_guards
        forget(lent)


class Change(NamedTuple):
    """What a container was changed to in an open region, or since a journal began in a trace."""

    trace: Watched
    journal: Journal | None
    container: Any
    before: Any
    after: Any


def made_in(containers: Sequence[Any]) -> tuple[Watched, list[Change]] | None:
    """Return the trace in which the last of some containers was made, and what has changed since.

    What journals know, and what open regions did; the earliest first. None if a container was made
    elsewhere, or may be another one, as the data decide; or if somebody else knows what it held at
    some time: a branch that is not joined yet, or a loop that hands it on.
    """
    lent = {} if state.trace is None else state.trace.lent
    known = [lent[id(x)] for x in containers if id(x) in lent]
    if any([each.twins or each.is_kept for each in known]):
        return None
    if not all(map(is_made_here, containers)):
        return None
    slots = {slot.key: slot for slot in map(ContainerSlot, containers)}
    now = {key: slot.get() for key, slot in slots.items()}
    trace, changes = state.trace, list[Change]()

    def go_back(journal: Journal | None, logged: dict[Any, tuple[Slot, Any]]) -> None:
        for key in slots.keys() & logged.keys():
            before = logged[key][1]
            changes.append(Change(trace, journal, slots[key].owner, before, now[key]))
            now[key] = before

    while isinstance(trace, Watched):
        if any([not slots.keys().isdisjoint(each.changes) for each in trace.pending]):
            return None
        for journal in () if trace.journal is None else trace.journal.around():
            go_back(journal, journal.changes)
        if not isinstance(trace, Region) or any(map(trace.has_born, containers)):
            return trace, changes[::-1]
        if not slots.keys().isdisjoint(trace.begun):
            return None
        go_back(None, trace.changes)
        trace = trace.parent
    return None


@contextmanager
def taken_back(changes: Sequence[Change]) -> Generator[None]:
    """Have containers hold what they did before some changes, as if these had not been.

    They are what they were again if what is done in the ``with`` block fails.
    """
    logged = []
    for trace, journal, container, before, _ in reversed(changes):
        slot, log = ContainerSlot(container), (trace if journal is None else journal).changes
        logged.append((log, slot.key, log.pop(slot.key)))
        slot.set(before)
    try:
        yield
    except BaseException:
        for log, key, entry in logged:
            log[key] = entry
        for change in changes:
            ContainerSlot(change.container).set(change.after)
        raise


@contextmanager
def since_made(trace: Watched, journal: Journal | None = None) -> Generator[None]:
    """Do in a trace what is no change of what containers hold, as if it had been done before.

    Before any journal of the trace began, or, where that is given, just after `journal` did.
    """
    before, trace.journal = trace.journal, journal
    try:
        with resumed(trace):
            yield
    finally:
        trace.journal = before
