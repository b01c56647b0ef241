"""LLVM, through llvmlite: from a module's text to addresses of functions."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import llvmlite
from llvmlite import binding

from lanewise.codegen import store, support
from lanewise.codegen.background import held_at_fork, interruptible, leave_room, without_lock
from lanewise.codegen.linking import Linked, add_symbol
from lanewise.codegen.processor import COMPARED, Machine, machine

#: How much LLVM optimizes, of 3.
#:
#: What kernels are written as is vector code already, so little is left to do: variables become
#: registers, and what does not change moves out of loops. For that each function goes once through
#: the short form of LLVM's pipeline for functions, instead of the long one for modules.
#:
#: Milliseconds of processor time for 25 kernels (of the benchmarks' and some more programs) on one
#: thread of an AVX-512 machine, and how long these then run, as a geometric mean:
#:
#: ==================  ========  ========  =======  ======================================
#: passes              optimize  generate  running  of single kernels
#: ==================  ========  ========  =======  ======================================
#: modules, level 2         417       313     1.00
#: functions, level 2       273       306     1.02  1.25 (Collatz)
#: functions, level 1       215       300     1.02  1.25 (Collatz)
#: sroa, simplifycfg         30       300     1.02  1.31 (Levenshtein), 0.87 (RBF matrix)
#: ==================  ========  ========  =======  ======================================
#:
#: Long kernels gain most: one of 860 kB of text took 877 ms with the first and 115 with the third.
#: The last lacks what moves loads out of loops; llvmlite does not offer that by itself.
OPTIMIZE = 1
#: How much LLVM's code generator does, of 3. With 1, 2 and 3, 22 kernels took 300, 310 and 309 ms
#: to make and ran equally fast; the time goes to selecting instructions and allocating registers.
GENERATE = 2

#: Held while LLVM works, which is not made for threads that compile at the same time. Who holds it
#: must not wait for what another thread compiles (`interruptible`).
lock = held_at_fork(threading.RLock())
#: Held while what kernels call is registered, which compiles some; taken before `lock`.
_installing = held_at_fork(threading.RLock())


@contextmanager
def optimized(text: str) -> Generator[tuple[Any, Any]]:
    """Parse and optimize a module; give it and the target machine, while the ``with`` block lasts.

    Examples
    --------
    >>> text = "define i64 @f(i64 %x) { %p = alloca i64  store i64 %x, ptr %p  ret i64 %x }"
    >>> with optimized(text) as (module, target):
    ...     "alloca" in str(module)
    False
    """
    # A context of its own: the global one would keep all constants of all modules for ever.
    leave_room(len(text))
    with lock, binding.create_context() as context:
        target, options, passes, _ = _tools(machine())
        with binding.parse_assembly(text, context) as module:
            module.triple = machine().triple
            module.data_layout = str(target.target_data)
            module.verify()
            for function in module.functions:
                if not function.is_declaration:
                    # A builder of its own (10 us, 1 kB): each run adds to what its builder calls
                    # back, so that with one for all each kernel would make the next slower.
                    passes.run(function, binding.create_pass_builder(target, options))
            yield module, target


@lru_cache(maxsize=4)
def _tools(made: Machine) -> tuple[Any, Any, Any, Any]:
    """Return the target machine, the options, the passes for all modules, and their builder.

    They are made once, which saves time, and memory too: llvmlite never frees passes.
    """
    # Without "pic", indexed loads of constant tables have addresses that the loader cannot place.
    target = binding.Target.from_triple(made.triple).create_target_machine(
        cpu=made.name,
        features=made.features,
        opt=GENERATE,
        jit=True,
        codemodel="default",
        reloc="pic",
    )
    options = binding.create_pipeline_tuning_options(speed_level=OPTIMIZE)
    options.loop_vectorization = False  # the code is vector code already
    options.slp_vectorization = False
    builder = binding.create_pass_builder(target, options)
    return target, options, builder.getFunctionPassManager(), builder


def compile_object(text: str) -> bytes:
    """Return the object code of a module, as a linker takes it; from the cache on disk if there.

    Examples
    --------
    >>> code = compile_object("define i64 @twice(i64 %x) { %y = add i64 %x, %x  ret i64 %y }")
    >>> b"twice" in code
    True
    """
    key = store.key_of(text, *conditions(machine()))
    code = store.load(key)
    if code is None:
        code = interruptible(key, partial(_made, text))
        store.save(key, code)
    return code


def _made(text: str) -> bytes:
    with without_lock(), optimized(text) as (module, target):
        return target.emit_object(module)


@lru_cache(maxsize=8)
def conditions(made: Machine) -> tuple[str, ...]:
    """Return all but a module's text that decides its code."""
    version = sys.modules[__name__.partition(".")[0]].__version__
    llvm = ".".join(map(str, binding.llvm_version_info))
    settings = f"functions {OPTIMIZE} {GENERATE} {COMPARED}"
    return (*(made.name, made.features, made.triple), version, llvmlite.__version__, llvm, settings)


class Code:
    """Compiled functions; they live as long as this object."""

    __slots__ = ("__weakref__", "_linked", "seconds")

    def __init__(self, text: str) -> None:
        start = time.perf_counter()
        code = compile_object(text)
        if not machine().has("avx512fp16", "fma", "sse4.1"):  # with instructions for all we do
            with _installing:
                support.install(provide)
        with lock:
            self._linked = Linked(code)
        #: What making it took: compiling, or loading from the cache on disk.
        self.seconds = time.perf_counter() - start

    def address(self, name: str) -> int:
        """Return the address of a function."""
        with lock:
            return self._linked.address(name)


#: What kernels call; it lives for ever.
_provided: list[Code] = []


def provide(text: str, *names: str) -> None:
    """Have kernels call functions of a module by their names."""
    code = Code(text)
    _provided.append(code)
    for name in names:
        add_symbol(name, code.address(name))


def assembly(text: str) -> str:
    """Return the assembly of a module.

    Examples
    --------
    >>> "twice:" in assembly("define i64 @twice(i64 %x) { %y = add i64 %x, %x  ret i64 %y }")
    True
    """
    with optimized(text) as (module, target):
        return target.emit_assembly(module)
