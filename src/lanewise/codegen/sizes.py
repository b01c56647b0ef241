"""Sizes of arrays in a kernel: what is known only when it runs is taken to be large.

A kernel is told of sizes when it is called, or counts them itself: then a slice that moves with a
loop's iterations is of a size that is computed of their number, where it is needed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.vector import Vec, select
from lanewise.ir.dims import (
    Atom,
    Call,
    Dim,
    DimLike,
    bend_of,
    bounds,
    differ,
    dim_max,
    most_of,
    substitute,
    symbols,
)
from lanewise.ir.graph import Operation
from lanewise.passes.fitting import always_fits
from lanewise.passes.specialize import alike, replaced, symbols_of


def is_unknown(shape: Sequence[DimLike]) -> bool:
    """Whether some size of a shape is known only when the kernel runs."""
    return any([isinstance(size, Dim) for size in shape])


def is_long(size: DimLike, least: int) -> bool:
    """Whether an axis may have at least so many elements, as far as is known."""
    most = bounds(size)[1]
    return most is None or most >= least


def is_few(shape: Sequence[DimLike], most: int) -> bool:
    """Whether a shape has at most so many elements."""
    return not is_unknown(shape) and math.prod(shape) <= most


def is_empty(shape: Sequence[DimLike]) -> bool:
    """Whether a shape surely has no elements."""
    return any([not isinstance(size, Dim) and size == 0 for size in shape])


def is_counted(size: DimLike, counted: Container[str]) -> bool:
    """Whether a size depends on what the kernel counts itself."""
    return any([name in counted for name in symbols(size)])


@dataclass(frozen=True, slots=True)
class Counted:
    """What a symbol of sizes is in a kernel that counts it: `count`, which is at most `most`."""

    count: Vec
    most: DimLike | None


def room(shape: Sequence[DimLike], counted: Mapping[str, Counted]) -> list[DimLike]:
    """Return a shape that arrays of a shape fit into, whatever the kernel counts."""
    return [_largest(size, counted) for size in shape]


def varies(size: DimLike, counted: Mapping[str, Counted]) -> bool:
    """Whether a size may differ between lanes."""
    return any([name in counted and counted[name].count.varying for name in symbols(size)])


def spaced(shape: Sequence[DimLike], counted: Mapping[str, Counted]) -> Sequence[DimLike]:
    """Return the shape that places in memory are counted by, so that they are alike in all lanes.

    A size that varies takes as much room as it may need; of the first axis no place depends on it.
    """
    return [
        room([size], counted)[0] if axis and varies(size, counted) else size
        for axis, size in enumerate(shape)
    ]


def _largest(size: DimLike, counted: Mapping[str, Counted]) -> DimLike:
    """Return what a size is at most: of one that bends upward only, what it is at an end.

    The smaller of two sizes is taken for one of them.
    """
    most = bounds(size)[1] if is_counted(size, counted) else size
    if most is not None:
        return most
    left = _without_minima(size, counted)
    for name in reversed(list(counted)):  # those within others go as far as these let them
        if isinstance(left, Dim) and name in symbols(left):
            end = counted[name].most
            if end is None or not _bends_upward(left, name):
                raise CannotCompile(f"how large {size} may be is not known")
            left = dim_max(substitute(left, {name: 0}), substitute(left, {name: end}))
    return left


def _without_minima(size: DimLike, counted: Mapping[str, Counted]) -> DimLike:
    """Return a size, or more, in which nothing is taken off that depends on what is counted."""
    for monomial, coefficient in size.terms if isinstance(size, Dim) else ():
        (atom, *others) = monomial or ("",)
        is_maximum = isinstance(atom, Call) and atom.name == "max" and not others
        if is_maximum and coefficient < 0 and not counted.keys().isdisjoint(_names(atom)):
            size = size + (atom.args[1] - Dim([(monomial, 1)])) * coefficient
    return size


def _bends_upward(size: Dim, name: str) -> bool:
    """Whether a size is a sum of multiples of a symbol, and of bends upward."""
    for monomial, coefficient in size.terms:
        for atom in monomial:
            inner, bend = bend_of(atom)
            is_own = inner == name or (isinstance(inner, Call) and name in _names(inner))
            if is_own and (inner != name or len(monomial) > 1 or (bend and coefficient < 0)):
                return False
    return True


def _names(call: Call) -> set[str]:
    return set().union(*[symbols(arg) for arg in call.args])


def computed(e: Any, size: DimLike, counted: Mapping[str, Counted]) -> Vec:
    """Write what computes a size of what the kernel counts; `e` is its `Emitter`."""
    if not isinstance(size, Dim):
        return e.constant("i64", size)
    terms = []
    for monomial, coefficient in size.terms:
        factors = [_computed_atom(e, atom, counted) for atom in monomial]
        if coefficient != 1 or not factors:
            factors.append(e.constant("i64", coefficient))
        terms.append(reduce(operator.mul, factors))
    return reduce(operator.add, terms)


def _computed_atom(e: Any, atom: Atom, counted: Mapping[str, Counted]) -> Vec:
    if isinstance(atom, str):
        return counted[atom].count if atom in counted else e.size(Dim.symbol(atom))
    args = [computed(e, arg, counted) for arg in atom.args]
    match atom.name:
        case "max":
            return args[0].greatest(args[1])
        case "negative":
            return select(args[0] < 0, args[1], args[2])
        case "broadcast":
            return reduce(lambda a, b: select(a.eq(1), b, a), args)
        case "floordiv" | "mod" if isinstance(by := atom.args[1], int) and by > 0:
            rest = args[0].rest(by)
            rest = select(rest < 0, rest + by, rest)
            return rest if atom.name == "mod" else (args[0] - rest).quotient(by)
    raise CannotCompile(f"the size {atom} is known only when it runs")


def check_sizes(k: Any, op: Operation) -> None:
    """See that an operation is defined for all sizes that the kernel counts.

    Of an elementwise one it is seen when it runs that sizes are equal which may be equal; of the
    others that there are elements, where NumPy may be undefined for none. The run ends where it is
    not so.

    `k` is its `Builder`. Where it is told of sizes that these depend on, it is called for such
    that fit.
    """
    counted, names = k.e.counted, symbols_of(op)
    names = names.union(*[symbols(k.e.equal[name]) for name in names & k.e.equal.keys()])
    known = {name: None if name not in counted else counted[name].most for name in names}
    endless = {name for name, most in known.items() if most is None and most_of(name) is None}
    told = [name for name in counted.keys() & names - endless if most_of(name) is None]
    if told or counted.keys().isdisjoint(names):
        return
    equal = k.e.equal
    if always_fits(op, endless=endless, equal=equal):
        return
    pairs = [replaced(pair, equal) for pair in alike(op)]
    pairs = [(first, second) for first, second in pairs if first != second]
    if pairs and not any([differ(*pair) for pair in pairs]):
        for first, second in pairs:
            k.fail(k.index(first).ne(k.index(second)))
            k.e.equal = _with_equal(k.e.equal, first, second)
        return
    if not always_fits(op, if_filled=True, endless=endless, equal=equal):
        raise CannotCompile(f"{op.primitive.name} is not defined for all sizes that it may meet")
    for size in dict.fromkeys([size for value in op.operands for size in value.type.shape]):
        if is_counted(size, counted):
            k.fail(k.index(size).eq(0))


def _with_equal(
    equal: Mapping[str, DimLike], first: DimLike, second: DimLike
) -> dict[str, DimLike]:
    """Return which symbols are other sizes, after two sizes were seen to be equal.

    One of which it is not known how large it may be is rather another one than that it.
    """
    pairs = ((second, first), (first, second))
    for symbol, size in sorted(pairs, key=lambda pair: bounds(pair[0])[1] is not None):
        names = {*symbols(symbol)}
        if len(names) == 1 and symbol == Dim.symbol(*names) and names.isdisjoint(symbols(size)):
            known = dict.fromkeys(names, size)
            return {name: substitute(old, known) for name, old in equal.items()} | known
    return dict(equal)
