"""How long a function may be traced, or a loop over examples run: what takes longer is ended.

Whoever can do without the one or the other says so; what may go on and on asks.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter_ns
from types import FrameType
from typing import Any

from lanewise.trace.thread import state

#: A loop is given up when, at the pace of this part of its time, it would take so much longer.
PART, BEYOND = 1 / 16, 2


class TookTooLong(BaseException):
    """Ends what takes longer than it may."""


@contextmanager
def limited(nanoseconds: float, since: int | None = None) -> Generator[None]:
    """End what is traced or looped over in a ``with`` block by `TookTooLong` if it takes longer.

    Since now, or since a time that `time.perf_counter_ns` has told.
    """
    before = state.until
    state.until = min(before, (perf_counter_ns() if since is None else since) + nanoseconds)
    try:
        yield
    finally:
        state.until = before


@contextmanager
def interrupted(nanoseconds: float) -> Generator[None]:
    """End what plain Python does in a ``with`` block by `TookTooLong` if it takes longer.

    The time is looked at before each line, which takes a while itself: what is ended so may take
    a few times less otherwise. A debugger's or a profiler's own look at lines has to end first.
    """
    until, is_over = perf_counter_ns() + nanoseconds, False

    def look(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal is_over
        if perf_counter_ns() > until:
            is_over = True
            raise TookTooLong
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(before)
    if is_over:  # some code catches whatever is raised, and goes on
        raise TookTooLong


def check_time() -> None:
    """Raise `TookTooLong` if what is being traced has taken longer than it may."""
    if perf_counter_ns() > state.until:
        raise TookTooLong


class Pace:
    """Raises `TookTooLong` as soon as a loop over examples shows that it will take too long."""

    def __init__(self, size: int) -> None:
        self._size, self._start, self._until = size, perf_counter_ns(), state.until

    def check(self, index: int) -> None:
        """Look at the time, before an example is run."""
        if self._until == math.inf:
            return
        taken, may = perf_counter_ns() - self._start, self._until - self._start
        if taken > may or (taken > may * PART and taken * self._size > may * index * BEYOND):
            raise TookTooLong
