"""What code in a trace has changed from some point on, so that all of it can be undone.

A region puts back what it changed when it ends. A journal does so for a stretch of any trace that
was recorded in place: the first turns of a loop, which may be recorded again with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

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


def home_of(containers: Sequence[Any]) -> Watched | None:
    """Return the trace in which the last of some containers was made.

    None if one of them was made elsewhere, if a region has changed one since that is open or not
    joined yet, or if one may be another one, as the data decide.
    """
    lent = {} if state.trace is None else state.trace.lent
    known = [lent[id(x)] for x in containers if id(x) in lent]
    if any([each.twins or each.is_kept for each in known]):
        return None
    if not all(map(is_made_here, containers)):
        return None
    keys = {ContainerSlot(x).key for x in containers}
    trace = state.trace
    while isinstance(trace, Watched):
        if any([not keys.isdisjoint(each.changes) for each in trace.pending]):
            return None
        if not isinstance(trace, Region) or any(map(trace.has_born, containers)):
            return trace
        if not keys.isdisjoint(trace.changes):
            return None
        trace = trace.parent
    return None


@contextmanager
def since_made(home: Watched) -> Generator[None]:
    """Do what is no change of what containers hold, as if they had held it so since they were made.

    ``home`` is theirs, of `home_of`.
    """
    journal, home.journal = home.journal, None
    try:
        with resumed(home):
            yield
    finally:
        home.journal = journal
