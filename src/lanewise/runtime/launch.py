"""Calls of kernels: from arrays to the kernel's context and back, in native code.

A steady call on small arrays is mostly looking at the operands and making the results, which takes
several microseconds in Python. ``launch.ll`` does it in a fraction of one: it reads an array's data
pointer, shape, strides, dtype and flags itself (the fields of ``PyArrayObject`` are part of NumPy's
stable ABI) and starts the pool. Operands that are not as a kernel reads them (another byte order,
gaps, NumPy's scalars) are left to a function of Python's that the caller gives.

The table of a kernel, numbers of 64 bits: address of the code, inputs, outputs, bytes of scratch,
lanes, examples up to which one thread runs all, least examples of a chunk, the position of a mapped
input (-1 if there is none), the part of all that a chunk is (a power of two), the mapped axis of
that input, the axes of all that is in columns; then for each input the address of its dtype, its
mapped axis (-1 if it is not mapped), the bytes from one example to the next if it is in columns
else 0, rank and shape of an example's; for each output the same with the bytes of an example in
second place.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from lanewise.runtime.buffers import NEW_FROM_DESCR, TRANSPOSE, maker, numpy_function
from lanewise.runtime.native import Library, template
from lanewise.runtime.pool import get_threads, the_pool
from lanewise.trace.memory import FIELDS, HEAD

#: Work of so many nanoseconds is done by one thread: waking another takes as long.
INLINE = 25_000
#: A chunk is work of so many nanoseconds at least.
CHUNK = 10_000

Array = tuple[np.dtype, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a call of a kernel needs to know."""

    #: Of the code.
    address: int
    #: The dtype and shape of each, for one example.
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    #: The mapped axis of each input, or None; 0 if it is in rows.
    axes: Sequence[int | None]
    #: Which inputs, and behind them outputs, have their examples side by side in memory.
    columns: Sequence[bool]
    #: Bytes of memory that a thread needs to work in.
    scratch: int
    #: How many examples run together.
    lanes: int
    #: Nanoseconds that an example is estimated to take.
    work: float
    #: Whether lanes take the next examples one by one, so that they idle at the end of a chunk.
    refills: bool = False

    def chunks(self) -> tuple[int, int]:
        """Return up to how many examples one thread runs all, and the fewest of a chunk.

        Examples
        --------
        >>> Entry(1, [], [], [], [], 0, 8, 100.0).chunks()
        (250, 104)
        """
        work = max(self.work, 0.01)
        return int(INLINE / work), math.ceil(CHUNK / work / self.lanes) * self.lanes

    def share(self) -> int:
        """Return the part of all examples that a chunk is, as the exponent of a half.

        Examples
        --------
        >>> Entry(1, [], [], [], [], 0, 8, 100.0).share()
        6
        """
        return min((8 * get_threads() - 1).bit_length(), 6) if self.refills else 6

    def table(self) -> bytes:
        """Return the table of the kernel; see the module's docstring."""
        count = len(self.inputs)
        rows = []
        for number, (dtype, shape) in enumerate((*self.inputs, *self.outputs)):
            size = dtype.itemsize
            axis = self.axes[number] if number < count else size * math.prod(shape)
            step = size if self.columns[number] else 0
            rows += id(dtype), -1 if axis is None else axis, step, len(shape), *shape
        place = next((i for i, axis in enumerate(self.axes) if axis is not None), -1)
        arrays = zip((*self.inputs, *self.outputs), self.columns, strict=True)
        apart = sum([len(shape) for (_, shape), is_column in arrays if is_column])
        numbers = [
            self.address, count, len(self.outputs), self.scratch, self.lanes, *self.chunks(), place,
            self.share(), self.axes[place] if place >= 0 else 0, apart, *rows,
        ]  # fmt: skip
        return struct.pack(f"{len(numbers)}q", *numbers)


@cache
def _library() -> Library:
    """Return the native code, with what it needs of Python, NumPy and the pool."""
    library = Library(template("launch.ll", TYPE=HEAD - ctypes.sizeof(ctypes.c_void_p), **FIELDS))
    objects = {"np_type": np.ndarray, "int_type": int, "type_error": TypeError, "none": None}
    for name, value in {**objects, "empty": maker()}.items():
        library.set_object(name, value)
    found = {
        "np_new": numpy_function(NEW_FROM_DESCR),
        "np_transpose": numpy_function(TRANSPOSE),
        "run": the_pool().launch,
    }
    for name, address in found.items():
        ctypes.c_void_p.from_address(library.address(name)).value = address
    return library


#: What is known of a kernel: its table (see `Entry.table`); what is called where it left something
#: undone, and returns the results (see `mend.Mender`); and what the table refers to: the code and
#: the dtypes, which are compared by identity.
Known = tuple[bytes, Callable[..., tuple[np.ndarray, ...]], Any]


def caller(
    cell: list[Known | None], otherwise: Callable[..., tuple[np.ndarray, ...]] | None
) -> Callable[..., tuple[np.ndarray, ...]]:
    """Return ``call(size, *operands)``, which runs a kernel: a built-in function.

    ``size`` is the number of examples; where something is mapped it may be anything else but an
    int, and is read off. The results have the examples along their first axis.
    ``call(size, *operands, *results)`` writes to arrays in rows, of the right dtypes and shapes,
    which whoever calls sees to; results in columns cannot be given.

    The kernel is the one in ``cell``, which may change from call to call; ``otherwise`` does calls
    whose arguments it cannot read as they are, or all if it is None. Without it these are errors.
    """
    return _library().builtin("launch", "Run a kernel on arrays.", (cell, otherwise))
