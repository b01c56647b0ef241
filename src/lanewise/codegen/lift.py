"""Numbers in kernels: those that users change become operands, so that no kernel holds them.

A learning rate of 0.1 that a mapped function captures is a constant of the graph. If the kernel
held it, 0.2 would be another kernel, and compiled anew. So finite floats and complex numbers are
handed to kernels. Those that make the code better stay: small powers of two, for which sums and
products fold; exponents, and divisors that are powers of two; infinities and NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from lanewise.ir.graph import Builder, Graph, Operation, Signature, Value
from lanewise.ops.control import BRANCHES, LOOPS
from lanewise.ops.creation import constant, literal
from lanewise.ops.regions import map_

#: Numbers that stay, and those that are as good with the other sign.
_STAY = (0.0, 0.5, 1.0, 2.0)


def lift(graph: Graph) -> tuple[Graph, list[Signature], dict[Operation, Operation]]:
    """Return a region with its numbers as further inputs, behind the others.

    Beside it, the constants that these inputs stand for, in order; and for each operation of the
    new graph (not of its regions) that of the given one.
    """
    fixed = set(_fixed(graph, {}))
    numbers = [number for number in dict.fromkeys(_constants(graph)) if number not in fixed]
    if not numbers:
        return graph, [], {op: op for op in graph.operations}
    lifted, origin = _with_inputs(graph, numbers, len(graph.inputs))
    return lifted, numbers, origin


def _constants(graph: Graph) -> Iterator[Signature]:
    """Give the constants of a graph and its regions that can be inputs."""
    for op in graph.walk():
        if (data := literal(op)) is not None and _may_change(data):
            yield op.signature


def _may_change(data: np.ndarray) -> bool:
    if data.shape or data.dtype.kind not in "fc":
        return False
    value = complex(data)
    parts = (value.real, value.imag)
    return all(map(math.isfinite, parts)) and any(abs(part) not in _STAY for part in parts)


def _fixed(graph: Graph, known: dict[Value, Signature]) -> Iterator[Signature]:
    """Return the constants that stand where they should be known; `known` are those of inputs."""
    known = dict(known)
    for op in graph.operations:
        if op.primitive is constant:
            known[op.results[0]] = op.signature
        elif len(op.operands) > 1 and _wants(op, known.get(op.operands[1])):
            yield known[op.operands[1]]
        shift = 1 if op.primitive in BRANCHES else 0
        for region in op.regions:
            inputs = zip(op.operands[shift:], region.inputs, strict=False)
            yield from _fixed(region, {x: known[value] for value, x in inputs if value in known})


def _wants(op: Operation, number: Signature | None) -> bool:
    """Whether an operation is better where it knows that its second operand is this number."""
    row, data = op.primitive.row, literal(number)
    if data is None or row is None:
        return False
    if row.has_exponent:
        return True
    is_real = row.divides and data.dtype.kind == "f" and not data.shape
    return is_real and abs(math.frexp(data.item())[0]) == 0.5


def _with_inputs(
    graph: Graph, numbers: list[Signature], position: int
) -> tuple[Graph, dict[Operation, Operation]]:
    """Return a graph whose constants of some signatures are inputs, which stand at a position."""
    builder = Builder()
    values: dict[Value, Value] = {}
    for value in graph.inputs[:position]:
        values[value] = builder.input(value.type)
    given = {number: builder.input(number.types[0]) for number in numbers}
    for value in graph.inputs[position:]:
        values[value] = builder.input(value.type)
    origin: dict[Operation, Operation] = {}
    for op in graph.operations:
        if op.primitive is constant and op.signature in given:
            values[op.results[0]] = given[op.signature]
            continue
        inner = dict.fromkeys(c for region in op.regions for c in _constants(region))
        inner = [number for number in inner if number in given]
        if inner:
            operands = [values[value] for value in op.operands]
            builder.location = op.place
            results = _append(builder, op, operands, inner, [given[number] for number in inner])
            values.update(zip(op.results, results, strict=True))
        else:
            builder.copy(op, values)
        origin[builder.operations[-1]] = op
    return builder.finish([values[value] for value in graph.outputs]), origin


def _append(
    builder: Builder,
    op: Operation,
    operands: list[Value],
    numbers: list[Signature],
    given: list[Value],
) -> tuple[Value, ...]:
    """Record an operation with regions, which take some numbers as operands."""
    params = dict(op.params)
    if op.primitive in LOOPS:  # among the captures, which the carry follows
        place = params["captures"]
        params["captures"] = place + len(numbers)
    else:
        place = len(operands)
    if op.primitive is map_:
        params["in_dims"] = (*params["in_dims"], *[None] * len(numbers))
    shift = 1 if op.primitive in BRANCHES else 0
    regions = tuple([_with_inputs(region, numbers, place - shift)[0] for region in op.regions])
    operands[place:place] = given
    signature = Signature(op.primitive, params, op.signature.types, regions, False)
    return builder.append(signature, tuple(operands))
