"""What surrounds LLVM at work: room for it in memory, and signals meanwhile.

LLVM ends the process where it gets no memory, so nothing is compiled where a limit (``ulimit -v``)
could be met: `leave_room` asks the system first for more than LLVM needs. And it takes no notice of
signals, so the main thread has another one compile, and waits in a way that Ctrl-C ends
(`interruptible`): what that one was at is finished in the background, and found there by whoever
wants it again.
"""

from __future__ import annotations

import _thread
import atexit
import mmap
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds after which who waits looks around, and after which a thread should have begun.
POLL, START = 0.05, 2.0

#: Bytes of memory that LLVM needs at most, by measurements: to begin with, and for a character of a
#: module's text. Those of kernels took up to 4 MB and 20 bytes.
FIRST, EACH = 32 << 20, 64


def leave_room(characters: int) -> None:
    """Raise `MemoryError` unless there is memory to compile a module of so many characters.

    Examples
    --------
    >>> leave_room(1000)
    >>> leave_room(1 << 60)
    Traceback (most recent call last):
    ...
    MemoryError: too little memory to compile in
    """
    flags = {}
    if hasattr(mmap, "MAP_PRIVATE"):
        # As the C library asks for memory, so that the same limits hold.
        flags = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    try:
        mmap.mmap(-1, FIRST + EACH * characters, **flags).close()
    except (OSError, OverflowError, ValueError):
        raise MemoryError("too little memory to compile in") from None


class _Work:
    """What a thread makes, for all who want it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._begun = threading.Lock()
        self._is_done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Make it, if nobody does so yet."""
        if not self._begun.acquire(blocking=False):
            return
        try:
            self._result = self._make()
        except BaseException as error:  # raised where it is waited for
            self._error = error
        finally:
            self._is_done.set()

    def wait(self) -> None:
        """Wait until it is made, or a signal handler raises."""
        deadline = time.monotonic() + START
        while not self._is_done.wait(POLL):
            if time.monotonic() > deadline:  # a thread may find no memory to begin in
                self.run()

    def result(self) -> Any:
        if self._error is None:
            return self._result
        try:
            raise self._error
        finally:
            self._error = None  # its traceback holds this frame


_at_work: dict[str, _Work] = {}


def interruptible(key: str, make: Callable[[], T]) -> T:
    """Return what a function gives, which signal handlers do not have to wait for.

    Parameters
    ----------
    key
        What decides the result. Who asks for one that is being made waits for that.
    make
        The function. It runs to its end, though nobody may wait any more.

    Examples
    --------
    >>> interruptible("a sum", lambda: 2 + 3)
    5
    """
    if threading.current_thread() is not threading.main_thread():
        return make()  # signal handlers run on the main thread only
    work = _at_work.get(key)
    if work is None:
        work = _Work(make)
        try:
            # Not a `threading.Thread`: where memory is short, its `start` may wait for ever.
            _thread.start_new_thread(work.run, ())
        except (RuntimeError, MemoryError):  # no more threads may be started
            return make()
        _at_work[key] = work
    work.wait()
    _at_work.pop(key, None)
    return work.result()


@atexit.register
def _finish() -> None:
    """Wait for what is at work: the process must not end while LLVM is."""
    for work in [*_at_work.values()]:
        work.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_at_work.clear)  # its threads are not in this process
