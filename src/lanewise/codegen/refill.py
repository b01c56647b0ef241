"""Lane refill: where examples take very different numbers of turns, no lane waits for the slowest.

A kernel whose main work is one loop, which examples leave when their data say so, need not keep its
lanes together until the last has left. Here the loop is left as soon as refilling pays, whoever is
done writes its results, the next examples take the free lanes, and the loop goes on where it was:

    while examples are left:
        free lanes take the next examples: what stands before the loop, under their mask
        while lanes are in the loop, and those that are not have not yet cost a refill: its turns
        lanes that have left it: what stands after the loop, and the results, under their mask

Each part is written once. Similar in spirit are the persistent threads with dynamic fetch of
T. Aila and S. Laine, "Understanding the efficiency of ray traversal on GPUs", HPG 2009. When to
refill is a ski rental: waiting costs a little in each turn, refilling a known price at once, and
who pays the price as soon as the waiting has cost as much pays at most twice of what is possible
with hindsight (A. R. Karlin et al., "Competitive snoopy caching", Algorithmica 3, 1988). So loops
of few or of many turns, after little work or much, need no tuning, and little is lost where all
examples leave together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lanewise.codegen import control
from lanewise.codegen.addresses import Affine, Index
from lanewise.codegen.arrays import Array, Given, items_of
from lanewise.codegen.blocks import packed
from lanewise.codegen.builder import Builder, Variables
from lanewise.codegen.choices import instructions, only_indexed, turn_of
from lanewise.codegen.counters import least_of
from lanewise.codegen.emitter import Slot
from lanewise.codegen.loops import TURNS
from lanewise.codegen.numbers import vecs
from lanewise.codegen.sizes import Counted, is_unknown
from lanewise.codegen.uniformity import is_small, varying_carry, varying_outputs, varying_sizes
from lanewise.codegen.vector import Vec, select
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.control import while_
from lanewise.ops.facts import count
from lanewise.passes.specialize import defined_sizes

#: Turns of fewer instructions than this are so cheap that counting who has left shows.
LEAST: float = 12
#: At most so many numbers are carried, kept for a lane, read or written: each costs when refilling.
MOST = 64
#: What a refill costs in instructions: counting and ranking lanes; a number that is read from or
#: written to memory, lane by lane; a number that is kept or carried.
_RANKING, _MOVED, _KEPT = 20, 16, 2
#: Lanes that a mask can be counted of.
_MOST_LANES = 64
#: More turns than any loop takes.
_FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of a kernel that refills its lanes."""

    #: What leads to the loop. It takes the inputs of the map's region, and gives the loop's
    #: operands, and what is `kept` for `after`.
    before: Graph
    loop: Operation
    #: What comes then. It takes the inputs, what `before` hands to it, and the loop's results.
    after: Graph
    kept: tuple[Value, ...]
    #: Inputs that stay in memory: each turn reads where its data say.
    indexed: frozenset[Value]
    #: Turns that a lane may be idle for a refill.
    patience: float


def plan(body: Graph, in_dims: Sequence[int | None], lanes: int) -> Plan | None:
    """Return how the kernel of a map's region refills so many lanes; None if it should not."""
    mapped = [axis is not None for axis in in_dims]
    place = _main_loop(body, mapped)
    if place is None or lanes > _MOST_LANES:
        return None
    operations = body.operations
    loop, earlier, later = operations[place], operations[:place], operations[place + 1 :]
    if any(is_unknown(v.type.shape) for v in (*loop.operands, *loop.results)):
        return None
    read = {value for op in later for value in op.operands}.union(body.outputs)
    kept = [value for op in earlier for value in op.results if value in read]
    handed = tuple(dict.fromkeys([*loop.operands, *kept]))
    if any(v.type.dtype.kind == "O" for v in handed):
        return None  # what a lane saved in lists belongs to one example, until all is done with it
    before = Graph(body.inputs, earlier, handed)
    after = Graph([*body.inputs, *kept, *loop.results], later, body.outputs)

    rows = [value for value, is_mapped in zip(body.inputs, mapped, strict=True) if is_mapped]
    indexed = {value for value in rows if only_indexed(body, body.inputs.index(value))}
    varies = dict(zip(handed, varying_outputs(before, mapped), strict=True))
    held = [value for value in handed if varies[value] and value not in indexed]
    if any(not is_small(value.type.shape) for value in (*held, *loop.results)):
        return None
    moved = [v for graph in (before, after) for v in rows if v in _read(graph) and v not in indexed]
    accesses = sum(map(count, (*moved, *body.outputs)))
    numbers = sum(map(count, (*held, *loop.results)))
    if max(numbers, accesses) > MOST:
        return None
    price = _RANKING + _MOVED * accesses + _KEPT * numbers
    price += instructions(before) + instructions(after)
    return Plan(before, loop, after, tuple(kept), frozenset(indexed), price / turn_of(loop))


def _main_loop(body: Graph, mapped: Sequence[bool]) -> int | None:
    """Return where the loop stands that most of the work is in, if lanes leave it one by one."""
    found: dict[int, float] = {}
    for place, op in enumerate(body.operations):
        if op.primitive is while_:
            earlier = Graph(body.inputs, body.operations[:place], op.operands)
            given = varying_outputs(earlier, mapped)
            if varying_carry(op, given, varying_sizes(earlier, mapped))[1]:
                found[place] = turn_of(op)
    best = max(found, key=lambda place: found[place], default=None)
    return best if best is not None and found[best] >= LEAST else None


def _read(graph: Graph) -> set[Value]:
    return {value for op in graph.operations for value in op.operands}.union(graph.outputs)


def write(
    k: Builder,
    plan: Plan,
    given: Callable[[int, Index | None], Any],
    store: Callable[[int, Array, Index], None],
    in_dims: Sequence[int | None],
    begin: Vec,
    end: Vec,
) -> Callable[[], tuple[Vec, Vec]]:
    """Write a kernel that refills its lanes.

    The examples are those from `begin` to before `end`; `given` is as `_Rows` has it, and `store`
    writes a result by its number. What is returned writes, where an example failed, which examples
    the lanes have that are not done, -1 for none, and from which one on none has begun.
    """
    e, loop = k.e, plan.loop
    k.loops.in_lanes = True
    captures = loop.params["captures"]
    used = _read(plan.after)
    state: list[control.Carried] = []
    for value in loop.results:
        type_ = value.type
        zeros = [k.constant(type_.dtype, 0)] * count(value)
        zero = k.elements(type_.dtype, type_.shape, zeros)
        state.append(control.Carried(k, zero, True, True, value in used, state))
    example, upcoming = e.slot("i64", True, begin), e.slot("i64", False, begin)
    none = e.constant("b", False)
    active, held, entering = e.slot("b", True, none), e.slot("b", True, none), e.slot("b", True)
    patience = e.slot("i64", False)
    limit = max(round(plan.patience * e.lanes), 1)

    fill, done = e.label("fill"), e.label("done")
    e.branch(begin < end, fill, done)
    e.begin(fill)
    with k.loops.scope():
        rows = _Rows(k, plan, given, in_dims, end)
        first_loads = rows.variables(plan.before)
        started = [x.variables for x in state]
        with e.aside() as lines:  # what has to be zero first is known when this is written
            new, at = entering.get(), example.get()
            held.set(active.get() | new)
            with k.loops.masked(new):
                arguments = rows.arrays(first_loads, at)
                found = control.run(k, plan.before, arguments)
                made = dict(zip(plan.before.outputs, found, strict=True))
                for x, value in zip(state, loop.operands[captures:], strict=True):
                    x.variables.set(items_of(made[value]), new)
                for value in dict.fromkeys([*loop.operands[:captures], *plan.kept]):
                    made[value], variables = _kept(k, new, made[value])
                    started += variables
                for name in defined_sizes(plan.before):
                    known = e.counted[name]
                    number, variables = _kept(k, new, k.scalar(known.count))
                    e.counted[name] = Counted(vecs(number.at())[0], known.most)
                    started += variables
        still, first = active.get(), upcoming.get()
        is_fresh, row = ~e.any(still), Affine(e, first, 1)

        def load(at: Vec) -> None:
            with k.loops.masked(entering.get()), k.loops.scope():
                rows.load(first_loads, at)

        def together() -> None:  # nothing here waits for what the lanes did before
            entering.set(e.lane_index() < end - first)
            example.set(row)
            upcoming.set((first + e.lanes).least(end))
            for variables in started:
                variables.clear()
            load(row)

        def apart() -> None:
            entering.set(_next_examples(~still, example, upcoming, end))
            load(example.get())

        e.fork(is_fresh, together, apart)
        e.lines += lines

        running = still | new
        active.set(running)
        patience.set(select(upcoming.get() < end, e.constant("i64", limit), _FOREVER))
        regions = loop.regions
        taken = [
            control.captured(k, regions, i, made[v]) for i, v in enumerate(loop.operands[:captures])
        ]

        def goes_on(mask: Vec) -> Vec:
            within = e.population(e.bits(mask))
            left = patience.get() + (within - e.lanes)
            patience.set(left)
            return (within > 0) & (left > 0)

        with control.pinned(taken):
            least = [least_of(made[value]) for value in loop.operands[captures:]]
            control.turns(k, loop, taken, state, active, goes_on, least)

        still = active.get()
        is_left = e.any(still)
        with k.loops.masked(running & ~still):
            loads = rows.variables(plan.after)
            in_order = is_fresh & ~is_left
            rows.either(in_order, row, at, partial(rows.load, loads))
            kept = [made[value] for value in plan.kept]
            results = [x.result() for x in state]
            outputs = control.run(k, plan.after, [*rows.arrays(loads, at), *kept, *results])
            outputs = [k.ready(x) for x in outputs]

            def keep(at: Vec) -> None:
                for number, x in enumerate(outputs):
                    store(number, x, at)

            rows.either(in_order, row, at, keep)
        k.loops.poll(TURNS // 16)
    e.branch((upcoming.get() < end) | is_left, fill, done)
    e.begin(done)
    k.loops.in_lanes = False
    return lambda: (
        select(held.get(), example.get(), e.constant("i64", -1)),
        upcoming.get().spread(),
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the operands and results of examples lie."""

    k: Builder
    plan: Plan
    #: Gives an operand or a result of the kernel by its number: of examples, or for None whole.
    given: Callable[[int, Index | None], Given]
    in_dims: Sequence[int | None]
    #: The number behind the last example.
    stop: Vec

    def variables(self, graph: Graph) -> dict[int, Variables]:
        """Return what the inputs of the map's region that a part of it reads are loaded to."""
        read, found = _read(graph), {}
        for number, (value, axis) in enumerate(zip(graph.inputs, self.in_dims, strict=False)):
            if axis is not None and value in read and value not in self.plan.indexed:
                found[number] = Variables(self.k, self.given(number, None), True)
        return found

    def load(self, loaded: Mapping[int, Variables], at: Vec) -> None:
        """Load inputs of the active lanes."""
        for number, variables in loaded.items():
            x: Array = self.given(number, at)
            if x.size > 1 and isinstance(at, Affine):
                x = packed(self.k, x, at, self.stop)
            variables.set(items_of(x))

    def arrays(self, loaded: Mapping[int, Variables], example: Vec) -> list[Array]:
        """Return all inputs, those that are loaded and those that are read where they lie."""
        return [
            loaded[number].get()
            if number in loaded
            else self.given(number, None if axis is None else example)
            for number, axis in enumerate(self.in_dims)
        ]

    def either(self, in_order: Vec, row: Affine, at: Vec, access: Callable[[Vec], None]) -> None:
        """Write accesses to rows that stand in order, and for when they do not, anywhere."""

        def scoped(where: Vec) -> None:
            with self.k.loops.scope():
                access(where)

        self.k.e.fork(in_order, partial(scoped, row), partial(scoped, at))


def _next_examples(free: Vec, example: Slot, upcoming: Slot, end: Vec) -> Vec:
    """Write that free lanes take the next examples, in order; return the lanes that do."""
    e = free.e
    bits, first = e.bits(free), upcoming.get()
    before = e.each_lane("u64", [(1 << lane) - 1 for lane in range(e.lanes)])
    number = first + e.population(bits & before)
    new = free & (number < end)
    example.set(select(new, number, example.get()))
    upcoming.set((first + e.population(bits)).least(end))
    return new


def _kept(k: Builder, new: Vec, x: Array) -> tuple[Array, list[Variables]]:
    """Return an array that was made for new lanes, as all lanes have it until they are refilled.

    The second result is what it is kept in, if it is not the same for all.
    """
    if isinstance(x, Given) or not is_small(x.shape):
        return x, []  # it stays in memory, or is the same for all examples
    items = items_of(x)
    if not any(item.varying for item in items):
        return k.elements(x.dtype, x.shape, items), []
    variables = Variables(k, x, True)
    variables.set(items, new)
    return variables.get(), [variables]
