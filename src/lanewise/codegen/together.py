"""Which reductions of a region are written as one loop: those of one array, or made of one.

The minimum and the maximum of x, or the sums of x and of its squares, then read x once. No two of
them may need each other, so they are of one level: that of the reductions that lead to them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.facts import is_elementwise, usual
from lanewise.ops.reduction import reduce
from lanewise.ops.ufuncs import row_of

#: So many reductions in one loop at most: each has vectors of its own in registers.
MOST_TOGETHER = 4
#: Of fewer elements, which may all be written out, a loop gains nothing.
FEWEST_ELEMENTS = 16
#: So many arrays that one is computed of are looked at.
MOST_SOURCES = 8


def in_order(graph: Graph) -> Sequence[Sequence[Operation]]:
    """Return a graph's operations in an order to write them in: alone, or several in one loop."""
    groups = _groups(graph)
    if not groups:
        return [(op,) for op in graph.operations]
    place = {op: i for i, op in enumerate(graph.operations)}
    makers = graph.makers
    found: list[Sequence[Operation]] = []
    written: set[Operation] = set()

    def write(group: Sequence[Operation]) -> None:
        needed: set[Operation] = set()
        waiting = [*group]
        while waiting:
            ahead = {makers[v] for v in waiting.pop().operands if v in makers} - written - needed
            needed |= ahead
            waiting += ahead
        for op in sorted(needed, key=place.__getitem__):
            if op not in written:
                write(groups.get(op, (op,)))
        written.update(group)
        found.append(group)

    for op in graph.operations:
        if op not in written:
            write(groups.get(op, (op,)))
    return found


def _groups(graph: Graph) -> dict[Operation, Sequence[Operation]]:
    """Return for each operation that is written with others all of these."""
    levels: dict[Value, int] = {}
    sources: dict[Value, frozenset[Value]] = {}
    open_: dict[Hashable, list[tuple[set[Value], list[Operation]]]] = {}
    for op in graph.operations:
        level = max([levels.get(value, 0) for value in op.operands], default=0)
        if _may_join(op):
            (x,) = op.operands
            own = sources.get(x, frozenset((x,)))
            known = open_.setdefault((level, x.type.shape, op.params["axes"]), [])
            for shared, members in known:
                if len(members) < MOST_TOGETHER and not own.isdisjoint(shared):
                    shared |= own
                    members.append(op)
                    break
            else:
                known.append((set(own), [op]))
            level += 1
        elif is_elementwise(op):
            sources[op.results[0]] = _sources(op, sources)
        levels.update(dict.fromkeys(op.results, level))
    groups = [members for same in open_.values() for _, members in same if len(members) > 1]
    return {op: members for members in groups for op in members}


def _may_join(op: Operation) -> bool:
    """Whether an operation reduces many elements, in any order."""
    if op.primitive is not reduce or not row_of(op.params["fn"]).is_associative:
        return False
    shape, axes = op.operands[0].type.shape, op.params["axes"]
    is_rounded = np.float16 in (op.operands[0].type.dtype, op.results[0].type.dtype)
    return not is_rounded and usual([shape[axis] for axis in axes]) >= FEWEST_ELEMENTS


def _sources(op: Operation, known: dict[Value, frozenset[Value]]) -> frozenset[Value]:
    """Return the arrays of its shape that an elementwise operation's result is computed of."""
    (result, *_), found = op.results, set()
    for value in op.operands:
        if value.type.shape == result.type.shape:
            found |= known.get(value, frozenset((value,)))
    return frozenset(found) if len(found) <= MOST_SOURCES else frozenset((result,))
