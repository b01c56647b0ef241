"""A kernel's local memory: which bytes an array gets, and who gets them after it.

The order of a region's operations is known while the kernel is written, so memory is handed on as
soon as the last reader of an array is written. What is used again and again stays in the caches.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise

from lanewise.codegen.errors import CannotCompile

#: A kernel's local memory, for each lane block; beyond it a map is left to NumPy.
MOST_SCRATCH = 64 << 20
#: Arrays begin at lines of the caches. There is a line between them: stores run past none.
LINE = 64
#: Processors compare the last bits of addresses to tell whether a load must wait for a store: that
#: much lies between arrays of a page or more, so that walking along two at once is free of it.
PAGE, APART = 4096, 1024


class Memory:
    """Hands out pieces of a kernel's memory.

    Attributes
    ----------
    size
        How many bytes there are.

    Examples
    --------
    >>> memory = Memory()
    >>> first, second = memory.take(100), memory.take(8)
    >>> memory.give(first, 100)
    >>> memory.take(64) == first, memory.take(1000) > second
    (True, True)
    """

    __slots__ = ("_free", "size")

    def __init__(self) -> None:
        self.size = 0
        #: Where pieces begin and end that nobody has, in order, no two of them side by side.
        self._free: list[tuple[int, int]] = []

    def take(self, size: int, fresh: bool = False) -> int:
        """Return where a piece begins; one that nobody had before, if it is to be `fresh`."""
        size = _whole(size)
        fitting = [] if fresh else [piece for piece in self._free if piece[1] - piece[0] >= size]
        if fitting:
            begin, end = min(fitting, key=lambda piece: piece[1] - piece[0])
            self._free.remove((begin, end))
            if begin + size < end:
                self._join([(begin + size, end)])
            return begin
        begin, self.size = self.size, self.size + size
        if self.size > MOST_SCRATCH:
            raise CannotCompile("it needs more local memory than a kernel has")
        return begin

    def give(self, begin: int, size: int) -> None:
        """Take a piece back."""
        self._join([(begin, begin + _whole(size))])

    @contextmanager
    def withheld(self) -> Generator[None]:
        """Hand out only what nobody had before: what was given back is kept until later."""
        kept, self._free = self._free, []
        yield
        self._join(kept)

    def _join(self, pieces: list[tuple[int, int]]) -> None:
        joined: list[tuple[int, int]] = []
        for begin, end in sorted([*self._free, *pieces]):
            if joined and joined[-1][1] == begin:
                begin = joined.pop()[0]
            joined.append((begin, end))
        assert all(a[1] < b[0] for a, b in pairwise(joined)), "memory given back twice"
        self._free = joined


def _whole(size: int) -> int:
    return -(-max(size, 1) // LINE) * LINE + (LINE if size < PAGE else APART)
