"""Recording again, outside of a trace, what was recorded in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.location import here
from lanewise.trace.trace import Concrete, Trace, resolve, state


def needed(
    operations: Sequence[Operation], values: Sequence[Value]
) -> tuple[list[Operation], set[Value]]:
    """Return the operations that values are computed by, and all values on the way."""
    wanted = set(values)
    found = []
    for op in reversed(operations):
        if not wanted.isdisjoint(op.results):
            found.append(op)
            wanted.update(op.operands)
    return found[::-1], wanted


def replayed(graph: Graph, trace: Trace, into: Trace) -> list[Value]:
    """Record the outputs of a graph again in the trace around its own, or carry it out.

    Parameters
    ----------
    graph
        Of the operations of `trace`; it depends on what that captured, and on nothing else.
    trace
        It has ended.
    into
        The trace that is recorded now, around it; or one that carries out (`trace/eager.py`).
    """
    ops, wanted = needed(graph.operations, graph.outputs)
    known: dict[Value, Value] = {}
    for source, value in trace.captures:
        if value in wanted:
            known[value] = (
                resolve(source[1], source[0]) if isinstance(source, tuple) else into.capture(source)
            )
    for op in ops:
        into.copy(op, known)
    return [known[value] for value in graph.outputs]


def constant_array(value: Value, trace: Trace) -> np.ndarray:
    """Return the array that a value of a trace always is.

    Raises
    ------
    ValueError
        If it depends on the arguments of the traced function, or on effects.
    """
    if isinstance(value, Concrete):
        return value.array
    ambient = state.ambient()
    ops, wanted = needed(trace.operations, [value])
    for op in ops:
        if op.has_effect:
            raise UnsupportedError(
                f"the first value of a Variable comes from host code{at(op.place)}, which is not "
                "called while a function is traced. Make it of constants, and assign it"
            )
    sources = {inner: source for source, inner in trace.captures}
    known: dict[Value, Value] = {}
    for inner in trace.inputs:
        if inner not in wanted:
            continue
        source: Any = sources.get(inner)
        if source is None:
            raise ValueError(
                f"the first value of a Variable depends on the arguments{at(here())}, but a "
                "Variable is made once, while the function is traced. Make it of constants, and "
                "assign it"
            )
        if isinstance(source, tuple):
            source = constant_array(source[1], source[0])
        known[inner] = ambient.capture(source)
    for op in ops:
        ambient.copy(op, known)
    return known[value].array  # ty: ignore[missing-attribute]
