"""Turns of a ``for`` loop that are alike: what is known of a counter, and of all turns by one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.sequences import TracedRange
from lanewise.autograph.turns import Turns, strengthened
from lanewise.ir.dims import Dim, DimLike, bounds
from lanewise.ir.graph import Operation
from lanewise.ir.location import here
from lanewise.ops.creation import define_size
from lanewise.trace.provenance import MOST_COMPARED, Counter, depth_of
from lanewise.trace.regions import Region
from lanewise.trace.tensor import read


class UnlikeError(Exception):
    """Raised where a loop is recorded some turns of which are not like the others.

    Attributes
    ----------
    alike, others
        How many turns are alike at first, and how many others come behind them.
    """

    def __init__(self, alike: np.ndarray) -> None:
        super().__init__()
        self.alike = int(alike.argmin())
        rest = alike[self.alike :]
        self.others = int(rest.argmax()) if rest.any() else len(rest)


def counter_of(
    region: Region,
    sequence: Any,
    numbers: tuple[Any, Any],
    start: int,
    length: DimLike | None,
    has_test: bool,
) -> Counter:
    """Return the counter of a loop, of which `numbers` are the position and the item.

    A range between ends that are sizes counts by its items: of these it is known best how far they
    go.
    """
    # The same name for the same code, and another one than those of loops around.
    around = len(region.parent.operations) if region.parent is not None else 0
    name = None if has_test else f"t.{depth_of(region)}_{around}"
    position, item = numbers
    ends = sequence.ends() if isinstance(length, Dim) and type(sequence) is TracedRange else None
    if ends is not None and (least := bounds(ends[0])[0]) is not None:
        return Counter(read(item), least, name, ends[1])
    counter = Counter(read(position), start, name, None if length is None else length - 1)
    if isinstance(length, int):
        counter.turns = length - start
        if counter.turns <= MOST_COMPARED:
            counter.alike = np.ones(counter.turns, bool)
    return counter


def define_counter(region: Region, position: int) -> None:
    """Record before an operation that the counter is a size."""
    counted = region.counted
    least, most = counted.first, counted.most
    most = None if most is None else most - least
    params = {"size": counted.size - least, "least": least, "most": most}
    signature = define_size.signature([counted.value.type], params)
    region.operations.insert(position, Operation(signature, (counted.value,), 0, here()))


class NotCounted(Exception):  # noqa: N818 (nothing went wrong)
    """Raised where a loop is not recorded after all, as it does not count as it was thought to."""


class Whole:
    """Sees to it that all turns of a loop that is recorded from its first one on are alike.

    Attributes
    ----------
    strong
        What the variables hold before the loop, numbers of Python's that turns make NumPy's as
        such; None if there are none.
    is_probe
        Whether they are recorded as numbers of Python's, to see that this is the same.
    """

    def __init__(self, first: Sequence[Any], last: Sequence[Any]) -> None:
        self.strong, self.is_probe = strengthened(first, last), False
        self._count = len(first)
        self._recorded: Hashable = None

    def check(self, turns: Turns, ends: tuple[Any, ...] | None, is_stable: bool) -> None:
        """Raise `NotCounted` if the turns are not alike, or a turn was recorded to be compared."""
        if self.is_probe:
            self._recorded = turns.recorded(ends)
            raise NotCounted
        if self.strong is None and ends is not None:
            entries = [variable.entry for variable in turns.carry.variables]
            strong = strengthened(entries, ends)
            self.strong = None if strong is None else strong[: self._count]
            if self.strong is not None:
                raise NotCounted
        if not is_stable:
            return
        is_same = self.strong is None or self._recorded == turns.recorded(ends)
        if not (is_same and turns.carry.is_exact):
            raise NotCounted
