"""Calls of functions with two results that stand out of line: long code, or seldom run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanewise.codegen.numbers import Complex, vecs
from lanewise.codegen.vector import Vec, select


def patched(
    name: str, usual: Complex, rare: Vec, function: Callable[[Complex], Complex], x: Complex
) -> Complex:
    """Return `usual`, but where `rare` holds what a function of x gives, which is out of line."""
    pair = usual.re.spread_if(x.varying), usual.im.spread_if(x.varying)
    return Complex(*patched_pair(pair, rare, lambda: vecs(called(name, function, x))))


def patched_pair(
    usual: tuple[Vec, Vec], mask: Vec, rare: Callable[[], Sequence[Vec]]
) -> tuple[Vec, Vec]:
    """Do what `Emitter.patched` does for two Vecs, which vary if the mask does."""
    e = mask.e
    slots = [e.slot(vec.kind, mask.varying, vec) for vec in usual]
    with e.when(e.any(mask)):
        for slot, vec, other in zip(slots, usual, rare(), strict=True):
            slot.set(select(mask, other, vec) if mask.varying else other)
    first, second = (slot.get() for slot in slots)
    return first, second


def called(name: str, function: Callable[..., Complex], *operands: Complex) -> Complex:
    """Return what a function out of line gives."""

    def write(*flat: Vec) -> tuple[Vec, ...]:
        return vecs(function(*map(Complex, flat[::2], flat[1::2])))

    flat = [part for x in operands for part in vecs(x)]
    return Complex(*flat[0].e.called(f"complex.{name}", write, *flat))
