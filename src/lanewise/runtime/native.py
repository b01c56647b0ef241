"""Native functions that Python calls directly, and that call the C library and Python's C API.

A function made by LLVM becomes a Python built-in function: ``ptr f(ptr self, ptr arguments, i64
count)`` gets its arguments as an array of objects (CPython's "fastcall" protocol) and returns a
new object, or null with an exception set. Such a call takes about 50 ns, where the same through
ctypes takes 800 ns. Only parts of Python's stable ABI are relied on.

The code is kept for ever: Python may hold the built-in functions, and threads may run within.
"""

from __future__ import annotations

import ctypes
import platform
import re
import string
from collections.abc import Collection
from pathlib import Path
from typing import Any

from llvmlite import binding

from lanewise.codegen.background import interruptible, leave_room
from lanewise.codegen.linking import Linked, symbol
from lanewise.codegen.llvm import lock

#: METH_FASTCALL of CPython.
_FASTCALL = 0x80

_DECLARATION = re.compile(r"^declare (\w+) @(\w+)\((.*)\)$", re.MULTILINE)


_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "amd64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
    "arm64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}


def template(*names: str, **values: object) -> str:
    """Return the text of files beside this one, their ``$NAME``s replaced.

    ``$PAUSE`` is what a loop that waits does meanwhile, and ``$PAUSE_DECLARATION`` declares it.
    """
    text = "".join(Path(__file__).with_name(name).read_text("utf-8") for name in names)
    declaration, pause = _PAUSES.get(platform.machine().lower(), ("", ""))
    return string.Template(text).substitute(values, PAUSE=pause, PAUSE_DECLARATION=declaration)


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def _linked(text: str, found: dict[str, int], level: int) -> Linked:
    """Return a module compiled, with functions that are at these addresses."""
    leave_room(len(text))
    with lock:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        binding.initialize_native_asmparser()
        # Position-independent: the code may lie further up than a 32-bit address reaches.
        triple = binding.Target.from_default_triple()
        target = triple.create_target_machine(opt=level, jit=True, reloc="pic", codemodel="default")
        with binding.create_context() as context:
            module = binding.parse_assembly(text, context)
            module.verify()
            code = target.emit_object(module)
            del module, target  # llvmlite frees them here, while the lock is held
        return Linked(code, found)


class Library:
    """A compiled module whose declared functions are Python's and the C library's.

    Parameters
    ----------
    text
        LLVM IR.
    absent
        Functions to treat as if this platform lacked them. One that is lacking does nothing and
        returns 38 (ENOSYS) or a null pointer.
    level
        How much LLVM's back end optimizes. More than 0 takes six times as long, and the pool gains
        nothing from it.

    Examples
    --------
    >>> library = Library("define i64 @twice(i64 %x) { %y = add i64 %x, %x  ret i64 %y }")
    >>> ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("twice"))(21)
    42
    """

    __slots__ = ("_definitions", "_linked")

    def __init__(self, text: str, absent: Collection[str] = (), level: int = 0) -> None:
        found: dict[str, int] = {}

        def resolve(declaration: re.Match[str]) -> str:
            result, name, parameters = declaration.groups()
            address = None if name in absent else symbol(name)
            if address is not None:
                found[name] = address
                return declaration[0]
            returns = {"void": "ret void", "ptr": "ret ptr null"}.get(result, f"ret {result} 38")
            return f"define internal {result} @{name}({parameters}) {{ {returns} }}"

        text = _DECLARATION.sub(resolve, text)
        self._linked = interruptible(f"{level} {text}", lambda: _linked(text, found, level))
        self._definitions: dict[str, _MethodDef] = {}
        _keep(self._linked)  # at exit llvmlite would free the code of one that nobody refers to

    def address(self, name: str) -> int:
        """Return the address of a function or global variable."""
        with lock:
            return self._linked.address(name)

    def builtin(self, name: str, doc: str, owner: Any = None) -> Any:
        """Return a function of this library as a built-in function of Python.

        ``self`` of the function is `owner`, or null.
        """
        definition = self._definitions.get(name)
        if definition is None:
            definition = _MethodDef(name.encode(), self.address(name), _FASTCALL, doc.encode())
            self._definitions[name] = definition
            _keep(definition)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        return make(ctypes.addressof(definition), None if owner is None else id(owner), None)

    def set_object(self, name: str, value: Any) -> None:
        """Make a global variable refer to a Python object, which then lives for ever."""
        _keep(value)
        ctypes.c_void_p.from_address(self.address(name)).value = id(value)


def _keep(value: Any) -> None:
    """Have an object live for ever."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
