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

from lanewise.ir.dims import DimLike, Shape, product
from lanewise.ir.graph import Builder, Graph, Operation, Value, building, current_builder
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.control import CONTROL, scan
from lanewise.ops.movement import reshape
from lanewise.ops.regions import PARALLEL, example_type, map_
from lanewise.passes.edges import shaped
from lanewise.passes.simplify import eliminate_dead


def interchanged(graph: Graph) -> Graph:
    """Return the graph with each loop whose body is one map as a map of loops."""

    def rule(op: Operation, values: dict[Value, Value]) -> Sequence[Value] | Operation | None:
        if op.primitive not in CONTROL:
            return None
        op = op.map_regions(interchanged)  # so that a nest of loops becomes a map, too
        nest = _nest(op) if op.primitive is scan else None
        return op if nest is None else _recorded(op, nest, [values[v] for v in op.operands])

    return graph.rewritten(rule)


@dataclass(frozen=True, slots=True)
class _Nest:
    """A loop around a map.

    ``rows`` are, by the positions of the body's inputs and outputs, the shapes of the arrays that
    the map goes through with its own axis first; the others are numbers, and what each element
    reads whole.
    """

    map: Operation
    numbers: tuple[Operation, ...]
    taken: dict[int, Shape]
    given: dict[int, int]
    sources: dict[Value, int]

    @property
    def size(self) -> DimLike:
        """How many elements the map has."""
        return self.map.params["size"]


def _nest(op: Operation) -> _Nest | None:
    """Return what a loop is made of, if its elements need each other nowhere."""
    (body,) = op.regions
    carry, first = op.params["carry"], op.params["captures"]
    maps = [inner for inner in body.operations if inner.primitive is map_]
    if len(maps) != 1 or maps[0].params["order"] != PARALLEL or len(body.outputs) != carry:
        return None
    (inner,) = maps
    if not all(inner.params["out_mapped"]) or inner.must_run:
        return None
    #: What an array is, seen through reshapes: an input of the body, or a result of the map.
    sources: dict[Value, int] = {value: i for i, value in enumerate(body.inputs)}
    results: dict[Value, int] = {}
    numbers: list[Operation] = []
    for each in body.operations:
        if each is inner:
            results.update({value: i for i, value in enumerate(each.results)})
        elif each.primitive is reshape and each.operands[0] in sources:
            sources[each.results[0]] = sources[each.operands[0]]
        elif each.primitive is reshape and each.operands[0] in results:
            results[each.results[0]] = results[each.operands[0]]
        elif _is_of_numbers(each) and results.keys().isdisjoint(each.operands):
            numbers.append(each)
        else:
            return None
    taken: dict[int, Shape] = {}
    for value, axis in zip(inner.operands, inner.params["in_dims"], strict=True):
        if axis is None:
            continue
        if axis or value not in sources:
            return None
        shape = value.type.shape
        if taken.setdefault(sources[value], shape) != shape:
            return None
    given: dict[int, int] = {}
    for position, value in enumerate(body.outputs, first):
        if value not in results:
            continue
        given[position] = results[value]
        shape = inner.results[results[value]].type.shape
        if taken.setdefault(position, shape) != shape:
            return None
    nest = _Nest(inner, tuple(numbers), taken, given, sources)
    return nest if given and _is_apart(op, nest) else None


def _is_of_numbers(op: Operation) -> bool:
    """Whether an operation computes numbers of numbers, and nothing else."""
    return not (op.must_run or op.regions) and all(
        [
            isinstance(value.type, ArrayType) and product(value.type.shape) == 1
            for value in (*op.operands, *op.results)
        ]
    )


def _is_apart(op: Operation, nest: _Nest) -> bool:
    """Whether each element of the arrays is read by its own element of the map, and by no other."""
    (body,) = op.regions
    first, carry = op.params["captures"], op.params["carry"]

    def is_row(value: Value) -> bool:
        return nest.sources.get(value) in nest.taken

    whole = [
        value
        for value, axis in zip(nest.map.operands, nest.map.params["in_dims"], strict=True)
        if axis is None
    ]
    whole += [value for number in nest.numbers for value in number.operands]
    whole += [value for value in body.outputs if value in nest.sources]
    if any(map(is_row, whole)):
        return False
    for position, value in enumerate(body.inputs[first:], first):
        is_array = not isinstance(value.type, ArrayType) or product(value.type.shape) != 1
        is_carried = position < first + carry
        if position in nest.taken:
            if is_carried and position not in nest.given:
                return False
        elif is_array:  # another one in each iteration: nobody should make copies of it
            return False
    return True


def _recorded(op: Operation, nest: _Nest, operands: Sequence[Value]) -> list[Value]:
    """Record the map of loops on what the operands have become; return what the loop gives."""
    (body,) = op.regions
    first, carry, length = op.params["captures"], op.params["carry"], op.params["length"]
    xs = first + carry
    entries, axes = [], []
    for position, value in enumerate(operands):
        rows = nest.taken.get(position)
        is_slices = position >= xs
        if rows is not None:
            value = shaped(value, (length, *rows) if is_slices else rows)
        entries.append(value)
        axes.append(None if rows is None else int(is_slices))
    outer = Builder()
    rows_in = [
        outer.input(example_type(value.type, axis))
        for value, axis in zip(entries, axes, strict=True)
    ]
    outer.location = op._place
    loop = outer.emit(scan, tuple(rows_in), op.params, (_body(body, nest, first),))
    positions = sorted(nest.given)
    region = outer.finish([loop[position - first] for position in positions])
    params = {**nest.map.params, "in_dims": tuple(axes), "columns": ()}
    params["out_mapped"] = (True,) * len(positions)
    found = map_(*entries, regions=(region,), **params)
    found = found if isinstance(found, tuple) else (found,)
    results: dict[int, Value] = {
        position: shaped(value, body.outputs[position - first].type.shape)
        for position, value in zip(positions, found, strict=True)
    }
    others = [i for i in range(first, xs) if i not in results]
    if others:  # of the loop only what these numbers need is left
        wanted = [op.results[i - first] for i in others]
        alone = eliminate_dead(Graph(tuple(dict.fromkeys(op.operands)), [op], wanted))
        given = dict(zip(op.operands, operands, strict=True))
        found = current_builder().inline(alone, [given[value] for value in alone.inputs])
        results.update(zip(others, found, strict=True))
    return [results[position] for position in range(first, xs)]


def _body(body: Graph, nest: _Nest, first: int) -> Graph:
    """Return what an iteration does with one element."""
    inner = Builder()
    values: dict[Value, Value] = {}
    for position, value in enumerate(body.inputs):
        rows = nest.taken.get(position)
        type_ = value.type if rows is None else array_type(value.type.dtype, rows[1:])
        values[value] = inner.input(type_)
    with building(inner):
        for op in nest.numbers:
            inner.copy(op, values)
        arguments = []
        for value in nest.map.operands:
            source = nest.sources.get(value)
            if value not in values and source is not None:
                given = values[body.inputs[source]]
                is_row = source in nest.taken
                values[value] = given if is_row else shaped(given, value.type.shape)
            arguments.append(values[body.inputs[source]] if source in nest.taken else values[value])
        made = inner.inline(nest.map.regions[0], arguments)
        outputs = []
        for position, value in enumerate(body.outputs, first):
            outputs.append(made[nest.given[position]] if position in nest.given else values[value])
    return inner.finish(outputs)
