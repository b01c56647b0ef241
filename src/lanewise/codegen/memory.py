"""A kernel's local memory: which bytes an array gets, and who gets them after it.

The order of a region's operations is known while the kernel is written, so memory is handed on as
soon as the last reader of an array is written. What is used again and again stays in the caches.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise

from lanewise.codegen.errors import CannotCompile
from lanewise.ir.dims import Dim, DimLike

#: A kernel's local memory, for each lane block; beyond it a map is left to NumPy.
MOST_SCRATCH = 64 << 20
#: Arrays begin at lines of the caches. There is a line between them: stores run past none.
LINE = 64
#: Processors compare the last bits of addresses to tell whether a load must wait for a store: that
#: much lies between arrays of a page or more, so that walking along two at once is free of it.
PAGE, APART = 4096, 1024


class Memory:
    """Hands out pieces of a kernel's memory.

    Examples
    --------
    >>> memory = Memory()
    >>> first, second = memory.take(100), memory.take(8)
    >>> memory.give(first, 100)
    >>> memory.take(64) == first, memory.take(1000) > second
    (True, True)
    """

    __slots__ = ("_free", "_spare", "size", "unknown")

    def __init__(self) -> None:
        #: How many bytes there are, of pieces of known size.
        self.size = 0
        #: How many there are behind them, of pieces whose size is known only when the kernel runs.
        self.unknown: DimLike = 0
        #: Where pieces of an unknown size begin that nobody has.
        self._spare: dict[Dim, list[DimLike]] = {}
        #: Where pieces begin and end that nobody has, in order, no two of them side by side.
        self._free: list[tuple[int, int]] = []

    def take(self, size: DimLike, fresh: bool = False) -> DimLike:
        """Return where a piece begins; one that nobody had before, if it is to be `fresh`.

        Pieces of unknown size are counted from where those of known size end.
        """
        if isinstance(size, Dim):
            if not fresh and self._spare.get(size):
                return self._spare[size].pop()
            place = self.unknown
            self.unknown = place + (size // LINE + 1) * LINE + APART
            return place
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

    def give(self, begin: DimLike, size: DimLike) -> None:
        """Take a piece back."""
        if isinstance(size, Dim):
            self._spare.setdefault(size, []).append(begin)
            return
        assert isinstance(begin, int)
        self._join([(begin, begin + _whole(size))])

    @contextmanager
    def withheld(self) -> Generator[None]:
        """Hand out only what nobody had before: what was given back is kept until later."""
        kept, self._free = self._free, []
        spare, self._spare = self._spare, {}
        yield
        self._join(kept)
        for size, places in spare.items():
            self._spare.setdefault(size, []).extend(places)

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
