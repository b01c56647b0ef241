"""How long a function may be traced: a loop over Python's own numbers is recorded as it runs.

Whoever can do without the trace says so; the parts of the recording that may go on and on ask.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter_ns

from lanewise.trace.trace import state


class TookTooLong(BaseException):
    """Ends a trace that takes longer than it may."""


@contextmanager
def limited(nanoseconds: float) -> Generator[None]:
    """End what is traced in a ``with`` block by `TookTooLong` if it takes longer."""
    before = state.until
    state.until = min(before, perf_counter_ns() + nanoseconds)
    try:
        yield
    finally:
        state.until = before


def check_time() -> None:
    """Raise `TookTooLong` if what is being traced has taken longer than it may."""
    if perf_counter_ns() > state.until:
        raise TookTooLong
