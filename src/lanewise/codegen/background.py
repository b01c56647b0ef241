"""Compiling in the background, and what surrounds LLVM at work: room in memory, and signals.

What a call can do without for now is queued (`begin`), and made by one thread, one after the other:
LLVM leaves Python's lock to others while it works. What is made in Python needs that lock as calls
do, and NumPy gives it up so often that each of the two would wait for the other nearly all of the
time; so calls wait for a moment first (`lend`), which takes no longer from callers, all together,
than if they made it themselves. ``LANEWISE_BACKGROUND=0`` has it made at once, by whoever asks.

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
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds after which who waits looks around, and after which a thread should have begun.
POLL, START = 0.05, 2.0
#: Seconds that a call waits at most for what is made in Python; and in which a thread is awake that
#: waited for its lock.
LENT, AWAKE = 0.25, 1e-4

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


class Ended(BaseException):
    """The process ends: nothing more is to be made."""


class Work:
    """What a thread makes, for all who want it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        # Locks, whose methods take no memory: an Event's may raise MemoryError, and be never set.
        self._begun, self._at_work = threading.Lock(), threading.Lock()
        self._at_work.acquire()
        self._result: Any = None
        self._error: BaseException | None = None
        #: Whether it is made, or has failed; and whether the thread that makes it is in the process
        #: that this one was forked from.
        self.is_done = self.is_lost = False

    def run(self) -> None:
        """Make it, if nobody does so yet."""
        if not self._begun.acquire(False):
            return
        try:
            self._result = self._make()
        except BaseException as error:  # raised where it is waited for
            self._error = error
        finally:
            del self._make  # and all that it holds
            self.is_done = True
            self._at_work.release()

    def wait(self) -> None:
        """Wait until it is made, or a signal handler raises."""
        deadline = time.monotonic() + START
        while not self._at_work.acquire(timeout=POLL):
            if time.monotonic() > deadline:  # a thread may find no memory to begin in
                self.run()
        self._at_work.release()

    def result(self) -> Any:
        """Return what was made, or raise what it failed with."""
        if self._error is None:
            return self._result
        try:
            raise self._error
        finally:
            del self  # which the error's traceback would hold


_at_work: dict[str, Work] = {}


def interruptible(key: str, make: Callable[[], T]) -> T:
    """Return what a function gives, which signal handlers do not have to wait for.

    Its key is what decides the result: who asks for one that is being made waits for that. The
    function runs to its end, though nobody may wait any more.

    Examples
    --------
    >>> interruptible("a sum", lambda: 2 + 3)
    5
    """
    work = _at_work.get(key)
    if work is None:
        work = _at_work[key] = Work(make)
        # Signal handlers run on the main thread only.
        if threading.current_thread() is not threading.main_thread() or not _started(work.run):
            work.run()
    work.wait()
    _at_work.pop(key, None)
    return work.result()


def _started(run: Callable[[], None]) -> bool:
    """Whether a thread was started that runs a function."""
    try:
        # Not a `threading.Thread`: where memory is short, its `start` may wait for ever.
        _thread.start_new_thread(run, ())
    except (RuntimeError, MemoryError):  # no more threads may be started
        return False
    return True


# --- the queue ------------------------------------------------------------------------------------

#: What waits to be made, in order; the first is being made.
_queue: deque[Work] = deque()
_guard = threading.Lock()
#: Held while something is made, up to where `go_on` is asked: a process is forked only then, as its
#: child would have locks that nobody ever releases, of LLVM's and of Python's imports too.
_making = threading.Lock()
_is_ending = _is_forking = False
_maker = 0
#: Whether nothing is made in Python, so that the lock is left to callers.
_is_free = threading.Event()
_is_free.set()


def is_alone() -> bool:
    """Whether nothing is made in the background: by LANEWISE_BACKGROUND, or as the process ends."""
    return _is_ending or os.environ.get("LANEWISE_BACKGROUND") == "0"


def begin(make: Callable[[], Any]) -> Work:
    """Have something made, in the background if that is possible.

    Examples
    --------
    >>> work = begin(lambda: 2 + 3)
    >>> work.wait()
    >>> work.result()
    5
    """
    work = Work(partial(copy_context().run, make))
    if is_alone():
        work.run()
        return work
    with _guard:
        _queue.append(work)
        is_first = len(_queue) == 1
    if is_first and not _started(_make_all):
        _make_all()
    return work


def _make_all() -> None:
    global _maker
    _maker = threading.get_ident()
    while True:
        with _guard:
            if not _queue:
                return
            work = _queue[0]
        _pause_for_forks()
        with _making:
            _is_free.clear()
            work.run()
            _is_free.set()
        with _guard:
            if _queue:
                _queue.popleft()


def lend(work: Work) -> None:
    """Wait for a moment while something is made in Python, before a call that does not need it.

    Whoever's work is not begun yet does not wait for that of others, which may be long.
    """
    if not _queue or _queue[0] is not work:
        return
    time.sleep(AWAKE)  # what comes from LLVM may wait for the lock
    _is_free.wait(LENT)


@contextmanager
def without_lock() -> Generator[None]:
    """While the ``with`` block lasts a thread works that leaves Python's lock to others."""
    is_maker = threading.get_ident() == _maker
    if is_maker:
        _is_free.set()
    try:
        yield
    finally:
        if is_maker:
            _is_free.clear()


def go_on() -> None:
    """Say in what is made by `begin` that it may stop here for a moment, or for good."""
    if _is_ending:
        raise Ended
    if _is_forking and threading.get_ident() == _maker:
        _making.release()
        _pause_for_forks()
        _making.acquire()


def _pause_for_forks() -> None:
    while _is_forking:
        time.sleep(0.001)


def finish() -> None:
    """Wait until all that was begun is made."""
    while True:
        with _guard:
            if not _queue:
                return
            work = _queue[-1]
        work.wait()
        time.sleep(0)


@atexit.register
def _end() -> None:
    """Wait for what is at work: the process must not end while LLVM is."""
    global _is_ending
    _is_ending = True
    with _guard:
        while len(_queue) > 1:
            _queue.pop()
        made = [*_queue]
    for work in [*made, *_at_work.values()]:
        work.wait()


# --- forks ----------------------------------------------------------------------------------------

_others: list[Any] = []
_held: list[Any] = []


def held_at_fork(lock: T) -> T:
    """Return a lock that who forks the process holds: those that are told last are taken first.

    A child process must not begin with a lock held by a thread that it does not have.
    """
    _others.append(lock)
    return lock


def _before_fork() -> None:
    global _is_forking
    _is_forking = True
    _making.acquire()  # before all that is needed to go on
    _held.extend([*reversed(_others), _guard])
    for lock in _held:
        lock.acquire()


def _after_fork() -> None:
    global _is_forking
    while _held:
        _held.pop().release()
    _making.release()
    _is_forking = False


def _after_fork_in_child() -> None:
    """Note that the threads at work are not in this process."""
    _at_work.clear()
    _is_free.set()
    for work in _queue:
        work.is_lost = work.is_done = True
    _queue.clear()
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
    )
