"""Tangents of a graph, and its split into a part that computes and a part that is linear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.facts import is_made_anew
from lanewise.ops.lists import list_arena, list_length
from lanewise.ops.tables import list_tangents
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.transforms.derivation import Derivation, check_no_table, is_differentiable, is_table


@dataclass(frozen=True, slots=True)
class Jvp:
    """A graph with tangents: of the inputs of `graph`, then the tangents of those that have one.

    Attributes
    ----------
    graph
        Gives the results, then the tangents of those that have one.
    moved
        For each result, whether it has a tangent.
    """

    graph: Graph
    moved: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Linearized:
    """A graph in two parts.

    Attributes
    ----------
    primal
        Takes the inputs; gives the results, then the residuals that are no inputs.
    linear
        Takes the residuals, then tangents; gives the tangents of the results that have one.
    sources
        For each residual the number of the input that it is, or None.
    moved
        For each result, whether it has a tangent.
    """

    primal: Graph
    linear: Graph
    sources: tuple[int | None, ...]
    moved: tuple[bool, ...]


def moves(graph: Graph, active: Sequence[bool]) -> list[bool]:
    """Return for each result whether it may have a tangent."""
    moving = {value for value, is_active in zip(graph.inputs, active, strict=True) if is_active}
    for op in graph.operations:
        given = [value in moving for value in op.operands]
        if any(given):
            if op.regions:
                found = op.primitive.of_regions.moves(op, given)
            else:
                found = [has_tangent(op, value) for value in op.results]
            moving.update(v for v, is_moved in zip(op.results, found, strict=True) if is_moved)
    return [value in moving for value in graph.outputs]


def has_tangent(op: Operation, result: Value) -> bool:
    """Whether a result of an operation on what has tangents has one: floats, and lists of floats.

    The tangent of a list is a table of its elements' tangents.
    """
    if op.primitive.tangent_of_last:
        value = op.operands[-1].type
        return is_differentiable(value) or is_table(value)  # only tables of floats move
    return is_differentiable(result.type)


def jvp(
    graph: Graph, active: Sequence[bool], wanted: Sequence[bool] | None = None, split: bool = False
) -> Jvp:
    """Return a graph with tangents.

    Parameters
    ----------
    graph
        What to differentiate. Results of its operations may be among its inputs too, where they are
        known already; they are not computed again. One that is active moves of itself, and with
        what it was computed from.
    active
        Which inputs have a tangent.
    wanted
        Which results get one, zero though it be; otherwise those that have one get it.
    split
        Whether operations with regions become two, of which one is linear in the tangents.
    """
    with Derivation() as trace:
        if not trace.order:
            trace.order = 1 + _order(graph)
            trace.take_names(_last_name(graph))
        inputs = trace.tensors([value.type for value in graph.inputs])
        moving = [v for v, is_active in zip(graph.inputs, active, strict=True) if is_active]
        tangents = dict(zip(moving, trace.tensors([v.type for v in moving]), strict=True))
        values = {v: x._value for v, x in zip(graph.inputs, inputs, strict=True)}
        for op in graph.operations:
            push(trace, op, values, tangents, split)
        moved = tuple([v in tangents for v in graph.outputs]) if wanted is None else tuple(wanted)
        outputs = [values[v] for v in graph.outputs]
        for value, is_moved in zip(graph.outputs, moved, strict=True):
            if is_moved:
                tangent = tangents.get(value)
                outputs.append((trace.zeros(value.type) if tangent is None else tangent)._value)
    return Jvp(Graph(trace.inputs, trace.operations, outputs), moved)


def _order(graph: Graph) -> int:
    """Return the order of the highest derivative that is in a graph of those that have tables."""
    found = 0
    for op in graph.operations:
        own = [_order(region) for region in op.regions]
        found = max(found, op.params["order"] if op.primitive is list_tangents else 0, *own)
    return found


def _last_name(graph: Graph) -> int:
    """Return the highest number in a name of an arena: new ones are to be others."""
    found = 0
    for op in graph.operations:
        if op.primitive is list_arena:
            name = op.params["name"]
            found = max(found, int(name[len(name.rstrip("0123456789")) :] or 0))
        found = max(found, *[_last_name(region) for region in op.regions], 0)
    return found


def push(
    trace: Derivation,
    op: Operation,
    values: dict[Value, Value],
    tangents: dict[Value, Any],
    split: bool,
) -> None:
    """Record one operation again, and the tangents of its results."""
    given = [tangents.get(value) for value in op.operands]
    if all([tangent is None for tangent in given]):
        if op.must_run or any([value not in values for value in op.results]):
            trace.copy(op, values)
        return
    operands = [trace.tensor(values[value]) for value in op.operands]
    if op.regions:
        trace.place = op.place
        rules = op.primitive.of_regions
        rule = rules.split if split else rules.forward
        results, moved = rule(trace, op, operands, given)
        values.update({v: x._value for v, x in zip(op.results, results, strict=True)})
    else:
        if op.must_run or any([value not in values for value in op.results]):
            trace.copy(op, values)
        has_one = [has_tangent(op, value) for value in op.results]
        if not any(has_one):
            if op.primitive is not list_length:
                for value, tangent in zip(op.operands, given, strict=True):
                    if tangent is not None:
                        check_no_table(value.type, op.place)
            return
        results = tuple([trace.tensor(values[value]) for value in op.results])
        only = len(results) == 1
        rule = trace.rule(op, "jvp")
        moved = rule(trace, given, results[0] if only else results, *operands, **op.params)
        moved = (moved,) if only else moved
        moved = [t if is_moved else None for t, is_moved in zip(moved, has_one, strict=True)]
    for value, tangent in zip(op.results, moved, strict=True):
        if tangent is not None:
            tangent = trace.fitted(tangent, value.type)
            own = tangents.get(value)
            tangents[value] = tangent if own is None else own + tangent


def linearize(
    graph: Graph, active: Sequence[bool], wanted: Sequence[bool] | None = None
) -> Linearized:
    """Return a graph as one that computes and one that is linear in the tangents of some inputs."""
    both = jvp(graph, active, wanted, split=True)
    whole = merge_repeated(eliminate_dead(both.graph))
    count, results = len(graph.inputs), len(graph.outputs)
    linear = set(whole.inputs[count:])
    definitions = [op for op in whole.operations if op.primitive.is_definition]
    computing: list[Operation] = []
    moving: list[Operation] = []
    fixed: dict[Value, Operation] = {}
    for op in whole.operations:
        if linear.isdisjoint(op.operands):
            computing.append(op)
            if is_made_anew(op) or op.primitive is list_tangents:
                fixed[op.results[0]] = op
        else:
            moving.append(op)
            linear.update(op.results)
    residuals: dict[Value, None] = {}
    copied: dict[Value, Operation] = {}

    def need(value: Value) -> None:
        if value in fixed:
            for operand in fixed[value].operands:
                need(operand)
            copied[value] = fixed[value]
        elif value not in linear:
            residuals[value] = None

    needing = [*definitions, *moving]
    for value in (*[v for op in needing for v in op.operands], *whole.outputs[results:]):
        need(value)
    places = {value: number for number, value in enumerate(whole.inputs[:count])}
    kept = [value for value in residuals if value not in places]
    primal = Graph(whole.inputs[:count], computing, [*whole.outputs[:results], *kept])
    inputs = [*residuals, *whole.inputs[count:]]
    return Linearized(
        primal=eliminate_dead(primal),
        linear=Graph(inputs, [*definitions, *copied.values(), *moving], whole.outputs[results:]),
        # Residuals that are inputs stay where they are: nothing has to be kept for them.
        sources=tuple([places.get(value) for value in residuals]),
        moved=both.moved,
    )


def hoisted(lin: Linearized) -> tuple[Linearized, list[str]]:
    """Return a linearized region that takes the arenas of lists that it makes, and their names.

    They become inputs behind all others. A branch cannot hand an arena out, nor can each turn of a
    loop: all of them share one.
    """
    made = [op for op in lin.primal.operations if op.primitive is list_arena]
    if not made:
        return lin, []
    primal = lin.primal
    first = len(primal.outputs) - lin.sources.count(None)
    places = {op.results[0]: len(primal.inputs) + n for n, op in enumerate(made)}
    kept = iter(primal.outputs[first:])
    sources = [places.get(next(kept)) if s is None else s for s in lin.sources]
    outputs = [v for n, v in enumerate(primal.outputs) if n < first or v not in places]
    inputs = (*primal.inputs, *places)
    rest = [op for op in primal.operations if op.primitive is not list_arena]
    moved = replace(lin, primal=Graph(inputs, rest, outputs), sources=tuple(sources))
    return moved, [op.params["name"] for op in made]
