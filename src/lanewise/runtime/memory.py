"""Which operations may write into their operand instead of a copy of it.

``a[i] = v`` is recorded as an operation that gives a changed copy of `a`. Where nobody looks at the
old `a` again, and its memory is the plan's own, the plan writes into it; so a loop that sets one
element a turn costs one element a turn.

Every value has *roots*: the pieces of memory that its array may lie in. What an operation allocates
is a root of its own; a view has the roots of what it is a view of. An input is a root too, borrowed
unless it is given; constants, and what cannot be written to, lie in `FOREIGN`. An operation may
write into an operand that is not used again, if its roots are neither foreign nor borrowed and
nothing that is used at the same time or later shares one. Scalars share no memory with anything:
the plan makes NumPy scalars of them. `analyze` decides from the graph alone, and where it cannot
tell it says no.

Arguments that a function writes to are *lent*: their memory is for their last values. As a call
that raises is to leave them as they were, a plan writes there only once nothing can fail any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType, has_dim
from lanewise.ops.control import BRANCHES, CONTROL, LOOPS, carry_of
from lanewise.ops.facts import ask, is_update, may_fail, usual
from lanewise.ops.indexing import scatter
from lanewise.ops.movement import update_slice
from lanewise.ops.regions import DIVERGENT, NATIVE, SEQUENTIAL, map_
from lanewise.runtime.expressions import is_scalar

#: Bytes of an array that it takes longer to copy than to tell a kernel of the memory it may use.
LARGE = 1 << 15

Root = Value | None
FOREIGN: Root = None
_FOREIGN: frozenset[Root] = frozenset((FOREIGN,))


@dataclass(slots=True)
class Memory:
    """What the analysis of one graph found; the regions of its operations have their own."""

    #: Updates that write into their first operand.
    in_place: set[Operation] = field(default_factory=set)
    #: Of a loop, the positions among its operands of the carries that it must first copy.
    copied: dict[Operation, frozenset[int]] = field(default_factory=dict)
    #: Of a map, the positions of the operands that it may write to.
    given: dict[Operation, frozenset[int]] = field(default_factory=dict)
    regions: dict[Operation, tuple[Memory, ...]] = field(default_factory=dict)
    #: The roots that are written to.
    written: set[Root] = field(default_factory=set)
    roots: dict[Value, frozenset[Root]] = field(default_factory=dict)
    #: The inputs that are neither given nor lent.
    borrowed: frozenset[Value] = frozenset()
    #: The first operation that writes to an input that is lent.
    first_lent: Operation | None = None

    def is_own(self, roots: frozenset[Root]) -> bool:
        """Return whether the plan may write to memory, as far as others are concerned."""
        return FOREIGN not in roots and roots.isdisjoint(self.borrowed)


#: Which of a kernel's free operands results may lie in, with these results; see runtime/kernels.py.
Overwriting = Callable[[Operation, Sequence[int]], Sequence[tuple[int, int]]]


def analyze(
    graph: Graph,
    given: Iterable[int] = (),
    lent: Iterable[int] = (),
    overwriting: Overwriting = lambda op, free: (),
) -> Memory:
    """Return what a plan of the graph may write to.

    The inputs at the positions `given` are the graph's own to write to: nobody else reads them, and
    they share memory with no other input. So are those that are `lent`, where nothing fails later.
    """
    return _Analysis(graph, frozenset(given), {}, frozenset(lent), overwriting).run()


class _Analysis:
    def __init__(
        self,
        graph: Graph,
        given: frozenset[int],
        known: dict[tuple[Graph, frozenset[int]], Memory],
        lent: frozenset[int] = frozenset(),
        overwriting: Overwriting = lambda op, free: (),
    ) -> None:
        self.graph = graph
        self.overwriting = overwriting
        self.lent: frozenset[Root] = frozenset([graph.inputs[i] for i in lent])
        #: Where the last operation stands that may fail.
        self.last_failing = -1
        if lent:
            fails = [i for i, op in enumerate(graph.operations) if _may_fail(op)]
            self.last_failing = max(fails, default=-1)
        #: What was found about regions: loops look at their bodies again and again.
        self.known = known
        self.memory = Memory()
        self.roots = self.memory.roots
        self.holders: dict[Root, list[Value]] = {}
        #: The position of the last operation that uses a value; beyond the last for outputs.
        self.last = {v: i for i, op in enumerate(graph.operations) for v in op.operands}
        self.last |= dict.fromkeys(graph.outputs, len(graph.operations))
        inputs = enumerate(graph.inputs)
        self.memory.borrowed = frozenset([value for i, value in inputs if i not in given | lent])
        self.enter_fresh(graph.inputs)

    def run(self) -> Memory:
        for position, op in enumerate(self.graph.operations):
            if op.primitive in BRANCHES:
                self.branch(op, position)
            elif op.primitive in LOOPS:
                self.loop(op, position)
            elif op.primitive is map_ and op.params["order"] == DIVERGENT:
                self.enter_fresh(op.results)  # its runner sees to that
            elif op.primitive.shares:
                self.enter(op.results[0], self.roots[op.operands[0]] | {op.results[0]})
            elif is_update(op) and self.is_free(op.operands[0], op, position):
                self.memory.in_place.add(op)
                roots = self.roots[op.operands[0]]
                self.write(roots, op)
                self.enter(op.results[0], roots)
            elif op.primitive is map_ and op.params["order"] == NATIVE:
                self.native(op, position)
            elif _allocates(op):
                self.enter_fresh(op.results)
            else:  # of which nothing better is known
                roots = _FOREIGN.union(*[self.roots[value] for value in op.operands])
                for result in op.results:
                    self.enter(result, roots)
        return self.memory

    def region(self, graph: Graph, given: Iterable[int] = ()) -> Memory:
        """Return what a region may write to, if it has the inputs at some positions for itself."""
        key = graph, frozenset(given)
        if key not in self.known:
            self.known[key] = _Analysis(*key, self.known).run()
        return self.known[key]

    def enter(self, value: Value, roots: frozenset[Root]) -> None:
        if is_scalar(value.type):
            roots = frozenset()
        self.roots[value] = roots
        for root in roots:
            self.holders.setdefault(root, []).append(value)

    def enter_fresh(self, values: Iterable[Value]) -> None:
        for value in values:
            self.enter(value, frozenset((value,)))

    def is_free(self, value: Value, op: Operation, position: int) -> bool:
        """Return whether an operation may have the memory of an operand for itself."""
        roots = self.roots[value]
        if not roots or not self.memory.is_own(roots) or self.last[value] != position:
            return False
        # NumPy copes with a part of an array that is written to another part of it.
        part = op.operands[1] if op.primitive is update_slice else None
        if op.operands.count(value) > 1:
            return False
        if not roots.isdisjoint(self.lent):
            is_last = position == self.last_failing and _is_atomic(op)
            if position <= self.last_failing and not is_last:
                return False
        for root in roots:
            # Those that nobody uses from here on are not looked at again.
            holders = [x for x in self.holders[root] if self.last.get(x, -1) >= position]
            self.holders[root] = holders
            if any(x is not value and self.last[x] >= position + (x is part) for x in holders):
                return False
        return True

    def branch(self, op: Operation, position: int) -> None:
        operands = op.operands[1:]
        given = [i for i, x in enumerate(operands) if self.is_free(x, op, position)]
        inner = tuple([self.region(region, given) for region in op.regions])
        self.memory.regions[op] = inner
        for i in given:
            if any(r.inputs[i] in m.written for r, m in zip(op.regions, inner, strict=True)):
                self.write(self.roots[operands[i]], op)
        found: dict[Value, set[Root]] = {result: set() for result in op.results}
        for region, memory in zip(op.regions, inner, strict=True):
            outside = self.outside(region, operands)
            for result, value in zip(op.results, region.outputs, strict=True):
                for root in memory.roots[value]:
                    found[result] |= outside.setdefault(root, frozenset((result,)))
        for result, roots in found.items():
            self.enter(result, frozenset(roots))

    def loop(self, op: Operation, position: int) -> None:
        carry, body = carry_of(op), op.regions[-1]
        first, carried = carry.start, carry.stop - carry.start
        inputs, outputs = body.inputs[carry], body.outputs[:carried]
        own = {i for i, value in enumerate(inputs) if not is_scalar(value.type)}
        while True:
            memory = self.region(body, [first + i for i in own])
            kept = _needed(memory, inputs, outputs, own - _shared(memory, outputs))
            if kept == own:
                break
            own = kept
        self.memory.regions[op] = (*map(self.region, op.regions[:-1]), memory)
        copied = set()
        for i in own:
            operand = op.operands[first + i]
            if self.is_free(operand, op, position):
                self.write(self.roots[operand], op)
            else:
                copied.add(first + i)
        self.memory.copied[op] = frozenset(copied)
        # Any other carry may be what it was at first, or what one of the others was.
        outside = self.outside(body, op.operands)
        roots: set[Root] = set(op.results[:1])
        roots = roots.union(*[self.roots[operand] for operand in op.operands[carry]])
        for root in frozenset().union(*[memory.roots[value] for value in outputs]):
            roots |= outside.get(root, frozenset())
        for i, result in enumerate(op.results):
            is_fresh = i in own or i >= carried
            self.enter(result, frozenset((result,) if is_fresh else roots))

    def outside(self, region: Graph, operands: Sequence[Value]) -> dict[Root, frozenset[Root]]:
        """Return the roots that those which a region is given are here."""
        found: dict[Root, frozenset[Root]] = {FOREIGN: _FOREIGN}
        pairs = zip(region.inputs, operands, strict=True)
        return found | {value: self.roots[operand] for value, operand in pairs}

    def native(self, op: Operation, position: int) -> None:
        """Let a kernel write results to where arguments lie that are lent, or what it updates."""
        free = [
            k
            for k, value in enumerate(op.operands)
            if (not self.roots[value].isdisjoint(self.lent) or _is_updated(op, k))
            and self.is_free(value, op, position)
        ]
        self.enter_fresh(op.results)
        pairs = self.overwriting(op, free)
        for k, result in pairs:
            roots = self.roots[op.operands[k]]
            self.write(roots, op)
            self.enter(op.results[result], roots | self.roots[op.results[result]])
        self.memory.given[op] = frozenset([k for k, _ in pairs])

    def write(self, roots: frozenset[Root], op: Operation) -> None:
        """Note that an operation writes to memory."""
        self.memory.written |= roots
        if self.memory.first_lent is None and not roots.isdisjoint(self.lent):
            self.memory.first_lent = op


def _shared(memory: Memory, outputs: Sequence[Value]) -> set[int]:
    """Return which outputs lie in memory that is foreign or that another one lies in."""
    seen = Counter([root for value in outputs for root in memory.roots[value]])
    return {
        i
        for i, value in enumerate(outputs)
        if not memory.is_own(memory.roots[value])
        or any(seen[root] > 1 for root in memory.roots[value])
    }


def _needed(
    memory: Memory, inputs: Sequence[Value], outputs: Sequence[Value], own: set[int]
) -> set[int]:
    """Return which carries a loop must own to write where it does, one turn after the other."""
    place = {value: i for i, value in enumerate(inputs)}
    needed: set[int] = set()
    todo = [place[root] for root in memory.written if root in place]
    while todo:
        i = todo.pop()
        if i in own and i not in needed:
            needed.add(i)
            todo += [place[root] for root in memory.roots[outputs[i]] if root in place]
    return needed


def _may_fail(op: Operation) -> bool:
    """Whether an operation may raise, for whatever reason but a floating-point condition."""
    if op.primitive in CONTROL and not may_fail(op):
        return any(_may_fail(inner) for region in op.regions for inner in region.operations)
    values = (*op.operands, *op.results)
    has_known_sizes = not has_dim((*[v.type for v in values], *op.params.values()))
    return bool(op.regions) or may_fail(op) or not has_known_sizes


def _is_atomic(op: Operation) -> bool:
    """Whether an operation that raises has written nothing: kernels are made before they run."""
    if op.primitive is map_:
        return op.params["order"] == NATIVE
    return op.primitive is update_slice or (op.primitive is scatter and op.params["fn"] is None)


def _is_updated(op: Operation, position: int) -> bool:
    """Whether the region of a map would copy much of an operand before it writes to it."""
    (body,) = op.regions
    source = body.inputs[position]
    if not isinstance(source.type, ArrayType):
        return False
    if usual(source.type.shape) * source.type.dtype.itemsize < LARGE:
        return False

    def updates(inner: Operation) -> bool:
        if inner.primitive in LOOPS:
            return source in inner.operands[carry_of(inner)]
        return is_update(inner) and inner.operands[0] is source

    return any(map(updates, body.operations))


def _allocates(op: Operation) -> bool:
    if op.primitive is map_:
        return op.params["order"] in (SEQUENTIAL, NATIVE) and all(op.params["out_mapped"])
    return bool(ask(op.primitive.allocates, op))


def last_uses(graph: Graph) -> dict[Operation, list[Value]]:
    """Return for each operation the values that nobody reads after it."""
    last: dict[Value, Operation] = {}
    for op in graph.operations:
        for value in (*op.operands, *op.results):
            last[value] = op
    uses: dict[Operation, list[Value]] = {}
    kept = set(graph.outputs)
    for value, op in last.items():
        if value not in kept:
            uses.setdefault(op, []).append(value)
    return uses
