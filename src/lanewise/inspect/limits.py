"""What a kernel is near: what memory, the units or the chains of its loops allow on this machine.

The model of costs counts cycles and bytes. How long a cycle is and how fast memory gives bytes is
measured once in a process, in some hundredths of a second, when something asks for it.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from lanewise.loading import late
from lanewise.runtime.pool import get_threads

if TYPE_CHECKING:
    from lanewise.codegen.costs import Cost

llvm = late("lanewise.codegen.llvm")
prices = late("lanewise.codegen.prices")

BANDWIDTH, ARITHMETIC, LATENCY = "bandwidth", "arithmetic", "latency"

#: Each instruction of a turn waits for the one before, and takes one cycle on all processors.
_PAIRS = 16
_TURNS = 20_000
#: Bytes that are copied: more than caches hold.
_COPIED = 48 << 20
_REPEATS = 10


@dataclass(frozen=True, slots=True)
class Limit:
    """What a kernel cannot be faster than, and how near it is to that.

    Attributes
    ----------
    name
        ``"bandwidth"``, ``"arithmetic"`` or ``"latency"``: what takes longest of the three.
    bound
        Seconds that this takes at least.
    near
        Which part that is of the time that the kernel takes, at most 1.
    is_measured
        Whether that time was measured; else it is estimated.
    gigabytes
        Of bandwidth, how many this machine's memory gives in a second; None if bytes come from
        caches.
    turn
        Of latency, the cycles of a turn of the loop that waits most.
    """

    name: str
    bound: float
    near: float
    is_measured: bool
    gigabytes: float | None = None
    turn: float | None = None

    def __str__(self) -> str:
        percent = f"{100 * self.near:.0f} %" if self.near >= 0.01 else "< 1 %"
        if self.name == BANDWIDTH:
            most = "what caches give"
            if self.gigabytes is not None:
                most = f"{self.gigabytes:.2g} GB/s"
            told = f"near bandwidth: {percent} of {most}"
        elif self.name == LATENCY:
            told = f"latency: {percent}, a loop's chain of {self.turn or 0:.0f} cycles a turn"
        else:
            told = f"arithmetic: {percent} of what the units can do"
        return told if self.is_measured else f"{told}, as estimated"


def limit_of(cost: Cost, seconds: float | None) -> Limit:
    """Return what a call of a kernel is near, given what it was estimated and measured to take."""
    cycle = prices.CLOCK / clock()
    parts = {
        ARITHMETIC: cost.arithmetic * cycle,
        LATENCY: cost.latency * cycle,
        BANDWIDTH: cost.cached * cycle + cost.nbytes / bandwidth(),
    }
    name = max(parts, key=lambda part: parts[part])
    bound = parts[name] / 1e9
    others = cost.total - cost.bandwidth
    time = (others * cycle + parts[BANDWIDTH]) / 1e9 if seconds is None else seconds
    return Limit(
        name,
        bound,
        min(bound / max(time, 1e-12), 1.0),
        seconds is not None,
        bandwidth() if name == BANDWIDTH and cost.nbytes else None,
        cost.turn if name == LATENCY else None,
    )


@lru_cache(maxsize=1)
def clock() -> float:
    """Return how many cycles of this processor a nanosecond has."""
    lines, last = [], "%x"
    for number in range(_PAIRS):
        lines.append(f"  %a{number} = add i64 {last}, 81985529216486895")
        lines.append(
            f"  %b{number} = call i64 @llvm.fshl.i64(i64 %a{number}, i64 %a{number}, i64 9)"
        )
        last = f"%b{number}"
    text = "\n".join(
        [
            "declare i64 @llvm.fshl.i64(i64, i64, i64)",
            "define i64 @kernel(i64 %turns) {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ %turns, %entry ], [ %j, %loop ]",
            f"  %x = phi i64 [ %turns, %entry ], [ {last}, %loop ]",
            *lines,
            "  %j = sub i64 %i, 1",
            "  %done = icmp eq i64 %j, 0",
            "  br i1 %done, label %end, label %loop",
            "end:",
            f"  ret i64 {last}",
            "}",
        ]
    )
    code = llvm.Code(text)
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("kernel"))
    return 2 * _PAIRS * _TURNS / _quickest(lambda: run(_TURNS))


def bandwidth() -> float:
    """Return how many gigabytes in a second, or bytes in a nanosecond, are copied from memory to
    memory by all threads: what is read and what is written.
    """
    return _bandwidth(get_threads())


@lru_cache(maxsize=8)
def _bandwidth(threads: int) -> float:
    source = np.ones(_COPIED // 2, np.uint8)
    target = np.ones_like(source)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))

    def copy() -> None:
        workers = [threading.Thread(target=np.copyto, args=(b, a)) for a, b in parts]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return _COPIED / _quickest(copy)


def _quickest(call: Callable[[], object]) -> float:
    """Return the nanoseconds of the quickest of several calls."""
    best = math.inf
    for _ in range(_REPEATS):
        start = perf_counter_ns()
        call()
        best = min(best, perf_counter_ns() - start)
    return max(best, 1.0)
