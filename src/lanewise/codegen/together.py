"""Which operations of a region are written as one loop: those of one array, or made of one.

The minimum and the maximum of x, or the sums of x and of its squares, then read x once; counts and
sums at the same places find each place once. No two of them may need each other, so they are of one
level: that of those that lead to them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.facts import is_elementwise, is_update, usual

#: So many in one loop at most: each reduction has vectors of its own in registers.
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
    readers: dict[Value, list[Operation]] = {}
    for op in graph.operations:
        for value in op.operands:
            readers.setdefault(value, []).append(op)
    for op in graph.operations:
        level = max([levels.get(value, 0) for value in op.operands], default=0)
        space = _space(op)
        if space is not None and not (is_update(op) and _is_read(op, graph, readers)):
            own = frozenset[Value]().union(*[sources.get(x, (x,)) for x in op.operands])
            known = open_.setdefault((level, op.primitive, space), [])
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


def _space(op: Operation) -> Hashable | None:
    """Return what the loops of some must have in common to be one; None if an operation has none.

    It goes through many elements, in any order.
    """
    found = op.primitive.space(op) if op.primitive.space is not None else None
    return found if found is not None and usual(found[0]) >= FEWEST_ELEMENTS else None


def _is_read(op: Operation, graph: Graph, readers: Mapping[Value, Sequence[Operation]]) -> bool:
    """Whether others read what an operation would change: earlier than they do, that is a copy."""
    x = op.operands[0]
    return x in graph.outputs or any([not is_update(o) or x in o.operands[1:] for o in readers[x]])


def _sources(op: Operation, known: dict[Value, frozenset[Value]]) -> frozenset[Value]:
    """Return the arrays of its shape that an elementwise operation's result is computed of."""
    (result, *_), found = op.results, set()
    for value in op.operands:
        if value.type.shape == result.type.shape:
            found |= known.get(value, frozenset((value,)))
    return frozenset(found) if len(found) <= MOST_SOURCES else frozenset((result,))
