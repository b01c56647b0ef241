"""Native maps on memory between inaccessible pages: an access out of bounds ends the process.

Each operand, each result, the context and each local array of a kernel lie directly before an
inaccessible page, and when it is run again directly behind one; what is left of their own pages
must stay as it was. What is to run here is run in a process of its own, by `run_apart`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lanewise.codegen.kernel import FAILED, HEAD, STOPPED
from lanewise.codegen.kernel_cache import KERNELS, kernel_for
from lanewise.codegen.storage import Storage
from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Operation
from lanewise.passes.fitting import fits
from lanewise.passes.specialize import replaced
from lanewise.runtime import dispatch
from lanewise.runtime import kernels as kernel_runner
from lanewise.runtime.failed import KernelFailed
from lanewise.runtime.kernels import code_of, prefers_columns

PAGE = mmap.PAGESIZE
#: What the bytes are that belong to nobody.
EMPTY = 0xA5
#: Where a kernel's text says that a page of its local memory is not to be touched.
_GAP = re.compile(r"; nobody's page: (\d+)")
_allocate = Storage.allocate
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
        #: How many of its bytes may be written to: all, but where a test of this test says less.
        self.open = size
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
        assert (self.inner[before + self.open :] == EMPTY).all(), "a kernel wrote behind a buffer"


class _Kernel:
    """The kernel of a native map, for operands as these lie."""

    def __init__(self, op: Operation, given: Sequence[np.ndarray], sizes: dict[str, int]) -> None:
        (body,) = op.regions
        self.in_dims = op.params["in_dims"]
        self.results = [replaced(value.type, sizes) for value in body.outputs]
        wanted = [prefers_columns(x, axis) for x, axis in zip(given, self.in_dims, strict=True)]
        wanted += op.params["columns"] or (False,) * len(self.results)
        self.kernel = kernel_for(body, self.in_dims, op.params["fastmath"], tuple(wanted))
        self.code = code_of(self.kernel)
        self.function = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
        )(self.code.address(self.kernel.name))
        self.lanes = self.kernel.lanes if self.kernel.in_lanes else 1
        self.scratch = self.kernel.scratch + evaluate(self.kernel.unknown, sizes)
        #: What it is told of sizes, behind its operands.
        self.told: list[np.ndarray] = []
        if self.kernel.sizes is not None:
            if not fits(body, sizes):
                raise KernelFailed(None, op)
            table = [evaluate(size, sizes) for size in self.kernel.sizes]
            self.told.append(np.array(table, np.int64))
            self.in_dims = (*self.in_dims, None)

    def run(
        self, size: int, given: Sequence[np.ndarray], at_end: bool
    ) -> tuple[int, list[np.ndarray]]:
        """Return what the kernel does, and its results."""
        given = [*given, *self.told]
        dtypes = [x.dtype for x in given]
        shapes = [x.shape for x in given]
        axes: list[int | None] = [
            axis and axis % x.ndim for axis, x in zip(self.in_dims, given, strict=True)
        ]
        for type_ in self.results:
            dtypes.append(type_.dtype)
            shapes.append((size, *type_.shape))
            axes.append(0)
        # In memory the examples come first, or last if they stand side by side.
        blocks, views, steps = [], [], []
        for dtype, shape, axis, is_column in zip(
            dtypes, shapes, axes, self.kernel.columns, strict=True
        ):
            rest = tuple([n for i, n in enumerate(shape) if i != axis])
            count = () if axis is None else (shape[axis],)
            block = Block(int(np.prod(shape)) * dtype.itemsize, at_end)
            memory = block.bytes.view(dtype).reshape(rest + count if is_column else count + rest)
            if is_column:
                steps += memory.strides[:-1]
            first = -1 if is_column else 0
            blocks.append(block)
            views.append(memory if axis is None else np.moveaxis(memory, first, axis))
        for view, x in zip(views, given, strict=False):
            view[...] = x
        operands = [block.bytes.tobytes() for block in blocks[: len(given)]]
        scratch = Block(-(-self.scratch // PAGE) * PAGE, at_end)
        scratch.bytes[:1] = at_end
        for page in _GAP.findall(self.kernel.text):
            scratch.forbid(PAGE + int(page))
        words = [b.address for b in blocks] + steps
        head = (ctypes.cast(_poll, ctypes.c_void_p).value, 0, 0, HEAD + 8 * len(words))
        text = struct.pack(f"{HEAD // 8 + len(words)}q", *head, *words)
        context = Block(len(text), at_end)
        context.bytes[...] = np.frombuffer(text, np.uint8)
        cuts = sorted({0, min(self.lanes, size), size})  # in two runs, as threads would
        for begin, end in pairwise(cuts):
            answer = self.function(context.address, begin, end, scratch.address)
            for block in (*blocks, context):
                block.check()
            for block, before in zip(blocks, operands, strict=False):
                assert block.bytes.tobytes() == before, "a kernel wrote to an operand"
            if answer & FAILED:
                return answer, []
            assert answer != STOPPED
        return 0, [view.copy() for view in views[len(given) :]]


class Guarded:
    """How native maps are run here.

    Attributes
    ----------
    at_ends
        Where buffers lie in each run of a kernel: whether they end where an inaccessible page
        begins; else they begin behind one.
    calls
        How many native maps ran.
    """

    def __init__(self, *at_ends: bool) -> None:
        self.at_ends = at_ends
        self.calls = 0

    def native(self, op: Operation, free: Collection[int] = ()) -> Callable[..., Any]:
        """Return the runner of a native map; see `lanewise.runtime.kernels.native`."""

        def guarded(sizes: dict[str, int], *operands: Any) -> tuple[np.ndarray, ...]:
            (body,) = op.regions
            size = evaluate(op.params["size"], sizes)
            given = [
                np.asarray(x, value.type.dtype)
                for x, value in zip(operands, body.inputs, strict=True)
            ]
            kernel = _Kernel(op, given, sizes)
            self.calls += 1
            answer, results = 0, []
            for at_end in self.at_ends:
                before = answer, [x.tobytes() for x in results]
                answer, results = kernel.run(size, given, at_end)
                after = answer, [x.tobytes() for x in results]
                assert at_end is self.at_ends[0] or before == after
            if answer & FAILED:
                raise KernelFailed(None, op)
            return tuple(results)

        return guarded

    @staticmethod
    def allocate(storage: Storage, size: DimLike) -> Any:
        """Take local memory, and a page of nobody behind it; see `Storage.allocate`.

        At which end of its pages it lies is read when the kernel runs: the first byte of all local
        memory says it, which has a page to itself. What is of unknown size lies behind all others.
        """
        if isinstance(size, Dim):
            return _allocate(storage, size)
        e = storage.e
        first = max(storage.memory.size, PAGE)
        end = first + -(-max(size, 1) // PAGE) * PAGE
        storage.memory.size = end + PAGE
        byte, at_end, offset, name = (e.name() for _ in range(4))
        e.entry += [
            f"  ; nobody's page: {end}",
            f"  {byte} = load i8, ptr %scratch",
            f"  {at_end} = trunc i8 {byte} to i1",
            f"  {offset} = select i1 {at_end}, i64 {end - size}, i64 {first}",
            f"  {name} = getelementptr i8, ptr %scratch, i64 {offset}",
        ]
        return name, None  # nobody gets it after


@contextmanager
def guarding(*at_ends: bool) -> Generator[Guarded]:
    """Run native maps on guarded memory while the ``with`` block lasts.

    By default each kernel runs twice: with buffers that end at an inaccessible page, and with such
    that begin behind one. Both must give the same.
    """
    before = kernel_runner.native, Storage.allocate, dict(KERNELS)
    guarded = Guarded(*(at_ends or (True, False)))
    kernel_runner.native = guarded.native  # ty: ignore[invalid-assignment]
    Storage.allocate = Guarded.allocate  # ty: ignore[invalid-assignment]
    KERNELS.clear()  # their local arrays lie side by side
    dispatch._cache.clear()
    try:
        yield guarded
    finally:
        kernel_runner.native, Storage.allocate, kernels = before
        KERNELS.clear()
        KERNELS.update(kernels)
        dispatch._cache.clear()


def run_apart(module: str, call: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a function of a module of tests in a process of its own."""
    paths = [str(Path(__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "LANEWISE_CACHE": "0"}
    program = f"import {module} as module; module.{call}()"
    command = [sys.executable, "-X", "faulthandler", "-c", program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def assert_done(done: subprocess.CompletedProcess[str]) -> None:
    """Assert that a process came to its end, ``DONE``; else show what it last began, and said."""
    begun = done.stdout[done.stdout.rfind("BEGIN ") :]
    assert begun.endswith("DONE\n"), f"{begun[-3000:]}\n{done.stderr[-3000:]}"
    assert done.returncode == 0, done.stderr[-3000:]
