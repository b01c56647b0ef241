"""Native functions that Python calls directly, and that call the C library and Python's C API.

A function made by LLVM becomes a Python built-in function: ``ptr f(ptr self, ptr arguments, i64
count)`` gets its arguments as an array of objects (CPython's "fastcall" protocol) and returns a
new object, or null with an exception set. Such a call takes about 50 ns, where the same through
ctypes takes 800 ns. Only parts of Python's stable ABI are relied on.

The code is kept for ever: Python may hold the built-in functions, and threads may run within.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import threading
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from llvmlite import binding

from lanewise.codegen.background import held_at_fork, interruptible, leave_room
from lanewise.codegen.linking import Linked, symbol
from lanewise.codegen.llvm import lock

T = TypeVar("T")

#: METH_FASTCALL of CPython.
_FASTCALL = 0x80

_DECLARATION = re.compile(r"^declare (\w+) @(\w+)\((.*)\)$", re.MULTILINE)
_CONSTANT = re.compile(r"^@(\w+) = external constant (\w+|\[\d+ x \w+\])", re.MULTILINE)
_FIELD = re.compile(r"^ *\w+ (\*?)(\w+);", re.MULTILINE)

_X86, _ARM = "call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)"
_PAUSES = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}

#: The runtime in C, and the LLVM IR that is made of it (``tests/support/clang.py``): users need no
#: compiler.
C = Path(__file__).with_name("c")


def program(name: str, **constants: int | Sequence[int]) -> str:
    """Return the LLVM IR of a file in C, with the constants defined that it declares."""

    def definition(declared: re.Match[str]) -> str:
        name, kind = declared.groups()
        value = constants[name]
        if not isinstance(value, int):
            count, element = kind.strip("[]").split(" x ")
            items = [*value, *[0] * (int(count) - len(value))]
            value = f"[{', '.join([f'{element} {item}' for item in items])}]"
        return f"@{name} = internal constant {kind} {value}"

    text = _CONSTANT.sub(definition, (C / f"{name}.ll").read_text("utf-8"))
    pause = _PAUSES.get(platform.machine().lower(), "")
    waits = f"define internal void @wait_briefly() {{ {pause} ret void }}"
    return text.replace("declare void @wait_briefly()", waits)


@cache
def layout(name: str) -> type[ctypes.Structure]:
    """Return a structure of ``c/runtime.h``, of pointers and integers of 64 bits.

    >>> [name for name, _ in layout("context")._fields_]
    ['poll', 'job', 'begin', 'bytes']
    """
    header = (C / "runtime.h").read_text("utf-8")
    _, _, body = header.partition(f"struct {name} {{")
    fields = _FIELD.findall(body[: body.index("}")])
    kinds = [(field, ctypes.c_void_p if star else ctypes.c_int64) for star, field in fields]
    return type(name, (ctypes.Structure,), {"_fields_": kinds})


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
    """A module of LLVM IR, compiled, whose declared functions are Python's and the C library's.

    One that this platform lacks, or that is said to be ``absent``, does nothing and returns 38
    (ENOSYS) or a null pointer. LLVM's back end optimizes as the ``level`` says: more than 0 takes
    six times as long, and the pool gains nothing from it.

    Examples
    --------
    >>> library = Library("define i64 @twice(i64 %x) { %y = add i64 %x, %x  ret i64 %y }")
    >>> ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("twice"))(21)
    42
    """

    __slots__ = ("_linked",)

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
        _keep(self._linked)  # at exit llvmlite would free the code of one that nobody refers to

    def address(self, name: str) -> int:
        """Return the address of a function or global variable."""
        with lock:
            return self._linked.address(name)

    def function(self, name: str, result: Any, *parameters: Any) -> Any:
        """Return a function of this library by `ctypes`; Python's lock is held while it runs."""
        return ctypes.PYFUNCTYPE(result, *parameters)(self.address(name))

    def builtin(self, name: str, doc: str, owner: Any = None) -> Any:
        """Return a function of this library as a built-in function of Python.

        ``self`` of the function is `owner`, or null.
        """
        definition = _definition(name, self.address(name), doc)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        return make(ctypes.addressof(definition), None if owner is None else id(owner), None)

    def set_address(self, name: str, address: int) -> None:
        """Make a global variable a pointer."""
        ctypes.c_void_p.from_address(self.address(name)).value = address

    def set_object(self, name: str, value: Any) -> None:
        """Make a global variable refer to a Python object, which then lives for ever."""
        _keep(value)
        self.set_address(name, id(value))


@cache
def _definition(name: str, address: int, doc: str) -> _MethodDef:
    definition = _MethodDef(name.encode(), address, _FASTCALL, doc.encode())
    _keep(definition)
    return definition


class Once(Generic[T]):
    """What there is one of in a process, made when it is first asked for.

    Its lock is reentrant, as a signal handler may ask meanwhile. ``forked`` is told of it in a
    process that this one forks.
    """

    def __init__(self, make: Callable[[], T], forked: Callable[[T], None]) -> None:
        self._make, self._forked = make, forked
        self.lock = held_at_fork(threading.RLock())
        self.made: T | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def __call__(self) -> T:
        if self.made is None:
            with self.lock:
                if self.made is None:
                    self.made = self._make()
        return self.made

    def _after_fork(self) -> None:
        if self.made is not None:
            self._forked(self.made)


def _keep(value: Any) -> None:
    """Have an object live for ever."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
