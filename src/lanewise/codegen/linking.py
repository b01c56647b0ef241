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
from typing import Any

from llvmlite import binding

from lanewise.codegen.background import leave_room

#: What code calls by name, besides functions of libraries that the process has loaded.
_addresses: dict[str, int] = {}


def add_symbol(name: str, what: Any) -> None:
    """Have the code that is linked from now on call an address, or a function of ctypes', so."""
    _addresses[name] = what if isinstance(what, int) else _address(what)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class Linked:
    """Functions and variables of object code; they live as long as this object.

    LLVM's lock is held by whoever makes one, and whoever asks it for addresses.

    Parameters
    ----------
    code
        As LLVM emits it for this machine.
    own
        Addresses of names that only this code has.

    Raises
    ------
    MemoryError
        There is too little memory.
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

        Raises
        ------
        LookupError
            It is not there, or what the code calls is not.
        """
        try:
            found = self._engine.lookup(_NAME, name)
        except RuntimeError as error:
            raise LookupError(f"compiled code cannot be linked: {error}") from None
        self._kept.append(found)
        return found[name]


_NAME = "code"
