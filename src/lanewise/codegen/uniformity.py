"""Which values of a graph may differ between lanes: an analysis beside the graph.

A value that does not depend on the lane is computed once, by scalar instructions. In a loop that
lanes leave at different turns, what is carried stays uniform as long as its next value depends on
nothing that varies: lanes that are still in the loop agree on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from lanewise.codegen.sizes import is_few
from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import symbols_in
from lanewise.ops.control import BRANCHES, LOOPS, carry_of, scan
from lanewise.ops.facts import Held
from lanewise.ops.regions import map_
from lanewise.passes.specialize import has_sizes

#: Arrays of at most so many elements are kept in registers, and loops over them are written out.
IN_REGISTERS = 40
NO_SIZES: frozenset[str] = frozenset()


def is_small(shape: Sequence[DimLike]) -> bool:
    """Whether an array of this shape is kept in registers."""
    return is_few(shape, IN_REGISTERS)


def varying_outputs(graph: Graph, inputs: Sequence[bool], sizes: Set[str] = NO_SIZES) -> list[bool]:
    """Return which outputs of a graph vary, given which of its inputs and of the sizes around do.

    Sizes are named by their symbols.
    """
    varies: dict[Value, bool] = dict(zip(graph.inputs, inputs, strict=True))
    for _ in _analysed(graph, varies, sizes):
        pass
    return [varies[value] for value in graph.outputs]


def varying_values(graph: Graph, inputs: Sequence[bool]) -> list[Value]:
    """Return the results of operations that vary, in all regions; see `varying_outputs`."""
    return [value for op, rows, _ in _walked(graph, inputs)
            for value, varies in zip(op.results, rows, strict=True) if varies]  # fmt: skip


def varying_sizes(graph: Graph, inputs: Sequence[bool]) -> frozenset[str]:
    """Return the symbols of sizes that a graph and its regions define, and that vary."""
    return frozenset().union(*[sizes for _, _, sizes in _walked(graph, inputs)])


def _walked(
    graph: Graph, inputs: Sequence[bool], outer: Set[str] = NO_SIZES
) -> Iterator[tuple[Operation, list[bool], Set[str]]]:
    """Give all operations, also those of regions: which results vary, and what sizes then do."""
    varies: dict[Value, bool] = dict(zip(graph.inputs, inputs, strict=True))
    for op, given, sizes in _analysed(graph, varies, outer):
        yield op, [varies[value] for value in op.results], sizes
        if op.primitive in BRANCHES:
            given = given[1:]
        elif op.primitive in LOOPS:
            given[carry_of(op)] = varying_carry(op, given, sizes)[0]
        for region in op.regions:
            yield from _walked(region, given, sizes)


def _analysed(
    graph: Graph, varies: dict[Value, bool], sizes: Set[str]
) -> Iterator[tuple[Operation, list[bool], Set[str]]]:
    """Note of all results of a graph, not of its regions, whether they vary; give the operations,
    which of their operands do, and what sizes behind them.
    """
    for op in graph.operations:
        given = [varies[value] for value in op.operands]
        if op.primitive.is_definition and given[0]:
            sizes = sizes | symbols_in(op.params["size"])
        varies.update(zip(op.results, _operation(op, given, sizes), strict=True))
        yield op, given, sizes


def _operation(op: Operation, given: list[bool], sizes: Set[str]) -> list[bool]:
    count = len(op.results)
    if op.primitive.continues:  # in a kernel a list is its length
        return [given[1] or (op.primitive.overwrites and given[2])]
    if not op.regions:
        varies = any(given) or _is_kept_for_lanes(op) or (bool(sizes) and has_sizes(op, sizes))
        return [varies] * count
    if op.primitive in BRANCHES:
        predicate, *rest = given
        rows = [varying_outputs(region, rest, sizes) for region in op.regions]
        found = [predicate or any(row) for row in zip(*rows, strict=True)]
        return _kept(op, found)
    if op.primitive in LOOPS:
        carry, leaves = varying_carry(op, given, sizes)
        # Stacks are kept in memory.
        return [*[leaves or x for x in carry], *[True] * (count - len(carry))]
    if op.primitive is map_:
        return [True] * count
    return [any(given)] * count


def varying_carry(
    op: Operation, given: Sequence[bool], sizes: Set[str] = NO_SIZES
) -> tuple[list[bool], bool]:
    """Return which of a loop's carry differ between the lanes in it, and whether they part."""
    inputs, place = list(given), carry_of(op)
    inputs[place] = _kept(op, inputs[place])
    while True:
        new = varying_outputs(op.regions[-1], inputs, sizes)
        joined = [a or b for a, b in zip(inputs[place], new, strict=False)]
        if joined == inputs[place]:
            break
        inputs[place] = joined
    if op.primitive is scan:
        return joined, not sizes.isdisjoint(symbols_in(op.params["length"]))
    (leaves,) = varying_outputs(op.regions[0], inputs, sizes)
    return joined, leaves


def _kept(op: Operation, carry: Sequence[bool]) -> list[bool]:
    """Return which of the first results vary if these do; in memory every lane has its place."""
    rows = zip(carry, op.results, strict=False)
    return [varies or not is_small(value.type.shape) for varies, value in rows]


def _is_kept_for_lanes(op: Operation) -> bool:
    """Whether a result is kept in memory that has a place for each lane, though all are equal."""
    held = op.primitive.held
    if held is not Held.NUMBERS:
        return held is Held.MEMORY
    return any(not is_small(value.type.shape) for value in (*op.operands, *op.results))
