"""Remove what nobody needs: repeated operations, and those whose results are not used.

Both go into regions. What must run (effects, checks) stays, and is never merged.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.custom import WHOLE
from lanewise.passes.prune import prune, substituted
from lanewise.passes.specialize import all_symbols_of, defined_sizes, symbols_of_values


def merge_repeated(graph: Graph) -> Graph:
    """Return the graph with operations that compute the same from the same merged into the first.

    Functions written for one example repeat themselves freely (``x - x.mean()``, twice); equal
    operations have equal signatures, so finding them is a look-up.
    """
    known: dict[Hashable, tuple[Value, ...]] = {}

    def rule(op: Operation) -> Operation | Sequence[Value]:
        op = op.map_regions(merge_repeated)
        key = (op.signature.key, op.operands)
        if not op.must_run and key in known:
            return known[key]
        known[key] = op.results
        return op

    return graph.changed(rule)


def eliminate_dead(graph: Graph, is_within: bool = False) -> Graph:
    """Return the graph without operations that no output depends on, and that need not run.

    Of an operation with regions, the operands and results go that nobody needs; see `prune`.
    `is_within` is for graphs in which that was done before: it goes down only where results are
    unused. (To do it again from every level takes exponential time.)
    """
    needed: set[Value] = set(graph.outputs)
    kept: list[Operation] = []
    renamed: dict[Value, Value] = {}
    used = _used_sizes(graph)
    for op in reversed(graph.operations):
        if not op.must_run and needed.isdisjoint(op.results):
            continue
        if op.primitive.is_definition and used.isdisjoint(op.signature.defines):
            continue
        made = [op]
        is_done = is_within and needed.issuperset(op.results)
        if op.regions and op.primitive not in WHOLE and not is_done:
            made, replaced = prune(op, needed, partial(eliminate_dead, is_within=is_within))
            renamed.update(replaced)
            needed.update(replaced.values())
        for new in reversed(made):
            if new.must_run or not needed.isdisjoint(new.results):
                kept.append(new)
                needed.update(new.operands)
    return substituted(graph.having(graph.inputs, kept[::-1], graph.outputs), renamed)


def _used_sizes(graph: Graph) -> frozenset[str]:
    """Return the symbols of sizes that a graph itself defines, and arrays in it have."""
    sizes = defined_sizes(graph)
    if not sizes:
        return sizes
    others = [op for op in graph.operations if not op.primitive.is_definition]
    return sizes & symbols_of_values(graph.outputs).union(*map(all_symbols_of, others))
