"""Running a compiled kernel over its items, on the calling thread and a pool of native threads.

A kernel is a C function ``int64 kernel(context*, int64 begin, int64 end, uint8* scratch)`` that
does the items ``begin`` to ``end`` and returns 0, or another code when it stopped before.
`Pool.run` calls it for all of ``range(total)``.

**The context** is a block of memory that the caller fills, but for its first `HEADER` bytes
(`Context`). While more than one thread runs, each has a copy of the block, so a kernel may write to
its context. Of a kernel that failed, the copy ends in the caller's block: it may note there what it
stopped at.

**Chunks** of ``grain`` items, each beginning at a multiple of it, go to whichever thread asks next.
They are the same for any number of threads, so partial results by chunk can be combined in an order
that does not depend on it. One chunk, or one thread, is run right away on the calling thread.

**Failure.** `run` returns the code of the failing chunk with the lowest items, so the first
example that fails is found, as in the loop. Chunks below a failing one still run, to their end;
later ones need not: ``poll`` tells them to leave, and what they return then is ignored.

**Polling.** A kernel calls ``poll`` now and then (every 65536 turns of a loop, and between blocks
of lanes). On the main thread it lets Python's signal handlers run every 40 ms, also while that
waits for others; what a handler raises (`KeyboardInterrupt`) stops all threads and is raised by
`run`. Other Python threads never take the GIL for this: signals are the main thread's.

**Threads** are made when first needed, sleep in ``pthread_cond_wait`` when there is no work, and
never touch Python. Jobs of several Python threads are open at the same time: workers join the
oldest first, and since each caller works on its own job, every job goes on. No lock is held while
a kernel or a signal handler runs, so handlers may map. A forked child has no workers and makes its
own. Where there are no POSIX threads, everything runs on the calling thread. At exit nothing is
waited for: idle workers end with the process.

**Scratch** is 64-byte aligned memory, one for each thread, with arbitrary contents. It is kept
from job to job, all threads together up to 32 MiB; large ones are then of the memory that is
kept for arrays (`lanewise.runtime.buffers`).

The pool is written in C (``c/pool.c``).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Collection

from lanewise.runtime.buffers import LARGE, memory
from lanewise.runtime.native import Library, Once, layout, program

#: More items, or bytes of scratch, than this are taken for a mistake.
_MOST = 1 << 48

#: More threads than this are taken for a mistake.
MOST_THREADS = 1024

#: Scratch that all threads together keep between jobs, in bytes.
MOST_SCRATCH = 32 << 20

_POINTER, _WORD, _HALF = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32

#: What the pool has of a context, and the bytes of it.
Context = layout("context")
HEADER = ctypes.sizeof(Context)


class Pool:
    """A pool of native threads, of which so many work at once, the calling one among them.

    A process needs one, see `the_pool`. Tests have it do without functions that are ``absent`` from
    the C library of some platforms. Native code calls ``launch``, the address of an ``i32 (ptr
    kernel, ptr context, i64 total, i64 grain, i64 scratch_bytes, ptr code)``: it returns 0 and
    leaves the code, or another number with an exception set; nothing is checked.
    """

    __slots__ = ("_census", "_launch", "_reset", "_resize", "launch")

    def __init__(self, threads: int, absent: Collection[str] = ()) -> None:
        library = Library(_text(), absent)
        library.set_object("runtime_error", RuntimeError)
        for name, address in zip(("take", "give"), memory(), strict=True):
            library.set_address(name, address)
        self.launch: int = library.address("launch")
        kinds = (_POINTER, _POINTER, _WORD, _WORD, _WORD, _POINTER)
        self._launch = library.function("launch", _HALF, *kinds)
        self._resize = library.function("resize", None, _HALF, _WORD)
        self._reset = library.function("reset", None, _WORD)
        counts = [library.address(name) for name in ("workers", "sleeping")]
        self._census = [_HALF.from_address(address) for address in counts]
        self._reset(threading.main_thread().ident)
        self.resize(threads)

    def run(self, kernel: int, context: int, total: int, grain: int, scratch_bytes: int) -> int:
        """Run a kernel over its items; return 0, or the code of the lowest failing chunk.

        It takes the addresses of the kernel and of the context (see the module's text), how many
        items there are, how many make a chunk, and how many bytes of scratch each thread needs.

        Examples
        --------
        >>> from lanewise.runtime.native import Library
        >>> text = '''define i64 @kernel(ptr %context, i64 %begin, i64 %end, ptr %scratch) {
        ...   %is_late = icmp sgt i64 %end, 500
        ...   %code = select i1 %is_late, i64 %begin, i64 0
        ...   ret i64 %code
        ... }'''
        >>> kernel, context = Library(text).address("kernel"), Context(bytes=HEADER)
        >>> the_pool().run(kernel, ctypes.addressof(context), 500, 64, 0)
        0
        >>> the_pool().run(kernel, ctypes.addressof(context), 1_000_000, 64, 0)
        448
        """
        if not (
            min(kernel, context, grain) > 0
            and 0 <= total <= _MOST
            and 0 <= scratch_bytes <= _MOST
            and Context.from_address(context).bytes >= HEADER
        ):
            raise ValueError("total, grain, scratch bytes or the size of the context out of range")
        code = ctypes.c_int64()
        self._launch(kernel, context, total, min(grain, _MOST), scratch_bytes, ctypes.byref(code))
        return code.value

    def resize(self, threads: int) -> None:
        """Use so many threads from now on; surplus workers end."""
        self._resize(threads - 1, MOST_SCRATCH // threads)

    def reset(self) -> None:
        """Begin anew in a child process, where only the thread that forked lives."""
        self._reset(threading.get_ident())

    def census(self) -> tuple[int, int]:
        """Return how many workers there are, and how many of them sleep."""
        workers, sleeping = [count.value for count in self._census]
        return workers, sleeping


def _text() -> str:
    """Return the pool's code for this platform."""
    if sys.maxsize < 2**32:
        raise RuntimeError("compiled kernels need a 64-bit Python")
    is_mac = sys.platform == "darwin"
    names = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP")
    # On macOS conditions know the time of day only, so everything goes by that clock there.
    clock = "CLOCK_REALTIME" if is_mac else "CLOCK_MONOTONIC"
    return program(
        "pool",
        CLOCK=getattr(time, clock, 0),
        DETACHED=2 if is_mac else 1,
        SETMASK=int(getattr(signal, "SIG_SETMASK", 0)),
        FAULTS=[int(getattr(signal, name)) for name in names if hasattr(signal, name)],
        LARGE=LARGE,
    )


#: The pool of this process.
the_pool = Once(lambda: Pool(get_threads()), Pool.reset)
_threads: int | None = None


def set_threads(threads: int) -> None:
    """Use so many threads from now on."""
    global _threads
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"the number of threads must be 1 to {MOST_THREADS}, not {threads}")
    with the_pool.lock:
        _threads = threads
        if the_pool.made is not None:
            the_pool.made.resize(threads)


def get_threads() -> int:
    """Return how many threads are used."""
    global _threads
    if _threads is None:
        _threads = _default_threads()
    return _threads


def _default_threads() -> int:
    """Return what LANEWISE_NUM_THREADS says, or the number of processors this process may use."""
    given = os.environ.get("LANEWISE_NUM_THREADS", "").strip()
    if given:
        if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= MOST_THREADS:
            raise ValueError(
                f"LANEWISE_NUM_THREADS must be a number of threads, 1 to {MOST_THREADS}, "
                f"not {given!r}"
            )
        return int(given)
    return min(processors(), MOST_THREADS)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
