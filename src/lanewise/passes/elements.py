"""Elementwise work on large arrays, as maps over their elements.

NumPy goes through an array once for each operation, on one thread. What is done here puts
elementwise operations on arrays of one shape into a map over their elements, or over their leading
axes where an operand is repeated along those: ``np.exp(x) * w`` of a matrix and a row is a map over
rows. A map is what kernels and threads take. It is for graphs of one example, as passes/spread.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.types import ArrayType
from lanewise.ops.control import CONTROL
from lanewise.ops.creation import constant
from lanewise.ops.movement import broadcast_to, reshape, slice_, transpose
from lanewise.ops.regions import PARALLEL, example_type, map_

#: Arrays of fewer elements than this are left as they are.
FEWEST = 1 << 14
#: A map has at least so many examples.
_LEAST = 64
#: Operations on elements, beside ufuncs.
_ELEMENTWISE = {"where", "cast", "real", "imag", "complex", "exact"}

Shape = tuple[int, ...]


def over_elements(graph: Graph, fastmath: bool = False) -> Graph:
    """Return the graph with elementwise operations on large arrays as maps over elements."""
    split = _Split(graph)
    builder = Builder()
    values = {value: builder.input(value.type) for value in graph.inputs}
    with building(builder):
        for group in split.groups():
            if group.shape is not None:
                split.record(builder, values, group, fastmath)
                continue
            for op in group.members:
                if op.primitive in CONTROL:
                    regions = [over_elements(region, fastmath) for region in op.regions]
                    op = op.with_regions(tuple(regions))
                builder.copy(op, values)
    return builder.finish([values[value] for value in graph.outputs])


def is_large(op: Operation) -> bool:
    """Whether an operation is elementwise, and gives arrays that are worth a map of their own."""
    return (
        (op.primitive.ufunc is not None or op.primitive.name in _ELEMENTWISE)
        and not op.must_run
        and all(_is_known(value) for value in (*op.operands, *op.results))
        and math.prod(op.results[0].type.shape) >= FEWEST
        and math.prod(op.results[0].type.shape[: _leading(op)]) >= _LEAST
    )


def _is_known(value: Value) -> bool:
    type_ = value.type
    return isinstance(type_, ArrayType) and all(isinstance(n, int) for n in type_.shape)


def _leading(op: Operation) -> int:
    """Return along how many leading axes every operand has all elements, or but one for all."""
    shape: Shape = op.results[0].type.shape
    return min([_run(value.type.shape, shape) for value in op.operands], default=0)


def _run(given: Shape, shape: Shape) -> int:
    """Return along how many leading axes an operand of a result is all whole, or all repeated."""
    if math.prod(given) == 1 or given == shape:
        return len(shape)
    given = (1,) * (len(shape) - len(given)) + given
    whole = given[0] == shape[0]
    run = 0
    for n, size in zip(given, shape, strict=True):
        if (n == size) != whole or not (whole or n == 1):
            break
        run += 1
    return run


def _has_gaps(op: Operation) -> bool:
    """Whether an operation gives a view whose elements do not lie one behind the other.

    A map over its elements would copy it first. (Of a part of a row, or of some rows, no.)
    """
    if op.primitive is transpose:
        return True
    if op.primitive is not slice_ or not op.params["index"]:
        return False
    first, *rest = op.params["index"]
    return any([part is not None for part in rest]) or (first is not None and first[2] != 1)


@dataclass(frozen=True, slots=True)
class _Group:
    """Operations that become a map over the first axes of a shape; other ones, if it is None."""

    members: list[Operation]
    shape: Shape | None = None
    axes: int = 0


class _Split:
    """A graph on its way to having its elementwise operations in maps."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.makers = {value: op for op in graph.operations for value in op.results}
        self.is_large: dict[Operation, bool] = {}
        apart: set[Operation] = set()  # what reads views with gaps, or what is made of that
        for op in graph.operations:
            makers = [self.makers[value] for value in op.operands if value in self.makers]
            if any([_has_gaps(maker) or maker in apart for maker in makers]) and is_large(op):
                apart.add(op)
            self.is_large[op] = op not in apart and is_large(op)

    def groups(self) -> list[_Group]:
        """Return the operations in the order in which they are recorded."""
        stages: dict[Operation, int] = {}
        for op in self.graph.operations:
            least = 0
            for value in op.operands:
                maker = self.makers.get(value)
                if maker is None:
                    continue
                # A map reads whole arrays only of maps that come before it.
                apart = self.is_large[maker] and _shape(maker) != _shape(op)
                least = max(least, stages[maker] + apart)
            stages[op] = least + (least % 2 != self.is_large[op])
        found = []
        for stage in sorted(set(stages.values())):
            members = [op for op in self.graph.operations if stages[op] == stage]
            if not stage % 2:
                found.append(_Group(members))
                continue
            for shape in dict.fromkeys([_shape(op) for op in members]):
                same = [op for op in members if _shape(op) == shape]
                found.append(_Group(same, shape, min(map(_leading, same))))
        return found

    def record(
        self, builder: Builder, values: dict[Value, Value], group: _Group, fastmath: bool
    ) -> None:
        """Record a group as a map, and enter its results."""
        assert group.shape is not None
        shape, axes = group.shape, group.axes
        size = math.prod(shape[:axes])
        own = {value for op in group.members for value in op.results}
        inner = Builder()
        inside: dict[Value, Value] = {}
        taken: list[tuple[Value, int | None]] = []
        for op in group.members:
            for value in op.operands:
                if value in own or value in inside:
                    continue
                maker = self.makers.get(value)
                if maker is not None and maker.primitive is constant and value.type.nbytes <= 16:
                    inner.copy(maker, inside)
                    continue
                given, axis = self._operand(values, value, shape, axes, size)
                part = given.type if axis is None else example_type(given.type, 0)
                inside[value] = inner.input(part)
                taken.append((given, axis))
            inner.location = op._place
            operands = tuple([inside[value] for value in op.operands])
            results = inner.emit(op.primitive, operands, op.params)
            inside.update(zip(op.results, results, strict=True))
        members = set(group.members)
        needed = {v for op in self.graph.operations if op not in members for v in op.operands}
        needed.update(self.graph.outputs)
        given = [value for op in group.members for value in op.results if value in needed]
        region = inner.finish([inside[value] for value in given])
        builder.location = group.members[0]._place
        results = map_(
            *[value for value, _ in taken],
            regions=(region,),
            size=size,
            in_dims=tuple([axis for _, axis in taken]),
            out_mapped=(True,) * len(given),
            order=PARALLEL,
            fastmath=fastmath,
        )
        rows: Sequence[Any] = results if isinstance(results, tuple) else [results]
        for value, result in zip(given, rows, strict=True):
            values[value] = _shaped(result, value.type.shape)

    def _operand(
        self, values: dict[Value, Value], value: Value, shape: Shape, axes: int, size: int
    ) -> tuple[Value, int | None]:
        """Return an operand of a map, and the axis along which it is mapped."""
        maker = self.makers.get(value)
        if maker is not None and maker.primitive is broadcast_to:
            (source,) = maker.operands
            if _is_known(source) and math.prod(source.type.shape) == 1:
                value = source
        own = value.type.shape
        rest = (1,) * (len(shape) - len(own)) + own
        if own == shape or (math.prod(own) > 1 and rest[0] == shape[0]):
            return _shaped(values[value], (size, *rest[axes:])), 0
        return _shaped(values[value], rest[axes:] if math.prod(own) > 1 else ()), None


def _shape(op: Operation) -> Shape | None:
    return op.results[0].type.shape if op.results and _is_known(op.results[0]) else None


def _shaped(value: Value, shape: Shape) -> Value:
    return value if value.type.shape == shape else reshape(value, shape=shape)
