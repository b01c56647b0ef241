"""Calls of kernels: from arrays to the kernel's context and back, in native code.

A steady call on small arrays is mostly looking at the operands and making the results, which takes
several microseconds in Python. ``launch.ll`` does it in a fraction of one: it reads an array's data
pointer, shape, dtype and flags itself (the fields of ``PyArrayObject`` are part of NumPy's stable
ABI) and starts the pool. Operands that are not as a kernel reads them (another byte order, gaps,
NumPy's scalars) are converted first, by a function of Python's that the caller gives.

The table of a kernel, numbers of 64 bits: address of the code, inputs, outputs, bytes of scratch,
lanes, examples up to which one thread runs all, least examples of a chunk, the position of a mapped
input (-1 if there is none), the part of all that a chunk is (a power of two), 1 if operands must
be converted whatever they are; then for each input the address of its dtype, 1 if it is mapped else
0, rank and shape of an example's; for each output the same with the bytes of an example in second
place.
"""

from __future__ import annotations

import ctypes
import math
import os
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.runtime.buffers import maker, new_array
from lanewise.runtime.native import Library, template
from lanewise.runtime.pool import get_threads, launching

#: Work of so many nanoseconds is done by one thread: waking another takes as long.
INLINE = 25_000
#: A chunk is work of so many nanoseconds at least.
CHUNK = 10_000

Array = tuple[np.dtype, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a call of a kernel needs to know.

    Attributes
    ----------
    address
        Of the code.
    inputs, outputs
        The dtype and shape of each, for one example.
    axes
        The mapped axis of each input, or None.
    scratch
        Bytes of memory that a thread needs to work in.
    lanes
        How many examples run together.
    work
        Nanoseconds that an example is estimated to take.
    refills
        Whether lanes take the next examples one by one, so that they idle at the end of a chunk.
    """

    address: int
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    axes: Sequence[int | None]
    scratch: int
    lanes: int
    work: float
    refills: bool = False

    def chunks(self) -> tuple[int, int]:
        """Return up to how many examples one thread runs all, and the fewest of a chunk.

        Examples
        --------
        >>> Entry(1, [], [], [], 0, 8, 100.0).chunks()
        (250, 104)
        """
        work = max(self.work, 0.01)
        return int(INLINE / work), math.ceil(CHUNK / work / self.lanes) * self.lanes

    def share(self) -> int:
        """Return the part of all examples that a chunk is, as the exponent of a half.

        Examples
        --------
        >>> Entry(1, [], [], [], 0, 8, 100.0).share()
        6
        """
        return min((8 * get_threads() - 1).bit_length(), 6) if self.refills else 6


class _Launcher:
    """The native code, and what it needs of Python, NumPy and the pool."""

    __slots__ = ("library",)

    def __init__(self, failed: Callable[[int], None]) -> None:
        # An object ends its head with its type; what follows is NumPy's.
        head = object.__basicsize__
        fields = {"DATA": 0, "RANK": 8, "SHAPE": 16, "DTYPE": 40, "FLAGS": 48}
        offsets = {name: head + offset for name, offset in fields.items()}
        text = template("launch.ll", TYPE=head - ctypes.sizeof(ctypes.c_void_p), **offsets)
        self.library = library = Library(text)
        objects = {"np_type": np.ndarray, "int_type": int, "type_error": TypeError, "none": None}
        for name, value in {**objects, "empty": maker(), "failed": failed}.items():
            library.set_object(name, value)
        for name, address in {"np_new": new_array(), "run": launching()}.items():
            ctypes.c_void_p.from_address(library.address(name)).value = address


_lock = threading.RLock()
_launcher: _Launcher | None = None


def caller(
    entry: Entry,
    convert: Callable[..., tuple[Any, ...]],
    failed: Callable[[int], None],
    kept: Any,
) -> Callable[..., tuple[np.ndarray, ...]]:
    """Return ``call(size, *operands)``, which runs a kernel: a built-in function.

    ``size`` is the number of examples; where something is mapped it may be anything else but an
    int, and is read off. The dtypes of `entry` are compared by identity.

    Parameters
    ----------
    entry
        The kernel.
    convert
        Takes the arguments of a call that the kernel cannot read as they are, and returns those of
        one that it can, the size among them.
    failed
        Takes the code that a kernel returned, and raises. It is the same for all kernels.
    kept
        Lives as long as the function.
    """
    launcher = _native(failed)
    inputs = [
        (id(dtype), int(axis is not None), len(shape), *shape)
        for (dtype, shape), axis in zip(entry.inputs, entry.axes, strict=True)
    ]
    outputs = [
        (id(dtype), dtype.itemsize * math.prod(shape), len(shape), *shape)
        for dtype, shape in entry.outputs
    ]
    place = next((i for i, axis in enumerate(entry.axes) if axis is not None), -1)
    moves = int(any(entry.axes))  # what the kernel reads has the batch first
    numbers = [
        entry.address, len(inputs), len(outputs), entry.scratch, entry.lanes, *entry.chunks(),
        place, entry.share(), moves, *[number for row in (*inputs, *outputs) for number in row],
    ]  # fmt: skip
    table = struct.pack(f"{len(numbers)}q", *numbers)
    owner = (table, convert, entry, kept)
    return launcher.library.builtin("launch", "Run a kernel on arrays.", owner)


def _native(failed: Callable[[int], None]) -> _Launcher:
    global _launcher
    if _launcher is None:
        with _lock:
            if _launcher is None:
                _launcher = _Launcher(failed)
    return _launcher


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()  # the thread that held it is not in this process


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
