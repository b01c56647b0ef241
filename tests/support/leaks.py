"""Whether something that is done many times leaves memory behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def blocks_left(turn: Callable[[], object], times: int) -> float:
    """Return how many of Python's blocks of memory each turn leaves behind, on average.

    A leak grows in every round. What else goes on in the process (other threads, free lists that
    are filling) comes and goes, so the least of some rounds counts.
    """
    found = []
    for _ in range(4):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(times):
            turn()
        gc.collect()
        found.append((sys.getallocatedblocks() - before) / times)
    return min(found)
