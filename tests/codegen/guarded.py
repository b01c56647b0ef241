"""Native maps on memory between inaccessible pages: an access out of bounds ends the process.

Each operand, each result, the context and each local array of a kernel lie either directly behind
an inaccessible page or directly before one; what is left of their own pages must stay as it was.
"""

from __future__ import annotations

import ctypes
import mmap
import re
import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from lanewise.codegen.kernel import FAILED, HEAD, STOPPED
from lanewise.codegen.lowering import Lowering
from lanewise.ir.dims import evaluate
from lanewise.ir.graph import Operation
from lanewise.runtime import dispatch
from lanewise.runtime import kernels as kernel_runner
from lanewise.runtime.kernels import KERNELS, KernelFailed, code_of, kernel_for, rows

PAGE = mmap.PAGESIZE
#: What the bytes are that belong to nobody.
EMPTY = 0xA5
#: Where a kernel's text says that a page of its local memory is not to be touched.
_GAP = re.compile(r"; nobody's page: (\d+)")
_libc = ctypes.CDLL(None, use_errno=True)
_poll = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(lambda context: 0)


class Block:
    """Bytes between two inaccessible pages, at the start or at the end of what is accessible."""

    def __init__(self, size: int, at_end: bool) -> None:
        inner = max(-(-size // PAGE), 1) * PAGE
        self.map = mmap.mmap(-1, inner + 2 * PAGE)
        self.whole = np.frombuffer(self.map, np.uint8)
        self.whole[...] = EMPTY
        self.first = PAGE + (inner - size if at_end else 0)
        self.size = size
        self.forbid(0)
        self.forbid(PAGE + inner)
        self.inner = self.whole[PAGE : PAGE + inner]

    def forbid(self, page: int) -> None:
        """Make a page inaccessible."""
        where = ctypes.c_void_p(self.whole.ctypes.data + page)
        if _libc.mprotect(where, ctypes.c_size_t(PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")

    @property
    def address(self) -> int:
        return self.whole.ctypes.data + self.first

    @property
    def bytes(self) -> np.ndarray:
        return self.whole[self.first : self.first + self.size]

    def check(self) -> None:
        """Assert that nobody wrote to the accessible bytes around."""
        before = self.first - PAGE
        assert (self.inner[:before] == EMPTY).all(), "a kernel wrote before a buffer"
        assert (self.inner[before + self.size :] == EMPTY).all(), "a kernel wrote behind a buffer"


class Guarded:
    """How native maps are run here.

    Attributes
    ----------
    at_end
        Whether buffers end where an inaccessible page begins; else they begin behind one.
    calls
        How many native maps ran.
    """

    def __init__(self, at_end: bool) -> None:
        self.at_end = at_end
        self.calls = 0

    def native(self, op: Operation) -> Callable[..., Any]:
        """Return the runner of a native map; see `lanewise.runtime.kernels.native`."""
        (body,) = op.regions
        in_dims = op.params["in_dims"]
        kernel = kernel_for(body, in_dims)
        code = code_of(kernel)
        function = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
        )(code.address(kernel.name))
        lanes = kernel.lanes if kernel.in_lanes else 1

        def guarded(sizes: dict[str, int], *operands: Any) -> tuple[np.ndarray, ...]:
            size = evaluate(op.params["size"], sizes)
            given = []
            for x, axis, value in zip(operands, in_dims, body.inputs, strict=True):
                x = rows(x, axis, value.type.dtype)
                block = Block(x.nbytes, self.at_end)
                block.bytes[...] = x.reshape(-1).view(np.uint8)
                given.append((block, x))
            found = [
                Block(
                    size * int(np.prod(value.type.shape)) * value.type.dtype.itemsize, self.at_end
                )
                for value in body.outputs
            ]
            scratch = Block(kernel.scratch, self.at_end)
            for page in _GAP.findall(kernel.text):
                scratch.forbid(PAGE + int(page))
            blocks = [*[block for block, _ in given], *found]
            head = (ctypes.cast(_poll, ctypes.c_void_p).value, 0, 0, HEAD + 8 * len(blocks))
            text = struct.pack(f"{HEAD // 8 + len(blocks)}q", *head, *[b.address for b in blocks])
            context = Block(len(text), self.at_end)
            context.bytes[...] = np.frombuffer(text, np.uint8)
            cuts = sorted({0, min(lanes, size), size})  # in two runs, as threads would
            self.calls += 1
            for begin, end in pairwise(cuts):
                answer = function(context.address, begin, end, scratch.address)
                for block in (*blocks, context):
                    block.check()
                for block, x in given:
                    assert block.bytes.tobytes() == x.tobytes(), "a kernel wrote to an operand"
                if answer & FAILED:
                    raise KernelFailed(answer >> 2)
                assert answer != STOPPED
            return tuple(
                [
                    block.bytes.view(value.type.dtype).reshape(size, *value.type.shape).copy()
                    for block, value in zip(found, body.outputs, strict=True)
                ]
            )

        guarded.code = code  # ty: ignore[unresolved-attribute]  (it lives as long as what runs it)
        return guarded

    def allocate(self, k: Lowering, size: int) -> str:
        """Take local memory, and a page of nobody behind it; see `Lowering._allocate`."""
        first, e = k.scratch, k.e
        end = first + -(-max(size, 1) // PAGE) * PAGE
        k.scratch = end + PAGE
        e.entry.append(f"  ; nobody's page: {end}")
        name = e.name()
        where = end - size if self.at_end else first
        e.entry.append(f"  {name} = getelementptr i8, ptr %scratch, i64 {where}")
        return name


@contextmanager
def guarding(at_end: bool) -> Generator[Guarded]:
    """Run native maps on guarded memory while the ``with`` block lasts."""
    before = kernel_runner.native, Lowering._allocate, dict(KERNELS)
    guarded = Guarded(at_end)
    kernel_runner.native = guarded.native  # ty: ignore[invalid-assignment]
    Lowering._allocate = lambda self, size: guarded.allocate(self, size)
    KERNELS.clear()  # their local arrays lie side by side
    dispatch._cache.clear()
    try:
        yield guarded
    finally:
        kernel_runner.native, Lowering._allocate, kernels = before
        KERNELS.clear()
        KERNELS.update(kernels)
        dispatch._cache.clear()
