"""Examples that fail: they end the kernel's function, which says where."""

from __future__ import annotations

from collections.abc import Callable

from lanewise.codegen.loops import Loops
from lanewise.codegen.vector import Vec


class Failures:
    """Where a kernel's function is left if an example fails; a part of the builder."""

    def __init__(self, loops: Loops) -> None:
        e, self._loops = loops.e, loops
        #: The first of the examples at hand.
        self.first = e.constant("i64", 0)
        #: Where the function is left, and the first of the examples that were at hand then.
        self.failed, self.failure = e.label("failed"), e.slot("i64", False)
        #: What to note in local memory where an example fails: a number for each lane, then one.
        self.note: Callable[[], tuple[Vec, Vec]] | None = None
        self.may_fail = False

    def where(self, condition: Vec) -> None:
        """Leave the function if a condition holds in an active lane."""
        e, condition = self._loops.e, self._loops.both(condition)
        on = e.label("fine")
        self.may_fail = True
        self.failure.set(self.first)
        e.branch(e.any(condition), self.failed, on)
        e.begin(on)
