"""Examples that fail: what a kernel's caller is told, what is left to NumPy, and which is first."""

from __future__ import annotations

import threading
from collections.abc import Callable

from lanewise.ir.graph import Operation


class KernelFailed(Exception):  # noqa: N818 (the error is the interpreter's to tell)
    """Examples failed in a kernel; the interpreter says how, or gives the results after all.

    ``first`` is the first example that raises when it is interpreted; None if so many failed in the
    kernel that all of them should be interpreted. ``op`` is the native map, where it is known.
    """

    def __init__(self, first: int | None, op: Operation | None = None) -> None:
        super().__init__("an example failed in a compiled map")
        self.first = first
        self.op = op


class NotCompiled(KernelFailed):
    """A kernel that was to run cannot be made, for a reason; all is interpreted, from now on."""

    def __init__(self, reason: str, op: Operation | None = None) -> None:
        super().__init__(None, op)
        self.reason = reason


def first_failing(count: int, fails: Callable[[int, int], bool]) -> int:
    """Return the first of some examples that fails, where they fail together: found by halves.

    ``fails`` says whether those from one number up to another fail. It is the last example if none
    of the halves does.
    """
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if fails(low, middle):
            high = middle
        else:
            low = middle
    return low


class _Left(threading.local):
    """How many examples kernels left to NumPy, in this thread."""

    examples = 0


left = _Left()
