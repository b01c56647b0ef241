"""Kernels written by hand, for the tests of the thread pool: each sees the arrays of `Work`."""

from __future__ import annotations

import ctypes
import struct
from functools import cache

import numpy as np

from lanewise.runtime.native import Library
from lanewise.runtime.pool import HEADER

# The context behind its header: seen, codes, turns, starts, threads, scratches (arrays of an entry
# for each item), and the item that failed. One item is: wait for its turns, count it, return its
# code.
TEXT = """
declare i64 @PyThread_get_thread_ident()
declare i32 @usleep(i32)

define i64 @kernel(ptr %context, i64 %begin, i64 %end, ptr %scratch) {
  %poll = load ptr, ptr %context
  %p0 = getelementptr i8, ptr %context, i64 32
  %seen = load ptr, ptr %p0
  %p1 = getelementptr i8, ptr %context, i64 40
  %codes = load ptr, ptr %p1
  %p2 = getelementptr i8, ptr %context, i64 48
  %turns = load ptr, ptr %p2
  %p3 = getelementptr i8, ptr %context, i64 56
  %starts = load ptr, ptr %p3
  %p4 = getelementptr i8, ptr %context, i64 64
  %threads = load ptr, ptr %p4
  %p5 = getelementptr i8, ptr %context, i64 72
  %scratches = load ptr, ptr %p5
  %failed = getelementptr i8, ptr %context, i64 80
  %thread = call i64 @PyThread_get_thread_ident()
  br label %item
item:
  %i = phi i64 [ %begin, %0 ], [ %next, %good ]
  %thread.at = getelementptr i64, ptr %threads, i64 %i
  store i64 %thread, ptr %thread.at
  %start.at = getelementptr i64, ptr %starts, i64 %i
  store i64 %begin, ptr %start.at
  %scratch.at = getelementptr i64, ptr %scratches, i64 %i
  store ptr %scratch, ptr %scratch.at
  %turns.at = getelementptr i64, ptr %turns, i64 %i
  br label %wait
wait:  ; a turn of 100 microseconds and a poll
  %turn = phi i64 [ 0, %item ], [ %turn.next, %turned ]
  %count = load volatile i64, ptr %turns.at
  %is.over = icmp sge i64 %turn, %count
  br i1 %is.over, label %done, label %sleep
sleep:
  call i32 @usleep(i32 100)
  %leave = call i32 %poll(ptr %context)
  %is.asked = icmp ne i32 %leave, 0
  br i1 %is.asked, label %left, label %turned
turned:
  %turn.next = add i64 %turn, 1
  br label %wait
left:
  ret i64 -99
done:
  %seen.at = getelementptr i64, ptr %seen, i64 %i
  atomicrmw add ptr %seen.at, i64 1 seq_cst
  %code.at = getelementptr i64, ptr %codes, i64 %i
  %code = load i64, ptr %code.at
  %is.bad = icmp ne i64 %code, 0
  br i1 %is.bad, label %bad, label %good
bad:
  store i64 %i, ptr %failed
  ret i64 %code
good:
  %next = add i64 %i, 1
  %is.more = icmp slt i64 %next, %end
  br i1 %is.more, label %item, label %out
out:
  ret i64 0
}

define i64 @fill(ptr %context, i64 %begin, i64 %end, ptr %scratch) {  ; all of the scratch, twice
  %p = getelementptr i8, ptr %context, i64 32
  %bytes = load i64, ptr %p
  br label %write
write:
  %i = phi i64 [ 0, %0 ], [ %i.next, %write ]
  %at = getelementptr i8, ptr %scratch, i64 %i
  %value = trunc i64 %begin to i8
  store volatile i8 %value, ptr %at
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %bytes
  br i1 %more, label %write, label %read
read:
  %j = phi i64 [ 0, %write ], [ %j.next, %right ]
  %from = getelementptr i8, ptr %scratch, i64 %j
  %found = load volatile i8, ptr %from
  %same = icmp eq i8 %found, %value
  br i1 %same, label %right, label %wrong
right:
  %j.next = add i64 %j, 1
  %further = icmp slt i64 %j.next, %bytes
  br i1 %further, label %read, label %out
wrong:
  ret i64 1
out:
  ret i64 0
}

define i64 @spin(ptr %context, i64 %begin, i64 %end, ptr %scratch) {  ; until told to leave
  %poll = load ptr, ptr %context
  br label %outer
outer:
  br label %inner
inner:
  %n = phi i64 [ 0, %outer ], [ %n.next, %inner ]
  %n.next = add i64 %n, 1
  call void asm sideeffect "", ""()
  %more = icmp slt i64 %n.next, 65536
  br i1 %more, label %inner, label %ask
ask:
  %leave = call i32 %poll(ptr %context)
  %is.asked = icmp ne i32 %leave, 0
  br i1 %is.asked, label %out, label %outer
out:
  ret i64 -99
}

define i64 @nothing(ptr %context, i64 %begin, i64 %end, ptr %scratch) {
  ret i64 0
}
"""


@cache
def library() -> Library:
    return Library(TEXT, level=1)


def address(name: str) -> int:
    return library().address(name)


class Context:
    """A context block with integers behind its header."""

    def __init__(self, *fields: int) -> None:
        size = HEADER + 8 * len(fields)
        block = struct.pack(f"{4 + len(fields)}q", 0, 0, 0, size, *fields)
        self.block = ctypes.create_string_buffer(block, size)
        self.address = ctypes.addressof(self.block)

    def __getitem__(self, index: int) -> int:
        return struct.unpack_from("q", self.block, HEADER + 8 * index)[0]


class Work:
    """Items for `kernel`, and what became of them."""

    def __init__(self, total: int) -> None:
        self.total = total
        names = "seen codes turns starts threads scratches"
        self.arrays = {name: np.zeros(total, np.int64) for name in names.split()}
        self.context = Context(*[array.ctypes.data for array in self.arrays.values()], -1)

    def __getattr__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    @property
    def failed(self) -> int:
        """The item that failed, as the kernel noted it."""
        return self.context[6]

    def run(self, run, grain: int, scratch: int = 0) -> int:
        return run(address("kernel"), self.context.address, self.total, grain, scratch)


def threads_of(run, expected: int, scratch: int = 0) -> dict[int, int]:
    """Run jobs until so many threads have worked, or in vain; return the scratch of each."""
    seen: dict[int, int] = {}
    for _ in range(50):
        work = Work(60)
        work.turns[:] = 5
        work.run(run, 1, scratch)
        seen |= dict(zip(work.threads.tolist(), work.scratches.tolist(), strict=True))
        if len(seen) >= expected:
            break
    return seen


def spinning(run, total: int = 1, grain: int = 1) -> int:
    """Run the kernel that never ends."""
    context = Context()
    return run(address("spin"), context.address, total, grain, 0)
