"""Transposition: a graph that is linear in some inputs, run backward on cotangents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.derivatives import Linear
from lanewise.ops.tables import TABLES
from lanewise.trace.tensor import Tensor
from lanewise.transforms.derivation import Derivation, check_no_table, is_table


@dataclass(frozen=True, slots=True)
class Transposed:
    """A graph that takes what was not linear, then cotangents; it gives those of the linear inputs.

    Attributes
    ----------
    graph
        The graph.
    is_masked
        Whether a cotangent that it gives holds zeros that stand for "not asked for".
    """

    graph: Graph
    is_masked: bool


class Cotangents:
    """The cotangents of the values of a linear graph, as they are collected.

    Attributes
    ----------
    masked
        The values whose cotangents hold zeros that stand for "not asked for".
    """

    def __init__(self, trace: Derivation) -> None:
        self.trace = trace
        self.masked: set[Value] = set()
        self._known: dict[Value, Any] = {}

    def add(self, value: Value, ct: Any, is_masked: bool = False) -> None:
        """Add a part of the cotangent of a value; or set it, where a rule adds for itself."""
        ct = self.trace.fitted(ct, value.type)
        known = None if is_table(value.type) else self._known.get(value)
        self._known[value] = ct if known is None else known + ct
        if is_masked:
            self.masked.add(value)

    def take(self, value: Value) -> Any:
        """Return the whole cotangent of a value, None for zero."""
        return self._known.get(value)


def transpose(
    graph: Graph,
    is_linear: Sequence[bool],
    wanted: Sequence[bool] | None = None,
    is_masked: bool = False,
    started: Sequence[bool] | None = None,
) -> Transposed:
    """Return the transpose of a graph.

    Parameters
    ----------
    graph
        Linear in some inputs.
    is_linear
        In which.
    wanted
        For which results there are cotangents; all of them otherwise.
    is_masked
        Whether the cotangents may hold zeros that stand for "not asked for".
    started
        For which linear inputs the graph takes, behind all else, a cotangent to begin with: that
        of a table so far. Otherwise for none.
    """
    wanted = [True] * len(graph.outputs) if wanted is None else wanted
    with Derivation() as trace:
        values: dict[Value, Value] = {}
        for value, linear in zip(graph.inputs, is_linear, strict=True):
            if not linear:
                values[value] = trace.input(value.type)
        moving = {v for v, linear in zip(graph.inputs, is_linear, strict=True) if linear}
        backward: list[Operation] = []
        for op in graph.operations:
            if moving.isdisjoint(op.operands):
                trace.copy(op, values)
            else:
                backward.append(op)
                moving.update(op.results)
        cotangents = Cotangents(trace)
        for value, is_wanted in zip(graph.outputs, wanted, strict=True):
            if is_wanted:
                given = Tensor(trace, trace.input(value.type))
                if value in moving:
                    if is_table(value.type) and cotangents.take(value) is not None:
                        check_no_table(value.type, None)
                    cotangents.add(value, given, is_masked)
        for value, is_started in zip(graph.inputs, started or (), strict=False):
            if is_started:
                given = trace.input(value.type)
                assert cotangents.take(value) is None, "what is handed out begins with its own"
                cotangents.add(value, Tensor(trace, given), is_masked)
        for op in reversed(backward):
            pull(trace, op, values, moving, cotangents)
        asked = [v for v, linear in zip(graph.inputs, is_linear, strict=True) if linear]
        outputs = []
        for value in asked:
            found = cotangents.take(value)
            outputs.append((trace.zeros(value.type) if found is None else found)._value)
    back = Graph(trace.inputs, trace.operations, outputs)
    return Transposed(back, not cotangents.masked.isdisjoint(asked))


def pull(
    trace: Derivation,
    op: Operation,
    values: dict[Value, Value],
    moving: set[Value],
    cotangents: Cotangents,
) -> None:
    """Send the cotangents of an operation's results back to its operands."""
    found = [cotangents.take(value) for value in op.results]
    if all([ct is None for ct in found]):
        return
    trace.place = op.place
    trace.is_masked = not cotangents.masked.isdisjoint(op.results)
    operands = [
        Linear(value.type, cotangents.take(value) if is_table(value.type) else None)
        if value in moving
        else trace.tensor(values[value])
        for value in op.operands
    ]
    tables = [v for v in op.operands if v in moving and is_table(v.type)]
    is_known = bool(op.regions) or op.primitive in TABLES
    if len(set(tables)) != len(tables) or (tables and not is_known):
        check_no_table(tables[0].type, op.place)
    if op.regions:
        parts = op.primitive.of_regions.transposed(trace, op, operands, found)
    else:
        rule = trace.rule(op, "transposed")
        parts = rule(trace, found[0] if len(found) == 1 else found, *operands, **op.params)
        parts = parts if isinstance(parts, (tuple, list)) else (parts,)
    for value, operand, part in zip(op.operands, operands, parts, strict=True):
        if part is not None and type(operand) is Linear:
            cotangents.add(value, part, trace.is_masked)
