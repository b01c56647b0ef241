"""Counters of loops that data end: what is known of them while a turn is written.

``for k in range(start, stop)`` with a stop that is data is a `while` of a number that begins with 0
and has one added while it is below another. So in a turn it is not negative, and one more is a
number of 64 bits, too: neither has to be checked where it is an index or is counted on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lanewise.codegen.arrays import Array, items_of
from lanewise.codegen.numbers import vecs
from lanewise.codegen.vector import known_span
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.control import carry_of
from lanewise.ops.creation import literal
from lanewise.ops.exact import exact

_INTEGER = np.dtype(np.int64)
#: What is below another number is at most this.
_MOST = 2**63 - 2


def least_of(x: Array) -> int | None:
    """Return what a number is at least, where that is known."""
    if x.shape or x.dtype != _INTEGER:
        return None
    span = known_span(vecs(items_of(x)[0])[0])
    return span[0] if span is not None and isinstance(span[0], int) else None


def note_counters(
    op: Operation, captures: Sequence[Array], carry: Sequence[Array], least: Sequence[int | None]
) -> None:
    """Note in the numbers that a turn begins with how far those go that count.

    ``least`` is what each of them is at least before the loop.
    """
    for position, (x, start) in enumerate(zip(carry, least, strict=True)):
        if start is not None and start >= 0 and _counts(op, captures, position):
            vecs(items_of(x)[0])[0].span = start, _MOST


def _counts(op: Operation, captures: Sequence[Array], position: int) -> bool:
    """Whether a turn adds one to a number that it takes only if that is below another."""
    test, body = op.regions
    place = carry_of(op).start + position
    made = body.makers.get(body.outputs[position])
    if made is None or not _is(made, np.add) or body.inputs[place] not in made.operands:
        return False
    a, b = made.operands
    step = b if a is body.inputs[place] else a
    if _value(body, step, captures) != 1:
        return False
    parts = list(_parts(test, test.outputs[0]))
    return any(_is(part, np.less) and part.operands[0] is test.inputs[place] for part in parts)


def _parts(region: Graph, value: Value) -> Iterator[Operation]:
    """Give the operations whose truths must all be so that a truth is."""
    made = region.makers.get(value)
    if made is None:
        return
    if _is(made, np.logical_and) or _is(made, np.bitwise_and):
        for operand in made.operands:
            yield from _parts(region, operand)
    else:
        yield made


def _is(op: Operation, fn: np.ufunc) -> bool:
    return (op.params["fn"] if op.primitive is exact else op.primitive.ufunc) is fn


def _value(region: Graph, value: Value, captures: Sequence[Array]) -> int | None:
    """Return a number that a region uses, where it is known."""
    known = literal(region.makers.get(value))
    if known is not None:
        return int(known) if known.ndim == 0 else None
    number = region.inputs.index(value) if value in region.inputs else len(captures)
    least = least_of(captures[number]) if number < len(captures) else None
    span = None if least is None else known_span(vecs(items_of(captures[number])[0])[0])
    return least if span == (least, least) else None
