"""Calls of kernels: from arrays to the kernel's context and back, in native code.

A steady call on small arrays is mostly looking at the operands and making the results, which takes
several microseconds in Python. ``c/launch.c`` does it in a fraction of one: it reads an array's
data pointer, shape, strides, dtype and flags itself (the fields of ``PyArrayObject`` are part of
NumPy's stable ABI) and starts the pool. Operands that are not as a kernel reads them (another byte
order, gaps, NumPy's scalars) are left to a function of Python's that the caller gives.

The table of a kernel is described in ``c/runtime.h``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from lanewise.runtime.buffers import LARGE, NEW_FROM_DESCR, TRANSPOSE, empty, numpy_function
from lanewise.runtime.native import Library, layout, program
from lanewise.runtime.pool import get_threads, the_pool

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
        few, enough = self.chunks()
        table = layout("table")(
            self.address, count, len(self.outputs), self.scratch, self.lanes, few, enough, place,
            self.share(), self.axes[place] if place >= 0 else 0, apart,
        )  # fmt: skip
        return bytes(table) + struct.pack(f"{len(rows)}q", *rows)


def _large(shape: bytes, dtype: np.dtype) -> np.ndarray:
    """Return a new array, of which the sizes are so many words."""
    return empty(struct.unpack(f"{len(shape) // 8}q", shape), dtype)


@cache
def _library() -> Library:
    """Return the native code, with what it needs of Python, NumPy and the pool."""
    library = Library(program("launch", LARGE=LARGE, HEAD=object.__basicsize__))
    objects = {"array_type": np.ndarray, "int_type": int, "type_error": TypeError, "none": None}
    for name, value in {**objects, "large": _large}.items():
        library.set_object(name, value)
    library.set_address("np_new", numpy_function(NEW_FROM_DESCR))
    library.set_address("np_transpose", numpy_function(TRANSPOSE))
    library.set_address("run", the_pool().launch)
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
