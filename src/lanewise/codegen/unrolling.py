"""Which loops of a kernel are written out, turn by turn: decided before anything is written."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from lanewise.codegen.uniformity import is_small
from lanewise.ir.dims import Dim

#: Loops of at most so many turns are written out, turn by turn.
UNROLLED = 8
#: About how many operations the loops over elements may be written out to in a kernel: LLVM takes
#: tens of microseconds for each. Each operation of the map's region has its share of them.
KERNEL_OPERATIONS = 8192
#: The least and the most share: to be in registers, the elements of a 4 by 4 product take 64. With
#: examples in lanes an element in memory is a vector that is stored and loaded.
LEAST_SHARE, LEAST_SHARE_IN_LANES, MOST_SHARE = 64, 256, 512
#: Where elements are in memory anyway less is won: a nest of loops has this part of a share.
NEST_PART = 4
#: What a loop that runs takes beside its turns: a counter, a test and two jumps.
LOOP_OPERATIONS = 6


def share_of(operations: int, in_lanes: bool = False) -> int:
    """Return to how many operations each of so many of a kernel may be written out.

    Examples
    --------
    >>> share_of(1), share_of(32), share_of(1000), share_of(1000, in_lanes=True)
    (512, 256, 64, 256)
    """
    least = LEAST_SHARE_IN_LANES if in_lanes else LEAST_SHARE
    return min(max(KERNEL_OPERATIONS // max(operations, 1), least), MOST_SHARE)


class Unrolling:
    """How far the loops of the code at hand are written out."""

    def __init__(self) -> None:
        #: To how many operations the loops over elements of one operation may be written out.
        self.share = MOST_SHARE
        #: How often the code at hand is written, as loops around it are written out.
        self._copies = 1
        #: Whether a loop around it is of a nest that might be written out, but runs.
        self._is_rolled = False

    @property
    def _most(self) -> int:
        """To how many operations a nest of loops is written out at most."""
        return self.share // NEST_PART

    def is_short(self, turns: int) -> bool:
        """Whether a loop of so many turns is written out."""
        return turns <= (UNROLLED if turns * self._copies <= self._most else 1)

    def is_written_out(self, shape: Sequence[Any], work: int = 1) -> bool:
        """Whether what is done for each element of a small array is written out, one by one.

        `work` is about how many operations that is for one.
        """
        if not is_small(shape):
            return False
        # What is read at the index of a loop around is not in registers.
        elements, most = math.prod(shape), self._most if self._is_rolled else self.share
        return elements <= 1 or elements * work * self._copies <= most

    def written_out(self, shape: Sequence[Any], work: int = 1) -> list[bool]:
        """Return which loops over the axes of a shape are written out, of so much work a turn.

        That is decided before anything is written, for the innermost loop first.
        """
        found, operations = [], work * self._copies
        for size in reversed(shape):
            is_short = not isinstance(size, Dim) and size <= UNROLLED
            is_out = is_short and size * operations <= self._most
            operations = max(size, 1) * operations if is_out else operations + LOOP_OPERATIONS
            found.append(is_out)
        return found[::-1]

    @contextmanager
    def within(self, *, copies: int = 1, is_rolled: bool = False) -> Generator[None]:
        """Write the turns of a loop: so many times, or of a nest that might be written out once."""
        outer = self._copies, self._is_rolled
        self._copies, self._is_rolled = self._copies * max(copies, 1), self._is_rolled or is_rolled
        try:
            yield
        finally:
            self._copies, self._is_rolled = outer
