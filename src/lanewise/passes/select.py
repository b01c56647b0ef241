"""Turn the cheapest branches into straight-line code: both are computed, one result is chosen.

Where the predicate of a `cond` varies, its examples are gathered for each branch, and its results
scattered. A few comparisons of all examples cost less (``if x > 0 and y > 0``), and so does one
`where` of numbers that are nearly there. Two do not: on data without a pattern, `where` takes ten
times as long as arithmetic, and several times as long as gathering. For that reason there is no
`where` to protect operations from examples that are not theirs either (``where(y != 0, y, 1)``).

No operation may show that it ran for an example that does not take its branch. So all of them are
*quiet*: they give no warning and raise no error, whatever the numbers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.ir.graph import Graph, Operation, Value, current_builder, recorded
from lanewise.ir.types import ArrayType
from lanewise.ops.control import cond
from lanewise.ops.creation import constant, literal
from lanewise.ops.elementwise import elementwise, where
from lanewise.ops.facts import is_quiet
from lanewise.ops.movement import cast

#: How many operations a branch may have, and how many results may be numbers, chosen by `where`.
MOST_OPERATIONS = 8
MOST_CHOICES = 1


def selected(op: Operation, mapped: Sequence[bool]) -> Graph | None:
    """Return a `cond` as straight-line code for one example; None where that is not worth it.

    Its predicate varies from example to example; `mapped` says which of all its operands do.
    """
    if not _is_small(op):
        return None

    def rule(*inputs: Value) -> list[Value]:
        first: dict[Value, Value] = {}  # what is handed over twice is one value
        return _choose(op, list(map(first.setdefault, op.operands, inputs)))

    graph = recorded([value.type for value in op.operands], rule)
    varying = {value for value, varies in zip(graph.inputs, mapped, strict=True) if varies}
    return graph if _is_quiet(graph, varying) else None


def _is_small(op: Operation) -> bool:
    """Return whether an operation is a `cond` with few operations and choices in its branches."""
    types = [value.type for value in op.results]
    if op.primitive is not cond or not all(map(_is_number, types)):
        return False
    if sum(type.dtype.kind != "b" for type in types) > MOST_CHOICES:
        return False
    return all(
        sum(inner.primitive is not constant for inner in region.operations) <= MOST_OPERATIONS
        and all(_is_small(inner) for inner in region.operations if inner.regions)
        for region in op.regions
    )


def _is_number(type: Any) -> bool:
    return isinstance(type, ArrayType) and not type.shape and type.dtype.kind in "biuf"


# --- straight-line code ---------------------------------------------------------------------------


def _choose(op: Operation, operands: Sequence[Value]) -> list[Value]:
    """Record both branches of a `cond`, and the choice between their results."""
    pred, *rest = operands
    builder = current_builder()
    found = [builder.inline(region.rewritten(_chosen_within), rest) for region in op.regions]
    truths = {
        made.results[0]: bool(data)
        for made in builder.operations
        if (data := literal(made)) is not None and data.dtype.kind == "b"
    }
    builder.location = op.place
    return [_chosen(pred, a, b, truths) for a, b in zip(*found, strict=True)]


def _chosen_within(op: Operation, values: dict[Value, Value]) -> list[Value] | None:
    operands = [values[value] for value in op.operands]
    return _choose(op, operands) if op.primitive is cond else None


def _chosen(pred: Value, a: Value, b: Value, truths: dict[Value, bool]) -> Value:
    """Record `a` where the predicate holds, else `b`; `truths` are those among the constants."""
    if a is b:
        return a
    if a.type.dtype.kind != "b":
        return where(pred, a, b)
    first = True if a is pred else truths.get(a)
    second = False if b is pred else truths.get(b)
    if first is not None and first is second:
        return b if a is pred else a  # the constant, where one of them is the predicate
    if first is True:
        return pred if second is False else _call(np.logical_or, pred, b)
    if second is False:
        return _call(np.logical_and, pred, a)
    other = _call(np.logical_not, pred)
    if first is False:
        return other if second is True else _call(np.logical_and, other, b)
    if second is True:
        return _call(np.logical_or, other, a)
    # Four of these are faster than `where`.
    yes, no = _call(np.logical_and, pred, a), _call(np.logical_and, other, b)
    return _call(np.logical_or, yes, no)


def _call(fn: np.ufunc, *operands: Value) -> Value:
    return elementwise(fn)(*operands, dtype=None)


# --- what is quiet --------------------------------------------------------------------------------


def _is_quiet(graph: Graph, varying: set[Value]) -> bool:
    """Return whether all operations of a graph are quiet; values that vary will be arrays."""
    varying = set(varying)
    constants: dict[Value, np.ndarray] = {}
    for op in graph.operations:
        if (data := literal(op)) is not None:
            constants[op.results[0]] = data
            continue
        varies = not varying.isdisjoint(op.operands)
        if not all(_is_number(value.type) for value in (*op.operands, *op.results)):
            return False
        if not _is_quiet_operation(op, varies, constants):
            return False
        if varies:
            varying.update(op.results)
    return True


def _is_quiet_operation(op: Operation, varies: bool, constants: dict[Value, np.ndarray]) -> bool:
    operands = [value.type.dtype for value in op.operands]
    if op.primitive is where:
        return operands[0].kind == "b" and operands[1] == operands[2]
    if op.primitive is cast:
        return is_quiet(op)
    row = op.primitive.row
    if row is None or op.params.get("dtype") is not None or not is_quiet(op):
        return False
    kinds = {dtype.kind for dtype in operands}
    if "f" in kinds:
        return len(set(operands)) == 1
    if row.divides:
        divisor = constants.get(op.operands[1])
        if op.results[0].type.dtype.kind == "f" or divisor is None:
            return False
        return divisor not in (0, -1)  # the smallest integer by -1 overflows
    return varies or not row.wraps
