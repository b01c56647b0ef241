"""What a graph means, in the plainest way: one operation at a time, and one example at a time.

A map of any order is a loop over its examples; control flow is Python's. Nothing is lowered or
planned, so this is what runs where something fails that should not (`lanewise.passes.survive`), and
what tests compare lowering and running with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.control import cond, scan, switch, while_
from lanewise.ops.regions import map_
from lanewise.runtime.binding import defined_size

Sizes = dict[str, int]
Check = Callable[[ArrayType, Any, Sizes], None]


def run(
    graph: Graph, *arguments: Any, sizes: Sizes | None = None, check: Check | None = None
) -> list[Any]:
    """Return the outputs of a graph on arrays (None for a token).

    ``check`` is told of each array that there is, the type that was announced, and the sizes.
    """
    sizes = {**(sizes or {}), **_given_sizes(graph, arguments)}
    values: dict[Any, Any] = {}

    def define(defined: Sequence[Value], given: Sequence[Any]) -> None:
        for value, x in zip(defined, given, strict=True):
            values[value] = x
            if isinstance(value.type, ArrayType):
                for dim, size in zip(value.type.shape, np.shape(x), strict=True):
                    if isinstance(dim, Dim):
                        sizes.setdefault(str(dim), size)
                if check is not None:
                    check(_bind(value.type, sizes), x, sizes)

    define(graph.inputs, [x if x is None else np.asarray(x) for x in arguments])
    for op in graph.operations:
        if op.primitive.is_definition:
            sizes.update(defined_size(op, values[op.operands[0]]))
            continue
        define(op.results, _apply(op, [values[value] for value in op.operands], sizes, check))
    return [values[value] for value in graph.outputs]


def _given_sizes(graph: Graph, arguments: Sequence[Any]) -> Sizes:
    return {
        str(dim): size
        for value, x in zip(graph.inputs, arguments, strict=True)
        if isinstance(value.type, ArrayType)
        for dim, size in zip(value.type.shape, np.shape(x), strict=True)
        if isinstance(dim, Dim)
    }


def _apply(op: Operation, operands: list[Any], sizes: Sizes, check: Check | None) -> Sequence[Any]:
    params = _bind(op.params, sizes)
    if op.primitive is cond:
        return run(op.regions[0 if operands[0] else 1], *operands[1:], sizes=sizes, check=check)
    if op.primitive is switch:
        return run(op.regions[operands[0]], *operands[1:], sizes=sizes, check=check)
    if op.primitive is while_:
        test, body = op.regions
        state, captures = operands, params["captures"]
        while run(test, *state, sizes=sizes, check=check)[0]:
            state = [*state[:captures], *run(body, *state, sizes=sizes, check=check)]
        return state[captures:]
    if op.primitive is scan:
        return _scan(op, operands, params, sizes, check)
    if op.primitive is map_:
        return _map(op, operands, params, sizes, check)
    results = op.primitive.numpy(*operands, **params)
    if len(op.results) == 1 and not isinstance(results, (tuple, list)):
        return [results]
    return [] if results is None else results


def _scan(
    op: Operation, operands: list[Any], params: Any, sizes: Sizes, check: Check | None
) -> list[Any]:
    (body,) = op.regions
    first = params["captures"]
    last = first + params["carry"]
    state, xs = operands[first:last], operands[last:]
    types = [_bind(value.type, sizes) for value in op.results[last - first :]]
    ys = [np.zeros(type.shape, type.dtype) for type in types]
    turns = range(params["length"])
    for turn in reversed(turns) if params["reverse"] else turns:
        slices = [x[turn] for x in xs]
        outputs = run(body, *operands[:first], *state, *slices, sizes=sizes, check=check)
        state = outputs[: len(state)]
        for y, part in zip(ys, outputs[len(state) :], strict=True):
            y[turn] = part
    return [*state, *ys]


def _map(
    op: Operation, operands: list[Any], params: Any, sizes: Sizes, check: Check | None
) -> list[Any]:
    (body,) = op.regions
    results: list[Any] = [
        np.zeros(_bind(value.type, sizes).shape, value.type.dtype)
        if isinstance(value.type, ArrayType)
        else None
        for value in op.results
    ]
    state = list(operands)
    tokens = [i for i, value in enumerate(op.results) if not isinstance(value.type, ArrayType)]
    for example in range(params["size"]):
        part = [
            x if axis is None else np.take(x, example, axis)
            for x, axis in zip(state, params["in_dims"], strict=True)
        ]
        outputs = run(body, *part, sizes=sizes, check=check)
        for i, (output, mapped) in enumerate(zip(outputs, params["out_mapped"], strict=True)):
            if i in tokens:
                continue
            results[i][example if mapped else ...] = output
    return results


def _bind(value: Any, sizes: Sizes) -> Any:
    match value:
        case Dim():
            return evaluate(value, sizes)
        case dict():
            return {name: _bind(part, sizes) for name, part in value.items()}
        case tuple():
            return tuple([_bind(part, sizes) for part in value])
        case ArrayType():
            return array_type(value.dtype, _bind(value.shape, sizes))
    return value
