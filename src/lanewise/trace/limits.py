"""How long a function may be traced, or a loop over examples run: what takes longer is ended.

Whoever can do without the one or the other says so; what may go on and on asks. Where nobody can do
without a trace, it may record so many operations.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter_ns
from types import FrameType
from typing import Any, NoReturn

from lanewise.errors import EndlessRecursionError, UnsupportedError, at
from lanewise.ir.graph import Operation
from lanewise.ir.location import here_and_around
from lanewise.trace.thread import state

#: A loop is given up when, at the pace of this part of its time, it would take so much longer.
PART, BEYOND = 1 / 16, 2

#: So many operations a trace may record. A region, such as a branch, counts as some of them, and to
#: go through so many arrays that another may be a view of as one. It takes about 10 s, and what is
#: recorded then minutes to plan.
MOST_RECORDED, REGION, ROOTS = 100_000, 20, 32
#: How often a function has to stand among those that have called each other to be a recursion.
RECURSIVE = 8


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
    """Raise `TookTooLong` if what is being traced, or interpreted, has taken longer than it may."""
    if perf_counter_ns() > state.until:
        raise TookTooLong


def count_operation() -> None:
    """Note that an operation is recorded.

    Raises
    ------
    TookTooLong
        If what is being traced has taken longer than it may.
    UnsupportedError
        If more is recorded than any trace may record.
    """
    state.room_to_record -= 1
    if state.room_to_record < 0:
        _refuse_more()
    check_time()


def weight(op: Operation) -> int:
    """Return how many operations an operation is, with those of its regions."""
    return 1 + sum([weight(inner) for region in op.regions for inner in region.operations])


def _refuse_more() -> NoReturn:
    places = list(here_and_around())
    many = f"more than {MOST_RECORDED:,} operations"
    often = Counter([code for code, _ in places])
    for number, (code, _) in enumerate(places):
        if often[code] >= RECURSIVE:
            place = next(each for each in places[number + 1 :] if each[0] is code)
            raise EndlessRecursionError(
                f"{code.co_qualname} calls itself{at(place)}, and {many} are recorded: of branches "
                "that data decide both are, so that each call makes more of them. Write a loop "
                "with the stack in an array"
            )
    name = places[0][0].co_qualname if places else "what is traced"
    raise UnsupportedError(
        f"{name} records {many}{at(places[0] if places else None)}: iterations are recorded one by "
        "one in a generator, and in loops that are steered by plain Python objects. Write a loop "
        "over an array or a range, without a yield, or trace its body alone"
    )


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
