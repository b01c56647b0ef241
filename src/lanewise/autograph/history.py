"""What was seen of a loop when it was recorded before.

In a nest each loop is recorded for each attempt at the one around it. What its turns changed then
is likely to be what they change now, so it is carried from the first attempt on.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.regions import Region, Watched
from lanewise.trace.slots import ContainerSlot, Slot, TensorSlot
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import Trace, require_trace


class History:
    """What was seen of a loop, or of a function, and of the loops in it."""

    def __init__(self) -> None:
        #: What turns have changed, each with the trace in which its owner was made, if in any.
        self._changed: dict[Any, tuple[Slot, Trace | None]] = {}
        self._inner: dict[Any, History] = {}
        self._met: Counter[Any] = Counter()

    def begin(self) -> None:
        """Note that a turn is recorded anew: the loops in it come in the same order."""
        self._met.clear()

    def of_loop(self) -> History:
        """Return what was seen of the next loop at the user's line."""
        place = here()
        self._met[place] += 1
        return self._inner.setdefault((place, self._met[place]), History())

    def note(self, slot: Slot) -> None:
        """Note that a turn has changed an array, or what a container holds."""
        if isinstance(slot, (TensorSlot, ContainerSlot)):
            self._changed[slot.key] = slot, _home_of(slot.owner)

    def drop(self, key: Any) -> None:
        """Note that a turn has not changed a place after all."""
        del self._changed[key]

    def changed(self) -> list[tuple[Slot, Any]]:
        """Return the places that turns are likely to change, with what they hold.

        An array or a container that a turn of a loop around has made is another one in each.
        """
        around = _around(require_trace("a loop"))
        held = [(slot, slot.get()) for slot, home in self._changed.values() if home in around]
        return [
            (slot, value)
            for slot, value in held
            if all([x._trace in around for x in tree.flatten(value)[0] if type(x) is Tensor])
        ]


def history_here() -> History:
    """Return what was seen of the loop that begins at the user's line."""
    return _history(require_trace("a loop")).of_loop()


def _history(trace: Trace) -> History:
    if trace.history is None:
        is_part = isinstance(trace, Region) and trace.parent is not None
        trace.history = _history(trace.parent) if is_part else History()
    return trace.history


def _around(trace: Trace | None) -> list[Trace | None]:
    """Return a trace and those around it; and None, for what is not of any trace."""
    around: list[Trace | None] = [trace]
    while trace is not None:
        around.append(trace := trace.parent)
    return around


def _home_of(owner: Any) -> Trace | None:
    """Return the trace, of those that are open, in which a container was made."""
    traces = _around(require_trace("a loop"))
    return next((x for x in traces if isinstance(x, Watched) and x.has_born(owner)), None)
