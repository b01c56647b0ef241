"""Arrays for results: fresh to the user, in memory that is used again.

Writing to memory that the system has just handed out costs a page fault every few kilobytes, which
takes longer than the writing: measured, 3 GB/s into a new array of 256 MB and 6 to 8 GB/s into one
that was written before. So the memory of a large array is handed out again when the array is gone.

`empty` gives arrays that own their memory (``base`` is None, ``flags.owndata`` is True, ``resize``
works): NumPy lets a memory handler be set (NEP 49), which the array remembers and calls when it
frees its data. NumPy does that when neither the array nor any view of it is left, so memory is
never shared with an older array that somebody still sees. The handler is native code
(``c/buffers.c``), set only while `empty` makes a large array, so no other array is affected.

* Memory from `LARGE` bytes on is kept; below, the C library and NumPy keep it themselves.
* At most `MOST_KEPT` bytes are kept: 1 GiB, or a quarter of the machine's memory if that is less;
  64 blocks at most. The oldest go first. `release` gives all of it back to the system.
* A kept block serves an array that it fits to an eighth, the tightest first.
* Blocks of 2 MiB and more are aligned to that, and ask the system for huge pages.
* What is kept of blocks from 32 MiB on is marked as free to the system, which takes the pages when
  memory is short (and only then: until they are taken, writing to them costs nothing).
* A forked child has the parent's kept blocks as it has its arrays: copies, made when written to.
* Where memory cannot be mapped (Windows), `empty` is `numpy.empty`.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.codegen.linking import symbol
from lanewise.runtime.native import Library, Once, program

#: Arrays of so many bytes and more are made of kept memory.
LARGE = 1 << 18

#: At most so many bytes are kept.
MOST_KEPT = 1 << 30
if hasattr(os, "sysconf"):
    MOST_KEPT = min(MOST_KEPT, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)

#: What is much of it, in bytes.
MUCH = 32 << 20

_HANDLER_NAME = b"mem_handler"  # what NumPy asks for; a capsule keeps a pointer to it

#: Places in the table of NumPy's C API, which are part of its stable ABI.
NEW_FROM_DESCR, TRANSPOSE, _SET_HANDLER = 94, 123, 304

_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
_CAN_MAP = hasattr(mmap, "MAP_ANONYMOUS") and symbol("mmap") is not None

_WORD = ctypes.c_int64


class _Buffers:
    """The native code, and what it needs of NumPy."""

    __slots__ = ("forked", "handler", "limit", "memory", "set_handler")

    def __init__(self) -> None:
        library = Library(_text())
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype = ctypes.py_object
        new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.memory = library.address("handler_malloc"), library.address("handler_free")
        self.handler = new_capsule(library.address("handler"), _HANDLER_NAME, None)
        self.set_handler: Callable[[Any], Any] = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.py_object
        )(numpy_function(_SET_HANDLER))
        self.limit: Callable[[int], int] = library.function("limit", _WORD, _WORD)
        self.forked: Callable[[], None] = library.function("forked", None)
        self.limit(MOST_KEPT)


def numpy_function(place: int) -> int:
    """Return the address at a place of the table of NumPy's C API.

    >>> numpy_function(TRANSPOSE) != 0
    True
    """
    # What `import_array` of NumPy's C API reads.
    capsule = np._core._multiarray_umath._ARRAY_API  # ty: ignore[missing-attribute]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(get_pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return table[place] or 0


def _text() -> str:
    """Return the native code for this platform."""
    return program(
        "buffers",
        PAGE=mmap.PAGESIZE,
        MAP_ANONYMOUS=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        ADVISE_HUGE=getattr(mmap, "MADV_HUGEPAGE", -1),
        ADVISE_FREE=getattr(mmap, "MADV_FREE", -1),
    )


_native = Once(_Buffers, lambda native: native.forked())


def memory() -> tuple[int, int]:
    """Return the addresses of what native code gets large blocks from, and gives them back to.

    They are C functions of NumPy's memory handlers, ``void *(void *, size_t)`` and ``void (void *,
    void *, size_t)``, of which the first argument is not used; 0 where memory cannot be mapped.
    """
    return _native().memory if _CAN_MAP else (0, 0)


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return a new array with arbitrary contents, as `numpy.empty` does.

    Examples
    --------
    >>> results = empty((1000, 1000), np.dtype(float))
    >>> results.base is None and results.flags.owndata
    True
    >>> where = results.ctypes.data
    >>> del results
    >>> empty((1000, 1000), np.dtype(float)).ctypes.data == where
    True
    """
    if math.prod(shape) * dtype.itemsize < LARGE or dtype.hasobject or not _CAN_MAP:
        return np.empty(shape, dtype)
    native = _native()
    before = native.set_handler(native.handler)
    try:
        return np.empty(shape, dtype)
    finally:
        native.set_handler(before)


def around(x: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return a new array like another, of which the rows between two places are arbitrary.

    Examples
    --------
    >>> rows = around(np.arange(4.0), 1, 3)
    >>> rows[0], rows[3]
    (np.float64(0.0), np.float64(3.0))
    """
    result = empty(x.shape, x.dtype)
    result[:first] = x[:first]
    result[last:] = x[last:]
    return result


def kept() -> int:
    """Return how many bytes are kept for arrays to come.

    >>> results = empty((1 << 20,), np.dtype(float))
    >>> del results
    >>> kept() >= 8 << 20
    True
    """
    return _native().limit(MOST_KEPT) if _CAN_MAP else 0


def release() -> int:
    """Give all kept memory back to the system; return how many bytes that were.

    >>> _ = release()
    >>> kept()
    0
    """
    before = kept()
    if _CAN_MAP:
        native = _native()
        native.limit(0)
        native.limit(MOST_KEPT)
    return before


def make_room() -> None:
    """Give kept memory back if it is much, as what runs next makes no use of it."""
    if _native.made is not None and kept() > MUCH:
        release()


def trim() -> None:
    """Have the C library give back what it keeps, as arrays of kernels are not made of it."""
    if _TRIM is not None:
        _TRIM(0)
