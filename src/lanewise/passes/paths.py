"""Chains of views as one operation: what kernels are written of, so that they copy nothing.

``a[1:-1, j] = v`` is recorded as a slice of a, that with another column, and the slice put back:
two whole arrays are made to write a column. Where such a chain ends it becomes `update_view`, which
writes to the array itself. And masks of the places before or behind a number, as those of ``a[:n]``
with an n that is data, become ends: loops over what they let through run between them.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from lanewise.ir.dims import Dim
from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.creation import iota, literal
from lanewise.ops.elementwise import where
from lanewise.ops.facts import USUAL
from lanewise.ops.movement import reshape, transpose, update_slice
from lanewise.ops.paths import Path, Step, between, update_view
from lanewise.passes.numbers import INT, integer
from lanewise.passes.simplify import eliminate_dead

#: Views of views of views are followed for so many steps, so that long chains take no longer.
MOST_STEPS = 8
#: An array, and how to get from it to a view: steps, and the integers that they take.
View = tuple[Value, Path, tuple[Value, ...]]
#: Records another form of an operation on what its operands have become; None where it has none.
Recorder: TypeAlias = Callable[[Operation, Mapping[Value, Value]], Value | None]


@dataclass(frozen=True, slots=True)
class Ends:
    """Between which numbers the places of an axis lie that a mask lets through; None: no end."""

    axis: int
    size: int
    low: Value | None = None
    high: Value | None = None

    def recorded(self, values: Mapping[Value, Value]) -> tuple[Value, Value]:
        """Record the two numbers."""
        low = integer(0) if self.low is None else values[self.low]
        return low, integer(self.size) if self.high is None else values[self.high]


@dataclass(frozen=True, slots=True)
class _Written:
    """An array that is another one, `base`, but for a view into which values were written."""

    base: Value
    values: Value
    path: Path = ()
    integers: tuple[Value, ...] = ()
    ends: Ends | None = None


def has_writes(graph: Graph) -> bool:
    """Whether anything is written to, or chosen from, in a graph: else it has no such chains."""
    return any(op.primitive.takes is not None or op.primitive is where for op in graph.walk())


def direct(graph: Graph, most: int, least: int = 1) -> Graph:
    """Return the graph with chains of views that are written to as one operation each.

    Arrays of at most so many elements, and chains of fewer steps, are left as they are.
    """
    return _rewritten(graph, most, lambda graph: _Chains(graph, least).recorded)


def bounded(graph: Graph, most: int) -> Graph:
    """Return the graph with choices between arrays and a number by masks that are ends as such.

    Arrays of at most so many elements are left as they are.
    """
    return _rewritten(graph, most, _bounds_of)


class _Itself(dict[Value, Value]):
    """Values by what they were."""

    def __missing__(self, value: Value) -> Value:
        return value


def _rewritten(graph: Graph, most: int, recorder: Callable[[Graph], Recorder]) -> Graph:
    """Return the graph with large arrays as a recorder for it records them, where it does."""
    recorded, same, builder = recorder(graph), _Itself(), Builder()
    values = itertools.chain(graph.inputs, *[op.results for op in graph.operations])
    builder.count = 1 + max([value.index for value in values], default=-1)
    for op in graph.operations:
        now, found = op.map_regions(lambda region: _rewritten(region, most, recorder)), None
        # What is written may be of an unknown size: then it is not kept in registers either.
        if len(op.results) == 1 and max(map(_count, (*op.operands, *op.results))) > most:
            builder.location = op.place
            with building(builder):
                found = recorded(now, same)
        if found is not None:  # by the last operation that was recorded
            made = builder.operations.pop()
            assert made.results == (found,)
            now = made.with_operands(made.operands, results=op.results)
        builder.operations.append(now)
    if all(map(operator.is_, builder.operations, graph.operations)):
        return graph
    return eliminate_dead(Graph(graph.inputs, builder.operations, graph.outputs))


def _count(value: Value) -> int:
    """Return how many elements an array has, 0 of what is none; what is not known counts as many.

    So a chain does not depend on it.
    """
    if not isinstance(value.type, ArrayType):
        return 0
    return math.prod([d if isinstance(d, int) else USUAL for d in value.type.shape])


class Masks:
    """Which masks of a graph let through what lies between two numbers."""

    def __init__(self, graph: Graph) -> None:
        self._makers = graph.makers
        self._known: dict[Value, Ends] = {}
        for op in graph.operations:
            found = self._ends(op)
            if found is not None:
                self._known[op.results[0]] = found

    def on(self, mask: Value, value: Value) -> Ends | None:
        """Return what a mask lets through of a value, if it says that for one of its axes."""
        known = self._known.get(mask)
        if known is None:
            return None
        axis = known.axis + value.type.ndim - mask.type.ndim
        size = value.type.shape[axis] if axis >= 0 else None
        is_whole = isinstance(size, int) and size == known.size > 1
        return replace(known, axis=axis) if is_whole else None

    def between(self, axis: int, size: int, low: Value, high: Value) -> Ends:
        """Return the ends of an axis that two numbers are."""
        is_low = _is_integer(self._makers.get(low), 0)
        is_high = _is_integer(self._makers.get(high), size)
        return Ends(axis, size, None if is_low else low, None if is_high else high)

    def _ends(self, op: Operation) -> Ends | None:
        ufunc = op.primitive.ufunc
        if ufunc is np.logical_and:
            a, b = (self._known.get(value) for value in op.operands)
            if a is None or b is None or (a.axis, a.size) != (b.axis, b.size):
                return None
            if (a.low and b.low) or (a.high and b.high):
                return None
            return replace(a, low=a.low or b.low, high=a.high or b.high)
        if ufunc not in (np.less, np.greater_equal):
            return None
        places, end = op.operands
        made = self._makers.get(places)
        is_end = made is not None and made.primitive is iota and not end.type.shape
        if not is_end or (places.type.dtype, end.type.dtype) != (np.int64, np.int64):
            return None
        (size,) = places.type.shape
        if not isinstance(size, int):
            return None
        return Ends(0, size, None, end) if ufunc is np.less else Ends(0, size, end)


def _is_integer(made: Operation | None, value: int) -> bool:
    """Whether an operation gives a certain integer of 64 bits."""
    found = literal(made)
    return found is not None and found.dtype == INT and not found.ndim and found == value


def _bounds_of(graph: Graph) -> Recorder:
    """Return what records choices that take what lies between two numbers."""
    masks = Masks(graph)

    def recorded(op: Operation, values: Mapping[Value, Value]) -> Value | None:
        if op.primitive is not where:
            return None
        condition, x, fill = op.operands
        ends, type_ = masks.on(condition, op.results[0]), op.results[0].type
        if ends is None or x.type is not type_ or fill.type is not array_type(type_.dtype, ()):
            return None
        return between(values[x], *ends.recorded(values), values[fill], axis=ends.axis)

    return recorded


class _Chains:
    """What the operations of a graph write, seen from the array at the beginning of each chain.

    Chains of fewer steps than `least` stay as they are.
    """

    def __init__(self, graph: Graph, least: int) -> None:
        self.least = least
        self.makers = graph.makers
        self.masks = Masks(graph)
        self.written: dict[Value, _Written] = {}
        for op in graph.operations:
            if len(op.results) == 1 and _count(op.results[0]):
                written = self._written(op)
                if written is not None:
                    self.written[op.results[0]] = written

    def recorded(self, op: Operation, values: Mapping[Value, Value]) -> Value | None:
        """Record what an operation writes as one; None where it stays as it is."""
        written = self.written.get(op.results[0])
        if written is None or len(written.path) < self.least:
            return None
        ends = written.ends
        numbers, span = ((), None) if ends is None else (ends.recorded(values), ends.axis)
        integers = [values[v] for v in written.integers]
        base, given = values[written.base], values[written.values]
        return update_view(base, given, *numbers, *integers, path=written.path, span=span)

    def _written(self, op: Operation) -> _Written | None:
        """Return what an operation writes, if it does."""
        name, result = op.primitive, op.results[0]
        if name is where:
            condition, values, base = op.operands
            ends = self.masks.on(condition, result)
            if ends is None or not base.type is values.type is result.type:
                return None
            return _Written(base, values, ends=ends)
        if name is reshape or name is transpose:
            inner = self.written.get(op.operands[0])
            made = None if inner is None else self.makers.get(inner.base)
            if inner is None or made is None or made.primitive is not name:
                return None
            (base,) = made.operands
            if base.type is not result.type or not _is_undone(made, op):
                return None
            return self._around(inner, base, _step(made))
        if name.takes is None or op.params.get("fn") is not None:
            return None
        base, values, *places = op.operands
        if any([place.type.shape for place in places]) or not (places or name is update_slice):
            return None
        inner = self.written.get(values)
        made = None if inner is None else self.makers.get(inner.base)
        params = {key: value for key, value in op.params.items() if key != "fn"}
        if (
            inner is not None
            and made is not None
            and made.primitive is name.takes
            and made.params == params
            and made.operands == (base, *places)
        ):
            return self._around(inner, base, _step(made), places)
        step = name.takes.step(params, len(places))
        return _Written(base, values, (step,), tuple(places))

    @staticmethod
    def _around(inner: _Written, base: Value, step: Step, places: Sequence[Value] = ()) -> _Written:
        """Return what is written to a view as seen from what it is a view of."""
        return replace(
            inner, base=base, path=(step, *inner.path), integers=(*places, *inner.integers)
        )


def view_through(op: Operation, views: Mapping[Value, View]) -> View | None:
    """Return the view that an operation gives, where others are known: None where it gives none."""
    is_view = op.primitive.step is not None and (op.primitive is not reshape or is_by_ones(op))
    if not is_view or any([value.type.shape for value in op.operands[1:]]):
        return None
    base, path, integers = views.get(op.operands[0], (op.operands[0], (), ()))
    if len(path) >= MOST_STEPS:
        base, path, integers = op.operands[0], (), ()
    return base, (*path, _step(op)), (*integers, *op.operands[1:])


def target_of(op: Operation) -> tuple[Path, tuple[Value, ...]] | None:
    """Return where an operation writes all of a view."""
    if op.primitive is not update_view or op.params["span"] is not None:
        return None
    return op.params["path"], op.operands[2:]


def is_by_ones(op: Operation) -> bool:
    """Whether a reshape adds and drops axes of size 1 alone, as far as sizes are known."""
    old, new = [
        [size for size in value.type.shape if isinstance(size, Dim) or size != 1]
        for value in (op.operands[0], op.results[0])
    ]
    return old == new


def _step(made: Operation) -> Step:
    return made.primitive.step(made.params, len(made.operands) - 1)


def _is_undone(taken: Operation, back: Operation) -> bool:
    """Whether one reshape or transpose undoes another; of reshapes only those by axes of size 1."""
    if taken.primitive is reshape:
        return is_by_ones(taken)
    axes = taken.params["axes"]
    return all(axes[axis] == place for place, axis in enumerate(back.params["axes"]))
