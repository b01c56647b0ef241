"""Regions in a kernel: branches, loops and inner maps, with masks where lanes go their own ways.

A branch whose predicate is uniform is a branch. If lanes differ, each side runs under the mask of
those that take it, and is skipped where no lane does. A loop that lanes leave at different turns
goes on until the last has left; what a lane carries is not touched after it left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from lanewise.codegen.addresses import Index, linear
from lanewise.codegen.arrays import Array, Elements, Given, Stored, items_of
from lanewise.codegen.blocks import across
from lanewise.codegen.builder import Builder, Variables
from lanewise.codegen.choices import is_indexed, is_sliced
from lanewise.codegen.counters import least_of, note_counters
from lanewise.codegen.counting import fills_lanes
from lanewise.codegen.emitter import Slot
from lanewise.codegen.errors import CannotCompile, refusal
from lanewise.codegen.loops import UNROLLED
from lanewise.codegen.numbers import choose, vecs
from lanewise.codegen.sizes import check_sizes, is_unknown
from lanewise.codegen.together import in_order
from lanewise.codegen.uniformity import is_small, varying_carry
from lanewise.codegen.vector import Vec, select
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType, has_dim
from lanewise.ops.control import carry_of, cond, scan, switch, while_
from lanewise.ops.facts import ask, is_elementwise, may_fail, usual
from lanewise.ops.regions import map_
from lanewise.ops.registry import Absent
from lanewise.passes.specialize import symbols_of

#: Branches of at most so many operations on numbers are both computed, and chosen from.
SHORT = 8
#: ... that take fewer instructions than this for an element: as few as a division takes.
COSTLY = 8
#: Loops of at most so many operations in all turns are written out, turn by turn.
WRITTEN_OUT = 32


def run(k: Builder, graph: Graph, arguments: Sequence[Array]) -> list[Array]:
    """Write the operations of a graph; return its outputs."""
    order = in_order(graph)
    uses = Counter([value for ops in order for value in _read(ops)])
    uses.update(graph.outputs)
    again: Counter[Value] = Counter()  # of these, how often by an operation that finds it once
    for op in filter(is_elementwise, graph.operations):
        again.update(op.operands)
        again.subtract(set(op.operands))
    env: dict[Value, Array] = {}

    def bind(value: Value, array: Array) -> None:
        env[value] = array
        if uses[value]:
            for buffer in array.buffers:
                buffer.readers += 1

    def release(value: Value) -> None:
        uses[value] -= 1
        if not uses[value]:
            for buffer in env[value].buffers:
                buffer.readers -= 1

    for value, array in zip(graph.inputs, arguments, strict=True):
        bind(value, array)
    equal = k.e.equal
    k.storage.depth += 1
    for ops in order:
        made = [value for op in ops for value in op.results]
        operands = [env[value] for op in ops for value in op.operands]
        with k.storage.handing_on(operands) as given:
            for value in _read(ops):
                release(value)
            try:
                if len(ops) > 1:
                    results = _together(k, ops, operands)
                else:
                    is_used = [uses[value] > 0 for value in made]
                    results = operation(k, ops[0], operands, is_used)
                k.e.check_length()
            except CannotCompile as error:
                error.trail.append(ops[0])
                raise
            except Exception as error:
                raise refusal(error, ops[0]) from error
            for value, result in zip(made, results, strict=True):
                bind(value, k.fusion.settled(result, uses[value] - again[value]))
                given.append(env[value])
    k.storage.depth -= 1
    k.e.equal = equal
    outputs = [env[value] for value in graph.outputs]
    for value in graph.outputs:
        release(value)
    return outputs


def _read(ops: Sequence[Operation]) -> Iterable[Value]:
    """Return what is read by an operation; by those of one loop each array once."""
    return ops[0].operands if len(ops) == 1 else {v: None for op in ops for v in op.operands}


def _together(k: Any, ops: Sequence[Operation], operands: Sequence[Array]) -> Sequence[Array]:
    """Write several operations of one kind as one loop; return their results."""
    for op in ops:
        if k.e.counted:
            check_sizes(k, op)
    each = len(ops[0].operands)
    xs = [operands[first : first + each] for first in range(0, len(operands), each)]
    types = [[value.type for value in op.results] for op in ops]
    k.storage.places = _places(k, ops)
    return ops[0].primitive.together(k, types, xs, [op.params for op in ops])


def _places(k: Builder, ops: Sequence[Operation]) -> list[Given | None]:
    """Return where the results of operations belong."""
    return [k.storage.targets.get(value) for op in ops for value in op.results]


def operation(
    k: Builder, op: Operation, operands: list[Array], used: Sequence[bool]
) -> Sequence[Array]:
    """Write one operation; return its results."""
    primitive, types = op.primitive, [value.type for value in (*op.operands, *op.results)]
    if not all([isinstance(type_, ArrayType) for type_ in types]):
        raise CannotCompile(f"{primitive.name} takes or gives what are no numbers")
    if not primitive.any_size and not op.regions and has_dim((*types, *op.params.values())):
        raise CannotCompile(f"{primitive.name} has a native form for known sizes only")
    if k.e.counted and not op.regions:
        check_sizes(k, op)
    k.storage.places = _places(k, [op])
    if primitive is cond:
        return _cond(k, op, operands)
    if primitive is switch:
        return _switch(k, op, operands)
    if primitive is while_:
        return _while(k, op, operands, used)
    if primitive is scan:
        return _scan(k, op, operands, used)
    if primitive is map_:
        return _map(k, op, operands)
    rule = primitive.lanes
    if isinstance(rule, Absent):
        raise CannotCompile(f"{primitive.name} has no native form: {rule.reason}")
    types = types[len(operands) :]
    if len(types) == 1 and types[0].shape:
        operands = [k.fusion.found_once(x, types[0].shape) for x in operands]
    found = rule(k, types, *operands, **op.params)
    return found if isinstance(found, (tuple, list)) else (found,)


# --- branches -----------------------------------------------------------------------------------


def _item(x: Array) -> Vec:
    (item,) = vecs(x.at())
    return item


def _cond(k: Builder, op: Operation, operands: list[Array]) -> list[Array]:
    predicate, *rest = operands
    condition = _item(predicate)
    then, otherwise = op.regions
    if condition.value is not None:
        return run(k, then if condition.value else otherwise, rest)
    if condition.varying and _is_short(then) and _is_short(otherwise):
        sides = []
        for region, mask in ((then, condition), (otherwise, ~condition)):
            with k.loops.masked(k.loops.both(mask)):
                sides.append(run(k, region, rest))
        return [_chosen(k, condition, a, b) for a, b in zip(*sides, strict=True)]
    rest = [k.ready(x) for x in rest]
    return _sides(k, condition, [partial(run, k, region, rest) for region in op.regions])


def _chosen(k: Builder, condition: Vec, a: Array, b: Array) -> Array:
    """Return the elements of one array where a condition holds, of another elsewhere."""
    if _is_same(a, b):
        return a
    return k.lazy(a.dtype, a.shape, lambda *i: choose(condition, a.at(*i), b.at(*i)), of=(a, b))


def _is_short(region: Graph) -> bool:
    """Whether a region is a few operations on few numbers that nothing can go wrong in.

    A branch that some lanes take is guessed wrong again and again, which costs more than they do.
    """
    for op in region.operations:
        if op.regions or op.must_run or may_fail(op) or symbols_of(op):
            return False
        if ask(op.primitive.instructions, op) >= COSTLY:
            return False
    work = sum([usual(value.type.shape) for op in region.operations for value in op.results])
    return work <= SHORT and sum([usual(value.type.shape) for value in region.outputs]) <= 2 * SHORT


def _joined(
    k: Builder, sides: Sequence[Array], varying: bool
) -> tuple[Callable[[Array, Vec | None], None], Callable[[], Array]]:
    """Return what writes what a side of a branch leaves, in the lanes that took it, and what gives
    it after the branch.
    """
    first = sides[0]
    dtype, shape = first.dtype, first.shape
    if all(_is_same(side, first) for side in sides):
        return (lambda side, mask: None), (lambda: first)
    if is_small(shape):
        variables = Variables(k, first, varying)
        return (lambda side, mask: variables.set(items_of(side), mask)), variables.get
    memory = k.storage.local(dtype, shape)

    def store(side: Array, mask: Vec | None) -> None:
        k.loops.each(shape, lambda *i: memory.put(i, side.at(*i), mask or k.storage.tail(memory)))

    return store, lambda: memory


def _is_same(a: Array, b: Array) -> bool:
    if isinstance(a, Stored) and isinstance(b, Stored):
        return a.buffer is b.buffer
    if isinstance(a, Elements) and isinstance(b, Elements):
        return all(x is y for x, y in zip(a.items, b.items, strict=True))
    return a is b


def _sides(k: Builder, condition: Vec, makes: Sequence[Callable[[], list[Array]]]) -> list[Array]:
    """Write two branches, of which each is written by a function, and join what they give."""
    e = k.e
    masks = (condition, ~condition) if condition.varying else (None, None)
    sides: list[tuple[list[str], Vec | None, list[Array]]] = []
    for make, mask in zip(makes, masks, strict=True):
        active = k.mask if mask is None else k.loops.both(mask)
        with e.aside() as lines, k.loops.masked(active), k.loops.scope():
            # What is not yet computed must be, before the masks change.
            sides.append((lines, active, [k.ready(x) for x in make()]))
    with k.storage.memory.withheld():  # what one side is done with, another may still write to
        joined = [
            _joined(k, found, condition.varying or any(varies(k, x) for x in found))
            for found in zip(*[found for _, _, found in sides], strict=True)
        ]

        def put(lines: list[str], active: Vec | None, found: Sequence[Array]) -> None:
            e.lines += lines
            with k.loops.masked(active):
                for (take, _), x in zip(joined, found, strict=True):
                    take(x, active if condition.varying else None)

        if condition.varying:
            for lines, active, found in sides:
                assert active is not None
                with e.when(e.any(active)):
                    put(lines, active, found)
        else:
            e.fork(condition, *[partial(put, *side) for side in sides])
    return [get() for _, get in joined]


def _switch(k: Builder, op: Operation, operands: list[Array]) -> list[Array]:
    index, *rest = operands
    count = len(op.regions)
    number = _item(index).to("i64")
    k.fail((number < -count) | (number >= count))
    number = select(number < 0, number + count, number)
    rest = [k.ready(x) for x in rest]

    def level(first: int) -> list[Array]:
        if first == count - 1:
            return run(k, op.regions[first], rest)
        then = partial(run, k, op.regions[first], rest)
        return _sides(k, number.eq(first), (then, partial(level, first + 1)))

    return level(0)


# --- loops --------------------------------------------------------------------------------------


class Carried:
    """What passes from one turn of a loop to the next: in variables, or in memory.

    Lanes in the loop may differ if it is `varying`; they leave it at different turns if it `parts`.
    `is_used` says whether anybody reads what is left after the loop, `moves` whether parts are read
    of which a turn decides how large. `others` are carried, too, as far as they are there.
    """

    def __init__(
        self,
        k: Builder,
        x: Array,
        varying: bool,
        parts: bool,
        is_used: bool,
        others: Sequence[Carried],
        moves: bool = False,
    ) -> None:
        self.k, self.dtype, self.shape = k, x.dtype, x.shape
        self.others = others
        self.keeps = parts and is_used
        self.memory: Stored | None = None
        self.last: Variables | None = None
        # What is read at the places of a turn would go from registers to memory in each.
        moves &= varying or not k.in_lanes
        if not is_small(x.shape) or (moves and x.size > UNROLLED):
            self.memory = k.storage.owned(
                x, *[y.memory for y in others if y.memory is not None], number=len(others)
            )
            # Lanes that are not in the loop may hold what somebody else reads.
            self.keeps = self.keeps or self.memory.buffer.mask is not k.mask
            return
        items, self.variables = items_of(x), Variables(k, x, varying)
        self.variables.set(items)
        if self.keeps and not varying:
            self.last = Variables(k, x, True)
            self.last.set(items)

    def get(self) -> Array:
        """Return it as a turn begins."""
        return self.variables.get() if self.memory is None else self.memory

    def temporary(self, new: Array) -> Array:
        """Return the next value, computed as far as it must be before any of the carry changes."""
        k = self.k
        if self.memory is None:
            return k.elements(self.dtype, self.shape, items_of(new))
        if isinstance(new, Stored) and new.buffer is self.memory.buffer:
            return new
        changes = any(x.memory is not None and x.memory.buffer in new.buffers for x in self.others)
        is_kept = isinstance(new, (Stored, Elements)) and not changes
        return new if is_kept else k.storage.materialized(new)

    def set(self, new: Array) -> None:
        """Set it for the next turn, in the lanes that are in the loop."""
        k, memory = self.k, self.memory
        if memory is None:
            items = items_of(new)
            if self.last is not None:
                self.last.set(items, k.mask)
            self.variables.set(items, k.mask if self.keeps and self.last is None else None)
            return
        if isinstance(new, Stored) and new.buffer is memory.buffer:
            return

        is_masked = self.keeps or not memory.buffer.wide

        def put(*i: Index) -> None:  # the mask is that within the loops
            memory.put(i, new.at(*i), k.mask if is_masked else None)

        k.loops.each(self.shape, put)

    def result(self) -> Array:
        """Return what is left after the loop."""
        return (self.last or self.variables).get() if self.memory is None else self.memory


def _while(k: Builder, op: Operation, operands: list[Array], used: Sequence[bool]) -> list[Array]:
    e, first = k.e, op.params["captures"]
    captures = [captured(k, op.regions, i, x) for i, x in enumerate(operands[:first])]
    with pinned(captures):
        state, parts = _carry(k, op, [*captures, *operands[first:]], used)
        active = e.slot("b", True, k.mask or e.constant("b", True)) if parts else None
        turns(k, op, captures, state, active, e.any, list(map(least_of, operands[first:])))
    return [x.result() for x in state]


def _carry(
    k: Builder, op: Operation, operands: Sequence[Array], used: Sequence[bool]
) -> tuple[list[Carried], bool]:
    """Return what a loop carries, and whether lanes leave it at different turns."""
    place, state = carry_of(op), []
    carried, parts = [False] * len(operands[place]), False
    if k.in_lanes:
        varying = frozenset([name for name, x in k.e.counted.items() if x.count.varying])
        carried, parts = varying_carry(op, [varies(k, x) for x in operands], varying)
    for i, x in enumerate(operands[place]):
        moves = any([is_sliced(r, r.inputs[place.start + i]) for r in op.regions])
        state.append(Carried(k, x, carried[i], parts, used[i], state, moves))
    return state, parts


def turns(
    k: Builder,
    op: Operation,
    captures: Sequence[Array],
    state: Sequence[Carried],
    active: Slot | None,
    goes_on: Callable[[Vec], Vec],
    least: Sequence[int | None],
) -> None:
    """Write the turns of a while.

    The lanes in the loop, which leave it one by one, are `active`; None if all leave together.
    `goes_on` tells from those that are still in it whether to take another turn; `least` is what
    integers in the carry are at least before the first one, where that is known.
    """
    test, body = op.regions
    with k.e.loop() as next_turn, k.loops.scope():
        old = [x.get() for x in state]
        mask = k.mask if active is None else active.get()
        with k.loops.masked(mask), pinned(old):
            condition = _item(run(k, test, [*captures, *old])[0])
        if active is not None:
            mask = active.get() & condition
            active.set(mask)
            condition = goes_on(mask)
        next_turn(condition)
        note_counters(op, captures, old, least)
        with k.loops.masked(mask):
            new = run(k, body, [*captures, *old])
            new = [x.temporary(y) for x, y in zip(state, new, strict=True)]
            for x, after in zip(state, new, strict=True):
                x.set(after)
        k.loops.poll()


def _scan(k: Builder, op: Operation, operands: list[Array], used: Sequence[bool]) -> list[Array]:
    (body,) = op.regions
    length, place = op.params["length"], carry_of(op)
    captures = [captured(k, op.regions, i, x) for i, x in enumerate(operands[: place.start])]
    xs = [k.addressable(x) for x in operands[place.stop :]]
    with pinned([*captures, *xs]):
        state, _ = _carry(k, op, [*captures, *operands[place], *xs], used)
        stacks = _memory(k, op, len(state))
        turns = (length - 1, -1, -1) if op.params["reverse"] else (0, length, 1)
        is_short = isinstance(length, int) and length * _written(body) <= WRITTEN_OUT
        for i in k.loops.range(*turns, unroll=is_short, polls=True):
            old = [x.get() for x in state]
            found = run(k, body, [*captures, *old, *[taken(k, x, 0, i) for x in xs]])
            new = [x.temporary(y) for x, y in zip(state, found, strict=False)]
            for stack, y in zip(stacks, found[len(state) :], strict=True):
                _put(k, stack, (i,), y)
            for x, after in zip(state, new, strict=True):
                x.set(after)
    return [*[x.result() for x in state], *stacks]


def _map(k: Builder, op: Operation, operands: list[Array]) -> list[Array]:
    (body,) = op.regions
    size = op.params["size"]
    in_dims, out_mapped = op.params["in_dims"], op.params["out_mapped"]
    if not isinstance(size, int):
        raise CannotCompile("the size of an inner map is not known")
    operands = [k.addressable(x) for x in operands]
    if any(is_unknown(v.type.shape) for v in (*op.operands, *op.results)):
        raise CannotCompile("the sizes of an inner map are not known")
    if not size:
        return [
            k.lazy(v.type.dtype, v.type.shape, lambda *i, v=v: k.constant(v.type.dtype, 0))
            for v in op.results
        ]
    runs_in_lanes = not k.in_lanes and fills_lanes(op, k.e.group)
    if runs_in_lanes:
        operands = [
            across(k, x) if axis == 0 else x for x, axis in zip(operands, in_dims, strict=True)
        ]
    with pinned(operands):
        results = _memory(k, op)

        def turn(j: Index) -> None:
            inner = [
                x if axis is None else taken(k, x, axis, j)
                for x, axis in zip(operands, in_dims, strict=True)
            ]
            outputs = run(k, body, inner)
            for result, output, mapped in zip(results, outputs, out_mapped, strict=True):
                _put(k, result, (j,) if mapped else (), output)

        if runs_in_lanes:
            with k.loops.lane_loop(0, size) as j:
                turn(j)
        else:
            is_short = size <= UNROLLED and size * _written(body) <= k.loops.unrolling.share
            for j in k.loops.range(size, unroll=is_short):
                turn(j)
    return list(results)


def _memory(k: Builder, op: Operation, first: int = 0) -> list[Stored]:
    """Return memory for the results of an operation from one on."""
    types = enumerate([value.type for value in op.results[first:]], first)
    return [k.storage.result(number, type_.dtype, type_.shape) for number, type_ in types]


def _written(body: Graph) -> int:
    """Return how many operations are written for a region, where short loops in it are written out:
    that is decided for the innermost first.
    """
    total = 0
    for op in body.operations:
        inside = sum(map(_written, op.regions))
        turns = op.params["length"] if op.primitive is scan else 1
        is_out = isinstance(turns, int) and turns * inside <= WRITTEN_OUT
        total += 1 + inside * (turns if is_out else 1)
    return total


def taken(k: Builder, x: Array, axis: int, index: Index) -> Array:
    """Return the sub-array at an index of one axis."""
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    part = k.lazy(x.dtype, shape, lambda *i: x.at(*i[:axis], index, *i[axis:]), of=(x,), ready=True)
    return k.fusion.settled(part, 1)


def _put(k: Builder, stack: Stored, lead: tuple[Index, ...], y: Array) -> None:
    """Write an array as the part of a larger one at an index of its first axes."""

    def put(*i: Index) -> None:
        k.storage.write(stack, linear((*lead, *i), stack.strides), y.at(*i))

    k.loops.each(y.shape, put)


def captured(k: Builder, regions: Sequence[Graph], number: int, x: Array) -> Array:
    """Return what a loop captures, in a form that its turns can read again and again."""
    if isinstance(x, Elements) and x.size > 1:
        if any(is_indexed(region, region.inputs[number]) for region in regions):
            return k.addressable(x)
        return x
    return k.ready(x)


@contextmanager
def pinned(arrays: Sequence[Array]) -> Generator[None]:
    """Keep arrays as they are while code is written that runs more than once."""
    buffers = [buffer for x in arrays for buffer in x.buffers]
    for buffer in buffers:
        buffer.readers += 1
    yield
    for buffer in buffers:
        buffer.readers -= 1


def varies(k: Builder, x: Array) -> bool:
    """Whether an array may differ between lanes."""
    return k.in_lanes and x.varies
