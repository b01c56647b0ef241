"""Kernels whose local memory is written over when it is handed on, so that a late read shows."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from lanewise.codegen.emitter import Emitter
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.codegen.loops import Loops
from lanewise.codegen.memory import Memory
from lanewise.codegen.storage import Storage
from lanewise.runtime import dispatch


class Poisoned(Memory):
    """Memory that is written over as soon as it is given back: with NaN, -1 and True."""

    __slots__ = ("e", "times")

    def __init__(self, e: Emitter) -> None:
        super().__init__()
        self.e = e

    def give(self, begin: int, size: int) -> None:
        e = self.e
        e.module.declare("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1")
        at = e.write(f"getelementptr i8, ptr %scratch, i64 {begin}")
        e.do(f"call void @llvm.memset.p0.i64(ptr {at}, i8 -1, i64 {size}, i1 false)")
        super().give(begin, size)
        given_back.append(size)


#: The sizes of all that was written over.
given_back: list[int] = []


@contextmanager
def poisoning() -> Generator[None]:
    """Compile kernels anew while the ``with`` block lasts, with such memory."""
    make, known = Storage.__init__, dict(KERNELS)

    def poisoned(self: Storage, loops: Loops, fail: Any) -> None:
        make(self, loops, fail)
        self.memory = Poisoned(loops.e)

    Storage.__init__ = poisoned
    KERNELS.clear()
    dispatch._cache.clear()
    try:
        yield
    finally:
        Storage.__init__ = make
        KERNELS.clear()
        KERNELS.update(known)
        dispatch._cache.clear()
