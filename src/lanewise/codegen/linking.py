"""From object code to addresses of functions, in this process: LLVM's linker, through llvmlite.

That is JITLink, which asks for the memory of all of a module's sections at once. The older MCJIT
takes memory for each by itself; in a process whose address space is full of large arrays these may
lie more than 2 GiB apart, where 32-bit offsets do not reach, and LLVM ends the process. JITLink
also takes half of the time, and raises an error for a name that nobody has.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from llvmlite import binding

from lanewise.codegen.background import leave_room

#: What code calls by name, besides functions of libraries that the process has loaded.
_addresses: dict[str, int] = {}


def add_symbol(name: str, address: int | None) -> None:
    """Have the code that is linked from now on call an address so, if there is one."""
    if address is not None:
        _addresses[name] = address


def symbol(name: str) -> int | None:
    """Return the address of a function of Python's C API or of the C library, if there is one.

    >>> symbol("PyLong_FromLong") is not None, symbol("malloc") is not None
    (True, True)
    >>> symbol("no_such_function") is None
    True
    """
    for library in _libraries():
        function = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value
    return None


@cache
def _libraries() -> list[Any]:
    # Python itself has the library of mathematics loaded; Windows wants it by name.
    if hasattr(ctypes, "WinDLL"):
        return [ctypes.pythonapi, ctypes.CDLL("ucrtbase"), ctypes.WinDLL("kernel32")]
    return [ctypes.pythonapi, ctypes.CDLL(None)]


class Linked:
    """Functions and variables of object code; they live as long as this object.

    LLVM's lock is held by whoever makes one, and whoever asks it for addresses. `own` are the
    addresses of names that only this code has. Where there is too little memory, `MemoryError`.
    """

    __slots__ = ("__weakref__", "_engine", "_kept")

    def __init__(self, code: bytes, own: Mapping[str, int] | None = None) -> None:
        leave_room(len(code))
        # An engine of its own for each code: LLVM can then free it, and all that it needed.
        # JITLink does not know Windows' object files well.
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(jit=True, codemodel="default", reloc="pic")
        self._engine = binding.create_lljit_compiler(
            machine, use_jit_link=os.name != "nt", suppress_errors=True
        )
        del machine  # llvmlite frees it here, while the lock is held
        library = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in {**_addresses, **(own or {})}.items():
            if name.encode() in code:
                library.import_symbol(name, address)
        self._kept = [library.link(self._engine, _NAME)]

    def address(self, name: str) -> int:
        """Return the address of a function or a variable.

        It raises `LookupError` if that is not there, or what the code calls is not.
        """
        try:
            found = self._engine.lookup(_NAME, name)
        except RuntimeError as error:
            raise LookupError(f"compiled code cannot be linked: {error}") from None
        self._kept.append(found)
        return found[name]


_NAME = "code"
