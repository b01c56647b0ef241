"""Loop interchange: a loop of which each iteration is one map becomes a map of loops.

``for i in range(n): x = x + dt * f(x)`` of a large array goes through memory once for each
iteration, in kernels that wait for each other. If each element (or row) of what an iteration leaves
is made of the same element of what it was given, the elements need each other nowhere: each runs
all iterations by itself, in registers, and threads share the elements out.

Beside the map the body may compute numbers, which all elements then compute for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanewise.ir.dims import Shape, product
from lanewise.ir.graph import Graph, Operation, Value, current_builder, recorded
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.control import CONTROL, carry_of, scan
from lanewise.ops.movement import reshape
from lanewise.ops.regions import PARALLEL, example_type, map_
from lanewise.passes.edges import shaped
from lanewise.passes.lanes import record_map
from lanewise.passes.simplify import eliminate_dead


def interchanged(graph: Graph) -> Graph:
    """Return the graph with each loop whose body is one map as a map of loops."""

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | Operation | None:
        if op.primitive not in CONTROL:
            return None
        op = op.map_regions(interchanged)  # so that a nest of loops becomes a map, too
        nest = _Nest.of(op) if op.primitive is scan else None
        return op if nest is None else nest.recorded([values[v] for v in op.operands])

    return graph.rewritten(rule)


def _is_number(value: Value) -> bool:
    return isinstance(value.type, ArrayType) and product(value.type.shape) == 1


@dataclass(frozen=True, slots=True)
class _Nest:
    """A loop around a map.

    Attributes
    ----------
    op, map, numbers
        The loop, the map, and the operations beside that, which compute numbers of numbers.
    sources
        What inputs of the body arrays are, seen through reshapes.
    taken
        By the positions of the body's inputs (and of the outputs, which follow the captures too),
        the shapes of the arrays that the map goes through, its own axis first. The others are
        numbers, and what each element reads whole.
    given
        Which outputs the map gives, and as which results.
    """

    op: Operation
    map: Operation
    numbers: list[Operation]
    sources: dict[Value, int]
    taken: dict[int, Shape]
    given: dict[int, int]

    @staticmethod
    def of(op: Operation) -> _Nest | None:
        """Return what a loop is made of, if its elements need each other nowhere."""
        (body,) = op.regions
        maps = [inner for inner in body.operations if inner.primitive is map_]
        is_one = len(maps) == 1 and maps[0].params["order"] == PARALLEL
        if not is_one or len(body.outputs) != op.params["carry"]:
            return None
        (inner,) = maps
        if not all(inner.params["out_mapped"]) or inner.must_run:
            return None
        nest = _Nest(op, inner, [], {value: i for i, value in enumerate(body.inputs)}, {}, {})
        sources, taken = nest.sources, nest.taken
        results = {value: i for i, value in enumerate(inner.results)}
        for each in body.operations:
            if each is inner:
                continue
            if each.primitive is reshape and each.operands[0] in sources:
                sources[each.results[0]] = sources[each.operands[0]]
            elif each.primitive is reshape and each.operands[0] in results:
                results[each.results[0]] = results[each.operands[0]]
            elif (
                not (each.must_run or each.regions)
                and all(map(_is_number, (*each.operands, *each.results)))
                and results.keys().isdisjoint(each.operands)
            ):
                nest.numbers.append(each)
            else:
                return None
        for value, axis in zip(inner.operands, inner.params["in_dims"], strict=True):
            shape = value.type.shape
            if axis is None:
                continue
            if axis or value not in sources or taken.setdefault(sources[value], shape) != shape:
                return None
        for position, value in enumerate(body.outputs, op.params["captures"]):
            if value in results:
                nest.given[position] = results[value]
                shape = inner.results[results[value]].type.shape
                if taken.setdefault(position, shape) != shape:
                    return None
        return nest if nest.given and nest._is_apart() else None

    def _is_apart(self) -> bool:
        """Whether each element is read by its own element of the map, and by no other."""
        (body,) = self.op.regions
        whole = [
            value
            for value, axis in zip(self.map.operands, self.map.params["in_dims"], strict=True)
            if axis is None
        ]
        whole += [value for number in self.numbers for value in number.operands]
        whole += [value for value in body.outputs if value in self.sources]
        if any([self.sources.get(value) in self.taken for value in whole]):
            return False
        carry = carry_of(self.op)
        is_left = all([i in self.given for i in self.taken if carry.start <= i < carry.stop])
        # Another array in each iteration is copied for no element.
        others = [v for i, v in enumerate(body.inputs) if i >= carry.start and i not in self.taken]
        return is_left and all(map(_is_number, others))

    def recorded(self, operands: Sequence[Value]) -> list[Value]:
        """Record the map of loops on what the operands have become; return what the loop gives."""
        op, carry, length = self.op, carry_of(self.op), self.op.params["length"]
        taken: list[tuple[Value, int | None]] = []
        for position, value in enumerate(operands):
            rows, axis = self.taken.get(position), None
            if rows is not None:
                axis = int(position >= carry.stop)
                value = shaped(value, (length, *rows) if axis else rows)
            taken.append((value, axis))
        positions = sorted(self.given)

        def loop(*inputs: Value) -> list[Value]:
            found = current_builder().emit(scan, inputs, op.params, (self._body(),))
            return [found[position - carry.start] for position in positions]

        region = recorded([example_type(x.type, axis) for x, axis in taken], loop, op.place)
        params = {**self.map.params, "columns": (), "out_mapped": (True,) * len(positions)}
        results = dict(zip(positions, record_map(region, taken, **params), strict=True))
        others = [i for i in range(carry.start, carry.stop) if i not in results]
        if others:  # of the loop only what these numbers need is left
            wanted = [op.results[i - carry.start] for i in others]
            alone = eliminate_dead(Graph(tuple(dict.fromkeys(op.operands)), [op], wanted))
            given = dict(zip(op.operands, operands, strict=True))
            found = current_builder().inline(alone, [given[value] for value in alone.inputs])
            results.update(zip(others, found, strict=True))
        return [
            shaped(results[position], value.type.shape)
            for position, value in enumerate(op.regions[0].outputs, carry.start)
        ]

    def _body(self) -> Graph:
        """Return what an iteration does with one element."""
        (body,) = self.op.regions

        def rule(*inputs: Value) -> list[Value]:
            inner, values = current_builder(), dict(zip(body.inputs, inputs, strict=True))
            for value, source in self.sources.items():
                given = inputs[source]
                values[value] = given if source in self.taken else shaped(given, value.type.shape)
            for op in self.numbers:
                inner.copy(op, values)
            made = inner.inline(self.map.regions[0], [values[v] for v in self.map.operands])
            return [
                made[self.given[position]] if position in self.given else values[value]
                for position, value in enumerate(body.outputs, carry_of(self.op).start)
            ]

        rows = [self.taken.get(position) for position in range(len(body.inputs))]
        types = [
            value.type if shape is None else array_type(value.type.dtype, shape[1:])
            for value, shape in zip(body.inputs, rows, strict=True)
        ]
        return recorded(types, rule)
