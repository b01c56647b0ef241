"""Derivatives of `checkpoint`: of what it computes only the operands are kept.

Split, its linear part is one operation that takes the operands and computes everything again; so
does its transpose. What it is computed of is marked (`again`), or passes would find that all of it
is known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanewise.ir.graph import Graph
from lanewise.ops.custom import again, checkpoint
from lanewise.ops.derivatives import OfRegions, is_linear
from lanewise.trace.tensor import Tensor
from lanewise.transforms.derivation import Derivation
from lanewise.transforms.linearize import jvp, linearize, moves
from lanewise.transforms.regions import Tangents, are_active, picked, present, spread
from lanewise.transforms.tables import has_begun
from lanewise.transforms.transpose import transpose


def _forward(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    both = jvp(op.regions[0], are_active(tangents))
    found = d.call(checkpoint, [*operands, *present(tangents)], {}, (both.graph,))
    count = len(op.results)
    return found[:count], spread(found[count:], both.moved)


def _split(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    (body,) = op.regions
    lin = linearize(body, are_active(tangents))
    results = d.call(checkpoint, operands, {}, (body,))
    with Derivation() as trace:
        inputs = trace.tensors([x._type for x in operands])
        moved = trace.tensors([x._type for x in present(tangents)])
        known = [trace.emit(again, x) if x._type.dtype.kind != "O" else x for x in inputs]
        outputs = trace.inline(lin.primal, [x._value for x in known])
        residuals = picked(lin, [x._value for x in known], outputs[len(op.results) :])
        found = trace.inline(lin.linear, [*residuals, *[x._value for x in moved]])
    region = Graph(trace.inputs, trace.operations, found)
    moved = d.call(checkpoint, [*operands, *present(tangents)], {}, (region,))
    return results, spread(moved, lin.moved)


def _transposed(d: Derivation, op: Any, operands: Sequence[Any], cts: Tangents) -> list[Any]:
    linear = [is_linear(x) for x in operands]
    begun = [has_begun(x) for x in operands]
    back = transpose(op.regions[0], linear, are_active(cts), d.is_masked, begun)
    d.is_masked |= back.is_masked
    known = [x for x in operands if not is_linear(x)]
    so_far = [x.so_far for x in operands if has_begun(x)]
    found = d.call(checkpoint, [*known, *present(cts), *so_far], {}, (back.graph,))
    return spread(found, linear)


checkpoint.of_regions = OfRegions(
    lambda op, active: moves(op.regions[0], active), _forward, _split, _transposed
)
