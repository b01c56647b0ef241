"""Loop distribution: what no turn needs of another one, in a loop of its own before the rest.

A turn of ``for i in range(n): c = nearest(x[i]); count[c] += 1; total[c] += x[i]`` searches much,
and needs no other turn for that; only then it writes where others do. The first becomes a loop
that hands what it found to the second, and can be a map. What takes little, such as reading
``x[i]``, is done in both. (J. R. Allen and K. Kennedy, "Automatic translation of FORTRAN programs
to vector form", ACM TOPLAS 9, 1987.)
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.ir.dims import product
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import LOOPS, carry_of, scan
from lanewise.passes.rowwise import expected
from lanewise.passes.simplify import eliminate_dead

#: What turns hand over takes at most so many bytes, all of them together: what caches hold.
MOST_BYTES = 1 << 21


def distributed(op: Operation) -> tuple[Operation, Graph] | None:
    """Return what a scan is parted into; None if it is not.

    Returns
    -------
    Operation
        A scan of the same captures and xs, without a carry, which gives what turns hand over.
    Graph
        The body of the rest: its last inputs are slices of that.
    """
    (body,), place = op.regions, carry_of(op)
    tied, heavy = set(body.inputs[place]), set[Value]()
    for each in body.operations:
        if not tied.isdisjoint(each.operands) or each.has_effect:
            tied.update(each.results)
        elif _is_heavy(each) or not heavy.isdisjoint(each.operands):
            heavy.update(each.results)
    used = {v for each in body.operations if not tied.isdisjoint(each.results) or not each.results
            for v in each.operands}  # fmt: skip
    handed = [v for v in heavy if v in used or v in body.outputs]
    handed.sort(key=lambda value: value.index)
    if not handed or not all([isinstance(v.type, ArrayType) for v in handed]):
        return None
    turns = expected(op.params["length"])
    if turns * sum([expected(product(v.type.shape)) * v.type.dtype.itemsize for v in handed]) > (
        MOST_BYTES
    ):
        return None
    first = _copied(_without_carry(body, place, tied, handed))
    operands = [*op.operands[: place.start], *op.operands[place.stop :]]
    params = op.params | {"carry": 0}
    signature = scan.signature([v.type for v in operands], params, (first,))
    return Operation(signature, tuple(operands), 0, op.place), _rest(body, handed)


def _is_heavy(op: Operation) -> bool:
    """Whether an operation takes many others' time."""
    return op.primitive in LOOPS or any([_is_heavy(o) for r in op.regions for o in r.operations])


def _without_carry(body: Graph, place: slice, tied: set[Value], handed: Sequence[Value]) -> Graph:
    inputs = [*body.inputs[: place.start], *body.inputs[place.stop :]]
    own = [op for op in body.operations if op.results and tied.isdisjoint(op.results)]
    return Graph(inputs, own, handed)


def _rest(body: Graph, handed: Sequence[Value]) -> Graph:
    known = set(handed)
    rest = [op for op in body.operations if known.isdisjoint(op.results)]
    return _copied(Graph([*body.inputs, *handed], rest, body.outputs))


def _copied(graph: Graph) -> Graph:
    """Return a graph with values of its own, and without what nothing needs."""
    return eliminate_dead(graph.rewritten(lambda op, values: None))
