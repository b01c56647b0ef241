"""Functions that say themselves how they are differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lanewise.errors import UnsupportedError
from lanewise.ops.custom import custom, custom_linear, custom_vmap
from lanewise.ops.derivatives import OfRegions
from lanewise.trace.tensor import Tensor
from lanewise.transforms.derivation import Derivation, is_differentiable
from lanewise.transforms.linearize import jvp, linearize, moves
from lanewise.transforms.regions import Tangents, are_active, picked, present, spread
from lanewise.transforms.transpose import transpose


def _tangents(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    regions, residuals = op.regions, op.params["residuals"]
    if callable(residuals):  # the call stands in the function's own rule
        regions, residuals, arrays = residuals([x._type for x in operands])
        operands = [*operands, *[Tensor(d, d.capture(array)) for array in arrays]]
        tangents = [*tangents, *[None] * len(arrays)]
    moved = [
        d.zeros(x) if t is None else t
        for x, t in zip(operands, tangents, strict=True)
        if is_differentiable(x._type)
    ]
    values = [x._value for x in operands]
    types = [value.type for value in op.results if is_differentiable(value.type)]
    # The function again, as itself: its derivative is its rule's in every order.
    results = d.call(custom, operands[: len(op.operands)], op.params, op.regions)
    if residuals is None:
        found = [Tensor(d, v) for v in d.inline(regions[1], [*values, *[t._value for t in moved]])]
    else:
        _, forward, backward = regions
        kept = d.inline(forward, values)[len(op.results) :]
        ways = [backward]
        # What is not linear in the cotangents has no forward derivative.
        with suppress(UnsupportedError):
            ways.append(transpose(backward, [False] * residuals + [True] * len(types)).graph)
        given = [*[Tensor(d, v) for v in kept], *moved]
        found = d.call(custom_linear, given, {"types": tuple(types)}, tuple(ways))
    left = iter(found)
    return (
        results,
        [next(left) if is_differentiable(value.type) else None for value in op.results],
    )


def _transposed(d: Derivation, op: Any, operands: Sequence[Any], cts: Tangents) -> list[Any]:
    count = len(op.regions[0].inputs) - len(op.params["types"])
    seeds = [d.zeros(v.type) if ct is None else ct for v, ct in zip(op.results, cts, strict=True)]
    found = d.inline(op.regions[0], [x._value for x in (*operands[:count], *seeds)])
    return [*[None] * count, *[Tensor(d, v) for v in found]]


# A function with a batching rule of its own is computed by that; its derivative has none.


def _mapped_forward(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    both = jvp(op.regions[0], are_active(tangents))
    found = d.inline(both.graph, [x._value for x in (*operands, *present(tangents))])
    moved = [Tensor(d, v) for v in found[len(op.results) :]]
    return d.call(custom_vmap, operands, op.params, op.regions), spread(moved, both.moved)


def _mapped_split(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    lin = linearize(op.regions[0], are_active(tangents))
    values = [x._value for x in operands]
    residuals = picked(lin, values, d.inline(lin.primal, values)[len(op.results) :])
    found = d.inline(lin.linear, [*residuals, *[x._value for x in present(tangents)]])
    moved = [Tensor(d, v) for v in found]
    return d.call(custom_vmap, operands, op.params, op.regions), spread(moved, lin.moved)


custom_vmap.of_regions = OfRegions(
    lambda op, active: moves(op.regions[0], active), _mapped_forward, _mapped_split
)
custom.of_regions = OfRegions(
    lambda op, active: [is_differentiable(value.type) for value in op.results], _tangents, _tangents
)
custom_linear.of_regions = OfRegions(transposed=_transposed)
