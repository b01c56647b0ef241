"""What a graph means, in the plainest way: one operation at a time, and one example at a time.

A map of any order is a loop over its examples; control flow is Python's. Nothing is lowered or
planned, so this is what runs where something fails that should not (`lanewise.passes.survive`), and
what tests compare lowering and running with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import carry_of, cond, scan, switch, while_
from lanewise.ops.regions import map_
from lanewise.runtime.binding import bind, defined_size, sizes_of

Sizes = dict[str, int]
Check = Callable[[ArrayType, Any, Sizes], None]
#: Runs a region on some arrays, and returns its outputs.
RunRegion = Callable[[Graph, Sequence[Any], Sizes], list[Any]]


def run(
    graph: Graph, *arguments: Any, sizes: Sizes | None = None, check: Check | None = None
) -> list[Any]:
    """Return the outputs of a graph on arrays (None for a token).

    ``check`` is told of each array that there is, the type that was announced, and the sizes.
    """
    sizes = {**(sizes or {}), **sizes_of(graph.inputs, arguments)}
    values: dict[Any, Any] = {}

    def define(defined: Sequence[Value], given: Sequence[Any]) -> None:
        for name, size in sizes_of(defined, given).items():
            sizes.setdefault(name, size)
        for value, x in zip(defined, given, strict=True):
            values[value] = x
            if check is not None and isinstance(value.type, ArrayType):
                check(bind(value.type, sizes), x, sizes)

    def inner(region: Graph, arguments: Sequence[Any], sizes: Sizes) -> list[Any]:
        return run(region, *arguments, sizes=sizes, check=check)

    define(graph.inputs, [x if x is None else np.asarray(x) for x in arguments])
    for op in graph.operations:
        if op.primitive.is_definition:
            sizes.update(defined_size(op, values[op.operands[0]]))
            continue
        define(op.results, carry_out(op, [values[value] for value in op.operands], sizes, inner))
    return [values[value] for value in graph.outputs]


def carry_out(op: Operation, operands: list[Any], sizes: Sizes, run: RunRegion) -> Sequence[Any]:
    """Return the results of an operation, whose regions are run by a function."""
    params = bind(op.params, sizes)
    if op.primitive is cond:
        return run(op.regions[0 if operands[0] else 1], operands[1:], sizes)
    if op.primitive is switch:
        return run(op.regions[operands[0]], operands[1:], sizes)
    if op.primitive is while_:
        test, body = op.regions
        state, captures = operands, params["captures"]
        while run(test, state, sizes)[0]:
            state = [*state[:captures], *run(body, state, sizes)]
        return state[captures:]
    if op.primitive is scan:
        return _scan(op, operands, params, sizes, run)
    if op.primitive is map_:
        return _map(op, operands, params, sizes, run)
    results = op.primitive.numpy(*operands, **params)
    if len(op.results) == 1 and not isinstance(results, (tuple, list)):
        return [results]
    return [] if results is None else results


def _scan(
    op: Operation, operands: list[Any], params: Any, sizes: Sizes, run: RunRegion
) -> list[Any]:
    (body,) = op.regions
    carry = carry_of(op)
    captured, state, xs = operands[: carry.start], operands[carry], operands[carry.stop :]
    types = [bind(value.type, sizes) for value in op.results[len(state) :]]
    ys = [np.zeros(type.shape, type.dtype) for type in types]
    turns = range(params["length"])
    for turn in reversed(turns) if params["reverse"] else turns:
        outputs = run(body, [*captured, *state, *[x[turn] for x in xs]], sizes)
        state = outputs[: len(state)]
        for y, part in zip(ys, outputs[len(state) :], strict=True):
            y[turn] = part
    return [*state, *ys]


def _map(
    op: Operation, operands: list[Any], params: Any, sizes: Sizes, run: RunRegion
) -> list[Any]:
    (body,) = op.regions
    types = [bind(value.type, sizes) for value in op.results]
    results = [np.zeros(t.shape, t.dtype) if isinstance(t, ArrayType) else None for t in types]
    for example in range(params["size"]):
        part = [
            x if axis is None else np.take(x, example, axis)
            for x, axis in zip(operands, params["in_dims"], strict=True)
        ]
        outputs = run(body, part, sizes)
        for result, output, mapped in zip(results, outputs, params["out_mapped"], strict=True):
            if result is not None:
                result[example if mapped else ...] = output
    return results
