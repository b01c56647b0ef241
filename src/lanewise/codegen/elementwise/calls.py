"""Calls of functions with two results that stand out of line: long code, or seldom run."""

from __future__ import annotations

from collections.abc import Callable

from lanewise.codegen.emitter import Emitter
from lanewise.codegen.numbers import Complex, vecs
from lanewise.codegen.vector import Vec, select


def patched(
    name: str, usual: Complex, rare: Vec, function: Callable[[Complex], Complex], x: Complex
) -> Complex:
    """Return `usual`, but where `rare` holds what a function of x gives, which is out of line."""
    pair = usual.re.spread_if(x.varying), usual.im.spread_if(x.varying)
    return Complex(*patched_pair(pair, rare, lambda: vecs(called(name, function, x))))


def patched_pair(
    usual: tuple[Vec, Vec], mask: Vec, rare: Callable[[], tuple[Vec, ...]]
) -> tuple[Vec, Vec]:
    """Do what `Emitter.patched` does for two Vecs, which vary if the mask does."""
    e = mask.e
    slots = [e.slot(vec.kind, mask.varying) for vec in usual]
    for slot, vec in zip(slots, usual, strict=True):
        slot.set(vec)
    with e.when(e.any(mask)):
        for slot, vec, other in zip(slots, usual, rare(), strict=True):
            slot.set(select(mask, other, vec) if mask.varying else other)
    first, second = (slot.get() for slot in slots)
    return first, second


def called(name: str, function: Callable[..., Complex], *operands: Complex) -> Complex:
    """Return what a function out of line gives."""

    def write(*flat: Vec) -> tuple[Vec, Vec]:
        pairs = zip(flat[::2], flat[1::2], strict=True)
        found = function(*[Complex(re, im) for re, im in pairs])
        return found.re, found.im

    flat = [part for x in operands for part in vecs(x)]
    return Complex(*call_pair(f"complex.{name}", write, *flat))


def call_pair(
    name: str, function: Callable[..., tuple[Vec, Vec]], *operands: Vec
) -> tuple[Vec, Vec]:
    """Do what `Emitter.call` does for a function that gives two Vecs of its first operand's kind.

    ``name`` names the function together with the operands' types.
    """
    e, kind = operands[0].e, operands[0].kind
    varying = any([x.varying for x in operands])
    operands = tuple([x.spread_if(varying) for x in operands])
    types = [e.type(x.kind, varying) for x in operands]
    pair = f"{{ {types[0]}, {types[0]} }}"
    width = f"x{e.group}" if varying else ""
    full = f"lw.{name}.{'.'.join([x.kind for x in operands])}{width}"
    if full not in e.module.functions:
        e.module.functions[full] = ""  # holds the place before the functions that this one calls
        inner = Emitter(e.module, e.group, 1, e.flags.strip())
        given = [Vec(inner, x.kind, varying, (f"%a{i}",)) for i, x in enumerate(operands)]
        result = "poison"
        for place, vec in enumerate(function(*given)):
            part = vec.spread_if(varying).parts[0]
            result = inner.write(f"insertvalue {pair} {result}, {types[0]} {part}, {place}")
        inner.do(f"ret {pair} {result}")
        arguments = [f"{type_} %a{i}" for i, type_ in enumerate(types)]
        e.module.functions[full] = inner.finish(
            full, f"internal {pair}", arguments, "noinline cold"
        )
    found: tuple[list[str], list[str]] = ([], [])
    for parts in zip(*[x.parts for x in operands], strict=True):
        text = ", ".join([f"{t} {p}" for t, p in zip(types, parts, strict=True)])
        both = e.write(f"call {pair} @{full}({text})")
        for place, names in enumerate(found):
            names.append(e.write(f"extractvalue {pair} {both}, {place}"))
    first, second = (Vec(e, kind, varying, tuple(names)) for names in found)
    return first, second
