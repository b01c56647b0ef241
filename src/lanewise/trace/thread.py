"""What each thread knows of what it traces."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


class _State(threading.local):
    #: The innermost open `Trace`, if any.
    trace: Any = None
    #: How many tapes are recording.
    tapes: int = 0
    #: The name of the function whose trace is kept, to run again.
    function: str | None = None
    #: Why no variable may be made now, if none may.
    no_variables: str | None = None
    #: Why no variable may be assigned outside of traces now, if none may.
    no_assigning: str | None = None
    #: Returns the trace of what is done with concrete tensors outside of any trace.
    ambient: Any = None
    #: Told when an outermost trace opens (True) and when it ends; see `lanewise.profile`.
    watch: Callable[[bool], None] | None = None
    #: The innermost `try` statement whose body is recorded (`lanewise.autograph.attempts`).
    attempt: Any = None
    #: How a loop goes through the generator that runs (`lanewise.autograph.pulled`).
    pull: Any = None
    #: The innermost ``with np.errstate(...="raise")`` (`lanewise.autograph.floating`).
    floating: Any = None
    #: What collects formatted tensors, the innermost last (`lanewise.trace.formatting`).
    messages: tuple[Any, ...] = ()
    #: How often the function was traced before because a length that is data is not what it was
    #: taken for. From then on slices may be cut off, and counts have as many places as `ROOM` says.
    room: int = 0
    #: Whether lists hold elements of which the data say how many there are, in what is traced.
    has_contents: bool = False
    #: Whether loops are unrolled in which the iteration decides how long lists are, and whether one
    #: was not.
    keeps_lengths: bool = False
    gave_up_lengths: bool = False
    #: What the function that is traced gives for one example, if that is known, and what is raised
    #: for another that differs; whether it was refused as nobody knew; and by the ids of tensors,
    #: their values and what they are.
    example: tuple[Any, Exception] | None = None
    asked_for_lengths: bool = False
    arrays: Mapping[int, tuple[Any, Any]] = MappingProxyType({})
    #: When what is traced has taken too long, by `time.perf_counter_ns` (`lanewise.trace.limits`).
    until: float = float("inf")
    #: How many operations the outermost trace that is open may still record.
    room_to_record: float = float("inf")


state = _State()
