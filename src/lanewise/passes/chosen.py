"""Writes to one of several arrays: to each of them, under the condition that it is that one.

After ``if c: a, b = b, a`` both names stand for ``where(c, ...)`` of both arrays. What is written
to a chosen array is recorded as a write to that choice, and as a choice, for each of the arrays,
between what came of it and the array as it was: in a loop whole arrays would be copied in each turn
for one element. Here the element is chosen, whether it is the new one, and written to each array;
and of a choice that is read the elements are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from lanewise.ir.dims import Dim
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.control import BRANCHES, LOOPS
from lanewise.ops.elementwise import where
from lanewise.ops.movement import broadcast_to

#: Conditions are compared by their values for those of as many others, of which they are made.
_MOST_ATOMS = 10
#: So deep choices of choices are looked into.
_DEEPEST = 4


def write_chosen(graph: Graph) -> Graph:
    """Return the graph with writes to chosen arrays under the condition of the choice."""
    if not any([op.primitive is where for op in graph.walk()]):
        return graph
    return _Choices(graph, {}, {}).graph


class _Choices:
    """What is known of choices between arrays in a graph, and in those around it."""

    def __init__(
        self, graph: Graph, makers: dict[Value, Operation], outer: dict[Value, Value]
    ) -> None:
        self._makers, self._outer = makers, outer
        self.graph = graph.rewritten(self._rule)

    def _rule(self, op: Operation, values: dict[Value, Value]) -> list[Value] | Operation | None:
        """Return what stands for an operation; see `Graph.rewritten`."""
        for result in op.results:
            self._makers[result] = op
        if op.regions:
            return op.with_regions(tuple([self._region(op, region) for region in op.regions]))
        if op.primitive.step is not None and self._is_part(op.results[0], op.operands[0]):
            if self._choice(op.operands[0]) is None:
                return None
            return [self._read(op, op.operands[0], values, _DEEPEST)]
        if op.primitive is where and op.results[0].type.shape:
            return self._write(op, values)
        return None

    def _region(self, op: Operation, region: Graph) -> Graph:
        """Return a region of an operation; what it captures is what it is outside."""
        if op.primitive in BRANCHES:
            captured = zip(region.inputs, op.operands[1:], strict=True)
        elif op.primitive in LOOPS:
            first = op.params["captures"]
            captured = zip(region.inputs[:first], op.operands[:first], strict=True)
        else:
            captured = zip((), (), strict=True)
        return _Choices(region, self._makers, {**self._outer, **dict(captured)}).graph

    # --- choices

    def _choice(self, value: Value) -> tuple[Value, Value, Value] | None:
        """Return the condition of a choice between two whole arrays, and these."""
        op = self._makers.get(value)
        if op is None or op.primitive is not where:
            return None
        condition, *parts = op.operands
        if any([part.type.shape != value.type.shape for part in parts]):
            return None
        if any([part.type.dtype != value.type.dtype for part in parts]):
            return None
        truth = self._one_for_all(condition)
        return None if truth is None else (truth, parts[0], parts[1])

    def _one_for_all(self, condition: Value) -> Value | None:
        """Return the truth value that a condition holds for all elements."""
        op = self._makers.get(condition)
        if op is not None and op.primitive is broadcast_to:
            condition = op.operands[0]
        return None if condition.type.shape else condition

    def _under(self, value: Value, condition: Value, truth: bool) -> Value:
        """Return which array it is where a condition is true, or false."""
        for _ in range(_DEEPEST):
            choice = self._choice(value)
            decided = None if choice is None else self._decides(condition, truth, choice[0])
            if choice is None or decided is None:
                return value
            value = choice[1] if decided else choice[2]
        return value

    # --- reading and writing

    def _is_part(self, part: Value, whole: Value) -> bool:
        """Whether it costs less to deal with a part than with the array that it is of."""
        sizes = [*part.type.shape, *whole.type.shape]
        if any([isinstance(size, Dim) for size in sizes]):
            return part.type.shape != whole.type.shape and not part.type.shape
        return 2 * math.prod(part.type.shape) <= math.prod(whole.type.shape)

    def _read(self, op: Operation, source: Value, values: dict[Value, Value], most: int) -> Value:
        """Return what an operation reads, of each array of a choice."""
        choice = self._choice(source) if most else None
        if choice is None:
            rest = [values[value] for value in op.operands[1:]]
            return op.primitive(values[source], *rest, **op.params)
        condition, *parts = choice
        first, second = [self._read(op, part, values, most - 1) for part in parts]
        return _chosen(values[condition], first, second)

    def _write(self, op: Operation, values: dict[Value, Value]) -> list[Value] | None:
        """Return an array with what is written where a condition is so; None for another choice."""
        choice = self._choice(op.results[0])
        if choice is None:
            return None
        parts = op.operands[1:]
        for truth, written, other in ((True, *parts), (False, *reversed(parts))):
            writes = list(self._writes(written, other, choice[0], truth))
            if not writes:
                continue
            result = values[other]
            for each in reversed(writes):
                _, part, *places = [values[value] for value in each.operands]
                read = each.primitive.takes
                options = {k: v for k, v in each.params.items() if k != "fn"}
                before = read(result, *places, **options)
                pair = (part, before) if truth else (before, part)
                part = _chosen(values[choice[0]], *pair)
                result = each.primitive(result, part, *places, **each.params)
            return [result]
        return None

    def _writes(
        self, written: Value, other: Value, condition: Value, truth: bool
    ) -> Iterator[Operation]:
        """Yield the writes that make an array of another where a condition is true, or false.

        The last one comes first. There are none if it is not made so.
        """
        found = []
        wanted = self._under(other, condition, truth)
        while True:
            op = self._makers.get(written)
            if op is None or op.primitive.takes is None or op.params.get("fn") is not None:
                return
            target, part, *_ = op.operands
            if part.type.dtype != target.type.dtype or not self._is_part(part, target):
                return
            found.append(op)
            written = target
            if self._under(target, condition, truth) is wanted:
                yield from found
                return

    # --- conditions

    def _decides(self, condition: Value, truth: bool, asked: Value) -> bool | None:
        """Return what another condition is where one is true, or false; None if that is open."""
        atoms = self._atoms([condition, asked])
        if len(atoms) > _MOST_ATOMS:
            return None
        table = np.indices((2,) * len(atoms)).reshape(len(atoms), -1).astype(bool)
        known = dict(zip(atoms, table, strict=True))
        is_so = self._values(condition, known) == truth
        found = self._values(asked, known)[is_so]
        if found.all():
            return True
        return None if found.any() else False

    def _made_of(self, value: Value) -> tuple[Value, Operation | None]:
        """Return a truth value as it is outside of regions, and the connective that makes it."""
        while value in self._outer:
            value = self._outer[value]
        op = self._makers.get(value)
        return value, op if op is not None and op.primitive.ufunc in _CONNECTIVES else None

    def _atoms(self, conditions: list[Value]) -> list[Value]:
        """Return what conditions are made of, or more than `_MOST_ATOMS` of these."""
        atoms, seen, todo = dict[Value, None](), set[Value](), list(conditions)
        while todo and len(atoms) <= _MOST_ATOMS:
            value, op = self._made_of(todo.pop())
            if value in seen:
                continue
            seen.add(value)
            if op is None:
                atoms[value] = None
            else:
                todo += op.operands
        return list(atoms)

    def _values(self, value: Value, known: dict[Value, np.ndarray]) -> np.ndarray:
        """Return a condition for all values of what it is made of, which is noted."""
        value, op = self._made_of(value)
        if value not in known:
            assert op is not None
            operands = [self._values(operand, known) for operand in op.operands]
            known[value] = op.primitive.ufunc(*operands)
        return known[value]


_CONNECTIVES = (np.logical_and, np.logical_or, np.logical_not, np.logical_xor)


def _chosen(condition: Value, first: Value, second: Value) -> Value:
    """Return one of two arrays, by one truth value."""
    shape = first.type.shape
    return where(broadcast_to(condition, shape=shape) if shape else condition, first, second)
