"""The loops of ufuncs that are in C: where they are, and the names by which kernels call them.

A ufunc, generalized or not, is a table of C functions, one for each combination of dtypes::

    void loop(char **operands, npy_intp const *sizes, npy_intp const *steps, void *data)

NumPy calls them without Python's lock, from any thread; so can a kernel. The table is part of
NumPy's C API (``PyUFuncObject``), and is read here as it lies in memory. Where it is not as that
says, or has no entry for the dtypes, there is no loop, and NumPy computes.

Kernels know a loop by a name, which the linker resolves when their code is loaded. So code that was
kept on disk calls what is there in this process.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.codegen.linking import add_symbol, symbol
from lanewise.ops.ufuncs import is_scipys

#: What names of loops begin with, in kernels' text.
PREFIX = "lw.loop."
#: What a kernel calls around a loop that may raise: of Python's C API.
_LOCKING = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_Occurred", "PyErr_Clear")
_lock = threading.Lock()
#: By name: the address of a loop and that of its data, side by side in memory that kernels read.
_loops: dict[str, Any] = {}
#: What tells which errors of SciPy's functions are told, once a kernel calls one of them.
_geterr: Callable[[], dict[str, str]] | None = None


class _Table(ctypes.Structure):
    """What of a ufunc stands behind the head of every Python object."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )


@lru_cache(maxsize=1024)
def loop_of(fn: Any, dtypes: tuple[np.dtype, ...]) -> str | None:
    """Return the name of the loop of a ufunc for these dtypes of operands and results, if any.

    Examples
    --------
    >>> loop_of(np.hypot, (np.dtype(float),) * 3)
    'lw.loop.hypot.dd-d'
    >>> loop_of(np.frompyfunc(abs, 1, 1), (np.dtype(float),) * 2) is None
    True
    """
    if type(fn) is not np.ufunc:
        return None
    texts = [text.replace("->", "") for text in fn.types]
    wanted = "".join([dtype.char for dtype in dtypes])
    found = [wanted] if wanted in texts else [t for t in texts if _dtypes(t) == dtypes]
    table = _table(fn)
    if table is None or not found or "O" in wanted:
        return None
    number = texts.index(found[0])
    address = table.functions[number]
    if not address:
        return None
    data = table.data[number] if table.data else None
    given = texts[number][: fn.nin], texts[number][fn.nin :]
    return _registered(f"{PREFIX}{fn.__name__}.{'-'.join(given)}", address, data or 0, fn)


def _dtypes(text: str) -> tuple[np.dtype, ...] | None:
    try:
        return tuple([np.dtype(char) for char in text])
    except TypeError:  # of a dtype that its author made
        return None


def _table(fn: np.ufunc) -> _Table | None:
    """Return what the C API says of a ufunc; None where that is not what Python says."""
    table = _Table.from_address(id(fn) + object.__basicsize__)
    counts = table.nin, table.nout, table.nargs, table.ntypes
    if counts != (fn.nin, fn.nout, fn.nargs, len(fn.types)) or not table.functions:
        return None
    if table.name != fn.__name__.encode() or not table.types:
        return None
    chars = "".join(fn.types).replace("->", "")
    known = [table.types[i] for i in range(len(chars))]  # dtypes, by their numbers
    return table if known == [bytes([np.dtype(char).num]) for char in chars] else None


def _registered(name: str, address: int, data: int, owner: Any) -> str:
    """Return the name of a loop, one for each address, known to the linker from here on."""
    global _geterr
    with _lock:
        unique, number = name, 1
        while unique in _loops and tuple(_loops[unique][0]) != (address, data):
            number += 1
            unique = f"{name}.{number}"
        if unique not in _loops:
            both = (ctypes.c_uint64 * 2)(address, data)
            if is_scipys(owner):
                _geterr = sys.modules["scipy.special"].geterr
            _loops[unique] = both, owner  # which must live as long as code that calls it
            add_symbol(unique, ctypes.addressof(both))
        return unique


@lru_cache(maxsize=1)
def require_locking() -> None:
    """Make what takes and gives back Python's lock known to the linker."""
    for name in _LOCKING:
        add_symbol(name, symbol(name))


def scipy_tells() -> bool:
    """Whether errors of SciPy's functions are to be raised or told, and kernels call some of these.

    What a loop tells it would tell while the kernel runs, to nobody. (That there is no memory for
    it is always an error.)
    """
    if _geterr is None:
        return False
    return any([how != "ignore" for what, how in _geterr().items() if what != "memory"])
