"""What compiled code calls where the processor lacks an instruction.

For some instructions LLVM writes calls of functions that a C compiler's own library would bring
along; a process of Python has no such library, and a call of a function that is not there ends it.
So what may be missing is registered here: conversions of float16 (all but the newest processors
lack those from float64, old ones all), fused multiplication and addition, and rounding.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.linking import add_symbol, symbol
from lanewise.codegen.vector import LLVM, Vec, select

#: Of the C library's mathematics.
MATHEMATICS = ("fma", "floor", "ceil", "trunc", "roundeven", "fmod")

#: What lists that grow in kernels take their memory from.
MEMORY = ("realloc", "free")

_is_installed = False


def install(provide: Callable[..., None]) -> None:
    """Make everything known to the linker, once; ``provide`` is LLVM's, and may call this."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    for name in (*MATHEMATICS, *[f"{name}f" for name in MATHEMATICS], *MEMORY):
        add_symbol(name, symbol(name))  # rounding to even is newer than some libraries
    try:
        provide(conversions(), *CONVERSIONS)
    except BaseException:  # as of memory that is short: there may be more later
        _is_installed = False
        raise


def conversions() -> str:
    """Return the conversions of float16 that LLVM may call, as a module's text."""
    module = Module()
    for name, (given, result, write) in CONVERSIONS.items():
        e = Emitter(module, 1, 1)
        found = write(Vec(e, given, False, ("%x",)))
        e.do(f"ret {LLVM[result]} {found.as_kind(result).parts[0]}")
        module.functions[name] = e.finish(name, LLVM[result], [f"{LLVM[given]} %x"])
    return module.text()


def _half_of_float(x: Vec) -> Vec:
    """Return a float32 as a float16, rounded to even: with integers, and one addition.

    Where the result is subnormal, adding 1/2 leaves its bits at the end of the sum, rounded.
    """
    bits = x.bits()
    size = bits & 0x7FFF_FFFF
    infinite = select(size > 0x7F80_0000, 0x7E00, x.e.constant("i32", 0x7C00))
    small = (size.as_kind("f32") + 0.5).bits() - 0x3F00_0000
    usual = (size - (112 << 23) + 0xFFF + ((size >> 13) & 1)) >> 13
    found = select(size >= 0x4780_0000, infinite, select(size < 0x3880_0000, small, usual))
    return (found | ((bits >> 16) & 0x8000)).to("i16")


def _float_of_half(x: Vec) -> Vec:
    """Return a float16 as a float32; subtracting 2**-14 brings subnormal ones to their place."""
    bits = x.bits().to("i32")
    shifted = (bits & 0x7FFF) << 13
    exponent = shifted & 0x0F80_0000
    usual = shifted + (112 << 23)
    small = ((usual + (1 << 23)).as_kind("f32") - 2.0**-14).bits()
    found = select(exponent.eq(0x0F80_0000), usual + (112 << 23), usual)
    return select(exponent.eq(0), small, found) | (bits & -0x8000_0000)


#: What LLVM calls for conversions: kinds, and what writes the result's bits.
CONVERSIONS = {
    "__truncsfhf2": ("f32", "f16", _half_of_float),
    "__truncdfhf2": ("f64", "f16", lambda x: _half_of_float(x.rounded_to_odd())),
    "__extendhfsf2": ("f16", "f32", _float_of_half),
}
